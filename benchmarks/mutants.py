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
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _forks import ROOT, SOURCE, killed, load, reach
from _machine import machine, pin_threads
from _mutations import Fault, faults, faulty
from _survivors import REASONS

OUT = ROOT / "benchmarks" / "results" / "mutants.json"
NOTES = ROOT / "build" / "mutants"  # which test reaches what: made again where a test file has changed
BUDGET = 8.0  # seconds of tests for one mutant
LONGEST = 4.0  # seconds of one test
KEYS = ("line", "column", "function", "change")  # of a survivor
ROOMS = ("labels", "clusters", "compiled")
ALL = [  # tests of finding clusters and labelling: most of them reach many files
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "clusters").glob("test_*.py")),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "labels").glob("test_*.py")),
    "tests/test_hierarchy.py",
    "tests/test_predict.py",
    "tests/test_stream.py",
]
MORE = {  # besides tests/compiled/test_<name>.py, which has the plain forms
    "compiled/boxes.py": ["tests/solvers/test_global_optimum.py"],
    "compiled/cuts.py": ["tests/clusters/test_tree_cut.py"],
    "compiled/embedding.py": ["tests/similarity/test_embedding.py"],
    "compiled/graph.py": ["tests/clusters/test_graph_tree.py"],
    "compiled/hypergraph.py": ["tests/solvers/test_hypergraph.py"],
    "compiled/jit.py": ["tests/test_edge_cases.py::test_no_folder_for_compiled_code_is_said_once"],
    "compiled/loop.py": ["tests/solvers/test_frank_wolfe.py", "tests/solvers/test_working_set.py"],
    "compiled/modes.py": ["tests/clusters/test_selection.py"],
    "compiled/nearest.py": ["tests/similarity/test_embedding.py"],
    "compiled/passes.py": ["tests/solvers/test_dual.py"],
    "compiled/spanning.py": ["tests/similarity/test_single_linkage.py"],
    "compiled/tree.py": ["tests/solvers/test_tree.py", "tests/similarity/test_single_linkage.py"],
}

PYTHON = ("compiled/interrupts.py", "compiled/jit.py", "compiled/threads.py")  # nothing in them is compiled


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def files() -> list[str]:
    """All of the three rooms."""
    return [
        str(path.relative_to(SOURCE))
        for room in ROOMS
        for path in sorted((SOURCE / room).glob("*.py"))
        if path.name != "__init__.py"
    ]


def plain(file: str) -> bool:
    """Whether a file runs as plain Python."""
    return file.startswith("compiled/") and file not in PYTHON


def own(file: str) -> str:
    room, name = file.split("/")
    return f"tests/{room}/test_{name}"


def candidates(file: str) -> dict[str, dict[str, Any]]:
    """The tests of a file's list: seconds and functions of each, the file's own first."""
    room = file.startswith("compiled/")
    paths = [own(file), *MORE.get(file, ())] if room else [own(file), *ALL]
    found: dict[str, dict[str, Any]] = {}
    for path in dict.fromkeys(paths):
        if (ROOT / path.split("::")[0]).exists():
            found.update(_noted(path, plain(file)))
    return found


def _noted(path: str, python: bool) -> dict[str, dict[str, Any]]:
    name = path.replace("/", ".").replace("::", ".") + ".json"
    kept = NOTES / ("plain" if python else "compiled") / name
    stamp = digest(ROOT / path.split("::")[0])
    content = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    if content.get("digest") != stamp:
        if not python:
            reach([path], python, 60.0)  # what is compiled on the way is none of a test's seconds
        content = {"digest": stamp, **reach([path], python, LONGEST)}
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(content), encoding="utf-8")
        print(f"{path}: {len(content['tests'])} tests, {len(content['left out'])} left out", flush=True)
    return content["tests"]  # type: ignore[no-any-return]


def chosen(file: str, function: str, tests: dict[str, dict[str, Any]]) -> dict[str, float]:
    """The tests that call a function, in their order, and the seconds of each."""
    name = f"{file}:{function}" if function else f"{file}:"
    calling = [test for test, row in tests.items() if any(_is(name, other) for other in row["functions"])]
    first = own(file)
    calling = calling or [test for test in tests if test.startswith(first)]  # what only the import calls
    calling.sort(key=lambda test: (not test.startswith(first), tests[test]["seconds"]))
    out, total = {}, 0.0
    for test in calling:
        total += tests[test]["seconds"]
        if out and total > BUDGET:
            break
        out[test] = tests[test]["seconds"]
    return out


def _is(name: str, other: str) -> bool:
    return other.startswith(name) if name.endswith(":") else other == name


def run(file: str, args: argparse.Namespace, row: dict[str, Any], until: float) -> dict[str, Any]:
    """Try those mutants of a file that its row does not have, or those again that have survived."""
    path = SOURCE / file
    source = path.read_text(encoding="utf-8")
    every = faults(source, f"{args.seed} {file}")
    if row.get("digest") != digest(path):
        row = {"digest": digest(path), "places": len(every), "mutants": 0, "survivors": []}
    alive = {_row_key(one) for one in row["survivors"]}
    if args.survivors:
        todo = [fault for fault in every[: row["mutants"]] if _key(fault) in alive]
    else:
        todo = every[row["mutants"] : args.count]
    tests = candidates(file) if todo else {}
    for fault in todo:
        if time.monotonic() > until:
            break
        some = chosen(file, fault.function, tests)
        dead = bool(some) and killed(file, faulty(source, fault), some, plain(file))
        row["mutants"] += not args.survivors
        row["survivors"] = [one for one in row["survivors"] if _row_key(one) != _key(fault)]
        if not dead:
            row["survivors"].append({**dict(zip(KEYS, _key(fault), strict=True)), "tests": len(some)})
        print("killed  " if dead else "survived", file, *_key(fault), flush=True)
    return row


def _key(fault: Fault) -> tuple[Any, ...]:
    return tuple(getattr(fault, key) for key in KEYS)


def _row_key(one: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(one[key] for key in KEYS)


def _told(file: str, one: dict[str, Any]) -> dict[str, Any]:
    """A survivor with the reason that is written down for it."""
    reasons = REASONS.get(file, {})
    equivalent, reason = reasons.get(f"{one['function']}: {one['change']}", (False, ""))
    if not reason and not one["tests"]:
        reason = "no quick test of the list calls the function"
    return {**one, "equivalent": equivalent, "reason": reason}


def write(rows: dict[str, dict[str, Any]], seed: int) -> None:
    """The result file, with sums."""
    for file, row in rows.items():
        row["survivors"] = [_told(file, one) for one in row["survivors"]]
        row["killed"] = row["mutants"] - len(row["survivors"])
    tried, dead = (sum(row[key] for row in rows.values()) for key in ("mutants", "killed"))
    same = sum(one["equivalent"] for row in rows.values() for one in row["survivors"])
    content = {
        "machine": machine(),
        "seed": seed,
        "mutants": tried,
        "killed": dead,
        "equivalent": same,
        "share": round(dead / max(tried, 1), 3),
        "share_without_equivalents": round(dead / max(tried - same, 1), 3),
        "files": {file: rows[file] for file in files() if file in rows},
    }
    OUT.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{dead} of {tried} killed, {same} of the others equivalent", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "files", nargs="*", help="of the package, e.g. labels/mixture.py; all of three rooms if none"
    )
    parser.add_argument("--count", type=int, default=25, help="mutants of each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--survivors", action="store_true", help="only those again that have survived")
    parser.add_argument("--seconds", type=float, default=1e9, help="no new mutant after so long")
    args = parser.parse_args()
    pin_threads(1)
    load()
    until = time.monotonic() + args.seconds
    rows = json.loads(OUT.read_text(encoding="utf-8"))["files"] if OUT.exists() else {}
    for file in args.files or files():
        rows[file] = run(file, args, rows.get(file, {}), until)
        write(rows, args.seed)


if __name__ == "__main__":
    main()
