"""The scikit-learn estimator."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from dominantsets import DominantSets, End, Similarity, Status, as_similarity, peel, solve
from support import cliques, features, inverse_distance, random_similarity

CENTERS = [(0, 0), (10, 0), (0, 10)]


def what_cannot_be_passed(estimator):
    """Checks of scikit-learn that do not know what a matrix of similarities is."""
    if estimator.affinity == "cosine":
        ties = "four copies each: which pile is the first cluster depends on the order of the rows"
        return dict.fromkeys(
            (
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ),
            ties,
        )
    if estimator.affinity == "ellipses":  # scikit-learn 1.6 tries it all the same
        return {"check_sample_weight_equivalence_on_sparse_data": "takes dense features only"}
    if estimator.affinity != "precomputed":
        return {}
    return {
        "check_clustering": "passes features, which are no square matrix",
        "check_positive_only_tag_during_fit": "wants scikit-learn's words for a negative number, not ours",
    }


@parametrize_with_checks(
    [
        DominantSets(),
        DominantSets(affinity="sqeuclidean"),
        DominantSets(n_clusters=2, affinity="ellipses"),
        DominantSets(n_clusters=3, affinity="cosine", assign="average"),
        DominantSets(n_clusters=2, affinity="precomputed"),
    ],
    expected_failed_checks=what_cannot_be_passed,
)
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(240, centers=CENTERS, random_state=0)


@pytest.mark.parametrize("affinity", ["sqeuclidean", "rbf", "laplacian", "euclidean"])
def test_finds_separated_blobs(affinity, blobs):
    X, y = blobs
    model = DominantSets(n_clusters=3, affinity=affinity).fit(X)
    inside = model.labels_ >= 0
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y[inside], model.labels_[inside]) > 0.98
    assert model.assignment_rate_ == pytest.approx(inside.mean())
    assert inside.mean() > 0.5


def test_attributes_belong_together(blobs):
    X, _ = blobs
    model = DominantSets(n_clusters=3, affinity="sqeuclidean").fit(X)
    for k, cluster in enumerate(model.clusters_):
        assert (model.labels_[cluster.members] == k).all()
        assert model.memberships_[cluster.exemplar] == 1.0
        assert model.exemplars_[k] == cluster.exemplar
        assert cluster.status is Status.CONVERGED
        assert cluster.relative_gap <= 1e-10
    assert (model.memberships_[model.labels_ < 0] == 0).all()
    assert (model.memberships_[model.labels_ >= 0] > 0).all()
    assert model.n_iter_ == sum(c.n_iter for c in model.clusters_)
    assert model.n_features_in_ == 2
    assert model.end_ is End.N_CLUSTERS
    assert isinstance(model.similarity_, Similarity)


def test_is_solve_at_the_shift_of_each_cluster(blobs):
    """Every cluster is the dominant set of all objects at its own shift, from its exemplar too."""
    X, _ = blobs
    model = DominantSets(n_clusters=3, assign=None, affinity="sqeuclidean").fit(X)
    S = as_similarity(X, "sqeuclidean")
    for cluster, shift in zip(model.clusters_, model.shifts_, strict=True):
        assert cluster.shift == shift
        alone = solve(S, shift=shift, start=int(cluster.exemplar))
        np.testing.assert_array_equal(alone.members, cluster.members)
        np.testing.assert_allclose(alone.weights, cluster.weights, atol=1e-9)
    np.testing.assert_array_equal(model.labels_, model.core_labels_)


def test_is_peel_with_a_given_shift(blobs):
    X, _ = blobs
    model = DominantSets(n_clusters=3, assign=None, shift=500.0, affinity="sqeuclidean").fit(X)
    peeling = peel(as_similarity(X, "sqeuclidean"), 3, shift=500.0)
    list(peeling)
    np.testing.assert_array_equal(model.labels_, peeling.labels)
    assert (model.shifts_ == 500.0).all()


def test_the_automatic_shift_of_a_graph_is_in_proportion_to_its_degrees(blobs):
    X, _ = blobs
    model = DominantSets(n_clusters=2, affinity="nearest_neighbors").fit(X)
    np.testing.assert_allclose(model.shifts_, 0.9 * model.similarity_.degrees().mean())


def test_the_default_keeps_its_clusters_as_n_grows():
    """The shift is in proportion to n: share assigned and classes found stay the same."""
    shares = []
    for n in (300, 1_000, 3_000):
        X, y = make_blobs(n, centers=[(0, 0), (9, 0), (0, 9), (9, 9)], random_state=1)
        model = DominantSets(n_clusters=4, affinity="sqeuclidean").fit(X)
        inside = model.labels_ >= 0
        assert adjusted_rand_score(y[inside], model.labels_[inside]) > 0.95
        shares.append(model.assignment_rate_)
    assert max(shares) - min(shares) < 0.1


def test_number_of_clusters_found_by_itself():
    X, y = make_blobs(600, centers=[(0, 0), (12, 0), (0, 12), (12, 12)], random_state=2)
    model = DominantSets(affinity="sqeuclidean").fit(X)
    assert 4 <= model.n_clusters_ <= 5
    inside = model.labels_ >= 0
    assert adjusted_rand_score(y[inside], model.labels_[inside]) > 0.95


def test_noise_stays_out():
    rng = np.random.RandomState(0)
    X, _ = make_blobs(800, centers=4, n_features=10, random_state=0)
    noise = rng.uniform(X.min(axis=0), X.max(axis=0), (200, 10))
    model = DominantSets(n_clusters=4, affinity="sqeuclidean").fit(np.r_[X, noise])
    assert (model.labels_[800:] == -1).mean() > 0.9
    assert (model.labels_[:800] >= 0).mean() > 0.9


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_container_gives_the_same_labels(dtype, blobs):
    X = blobs[0].astype(dtype)
    expected = DominantSets(n_clusters=3, affinity="sqeuclidean").fit(X).labels_
    read_only = X.copy()
    read_only.flags.writeable = False
    for other in (
        pd.DataFrame(X, columns=["a", "b"]),
        np.asfortranarray(X),
        read_only,
        sp.csr_matrix(X),
        sp.csc_array(X),
        X[::-1][::-1],
    ):
        np.testing.assert_array_equal(
            DominantSets(n_clusters=3, affinity="sqeuclidean").fit(other).labels_, expected
        )
    if dtype == np.float64:
        np.testing.assert_array_equal(
            DominantSets(n_clusters=3, affinity="sqeuclidean").fit(X.tolist()).labels_, expected
        )


def test_data_frames_name_their_features(blobs):
    frame = pd.DataFrame(blobs[0], columns=["a", "b"])
    model = DominantSets(n_clusters=3, affinity="sqeuclidean").fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_precomputed_dense_sparse_and_memmap_agree(blobs, tmp_path):
    A = as_similarity(blobs[0], "rbf", gamma=0.5).toarray()
    A[A < 1e-3] = 0.0
    options = {"n_clusters": 3, "affinity": "precomputed", "shift": 4.0}
    dense = DominantSets(**options).fit(A)
    graph = DominantSets(**options).fit(sp.csr_array(A))
    np.testing.assert_array_equal(dense.labels_, graph.labels_)
    file = np.memmap(tmp_path / "A", dtype=np.float64, mode="w+", shape=A.shape)
    file[:] = A
    mapped = DominantSets(**options).fit(file)
    np.testing.assert_array_equal(dense.labels_, mapped.labels_)
    assert mapped.similarity_.stored.base is not None
    assert np.shares_memory(mapped.similarity_.stored, file)


def test_tf_idf_stays_sparse():
    X = sp.random_array((300, 5_000), density=0.01, rng=np.random.default_rng(0)).tocsr()
    model = DominantSets(n_clusters=1, affinity="cosine").fit(X)
    assert not model.similarity_.rows.dense
    assert model.clusters_[0].status is Status.CONVERGED


def test_callables_and_similarity_objects(blobs):
    X = blobs[0][:80]
    by_callable = DominantSets(n_clusters=3, affinity=inverse_distance, shift=1.0).fit(X)
    S = as_similarity(X, inverse_distance)
    by_object = DominantSets(n_clusters=3, affinity=S, shift=1.0).fit(X)
    directly = DominantSets(n_clusters=3, shift=1.0, affinity="sqeuclidean").fit(S)
    np.testing.assert_array_equal(by_callable.labels_, by_object.labels_)
    np.testing.assert_array_equal(by_callable.labels_, directly.labels_)
    with pytest.raises(ValueError, match="X has 79 rows and the similarity 80 objects"):
        DominantSets(affinity=S).fit(X[:79])


def test_affinity_params_reach_the_similarity(blobs):
    model = DominantSets(n_clusters=2, affinity="rbf", affinity_params={"gamma": 0.125}).fit(blobs[0])
    assert model.similarity_.gamma == 0.125


def test_pickle_clone_and_pipeline(blobs):
    X, _ = blobs
    model = DominantSets(n_clusters=3, shift=300.0, random_state=1, affinity="sqeuclidean").fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_array_equal(again.predict(X[:9]), model.predict(X[:9]))
    assert clone(model).get_params() == model.get_params()
    assert make_pipeline(StandardScaler(), DominantSets(3, affinity="sqeuclidean")).fit_predict(X).max() == 2


def test_pickling_drops_the_callback_with_a_warning(blobs):
    model = DominantSets(n_clusters=2, callback=lambda progress: None, affinity="sqeuclidean").fit(blobs[0])
    with pytest.warns(UserWarning, match="callback"):
        assert pickle.loads(pickle.dumps(model)).callback is None
    assert model.callback is not None


def test_post_assignment_is_the_papers_equation(blobs):
    X, _ = blobs
    cores = DominantSets(n_clusters=3, shift=50.0, assign=None, affinity="sqeuclidean").fit(X)
    full = DominantSets(n_clusters=3, shift=50.0, assign="average", affinity="sqeuclidean").fit(X)
    A = as_similarity(X, "sqeuclidean").toarray()
    left = cores.labels_ < 0
    assert left.any()
    np.testing.assert_array_equal(full.labels_[~left], cores.labels_[~left])
    averages = np.stack([A[:, c.members].mean(axis=1) for c in cores.clusters_])
    np.testing.assert_array_equal(full.labels_[left], averages[:, left].argmax(axis=0))
    assert full.assignment_rate_ == 1.0
    assert (full.memberships_[left] == 0).all()


@pytest.mark.parametrize(
    ("affinity", "shift"),
    [("sqeuclidean", 100.0), ("cosine", 0.1), ("rbf", 2.0), ("euclidean", 5.0)],
)
def test_predicting_the_training_objects_gives_their_labels(affinity, shift, blobs):
    """By the KKT conditions: copies of members join their own cluster, outsiders none."""
    X = blobs[0] + 15.0
    options = {"solver_params": {"tol": 1e-13}, "assign": None}
    model = DominantSets(n_clusters=2, affinity=affinity, shift=shift, **options).fit(X)
    assert (model.labels_ < 0).any()
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_predicting_with_precomputed_similarities(blobs):
    X = blobs[0]
    S = as_similarity(X, "rbf", gamma=0.2)
    model = DominantSets(n_clusters=3, affinity="precomputed", shift=3.0).fit(S.toarray())
    new = X[:40] + 0.01
    similarities = S.cross(new, np.arange(len(X)))
    by_features = DominantSets(n_clusters=3, affinity=S, shift=3.0).fit(X)
    np.testing.assert_array_equal(model.predict(similarities), by_features.predict(new))
    np.testing.assert_array_equal(model.predict(sp.csr_array(similarities)), model.predict(similarities))
    with pytest.raises(ValueError, match="features"):
        model.predict(similarities[:, :10])


def test_predict_with_average_always_answers(blobs):
    X, y = blobs
    model = DominantSets(n_clusters=3, assign="average", affinity="sqeuclidean").fit(X)
    far = np.array([[100.0, 0.0], [0.0, 100.0]])
    labels = model.predict(far)
    assert (labels >= 0).all()
    assert labels[0] == model.labels_[np.flatnonzero(y == 1)[0]]
    assert DominantSets(n_clusters=3, affinity="sqeuclidean").fit(X).predict(far).tolist() == [-1, -1]


def test_predict_before_fit():
    with pytest.raises(NotFittedError):
        DominantSets(affinity="sqeuclidean").predict(np.ones((2, 2)))


def test_permuting_the_objects_permutes_the_labels():
    X = features(150, 5, seed=3)
    order = np.random.default_rng(0).permutation(150)
    one = DominantSets(n_clusters=3, affinity="sqeuclidean").fit(X)
    other = DominantSets(n_clusters=3, affinity="sqeuclidean").fit(X[order])
    np.testing.assert_array_equal(one.labels_[order], other.labels_)


def test_warnings_say_what_fell_short(blobs):
    X, _ = blobs
    few = {"algorithm": "pairwise", "max_iter": 5}
    with pytest.warns(UserWarning, match="3 clusters did not converge"):
        DominantSets(n_clusters=3, solver_params=few, shift=500.0, affinity="sqeuclidean").fit(X)
    A = np.zeros((6, 6))
    A[:2, :2] = 1 - np.eye(2)
    with pytest.warns(UserWarning, match="1 of 4 clusters were found.*no_similarity"):
        DominantSets(n_clusters=4, affinity="precomputed", shift=0.5).fit(A)
    # objects that are hardly like any other fill up
    apart = DominantSets(n_clusters=4, affinity="precomputed").fit(A + 0.01 * (1 - np.eye(6)))
    assert apart.n_clusters_ == 4
    assert apart.labels_[0] == apart.labels_[1]
    endless = {"algorithm": "fw", "tol": 0.0}
    with pytest.warns(UserWarning, match="ended early .time_limit."):
        DominantSets(n_clusters=3, solver_params=endless, max_time=0.05, affinity="sqeuclidean").fit(X)


def test_one_object_is_one_cluster_of_one():
    with pytest.warns(UserWarning, match="there is one object"):
        model = DominantSets(affinity="sqeuclidean").fit([[1.0, 2.0]])
    assert model.labels_.tolist() == [0]


def test_equal_objects_are_one_cluster():
    model = DominantSets(affinity="sqeuclidean").fit(np.full((20, 3), 0.1))
    assert model.labels_.tolist() == [0] * 20
    model = DominantSets(affinity="rbf").fit(np.zeros((12, 2)))
    assert model.labels_.tolist() == [0] * 12


def test_duplicates_and_two_objects():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 10, axis=0)
    labels = DominantSets(n_clusters=2, affinity="sqeuclidean").fit(X).labels_
    assert len(set(labels[:10])) == 1
    assert len(set(labels[10:])) == 1
    assert labels[0] != labels[10]
    # two objects are too few to compare: one group, and it says so; with a shift M - D² is 0
    model = DominantSets(affinity="sqeuclidean").fit([[0.0], [1.0]])
    assert model.labels_.tolist() == [0, 0]
    assert "too few" in model.selection_.reason
    assert sorted(DominantSets(2, affinity="sqeuclidean").fit_predict([[0.0], [1.0]])) == [0, 1]
    with pytest.warns(UserWarning, match="no two objects have a positive similarity"):
        assert DominantSets(shift=0.5, affinity="sqeuclidean").fit([[0.0], [1.0]]).labels_.tolist() == [
            -1,
            -1,
        ]


@pytest.mark.parametrize("shift", ["auto", 100.0])
@pytest.mark.parametrize("algorithm", ["inimdyn", "shrink-expand", "trajectory", "path-following"])
def test_the_other_systems_in_the_estimator(algorithm, shift):
    X, y = make_blobs(150, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    params = {"algorithm": algorithm}
    params |= {"algorithm_params": {"patience": 3}} if algorithm == "trajectory" else {}
    model = DominantSets(3, affinity="sqeuclidean", shift=shift, solver_params=params).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.solver_options_.algorithm == algorithm
    assert all(cluster.status is Status.CONVERGED for cluster in model.clusters_)


def test_digits_with_every_method():
    X, y = load_digits(return_X_y=True)
    for algorithm in ("fw", "pairwise", "away"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fw is stopped long before 1e-10
            params = {"algorithm": algorithm, "max_iter": 3_000}
            model = DominantSets(10, solver_params=params, affinity="sqeuclidean").fit(X)
        inside = model.labels_ >= 0
        assert inside.mean() > 0.5
        assert adjusted_rand_score(y[inside], model.labels_[inside]) > 0.6


def test_logging_of_verbose(blobs, caplog):
    with caplog.at_level("INFO", logger="dominantsets"):
        DominantSets(n_clusters=3, verbose=1, affinity="sqeuclidean").fit(blobs[0])
    assert sum("members" in record.message for record in caplog.records) >= 3
    caplog.clear()


def test_sets_that_are_too_small_are_passed_over():
    """A heavy pair comes first, and two cliques of 6 after it."""
    options = {"affinity": "precomputed", "shift": 0.0, "assign": None}
    model = DominantSets(2, min_cluster_size=3, **options).fit(cliques([2, 6, 6], [9.0, 1.0, 1.0]))
    assert sorted(len(c) for c in model.clusters_) == [6, 6]
    assert model.labels_[:2].tolist() == [-1, -1]
    assert adjusted_rand_score([0] * 6 + [1] * 6, model.labels_[2:]) == 1.0


FEATURES = (
    "sqeuclidean",
    "cosine",
    "linear",
    "rbf",
    "laplacian",
    "euclidean",
    "path",
    "nearest_neighbors",
    "diffusion",
    "embedding",
)


@pytest.mark.parametrize("affinity", FEATURES)
def test_the_tags_say_which_affinities_take_sparse_features(affinity, blobs):
    X = sp.csr_array(np.abs(blobs[0][:60]))
    model = DominantSets(2, affinity=affinity)
    if get_tags(model).input_tags.sparse:
        assert model.fit(X).labels_.shape == (60,)
    else:
        with pytest.raises((TypeError, ValueError), match=r"[Ss]parse"):
            model.fit(X)


def test_the_parameters_are_these():
    """Any other one is a function's, or belongs to ``solver_params``."""
    assert list(DominantSets().get_params()) == sorted(
        ["n_clusters", "affinity", "affinity_params", "shift", "solver_params", "min_cluster_size", "assign",
         "noise", "random_state", "max_time", "checkpoint", "device", "callback", "verbose"]
    )  # fmt: skip


def test_random_graph_with_isolated_nodes_keeps_them_out():
    A = np.zeros((40, 40))
    A[:30, :30] = random_similarity(30, seed=0, zeros=0.5)
    model = DominantSets(affinity="precomputed").fit(sp.csr_array(A))
    assert (model.labels_[30:] == -1).all()


@pytest.mark.parametrize("n_clusters", [2, 3, 4, 6])
def test_labels_are_those_of_the_clusters_where_groups_are_alike(n_clusters):
    """Copies of one group: nothing but their places tells them apart."""
    group = np.random.default_rng(0).normal(size=(20, 2))
    X = np.vstack([group + np.array([12.0 * k, 0.0]) for k in range(n_clusters)])
    model = DominantSets(n_clusters, affinity="sqeuclidean").fit(X)
    for k, cluster in enumerate(model.clusters_):
        assert (model.labels_[cluster.members] == k).all()
    again = DominantSets(n_clusters, affinity="sqeuclidean").fit(X)
    np.testing.assert_array_equal(again.labels_, model.labels_)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_network_is_one_in_whatever_form_it_comes(weighted):
    rng, group = np.random.default_rng(0), np.repeat(np.arange(4), 30)
    upper = np.triu(rng.random((120, 120)) < np.where(group[:, None] == group, 0.5, 0.05), 1)
    A = np.where(upper, rng.uniform(0.5, 1.5, upper.shape) if weighted else 1.0, 0.0)
    A = A + A.T
    array, csr = (DominantSets(affinity="precomputed").fit(form) for form in (A, sp.csr_array(A)))
    np.testing.assert_array_equal(array.labels_, csr.labels_)
    np.testing.assert_array_equal(array.predict(A), csr.predict(sp.csr_array(A)))
    assert array.n_clusters_ == 4


def test_round_groups_with_their_number_have_noise_and_radii():
    """Paths would part them as well, but call nothing noise and have no ball."""
    for seed in range(4):
        X, _ = make_blobs(300, centers=[(0, 0), (12, 0), (0, 12), (12, 12)], random_state=seed)
        model = DominantSets(4).fit(X)
        assert model.affinity_ == "sqeuclidean"
        assert all(cluster.radius is not None for cluster in model.clusters_)
        assert model.predict([[1e3, 1e3]])[0] == -1
