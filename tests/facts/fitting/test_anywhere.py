"""``affinity="auto"``: the same choice and the same labels, wherever the rows are."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from dominantsets import DominantSetHierarchy, DominantSets
from support import as_memmap, assert_same_cluster

MOONS, SIDES = make_moons(400, noise=0.05, random_state=0)
NEW = make_moons(60, noise=0.05, random_state=1)[0]


def words():
    """Directions of unit length about three axes."""
    rng = np.random.default_rng(0)
    X = np.abs(0.15 * rng.normal(size=(240, 12)))
    X[np.arange(240), 4 * (np.arange(240) % 3)] += 1.0
    return X / np.linalg.norm(X, axis=1, keepdims=True)


DATA = {
    "curves": (MOONS, None),
    "two curves": (MOONS, 2),
    "curves in unlike units": (MOONS * [1.0, 200.0], None),
    "round groups": (make_blobs(400, n_features=5, centers=4, random_state=0)[0], None),
    "directions": (words(), 3),
}
FORMS = ("tensor", "Dask", "Dask of tensors", "memmap", "device")


def held(form, X, folder):
    if form in ("tensor", "Dask of tensors", "device"):
        torch = pytest.importorskip("torch")
        if form == "device":
            return X
        if form == "tensor":
            return torch.tensor(X)
    if form == "memmap":
        return as_memmap(folder / f"{len(X)}.dat", X)
    array = pytest.importorskip("dask.array").from_array(X, chunks=(len(X) // 3, -1))
    return array if form == "Dask" else array.map_blocks(torch.as_tensor)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", DATA)
def test_the_choice_and_the_labels_are_those_of_an_array(name, form, tmp_path):
    X, k = DATA[name]
    here = DominantSets(k).fit(X)
    there = DominantSets(k, device="cpu" if form == "device" else None).fit(held(form, X, tmp_path))
    assert there.affinity_ == here.affinity_
    assert there.n_clusters_ == here.n_clusters_ > 1
    assert [c.title for c in there.choice_.candidates] == [c.title for c in here.choice_.candidates]
    assert there.choice_.fitted is None
    np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)
    np.testing.assert_allclose(np.asarray(there.probabilities_), here.probabilities_, atol=1e-6)
    for one, other in zip(there.clusters_, here.clusters_, strict=True):
        assert_same_cluster(one, other)


@pytest.mark.parametrize("form", ["tensor", "Dask", "Dask of tensors"])
@pytest.mark.parametrize("name", ["two curves", "curves in unlike units"])
def test_what_a_fit_offers_is_there_for_rows_elsewhere(name, form, tmp_path):
    X, k = DATA[name]
    new = NEW * ([1.0, 200.0] if "units" in name else 1.0)
    here, there = DominantSets(k).fit(X), DominantSets(k).fit(held(form, X, tmp_path))
    kept = pickle.loads(pickle.dumps(there))
    for rows in (new, held(form, new, tmp_path)):
        for model in (there, kept):
            np.testing.assert_array_equal(np.asarray(model.predict(rows)), here.predict(new))
    np.testing.assert_allclose(there.transform(new), here.transform(new))
    np.testing.assert_allclose(there.soft_labels_, here.soft_labels_)
    np.testing.assert_allclose(np.asarray(there.outlier_scores_), here.outlier_scores_)
    np.testing.assert_array_equal(there.around(3).members, here.around(3).members)
    assert str(there.why(3)) == str(here.why(3))
    chunks = getattr(held(form, X, tmp_path), "chunks", None)
    if chunks is not None:
        for values in (there.labels_, there.probabilities_, there.core_labels_, there.memberships_):
            assert values.chunks == (chunks[0],)
    with pytest.raises(ValueError, match="fitted with 2 features"):
        there.predict(held(form, np.ones((9, 3)), tmp_path))


def test_a_hierarchy_of_rows_elsewhere_is_one_of_round_groups():
    torch = pytest.importorskip("torch")
    tree = DominantSetHierarchy(2).fit(torch.tensor(MOONS))
    assert tree.affinity_ == "sqeuclidean"
    assert "hierarchy is one of round groups" in tree.choice_.reason
