"""Ctrl-C at random instants of fits and of every command: what comes of it, and how soon.

A fit must return what it has or, before there is anything, raise KeyboardInterrupt. A command must end with
130, or of the signal itself while Python imports or ends, with no traceback and no draft of a file left. What
is whole must be that of an undisturbed run.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from skimage.data import coffee
from skimage.io import imsave
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

from _processes import RAISED, Start, duration, forked, fresh, stopped
from dominantsets import DominantSetHierarchy, DominantSets

PARTIAL, DIFFERS = 10, 97  # exit codes of a fork
KEEPING = ("_set_clusters", "_set_labels", "_warn")  # functions of fit where there are clusters already
ALLOWED = 0.5  # seconds of the processor from the signal to the end
LONGEST = 5.0  # seconds: later parts of long commands are not waited for

X, _ = make_blobs(1500, centers=8, n_features=4, random_state=0)
GRAPH = kneighbors_graph(X, 10)
GRAPH = GRAPH.maximum(GRAPH.T)
FITS: dict[str, tuple[Any, Any]] = {
    "peeling": (X, DominantSets(8, affinity="laplacian", shift=2.0)),
    "scales": (X, DominantSets(affinity="sqeuclidean")),
    "auto": (X[:400], DominantSets(8)),
    "graph": (GRAPH, DominantSets(affinity="precomputed")),
    "path": (X, DominantSets(affinity="path")),
    "diffusion": (X[:500], DominantSets(affinity="diffusion")),
    "ellipses": (X[:500], DominantSets(affinity="ellipses")),
    "hierarchy": (X, DominantSetHierarchy()),
}


class Case(NamedTuple):
    """Something that is interrupted, whether what it leaves is right, by its exit code, and its duration."""

    start: Start
    right: Callable[[int], bool]
    whole: float


def answer(model: Any) -> list[Any]:
    """Everything that must be the same."""
    return [
        np.asarray(model.labels_).tolist(),
        *([c.members.tolist(), c.weights.tolist(), c.gap] for c in model.clusters_),
    ]


def fit(name: str, **options: Any) -> Any:
    data, model = FITS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return type(model)(**model.get_params() | options).fit(data)


def fits(said: Path) -> Iterator[tuple[str, Case]]:
    """Fits in forks."""

    def case(name: str) -> Case:
        whole = np.asarray(fit(name).labels_)

        def work() -> int:
            model = fit(name)
            if model.end_ is not None and model.end_.value == "interrupted":
                return PARTIAL if len(model.labels_) == len(whole) else DIFFERS
            return 0 if np.array_equal(model.labels_, whole) else DIFFERS

        start = forked(work)
        return Case(start, lambda code: code in (0, PARTIAL, RAISED), duration(start, said))

    for name in FITS:
        yield name, case(name)


class Command(NamedTuple):
    """A command line, the file it makes, and whether every run makes the same bytes."""

    arguments: list[str]
    output: str
    same: bool = True


def commands(folder: Path) -> dict[str, Command]:
    """Every command; results go to ``folder / "out"``."""
    table, others, picture, out = (str(folder / name) for name in ("x.csv", "y.csv", "p.png", "out"))
    np.savetxt(table, X[:600], delimiter=",")
    np.savetxt(others, X[600:900], delimiter=",")
    imsave(picture, coffee()[::3, ::3])
    report = ["--summary", f"{out}/s.json", "--report", f"{out}/page.html"]
    return {
        "cluster": Command(["cluster", table, "-o", f"{out}/labels.csv", *report], "labels.csv"),
        "predict": Command(["predict", table, others, "-o", f"{out}/labels.csv"], "labels.csv"),
        "hierarchy": Command(
            ["hierarchy", table, "-k", "8", "-o", f"{out}/groups.csv", "--plot", f"{out}/tree.png"],
            "groups.csv",
        ),
        "segment": Command(
            ["segment", picture, "-k", "3", "-o", f"{out}/s.npy", "--figure", f"{out}/f.png"], "s.npy"
        ),
        "demo": Command(["demo", "--out", out], "demo.html", same=False),
        "reproduce": Command(["reproduce", "theory", "--quick", "--out", out], "report.html", same=False),
        "info": Command(["info"], ""),
    }


def commands_in(folder: Path, new: bool) -> Iterator[tuple[str, Case]]:
    """Commands in forks, or each in a new interpreter, which imports everything first."""
    out, said = folder / "out", folder / "said"

    def run(arguments: list[str]) -> int:
        from dominantsets.__main__ import main

        sys.argv = ["dominantsets", *arguments]
        main()
        return 0

    def case(command: Command) -> Case:
        def start(said: Path) -> tuple[int, int]:
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            begin = fresh(command.arguments) if new else forked(lambda: run(command.arguments))
            return begin(said)

        lasts = duration(start, said)
        made = out / command.output
        whole = made.read_bytes() if command.output else b""

        def right(code: int) -> bool:
            if any(path.name.startswith(".") for path in out.iterdir()):  # a draft
                return False
            if code == 0 and command.output:
                return made.exists() and (not command.same or made.read_bytes() == whole)
            return code in (0, 130, -signal.SIGINT)

        return Case(start, right, lasts)

    for name, command in commands(folder).items():
        if not new:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out.mkdir(exist_ok=True)
                with contextlib.suppress(SystemExit):
                    run(command.arguments)  # loads and compiles
        yield name, case(command)


WORDS = {
    0: "whole",
    PARTIAL: "partial",
    RAISED: "KeyboardInterrupt",
    130: "exit code 130",
    -2: "died of the signal",
}


def interrupts(
    cases: Iterator[tuple[str, Case]], count: int, rng: random.Random, said: Path
) -> dict[str, Any]:
    """So many signals to each case: outcomes and times."""
    rows = {}
    for name, case in cases:
        whole, seen, times = case.whole, Counter[str](), []
        for _ in range(count):
            after = rng.uniform(0.0, min(whole, LONGEST))
            code, took = stopped(case.start, said, after, signal.SIGINT)
            seen[WORDS.get(code, f"exit code {code}")] += 1
            words = said.read_text(encoding="utf-8", errors="replace")
            faults = {
                "traceback": "Traceback" in words or "Error" in words,
                "lost": "ignored in" in words.lower(),
                "wrong": not case.right(code),
                "found, and not kept": code == RAISED and any(name in words for name in KEEPING),
                "slow": took > ALLOWED,
            }
            seen.update(fault for fault, there in faults.items() if there)
            times.append(took)
            if any(faults.values()):
                print(
                    f"-- {name} after {after:.2f} of {whole:.2f} s: {code}, {took:.2f} s",
                    faults,
                    words[-3000:],
                )
        rows[name] = {
            "whole_s": round(whole, 2),
            "runs": count,
            **seen,
            "median_s": round(float(np.median(times)), 3),
            "slowest_s": round(max(times), 3),
        }
        print(name, rows[name], flush=True)
    return rows
