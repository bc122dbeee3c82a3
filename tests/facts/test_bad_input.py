"""Bad input gets one clear sentence, before any long work."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import DominantSets, as_similarity, peel, solve
from support import features, random_similarity

# scikit-learn's own sentence for a parameter of an estimator
STANDARD = r"The '\w+' parameter of DominantSets must be .* Got .* instead"
GOOD = random_similarity(6, seed=0)


def changed(i: int, j: int, value: float, both: bool = True) -> np.ndarray:
    A = GOOD.copy()
    A[i, j] = value
    if both:
        A[j, i] = value
    return A


@pytest.mark.parametrize(
    ("A", "words"),
    [
        (np.ones((3, 2)), r"must be square, got shape \(3, 2\).*affinity='sqeuclidean'"),
        (np.ones(3), "must be square"),
        (np.zeros((0, 0)), "0 objects"),
        (np.zeros((4, 4)), "all similarities are zero"),
        (changed(1, 2, np.nan), r"NaN or infinite entries \(1 pairs"),
        (changed(1, 2, np.inf), "NaN or infinite"),
        (changed(3, 1, -0.5), r"negative entries, such as -0.5 at \(1, 3\)"),
        (
            changed(0, 4, GOOD[0, 4] + 1e-3, both=False),
            r"not symmetric: entries \(0, 4\) and \(4, 0\) differ by 0.001.*1e-10 of the largest.*"
            r"\(A \+ A.T\) / 2, or .* solve_asymmetric",
        ),
        (GOOD.astype(complex), "complex"),
        (np.array([["a", "b"], ["b", "a"]]), "does not hold numbers"),
    ],
)
def test_dense_similarities(A, words):
    with pytest.raises(ValueError, match=words):
        as_similarity(A)


@pytest.mark.parametrize(
    ("A", "words"),
    [
        (sp.csr_array(np.ones((3, 2))), "must be square.*affinity='cosine'"),
        (sp.csr_array((4, 4)), "all similarities are zero"),
        (sp.csr_array(changed(1, 2, np.nan)), "2 NaN or infinite weights"),
        (sp.csr_array(changed(1, 2, -1.0)), "negative weights, down to -1"),
        (sp.csr_array(changed(1, 2, 0.0, both=False)), "not symmetric.*A.maximum"),
    ],
)
def test_graphs(A, words):
    with pytest.raises(ValueError, match=words):
        as_similarity(A)


def test_a_little_asymmetry_is_rounding():
    as_similarity(changed(0, 4, GOOD[0, 4] + 1e-14, both=False))
    A = GOOD.astype(np.float32)
    A[0, 4] += np.float32(1e-6)
    as_similarity(A)


def test_a_diagonal_that_is_not_zero():
    A = GOOD + np.diag([1.0, 0, 0, 0, 0, 2.0])
    with pytest.warns(UserWarning, match="2 of 6 diagonal entries of the similarity are not zero"):
        S = as_similarity(A)
    np.testing.assert_array_equal(S.toarray(), GOOD)
    with pytest.warns(UserWarning, match="2 of 6 diagonal entries of the graph are not zero"):
        S = as_similarity(sp.csr_array(A))
    np.testing.assert_allclose(S.toarray(), GOOD)
    A[0, 0] = np.nan
    with pytest.raises(ValueError, match="on its diagonal"):
        as_similarity(A)


@pytest.mark.parametrize(
    ("X", "affinity", "params", "words"),
    [
        (np.ones((0, 3)), "rbf", {}, r"shape \(0, 3\) are empty"),
        (np.ones((3, 0)), "rbf", {}, r"shape \(3, 0\) are empty"),
        (np.ones(3), "rbf", {}, r"2-D array.*reshape\(-1, 1\)"),
        ([[1.0, np.nan]], "cosine", {}, "NaN or infinite entries; impute"),
        ([[1.0, np.inf]], "cosine", {}, "NaN or infinite entries; impute"),
        ([["a"], ["b"]], "cosine", {}, "do not hold numbers"),
        (features(), "cosin", {}, "'cosin' is not known.*Did you mean 'cosine'"),
        (features(), "eucledean", {}, "Did you mean 'euclidean'"),
        (features(), "rbf", {"gama": 1}, "takes no parameter 'gama'; it takes: gamma"),
        (features(), "cosine", {"gamma": 1}, "it takes: none"),
        (features(), "rbf", {"gamma": -1.0}, "gamma must be positive"),
        (features(), "rbf", {"gamma": "x"}, "gamma must be a finite number"),
        (features(), "sqeuclidean", {"offset": "max"}, "'bound', 'exact' or a number"),
        (features(5), "nearest_neighbors", {"n_neighbors": 5}, "more than 5 objects, got 5"),
        (features(), "nearest_neighbors", {"n_neighbors": 0}, "at least 1, got 0"),
        (sp.csr_array(features()), "laplacian", {}, "needs dense features"),
        (features(), lambda P, Q: np.ones((1, 1)), {}, r"shape \(1, 1\) instead of"),
        (features(), lambda P, Q: P @ Q.T - 1e9, {}, "NaN, infinite or negative"),
        (features(), lambda P, Q: np.abs(P) @ np.ones((4, len(Q))), {}, "not symmetric"),
    ],
)
def test_features(X, affinity, params, words):
    with pytest.raises(ValueError, match=words):
        as_similarity(X, affinity, **params)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"algorithm": "pairwaise"}, "Did you mean 'pairwise'"),
        ({"algorithm": None}, "algorithm=None is not known"),
        ({"tol": -1e-3}, "tol must be at least 0, got -0.001"),
        ({"tol": "x"}, "tol must be a finite number"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
        ({"max_iter": 2.5}, "max_iter must be a whole number"),
        ({"max_time": -1}, "max_time must be at least 0"),
        ({"shift": np.nan}, "shift must be a finite number"),
        ({"start": "baricenter"}, "Did you mean 'barycenter'"),
    ],
)
def test_options_of_solve_peel_and_the_estimator(options, words):
    with pytest.raises(ValueError, match=words):
        solve(GOOD, **options)
    with pytest.raises(ValueError, match=words):
        list(peel(GOOD, 1, **options))
    if next(iter(options)) in ("max_time", "shift"):
        words = STANDARD
    else:
        options = {"solver_params": options}
    with pytest.raises(ValueError, match=words):
        DominantSets(affinity="precomputed", **options).fit(GOOD)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_clusters": 0}, "n_clusters must be a whole number of at least 1, got 0"),
        ({"n_clusters": 7}, "n_clusters=7 is more than the number of objects, which is 6"),
        ({"n_clusters": 2.0}, "n_clusters must be a whole number"),
        ({"cutoff": -1.0}, "cutoff must be at least 0 and below 1"),
        ({"cutoff": 1.0}, "cutoff must be at least 0 and below 1"),
        ({"min_cluster_size": 0}, "min_cluster_size must be a whole number"),
    ],
)
def test_options_of_peeling(options, words):
    with pytest.raises(ValueError, match=words):
        peel(GOOD, **options)
    if words.startswith(("n_clusters must", "min_cluster_size")):
        words = STANDARD
    options = {"solver_params": options} if "cutoff" in options else options
    with pytest.raises(ValueError, match=words):
        DominantSets(affinity="precomputed", **options).fit(GOOD)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"affinity": "cosin"}, "Did you mean 'cosine'"),
        ({"affinity": 3}, STANDARD),
        ({"shift": "automatic"}, STANDARD),
        ({"assign": "averge"}, STANDARD),
        ({"solver_params": {"tolerance": 1}}, "takes no 'tolerance'; it takes: algorithm, start, tol"),
        ({"affinity_params": {"gamma": 1}}, "'auto' takes no parameters, got gamma"),
        ({"affinity": "cosine", "affinity_params": {"gamma": 1}}, "takes no parameter 'gamma'"),
        ({"solver_params": {"algorithm": "replicator"}}, "cannot start at a vertex"),
    ],
)
def test_options_of_the_estimator(options, words):
    with pytest.raises(ValueError, match=words):
        DominantSets(**options).fit(features())


def test_features_passed_as_precomputed():
    with pytest.raises(ValueError, match=r"shape \(60, 4\).*affinity='sqeuclidean'"):
        DominantSets(affinity="precomputed").fit(features())


def test_a_dense_request_that_cannot_fit():
    S = as_similarity(np.ones((3_000_000, 1)), "cosine")
    with pytest.raises(MemoryError, match=r"72,000\.0 GB and .* GB are free; .*without the matrix"):
        S.toarray()


def test_sentences_are_one_line():
    with pytest.raises(ValueError, match="not symmetric") as error:
        as_similarity(changed(0, 1, 9.0, both=False))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_missing_numbers_are_refused_in_our_own_words(bad, sparse):
    """scikit-learn's message advises a classifier, which is no use here."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = DominantSets(2, affinity="sqeuclidean").fit(X)
    X[4, 1] = bad
    held = sp.csr_array(X) if sparse else X
    for call in (DominantSets(2).fit, model.predict):
        with pytest.raises(
            ValueError, match="NaN or infinite entries; impute or drop those rows first"
        ) as said:
            call(held)
        assert "lassif" not in str(said.value)
