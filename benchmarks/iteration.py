"""Time of one iteration of each rule: ours, a plain NumPy form, and a memory lower bound.

Run ``python benchmarks/iteration.py``; it prints a table and writes results/iteration.json.

Every row is measured in one process with one thread, the contestants interleaved, and the median
over the rounds is taken, per iteration actually done. The similarity is prepared before the clock
starts. The NumPy form is the paper's pseudocode line by line. The lower bound is compiled as ours
is: it reads the columns that the rule reads, in the rule's order (pairwise two an iteration, the
others one), updates one vector and takes one maximum, and does nothing else.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)

from dominantsets import as_similarity, solve  # noqa: E402
from dominantsets.compiled.jit import compiled, larger  # noqa: E402
from dominantsets.solvers import Monitor, Point, Problem, SolverOptions  # noqa: E402
from dominantsets.solvers.frank_wolfe import ascend  # noqa: E402

SIZES = (500, 2_000, 10_000)
ROUNDS = 11
STEPS = {500: 4_000, 2_000: 2_000, 10_000: 600}
SHIFT = 15.0


def numpy_form(A: np.ndarray, rule: str, steps: int, start: int = 0) -> list[tuple[int, int]]:
    """The paper's Algorithms 2 to 4 on the shifted matrix; the columns that each iteration read."""
    n = len(A)
    read = []
    x = np.zeros(n)
    x[start] = 1.0
    r = A @ x
    f = r @ x
    for _ in range(steps):
        i = np.argmax(r)
        if r[i] - f <= 1e-5 * f:
            break
        if rule != "fw":
            support = np.flatnonzero(x > 0)
            j = support[np.argmin(r[support])]
        if rule == "pairwise":
            gamma = min(x[j], (r[i] - r[j]) / (2 * A[i, j]))
            f = f + 2 * gamma * (r[i] - r[j]) - 2 * gamma**2 * A[i, j]
            x[i] += gamma
            x[j] -= gamma
            r = r + gamma * (A[i] - A[j])
            read.append((i, j))
        elif rule == "fw" or r[i] - f >= f - r[j]:
            gamma = (r[i] - f) / (2 * r[i] - f)
            f, r_i = (1 - gamma) ** 2 * f + 2 * gamma * (1 - gamma) * r[i], A[i]
            x = (1 - gamma) * x
            x[i] += gamma
            r = (1 - gamma) * r + gamma * r_i
            read.append((i, i))
        else:
            gamma = x[j] / (1 - x[j])
            if 2 * r[j] - f > 0:
                gamma = min(gamma, (f - r[j]) / (2 * r[j] - f))
            f = (1 + gamma) ** 2 * f - 2 * gamma * (1 + gamma) * r[j]
            x = (1 + gamma) * x
            x[j] -= gamma
            r = (1 + gamma) * r - gamma * A[j]
            read.append((j, j))
    return read


@compiled
def lower_bound(A: Any, r: Any, order: Any, two: bool) -> float:
    total = 0.0
    for t in range(len(order)):
        a, b = A[order[t, 0]], A[order[t, 1]]
        top = -np.inf
        if two:
            for k in range(r.size):
                v = r[k] + 1e-9 * (a[k] - b[k])
                r[k] = v
                top = larger(top, v)
        else:
            for k in range(r.size):
                v = 0.999 * r[k] + 1e-9 * a[k]
                r[k] = v
                top = larger(top, v)
        total += top
    return total


def timed(work: Callable[[], int]) -> float:
    """Microseconds per iteration done."""
    begin = time.perf_counter()
    done = work()
    return (time.perf_counter() - begin) / max(done, 1) * 1e6


def similarity(n: int) -> np.ndarray:
    """Cosine + 1 of five noisy classes in 20 dimensions, as in the paper's text study."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 20))[rng.integers(5, size=n)] + 0.8 * rng.normal(size=(n, 20))
    return as_similarity(X, affinity="cosine").toarray()


def rule_row(A: np.ndarray, shifted: np.ndarray, rule: str) -> dict[str, Any]:
    n, steps = len(A), STEPS[len(A)]
    S = as_similarity(A)
    problem = Problem(S, SHIFT)
    problem.columns  # noqa: B018 (prepared before the clock starts)
    x0 = Point(np.array([0]), np.ones(1))
    order = np.array(numpy_form(shifted, rule, steps))
    long = len(order) - 1
    short = long // 4
    repeats = max(1, steps // long)
    r = np.ones(n)
    two = rule == "pairwise"

    def ours(limit: int) -> float:
        begin = time.perf_counter()
        for _ in range(repeats):
            ascend(problem, x0, SolverOptions(rule, tol=1e-5, max_iter=limit), Monitor())
        return (time.perf_counter() - begin) / repeats

    def bound() -> int:
        for _ in range(repeats):
            lower_bound(A, r, order, two)
        return repeats * len(order)

    bound(), ours(short)
    columns: dict[str, list[float]] = {"ours": [], "numpy": [], "bound": []}
    for _ in range(ROUNDS):
        # The start is not an iteration: the difference of two runs leaves it out.
        columns["ours"].append((ours(long) - ours(short)) / (long - short) * 1e6)
        columns["numpy"].append(timed(lambda: len(numpy_form(shifted, rule, steps))))
        columns["bound"].append(timed(bound))
    return summary(n, rule, columns)


def summary(n: int, rule: str, columns: dict[str, list[float]]) -> dict[str, Any]:
    us = {name: statistics.median(values) for name, values in columns.items()}
    row: dict[str, Any] = {"n": n, "rule": rule, "ours_us": round(us["ours"], 3)}
    if "numpy" in us:
        row["numpy_us"] = round(us["numpy"], 3)
        row["times_numpy"] = round(us["numpy"] / us["ours"], 2)
    row["bound_us"] = round(us["bound"], 3)
    row["over_bound"] = round(us["ours"] / us["bound"], 2)
    return row


def replicator_row(A: np.ndarray) -> dict[str, Any]:
    n = len(A)
    S = as_similarity(A)
    steps = {500: 400, 2_000: 60, 10_000: 12}[n]
    x = np.full(n, 1.0 / n)
    options = {"algorithm": "replicator", "start": "barycenter", "shift": SHIFT, "tol": 0.0}

    def ours() -> float:
        begin = time.perf_counter()
        solve(S, max_iter=steps // 4, **options)
        middle = time.perf_counter()
        solve(S, max_iter=steps, **options)
        return (time.perf_counter() - 2 * middle + begin) / (steps - steps // 4) * 1e6

    def matvec() -> int:
        for _ in range(steps):
            A @ x
        return steps

    ours(), matvec()
    columns: dict[str, list[float]] = {"ours": [], "bound": []}
    for _ in range(ROUNDS):
        columns["ours"].append(ours())
        columns["bound"].append(timed(matvec))
    return summary(n, "replicator", columns)


def main() -> None:
    rows = []
    for n in SIZES:
        A = similarity(n)
        shifted = A + SHIFT * (1 - np.eye(n))
        for rule in ("fw", "pairwise", "away"):
            rows.append(rule_row(A, shifted, rule))
        del shifted
        rows.append(replicator_row(A))
        for row in rows[-4:]:
            print(row, flush=True)
    result = {
        "what": "microseconds per iteration, medians; bound: memory lower bound (replicator: BLAS)",
        "shift": SHIFT,
        "rounds": ROUNDS,
        "machine": machine(),
        "rows": rows,
    }
    path = Path(__file__).parent / "results" / "iteration.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
