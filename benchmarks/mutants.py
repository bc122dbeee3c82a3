"""How many small faults of the code the tests find: mutants, each run against the tests of its file.

Run ``python benchmarks/mutants.py [--count 60] [--seed 0] [--seconds 1e9]``; it prints all and writes
results/mutants.json. One mutant changes one place of one file: a comparison, an operator of arithmetic, a
number, a condition, ``and`` to ``or``. Each is a fork of this process, in which the libraries are loaded, so
that it costs the tests alone; it is *killed* where a test fails, raises, or takes more than ``LIMIT`` seconds
of the processor. Files of compiled/ run as plain Python (NUMBA_DISABLE_JIT). A file whose tests fail without
any change is left out, and told.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import json
import os
import random
import resource
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dominantsets"
LIMIT = 240
TESTS = {  # a file, and the tests that are about it
    "labels/correlation.py": ["tests/labels/test_correlation.py"],
    "labels/partition.py": ["tests/labels/test_partition.py"],
    "labels/refinement.py": ["tests/labels/test_refinement.py"],
    "clusters/minimum_size.py": ["tests/clusters/test_minimum_size.py"],
    "clusters/selection.py": ["tests/clusters/test_selection.py"],
    "clusters/evidence.py": ["tests/clusters/test_evidence.py"],
    "clusters/checkpoint.py": ["tests/clusters/test_checkpoint.py"],
    "clusters/significance.py": ["tests/clusters/test_significance.py"],
    "compiled/tree.py": ["tests/solvers/test_tree.py"],
}
PAIRS = ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot))
COMPARED = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}


def places(tree: ast.AST) -> list[int]:
    """Numbers, in the order of ast.walk, of the nodes that can be changed; annotations are none."""
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if part is not None
        for inner in ast.walk(part)
    }
    return [
        k for k, node in enumerate(ast.walk(tree)) if id(node) not in skipped and changed(copy.copy(node))
    ]


def changed(node: Any) -> bool:
    """Change a node in place; False where there is nothing to change."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        node.ops = [COMPARED[type(node.ops[0])](), *node.ops[1:]]
    elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED:
        node.op = COMPUTED[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        node.value = node.value + 1
    elif isinstance(node, ast.IfExp | ast.If):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    else:
        return False
    return True


def mutants(seed: int, count: int) -> list[tuple[str, int]]:
    """As many places, drawn from all files alike."""
    rng = random.Random(seed)
    per_file = {}
    for file in TESTS:
        found = places(ast.parse((SOURCE / file).read_text(encoding="utf-8")))
        rng.shuffle(found)
        per_file[file] = found
    rounds = [
        (file, k) for turn in range(count) for file, found in per_file.items() for k in found[turn : turn + 1]
    ]
    return rounds[:count]


def survives(file: str, place: int | None) -> tuple[bool, str]:
    """Whether the tests pass with the change (None: without); and the changed line."""
    source = (SOURCE / file).read_text(encoding="utf-8")
    tree = ast.parse(source)
    after = "as it is"
    if place is not None:
        node: Any = next(node for k, node in enumerate(ast.walk(tree)) if k == place)
        before = ast.unparse(node).splitlines()[0]
        changed(node)
        ast.fix_missing_locations(tree)
        after = f"line {node.lineno}: {before[:60]} -> {ast.unparse(node).splitlines()[0][:60]}"
    child = os.fork()
    if child == 0:
        import pytest

        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        if file.startswith("compiled/"):
            os.environ["NUMBA_DISABLE_JIT"] = "1"
        name = "dominantsets." + file.removesuffix(".py").replace("/", ".")
        sys.meta_path.insert(0, Mutated(name, SOURCE / file, tree))
        os.chdir(ROOT)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "-W", "ignore"]
        os._exit(int(pytest.main([*options, *TESTS[file]])))
    _, status = os.waitpid(child, 0)
    return status == 0, after


class Mutated:
    """Imports one module from a changed tree."""

    def __init__(self, name: str, path: Path, tree: ast.AST) -> None:
        self._name, self._path, self._tree = name, path, tree

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, origin=str(self._path)) if name == self._name else None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        module.__file__ = str(self._path)
        exec(compile(self._tree, str(self._path), "exec"), vars(module))  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="no new mutant after so long")
    args = parser.parse_args()
    pin_threads(1)
    for library in ("hypothesis", "networkx", "pandas", "pytest", "scipy.sparse", "sklearn.cluster"):
        importlib.import_module(library)

    began = time.monotonic()
    rows: dict[str, dict[str, Any]] = {file: {"mutants": 0, "killed": 0, "survivors": []} for file in TESTS}
    sound: dict[str, bool] = {}
    for file, place in mutants(args.seed, args.count):
        if time.monotonic() - began > args.seconds:
            break
        if not sound.setdefault(file, sound[file] if file in sound else survives(file, None)[0]):
            rows[file]["left out"] = "its tests fail without a change"
            continue
        alive, what = survives(file, place)
        rows[file]["mutants"] += 1
        rows[file]["killed"] += not alive
        if alive:
            rows[file]["survivors"].append(what)
        print("survived" if alive else "killed  ", file, what, flush=True)
        tried = sum(row["mutants"] for row in rows.values())
        killed = sum(row["killed"] for row in rows.values())
        content = {"machine": machine(), "seed": args.seed, "mutants": tried, "killed": killed, "files": rows}
        out = ROOT / "benchmarks" / "results" / "mutants.json"
        out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        print(f"{killed} of {tried} killed", flush=True)


if __name__ == "__main__":
    main()
