"""Certificates of many fits: how many the checkers accept, and how many false ones they refuse.

Run ``nice python benchmarks/checked.py --n 10000``; it prints a table and writes results/checked.json. A run
that was stopped goes on where it was; ``--afresh`` counts from nothing.

Each case is a fit of checker/cases.py (every affinity, labels and noise of every kind, shifts, matrices,
graphs and distances, in turn) and two false files made of its certificate: one with a byte changed or its end
cut, and one with a correct digest and a lie. The program in C, if there is a compiler, reads all three:
verdicts are compared line by line.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "checker"))
sys.path.insert(0, str(Path(__file__).parent))
from _machine import pin_threads

pin_threads(1)

import cases  # noqa: E402 (after the threads are pinned)
import dscheck  # noqa: E402
import numpy as np  # noqa: E402

from _resumed import go_on  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "checked.json"
SAVED_EVERY = 100
KEPT = 20  # cases that are not as they should be, of which the number is kept
KINDS = len(list(cases.fits(0)))
FOLDER = Path(tempfile.mkdtemp())
Lie = Callable[[dict[str, Any], np.random.Generator], bool | None]


def some_cluster(content: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    clusters = content["clusters"]
    return clusters[int(rng.integers(len(clusters)))]


def drop(content: dict[str, Any], rng: np.random.Generator) -> bool | None:
    c = some_cluster(content, rng)
    if len(c["members"]) < 2:
        return False
    place = int(rng.integers(len(c["members"])))
    del c["members"][place], c["weights"][place]
    c["weights"] = [w / sum(c["weights"]) for w in c["weights"]]
    return None


def add(content: dict[str, Any], rng: np.random.Generator) -> bool | None:
    c = some_cluster(content, rng)
    others = sorted(set(range(content["data"]["objects"])) - set(c["members"]))
    if not others:
        return False
    share = 0.5 * min(c["weights"])
    pairs = sorted(
        [*zip(c["members"], c["weights"], strict=True), (others[int(rng.integers(len(others)))], share)]
    )
    c["members"], c["weights"] = [i for i, _ in pairs], [w / (1.0 + share) for _, w in pairs]
    return None


def weigh(content: dict[str, Any], rng: np.random.Generator) -> bool | None:
    c = some_cluster(content, rng)
    if len(c["members"]) < 3:
        return False
    i, j = rng.choice(len(c["members"]), 2, replace=False)
    moved = 0.2 * c["weights"][i]
    c["weights"][i], c["weights"][j] = c["weights"][i] - moved, c["weights"][j] + moved
    return None


def off(name: str) -> Lie:
    """A claimed number that is off by a thousandth of the value, or a tenth of a thousandth of the shift."""

    def change(content: dict[str, Any], rng: np.random.Generator) -> bool | None:
        c = some_cluster(content, rng)
        if c[name] is None or (name == "shift" and len(c["members"]) < 2):
            return False
        c[name] += (-1) ** int(rng.integers(2)) * 1e-3 * max(abs(c["value"]), abs(c["shift"]), 1e-9)
        return None

    return change


def reorder(content: dict[str, Any], rng: np.random.Generator) -> bool | None:
    c = some_cluster(content, rng)
    if len(c["members"]) < 2:
        return False
    c["members"].reverse()
    return None


def relabel(content: dict[str, Any], rng: np.random.Generator) -> bool | None:
    said, count = content["labels"], len(content["clusters"])
    clusters = enumerate(content["clusters"])
    core = {i for k, c in clusters for i in c["members"] if said["labels"][i] == k}
    checked = [i for i in range(len(said["labels"])) if said["rule"] != "other" or i in core]
    if count < 2 or not checked:
        return False
    i = checked[int(rng.integers(len(checked)))]
    if said["labels"][i] < 0 and said["rule"] == "scores" and not said["scores"]["only_members"]:
        return False  # noise that has a score close to a cluster's may be either
    said["labels"][i] = (said["labels"][i] + 1 + int(rng.integers(count - 1))) % count
    return None


def contradict(content: dict[str, Any], rng: np.random.Generator) -> bool | None:
    c = some_cluster(content, rng)
    if c["strict"] is not True:
        return False
    c["strict"] = False
    return None


def reform(content: dict[str, Any], rng: np.random.Generator) -> bool | None:
    numbers = [name for name in ("offset", "gamma") if content["similarity"].get(name)]
    if not numbers or all(len(c["members"]) < 2 for c in content["clusters"]):
        return False
    content["similarity"][numbers[0]] *= 1.01
    return None


def refer(content: dict[str, Any], rng: np.random.Generator) -> None:
    digest = content["data"]["sha256"]
    content["data"]["sha256"] = digest[1:] + ("0" if digest[0] != "0" else "1")


def isolate(content: dict[str, Any], rng: np.random.Generator) -> bool | None:
    c = some_cluster(content, rng)
    if c["margin"] is None:
        return False
    c["margin"] = None
    return None


def expel(content: dict[str, Any], rng: np.random.Generator) -> bool | None:
    if not content["labels"]["belong"]:
        return False
    content["labels"]["labels"][some_cluster(content, rng)["members"][0]] = -1
    return None


LIES: dict[str, Lie] = {
    "a member dropped": drop,
    "a member added": add,
    "a weight changed": weigh,
    "another value": off("value"),
    "another gap": off("gap"),
    "another margin": off("margin"),
    "another shift": off("shift"),
    "members out of order": reorder,
    "a label moved": relabel,
    "not strict": contradict,
    "another formula": reform,
    "other data": refer,
    "no object outside": isolate,
    "a member without its label": expel,
}


class Tally:
    """Counts of files, verdicts and differences."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.counts = Counter(known.get("counts", {}))
        self.unchecked = Counter(known.get("not_checked", {}))
        self.lies = {name: Counter(known.get("lies", {}).get(name, {})) for name in LIES}
        self.kept = list(known.get("kept", []))

    def made(self) -> int:
        return self.counts["fits"]

    def failed(self, number: int, error: Exception) -> None:
        self.counts["fits"] += 1
        self.counts["errors"] += 1
        self.keep(number, f"{type(error).__name__}: {error}"[:200])

    def keep(self, number: int, what: str) -> None:
        if len(self.kept) < KEPT:
            self.kept.append({"case": number, "what": what})

    def content(self) -> dict[str, Any]:
        return {
            "counts": dict(self.counts),
            "not_checked": dict(self.unchecked),
            "lies": {name: dict(counts) for name, counts in self.lies.items()},
            "kept": self.kept,
        }

    def add(self, content: dict[str, Any]) -> None:
        other = Tally(content)
        self.counts += other.counts
        self.unchecked += other.unchecked
        for name, counts in other.lies.items():
            self.lies[name] += counts
        self.kept = [*self.kept, *other.kept][:KEPT]

    def show(self) -> None:
        print(json.dumps(self.content(), indent=1))


def compiled() -> str | None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source = Path(dscheck.__file__).with_suffix(".c")
    subprocess.run(
        [compiler, "-O2", "-std=c99", "-o", str(FOLDER / "dscheck"), str(source), "-lm"], check=True
    )
    return str(FOLDER / "dscheck")


PROGRAM = compiled()


def verdict(tally: Tally, number: int, *paths: Path) -> tuple[int, list[str]]:
    """The exit code and the lines of the checker in Python, after a comparison with those of the one in C."""
    with redirect_stdout(StringIO()) as out:
        code = dscheck.main([str(path) for path in paths])
    lines = out.getvalue().splitlines()
    if PROGRAM is not None:
        run = subprocess.run(
            [PROGRAM, *map(str, paths)], capture_output=True, text=True, check=False, timeout=120
        )
        tally.counts["files read by both"] += 1
        if run.returncode != code or (code != 2 and run.stdout.splitlines() != lines):
            tally.counts["verdicts that differ"] += 1
            tally.keep(number, f"C says {run.returncode}, Python {code}")
    return code, lines


def one_fit(tally: Tally, number: int) -> None:
    rng = np.random.default_rng(number)
    name, X, params = list(cases.fits(number // KINDS))[number % KINDS]
    certificate, data = cases.written(X, params, FOLDER)
    code, lines = verdict(tally, number, certificate, data)
    tally.counts["fits"] += 1
    tally.counts["accepted"] += code in (0, 3)
    tally.counts["wholly checked"] += code == 0
    tally.unchecked.update(
        line.split(" ")[-3].rstrip(":") for line in lines[:-1] if line.endswith("not checked")
    )
    if code not in (0, 3):
        tally.keep(number, f"{name}: {[line for line in lines if 'FAILS' in line or 'refused' in line][:3]}")
    raw, false = certificate.read_bytes(), FOLDER / "false.cert"
    changed = bytearray(raw)
    changed[int(rng.integers(len(raw)))] ^= int(rng.integers(1, 256))
    false.write_bytes(bytes(changed if rng.random() < 0.8 else raw[: int(rng.integers(len(raw)))]))
    code, _ = verdict(tally, number, false, data)
    tally.counts["damaged files"] += 1
    tally.counts["damaged files refused"] += code == 2
    for place in rng.permutation(len(LIES)):
        lie, change = list(LIES.items())[place]
        content = cases.content_of(certificate)
        if not content["clusters"] or change(content, rng) is False:
            continue
        code, _ = verdict(tally, number, cases.signed(content, false), data)
        tally.lies[lie]["made"] += 1
        tally.lies[lie]["refused"] += code in (1, 2)
        if code not in (1, 2):
            tally.keep(number, f"{name}: {lie}: {code}")
        break


if __name__ == "__main__":
    go_on(__doc__, RESULTS, Tally, one_fit, n=10_000, every=SAVED_EVERY)
