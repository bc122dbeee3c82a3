"""The dual solver: Newton's method in d + 1 unknowns for low-rank features."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_wine

from dominantsets import DominantSets, Status, Step, as_similarity, peel, solve
from support import assert_certified, features, given_comparisons, press_ctrl_c

KINDS = ("sqeuclidean", "cosine", "linear")


def data(n: int, d: int, seed: int, kind: str) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3, d))[rng.integers(3, size=n)] * 2 + rng.normal(size=(n, d))
    return np.abs(X) if kind == "linear" else X + 1.0


@given_comparisons(0.9, st.integers(4, 60), st.integers(2, 6), st.integers(0, 10_000), st.floats(0.5, 20.0))
def test_rotation_and_translation_change_nothing(n, d, seed, times):
    rng = np.random.default_rng(seed)
    X = data(n, d, seed, "sqeuclidean")
    Q, _ = np.linalg.qr(rng.normal(size=(d, d)))
    moved = X @ Q + rng.normal(size=d) * 5
    S = as_similarity(X, "sqeuclidean")
    shift = times * S.offset
    one = solve(S, algorithm="dual", shift=shift, start=0)
    other = solve(as_similarity(moved, "sqeuclidean"), algorithm="dual", shift=shift, start=0)
    assert other.value == pytest.approx(one.value, rel=1e-7)
    if one.members.tolist() != other.members.tolist():  # an object at the rim, in or out by rounding
        return False
    np.testing.assert_allclose(one.center @ Q, other.center - (moved - X @ Q)[0], atol=1e-5)
    assert one.radius == pytest.approx(other.radius, rel=1e-6)
    return True


def test_passes_over_a_grid_of_data():
    """Median at most 10, maximum at most 60, none failed; also on the shells that peeling leaves."""
    rng = np.random.default_rng(0)
    wine = load_wine().data
    sets = {
        "digits": load_digits().data,
        "wine": (wine - wine.mean(axis=0)) / wine.std(axis=0),
        "gaussians": data(1_500, 20, 0, "cosine"),
        "uniform": rng.random((1_500, 2)),
        "cube": rng.random((1_000, 10)),
    }
    passes = []
    for X in sets.values():
        for kind in ("cosine", "sqeuclidean"):
            S = as_similarity(X, kind)
            degrees = S.degrees()
            auto = 0.01 * S.n * (S.self_similarity - degrees.sum() / (S.n * (S.n - 1)))
            for shift in (0.0, degrees.mean() / S.n, auto, 5 * auto):
                runs = [
                    solve(S, algorithm="dual", shift=shift, start=int(i), tol=1e-13)
                    for i in rng.choice(S.n, 4)
                ]
                runs += peel(S, 5, shift=shift, algorithm="dual", tol=1e-13)
                for run in runs:
                    assert run.gap <= max(1e-12 * run.unit, 1e-14 * S.largest())
                    passes.append(run.n_iter)
    assert len(passes) > 300
    assert np.median(passes) <= 10
    assert max(passes) <= 60


def test_a_cluster_is_a_ball():
    X = features(300, 3)
    S = as_similarity(X, "sqeuclidean")
    clusters = list(peel(S, 3, shift=2 * S.offset, algorithm="dual"))
    left = np.ones(300, dtype=bool)
    for cluster in clusters:
        inside = np.linalg.norm(X - cluster.center, axis=1) < cluster.radius
        np.testing.assert_array_equal(np.flatnonzero(inside & left), cluster.members)
        # weights fall off as radius² - distance²
        fall = cluster.radius**2 - np.square(X[cluster.members] - cluster.center).sum(axis=1)
        np.testing.assert_allclose(cluster.weights, fall / fall.sum(), atol=1e-9)
        left[cluster.members] = False
    model = DominantSets(3, shift=2 * S.offset, assign=None, affinity="sqeuclidean").fit(X)
    new = X + 0.3
    first = np.full(300, -1)
    for k, cluster in reversed(list(enumerate(model.clusters_))):
        first[np.linalg.norm(new - cluster.center, axis=1) < cluster.radius] = k
    np.testing.assert_array_equal(model.predict(new), first)


@pytest.mark.parametrize("kind", KINDS)
def test_float32_and_sparse_features_are_the_same_problem(kind):
    X = np.abs(data(200, 12, 3, kind))
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0.0
    X[~X.any(axis=1)] = 1.0
    shift = 3.0 * as_similarity(X, kind).self_similarity
    expected = solve(as_similarity(X, kind), algorithm="dual", shift=shift)
    sparse = solve(as_similarity(sp.csr_array(X), kind), algorithm="dual", shift=shift)
    np.testing.assert_array_equal(sparse.members, expected.members)
    np.testing.assert_allclose(sparse.weights, expected.weights, atol=1e-10)
    single = solve(as_similarity(X.astype(np.float32), kind), algorithm="dual", shift=shift, tol=1e-13)
    assert single.status is Status.CONVERGED
    np.testing.assert_allclose(single.value, expected.value, rtol=1e-6)


@pytest.mark.parametrize(
    "start", ["barycenter", 5, np.r_[0.5, np.full(79, 0.5 / 79)]], ids=["B", "index", "half"]
)
def test_dense_starts(start):
    S = as_similarity(features(80), "sqeuclidean")
    cluster = solve(S, algorithm="dual", start=start, shift=S.offset)
    assert cluster.status is Status.CONVERGED
    assert cluster.strict is True


def test_value_never_falls_and_steps_are_named():
    S = as_similarity(load_digits().data, "sqeuclidean")
    for start in (0, 100, 1_000):
        trace = solve(S, algorithm="dual", start=start, shift=S.offset, trace=True).trace
        assert set(trace.step.tolist()) <= {Step.NEWTON, Step.SAFE}
        assert np.diff(trace.value).min(initial=0.0) >= -1e-12 * trace.value.max()


def test_what_the_dual_cannot_take():
    with pytest.raises(ValueError, match=r"'sqeuclidean', 'cosine' or 'linear', got a Rbf similarity"):
        solve(as_similarity(features(), "rbf"), algorithm="dual")
    S = as_similarity(features(), "cosine")
    with pytest.raises(ValueError, match="needs a shift above -2 here, got -3"):
        solve(S, algorithm="dual", shift=-3.0)
    assert solve(S, shift=-3.0).algorithm == "pairwise"  # "auto" knows
    assert solve(S, shift=-1.0).algorithm == "dual"


def test_a_pass_makes_no_copy_of_the_features():
    n, d = 200_000, 16
    S = as_similarity(np.random.default_rng(0).normal(size=(n, d)), "cosine")
    solve(S, algorithm="dual", shift=0.01 * n, max_iter=2)
    tracemalloc.start()
    cluster = solve(S, algorithm="dual", shift=0.01 * n)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert cluster.status is Status.CONVERGED
    assert peak < 8 * n * d


def test_it_can_be_stopped():
    S = as_similarity(np.random.default_rng(0).random((20_000, 2)), "sqeuclidean")
    stopped = solve(S, algorithm="dual", shift=50.0, callback=lambda progress: progress.n_iter >= 2)
    assert stopped.status is Status.STOPPED
    late = solve(S, algorithm="dual", shift=50.0, max_time=0.0)
    assert late.status is Status.TIME_LIMIT
    interrupted = solve(S, algorithm="dual", shift=50.0, callback=press_ctrl_c)
    assert interrupted.status is Status.INTERRUPTED
    for cluster in (stopped, late, interrupted):
        assert cluster.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(8))
def test_a_kappa_below_the_rounding_of_the_payoffs(seed):
    """Rows that nearly coincide: nobody exceeds tau in floating point, and somebody has all the weight."""
    rng = np.random.default_rng(seed)
    S = as_similarity(1.0 + 10.0 ** -rng.integers(5, 12) * rng.normal(size=(30, 4)), "cosine")
    for power in range(10, 16):
        found = solve(S, shift=10.0**-power - S.self_similarity, algorithm="dual")
        assert found.weights.sum() == pytest.approx(1.0)
        assert_certified(S.toarray(), found)
