"""Ctrl-C, the clock and the callback are seen between chunks, and work is not lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest

from dominantsets import DominantSets, End, Status, as_similarity, solve
from support import assert_certified, features, press_ctrl_c, random_similarity

ENDLESS = {"algorithm": "fw", "tol": 0.0, "max_iter": 10**9, "max_time": 60.0}


@pytest.mark.parametrize("algorithm", ["fw", "replicator", "exponential-replicator", "trajectory"])
def test_ctrl_c_returns_what_has_been_reached(algorithm):
    A = random_similarity(500, seed=0)
    start = "barycenter" if "replicator" in algorithm else "vertex"
    options = {**ENDLESS, "algorithm": algorithm, "start": start}
    if algorithm == "trajectory":
        options["algorithm_params"] = {"patience": 10**9}
    cluster = solve(A, callback=press_ctrl_c, **options)
    assert cluster.status is Status.INTERRUPTED
    assert cluster.n_iter > 0
    assert_certified(A, cluster)


def test_ctrl_c_while_columns_are_computed():
    X = features(400)
    S = as_similarity(X, "laplacian", gamma=0.1)
    cluster = solve(S, callback=press_ctrl_c, **ENDLESS)
    assert cluster.status is Status.INTERRUPTED
    assert_certified(S.toarray(), cluster)


def test_ctrl_c_in_the_estimator_keeps_the_clusters_found():
    def in_the_second(progress):
        if progress.n_clusters == 1:
            press_ctrl_c(progress)

    X = features(300)
    model = DominantSets(
        4,
        solver_params={"algorithm": "fw", "tol": 0.0, "max_iter": 40_000},
        shift=100.0,
        callback=in_the_second,
        affinity="sqeuclidean",
    )
    with pytest.warns(UserWarning, match="interrupted.*2 clusters were found"):
        model.fit(X)
    assert model.end_ is End.INTERRUPTED
    assert model.n_clusters_ == 2
    assert model.clusters_[1].status is Status.INTERRUPTED
    assert set(model.core_labels_) == {-1, 0, 1}


def test_a_time_limit_returns_what_has_been_reached():
    A = random_similarity(500, seed=0)
    for options in ({}, {"algorithm": "replicator", "start": "barycenter"}):
        cluster = solve(A, **{**ENDLESS, **options, "max_time": 0.2})
        assert cluster.status is Status.TIME_LIMIT
        assert_certified(A, cluster)


def test_the_callback_is_called_between_chunks_and_stops_the_run():
    calls = []

    def third_time(progress):
        calls.append(progress.n_iter)
        return len(calls) == 3

    A = random_similarity(500, seed=0)
    cluster = solve(A, callback=third_time, **ENDLESS)
    assert cluster.status is Status.STOPPED
    assert len(calls) == 3
    assert 0 < calls[0] < calls[1] < calls[2] == cluster.n_iter
    assert_certified(A, cluster)


PROGRAM = """
import sys
import numpy as np
from dominantsets import solve
A = np.random.default_rng(0).random((1500, 1500)); A = A + A.T; np.fill_diagonal(A, 0)
said = []
def say(progress):
    if not said:
        said.append(print("started", flush=True))
cluster = solve(A, algorithm="fw", tol=0.0, max_iter=10**12, max_time=60.0, callback=say)
print(cluster.status.value, abs(cluster.weights.sum() - 1) < 1e-9, cluster.gap > 0)
"""


@pytest.mark.subprocess
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as POSIX does")
def test_a_real_sigint_returns_a_partial_result():
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "started"
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out.split() == ["interrupted", "True", "True"], error


def test_nothing_is_lost_when_the_callback_raises():
    """An error in the user's function is the user's to see."""

    def broken(progress):
        raise ZeroDivisionError("mine")

    with warnings.catch_warnings(), pytest.raises(ZeroDivisionError, match="mine"):
        solve(random_similarity(300, seed=0), callback=broken, **ENDLESS)


def test_the_choice_and_the_fit_share_one_clock():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DominantSets(3, max_time=0.0).fit(features(400))
    assert model.end_ is End.TIME_LIMIT
    assert "time was up" in model.choice_.reason


def test_a_second_press_raises_at_once():
    """Where the first one is not looked at: here in a callback that takes long."""

    def busy(progress):
        press_ctrl_c()
        press_ctrl_c()
        time.sleep(60.0)

    with pytest.raises(KeyboardInterrupt):
        solve(random_similarity(300, seed=0), callback=busy, **ENDLESS)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert solve(random_similarity(300, seed=0)).status is Status.CONVERGED  # nothing is left of it


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda number, frame: None])
def test_the_callers_handler_stays_in_place(handler):
    """Also where SIGINT is ignored: the run goes to its end."""
    seen = []

    def press(progress):
        seen.append(signal.getsignal(signal.SIGINT))
        press_ctrl_c()

    before = signal.signal(signal.SIGINT, handler)
    try:
        options = {**ENDLESS, "max_iter": 20_000}
        assert solve(random_similarity(300, seed=0), callback=press, **options).status is Status.MAX_ITER
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen
    assert all(one is handler for one in seen)


def test_a_fit_in_another_thread_is_not_interrupted():
    """Signals are of the main thread, and so is the flag: another thread's fit goes on."""
    A, found, under_way = random_similarity(500, seed=0), [], threading.Event()

    def work():
        options = {**ENDLESS, "max_iter": 100_000}
        found.append(solve(A, callback=lambda progress: under_way.set(), **options).status)

    thread = threading.Thread(target=work)
    thread.start()
    under_way.wait()
    assert solve(A, callback=press_ctrl_c, **ENDLESS).status is Status.INTERRUPTED
    thread.join()
    assert found == [Status.MAX_ITER]


def test_a_call_within_ends_the_one_around_it():
    """A press belongs to the outermost call; the handler is put back when that one ends."""
    A, inner = random_similarity(300, seed=0), []

    def callback(progress):
        inner.append(solve(A, callback=press_ctrl_c, **ENDLESS))
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler

    outer = solve(A, callback=callback, **ENDLESS)
    assert [one.status for one in (*inner, outer)] == [Status.INTERRUPTED] * 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
