"""Equal rows: copies count once where groups are counted, and rows without a direction are in no cluster."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets

X, Y = make_blobs(200, centers=[(0, 0), (10, 0), (0, 10)], random_state=0)
COUNTS = {
    "three": np.full(200, 3),
    "ten": np.full(200, 10),
    "unequal": np.random.default_rng(0).integers(1, 20, size=200),
}


@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("options", [{}, {"affinity": "sqeuclidean"}, {"n_clusters": 3}], ids=str)
def test_copies_are_no_clusters(counts, options):
    model = DominantSets(**options).fit(np.repeat(X, counts, axis=0))
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(np.repeat(Y, counts), model.labels_) > 0.99
    weighted = DominantSets(**options).fit(X, sample_weight=counts)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, counts), model.labels_)


@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
def test_copies_of_shapes_are_no_clusters(counts):
    rows, y = make_moons(200, noise=0.05, random_state=0)
    model = DominantSets().fit(np.repeat(rows, counts, axis=0))
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(np.repeat(y, counts), model.labels_) == 1.0


@pytest.mark.parametrize("step", [0.5, 1.0])
def test_rounded_rows_are_no_clusters(step):
    model = DominantSets().fit(np.round(X / step) * step)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(Y, model.labels_) > 0.99


def test_ages_in_whole_years():
    rng, sizes = np.random.default_rng(0), [200, 400, 300]
    ages = np.concatenate(
        [rng.normal(m, s, k) for m, s, k in zip([8, 35, 70], [2, 5, 6], sizes, strict=True)]
    )
    model = DominantSets().fit(ages.round()[:, None])
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(np.repeat(range(3), sizes), model.labels_) > 0.95


def test_categories_are_clusters():
    """One column of ones for each of five categories: equal rows are no copies of one object."""
    y = np.random.default_rng(0).integers(5, size=500)
    model = DominantSets().fit(np.eye(5)[y])
    assert model.n_clusters_ == 5
    assert adjusted_rand_score(y, model.labels_) == 1.0


def words(empty: int) -> tuple[sp.csr_array, np.ndarray]:
    """Word counts of four topics, and some empty texts among them."""
    rng = np.random.default_rng(0)
    y = np.append(np.repeat(range(4), 50), np.full(empty, -1))
    rows = np.zeros((y.size, 80))
    for i, topic in enumerate(y):
        if topic >= 0:
            np.add.at(rows[i], topic * 20 + rng.integers(20, size=12), 1.0)
    order = rng.permutation(y.size)
    return sp.csr_array(rows[order]), y[order]


CASES = [
    ({}, sp.csr_array),
    ({"affinity": "cosine"}, sp.csr_array), ({"affinity": "cosine"}, sp.csr_array.toarray),
    ({"affinity": "diffusion", "affinity_params": {"metric": "cosine"}}, sp.csr_array),
    ({"affinity": "embedding", "affinity_params": {"metric": "cosine"}}, sp.csr_array.toarray),
]  # fmt: skip


@pytest.mark.parametrize(("options", "form"), CASES)
def test_rows_without_a_direction_are_in_no_cluster(options, form):
    rows, y = words(40)
    with pytest.warns(
        UserWarning, match="40 of 240 rows are all 0 and have no direction: they are labelled -1"
    ):
        model = DominantSets(**options).fit(form(rows))
    assert (model.labels_[y < 0] == -1).all()
    assert adjusted_rand_score(y[y >= 0], model.labels_[y >= 0]) > 0.95
    np.testing.assert_array_equal(model.predict(form(rows)), model.labels_)
    assert (model.predict(form(rows[y < 0])) == -1).all()
    for cluster in model.clusters_:
        assert (y[cluster.members] >= 0).all()
    without = DominantSets(**options).fit(form(rows[y >= 0]))  # the answer is that of the others
    np.testing.assert_array_equal(without.labels_, model.labels_[y >= 0])


def test_no_warning_where_all_rows_have_a_direction(recwarn):
    rows, _ = words(0)
    DominantSets(affinity="cosine").fit(rows)
    assert not [one for one in recwarn if "direction" in str(one.message)]
