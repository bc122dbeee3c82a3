"""The synthetic study: blocks of random similarities under noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dominantsets.similarity import as_similarity
from dominantsets.studies.experiments._common import (
    METHODS,
    Page,
    Row,
    Study,
    extract,
    figure,
    lines,
    mean_of,
    pick,
    save,
    scores,
    verdict,
)  # fmt: skip

N, K = 200, 5
SETTINGS = ((400, 2e-12), (400, 2e-3), (4_000, 2e-12))  # t and delta of the paper's three rows
ASSUMED = 5.0  # the shift, which the paper does not state
OTHERS = (0.0, 1.0, 15.0)  # shifts to compare with


def similarity(p: float, seed: int) -> tuple[Any, Any]:
    """z mu for two objects of one cluster, mu uniform, z = 0 with probability p; 0 across clusters."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=N)
    A = np.triu(rng.random((N, N)) * (rng.random((N, N)) >= p), 1)
    A = (A + A.T) * np.equal.outer(y, y)
    return A, y


def cells(quick: bool, literal: bool) -> list[Row]:
    levels = (0.0, 0.4, 0.8) if quick else tuple(round(0.1 * k, 1) for k in range(11))
    seeds = range(1 if quick else 5)
    main = [{"shift": ASSUMED, "p": p, "seed": seed} for p in levels for seed in seeds]
    return main + [{"shift": shift, "p": 0.4, "seed": seed} for shift in OTHERS for seed in seeds]


def work(cell: Row) -> list[Row]:
    A, y = similarity(cell["p"], cell["seed"])
    if not A.any():  # p = 1: nothing is alike
        blank = {"ar": 0.0, "ari": 0.0, "v": 0.0, "seconds": 0.0}
        return [
            {**cell, "t": t, "delta": delta, "method": method, **blank}
            for t, delta in SETTINGS
            for method in METHODS
        ]
    S, rows = as_similarity(A), []
    for t, delta in SETTINGS:
        for method in METHODS:
            _, labels, seconds = extract(S, K, method, shift=cell["shift"], t=t, cutoff=delta)
            found = {"t": t, "delta": delta, "method": method, **scores(y, labels), "seconds": seconds}
            rows.append({**cell, **found})
    return rows


def tell(rows: list[Row], page: Page, out: Path) -> None:
    page.text(
        f"{N} objects in {K} clusters; a pair of one cluster has a uniform similarity, or 0 with "
        "probability p. Assignment rate, and ARI and V-measure over the assigned objects, mean of "
        f"{len({row['seed'] for row in rows})} data set(s) a level. The paper does not state the "
        f"shift; {ASSUMED:g} is assumed here, because it shows the "
        "paper's picture and the others below do not."
    )
    main = pick(rows, shift=ASSUMED)
    levels = sorted({row["p"] for row in main})
    picture, axes = figure(3, 3)
    for place, (t, delta) in enumerate(SETTINGS):
        for column, (key, name) in enumerate((("ar", "assignment rate"), ("ari", "ARI"), ("v", "V-measure"))):
            ax = axes[place, column]
            for method in METHODS:
                chosen = [pick(main, t=t, delta=delta, method=method, p=p) for p in levels]
                lines(ax, levels, [mean_of(part, key) for part in chosen], method)
            ax.set(xlabel="noise p", ylabel=name, ylim=(-0.05, 1.05), title=f"t = {t}, δ = {delta:g}")
    axes[0, 0].legend(fontsize=7)
    save(page, picture, out, "synthetic", "As the paper's figure: RD red, FW blue, PFW brown, AFW black.")
    page.section("The shift that the paper does not state")
    head = ["method", *(f"shift {shift:g}" for shift in sorted({*OTHERS, ASSUMED}))]
    table = []
    for method in METHODS:
        chosen = [
            pick(rows, shift=s, p=0.4, t=400, delta=2e-12, method=method) for s in sorted({*OTHERS, ASSUMED})
        ]
        table.append(
            [method, *(f"{mean_of(part, 'ar'):.2f} / {mean_of(part, 'ari'):.2f}" for part in chosen)]
        )
    page.table(head, table).text("Assignment rate / ARI at p = 0.4, t = 400, δ = 2e-12.", "note")
    page.section("Time")
    settings = [f"t = {t}, δ = {delta:g}" for t, delta in SETTINGS]
    table = []
    for method in METHODS:
        chosen = [[r for r in pick(main, t=t, delta=d, method=method) if r["p"] < 1] for t, d in SETTINGS]
        table.append([method, *(f"{1e3 * mean_of(part, 'seconds'):.1f} ms" for part in chosen)])
    page.table(["method", *settings], table).text("Mean time of five clusters, over p < 1.", "note")
    inner = [row for row in main if 0 < row["p"] < 0.9]
    ari = {
        m: [mean_of(pick(inner, t=t, delta=d, method=m), "ari") for t, d in SETTINGS] for m in METHODS
    }  # fmt: skip
    variants = [m for m in METHODS if m != "RD"]
    verdict(
        page,
        "robust",
        {m: all(mine >= rd for mine, rd in zip(ari[m], ari["RD"], strict=True)) for m in variants},
        "mean ARI in the three settings: "
        + "; ".join(f"{m} {', '.join(f'{v:.2f}' for v in ari[m])}" for m in METHODS),
    )
    spread = {m: float(np.ptp(ari[m])) for m in METHODS}
    verdict(
        page,
        "settings",
        {m: spread["RD"] > spread[m] for m in variants},
        "range of the ARI over the settings: " + ", ".join(f"{m} {v:.2f}" for m, v in spread.items()),
    )


STUDY = Study("synthetic", "Synthetic similarities", cells, work, tell)
