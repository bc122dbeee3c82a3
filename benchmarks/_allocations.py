"""Memory that runs out: the n-th allocation of the interpreter fails, and arrays that do not fit.

Everything in forks, because libraries in C may crash, and because CPython never leaves a block of a long
function where every allocation fails from then on. Both are counted, with the place: ours must not be among
them. Files must be the old ones or the new ones, with no draft beside them; a fit must end with the same
labels or with a sentence, and be taken up from its checkpoint to the same answer.
"""

from __future__ import annotations

import resource
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_blobs

from _interrupts import X
from dominantsets import DominantSets

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from no_memory import Outcome, forked, outcome, total
from test_faults import MEMORY_CASES, OLD

SHORT, SECONDS = 0.1, 10.0  # of the processor, after which a file, and a fit, have hung
ROWS, ROOM, LIMITS = 3000, 2**28, 8  # a fit of so many, bytes that are enough for it, and levels below them
FITS: dict[str, dict[str, Any]] = {
    "peeling": {"n_clusters": 4, "affinity": "laplacian", "shift": 2.0},
    "scales": {"affinity": "sqeuclidean"},
}


def seen_in(found: Outcome) -> str:
    """What to count: how a run ended, and where, if not as it should."""
    if found.kind in ("passed", "done"):
        return "done"
    return found.kind if found.kind in ("MemoryError", "FileError") else f"{found.kind}: {found.place}"


def spread(most: int, count: int) -> list[int]:
    """Numbers below ``most``: all, or so many."""
    return [int(n) for n in np.linspace(0, most - 1, min(most, count))]


def files(count: int, folder: Path) -> Iterator[tuple[str, Counter[str]]]:
    """Every allocation while a file is written or read, or so many, alone and with all that follow."""
    for name, case in MEMORY_CASES.items():
        path, seen = folder / "out" / name, Counter[str]()
        path.parent.mkdir(exist_ok=True)
        work = case(path)
        work()
        new = path.read_bytes()
        path.write_bytes(old := new if name == "read" else OLD)
        seen["allocations"] = total(work, folder / "said")
        for n, forever in product(spread(seen["allocations"], count), (False, True)):
            found = outcome(work, n, forever, folder / "said", SHORT)
            seen["runs"] += 1
            seen[("from then on, " if forever else "") + seen_in(found)] += 1
            now = path.read_bytes()
            seen["half a file"] += now not in (old, new)
            drafts = [other for other in path.parent.iterdir() if other != path]
            seen["drafts"] += len(drafts)
            for draft in drafts:
                draft.unlink()
            if now != old:
                path.write_bytes(old)
        path.unlink()
        yield name, seen


class Fit(NamedTuple):
    """A fit with a checkpoint, and the labels of an undisturbed one."""

    model: DominantSets
    rows: Any
    path: Path
    labels: list[int]

    @classmethod
    def of(cls, options: dict[str, Any], rows: Any, path: Path) -> Fit:
        path.unlink(missing_ok=True)
        labels = DominantSets(**options).fit(rows).labels_.tolist()
        return cls(DominantSets(**options, checkpoint=str(path)), rows, path, labels)

    def run(self) -> None:
        self.model.fit(self.rows)

    def is_same(self) -> bool:
        return bool(self.model.labels_.tolist() == self.labels)

    def within(self, room: int) -> int:
        """The same with so many bytes more than there are now."""
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + room
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        self.run()
        return 0 if self.is_same() else 3

    def after(self, disturb: Callable[[], Outcome], seen: Counter[str]) -> None:
        """Disturb a run; whatever came of it, another takes up what it left."""
        self.path.unlink(missing_ok=True)
        found = disturb()
        seen["runs"] += 1
        seen["no sentence"] += found.kind == "MemoryError" and not found.said.split("\n")[1]
        seen["left a file"] += self.path.exists()
        for draft in self.path.parent.glob(f".{self.path.name}.*"):
            draft.unlink()
            seen["drafts"] += 1
        self.run()
        seen["same answer after it"] += self.is_same()
        seen[seen_in(found)] += 1


def fits(count: int, folder: Path) -> Iterator[tuple[str, Counter[str]]]:
    """So many allocations of a fit with a checkpoint, one in each run."""
    for name, options in FITS.items():
        case, seen = Fit.of(options, X[:200], folder / "run.npz"), Counter[str]()
        case.run()
        case.path.unlink()
        everything = total(case.run, folder / "said")
        for n in spread(everything, count):
            run = partial(outcome, case.run, n, False, folder / "said", SECONDS, case.is_same)
            case.after(run, seen)
        seen["allocations"] = everything
        yield f"fit, {name}", seen


def limits(folder: Path) -> Iterator[tuple[str, Counter[str]]]:
    """Limits of the address space, during a fit with a checkpoint whose arrays are large."""
    rows, _ = make_blobs(ROWS, centers=8, n_features=4, random_state=0)
    case, seen = Fit.of(FITS["peeling"], rows, folder / "run.npz"), Counter[str]()
    for room in spread(ROOM, LIMITS):
        case.after(partial(forked, partial(case.within, room), folder / "said", SECONDS), seen)
    yield "limit, peeling", seen


def allocations(count: int, folder: Path) -> dict[str, Any]:
    rows = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (files(count, folder), fits(count // 10, folder), limits(folder)):
            for name, seen in part:
                rows[name] = dict(sorted(seen.items()))
                print(name, rows[name], flush=True)
    return rows
