"""How many small faults of the code the tests find: mutants, each run against the tests that reach it.

Run ``python benchmarks/mutants.py [clusters/evidence.py ...] [--count 25] [--survivors] [--seconds 1e9]``; it
prints all and writes results/mutants.json, file by file, so that a stopped run goes on where it was: files
that have as many mutants there are passed over, unless they have changed. ``--survivors`` runs only those
again that have survived, after tests have been written.

One mutant changes one place of one file: a comparison, an operator of arithmetic, a number, a condition,
``and`` to ``or``, what is returned. It is *killed* where a test fails, raises, or takes more than 2 seconds
and four times what it takes otherwise. Its tests are those of its file's list that pass without the change
and call the function that is changed, the file's own first, then the quickest, together ``BUDGET`` seconds
at most. Files of compiled/ run as plain Python (NUMBA_DISABLE_JIT). Why a survivor is one is said in
_survivors.py.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _forks import ROOT, SOURCE, Called, Forking, run
from _machine import machine, pin_threads
from _mutations import Fault, faults, faulty
from _survivors import REASONS

OUT = ROOT / "benchmarks" / "results" / "mutants.json"
BUDGET = 4.0  # seconds of tests for one mutant
LONGEST = 2.0  # seconds of one test
KEYS = ("line", "column", "function", "change")  # of a survivor
ROOMS = ("labels", "clusters", "fitting", "compiled")
MORE = {  # besides the file's own, and those of finding clusters and labelling where it is not compiled
    "fitting/nested.py": ["test_hierarchy.py"],
    "fitting/nested_graph.py": ["test_hierarchy.py"],
    "fitting/nested_path.py": ["test_hierarchy.py"],
    "fitting/nested_points.py": ["test_hierarchy.py"],
    "fitting/stream.py": ["test_stream.py"],
    "labels/partition.py": ["test_predict.py"],
    "compiled/jit.py": ["test_edge_cases.py::test_no_folder_for_compiled_code_is_said_once"],
    "compiled/tree.py": ["solvers/test_tree.py"],
}
MOST_REACH = ["clusters/test_*.py", "fitting/test_*.py", "labels/test_*.py"]  # many files

PYTHON = ("compiled/interrupts.py", "compiled/jit.py", "compiled/threads.py")  # nothing in them is compiled


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def files() -> list[str]:
    """All of the rooms."""
    return [
        str(path.relative_to(SOURCE))
        for room in ROOMS
        for path in sorted((SOURCE / room).glob("*.py"))
        if path.name != "__init__.py"
    ]


def plain(file: str) -> bool:
    """Whether a file runs as plain Python."""
    return file.startswith("compiled/") and file not in PYTHON


def on_shelves(name: str) -> list[str]:
    """The paths of tests of a name, on all shelves."""
    pattern, _, test = name.partition("::")
    found = [path for path in sorted((ROOT / "tests").rglob(pattern)) if test in path.read_text("utf-8")]
    return [str(path.relative_to(ROOT)) + (f"::{test}" if test else "") for path in found]


def own(file: str) -> tuple[str, ...]:
    room, name = file.split("/")
    return tuple(on_shelves(f"{room}/test_{name}"))


def listed(file: str) -> list[str]:
    """The paths of a file's tests, its own first."""
    names = [*MORE.get(file, ()), *([] if file.startswith("compiled/") else MOST_REACH)]
    return list(dict.fromkeys([*own(file), *(path for name in names for path in on_shelves(name))]))


def chosen(file: str, function: str, tests: dict[str, Called]) -> list[str]:
    """The tests that call a function, in their order."""
    paths = listed(file)
    mine = [test for test in tests if any(test.startswith(path) for path in paths)]
    calling = [test for test in mine if _calls(file, function, tests[test].functions)]
    calling = calling or [test for test in mine if test.startswith(own(file))]  # what only the import calls
    calling.sort(key=lambda test: (not test.startswith(own(file)), tests[test].seconds))
    out, total = [], 0.0
    for test in calling:
        total += tests[test].seconds
        if out and total > BUDGET:
            break
        out.append(test)
    return out


def _calls(file: str, function: str, called: frozenset[str]) -> bool:
    """Whether the function is among those called; where it is none, any one of the file."""
    if function:
        return f"{file}:{function}" in called
    return any(other.startswith(f"{file}:") for other in called)


def todo(file: str, args: argparse.Namespace, row: dict[str, Any]) -> list[Fault]:
    """The mutants of a file that its row does not have, or those that have survived."""
    every = faults((SOURCE / file).read_text(encoding="utf-8"), f"{args.seed} {file}")
    if not args.survivors:
        return every[row["mutants"] : args.count]
    alive = {_row_key(one) for one in row["survivors"]}
    return [fault for fault in every[: row["mutants"]] if _key(fault) in alive]


def up_to_date(file: str, row: dict[str, Any]) -> dict[str, Any]:
    """The row of a file, a new one where the file has changed."""
    path = SOURCE / file
    if row.get("digest") == digest(path):
        return row
    places = len(faults(path.read_text(encoding="utf-8"), ""))
    return {"digest": digest(path), "places": places, "mutants": 0, "survivors": []}


def run_all(forking: Forking, some: list[str], args: argparse.Namespace, until: float) -> None:
    """Mutants of some files, one after another; the results are written after each file."""
    print(f"{len(forking.tests)} tests pass quickly enough, {len(forking.left_out)} are left out", flush=True)
    for file in some:
        row = up_to_date(file, read().get(file, {}))
        source = (SOURCE / file).read_text(encoding="utf-8")
        if any(forking.killed(file, [ast.parse(source)], [chosen(file, "", forking.tests)])):
            raise SystemExit(f"{file}: its tests fail without a change.")
        left = [fault for fault in todo(file, args, row) if time.monotonic() < until]
        tests = [chosen(file, fault.function, forking.tests) for fault in left]
        trees = (faulty(source, fault) for fault in left)
        dead = forking.killed(file, trees, tests, args.jobs)
        for fault, some, is_dead in zip(left, tests, dead, strict=True):
            row["mutants"] += not args.survivors
            row["survivors"] = [one for one in row["survivors"] if _row_key(one) != _key(fault)]
            if not is_dead:
                row["survivors"].append({**dict(zip(KEYS, _key(fault), strict=True)), "tests": len(some)})
            print("killed  " if is_dead else "survived", file, *_key(fault), flush=True)
        write({**read(), file: row}, args.seed)


def read() -> dict[str, Any]:
    """The rows of the result file."""
    return json.loads(OUT.read_text(encoding="utf-8"))["files"] if OUT.exists() else {}


def _key(fault: Fault) -> tuple[Any, ...]:
    return tuple(getattr(fault, key) for key in KEYS)


def _row_key(one: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(one[key] for key in KEYS)


def _told(file: str, one: dict[str, Any]) -> dict[str, Any]:
    """A survivor with the reason that is written down for it."""
    reasons = REASONS.get(file, {})
    equivalent, reason = reasons.get(f"{one['function']}: {one['change']}", (False, ""))
    missing = "a test is missing" if one["tests"] else "no quick test of the list calls the function"
    return {**one, "equivalent": equivalent, "reason": reason or missing}


def _sums(rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    tried, dead = (sum(row[key] for row in rows.values()) for key in ("mutants", "killed"))
    same = sum(one["equivalent"] for row in rows.values() for one in row["survivors"])
    return {
        "mutants": tried,
        "killed": dead,
        "equivalent": same,
        "share": round(dead / max(tried, 1), 3),
        "share_without_equivalents": round(dead / max(tried - same, 1), 3),
    }


def write(rows: dict[str, dict[str, Any]], seed: int) -> None:
    """The result file, with sums."""
    for file, row in rows.items():
        row["survivors"] = [_told(file, one) for one in row["survivors"]]
        row["killed"] = row["mutants"] - len(row["survivors"])
    everything = {file: rows[file] for file in files() if file in rows}
    rooms = {room: {f: row for f, row in everything.items() if f.startswith(room)} for room in ROOMS}
    content = {
        "machine": machine(),
        "seed": seed,
        **_sums(everything),
        "rooms": {room: _sums(some) for room, some in rooms.items()},
        "files": everything,
    }
    OUT.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print("{killed} of {mutants} killed, {equivalent} of the others equivalent".format(**content), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "files", nargs="*", help="of the package, e.g. labels/mixture.py; all of four rooms if none"
    )
    parser.add_argument("--count", type=int, default=25, help="mutants of each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--survivors", action="store_true", help="only those again that have survived")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--seconds", type=float, default=1e9, help="no further file after so long")
    args = parser.parse_args()
    pin_threads(1)
    until, rows = time.monotonic() + args.seconds, read()
    for python in (True, False):
        some = [file for file in args.files or files() if plain(file) == python]
        some = [file for file in some if todo(file, args, up_to_date(file, rows.get(file, {})))]
        if some:
            paths = list(dict.fromkeys(path for file in some for path in listed(file)))
            run(paths, python, LONGEST, lambda forking, some=some: run_all(forking, some, args, until))
    write(read(), args.seed)


if __name__ == "__main__":
    main()
