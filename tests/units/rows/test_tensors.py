"""Torch tensors and devices: the same clusters as from NumPy arrays. On CPU tensors, and on a card if any."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import chisquare
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, as_similarity, multistart, peel, solve
from dominantsets.clusters.significance import judge
from dominantsets.compiled import passes
from dominantsets.labels.refinement import diagonal_of
from dominantsets.rows.base import Cores
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.similarity.located import located
from dominantsets.solvers import Monitor, Problem, SolverOptions, make_problem
from dominantsets.solvers.dual import Dual
from dominantsets.solvers.problem import Point
from support import as_memmap, assert_certified, assert_same_cluster, features, formula

torch = pytest.importorskip("torch")

from dominantsets.clusters.sampling import k_dpp  # noqa: E402 (what follows needs torch)
from dominantsets.rows import (  # noqa: E402
    fused,
    tensor_block,
    tensor_features,
    tensor_formulas,
    tensor_operations,
    tensor_scores,
)
from dominantsets.rows.tensor_features import Features, Streamed  # noqa: E402
from dominantsets.rows.tiles import Tiles  # noqa: E402
from dominantsets.solvers import tensor_dual, tensor_few, tensor_problem  # noqa: E402
from dominantsets.solvers.tensor_dual import TensorDual  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
LOW_RANK = ("sqeuclidean", "cosine", "linear")
TYPES, CODES = ("float64", "float32", "float16", "bfloat16"), ("int8", "uint8", "bool")


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def rows_of(S):
    """The rows of a tensor's similarity, as its formula sees them."""
    return tensor_formulas.local(S.rows.block, S.recipe)


def stored(X, dtype, device):
    """A tensor, and what it really holds, in float64: of codes whole numbers, or bits."""
    bits = (np.median(X) < X) | (np.arange(X.shape[1]) == 0)  # no row of zeros
    X = {"int8": 5.0 * X, "uint8": 5.0 * X, "bool": bits}.get(dtype, X)
    tensor = torch.tensor(X).to(getattr(torch, dtype)).to(device)
    return tensor, tensor.double().cpu().numpy()


# similarities -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*LOW_RANK, "rbf", "laplacian"])
@pytest.mark.parametrize("dtype", [*TYPES, *CODES])
def test_a_similarity_of_a_tensor_is_its_formula(kind, dtype, device):
    tensor, X = stored(np.abs(features()), dtype, device)
    params = {"gamma": 0.1} if kind in ("rbf", "laplacian") else {}
    S, A = as_similarity(tensor, kind, **params), formula(kind, X)
    close = {"rtol": 0, "atol": 1e-12 * A.max()}
    np.testing.assert_allclose(S.toarray(), A, **close)
    rng = np.random.default_rng(0)
    support, weights = np.array([3, 11, 40]), np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(S.gradient(support, weights), A[:, support] @ weights, **close)
    np.testing.assert_allclose(S.degrees(), A.sum(axis=1), rtol=1e-12, atol=1e-12 * A.max())
    np.testing.assert_allclose(S.column(7), A[:, 7], **close)
    alive = rng.random(60) < 0.6
    problem = make_problem(S, 0.5)
    problem.remove(np.flatnonzero(~alive))
    assert problem.largest_degree() == pytest.approx(A[np.ix_(alive, alive)].sum(axis=1).max(), rel=1e-12)
    new = X[:5] + 0.25
    plain = as_similarity(X, kind, **params)
    for rows in (new, torch.tensor(new, device=device)):
        np.testing.assert_allclose(S.cross(rows, support), plain.cross(new, support), **close)
        ours, theirs = (
            arrivals.payoff_of(given, arrivals.summarise(support, weights))
            for arrivals, given in ((arrivals_of(S), rows), (arrivals_of(plain), new))
        )
        np.testing.assert_allclose(ours, theirs, **close)


# the pass ----------------------------------------------------------------------------------------------


@given(
    st.sampled_from(LOW_RANK),
    st.sampled_from(["float64", "float32", "float16"]),
    st.integers(5, 60),
    st.integers(1, 6),
    st.integers(0, 10_000),
    st.floats(0.0, 20.0),
    st.booleans(),
)
def test_a_batch_is_as_many_passes_alone(kind, dtype, n, d, seed, times, blocks):
    """x(w), tau, f and U'x of each start, at its own shift, are those of the compiled single pass."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(n, d)) + 3.0 if kind != "linear" else rng.random((n, d))
    tensor, X = stored(data, dtype, "cpu")
    S = as_similarity(X, kind)
    problems = [Problem(S, (0.1 + share * times) * S.self_similarity) for share in (1.0, 0.0, 2.0)]
    gone = np.flatnonzero(rng.random(n) < 0.3)
    for problem in problems:
        problem.remove(gone[: n - 2])
    problem = problems[1]
    shifts = torch.tensor([one.shift for one in problems], dtype=torch.float64)
    dual = Dual(problem)
    alive = np.flatnonzero(problem.alive)
    W = np.array([dual.image(rng.choice(alive, 1), np.ones(1)) * scale for scale in (1.0, 1.0, 0.5)])
    with pytest.MonkeyPatch.context() as patch:
        if blocks:
            patch.setitem(tensor_dual.BLOCK_VALUES, "cpu", 12)
            patch.setitem(tensor_dual.CANDIDATES, "cpu", 7)
            patch.setitem(tensor_dual.PART_NUMBERS, "cpu", 1)
        local = rows_of(as_similarity(tensor, kind))
        together = TensorDual(local, problem.shift, torch.tensor(problem.alive), problem.n_alive)
        first = together.at(torch.tensor(W), shifts)
        level = first.tau - 0.1 * (first.mean * torch.tensor(W)).sum(1)
        again = together.at(torch.tensor(W) * 0.9, shifts, level)
    for trial, points in ((first, W), (again, 0.9 * W)):
        weights = torch.zeros(3, n, dtype=torch.float64)
        owner = trial.tiles.owner[:, None].expand_as(trial.tiles.valid)
        here = trial.tiles.valid
        weights[owner[here], trial.tiles.objects[here]] += trial.weights[here]
        for k, w in enumerate(points):
            alone = Dual(problems[k]).at(w)
            expected = np.zeros(n)
            expected[alone.members] = alone.weights
            np.testing.assert_allclose(weights[k].numpy(), expected, atol=1e-9)
            assert float(trial.tau[k]) == pytest.approx(alone.tau, rel=1e-9, abs=1e-9 * S.self_similarity)
            assert float(trial.f[k]) == pytest.approx(alone.f, rel=1e-9, abs=1e-9 * S.self_similarity)
            np.testing.assert_allclose(
                trial.image[k].numpy(), alone.image, atol=1e-8 * (1 + S.self_similarity)
            )


@pytest.mark.parametrize("kind", LOW_RANK)
def test_the_bound_of_tau_and_its_jacobian(kind):
    """J is the derivative of U'x(w) and the mean row that of tau, by finite differences."""
    X = np.abs(features(200, 3))
    S = as_similarity(torch.tensor(X), kind)
    together = TensorDual(rows_of(S), 5.0 * S.self_similarity, torch.ones(200, dtype=torch.bool), 200)
    W = rows_of(S).chosen(torch.tensor([0, 50])).u
    shifts = torch.full((2,), 5.0 * S.self_similarity, dtype=torch.float64)
    here = together.at(W, shifts)
    h = 1e-6
    for axis in range(3):
        moved = W.clone()
        moved[:, axis] += h
        there = together.at(moved, shifts)
        slope = (there.image - here.image) / h
        np.testing.assert_allclose(slope, here.jacobian[:, :, axis], rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose((there.tau - here.tau) / h, here.mean[:, axis], rtol=1e-4, atol=1e-5)
        bound = here.tau + (here.mean * (moved - W)).sum(1)
        assert (bound <= there.tau + 1e-9).all()


def test_one_sweep_a_pass_and_a_second_at_most_in_the_first():
    X = features(20_000, 8)
    S = as_similarity(torch.tensor(X, dtype=torch.float32), "sqeuclidean")
    together = TensorDual(
        rows_of(S), 0.01 * S.n * S.self_similarity / 4, torch.ones(S.n, dtype=torch.bool), S.n
    )
    W = rows_of(S).chosen(torch.arange(0, 20_000, 1_000)).u
    shifts = torch.full((len(W),), 0.01 * S.n * S.self_similarity / 4, dtype=torch.float64)
    trial = together.at(W, shifts)
    assert together.clock.counts["sweeps"] <= 2
    before = together.clock.counts["sweeps"]
    together.at(trial.image, shifts, trial.tau + ((trial.image - W) * trial.mean).sum(1))
    assert together.clock.counts["sweeps"] == before + 1


FUSED = """
import numpy as np, torch
from dominantsets import as_similarity
from dominantsets.rows import fused, tensor_scores
from dominantsets.rows.base import Cores
from dominantsets.rows.tensor_formulas import local
from dominantsets.rows.tensor_points import _radius
from dominantsets.solvers import tensor_dual
device = "cuda" if torch.cuda.is_available() else "cpu"
if device == "cpu":
    fused.usable = lambda device: fused.FUSED
rng = np.random.default_rng(0)
for kind in ("sqeuclidean", "cosine", "linear"):
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.uint8):
        for far in (0.0, 1e3) if dtype.is_floating_point else (60.0,):
            spread = 1.0 if dtype.is_floating_point else 10.0
            X = torch.tensor(np.abs(spread * rng.normal(size=(700, 37))) + far).to(dtype).to(device)
            S = as_similarity(X, kind)
            alive = torch.tensor(rng.random(700) < 0.8, device=device)
            W = local(S.rows.block, S.recipe).chosen(torch.tensor([1, 5, 9, 20, 33], device=device)).u
            trials, found, shift, there = [], [], 3 * S.self_similarity, int(alive.sum())
            for fused.FUSED in (True, False):
                together = tensor_dual.TensorDual(local(S.rows.block, S.recipe), shift, alive, there)
                assert together.fused is fused.FUSED
                trials.append(together.at(W, torch.full_like(W[:, 0], shift)))
                found.append(set(zip(*(x.tolist() for x in together.above(W, trials[0].tau, 10**6)))))
                assert together.above(W, trials[0].tau - 1e9, 10) is None
            assert not fused.broken
            for name in ("tau", "f", "image", "mean"):
                torch.testing.assert_close(*(getattr(t, name) for t in trials), rtol=1e-10, atol=1e-8)
            ours, theirs = (t.jacobian for t in trials)
            assert (ours - theirs).abs().max() <= 5e-3 * theirs.abs().max()
            members = trials[1].tiles.valid & (trials[1].weights > 0)
            owner = trials[1].tiles.owner[:, None].expand_as(members)[members]
            support = set(zip(trials[1].tiles.objects[members].tolist(), owner.tolist()))
            assert all(support <= them for them in found)
def cores(rows, recipe, k):
    sets = [(np.sort(rng.choice(700, 40, replace=False)), np.full(40, 1 / 40)) for _ in range(k)]
    numbers = (rng.uniform(0.5, 2.0, size=k) for _ in range(3))
    return Cores(rows.mix_each(recipe, sets), *numbers)
tensor_scores.WORTH_A_KERNEL = 1
for kind in ("sqeuclidean", "cosine"):
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int8):
        for d, k, far in ((37, 90, 0.0), (300, 5, 0.0), (37, 1, 0.0), (37, 20, 50.0)):
            X = torch.tensor(10.0 * rng.normal(size=(700, d)) + far).to(dtype).to(device)
            X[3] = 0
            S = as_similarity(X, kind)
            scores = tensor_scores.Scores(local(S.rows.block, S.recipe), cores(S.rows, S.recipe, k))
            plain, (best, top) = scores.plainly(), scores.best()
            assert not fused.broken
            torch.testing.assert_close(top, plain[1], rtol=1e-10, atol=1e-8)
            assert torch.equal(best, plain[0])
for m in (5, 5_000):
    t = torch.tensor(rng.exponential(size=(9, m)), device=device)
    kappa = torch.tensor(rng.uniform(0.1, 0.5 * m, size=9), device=device)
    for first in (torch.zeros_like(kappa), torch.full_like(kappa, 1e-9), torch.full_like(kappa, 0.7)):
        ours, plain = (_radius(t, kappa, first) for fused.FUSED in (True, False))
        torch.testing.assert_close(ours, plain, rtol=1e-12, atol=0.0)
        torch.testing.assert_close((ours[:, None] - t).clamp_min(0.0).sum(1), kappa, rtol=1e-10, atol=0.0)
assert not fused.broken
"""


@pytest.mark.subprocess
def test_fused_kernels_agree_with_the_plain_form():
    """On a card; without one in Triton's interpreter, which knows NumPy up to 2.3."""
    pytest.importorskip("triton")
    if not torch.cuda.is_available() and np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        pytest.skip("Triton's interpreter does not run with this NumPy")
    interpreted = {} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FUSED], env=os.environ | interpreted, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def within_a_ball(A, g, radius):
    """(|A| + raised I)^-1 g of the length asked for, or of a shorter one with nothing raised; and which."""
    values, vectors = np.linalg.eigh(A)
    sizes, along = np.abs(values), vectors.T @ g

    def too_long(raised):
        return np.linalg.norm(along / (sizes + raised)) - radius

    longer = too_long(0.0) > 0
    return vectors @ (along / (sizes + (brentq(too_long, 0.0, 1e6) if longer else 0.0))), longer


@pytest.mark.parametrize("on_host", [0, 2**15])
def test_newton_steps_are_those_of_one_start(on_host, monkeypatch):
    monkeypatch.setattr(tensor_dual, "ON_HOST", on_host)
    S = as_similarity(torch.tensor(features(20, 5)), "sqeuclidean")
    dual = TensorDual(rows_of(S), 1.0, torch.ones(20, dtype=torch.bool), 20)
    rng = np.random.default_rng(0)
    J, g, radius = np.empty((30, 5, 5)), rng.normal(size=(30, 5)), 10.0 ** rng.uniform(-2, 2, size=30)
    for k in range(30):
        Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
        J[k] = Q @ np.diag(rng.uniform(0, 0.99 if k % 2 else 3.0, size=5)) @ Q.T
    steps = dual.steps(torch.tensor(J), g, radius)
    for k in range(30):
        expected, longer = within_a_ball(np.eye(5) - J[k], g[k], radius[k])
        definite = passes.newton(J[k], g[k], radius[k])[1]
        if on_host and longer and not definite:  # there it may end shorter
            assert steps[k] @ g[k] > 0
        else:
            np.testing.assert_allclose(steps[k], expected, rtol=2e-2, atol=1e-3 * np.linalg.norm(expected))
        assert np.linalg.norm(steps[k]) <= radius[k] * (1 + 1e-9)


@given(st.lists(st.integers(0, 90), min_size=1, max_size=8), st.integers(0, 100))
def test_tiles_hold_what_was_put_in(counts, seed):
    rng = np.random.default_rng(seed)
    counts = np.array(counts)
    if not counts.any():
        counts[0] = 1
    objects = rng.integers(1_000, size=counts.sum())
    tiles = Tiles(torch.tensor(objects), counts)
    np.testing.assert_array_equal(tiles.objects[tiles.valid].numpy(), objects)
    ends = np.cumsum(counts)
    sums = [objects[a:b].sum() for a, b in zip(ends - counts, ends, strict=True)]
    values = (tiles.objects * tiles.valid).double()
    np.testing.assert_allclose(tiles.total(values).numpy(), sums)
    by_parts = np.zeros(len(counts))
    for part, starts, add in tiles.parts(2):
        by_parts[starts] += add(values[part].sum(1, keepdim=True))[:, 0].numpy()
    np.testing.assert_allclose(by_parts, sums)
    even = (tiles.objects % 2 == 0) & tiles.valid
    chosen, left = tiles.chosen(even)
    np.testing.assert_array_equal(chosen.numpy(), objects[objects % 2 == 0])
    assert left.sum() == (objects % 2 == 0).sum()


# clusters ----------------------------------------------------------------------------------------------


def test_features_far_from_the_origin(device):
    X = features(500, 4) + 1e4
    tensor, exactly = stored(X, "float32", device)
    S = as_similarity(tensor, "sqeuclidean")
    assert rows_of(S).centred_first
    shift = 5.0 * S.offset
    assert_same_cluster(
        solve(S, shift=shift), solve(as_similarity(exactly, "sqeuclidean"), shift=shift), 1e-7
    )


def test_many_starts_come_in_groups(monkeypatch):
    X = features(300, 4)
    S = as_similarity(torch.tensor(X), "sqeuclidean")
    options = {"n_starts": 30, "shift": 900.0, "random_state": 0}
    once = next(multistart(S, **options))
    monkeypatch.setitem(tensor_problem.GROUP_BYTES, "cpu", 64 * 16 * 7)
    for one, other in zip(once.solutions, next(multistart(S, **options)).solutions, strict=True):
        assert_same_cluster(one, other)


# the estimator -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sqeuclidean", "cosine", "rbf"])
def test_a_memmap_streams_in_blocks(kind, tmp_path, monkeypatch, device):
    monkeypatch.setattr(tensor_features, "STREAM_BYTES", 8 * 4 * 64)
    monkeypatch.setattr(tensor_features, "RESIDENT_SHARE", 0.0)
    X = features(500, 4)
    S = as_similarity(as_memmap(tmp_path / "X.dat", X), kind, device=device)
    assert isinstance(S.rows.features, Streamed)
    blocks = list(S.rows.features.blocks(10**9))
    assert len(blocks) == 8
    np.testing.assert_array_equal(torch.cat([block for _, block in blocks]).cpu().numpy(), X)
    shift = 1.0 if kind == "rbf" else 5.0 * S.self_similarity
    plain = as_similarity(torch.tensor(X, device=device), kind)
    assert isinstance(plain.rows.features, Features)
    assert_same_cluster(solve(S, shift=shift), solve(plain, shift=shift))


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_what_streams_is_the_array_whoever_is_slow(rows, dtype, device, tmp_path, monkeypatch):
    """Few blocks and many, filled in parts by several threads; they are the caller's own, and may be kept."""
    X = (50 * features(rows * 96 - 5, 16)).astype(dtype)
    monkeypatch.setattr(tensor_features, "STREAM_BYTES", 96 * 16 * X.itemsize)
    monkeypatch.setattr(tensor_features, "PART_BYTES", 100)
    monkeypatch.setattr(tensor_features, "READERS", 4)
    monkeypatch.setattr(tensor_features, "N_THREADS", 4)
    streamed = Streamed(as_memmap(tmp_path / "X.dat", X), torch.device(device))
    kept = list(streamed.blocks(10**9))
    assert [begin for begin, _ in kept] == list(range(0, len(X), 96))
    for begin, block in streamed.blocks(10**9):  # one that changes what it gets, and takes its time
        np.testing.assert_array_equal(block.cpu().numpy(), X[begin : begin + 96])
        block.zero_()
        time.sleep(0.002)
    for begin, block in kept:
        np.testing.assert_array_equal(block.cpu().numpy(), X[begin : begin + 96])
    objects = np.random.default_rng(0).integers(len(X), size=500)
    taken = streamed.take(torch.tensor(objects, device=device))
    np.testing.assert_array_equal(taken.cpu().numpy(), X[objects])


def test_a_stream_may_be_left_before_its_end(tmp_path, device, monkeypatch):
    monkeypatch.setattr(tensor_features, "STREAM_BYTES", 8 * 4 * 64)
    streamed = Streamed(as_memmap(tmp_path / "X.dat", features(500, 4)), torch.device(device))
    before = threading.active_count()
    for _ in streamed.blocks(10**9):
        break
    gc.collect()
    assert threading.active_count() <= before  # nobody reads on


# sampling ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_a_k_dpp_on_a_device_has_the_right_probabilities(k, device):
    """All subsets of six objects, each a landmark: drawn as often as det L_Y says."""
    rows = np.random.default_rng(5).normal(size=(6, 2))
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    median = float(torch.tensor(squares[np.triu_indices(6, 1)]).quantile(0.5))
    L = np.exp(-squares / median)
    subsets = list(combinations(range(6), k))
    dets = np.array([np.linalg.det(L[np.ix_(s, s)]) for s in subsets])
    counts = dict.fromkeys(subsets, 0)
    random_state, draws = np.random.RandomState(0), 1_500
    for _ in range(draws):
        drawn = k_dpp(torch.tensor(rows, device=device), k, random_state)
        counts[tuple(sorted(drawn.tolist()))] += 1
    _, p = chisquare(list(counts.values()), draws * dets / dets.sum())
    assert p > 1e-3


@pytest.mark.parametrize("kind", LOW_RANK)
def test_coordinates_and_nearest_centres_are_those_of_the_cpu(kind, device, monkeypatch):
    """The best centre of each object and its score, in one block of rows and in many; and judgements."""
    X, _ = make_blobs(400, 4, centers=3, random_state=0)
    X = np.abs(X) if kind == "linear" else X
    theirs, ours = as_similarity(X, kind), as_similarity(torch.tensor(X, device=device), kind)
    run = {not S.in_memory: peel(S, 3, shift=0.02 * S.n * S.self_similarity) for S in (theirs, ours)}
    clusters = {where: list(found) for where, found in run.items()}
    np.testing.assert_array_equal(run[True].labels, run[False].labels)
    objects = np.arange(0, 400, 7)
    here, there = located(theirs).coordinates(objects), located(ours).coordinates(objects)
    np.testing.assert_allclose(there.rows, here.rows, atol=1e-9 * np.abs(here.rows).max())
    np.testing.assert_allclose(there.extra, here.extra, atol=1e-9 * np.square(here.rows).max())
    assert there.own == pytest.approx(here.own)
    full = theirs.toarray() + np.diag(diagonal_of(theirs))
    for size in (2**28, 64):
        monkeypatch.setitem(tensor_block.BLOCK_NUMBERS, device, size)
        rates, constants = np.array([2.0, 0.5, 1.0]), np.array([0.0, 1.0, -2.0])
        scores = np.empty((400, 3))
        cores = {}
        for S, where in ((theirs, False), (ours, True)):
            mixtures, inside = [], np.empty(3)
            for k, cluster in enumerate(clusters[where]):
                x = np.zeros(400)
                x[cluster.members] = cluster.weights
                mixtures.append(arrivals_of(S).summarise(cluster.members, cluster.weights))
                inside[k] = x @ full @ x
                away = 0.5 * (full.diagonal() - 2.0 * full @ x + inside[k])
                scores[:, k] = constants[k] - rates[k] * away
            cores[where] = Cores(mixtures, inside, rates, constants)
        for S, where in ((theirs, False), (ours, True)):
            best, score = located(S).nearest(cores[where])
            np.testing.assert_array_equal(best, scores.argmax(axis=1))
            np.testing.assert_allclose(score, scores.max(axis=1), atol=1e-9 * np.abs(scores).max())
    one, other = run[False]._problem, run[True]._problem  # the last cluster is not removed
    last = clusters[False][-1]
    mine, hers = judge(one, last), judge(other, clusters[True][-1])
    assert (mine.size, mine.joiners) == (hers.size, hers.joiners)
    assert mine.sharpness == pytest.approx(hers.sharpness, abs=1e-7)
    x = Point(last.members, last.weights)
    for level in np.quantile(theirs.gradient(*x), [0.0, 0.3, 0.9]):
        level -= 1e-9 * theirs.self_similarity  # not one object's payoff
        np.testing.assert_array_equal(other.joiners(x, level), one.joiners(x, level))
    assert one.joiners(x, -theirs.self_similarity).size == theirs.n - one.n_alive > 0


# what is refused ---------------------------------------------------------------------------------------


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a card")
def test_two_devices_and_too_much():
    X = torch.tensor(features(300, 3))
    with pytest.raises(ValueError, match="names another one"):
        as_similarity(X, "sqeuclidean", device="cuda")
    model = DominantSets(2, affinity="sqeuclidean").fit(X.cuda())
    with pytest.raises(ValueError, match="fitted with features on cuda"):
        model.predict(X)
    S = as_similarity(X.cuda().float(), "sqeuclidean")
    with pytest.raises(MemoryError, match="did not fit the device"), tensor_features.explain_oom("a test"):
        torch.empty(2**45, device="cuda")
    assert S.n == 300


def test_out_of_memory_is_one_sentence(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (10**9, 4 * 10**9))
    words = r"64 starts did not fit the device, which has 1.0 of 4.0 GB free"
    with pytest.raises(MemoryError, match=words), tensor_features.explain_oom("64 starts"):
        raise torch.OutOfMemoryError("CUDA out of memory")


@pytest.mark.parametrize("kind", LOW_RANK)
def test_many_starts_at_shifts_of_their_own_are_as_many_problems(kind, device):
    rng = np.random.default_rng(3)
    centres = 6.0 * rng.random((4, 5)) + 3.0
    tensor, X = stored(
        centres[rng.integers(4, size=400)] + 0.3 * rng.normal(size=(400, 5)), "float64", device
    )
    S, plain = as_similarity(tensor, kind), as_similarity(X, kind)
    objects, shares = rng.choice(400, size=(6, 3)), np.array([0.5, 0.3, 0.2])
    starts = [Point(np.sort(some), shares) for some in objects]
    shifts = plain.self_similarity * np.array([0.5, 2.0, 8.0, 0.1, 30.0, 90.0])
    options = SolverOptions().checked()
    ours, theirs = (
        list(chain(*make_problem(some, float(shifts[0])).solve_each(starts, shifts, options, Monitor())))
        for some in (S, plain)
    )
    A = formula(kind, X)
    for one, other, shift in zip(ours, theirs, shifts, strict=True):
        assert one.shift == other.shift == shift
        assert_certified(A, one)
        assert_same_cluster(one, other)


def test_where_memory_runs_out_blocks_become_smaller(device, monkeypatch):
    X = torch.tensor(features(500, 3), device=device)
    monkeypatch.setattr(tensor_block, "_room", {})
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda *_: (10**9, 4 * 10**9))
    rooms, measure = [], tensor_operations.measure

    def crowded(rows, *asked):
        rooms.append(tensor_block._room.get(str(rows.device), 1.0))
        if rooms[-1] > 0.2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return measure(rows, *asked)

    monkeypatch.setattr(tensor_operations, "measure", crowded)
    S = as_similarity(X, "sqeuclidean")
    assert rooms == [1.0, 0.5, 0.25, 0.125]
    np.testing.assert_allclose(S.toarray(), formula("sqeuclidean", X.cpu().numpy()), atol=1e-10)
    monkeypatch.setattr(tensor_block, "SMALLEST_ROOM", 1.0)
    monkeypatch.setattr(tensor_block, "_room", {})
    with pytest.raises(MemoryError, match=r"'measure' did not fit the device, which has 1.0 of 4.0 GB free"):
        as_similarity(X, "sqeuclidean")


def test_scores_that_do_not_fit_are_made_in_blocks(device, monkeypatch):
    def too_large(self):
        raise torch.OutOfMemoryError

    S = as_similarity(torch.tensor(features(60, 4), dtype=torch.float32, device=device), "sqeuclidean")
    numbers = [np.ones(2), np.full(2, 0.5), np.zeros(2)]
    cores = Cores(S.rows.mix_each(S.recipe, [(np.arange(30), np.full(30, 1 / 30))] * 2), *numbers)
    scores = tensor_scores.Scores(tensor_formulas.local(S.rows.block, S.recipe), cores)
    monkeypatch.setattr(tensor_scores, "WORTH_A_KERNEL", 1)
    monkeypatch.setattr(fused, "usable", lambda device: True)
    monkeypatch.setattr(tensor_scores.Scores, "_swept", too_large)
    for ours, plain in zip(scores.best(), scores.plainly(), strict=True):
        assert torch.equal(ours, plain)
    assert not fused.broken


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64, torch.float16])
@pytest.mark.parametrize("shape", [(1,), (1_000, 37), (0, 3)])
def test_large_arrays_go_in_pieces(device, shape, dtype, monkeypatch):
    monkeypatch.setattr(tensor_block, "PIECE_BYTES", 64)
    x = np.arange(np.prod(shape)).reshape(shape).astype(str(dtype).removeprefix("torch."))
    sent = tensor_block.sent_in_pieces(x, torch.device(device))
    assert sent.dtype == dtype
    np.testing.assert_array_equal(sent.cpu().numpy(), x)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64, torch.float16])
@pytest.mark.parametrize("shape", [(1,), (1_000, 37), (0, 3)])
def test_large_results_come_in_pieces(dtype, shape, device, monkeypatch):
    monkeypatch.setattr(tensor_block, "PIECE_BYTES", 1_024)
    x = torch.arange(int(np.prod(shape)), device=device).reshape(shape).to(dtype)
    found = tensor_block.in_pieces(x)
    np.testing.assert_array_equal(found, x.cpu().numpy())
    assert found.dtype == x.cpu().numpy().dtype
    np.testing.assert_array_equal(tensor_block.in_pieces(x.T), x.cpu().numpy().T)


@pytest.mark.parametrize("kind", LOW_RANK)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("looked_at", [3, 40])
def test_certificates_after_a_rough_sweep_are_those_of_all_payoffs(
    kind, dtype, looked_at, device, monkeypatch
):
    tensor, _ = stored(np.abs(features(600, 5)), dtype, device)
    S = as_similarity(tensor, kind)
    problem = make_problem(S, 3.0 * S.self_similarity)
    problem.remove(np.arange(0, 600, 7))
    starts = [Point(np.array([i]), np.ones(1)) for i in (1, 90, 333, 500)]
    options = SolverOptions("dual")
    monkeypatch.setattr(tensor_few, "NUMBERS", {"cuda": 0, "cpu": 0})
    plain = problem.solve_starts(starts, options, Monitor())
    monkeypatch.setattr(tensor_problem, "SWEPT", {"cuda": 0, "cpu": 0})
    monkeypatch.setattr(tensor_problem, "LOOKED_AT", looked_at)
    kind_of = tensor_problem.TensorProblem
    asked, sweep = [], kind_of._after_a_sweep
    monkeypatch.setattr(kind_of, "_after_a_sweep", lambda *args: asked.append(sweep(*args)) or asked[-1])
    swept = problem.solve_starts(starts, options, Monitor())
    assert asked
    assert looked_at == 3 or all(found is not None for found in asked)  # of few all may be members
    for a, b in zip(plain, swept, strict=True):
        np.testing.assert_array_equal(a.members, b.members)
        assert a.margin == pytest.approx(b.margin, rel=1e-9, abs=1e-12 * S.self_similarity)
        assert a.gap == pytest.approx(b.gap, abs=1e-12 * abs(a.value))
        assert a.status is b.status


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "linear"])
def test_payoffs_of_a_part_are_those_of_all(affinity):
    rows = np.abs(3.0 + np.random.default_rng(0).normal(size=(120, 4)))
    some, support, weights = np.arange(40, 90), np.arange(10), np.full(10, 0.1)
    here, there = as_similarity(rows, affinity), as_similarity(torch.tensor(rows), affinity)
    for similarity in (here, there):
        found = arrivals_of(similarity).payoffs_in(similarity.part(some), some, support, weights)
        np.testing.assert_allclose(found, here.gradient(support, weights)[some], rtol=1e-9)
