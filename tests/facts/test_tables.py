"""Data frames with text, categories, dates and gaps."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from dominantsets import DominantSets, TablePreparer

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def people(n=150, seed=0):
    """Three kinds of people, who differ in numbers, in a plan and in a date; and columns that say nothing."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    table = {
        "id": np.arange(100, 100 + n).tolist(),
        "name": [f"person {i}" for i in range(n)],
        "country": ["NO"] * n,
        "age": (25.0 + 20.0 * y + rng.normal(size=n)).tolist(),
        "income": np.exp(8.0 + 2.0 * y + 0.2 * rng.normal(size=n)).tolist(),
        "plan": np.array(["free", "basic", "full"])[y].tolist(),
        "member": (y == 1).tolist(),
        "joined": [datetime.datetime(2020 + int(k), 3, 1 + int(rng.integers(20))) for k in y],
        "comment": [None] * (n - 1) + ["hello"],
    }
    for k in range(0, n, 25):
        table["age"][k] = table["plan"][k + 1] = table["joined"][k + 2] = None
    return table, y


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda t: pl.DataFrame(t).to_arrow()])
def test_groups_of_mixed_columns_are_found(make):
    table, y = people()
    preparer = TablePreparer()
    X = preparer.fit_transform(make(table))
    assert np.isfinite(X).all()
    assert X.shape == (150, preparer.get_feature_names_out().size)
    assert adjusted_rand_score(y, DominantSets(noise=None).fit(X).labels_) == 1.0
    said = dict(line.split(": ", 1) for line in preparer.report_)
    assert list(said) == list(table)
    assert "numbers the rows" in said["id"]
    assert "names the rows" in said["name"]
    assert "same value" in said["country"]
    assert "missing" in said["comment"]
    assert "6 of 150 missing values set to the median" in said["age"]
    assert "6 of 150 missing values are a category" in said["plan"]
    assert "yes or no" in said["member"]
    assert "dates" in said["joined"]


def test_every_column_counts_alike():
    table, _ = people()
    X = TablePreparer().fit(pd.DataFrame(table))
    made = X.transform(pd.DataFrame(table))
    names = [str(name).split("=")[0] for name in X.get_feature_names_out()]
    for column in set(names):
        places = [k for k, name in enumerate(names) if name == column]
        assert made[:, places].var(axis=0).sum() == pytest.approx(1.0)


def test_the_unit_of_a_column_does_not_matter():
    table, _ = people()
    other = table | {"age": [None if v is None else 365.0 * v + 7.0 for v in table["age"]]}
    one, two = (TablePreparer().fit_transform(pd.DataFrame(t)) for t in (table, other))
    assert one == pytest.approx(two)


def test_skewed_numbers_are_made_symmetric():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"money": np.exp(rng.normal(9.0, 1.5, 400)), "height": rng.normal(170.0, 9.0, 400)})
    preparer = TablePreparer().fit(frame)
    assert "Yeo-Johnson" in preparer.report_[0]
    assert "Yeo-Johnson" not in preparer.report_[1]
    made = preparer.transform(frame)[:, 0]
    assert abs(np.mean(made**3)) < 0.5


def test_new_rows_and_unknown_categories():
    table, y = people()
    frame = pd.DataFrame(table)
    model = make_pipeline(TablePreparer(), DominantSets(3, affinity="sqeuclidean", noise=None)).fit(frame)
    labels = model[-1].labels_
    assert (model.predict(frame.iloc[::-1]) == labels[::-1]).all()
    new = frame.iloc[[5, 6, 7]].assign(plan="never seen")
    assert (model.predict(new) == labels[[5, 6, 7]]).all()
    with pytest.raises(ValueError, match="lacks age"):
        model.predict(frame.drop(columns="age"))
    with pytest.raises(ValueError, match="holds text, and held numbers or dates in fit"):
        model.predict(frame.assign(age="old"))
    assert clone(model[0]).get_params() == {}
    assert adjusted_rand_score(y, labels) == 1.0


def test_categorical_columns_of_pandas_and_zones():
    stamps = pd.to_datetime(["2024-01-01 00:00", "2024-01-02 00:00", "2024-01-03 00:00"] * 4)
    frame = pd.DataFrame(
        {"kind": pd.Categorical(["a", "b", "a"] * 4), "there": stamps.tz_localize("UTC"), "here": stamps}
    )
    preparer = TablePreparer()
    made = preparer.fit_transform(frame)
    names = preparer.get_feature_names_out().tolist()
    assert names == ["kind=a", "kind=b", "there", "here"]
    assert made[:, 2] == pytest.approx(made[:, 3])


def test_what_is_no_table_is_refused():
    with pytest.raises(ValueError, match="a data frame is needed, got a list"):
        TablePreparer().fit([[1.0]])
    with pytest.raises(ValueError, match="no column is left for features: id: left out"):
        TablePreparer().fit(pd.DataFrame({"id": range(9)}))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_fit_names_the_columns_that_are_no_numbers(make):
    table, _ = people()
    with pytest.raises(
        ValueError, match=r"name, country, plan, comment hold text; .*joined holds dates"
    ) as said:
        DominantSets().fit(make(table))
    assert "TablePreparer().fit_transform(X)" in str(said.value)
    with pytest.raises(ValueError, match="age has no value in 6 of 150 rows"):
        DominantSets().fit(make({"age": table["age"], "income": table["income"]}))


def test_row_numbers_are_named():
    table, _ = people()
    frame = pd.DataFrame({"id": table["id"], "income": table["income"]})
    with pytest.warns(UserWarning, match="id numbers the rows and counts as a feature"):
        DominantSets(3).fit(frame)


def test_names_that_are_numbers_or_come_twice_and_infinite_values():
    frame = pd.DataFrame({0: [1.0, 2.0, 3.0, 4.0], 1: ["a", "b", "a", "b"]})
    preparer = TablePreparer().fit(frame)
    assert preparer.get_feature_names_out().tolist() == ["1=a", "1=b"]  # column 0 numbers the rows
    twice = pd.DataFrame([[1.0, 2.0, "x"], [5.0, 3.0, "y"]], columns=["a", "a", "b"])
    for take in (TablePreparer().fit, DominantSets().fit):
        with pytest.raises(ValueError, match="names of their own"):
            take(twice)
        with pytest.raises(ValueError, match="a has infinite values"):
            take(pd.DataFrame({"a": [1.0, np.inf, 2.0, 7.0], "b": [1.0, 5.0, 2.0, 7.0]}))
