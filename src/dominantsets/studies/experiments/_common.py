"""What the studies share: the six methods, scores, verdicts, and a store from which a stopped run resumes."""

from __future__ import annotations

import csv
import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, v_measure_score

from dominantsets.app.files import replacing, write_text
from dominantsets.app.report import Report
from dominantsets.clusters.peeling import peel
from dominantsets.compiled.interrupts import all_or_nothing, check
from dominantsets.solvers import DominantSet
from dominantsets.studies.experiments.paper import CLAIMS

# The paper's threshold: it stops at a gap or a movement of at most this. Here the gap is relative to the unit
# of the cluster, and movement counts for RD only (docs/paper.md).
EPSILON = 2.2e-16
CUTOFF = 2e-12  # its cutoff delta
# its methods with their colours and markers, as its captions have them
METHODS: dict[str, dict[str, str]] = {
    "FW": {"algorithm": "fw", "start": "vertex", "color": "tab:blue", "marker": "o"},
    "PFW-B": {"algorithm": "pairwise", "start": "barycenter", "color": "tab:brown", "marker": "s"},
    "PFW-V": {"algorithm": "pairwise", "start": "vertex", "color": "tab:brown", "marker": "x"},
    "AFW-B": {"algorithm": "away", "start": "barycenter", "color": "black", "marker": "s"},
    "AFW-V": {"algorithm": "away", "start": "vertex", "color": "black", "marker": "x"},
    "RD": {"algorithm": "replicator", "start": "barycenter", "color": "tab:red", "marker": "."},
}
Row = dict[str, Any]


class StudyError(RuntimeError):
    """A study that cannot be made here: one sentence that says why."""


class Page(Report):
    """A page that keeps what was found about the paper's claims, for a table of all of them."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.verdicts: dict[str, tuple[str, str]] = {}


@dataclass(frozen=True)
class Study:
    """One study: its parts, the rows that each gives, and the report on all of them."""

    name: str
    title: str
    cells: Callable[[bool, bool], list[Row]]  # (quick, literal) -> parts of the work
    work: Callable[[Row], list[Row]]  # a part -> rows
    tell: Callable[[list[Row], Page, Path], None]  # rows -> text, tables, figures


def run_study(
    study: Study,
    out: Path,
    *,
    quick: bool = False,
    literal: bool = False,
) -> Iterator[tuple[int, int]]:
    """Work through a study, and yield (parts done, parts in all); rows are kept after every part.

    Ctrl-C raises KeyboardInterrupt: rows of solves that were interrupted are not kept.
    """
    cells = study.cells(quick, literal)
    store = Store(out / f"{study.name}.csv")
    for done, cell in enumerate(cells):
        yield done, len(cells)
        if not store.has(cell):
            with all_or_nothing(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what they would say is in the rows
                rows = study.work(cell)
            check()
            store.add(cell, rows)
    yield len(cells), len(cells)


class Store:
    """Rows in a CSV file, complete after every part; ``cell`` tells which part a row belongs to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: list[Row] = []
        if path.exists():
            with path.open(encoding="utf-8", newline="") as lines:
                self.rows = [  # an empty place is a column that only other rows have
                    {key: _number(value) for key, value in row.items() if value != ""}
                    for row in csv.DictReader(lines)
                ]
        self._done = {row["cell"] for row in self.rows}

    def has(self, cell: Row) -> bool:
        return key_of(cell) in self._done

    def add(self, cell: Row, rows: list[Row]) -> None:
        key = key_of(cell)
        self.rows += [{"cell": key, **row} for row in rows]
        self._done.add(key)
        self._write(list(dict.fromkeys(name for row in self.rows for name in row)))

    def _write(self, names: list[str]) -> None:
        with replacing(self._path) as draft, open(draft, "w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)


def key_of(cell: Row) -> str:
    return " ".join(f"{name}={value}" for name, value in cell.items())


def _number(value: str | None) -> Any:
    try:
        number = float(value or "")
    except ValueError:
        return value
    return int(number) if number.is_integer() and "." not in (value or "") else number


def settings_of(quick: bool, literal: bool) -> dict[str, Any]:
    """What a folder of results was made with."""
    packages = ("dominantsets", "numpy", "scipy", "scikit-learn", "numba")
    return {"quick": quick, "literal": literal, "versions": {name: version(name) for name in packages}}


def check_folder(out: Path, settings: dict[str, Any]) -> None:
    """Refuse to mix results of another kind of run; note what this one is."""
    path = out / "settings.json"
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        if before != settings:
            raise StudyError(
                f"{out} holds results made with other settings or versions ({path.name}); choose another "
                "--out, or delete it to begin anew."
            )
    write_text(path, json.dumps(settings, indent=1) + "\n")


def extract(
    S: Any, n_clusters: int, method: str, *, shift: float, t: int, cutoff: float = CUTOFF, **options: Any
) -> tuple[list[DominantSet], Any, float]:
    """The paper's peeling with one of its methods: (clusters, labels, seconds)."""
    how = METHODS[method]
    began = time.perf_counter()
    run = peel(
        S, n_clusters, shift=shift, algorithm=how["algorithm"], start=how["start"], tol=EPSILON, max_iter=t,
        cutoff=cutoff, **options,
    )  # fmt: skip
    clusters = list(run)
    return clusters, run.labels, time.perf_counter() - began


def scores(y: Any, labels: Any) -> Row:
    """Assignment rate, and ARI and V-measure over the assigned objects only, as in the paper."""
    inside = labels >= 0
    known = bool(inside.any())
    return {
        "ar": float(inside.mean()),
        "ari": float(adjusted_rand_score(y[inside], labels[inside])) if known else 0.0,
        "v": float(v_measure_score(y[inside], labels[inside])) if known else 0.0,
    }


def mean_of(rows: Iterable[Row], column: str) -> float:
    values = [row[column] for row in rows]
    return float(np.mean(values)) if values else float("nan")


def pick(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """The rows that have these values."""
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def figure(rows: int = 1, columns: int = 1, size: tuple[float, float] = (4.2, 3.2)) -> tuple[Any, Any]:
    """A figure and its axes, as a grid."""
    from dominantsets.plotting import plt

    check()
    return plt.subplots(
        rows, columns, figsize=(size[0] * columns, size[1] * rows), layout="constrained", squeeze=False
    )


def close(picture: Any) -> None:
    """Let go of a figure that has been written."""
    from dominantsets.plotting import plt

    plt.close(picture)


def save(page: Page, picture: Any, out: Path, name: str, caption: str, dpi: int = 90) -> None:
    """Save a figure in the folder, and show it on the page."""
    data = page.figure(picture, caption, dpi=dpi)
    with replacing(out / f"{name}.png") as draft:
        Path(draft).write_bytes(data)
    close(picture)


def lines(ax: Any, xs: list[float], ys: list[float], method: str) -> None:
    """A method's line in its colour and with its marker."""
    how = METHODS[method]
    ax.plot(xs, ys, color=how["color"], marker=how["marker"], markersize=5, linewidth=1.2, label=method)


def verdict(page: Page, claim: str, cases: dict[str, bool], evidence: str) -> None:
    """A claim of the paper (a key of CLAIMS), whether each case of it holds, and our numbers.

    It holds where all cases do.
    """
    against = [case for case, holds in cases.items() if not holds]
    word = "holds" if not against else "does not hold"
    if against and len(against) < len(cases):
        word = f"holds in part: not for {', '.join(against)}"
    page.verdicts[claim] = (word, evidence)
    line = f"{word[0].upper()}{word[1:]}: {CLAIMS[claim].text} ({evidence})."
    page.text(line, "warning" if against else "")
