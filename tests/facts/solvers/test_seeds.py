"""Dominant sets around seeds: every answer meets them, whatever the similarity, wherever it is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from capped_maxima import agree, strict_maxima
from dominantsets import DominantSets, Status, as_similarity, solve
from support import (
    features,
    given_comparisons,
    neighbor_graph,
    path,
    random_distances,
    random_similarity,
)

LOW_RANK = ("sqeuclidean", "cosine", "linear")


def rows(rng: np.random.Generator, kind: str) -> np.ndarray:
    X = rng.normal(size=(int(rng.integers(3, 30)), int(rng.integers(1, 5))))
    return np.abs(X) + 0.1 if kind == "linear" else X


def check_meets(S, seeds: np.ndarray, shift: float, rng: np.random.Generator) -> None:
    """From the seeds and from any other start the set has one of them."""
    for start in ("vertex", int(rng.integers(S.n)), "barycenter"):
        found = solve(S, seeds=seeds, shift=shift, start=start)
        assert found.status in (Status.CONVERGED, Status.STALLED)
        if found.status is Status.CONVERGED:
            assert np.isin(seeds, found.members).any()


def problem_of(rng: np.random.Generator):
    kind = ("matrix", "matrix", *LOW_RANK)[rng.integers(5)]
    if kind == "matrix":
        return as_similarity(
            random_similarity(int(rng.integers(3, 25)), int(rng.integers(10**6)), rng.random())
        )
    return as_similarity(rows(rng, kind), kind)


def check_many(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        S = problem_of(rng)
        seeds = np.sort(rng.choice(S.n, int(rng.integers(1, 4)), replace=False))
        check_meets(S, seeds, float(rng.choice([0.0, rng.exponential(0.5)])) + 0.1, rng)


def test_every_set_meets_its_seeds():
    check_many(200, 0)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_set_meets_its_seeds_in_ten_thousand_problems():
    check_many(10_000, 1)


@pytest.mark.parametrize("algorithm", ["pairwise", "away", "fw", "working-set", "replicator", "dual"])
def test_all_solvers_agree(algorithm):
    X = features(60, d=2)
    S = as_similarity(X, "sqeuclidean")
    best = solve(S, seeds=4)
    found = solve(S, seeds=4, algorithm=algorithm, tol=1e-8 if algorithm != "replicator" else 1e-13)
    rough = algorithm in ("fw", "replicator")
    assert found.value == pytest.approx(best.value, rel=1e-3 if rough else 1e-7)
    if not rough:
        assert found.members.tolist() == best.members.tolist()


def test_the_same_wherever_the_rows_are(tmp_path):
    X = np.float32(features(150, d=3)).astype(np.float64)
    plain = solve(as_similarity(X, "sqeuclidean"), seeds=[5, 80], shift=1.0)
    da, torch = pytest.importorskip("dask.array"), pytest.importorskip("torch")
    memmap = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=X.shape)
    memmap[:] = X
    for data in (
        memmap,
        X.astype(np.float32),
        sp.csr_array(X),
        da.from_array(X, chunks=(40, 3)),
        torch.tensor(X),
    ):
        found = solve(as_similarity(data, "sqeuclidean"), seeds=[5, 80], shift=1.0)
        assert found.members.tolist() == plain.members.tolist()
        assert found.value == pytest.approx(plain.value, rel=1e-9)
        assert found.strict == plain.strict


def test_a_path_and_a_graph_have_seeds_too():
    S = path(random_distances(30, 0, ties=False))
    assert 11 in solve(S, seeds=11).members
    G = as_similarity(neighbor_graph(2_500))  # the working set
    for seed in (0, 1_000, 2_400):
        found = solve(G, seeds=seed)
        assert seed in found.members


def test_a_small_seed_shift_may_lose_the_seeds_and_says_so():
    X = np.r_[np.zeros((20, 1)), np.ones((20, 1)), [[30.0]]] + 0.01 * np.arange(41)[:, None]
    S = as_similarity(X, "rbf", gamma=1.0)
    with pytest.warns(UserWarning, match="none of its 1 seeds"):
        lost = solve(S, seeds=40, seed_shift=0.0, start=3)
    assert 40 not in lost.members
    assert 40 in solve(S, seeds=40, start=3).members
    assert solve(S, seeds=np.arange(41)).value == pytest.approx(solve(S, start=np.ones(41)).value)


def test_the_estimator_gives_the_set_around_an_object():
    model = DominantSets(3, affinity="sqeuclidean").fit(features(90))
    before = model.labels_.copy()
    assert 8 in model.around(8).members
    assert (model.labels_ == before).all()


@pytest.mark.parametrize(
    ("seeds", "message"),
    [([60], "seed 60 is not an object of 0 to 59"), ([-1], "seed -1 is not"), ([], "at least one"),
     ([0.5], "numbers of objects"), ("five", "numbers of objects"), ([[1, 2]], "numbers of objects")],
)  # fmt: skip
def test_seeds_that_cannot_be_meant(seeds, message):
    with pytest.raises(ValueError, match=message):
        solve(as_similarity(features(60), "sqeuclidean"), seeds=seeds)


def test_seed_shifts_and_algorithms_that_cannot_be_meant():
    with pytest.raises(ValueError, match="neither 'auto' nor a number"):
        solve(random_similarity(5), seeds=0, seed_shift="large")
    with pytest.raises(ValueError, match="algorithm='exact' is for sets without seeds"):
        solve(path(random_distances(5, 0, ties=False)), seeds=0, algorithm="exact")


def test_one_welded_seed_is_a_seed():
    S = as_similarity(features(60, d=2), "sqeuclidean")
    plain, welded = solve(S, seeds=4, shift=1.0), solve(S, seeds=4, shift=1.0, weld=True)
    assert plain.members.tolist() == welded.members.tolist()
    assert plain.value == pytest.approx(welded.value, rel=1e-9)
    assert plain.strict == welded.strict


def test_a_welded_set_has_no_members_of_weight_zero():
    """At (0, 1/2, 1/2) the payoff of both seeds is 3/2 - 1/2, and that of object 0 the same."""
    A = np.array([[0.0, 1, 1], [1, 0, 3], [1, 3, 0]])
    found = solve(A, seeds=[1, 2], weld=True, shift=1.0, seed_shift=2.0)
    assert found.members.tolist() == [1, 2]
    np.testing.assert_allclose(found.weights, 0.5, atol=1e-14)
    assert found.margin == pytest.approx(0.0, abs=1e-14)
    assert found.undecided.tolist() == [0]
    assert found.strict is True  # f is concave on the weld and object 0


@given_comparisons(0.8, st.integers(3, 5), st.integers(0, 10_000), st.sampled_from([0.0, 1e-12, 1e-16]))
def test_welded_sets_are_strict_in_rationals(n, seed, noise):
    """The reduced problem, with the weld as its last object, against all patterns of its bounds."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.integers(0, 4, (n, n)) + noise * rng.integers(0, 3, (n, n)), 1)
    A = A + A.T
    if not A.any():
        return False
    seeds = np.sort(rng.choice(n, int(rng.integers(1, n)), replace=False))
    shift, others_shift = float(rng.integers(0, 5)) / 2, float(rng.integers(0, 9)) / 2
    found = solve(A, seeds=seeds, weld=True, shift=shift, seed_shift=others_shift)
    assert (found.weights > 0).all()
    groups = [[i] for i in range(n) if i not in seeds] + [seeds.tolist()]
    diagonal = [shift if i in seeds else max(shift, others_shift) for i in range(n)]
    B = [
        [
            sum(Fraction(-diagonal[i] if i == j else A[i, j]) for i in one for j in other)
            / (len(one) * len(other))
            for other in groups
        ]
        for one in groups
    ]
    if not found.strict:
        return False
    members, undecided = set(found.members.tolist()), set(found.undecided.tolist())
    supports = [
        {i for group, weight in zip(groups, x, strict=True) if weight for i in group}
        for x in strict_maxima(B, Fraction(1))
    ]
    assert any(agree(members, undecided, support) for support in supports)
    return True
