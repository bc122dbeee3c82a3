"""The theory: the smallest gap of each method against its bound."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from dominantsets.app.experiments._common import METHODS, Row, Study, figure, pick, save, verdict
from dominantsets.app.experiments.synthetic import similarity
from dominantsets.app.report import Report
from dominantsets.similarity import as_similarity
from dominantsets.solvers import solve
from dominantsets.theory import log_gap_bound

SHIFT, P, STEPS = 5.0, 0.2, 4_000


def cells(quick: bool, literal: bool) -> list[Row]:
    return [{"method": method, "seed": 0} for method in METHODS]


def work(cell: Row) -> list[Row]:
    A, _ = similarity(P, cell["seed"])
    how, n = METHODS[cell["method"]], len(A)
    found = solve(
        as_similarity(A),
        algorithm=how["algorithm"],
        start=how["start"],
        shift=SHIFT,
        tol=0.0,
        max_iter=STEPS,
        trace=True,
    )
    trace = found.trace
    assert trace is not None
    counts = trace.counts()
    smallest = np.minimum.accumulate(2.0 * np.maximum(trace.gap, 0.0))  # the gap of the theory is 2 (r_i - f)
    a_max, a_min = float(A.max()) + SHIFT, SHIFT  # off the diagonal, the shift included
    rows = []
    for t in sorted({round(1.15**k) for k in range(200) if 1.15**k <= len(trace) - 1}):
        log_bound = math.nan
        if how["algorithm"] != "replicator":
            log_bound = log_gap_bound(
                how["algorithm"], a_max=a_max, a_min=a_min, t=t,
                gain=float(trace.value[t] - trace.value[0]),
                support0=n if how["start"] == "barycenter" else 1, n=n,
            )  # fmt: skip
        rows.append({**cell, "t": t, "gap": float(smallest[t]), "log_bound": log_bound, **counts})
    return rows


def tell(rows: list[Row], page: Report, out: Path) -> None:
    page.text(
        f"The smallest gap 2(max r - f) within t iterations on one synthetic similarity (p = {P:g}, shift "
        f"{SHIFT:g}), against the bounds of Theorems 1 to 3 with the observed gain of f. The bound of the "
        "pairwise variant has n! in it (its swap steps are only bounded by that), so that it leaves the "
        "picture; RD has no bound."
    )
    picture, axes = figure(2, 3, (3.8, 3.0))
    held = {}
    for ax, method in zip(axes.flat, METHODS, strict=True):
        mine = pick(rows, method=method)
        t = np.array([row["t"] for row in mine])
        gap = np.array([row["gap"] for row in mine])
        bound = np.array([row["log_bound"] for row in mine], dtype=np.float64)
        ax.loglog(t, np.where(gap > 0, gap, np.nan), color=METHODS[method]["color"], label="gap")
        shown = np.isfinite(bound) & (bound < 20)
        if shown.any():
            ax.loglog(t[shown], np.exp(bound[shown]), color="0.5", linestyle="--", label="bound")
        known = ~np.isnan(bound)
        rounding = 1e-13
        held[method] = bool(np.all(gap[known] <= np.exp(np.minimum(bound[known], 700)) + rounding))
        ax.set(title=method, xlabel="t", ylabel="smallest gap")
        ax.legend(fontsize=7)
    save(page, picture, out, "theory", "The smallest gap so far and its bound, on logarithmic axes.")
    page.table(
        ["method", "good steps", "drop steps", "swap steps"],
        [
            [m, *(pick(rows, method=m)[0][kind] for kind in ("good", "drop", "swap"))]
            for m in METHODS
            if m != "RD"
        ],
    )
    bounded = [m for m in METHODS if m != "RD"]
    verdict(
        page,
        "the gap stays below the bounds of Theorems 1 to 3",
        all(held[m] for m in bounded),
        ", ".join(f"{m} {'below' if held[m] else 'above'}" for m in bounded),
    )


STUDY = Study("theory", "Gaps and their bounds", cells, work, tell)
