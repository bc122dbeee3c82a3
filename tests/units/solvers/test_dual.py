"""The dual solver: Newton's method in d + 1 unknowns for low-rank features."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dominantsets import Status, as_similarity, solve
from dominantsets.compiled import passes as compiled
from dominantsets.solvers import Problem
from dominantsets.solvers import dual as dual_module
from dominantsets.solvers.dual import Dual
from support import assert_certified, features, given_comparisons, vector

KINDS = ("sqeuclidean", "cosine", "linear")


def data(n: int, d: int, seed: int, kind: str) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3, d))[rng.integers(3, size=n)] * 2 + rng.normal(size=(n, d))
    return np.abs(X) if kind == "linear" else X + 1.0


def dense_problem(S, shift):
    return S.toarray() - shift * np.eye(S.n)


def payoffs(B, cluster):
    x = vector(cluster, len(B))
    return B @ x, x @ B @ x


@given(
    st.sampled_from(KINDS),
    st.integers(2, 60),
    st.integers(1, 8),
    st.integers(0, 10_000),
    st.floats(0.0, 20.0),
)
def test_every_answer_is_a_kkt_point_of_the_dense_problem(kind, n, d, seed, times):
    S = as_similarity(data(n, d, seed, kind), kind)
    shift = times * S.self_similarity
    cluster = solve(S, algorithm="dual", shift=shift, tol=1e-12)
    r, f = payoffs(dense_problem(S, shift), cluster)
    unit = max(f + shift, abs(f), S.self_similarity)
    assert_certified(S.toarray(), cluster, stationary=1e-9, size=S.self_similarity)
    assert r.max() - f <= 1e-10 * unit
    assert f - r[cluster.members].min() <= 1e-9 * unit  # of each member, not only on average
    assert cluster.status in (Status.CONVERGED, Status.STALLED)


@given_comparisons(
    0.5,  # from one vertex two methods may climb to two maxima
    st.sampled_from(KINDS),
    st.integers(5, 60),
    st.integers(1, 8),
    st.integers(0, 10_000),
    st.floats(0.0, 20.0),
)
def test_weights_are_those_of_pairwise_where_supports_agree(kind, n, d, seed, times):
    S = as_similarity(data(n, d, seed, kind), kind)
    shift = times * S.self_similarity
    one = solve(S, algorithm="dual", shift=shift, tol=1e-13)
    other = solve(S, algorithm="pairwise", shift=shift, tol=1e-13)
    if one.members.tolist() != other.members.tolist() or not one.strict:
        return False
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)
    assert one.value == pytest.approx(other.value, rel=1e-9)
    return True


@given(st.integers(1, 50), st.integers(0, 10_000), st.booleans(), st.floats(0.01, 100.0), st.floats(0, 1))
def test_the_threshold_is_a_projection_onto_the_simplex(n, seed, varied, kappa, guessed):
    """Against the textbook form: sort, and take the largest support that stays positive."""
    rng = np.random.default_rng(seed)
    s = np.round(rng.normal(size=n), 1)
    kappas = kappa * (1 + rng.random(n)) if varied else np.full(n, kappa)
    alive = rng.random(n) < 0.8
    alive[rng.integers(n)] = True
    form = compiled.Affine(2.0, 0.5, np.empty(0), np.ones(n))
    guess = np.flatnonzero(alive & (rng.random(n) < guessed))
    keep = np.empty(n, dtype=np.int64)
    tau, count = compiled.locate((s - 1.0) / 2.0 + 0.5, form, 1.0 / kappas, alive, guess, keep)
    x = np.where(alive, np.maximum(0.0, s - tau) / kappas, 0.0)
    assert x.sum() == pytest.approx(1.0, rel=1e-9)
    assert count >= np.count_nonzero(x)
    order = np.flatnonzero(alive)[np.argsort(-s[alive])]
    taus = (np.cumsum(s[order] / kappas[order]) - 1) / np.cumsum(1 / kappas[order])
    assert tau == pytest.approx(taus[np.flatnonzero(s[order] > taus)[-1]], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_nothing_but_rounding(kind, monkeypatch):
    S = as_similarity(data(500, 6, 0, kind), kind)
    problem = Problem(S, 10.0 * S.self_similarity)
    problem.remove(np.arange(0, 500, 7))
    alone = Dual(problem)
    w = alone.image(np.arange(1, 30, 7), np.full(5, 0.2))
    one = alone.at(w)
    matrix = alone.jacobian_on(one.members, w).matrix
    monkeypatch.setattr(dual_module, "thread_slices", lambda n, grain=0: [slice(0, n // 3), slice(n // 3, n)])
    together = Dual(problem)
    for _ in range(2):  # without and with a guess
        two = together.at(w)
        assert two.members.tolist() == one.members.tolist()
        assert two.tau == pytest.approx(one.tau, rel=1e-12)
        np.testing.assert_allclose(two.image, one.image, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(together.jacobian_on(two.members, w).matrix, matrix, rtol=1e-10, atol=1e-12)


@given(st.sampled_from(KINDS), st.integers(0, 10_000), st.floats(0.0, 10.0))
def test_the_safe_step_never_descends(kind, seed, times):
    rng = np.random.default_rng(seed)
    S = as_similarity(data(30, 4, seed, kind), kind)
    problem = Problem(S, times * S.self_similarity)
    dual = Dual(problem)
    B = dense_problem(S, problem.shift)
    x = rng.random(30) * (rng.random(30) < 0.5)
    x[3] += 0.1
    x /= x.sum()
    for _ in range(5):
        members = np.flatnonzero(x)
        point = dual.at(dual.image(members, x[members]))
        new = np.zeros(30)
        new[point.members] = point.weights
        assert new @ B @ new >= x @ B @ x - 1e-12 * np.abs(B).max()
        assert point.f == pytest.approx(new @ B @ new, rel=1e-9, abs=1e-10 * np.abs(B).max())
        x = new


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("sparse", [False, True])
def test_newtons_matrix_is_the_derivative(kind, d, sparse):
    X = np.abs(data(60, d, 1, kind)) if sparse else data(60, d, 1, kind)
    S = as_similarity(sp.csr_array(X) if sparse else X, kind)
    dual = Dual(Problem(S, 3.0 * S.self_similarity))
    w = dual.image(np.arange(60), np.full(60, 1 / 60)) * 1.01
    point = dual.at(w)
    jacobian = dual.jacobian_on(point.members, w)
    J = (
        np.array([jacobian.matvec(jacobian.rmatvec(e)) for e in np.eye(d)])
        if jacobian.small
        else jacobian.matrix
    )
    step = 1e-6
    numeric = np.array(
        [(dual.at(w + step * e).image - dual.at(w - step * e).image) / (2 * step) for e in np.eye(d)]
    )
    np.testing.assert_allclose(J, numeric, atol=1e-5 * max(1.0, np.abs(J).max()))
    # Newton's step solves the linear system
    g = point.residual
    solved, definite = jacobian.step(g, radius=np.inf)
    assert definite == bool(np.linalg.eigvalsh(np.eye(d) - J)[0] > 0)
    if definite:
        np.testing.assert_allclose(solved - J @ solved, g, atol=1e-9 * np.linalg.norm(g))
    short, _ = jacobian.step(g, radius=0.5 * np.linalg.norm(solved))
    assert np.linalg.norm(short) <= 0.5 * np.linalg.norm(solved) * (1 + 1e-9)
    assert short @ g > 0  # uphill


@given_comparisons(
    0.8,
    st.sampled_from(KINDS),
    st.integers(3, 40),
    st.integers(1, 6),
    st.integers(0, 10_000),
    st.floats(0.0, 10.0),
)
def test_strict_is_what_the_projected_hessian_says(kind, n, d, seed, times):
    S = as_similarity(data(n, d, seed, kind), kind)
    shift = times * S.self_similarity
    cluster = solve(S, algorithm="dual", shift=shift)
    B = dense_problem(S, shift)[np.ix_(cluster.members, cluster.members)]
    m = len(B)
    P = np.eye(m) - 1 / m
    values = np.sort(np.linalg.eigvalsh(P @ B @ P))
    inner = np.delete(values, np.abs(values).argmin())
    unit = np.abs(B).max()
    if cluster.strict is None or cluster.margin <= 1e-9 * unit:
        return False  # nothing is said, or an outsider decides
    if inner.size and abs(inner[-1]) < 1e-9 * unit:
        return False  # undecided by rounding
    assert cluster.strict == bool((inner < 0).all())
    return True


def test_where_newtons_matrix_is_too_large_safe_steps_are_extrapolated(monkeypatch):
    S = as_similarity(features(400, 8), "sqeuclidean")
    newton = solve(S, algorithm="dual", shift=3 * S.offset)
    monkeypatch.setattr(dual_module, "DENSE_LIMIT", 1)
    extrapolated = solve(S, algorithm="dual", shift=3 * S.offset)
    assert extrapolated.status is Status.CONVERGED
    assert extrapolated.value == pytest.approx(newton.value, rel=1e-9)
    assert extrapolated.n_iter < 60
