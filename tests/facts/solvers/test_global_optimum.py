"""The global optimum: never beaten, bounds that hold in exact arithmetic, the same wherever the rows are."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from brute_force import solve as solve_rationally
from dominantsets import DominantSets, Status, as_similarity, global_optimum, peel, solve
from support import assert_certified, features, path, press_ctrl_c, random_distances, random_similarity

KINDS = ("sqeuclidean", "cosine", "linear")


def best_in_rationals(A: list[list[Any]], shift: Any) -> Fraction:
    """The largest f over the simplex: a maximum of fewest members solves the equations of its support."""
    n, best = len(A), Fraction(-(10**9))
    B = [[Fraction(-shift) if i == j else Fraction(A[i][j]) for j in range(n)] for i in range(n)]
    for size in range(1, n + 1):
        for S in itertools.combinations(range(n), size):
            system = [[B[i][j] for j in S] + [Fraction(-1)] for i in S] + [
                [Fraction(1)] * size + [Fraction(0)]
            ]
            solution = solve_rationally(system, [Fraction(0)] * size + [Fraction(1)])
            if solution is not None and min(solution[:size]) >= 0:
                best = max(best, solution[size])
    return best


def best_by_milp(A: np.ndarray, shift: float) -> float:
    """The largest f by KKT points with complementarity as binaries (Gondzio and Yildirim), with HiGHS."""
    n = len(A)
    B = A - shift * np.eye(n)
    M = float(B.max() - B.min())
    # x, y (binary), the level; x <= y, 0 <= level - (Bx)_i <= M (1 - y_i), sum x = 1
    rows = [
        LinearConstraint(np.hstack([np.eye(n), -np.eye(n), np.zeros((n, 1))]), -np.inf, 0),
        LinearConstraint(np.hstack([-B, np.zeros((n, n)), np.ones((n, 1))]), 0, np.inf),
        LinearConstraint(np.hstack([-B, M * np.eye(n), np.ones((n, 1))]), -np.inf, M),
        LinearConstraint(np.r_[np.ones(n), np.zeros(n + 1)][None, :], 1, 1),
    ]
    low, high = np.r_[np.zeros(2 * n), -np.inf], np.r_[np.ones(2 * n), np.inf]
    found = milp(
        np.r_[np.zeros(2 * n), -1.0],
        constraints=rows,
        bounds=Bounds(low, high),
        integrality=np.r_[np.zeros(n), np.ones(n), 0],
    )
    assert found.success
    return float(-found.fun)


def random_rows(rng: np.random.Generator) -> tuple[np.ndarray, str, float]:
    """A small problem of any kind: clustered, spread out, with ties and copies, at any shift."""
    n, d = int(rng.integers(3, 41)), int(rng.integers(1, 5))
    kind = KINDS[rng.integers(3)]
    X = rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(3, d))[rng.integers(3, size=n)]
    how = rng.integers(4)
    if how == 0:
        X = np.round(X)  # ties, copies
    if how == 1:
        X = X + 3.0 * rng.normal(size=(4, d))[rng.integers(4, size=n)]
    X = np.abs(X) if kind == "linear" else X
    X[~X.any(axis=1)] = 1.0
    shift = float(rng.choice([0.0, rng.exponential(1.0), rng.exponential(20.0)]))
    return X, kind, shift + (0.5 if kind == "linear" else 0.0)


def check_never_beaten(X: np.ndarray, kind: str, shift: float) -> bool:
    """Whether the local answer was worse; no start finds anything above the proven value."""
    S = as_similarity(X, kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = global_optimum(S, shift=shift, max_nodes=20_000)
    unit = max(found.cluster.value, float(S.toarray().max()))
    if found.proven:
        assert found.global_gap <= 2e-9 * unit
        assert found.cluster.proven
        assert "proven best" in repr(found.cluster)
    else:  # ties: an object with exactly the payoff of the members keeps boxes open, by a hair
        assert found.cluster.margin < 1e-9 * unit or not found.cluster.strict
        assert found.global_gap <= 1e-3 * unit
    assert_certified(S.toarray(), found.cluster, rounding=1e-11)
    values = [solve(S, start=i, shift=shift).value for i in range(S.n)]
    assert max(values) <= found.bound
    assert solve(S, start="barycenter", shift=shift).value <= found.bound
    return solve(S, shift=shift).value < found.cluster.value - 1e-6 * unit


def test_no_start_beats_it():
    rng = np.random.default_rng(0)
    worse = sum(check_never_beaten(*random_rows(rng)) for _ in range(150))
    assert worse > 2  # there was something to find


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_start_beats_it_in_three_thousand_problems():
    rng = np.random.default_rng(1)
    worse = sum(check_never_beaten(*random_rows(rng)) for _ in range(3_000))
    assert worse > 60


@pytest.mark.parametrize("seed", range(25))
def test_the_bound_holds_in_rationals(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 7)), int(rng.integers(1, 3))
    X = rng.integers(-4, 5, (n, d))
    D = np.square(X[:, None] - X[None]).sum(axis=2)
    M, shift = int(D.max()) + int(rng.integers(1, 30)), int(rng.integers(0, 40))
    exact = best_in_rationals((M - D).tolist(), shift) + shift
    found = global_optimum(as_similarity(X.astype(float), "sqeuclidean", offset=float(M)), shift=float(shift))
    assert found.proven
    assert Fraction(found.bound) >= exact
    assert float(exact) == pytest.approx(found.cluster.value, rel=1e-12)
    limited = global_optimum(
        as_similarity(X.astype(float), "sqeuclidean", offset=float(M)), shift=float(shift), tol=0.0
    )
    assert Fraction(limited.bound) >= exact
    assert limited.global_gap <= 1e-9 * float(exact)  # what rounding alone costs


@pytest.mark.parametrize("seed", range(12))
def test_matrices_against_rationals_and_an_integer_program(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    A = np.triu(rng.integers(0, 10, (n, n)), 1)
    A = A + A.T
    shift = int(rng.integers(-1, 6))
    exact = best_in_rationals(A.tolist(), shift)
    found = global_optimum(A.astype(float) if A.any() else np.ones((n, n)) - np.eye(n), shift=float(shift))
    if not A.any():
        return
    assert found.proven
    assert Fraction(found.bound) - shift >= exact
    assert found.cluster.value - shift == pytest.approx(float(exact), rel=1e-9, abs=1e-9)
    assert best_by_milp(A.astype(float), float(shift)) == pytest.approx(float(exact), abs=1e-5)


def test_concave_problems_are_proven_by_solve_itself():
    X = features(200)
    S = as_similarity(X, "sqeuclidean")
    centred = np.sqrt(2) * (X - X.mean(axis=0))
    edge = float(np.linalg.eigvalsh(centred.T @ centred)[-1]) - S.offset  # kappa = the largest eigenvalue
    above, below = solve(S, shift=1.001 * edge), solve(S, shift=0.5 * edge)
    assert above.proven
    assert above.global_gap is not None
    assert above.global_gap < 1e-6
    assert "proven best" in repr(above)
    assert below.global_gap is None or below.margin == np.inf
    assert global_optimum(S, shift=1.001 * edge).n_nodes <= 3
    small = random_similarity(30)
    top = float(np.linalg.eigvalsh(small)[-1])
    assert solve(small, shift=top).proven
    assert solve(small).global_gap is None


def test_path_based_similarity_is_proven_as_it_is():
    S = path(random_distances(30, 0, ties=False))
    found = global_optimum(S, shift=0.3)
    assert found.proven
    assert found.cluster.proven
    assert solve(S, shift=0.3).proven
    values = [solve(S, start=i, shift=0.3).value for i in range(30)]
    assert max(values) <= found.bound + 1e-12


def containers(X: np.ndarray, tmp_path: Any) -> dict[str, Any]:
    memmap = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=X.shape)
    memmap[:] = X
    return {"memmap": memmap, "float32": X.astype(np.float32), "sparse": sp.csr_array(X)}


@pytest.mark.parametrize("kind", ["sqeuclidean", "cosine"])
def test_the_same_answer_wherever_the_rows_are(kind, tmp_path):
    X = np.float32(features(150, d=3)).astype(np.float64)
    plain = global_optimum(as_similarity(X, kind), shift=2.0)
    assert plain.proven
    there = containers(X, tmp_path)
    da, torch = pytest.importorskip("dask.array"), pytest.importorskip("torch")
    there |= {"dask": da.from_array(X, chunks=(40, 3)), "tensor": torch.tensor(X)}
    for name, data in there.items():
        found = global_optimum(as_similarity(data, kind), shift=2.0)
        assert found.proven, name
        assert found.cluster.value == pytest.approx(plain.cluster.value, rel=1e-9), name
        assert found.cluster.members.tolist() == plain.cluster.members.tolist(), name


def hard() -> Any:
    """A problem with too many directions to be done in a moment."""
    return as_similarity(np.random.default_rng(0).normal(size=(400, 9)), "sqeuclidean")


def test_what_is_not_finished_still_has_a_bound():
    S = hard()
    better = max(solve(S, start=i).value for i in range(S.n))
    with pytest.warns(UserWarning, match="max_nodes=40 are used up.*below the best"):
        few = global_optimum(S, max_nodes=40)
    assert few.status is Status.MAX_ITER
    assert not few.proven
    hurried = global_optimum(S, max_time=0.05)
    assert hurried.status is Status.TIME_LIMIT
    stopped = global_optimum(S, callback=lambda progress: progress.n_iter > 100)
    assert stopped.status is Status.STOPPED
    assert stopped.n_nodes > 100
    interrupted = global_optimum(S, callback=lambda p: press_ctrl_c(p) if p.n_iter > 50 else None)
    assert interrupted.status is Status.INTERRUPTED
    for found in (few, hurried, stopped, interrupted):
        assert found.bound >= better
        assert found.global_gap == pytest.approx(found.bound - found.cluster.value)
        assert found.cluster.global_gap == pytest.approx(found.global_gap)
        assert "below the best" in repr(found)
        assert "below the best" in repr(found.cluster)


def test_peeling_takes_the_best_of_what_is_left():
    S = as_similarity(features(90, d=2), "sqeuclidean")
    A = S.toarray()
    clusters = peel(S, 3, shift=20.0, start="global")
    left = np.arange(90)
    for cluster in clusters:
        assert cluster.proven
        best = max(solve(A[np.ix_(left, left)], start=i, shift=20.0).value for i in range(left.size))
        assert cluster.value >= best - 1e-9 * best
        left = np.setdiff1d(left, cluster.members)
    assert left.size < 90
    model = DominantSets(3, affinity="sqeuclidean", shift=20.0, solver_params={"start": "global"})
    model.fit(features(90, d=2))
    assert all(cluster.proven for cluster in model.clusters_)


def test_equal_objects_and_single_ones():
    for X in (np.zeros((5, 2)), np.ones((1, 3)), np.array([[0.0], [0.0], [4.0]])):
        found = global_optimum(as_similarity(X, "sqeuclidean"), shift=1.0)
        assert found.proven


def test_a_weak_maximum_of_a_tree_counts():
    """Two objects at one place have value 1, flat towards a second pair; the best strict set has 0.5."""
    S = as_similarity(np.array([3.0, 6, 6, 5, 5, 2])[:, None], "path")
    found = global_optimum(S)
    x = np.array([0, 0.5, 0.5, 0, 0, 0])
    assert x @ S.toarray() @ x == 1.0
    assert found.bound >= 1.0
    assert not found.proven
    assert not found.cluster.proven
    assert found.global_gap == pytest.approx(1.0 - found.cluster.value)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=2, max_size=6), st.integers(-2, 8))
def test_the_bound_of_a_tree_holds_in_rationals(X, shift):
    S = as_similarity(np.array(X, dtype=float)[:, None], "path")
    exact = best_in_rationals(S.toarray().astype(int).tolist(), shift) + shift
    found = global_optimum(S, shift=float(shift))
    assert Fraction(found.bound) + Fraction(1, 10**9) >= exact
    if found.proven:
        assert float(exact) == pytest.approx(found.cluster.value, rel=1e-9, abs=1e-9)


def test_one_far_object_proves_nothing():
    """Two groups on a line; the better one is found and proven also where an object lies at -10,000."""
    rng = np.random.default_rng(0)
    near = np.r_[rng.normal(0, 0.5, 30), rng.normal(6, 0.15, 25)]
    for X in (near, np.r_[near, -1e4]):
        S = as_similarity(X[:, None], "sqeuclidean")
        found = global_optimum(S, shift=5.0 - S.offset)
        assert X[found.cluster.members] @ found.cluster.weights == pytest.approx(6.054, abs=0.01)
        assert found.proven
        assert found.global_gap < 1e-3 * found.cluster.unit


def trivial(A: np.ndarray, shift: float) -> float:
    """f = x'Ax - shift |x|² is at most a - (a + shift) |x|², and |x|² is between 1/n and 1."""
    a = A.max()
    return (a + shift) * (1.0 - 1.0 / len(A)) if a + shift >= 0.0 else 0.0


def test_a_random_matrix_has_a_bound_below_its_largest_entry():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((60, 60)), 1)
    A += A.T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = global_optimum(A, max_nodes=200)
    assert found.bound <= trivial(A, 0.0) * (1.0 + 1e-12)
    assert found.bound < 0.9  # by columns
    assert found.bound >= max(solve(A, start=i).value for i in range(60))


small = st.integers(2, 6).flatmap(
    lambda n: st.lists(st.integers(0, 4), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2)
)


@settings(max_examples=60, deadline=None)
@given(small, st.integers(-6, 6))
def test_no_support_is_above_the_bound(entries, shift):
    n = round((1 + (1 + 8 * len(entries)) ** 0.5) / 2)
    A = np.zeros((n, n))
    A[np.triu_indices(n, 1)] = entries
    A += A.T
    if not A.any():
        return
    exact = best_in_rationals(A.astype(int).tolist(), shift) + shift
    found = global_optimum(A, shift=float(shift))
    assert Fraction(found.bound) >= exact
    assert found.bound <= trivial(A, shift) + 1e-12
    graph = global_optimum(sp.csr_array(A), shift=float(shift))
    assert Fraction(graph.bound) >= exact
    if found.proven:
        assert found.cluster.value == pytest.approx(float(exact), abs=1e-7)


@pytest.mark.parametrize(
    ("kind", "d"), [("sqeuclidean", 3), ("sqeuclidean", 12), ("cosine", 6), ("linear", 4)]
)
def test_no_start_of_a_thousand_objects_exceeds_the_bound(kind, d):
    rng = np.random.default_rng(d)
    X = 3.0 * rng.normal(size=(5, d))[rng.integers(5, size=1_000)] + rng.normal(size=(1_000, d))
    S = as_similarity(np.abs(X) if kind == "linear" else X, kind)
    shift = 1.0 if kind == "linear" else 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = global_optimum(S, shift=shift, max_nodes=300)
    values = [solve(S, start=i, shift=shift).value for i in range(0, 1_000, 10)]
    assert max(values) <= found.bound <= trivial(S.toarray(), shift) * (1.0 + 1e-9) + 1e-9
    assert max(values) <= found.cluster.value * (1.0 + 1e-9) or not found.proven


@pytest.mark.parametrize("seed", range(4))
def test_a_constant_moved_from_the_shift_to_the_similarities_changes_nothing(seed):
    X = features(120, d=2 + seed)
    M = as_similarity(X, "sqeuclidean").offset
    one = global_optimum(as_similarity(X, "sqeuclidean"), shift=3.0)
    other = global_optimum(as_similarity(X, "sqeuclidean", offset=1_000.0 * M), shift=3.0 - 999.0 * M)
    assert one.proven
    assert other.proven
    assert other.cluster.members.tolist() == one.cluster.members.tolist()
    np.testing.assert_allclose(other.cluster.weights, one.cluster.weights, atol=1e-8)
    assert other.cluster.unit == pytest.approx(one.cluster.unit, rel=1e-6)


def test_what_cannot_be_done_is_said():
    with pytest.raises(ValueError, match="tol must be at least 0"):
        global_optimum(np.ones((2, 2)) - np.eye(2), tol=-1.0)
    with pytest.raises(ValueError, match="max_nodes must be a whole number of at least 1"):
        global_optimum(np.ones((2, 2)) - np.eye(2), max_nodes=0)
    with pytest.raises(ValueError, match="replicator"):
        solve(np.ones((2, 2)) - np.eye(2), algorithm="replicator", start="global")
