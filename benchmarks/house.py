"""How the package is built, before and after: walks of fits, lines, constants, imports, tests.

Run ``python benchmarks/house.py --old ../old [--list]``; it prints a table and writes results/house.json.

Files on the walk
    Files with a function that is called in a fit of 42 points (``_walk.py``): ``DominantSets()``, with
    ``affinity="sqeuclidean"``, of the CSR graph of their neighbors, and with ``affinity="path"``.
Fits thrown away
    Fits of all rows inside ``DominantSets().fit`` of 2,500 points, but for the one that is the answer.
Lines
    Without studies: without ``studies``, ``app`` and ``plotting``, and without files of other rooms that have
    the name of a file of the new ``studies``.
Constants
    Names in capitals that a module assigns at its top level. Those of ``clusters``, ``labels`` and
    ``fitting`` decide on groups and labels; a default fit reads those that a function on its walk names.
Parameters, methods
    Of ``DominantSets.__init__`` without self; functions in the body of ``Similarity``.
Import cycles
    Sets of modules of which each imports the others, directly or not: imports inside functions count, and
    those for types.
Public tests
    Test functions of tests/facts, all of them in files that take public names only from the package (the rule
    of tests/test_house.py); before there was that folder, in all such files.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine
from _pair import HERE, NEW, checkouts, commit, environment, package, parser, require
from _walk import DECIDING, FITS, module_names

sys.path.insert(0, str(HERE.parent / "tests"))
from public_names import names_not_public

APART = ("studies/", "app/", "plotting/")
ROWS = 2_500  # more than the sample on which affinities are compared


def sources(root: Path) -> dict[str, ast.Module]:
    """The files of the package, parsed."""
    paths = sorted(package(root).rglob("*.py"))
    return {
        path.relative_to(package(root)).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in paths
    }


def thrown(root: Path) -> int:
    """The work of a child process: fits of all rows that are not the answer."""
    import numpy as np

    require(root)
    from dominantsets import DominantSets

    fits = 0

    def counted(find: Callable[..., Any]) -> Callable[..., Any]:
        def one(first: Any, *rest: Any) -> Any:
            nonlocal fits
            fits += getattr(first, "similarity", first).n == ROWS
            return find(first, *rest)

        return one

    try:
        from dominantsets.fitting.plan import Plan
    except ModuleNotFoundError:  # before there were plans
        found = import_module("dominantsets.clusters.find").find
        for module in [m for name, m in sys.modules.items() if name.startswith("dominantsets.")]:
            if vars(module).get("find") is found:
                setattr(module, "find", counted(found))  # noqa: B010 (of a module that is only in the old)
    else:
        Plan.groups = counted(Plan.groups)  # type: ignore[method-assign]
    X = np.random.default_rng(0).normal(size=(ROWS, 3))
    X[:, 0] += 9.0 * (np.arange(ROWS) % 3)
    DominantSets().fit(X)
    return fits - 1


def child(root: Path, *words: str) -> Any:
    """What a script prints that imports the package of a checkout."""
    done = subprocess.run(
        [sys.executable, *words], env=environment(root, 1), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def studies(root: Path) -> set[str]:
    return {path.name for path in (package(root) / "studies").glob("*.py")} - {"__init__.py"}


def class_body(trees: dict[str, ast.Module], name: str) -> list[ast.FunctionDef]:
    """The functions in the body of a class."""
    (found,) = [
        node
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == name
    ]
    return [node for node in found.body if isinstance(node, ast.FunctionDef)]


def parameters(trees: dict[str, ast.Module]) -> list[str]:
    (init,) = [node for node in class_body(trees, "DominantSets") if node.name == "__init__"]
    return [arg.arg for arg in (*init.args.args, *init.args.kwonlyargs) if arg.arg != "self"]


def imported(tree: ast.Module, modules: set[str]) -> Iterator[str]:
    """Modules of the package that a file imports anywhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else node.module


def cycles(trees: dict[str, ast.Module]) -> list[list[str]]:
    """Sets of modules that import each other."""
    import networkx as nx

    def dotted(file: str) -> str:
        return "dominantsets." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    names = {dotted(file): tree for file, tree in trees.items() if file != "__init__.py"}
    graph = nx.DiGraph((name, other) for name, tree in names.items() for other in imported(tree, set(names)))
    return sorted(sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1)


def public_tests(root: Path) -> int:
    """Test functions of tests/facts, or, before there was that, of files that take public names only."""
    count, facts = 0, root / "tests" / "facts"
    for path in (facts if facts.is_dir() else root / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if not names_not_public(tree):
            functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
            count += sum(function.name.startswith("test_") for function in functions)
    return count


def count(root: Path, apart: set[str]) -> dict[str, Any]:
    """All measures of a checkout."""
    trees = sources(root)
    lines = {file: (package(root) / file).read_text(encoding="utf-8").count("\n") for file in trees}
    core = [f for f in trees if not f.startswith(APART) and f.rpartition("/")[2] not in apart]
    constants = [f"{file}: {name}" for file in trees for name in sorted(module_names(package(root), file)[0])]
    walks = {kind: child(root, str(HERE / "_walk.py"), kind) for kind in FITS}
    return {
        "commit": commit(root),
        "walks": {kind: list(walk["files"]) for kind, walk in walks.items()},
        "functions_on_walks": {kind: walk["functions"] for kind, walk in walks.items()},
        "fits_thrown_away": child(root, __file__, "--thrown", "--old", str(root)),
        "lines": sum(lines.values()),
        "lines_without_studies": sum(lines[file] for file in core),
        "constants": len(constants),
        "constants_that_decide": sum(name.startswith(DECIDING) for name in constants),
        "constants_of_a_default_fit": walks["default"]["constants"],
        "parameters": parameters(trees),
        "methods_of_similarity": [node.name for node in class_body(trees, "Similarity")],
        "files_at_top_level": [file for file in trees if "/" not in file],
        "import_cycles": cycles(trees),
        "public_tests": public_tests(root),
    }


def table(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Rows of the table: measure, before, after."""

    def row(name: str, tell: Any) -> tuple[str, str, str]:
        return name, tell(result["old"]), tell(result["new"])

    return [
        row(
            f"files on the walk of a fit: {' / '.join(FITS)}",
            lambda c: " / ".join(str(len(files)) for files in c["walks"].values()),
        ),
        row("fits of all rows that a default fit throws away", lambda c: str(c["fits_thrown_away"])),
        row(
            "lines; without studies, app and plotting",
            lambda c: f"{c['lines']:,}; {c['lines_without_studies']:,}",
        ),
        row(
            "module constants; those of clusters, labels and fitting; of these read by a default fit",
            lambda c: (
                f"{c['constants']}; {c['constants_that_decide']}; {len(c['constants_of_a_default_fit'])}"
            ),
        ),
        row(
            "parameters of `DominantSets`; methods of `Similarity`",
            lambda c: f"{len(c['parameters'])}; {len(c['methods_of_similarity'])}",
        ),
        row("files at top level", lambda c: str(len(c["files_at_top_level"]))),
        row("import cycles, late imports counted", lambda c: str(len(c["import_cycles"]))),
        row("tests on the public shelf", lambda c: str(c["public_tests"])),
    ]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--list", action="store_true", help="print all that is counted, too")
    options.add_argument("--thrown", action="store_true", help="used by the script itself")
    args = options.parse_args()
    if args.thrown:
        print(json.dumps(thrown(args.old)))
        return
    roots = checkouts(args)
    result: dict[str, Any] = {"machine": machine()}
    result |= {name: count(root, studies(NEW)) for name, root in roots.items()}
    if args.list:
        print(json.dumps(result, indent=1))
    before, after = (result[name]["commit"] for name in roots)
    print(f"\n| measure | before ({before}) | after ({after}) |\n|---|---|---|")
    for row in table(result):
        print("| " + " | ".join(row) + " |")
    path = args.out or HERE / "results" / "house.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
