"""The pass that holds all values of a few starts: x(w), certificates, and graphs that cannot be made."""

from __future__ import annotations

import gc
import weakref
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dominantsets import as_similarity, peel
from dominantsets.solvers import Monitor, Problem, SolverOptions, make_problem
from dominantsets.solvers.dual import Dual
from dominantsets.solvers.monitor import Stopwatch
from dominantsets.solvers.problem import Point
from support import features

torch = pytest.importorskip("torch")

from dominantsets.rows import graphs  # noqa: E402 (what follows needs torch)
from dominantsets.rows.tensor_formulas import local  # noqa: E402
from dominantsets.solvers import tensor_few  # noqa: E402
from dominantsets.solvers.tensor_few import FewDual  # noqa: E402

LOW_RANK = ("sqeuclidean", "cosine", "linear")
TYPES = ("float64", "float32", "float16", "bfloat16", "int8")


def stored(X, dtype, device="cpu"):
    """A tensor, and what it really holds, in float64."""
    tensor = torch.tensor(5.0 * X if dtype == "int8" else X).to(getattr(torch, dtype)).to(device)
    return tensor, tensor.double().cpu().numpy()


def few_of(tensor, kind, s, alive, extra=None):
    S = as_similarity(tensor, kind)
    sent = None if extra is None else torch.tensor(extra, device=tensor.device)
    there = torch.tensor(alive, device=tensor.device)
    return FewDual(local(S.rows.block, S.recipe), s, there, Stopwatch(), sent)


@given(
    st.sampled_from(LOW_RANK), st.sampled_from(TYPES), st.integers(5, 60), st.integers(1, 6),
    st.integers(1, 8), st.integers(0, 10_000), st.sampled_from([0.1, 1.0, 20.0]), st.booleans(),
    st.sampled_from([1, 3, 1024]), st.sampled_from(["none", "tau", "too high", "far too low"]),
)  # fmt: skip
def test_a_pass_is_that_of_each_start_alone(
    kind, dtype, n, d, s, seed, times, with_extra, rounds_and_height, known
):
    """tau, f, U'x, weights and J of each start at its shift; removed objects, and shifts of single ones."""
    rng = np.random.default_rng(seed)
    data = rng.random((n, d)) + 0.1 if kind == "linear" else rng.normal(size=(n, d)) + 3.0
    tensor, X = stored(data, dtype)
    S = as_similarity(X, kind)
    extra = S.self_similarity * rng.exponential(size=n) if with_extra else None
    gone = np.flatnonzero(rng.random(n) < 0.3)[: n - 2]
    problems = [Problem(S, times * S.self_similarity * share) for share in rng.uniform(0.5, 2.0, size=s)]
    for problem in problems:
        problem.extra = extra
        problem.remove(gone)
    alive, shifts = problems[0].alive, np.array([problem.shift for problem in problems])
    duals = [Dual(problem) for problem in problems]
    W = np.array([dual.image(rng.choice(np.flatnonzero(alive), 1), np.ones(1)) for dual in duals])
    alone = [dual.at(w) for dual, w in zip(duals, W, strict=True)]
    tau = np.array([one.tau for one in alone])
    level = {"none": None, "tau": tau, "too high": tau + 1e9, "far too low": tau - 1e9}[known]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensor_few, "ROUNDS", rounds_and_height)
        patch.setattr(tensor_few, "HEIGHT", 7 if rounds_and_height < 5 else 1024)
        few = few_of(tensor, kind, 8, alive, extra)  # filled up, where there are fewer
        trial = few.at_host(W, shifts, level)
        objects, counts, weights, J = few.supports(trial, np.ones(s, dtype=bool))
    close = {"rtol": 1e-9, "atol": 1e-9 * S.self_similarity}
    np.testing.assert_allclose(trial.tau, tau, **close)
    np.testing.assert_allclose(trial.f, [one.f for one in alone], **close)
    np.testing.assert_allclose(trial.image, [one.image for one in alone], atol=1e-8 * (1 + S.self_similarity))
    ends = np.cumsum(counts)
    for k, (dual, one) in enumerate(zip(duals, alone, strict=True)):
        mine = slice(ends[k] - counts[k], ends[k])
        x, expected = np.zeros(n), np.zeros(n)
        x[objects[mine].numpy()], expected[one.members] = weights[mine].numpy(), one.weights
        np.testing.assert_allclose(x, expected, atol=1e-9)
        # the definition, of the members found here (one at the threshold itself may be in or not)
        members = objects[mine].numpy()
        u, inverse = dual.root * S.rows_of(members), dual.inv_kappa_of(members)
        mean = inverse @ u / inverse.sum()
        np.testing.assert_allclose(trial.mean[k], mean, rtol=1e-9, atol=1e-9 * np.abs(u).max())
        expected_J = (u - mean).T * inverse @ (u - mean)
        np.testing.assert_allclose(
            J[k], expected_J, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(expected_J).max())
        )


def test_more_rounds_are_made_where_they_change_something(monkeypatch):
    X = features(500, 4)
    S = as_similarity(X, "sqeuclidean")
    problem = Problem(S, 2.0 * S.self_similarity)
    w = Dual(problem).image(np.array([3]), np.ones(1))
    expected = Dual(problem).at(w)
    monkeypatch.setattr(tensor_few, "ROUNDS", 1)
    monkeypatch.setattr(tensor_few, "AT_FIRST", 0)
    few = few_of(torch.tensor(X), "sqeuclidean", 1, problem.alive)
    shift = np.array([problem.shift])
    assert few.at_host(w[None], shift, None).tau[0] == pytest.approx(expected.tau, rel=1e-12)
    assert few.clock.counts["more rounds"] > 1
    before = few.clock.counts["more rounds"]
    few.at_host(w[None], shift, np.array([expected.tau - 1e-9 * abs(expected.tau)]))
    assert few.clock.counts["more rounds"] == before  # tau was known


@pytest.mark.parametrize("kind", LOW_RANK)
@pytest.mark.parametrize("s", [1, 3])
def test_certificates_are_those_of_all_payoffs(kind, s):
    X = np.abs(features(300, 4))
    S = as_similarity(X, kind)
    rng = np.random.default_rng(0)
    plain, ours = (make_problem(as_similarity(x, kind), S.self_similarity) for x in (X, torch.tensor(X)))
    for problem in (plain, ours):
        problem.remove(np.arange(0, 300, 3))
    points = [Point(np.sort(rng.choice(plain.living(), 20, replace=False)), np.full(20, 0.05))] * s
    objects = torch.tensor(np.concatenate([x.support for x in points]))
    weights = torch.tensor(np.concatenate([x.weights for x in points]))
    found = ours._recomputed(objects, np.full(s, 20), weights, np.full(s, ours.shift))
    assert ours._dense is not None
    for x, one in zip(points, found, strict=True):
        expected = plain.recomputed(x)
        np.testing.assert_allclose(one[:4], expected[:4], rtol=1e-12)
        assert (one.ball is None) == (expected.ball is None)
        if one.ball is not None:
            np.testing.assert_allclose(one.ball[0], expected.ball[0], rtol=1e-12)
            assert one.ball[1] == pytest.approx(expected.ball[1], rel=1e-9)
    everybody = Point(plain.living(), np.full(plain.n_alive, 1.0 / plain.n_alive))
    assert ours.recomputed(everybody).outside == -np.inf


@pytest.mark.parametrize("kind", LOW_RANK)
@pytest.mark.parametrize("dtype", TYPES)
def test_clusters_are_those_of_a_sweep(kind, dtype, monkeypatch):
    """As candidates give them, with the same certificates; and the same bits each time."""
    tensor, _ = stored(np.abs(features(400, 4)), dtype)
    S = as_similarity(tensor, kind)

    def found():
        return list(peel(S, 4, shift=3.0 * S.self_similarity))

    few, again = found(), found()
    monkeypatch.setattr(tensor_few, "NUMBERS", {"cpu": 0})
    for a, b, c in zip(few, again, found(), strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
        np.testing.assert_array_equal(a.members, c.members)
        np.testing.assert_allclose(a.weights, c.weights, atol=1e-9)
        assert a.value == pytest.approx(c.value, rel=1e-9)
        assert a.margin == pytest.approx(c.margin, rel=1e-9, abs=1e-10 * abs(c.value))
        assert a.relative_gap <= 1e-10
        assert (a.strict, a.status) == (c.strict, c.status)


def test_what_is_kept_is_for_as_many_starts_and_goes_where_there_is_no_room(monkeypatch):
    S = as_similarity(torch.tensor(features(100, 3)), "sqeuclidean")
    problem = make_problem(S, 1.0)
    kept = problem._few(2)
    assert problem._few(2) is kept
    assert problem._few(3) is not kept
    assert problem._few(tensor_few.FEW_STARTS + 1) is None
    monkeypatch.setattr(tensor_few, "NUMBERS", {"cpu": 100 * (2 * 3 + 5 * 2 + 3)})
    assert problem._few(2) is not None
    assert problem._few(3) is None
    assert problem._dense is None


def test_what_is_kept_goes_with_the_problem():
    """At once: memory of a card does not wait until somebody collects cycles."""
    problem = make_problem(as_similarity(torch.tensor(features(100, 3)), "sqeuclidean"), 1.0)
    problem.solve(SolverOptions("dual"), Monitor())
    kept = weakref.ref(problem._dense)
    assert kept() is not None
    gc.disable()
    try:
        del problem
        assert kept() is None
    finally:
        gc.enable()


# graphs ---------------------------------------------------------------------------------------------------


class Graph:
    """Stands for a recorded graph."""

    def __init__(self):
        self.replays = 0

    def replay(self):
        self.replays += 1


class Stream:
    """Stands for a stream of a card."""

    def __init__(self, *_):
        self.waited = []

    def wait_stream(self, other):
        self.waited.append(other)


@pytest.fixture
def card(monkeypatch):
    """As if there were a card; its current stream."""
    now = Stream()
    monkeypatch.setattr(torch.cuda, "current_stream", lambda *_: now)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
    monkeypatch.setattr(graphs, "_beside", {})
    monkeypatch.setattr(graphs, "broken", False)
    return now


def test_work_is_recorded_after_a_few_runs(card, monkeypatch):
    graph, runs, recorded = Graph(), [], []
    monkeypatch.setattr(graphs, "record", lambda work: recorded.append(work) or graph)
    replays = graphs.Replays(torch.device("cuda"))
    for _ in range(graphs.PLAIN_RUNS):
        replays(lambda: runs.append(1))
    assert not recorded
    for _ in range(4):
        replays(lambda: runs.append(1))
    assert len(recorded) == 1
    assert len(runs) == graphs.PLAIN_RUNS + 1  # the run before the recording counts
    assert graph.replays == 3
    beside = graphs._beside[torch.device("cuda")]
    assert beside.waited == [card]
    assert card.waited == [beside]


def test_where_recording_fails_work_is_done_plainly_for_good(card, monkeypatch, caplog):
    tried, runs = [], []

    def record(work):
        tried.append(work)
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(graphs, "record", record)
    for replays in (graphs.Replays(torch.device("cuda")), graphs.Replays(torch.device("cuda"))):
        for _ in range(7):
            replays(lambda: runs.append(1))
    assert len(runs) == 14
    assert len(tried) == 1
    assert [r.message for r in caplog.records if "CUDA graphs are not used" in r.message]


def test_a_recording_that_fails_is_ended(monkeypatch):
    class Recorder:
        def __init__(self):
            self.said = []

        def capture_begin(self, capture_error_mode):
            self.said.append(capture_error_mode)

        def capture_end(self):
            self.said.append("end")

    recorder = Recorder()
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: recorder)
    with pytest.raises(KeyboardInterrupt):
        graphs.record(lambda: (_ for _ in ()).throw(KeyboardInterrupt()))
    assert graphs.record(lambda: None) is recorder
    assert recorder.said == ["thread_local", "end"] * 2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a card")
@pytest.mark.parametrize("kind", LOW_RANK)
def test_a_replayed_pass_is_the_plain_one(kind, monkeypatch):
    """On a card: the same bits, while w, shift, level and what is alive change."""
    tensor, _ = stored(np.abs(features(5_000, 6)), "float32", "cuda")
    S = as_similarity(tensor, kind)
    rng = np.random.default_rng(0)
    few = {}
    for plain in (True, False):
        monkeypatch.setattr(graphs, "broken", plain)
        few[plain] = few_of(tensor, kind, 3, np.ones(5_000, dtype=bool))
    root = local(S.rows.block, S.recipe).root
    for _ in range(2 * graphs.PLAIN_RUNS + 2):
        gone = torch.tensor(rng.choice(5_000, 50), device="cuda")
        W = root * S.rows_of(rng.choice(5_000, 3))
        shifts = S.self_similarity * rng.uniform(0.5, 5.0, size=3)
        out = {}
        for plain, one in few.items():
            monkeypatch.setattr(graphs, "broken", plain)
            one.alive[gone] = False
            first = one.at_host(W, shifts, None)
            second = one.at_host(first.image, shifts, first.tau)
            members = one.supports(second, np.ones(3, dtype=bool))
            judged = one.extremes(*members[:3], shifts)
            out[plain] = [*first, *second, members[0].cpu(), members[2].cpu(), *judged]
        for a, b in zip(out[True], out[False], strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    assert len(few[False].replays.graphs) == 3
    assert not few[True].replays.graphs
