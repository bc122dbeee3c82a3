"""``--weight-column``: a row that stands for several is as several rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

from dominantsets.app.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def files(tmp_path):
    X, _ = make_blobs(40, centers=[(0, 0), (8, 0), (0, 9)], random_state=0)
    m = np.random.default_rng(0).integers(0, 4, 40)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.assign(copies=m).to_csv(tmp_path / "weighted.csv", index=False)
    frame.assign(copies=m).to_parquet(tmp_path / "weighted.parquet")
    frame.loc[np.repeat(np.arange(40), m)].to_csv(tmp_path / "repeated.csv", index=False)
    return tmp_path, m


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("scale", ["none", "standard", "robust"])
def test_as_repeated_rows(files, ending, scale):
    folder, m = files
    options = ("-k", 3, "--scale", scale, "--quiet")
    weighted = folder / f"weighted.{ending}"
    assert (
        run("cluster", weighted, "-o", folder / "a.csv", "--weight-column", "copies", *options).exit_code == 0
    )
    assert run("cluster", folder / "repeated.csv", "-o", folder / "b.csv", *options).exit_code == 0
    one, other = pd.read_csv(folder / "a.csv"), pd.read_csv(folder / "b.csv")
    np.testing.assert_array_equal(np.repeat(one["label"], m), other["label"])
    assert len(one) == 40


def test_the_tree_and_new_objects(files):
    folder, m = files
    weighted, repeated = folder / "weighted.csv", folder / "repeated.csv"
    for name, file, more in (("a", weighted, ("--weight-column", "copies")), ("b", repeated, ())):
        found = run("hierarchy", file, "-k", 3, "-o", folder / f"{name}.csv", "--quiet", *more)
        assert found.exit_code == 0, found.output
        found = run("predict", file, repeated, "-k", 3, "-o", folder / f"{name}2.csv", "--quiet", *more)
        assert found.exit_code == 0, found.output
    one, other = pd.read_csv(folder / "a.csv")["groups_3"], pd.read_csv(folder / "b.csv")["groups_3"]
    assert len(set(zip(np.repeat(one, m), other, strict=True))) == 3
    pd.testing.assert_frame_equal(pd.read_csv(folder / "a2.csv"), pd.read_csv(folder / "b2.csv"))


@pytest.mark.parametrize(
    ("column", "sentence"),
    [("none", "there is no column 'none'"), ("name", "holds"), ("minus", "negative, NaN or infinite")],
)
def test_weights_that_are_none(tmp_path, column, sentence):
    path = tmp_path / "x.csv"
    frame = pd.DataFrame({"a": [1.0, 2, 9], "b": [1.0, 1, 9], "minus": [1, -1, 1], "name": ["p", "q", "r"]})
    frame.to_csv(path, index=False)
    found = run("cluster", path, "--weight-column", column, "--columns", "a,b")
    assert found.exit_code == 2
    assert sentence in found.stderr
