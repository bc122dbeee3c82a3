"""``sample_weight`` in ``fit``: the answer of repeated rows, as one of the objects."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.cluster.hierarchy import is_valid_linkage
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from dominantsets import DominantSetHierarchy, DominantSets, as_similarity, solve
from dominantsets.plotting import SimilarityDisplay


def blobs(n=60, seed=0):
    X, _ = make_blobs(n, centers=[(0, 0), (8, 0), (0, 9)], random_state=seed)
    return X, np.random.default_rng(seed).integers(0, 5, n)


@pytest.mark.parametrize("affinity", ["auto", "sqeuclidean", "ellipses", "cosine", "path", "rbf"])
@pytest.mark.parametrize("n_clusters", [None, 3])
def test_as_rows_that_are_repeated(affinity, n_clusters):
    X, m = blobs()
    weighted = DominantSets(n_clusters, affinity=affinity).fit(X, sample_weight=m)
    repeated = DominantSets(n_clusters, affinity=affinity).fit(np.repeat(X, m, axis=0))
    there, objects = m > 0, np.repeat(np.arange(len(X)), m)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, m), repeated.labels_)
    # copies of one row may differ by rounding; the object has that of the first
    np.testing.assert_allclose(np.repeat(weighted.probabilities_, m), repeated.probabilities_, atol=1e-13)
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    np.testing.assert_array_equal(weighted.transform(X), repeated.transform(X))
    np.testing.assert_array_equal(weighted.labels_[~there], weighted.predict(X[~there]))
    assert not weighted.probabilities_[~there].any()
    np.testing.assert_array_equal(weighted.counts_, m)
    assert weighted.membership_matrix_.shape == (60, weighted.n_clusters_)
    for one, other in zip(weighted.clusters_, repeated.clusters_, strict=True):
        assert (one.value, one.gap, one.margin) == (other.value, other.gap, other.margin)
        added = np.zeros(60)
        np.add.at(added, objects[other.members], other.weights)
        np.testing.assert_array_equal(one.members, np.flatnonzero(added))
        np.testing.assert_allclose(one.weights, added[one.members])
        assert weighted.memberships_[one.exemplar] == 1.0


def test_neighbours_may_part_copies():
    """More copies than neighbours are looked at: the object is where its first copy is."""
    X, m = blobs()
    weighted = DominantSets(3, affinity="diffusion").fit(X, sample_weight=m)
    repeated = DominantSets(3, affinity="diffusion").fit(np.repeat(X, m, axis=0))
    firsts = np.concatenate([[0], np.cumsum(m)[:-1]])[m > 0]
    np.testing.assert_array_equal(weighted.labels_[m > 0], repeated.labels_[firsts])


def test_the_certificate_is_that_of_the_weighted_objects():
    """f and the payoffs, with kappa / m on the diagonal: docs/theory-weights.md, in plain NumPy."""
    X, m = blobs(seed=3)
    model = DominantSets(3, affinity="sqeuclidean").fit(X, sample_weight=m)
    squares = np.square(cdist(X, X))
    own = float(model.similarity_.self_similarity)
    for cluster in model.clusters_:
        x = np.zeros(60)
        x[cluster.members] = cluster.weights
        f = x @ ((own - squares) @ x) - (own + cluster.shift) * np.square(x)[m > 0] @ (1 / m[m > 0])
        payoffs = (own - squares) @ x
        payoffs[m > 0] -= (own + cluster.shift) * x[m > 0] / m[m > 0]
        unit = abs(own) + abs(cluster.shift)
        assert f + cluster.shift == pytest.approx(cluster.value, abs=1e-12 * unit)
        level = payoffs[cluster.members]
        assert np.abs(level - f).max() <= 1e-9 * unit  # stationary among its members


def test_matrices_have_copies_that_are_as_alike_as_any_two():
    rng = np.random.default_rng(0)
    A = rng.uniform(0.0, 0.3, (20, 20))
    A[:8, :8] += 0.6
    A[8:, 8:] += 0.5
    A = (A + A.T) / 2
    m = rng.integers(0, 4, 20)
    own = (A - 2 * np.diag(np.diag(A))).max()
    np.fill_diagonal(A, 0.0)
    copies = A + own * np.eye(20)
    repeated = copies[np.ix_(*2 * [np.repeat(np.arange(20), m)])]
    np.fill_diagonal(repeated, 0.0)
    options = {"affinity": "precomputed", "shift": 0.5}
    weighted = DominantSets(2, **options).fit(A, sample_weight=m)
    plain = DominantSets(2, **options).fit(repeated)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, m), plain.labels_)
    assert weighted.n_features_in_ == 20
    new = rng.uniform(0.0, 1.0, (5, 20))
    np.testing.assert_array_equal(weighted.predict(new), plain.predict(np.repeat(new, m, axis=1)))
    for a, b in zip(weighted.clusters_, plain.clusters_, strict=True):
        alone = solve(A, shift=0.5, sample_weight=m, start=a.exemplar)
        assert a.value == b.value
        assert alone.gap <= 1e-9


def test_distances():
    X, m = blobs(seed=1)
    options = {"affinity": "precomputed_distance", "affinity_params": {"then": "sqeuclidean"}}
    weighted = DominantSets(3, **options).fit(cdist(X, X), sample_weight=m)
    R = np.repeat(X, m, axis=0)
    plain = DominantSets(3, **options).fit(cdist(R, R))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, m), plain.labels_)


def test_weights_of_one_change_nothing():
    X, _ = blobs()
    plain, weighted = DominantSets().fit(X), DominantSets().fit(X, sample_weight=np.ones(60))
    np.testing.assert_array_equal(plain.labels_, weighted.labels_)
    np.testing.assert_array_equal(weighted.counts_, np.ones(60))


def test_a_fit_without_weights_forgets_those_of_before():
    X, m = blobs()
    model = DominantSets(3).fit(X, sample_weight=m).fit(X)
    np.testing.assert_array_equal(model.labels_, DominantSets(3).fit(X).labels_)
    assert model.membership_matrix_.shape[0] == 60


def test_a_set_around_an_object_with_a_weight():
    X, m = blobs()
    model = DominantSets(3, affinity="sqeuclidean").fit(X, sample_weight=m)
    there = int(np.flatnonzero(m)[0])
    assert there in model.around(there).members
    with pytest.raises(ValueError, match="no set around objects of weight 0"):
        model.around(int(np.flatnonzero(m == 0)[0]))
    with pytest.raises(ValueError, match="seed 60 is not an object of 0 to 59"):
        model.around(60)


@pytest.mark.parametrize("affinity", ["diffusion", "ellipses", "embedding"])
def test_a_set_around_an_object_in_rows_of_other_width(affinity):
    X, _ = blobs(200)
    model = DominantSets(3, affinity=affinity).fit(X)
    assert 7 in model.around(7).members


@pytest.mark.parametrize("estimator", [DominantSets, DominantSetHierarchy])
def test_what_cannot_have_weights(estimator):
    X, m = blobs()
    with pytest.raises(ValueError, match="takes sample_weight with rows in memory"):
        estimator(2, affinity="sqeuclidean").fit(as_similarity(X, "sqeuclidean"), sample_weight=m)
    with pytest.raises(ValueError, match="not with a graph; pass"):
        estimator(2).fit(nx.karate_club_graph(), sample_weight=np.full(34, 2))
    with pytest.raises(ValueError, match="each of 60 objects"):
        estimator(2).fit(X, sample_weight=m[:5])
    with pytest.raises(ValueError, match="negative, NaN or infinite"):
        estimator(2).fit(X, sample_weight=-1.0 * m)


def test_copies_in_a_graph_have_no_edge():
    A = np.kron(np.eye(3), np.ones((8, 8)) - np.eye(8))
    A[0, 8] = A[8, 0] = A[8, 16] = A[16, 8] = 1.0
    m = np.random.default_rng(0).integers(1, 4, 24)
    objects = np.repeat(np.arange(24), m)
    weighted = DominantSets(3, affinity="precomputed").fit(sp.csr_array(A), sample_weight=m)
    repeated = DominantSets(3, affinity="precomputed").fit(sp.csr_array(A[np.ix_(objects, objects)]))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, m), repeated.labels_)
    assert {len(set(weighted.labels_[8 * k : 8 * k + 8])) for k in range(3)} == {1}


def test_a_hierarchy():
    X, m = blobs(seed=2)
    tree = DominantSetHierarchy(3).fit(X, sample_weight=m)
    plain = DominantSetHierarchy(3).fit(np.repeat(X, m, axis=0))
    for k in range(1, min(6, tree.n_leaves_) + 1):
        one, other = np.repeat(tree.cut(k), m), plain.cut(k)
        assert len(set(zip(one, other, strict=True))) == k  # the same groups; numbered by size
    np.testing.assert_array_equal(tree.root_.objects, np.arange(60))
    np.testing.assert_array_equal(tree.labels_, tree.predict(X))
    assert is_valid_linkage(tree.linkage_)
    assert tree.linkage_.shape == (59, 4)


def test_a_hierarchy_of_four_places():
    """Sixteen rows in four places: it once ended in an error of Python's own."""
    X = np.repeat(np.array([[1.0, 3], [2, 1], [3, 3], [4, 1]]), 4, axis=0)
    tree = DominantSetHierarchy().fit(X)
    assert tree.root_.objects.size == 16
    assert is_valid_linkage(tree.linkage_)


def test_a_picture_of_similarities():
    X, m = blobs()
    model = DominantSets(3, affinity="sqeuclidean").fit(X, sample_weight=m)
    display = SimilarityDisplay.from_estimator(model)
    assert display.figure_ is not None
