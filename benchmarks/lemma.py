"""Lemma 4 of the paper, step by step, and what follows from it: how often each inequality fails.

Run ``python benchmarks/lemma.py``; it prints the counts and writes results/lemma.json. See docs/paper.md.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _machine import pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)

from dominantsets import Step, solve  # noqa: E402

RUNS, STEPS = 20_000, 60
ROUNDING = 1e-9  # relative: of a gain that is the difference of two values
RESULTS = Path(__file__).parent / "results" / "lemma.json"


def similarity(rng: np.random.Generator) -> np.ndarray:
    """Random, nearly or exactly equal, or whole numbers; none is 0 in half of them."""
    n, style = int(rng.integers(2, 12)), int(rng.integers(4))
    if style == 0:
        A = rng.random((n, n))
    elif style == 1:
        A = 1.0 + 10.0 ** rng.uniform(-6, 0) * rng.random((n, n))
    elif style == 2:
        A = np.ones((n, n))
    else:
        A = rng.integers(0, 4, (n, n)).astype(float)
    A[0, 1] = max(A[0, 1], 1.0)
    return np.triu(A, 1) + np.triu(A, 1).T


def one_run(rng: np.random.Generator, counts: Counter[str]) -> None:
    A, rule = similarity(rng), str(rng.choice(["fw", "away"]))
    n = len(A)
    start = int(rng.integers(n)) if rng.random() < 0.7 else rng.dirichlet(np.ones(n))
    trace = solve(A, algorithm=rule, start=start, tol=0.0, max_iter=STEPS, trace=True).trace
    assert trace is not None
    if len(trace) < 2:  # it began where it ends
        return
    off = A[~np.eye(n, dtype=bool)]
    largest, least = float(off.max()), float(off.min())
    gap, gain = 2.0 * np.maximum(trace.gap, 0.0), np.diff(trace.value)
    counts["runs"] += 1
    steps = gain[: len(gap) - 1]
    whole = ~np.isin(trace.step[: len(steps)], [Step.DROP, Step.JUMP])
    for name, beta in (("the paper's", 2.0 * largest - least), ("2M", 2.0 * largest)):
        slack = ROUNDING * largest**2
        fails = gap[: len(steps)][whole] ** 2 > 4.0 * beta * steps[whole] + slack
        counts[f"runs with a step above the constant, {name}"] += bool(fails.any())
        smallest = np.minimum.accumulate(gap)
        t = np.arange(1, len(gap))
        k = t if rule == "fw" else (t + 1 - trace.support_size[0]) / 2.0
        risen = trace.value[1:] - trace.value[0]
        bounded = k > 0
        above = smallest[1:][bounded] ** 2 > 4.0 * beta * risen[bounded] / k[bounded] + slack
        counts[f"runs with a gap above the bound, {name}"] += bool(above.any())


if __name__ == "__main__":
    rng, counts = np.random.default_rng(0), Counter[str]()
    while counts["runs"] < RUNS:
        one_run(rng, counts)
    RESULTS.write_text(json.dumps(dict(counts), indent=1) + "\n", encoding="utf-8")
    for name, count in counts.items():
        print(f"{name}: {count:,}")
