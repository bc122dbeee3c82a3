"""Weights of objects: the same as copies of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import DominantSet, Status, as_similarity, global_optimum, peel, solve
from support import features, neighbor_graph, path, random_distances, random_similarity

LOW_RANK = ("sqeuclidean", "cosine", "linear")


def added_up(cluster: DominantSet, home: np.ndarray, n: int) -> np.ndarray:
    """The weights of copies, added up for each object."""
    return np.bincount(home[cluster.members], weights=cluster.weights, minlength=n)


def spread_out(cluster: DominantSet, n: int) -> np.ndarray:
    return np.bincount(cluster.members, weights=cluster.weights, minlength=n)


def random_problem(rng: np.random.Generator) -> tuple[Any, Any, np.ndarray, np.ndarray, float]:
    """A similarity, the same with repeated objects, the weights, whose copy each is, and a shift."""
    n, d = int(rng.integers(3, 25)), int(rng.integers(1, 4))
    weights = rng.integers(0, 4, n)
    weights[rng.integers(n)] = 2
    home = np.repeat(np.arange(n), weights)
    shift = float(rng.exponential(2.0))
    kind = (*LOW_RANK, "rbf", "matrix")[rng.integers(5)]
    X = rng.normal(size=(n, d))
    if kind == "linear":
        X = np.abs(X) + 0.1
    if kind == "matrix":
        A = random_similarity(n, int(rng.integers(10**6)))
        A[0, 1] = A[1, 0] = 1.0  # the largest, as which an object counts to its copy
        repeated = A[np.ix_(home, home)]
        repeated[np.equal.outer(home, home)] = 1.0
        np.fill_diagonal(repeated, 0.0)
        S = as_similarity(A)
        T = as_similarity(repeated) if repeated.any() else None
        if T is not None:
            T.self_similarity = S.self_similarity
        return S, T, weights, home, shift
    # an offset that does not depend on how often a row is there
    params = {"offset": 4.0 * np.square(X).sum(axis=1).max() * 4} if kind == "sqeuclidean" else {}
    params = {"gamma": 0.3} if kind == "rbf" else params
    return as_similarity(X, kind, **params), as_similarity(X[home], kind, **params), weights, home, shift


def check_equal_to_copies(count: int, seed: int) -> None:
    rng, compared = np.random.default_rng(seed), 0
    for _ in range(count):
        S, T, weights, home, shift = random_problem(rng)
        if T is None:
            continue
        for start in ("vertex", "barycenter"):
            one = solve(S, sample_weight=weights, shift=shift, start=start)
            many = solve(T, shift=shift, start=start)
            if one.status is not Status.CONVERGED or many.status is not Status.CONVERGED:
                continue
            unit = abs(many.value) + shift
            if abs(one.value - many.value) > 1e-6 * unit:
                # two starts that tie may end elsewhere: then each end is one of the other problem too
                again = solve(
                    T, shift=shift, start=np.where(weights[home] > 0, spread_out(one, S.n)[home], 0.0)
                )
                assert again.value == pytest.approx(one.value, rel=1e-6)
                continue
            compared += 1
            np.testing.assert_allclose(spread_out(one, S.n), added_up(many, home, S.n), atol=1e-4)
            assert one.gap <= 1e-8 * unit
    assert compared > 1.6 * count


def test_weights_are_copies():
    check_equal_to_copies(100, 0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_weights_are_copies_in_a_thousand_problems():
    check_equal_to_copies(1_000, 1)


def test_any_weight_scales_what_stands_on_the_diagonal():
    """With weights that are no whole numbers, payoffs are level for the diagonal of the derivation."""
    A, shift = random_similarity(12, seed=3), 0.7
    weights = np.linspace(0.3, 2.5, 12)
    p = float(A.max())
    found = solve(A, sample_weight=weights, shift=shift)
    x = spread_out(found, 12)
    r = A @ x + (p * (1.0 - 1.0 / weights) - shift / weights) * x
    f = x @ r
    assert found.threshold == pytest.approx(f, abs=1e-10)
    np.testing.assert_allclose(r[found.members], f, atol=1e-6)
    assert r.max() <= f + 1e-8


@pytest.mark.parametrize("algorithm", ["pairwise", "away", "working-set", "dual"])
def test_all_solvers_agree(algorithm):
    S = as_similarity(features(50, d=2), "sqeuclidean")
    weights = np.random.default_rng(0).random(50) + 0.5
    best = solve(S, sample_weight=weights, shift=3.0)
    found = solve(S, sample_weight=weights, shift=3.0, algorithm=algorithm)
    assert found.members.tolist() == best.members.tolist()
    assert found.value == pytest.approx(best.value, rel=1e-9)


def test_the_same_wherever_the_rows_are(tmp_path):
    X = np.float32(features(150, d=3)).astype(np.float64)
    weights = np.random.default_rng(0).integers(0, 4, 150)
    plain = solve(as_similarity(X, "sqeuclidean"), sample_weight=weights, shift=1.0, start="barycenter")
    da, torch = pytest.importorskip("dask.array"), pytest.importorskip("torch")
    memmap = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=X.shape)
    memmap[:] = X
    start = np.where(weights > 0, 1.0, 0.0) * weights  # equal weights of copies
    for data in (
        memmap,
        X.astype(np.float32),
        sp.csr_array(X),
        da.from_array(X, chunks=(40, 3)),
        torch.tensor(X),
    ):
        found = solve(as_similarity(data, "sqeuclidean"), sample_weight=weights, shift=1.0, start=start)
        assert found.members.tolist() == plain.members.tolist()
        assert found.value == pytest.approx(plain.value, rel=1e-9)


def test_peeling_with_weights_is_peeling_of_copies():
    rng = np.random.default_rng(5)
    X = features(60, d=2)
    weights = rng.integers(1, 4, 60)
    home = np.repeat(np.arange(60), weights)
    for clusters in (3, None):
        one = peel(as_similarity(X, "cosine"), clusters, sample_weight=weights, shift=30.0)
        many = peel(as_similarity(X[home], "cosine"), clusters, shift=30.0)
        for a, b in zip(one, many, strict=True):
            np.testing.assert_allclose(spread_out(a, 60), added_up(b, home, 60), atol=1e-6)
        assert one.coherence == pytest.approx(many.coherence)


def test_the_best_one_of_weighted_objects():
    X = features(40, d=2)
    weights = np.random.default_rng(1).integers(1, 4, 40)
    home = np.repeat(np.arange(40), weights)
    one = solve(as_similarity(X, "cosine"), sample_weight=weights, shift=5.0, start="global")
    many = global_optimum(as_similarity(X[home], "cosine"), shift=5.0)
    assert one.proven
    assert one.value == pytest.approx(many.cluster.value, rel=1e-8)


def test_objects_without_weight_are_not_there():
    S = as_similarity(features(40, d=2), "sqeuclidean")
    weights = np.ones(40)
    weights[:25] = 0.0
    found = solve(S, sample_weight=weights)
    assert found.members.min() >= 25
    alone = solve(S.toarray()[25:, 25:])
    assert found.value == pytest.approx(alone.value)
    assert (peel(S, sample_weight=weights).labels[:25] == -1).all()
    assert solve(path(random_distances(12, 0, ties=False)), sample_weight=np.full(12, 2.0)).strict is not None


@pytest.mark.parametrize(
    ("weights", "message"),
    [(-np.ones(5), "negative, NaN or infinite"), (np.zeros(5), "all weights are zero"),
     (np.ones(4), "each of 5 objects"), (np.full(5, np.nan), "negative, NaN or infinite"),
     ("heavy", "must be numbers")],
)  # fmt: skip
def test_weights_that_cannot_be_meant(weights, message):
    for function in (solve, peel):
        with pytest.raises(ValueError, match=message):
            function(random_similarity(5), sample_weight=weights)


def test_what_cannot_have_weights_says_so():
    with pytest.raises(ValueError, match="needs a shift above 0 here, got 0"):
        solve(neighbor_graph(100), sample_weight=np.full(100, 2.0))
    with pytest.raises(ValueError, match="weld=True gives seeds equal weights"):
        solve(random_similarity(5), sample_weight=np.ones(5), seeds=0, weld=True)
    with pytest.raises(ValueError, match="seed 2 has the weight 0"):
        solve(random_similarity(5), sample_weight=[1, 1, 0, 1, 1], seeds=[1, 2])
    with pytest.raises(ValueError, match="algorithm='exact' takes no weights"):
        solve(path(random_distances(5, 0, ties=False)), sample_weight=np.ones(5), algorithm="exact")
    with pytest.raises(ValueError, match="needs a shift above"):
        solve(random_similarity(5), sample_weight=np.full(5, 2.0), shift=-5.0)


@pytest.mark.filterwarnings("ignore:the set has none of its")
def test_the_set_around_a_seed_is_that_of_its_copies():
    """At the same shift of the others, all copies of a seed being seeds."""
    rng, compared = np.random.default_rng(5), 0
    for _ in range(150):
        S, T, weights, home, shift = random_problem(rng)
        if T is None:
            continue
        seed = int(rng.choice(np.flatnonzero(weights)))
        options = {"shift": shift, "seed_shift": shift + float(rng.exponential(5.0))}
        one = solve(S, seeds=seed, sample_weight=weights, **options)
        many = solve(T, seeds=np.flatnonzero(home == seed), **options)
        if one.status is not Status.CONVERGED or many.status is not Status.CONVERGED:
            continue
        x, y = spread_out(one, S.n), added_up(many, home, S.n)
        if (x > 0).tolist() == (y > 1e-9).tolist():  # from one start two solvers may end in two maxima
            np.testing.assert_allclose(x, y, atol=1e-6)
            assert one.value == pytest.approx(many.value, rel=1e-8, abs=1e-9)
            compared += 1
    assert compared > 100


def test_weighted_sets_meet_their_seeds():
    """At the automatic shift of the others, from any start."""
    rng = np.random.default_rng(6)
    for _ in range(100):
        S, _, weights, _, shift = random_problem(rng)
        seed = int(rng.choice(np.flatnonzero(weights)))
        for start in ("vertex", int(rng.choice(np.flatnonzero(weights)))):
            found = solve(S, seeds=seed, sample_weight=weights, shift=shift, start=start)
            if found.status is Status.CONVERGED:
                assert seed in found.members


def test_a_graph_with_weights_is_one_with_repeated_objects():
    """Rows and columns repeated as they are: no edges between copies."""
    rng, compared = np.random.default_rng(7), 0
    for _ in range(60):
        n = int(rng.integers(4, 40))
        A = np.triu(np.where(rng.random((n, n)) < 0.4, rng.random((n, n)), 0.0), 1)
        A[0, 1] = 1.0
        A += A.T
        weights = rng.integers(0, 4, n)
        weights[:2] = 2
        home, shift = np.repeat(np.arange(n), weights), 0.05 + float(rng.exponential(0.2))
        graph, repeated = sp.csr_array(A), sp.csr_array(A[np.ix_(home, home)])
        for algorithm in ("auto", "working-set"):
            one = solve(graph, sample_weight=weights, shift=shift, algorithm=algorithm)
            x = spread_out(one, n)
            # the KKT conditions of the repeated graph, from shares of copies
            y = (x / np.maximum(weights, 1))[home]
            r = repeated @ y - shift * y
            assert one.threshold == pytest.approx(y @ r, abs=1e-9)
            assert r.max() <= y @ r + 1e-7
        many = solve(repeated, shift=shift, start=int(np.flatnonzero(home == one.exemplar)[0]))
        z = added_up(many, home, n)
        if (x > 0).tolist() == (z > 1e-9).tolist():
            np.testing.assert_allclose(x, z, atol=1e-6)
            compared += 1
    assert compared > 20
