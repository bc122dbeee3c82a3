"""Every kind of similarity against its own dense matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, as_similarity, solve
from dominantsets.similarity import Similarity, kernel, search
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.solvers import Point, Problem
from support import features, formula, inverse_distance

ROWS = np.array([3, 0, 17, 59, 31])
COLS = np.array([17, 2, 3])


def test_block(kind):
    _, S, A, atol = kind
    np.testing.assert_allclose(S.block(ROWS, COLS), A[np.ix_(ROWS, COLS)], atol=atol, rtol=0)
    assert S.block(ROWS, ROWS).trace() == 0.0


def test_columns(kind):
    _, S, A, atol = kind
    for i in (0, 31, 59):
        np.testing.assert_allclose(S.column(i), A[:, i], atol=atol, rtol=0)


def test_gradient_for_sparse_and_full_support(kind):
    _, S, A, atol = kind
    rng = np.random.default_rng(0)
    for support in (np.array([7]), ROWS, np.sort(rng.permutation(60)[:40]), np.arange(60)):
        weights = rng.random(support.size)
        expected = A[:, support] @ weights
        np.testing.assert_allclose(S.gradient(support, weights), expected, atol=60 * atol, rtol=0)


def test_arrays_that_the_caller_changes_are_read_anew(kind):
    _, S, A, atol = kind
    support, weights = np.array([3, 11, 40]), np.array([0.2, 0.5, 0.3])
    S.gradient(support, weights)
    weights *= 2.0
    support[0] = 5
    np.testing.assert_allclose(S.gradient(support, weights), A[:, support] @ weights, atol=60 * atol, rtol=0)


def test_degrees(kind):
    _, S, A, atol = kind
    np.testing.assert_allclose(S.degrees(), A.sum(axis=1), atol=60 * atol, rtol=0)
    assert S.degrees_error == 0.0


def test_toarray(kind):
    _, S, A, atol = kind
    np.testing.assert_allclose(S.toarray(), A, atol=atol, rtol=0)


def test_masked_payoffs_with_a_shift(kind):
    _, S, A, atol = kind
    problem = Problem(S, shift=0.7)
    gone = np.array([2, 3, 40])
    problem.degrees  # noqa: B018 (made before the removal, so that it is updated)
    problem.remove(gone)
    left = np.setdiff1d(np.arange(60), gone)
    x = np.zeros(60)
    x[left[:10]] = 0.1
    r, f = problem.every_payoff(Point.of(x))
    B = A - 0.7 * np.eye(60)
    np.testing.assert_allclose(r[left], (B @ x)[left], atol=10 * atol, rtol=0)
    assert f == pytest.approx(x @ B @ x, abs=10 * atol)
    assert np.isneginf(r[gone]).all()
    payoffs = problem.payoffs(Point.of(x))
    listed = left if payoffs.objects is None else np.intersect1d(payoffs.objects, left)
    np.testing.assert_allclose(payoffs.of(listed), r[listed], atol=10 * atol, rtol=0)
    assert payoffs.largest() == pytest.approx(r.max(), abs=10 * atol)
    outside = np.setdiff1d(left, left[:10])
    assert payoffs.largest_outside(left[:10]) == pytest.approx(r[outside].max(), abs=10 * atol)
    np.testing.assert_array_equal(payoffs.of(listed), problem.payoffs(Point.of(x)).of(listed))
    assert problem.vertex() == left[np.argmax(problem.degrees[left])]
    np.testing.assert_allclose(
        problem.degrees[left], A[np.ix_(left, left)].sum(axis=1), atol=100 * atol, rtol=0
    )


@pytest.mark.parametrize(
    ("name", "sparse"),
    [(n, s) for n in ("sqeuclidean", "cosine", "linear", "rbf") for s in (False, True)]
    + [(n, False) for n in ("laplacian", "euclidean", "callable")],
)
def test_new_objects_see_what_training_objects_see(name, sparse):
    """Objects fitted together have the similarities that the second half gets as newcomers."""
    X = np.abs(features())
    first, second = X[:30], X[30:]
    params = {"gamma": 0.1} if name in ("rbf", "laplacian") else {}
    affinity = inverse_distance if name == "callable" else name
    S = as_similarity(sp.csr_array(first) if sparse else first, affinity, **params)
    new = sp.csr_array(second) if sparse else second
    support, weights = np.array([1, 8, 20]), np.array([0.5, 0.2, 0.3])
    D2 = np.square(second[:, None, :] - first[None, support, :]).sum(axis=2)
    expected = {
        "sqeuclidean": lambda: S.offset - D2,
        "euclidean": lambda: S.offset - np.sqrt(D2),
        "cosine": lambda: formula("cosine", X)[30:, support],
        "linear": lambda: formula("linear", X)[30:, support],
        "rbf": lambda: np.exp(-0.1 * D2),
        "laplacian": lambda: formula("laplacian", X)[30:, support],
        "callable": lambda: formula("callable", X)[30:, support],
    }[name]()
    np.testing.assert_allclose(S.cross(new, support), expected, rtol=1e-10)
    arrivals = arrivals_of(S)
    payoffs = arrivals.payoff_of(new, arrivals.summarise(support, weights))
    np.testing.assert_allclose(payoffs, expected @ weights, rtol=1e-10)


def test_sampled_degrees_come_with_their_error(monkeypatch):
    X = features(n=900)
    exact = as_similarity(X, "rbf", gamma=0.05).degrees()
    monkeypatch.setattr(kernel, "SAMPLED_ABOVE", 500)
    monkeypatch.setattr(kernel, "SAMPLE", 300)
    S = as_similarity(X, "rbf", gamma=0.05)
    estimate = S.degrees(random_state=0)
    assert S.degrees_error > 0
    # 900 estimates within five of the largest standard error; half of them beyond would be absurd
    assert np.abs(estimate - exact).max() < 5 * S.degrees_error
    assert np.abs(estimate - exact).max() > 0
    np.testing.assert_array_equal(estimate, S.degrees(random_state=0))


def test_the_approximate_search_is_for_many_objects_of_many_features(monkeypatch):
    X = features(200, 12)
    monkeypatch.setattr(search, "EXACT_WORK", 200 * 200 * 11)
    assert isinstance(search.make_search(X, 5), search.Lists)
    assert isinstance(search.make_search(X, 5, "exact"), search.Exact)
    assert isinstance(search.make_search(X[:, :10], 5), search.Exact)  # few features
    assert isinstance(search.make_search(X[:150], 5), search.Exact)
    assert isinstance(search.make_search(sp.csr_array(X), 5), search.Exact)
    with pytest.raises(ValueError, match="needs dense features"):
        as_similarity(sp.csr_array(X), "nearest_neighbors", search="approximate")
    with pytest.raises(ValueError, match="search='fast' is not known"):
        as_similarity(X, "nearest_neighbors", search="fast")


class Alike(Similarity):
    """A kind of a user's own, with no more than it must have: 1 / (1 + distance) on a line."""

    self_similarity = 1.0

    def __init__(self, x):
        self.x, self.n, self.n_features = x, len(x), 1

    def block(self, rows, cols):
        out = self.cross(self.x[rows, None], cols)
        out[np.equal.outer(rows, cols)] = 0.0
        return out

    def cross(self, new, cols):
        return 1.0 / (1.0 + np.abs(new[:, :1] - self.x[cols]))


def test_a_kind_of_a_users_own_answers_two_questions_and_has_the_rest():
    x = np.concatenate([np.linspace(0.0, 1.0, 20), np.linspace(8.0, 9.0, 15)])
    S = Alike(x)
    ours, theirs = solve(S, shift=0.5), solve(S.toarray(), shift=0.5)
    np.testing.assert_array_equal(ours.members, theirs.members)
    assert ours.value == pytest.approx(theirs.value, rel=1e-12)
    model = DominantSets(2).fit(S)
    assert adjusted_rand_score(model.labels_, x > 5.0) == 1.0
    new = np.array([[0.5], [8.5]])
    np.testing.assert_array_equal(model.predict(new), model.labels_[[10, 27]])
    for name, needed in (("dual", "low-rank"), ("exact", "single-linkage tree")):
        with pytest.raises(ValueError, match=needed):
            solve(S, algorithm=name)
