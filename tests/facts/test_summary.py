"""``print(model)``: five lines that agree with the attributes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dominantsets import DominantSets

X, _ = make_blobs(240, centers=[(0, 0), (12, 0), (0, 12)], random_state=0)
SCATTER = np.random.default_rng(0).uniform(-30.0, 40.0, (80, 2))


@pytest.mark.parametrize("how", [{}, {"affinity": "sqeuclidean"}, {"n_clusters": 2}, {"affinity": "path"}])
@pytest.mark.parametrize("data", [X, np.vstack([X, SCATTER])])
def test_five_lines_say_what_the_attributes_say(data, how):
    model = DominantSets(**how).fit(data)
    lines = str(model).splitlines()
    assert [line.split(":")[0] for line in lines[1:]] == [
        "Noise",
        "Similarity",
        "Expected agreement with the true groups",
        "Next",
    ]
    sizes = np.bincount(model.labels_[model.labels_ >= 0], minlength=model.n_clusters_)
    listed = ", ".join(map(str, sizes))
    assert lines[0] == f"{model.n_clusters_} clusters in {len(data)} objects: {listed}."
    out = int((model.labels_ < 0).sum())
    assert (f"{out:,} objects" in lines[1]) == (out > 0)
    assert model.affinity_ in lines[2]
    assert model.summary() == str(model)


def test_before_fit_the_parameters_are_printed():
    assert str(DominantSets(3)) == repr(DominantSets(3)) == "DominantSets(n_clusters=3)"


def test_many_clusters_are_listed_in_part():
    rng = np.random.default_rng(0)
    places = np.array([(i, j) for i in range(4) for j in range(4)]) * 20.0
    model = DominantSets(affinity="sqeuclidean").fit(
        np.repeat(places, 30, axis=0) + rng.normal(size=(480, 2))
    )
    assert model.n_clusters_ == 16
    assert str(model).splitlines()[0].endswith("and 6 more of 30 to 30.")


def test_the_table_has_no_empty_column():
    for model in (DominantSets().fit(X), DominantSets(affinity="sqeuclidean").fit(X)):
        assert "nan" not in str(model.selection_)


def test_objects_with_weights_are_counted_once():
    weights = np.where(np.arange(len(X)) < 5, 0.0, 3.0)
    model = DominantSets(affinity="sqeuclidean").fit(X, sample_weight=weights)
    sizes = np.bincount(model.labels_[model.labels_ >= 0], minlength=model.n_clusters_)
    assert str(model).splitlines()[0] == f"3 clusters in 240 objects: {', '.join(map(str, sizes))}."
