"""The multi-start study: four Gaussians and noise, four starts per pass."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from dominantsets.clusters.multistart import multistart
from dominantsets.clusters.peeling import peel
from dominantsets.similarity import as_similarity
from dominantsets.studies.experiments._common import (
    CUTOFF,
    EPSILON,
    METHODS,
    Page,
    Row,
    Study,
    figure,
    lines,
    mean_of,
    pick,
    save,
    scores,
    verdict,
)  # fmt: skip

N, K, SHIFT, STARTS, STEPS = 1_000, 4, 15.0, 4, 1_000
MEANS = np.array([(0.0, 0.0), (12.0, 0.0), (0.0, 12.0), (12.0, 12.0)])  # fixed in the paper, not stated
SHARES = (0.1, 0.2, 0.3, 0.4)
SHIFTS = (15.0, 30.0, 100.0, 300.0)  # for the paper's two example data sets
CAPTIONS = {0.0: (0.94, 1.0), 0.4: (0.74, 1.0)}  # assignment rate and ARI under the paper's pictures of them
LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


def points(p: float, seed: int) -> tuple[Any, Any]:
    """n p objects of uniform noise, the others in four Gaussians of 10, 20, 30 and 40 %."""
    rng = np.random.default_rng(seed)
    noise = round(p * N)
    sizes = [round(share * (N - noise)) for share in SHARES]
    X = [mean + rng.normal(size=(size, 2)) for mean, size in zip(MEANS, sizes, strict=True)]
    low, high = MEANS.min() - 5, MEANS.max() + 5
    X.append(rng.uniform(low, high, size=(N - sum(sizes), 2)))
    return np.concatenate(X), np.repeat(np.arange(K + 1), [*sizes, N - sum(sizes)])


def cells(quick: bool, literal: bool) -> list[Row]:
    levels, repeats = ((0.0, 0.4), 1) if quick else (LEVELS, 10)
    main = [
        {"p": p, "sampling": how, "repeat": repeat, "shift": SHIFT}
        for p in levels
        for how in ("uniform", "dpp")
        for repeat in range(repeats)
    ]
    return main + [
        {"p": p, "sampling": "none", "repeat": 0, "shift": shift} for p in CAPTIONS for shift in SHIFTS
    ]


def work(cell: Row) -> list[Row]:
    X, y = points(cell["p"], 0)
    S, rows = as_similarity(X, "euclidean", offset="exact"), []
    S = as_similarity(S.toarray())
    if cell["sampling"] == "none":
        peeling = peel(S, K, shift=cell["shift"], algorithm="fw", tol=EPSILON, max_iter=STEPS, cutoff=CUTOFF)
        list(peeling)
        return [{**cell, "method": "FW", **_scores(y, peeling.labels), "passes": K}]
    for method, how in METHODS.items():
        run = multistart(
            S, K, n_starts=STARTS, sampling=cell["sampling"], shift=SHIFT, algorithm=how["algorithm"],
            start=how["start"], tol=EPSILON, max_iter=STEPS, cutoff=CUTOFF, random_state=cell["repeat"],
        )  # fmt: skip
        began = time.perf_counter()
        for _ in run:
            pass
        found = {"passes": run.n_passes, "seconds": time.perf_counter() - began}
        rows.append({**cell, "method": method, **_scores(y, run.labels), **found})
    return rows


def _scores(y: Any, labels: Any) -> Row:
    """ARI and V-measure over the assigned objects of the Gaussians: noise has no class."""
    found = scores(y, np.where(y < K, labels, -1))
    return {**found, "ar": float((labels >= 0).mean())}


def tell(rows: list[Row], page: Page, out: Path) -> None:
    examples, rows = pick(rows, sampling="none"), [row for row in rows if row["sampling"] != "none"]
    repeats = len({row["repeat"] for row in rows})
    page.text(
        f"{N:,} objects: four Gaussians of 10, 20, 30 and 40 % and a share p of uniform noise; A = max(D) - "
        f"D, shift 15, four starts a pass, {STEPS:,} iterations, mean of {repeats} run(s). "
        "Assignment rate, ARI and V-measure over the "
        "assigned objects of the Gaussians, and the passes that four clusters took. The means of the "
        "Gaussians are not stated in the paper."
    )
    levels = sorted({row["p"] for row in rows})
    picture, axes = figure(2, 4, (3.2, 2.8))
    for place, how in enumerate(("uniform", "dpp")):
        for column, (key, name) in enumerate(
            (("ar", "assignment rate"), ("ari", "ARI"), ("v", "V-measure"), ("passes", "passes"))
        ):
            ax = axes[place, column]
            for method in METHODS:
                chosen = [pick(rows, sampling=how, method=method, p=p) for p in levels]
                lines(ax, levels, [mean_of(part, key) for part in chosen], method)
            ax.set(xlabel="noise p", ylabel=name, title="UNI" if how == "uniform" else "DPP")
            ax.set_ylim((0, K + 0.3) if key == "passes" else (-0.05, 1.05))
    axes[0, 0].legend(fontsize=7)
    save(
        page, picture, out, "multistart",
        f"As the paper's figure: first row uniform sampling, second row DPP. {_ahead(rows, levels)}",
    )  # fmt: skip
    columns = ("ar", "ari", "v", "passes", "seconds")
    page.table(
        ["method", "AR", "ARI", "V", "passes", "seconds"],
        [[m, *(f"{mean_of(pick(rows, method=m), key):.2f}" for key in columns)] for m in METHODS],
    ).text("Means over all levels and both samplings.", "note")
    shown, axes = figure(1, 4, (3.0, 2.9))
    for place, p in enumerate((0.0, 0.4)):
        X, y = points(p, 0)
        S = as_similarity(X, "euclidean", offset="exact")
        run = peel(as_similarity(S.toarray()), K, shift=SHIFT, algorithm="fw", tol=EPSILON, max_iter=STEPS)
        list(run)
        for ax, colors, title in (
            (axes[0, 2 * place], np.where(y == K, -1, y), f"p = {p:g}"),
            (axes[0, 2 * place + 1], run.labels, f"FW: AR {(run.labels >= 0).mean():.2f}"),
        ):
            ax.scatter(
                *X.T, s=4, c=[["#bbbbbb", "#0072B2", "#E69F00", "#009E73", "#CC79A7"][c + 1] for c in colors]
            )
            ax.set(title=title, xticks=[], yticks=[])
    save(
        page,
        shown,
        out,
        "multistart_data",
        "The two example data sets of the paper's figure, and FW's clusters.",
    )
    table = []
    for p, (rate, ari) in CAPTIONS.items():
        for shift in SHIFTS:
            for row in pick(examples, p=p, shift=shift):
                ours = [f"{row['ar']:.2f}", f"{rate:.2f}", f"{row['ari']:.2f}", f"{ari:.2f}"]
                table.append([f"p = {p:g}, shift {shift:g}", *ours])
    page.table(["FW on the two examples", "AR", "paper", "ARI", "paper"], table).text(
        "The rates under the paper's pictures come out at a shift of about 300, not at the 15 that it "
        "states: with shift 15 a cluster of a thousand objects keeps its middle only. The study above uses "
        "15.",
        "note",
    )
    variants = [m for m in METHODS if m != "RD"]
    passes = {m: mean_of(pick(rows, method=m), "passes") for m in variants}
    verdict(
        page,
        "passes",
        {m: value < 2.5 for m, value in passes.items()},
        "mean passes: " + ", ".join(f"{m} {v:.1f}" for m, v in passes.items()),
    )
    aris = {m: mean_of(pick(rows, method=m), "ari") for m in variants}
    evidence = "mean ARI: " + ", ".join(f"{m} {v:.2f}" for m, v in aris.items())
    alike = {m: abs(aris[m] - aris["FW"]) < 0.05 for m in variants if m not in ("FW", "AFW-B")}
    verdict(page, "alike", alike, evidence)
    others = [v for m, v in aris.items() if m != "AFW-B"]
    verdict(page, "afw-b", {"AFW-B": min(others) - 0.1 < aris["AFW-B"] < min(others)}, evidence)


def _ahead(rows: list[Row], levels: list[float]) -> str:
    """Where RD, which the paper leaves out of this figure, is better than every Frank-Wolfe variant."""
    places = []
    for how, name in (("uniform", "UNI"), ("dpp", "DPP")):
        for p in levels:
            ari = {m: mean_of(pick(rows, sampling=how, method=m, p=p), "ari") for m in METHODS}
            best = max(value for m, value in ari.items() if m != "RD")
            if ari["RD"] > best + 0.005:
                places.append(f"{name} p = {p:g} ({ari['RD']:.2f} against {best:.2f})")
    if not places:
        return "RD, which the paper leaves out, is nowhere ahead of all variants in ARI."
    return f"RD, which the paper leaves out, is ahead of all variants in ARI at {', '.join(places)}."


STUDY = Study("multistart", "Multi-start", cells, work, tell)
