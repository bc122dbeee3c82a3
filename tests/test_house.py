"""Rules of the house that no linter knows: things are told what to do, not asked what they are."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from dominantsets.similarity import AFFINITIES, Similarity
from public_names import names_not_public

SOURCE = Path(__file__).parents[1] / "src" / "dominantsets"
DOORS = {"similarity/factory.py", "_input.py"}  # where data come in, and what they are has to be asked
TREES = {str(path.relative_to(SOURCE)): ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}


def subclasses(*roots: str) -> set[str]:
    """Names of all classes below these, themselves not among them."""
    bases = {
        node.name: {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases}
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found, last = set(roots), set()
    while found != last:
        found, last = found | {name for name, above in bases.items() if above & found}, found
    return found - set(roots)


def names(node: ast.AST) -> set[str]:
    last = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return last | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def questions(node: ast.AST, kinds: set[str]) -> bool:
    """Whether it asks which kind a similarity or a problem is."""
    if isinstance(node, ast.Call) and names(node.func) & {"isinstance", "issubclass"} and len(node.args) == 2:
        return bool(names(node.args[1]) & kinds)
    if isinstance(node, ast.MatchClass):
        return bool(names(node.cls) & kinds)
    if isinstance(node, ast.Compare) and ".kind" in ast.unparse(node):
        return any(isinstance(n, ast.Constant) and n.value in AFFINITIES for n in ast.walk(node))
    return isinstance(node, ast.Attribute) and node.attr == "on_device"


def test_nothing_is_asked_which_kind_it_is():
    kinds = subclasses("Similarity", "Problem")
    assert {"Dense", "Graph", "Path"} <= kinds
    asked = [
        f"{file}:{node.lineno}: {ast.unparse(node)}"
        for file in sorted(set(TREES) - DOORS)
        for node in ast.walk(TREES[file])
        if questions(node, kinds)
    ]
    assert not asked, "\n".join(asked)


def module_of(file: str) -> str:
    return ".".join(("dominantsets", *Path(file).with_suffix("").parts)).removesuffix(".__init__")


def imported(tree: ast.AST, modules: set[str]) -> set[str]:
    """What a file imports of the package: at its top, in functions, and for types only."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & modules) | ({str(node.module)} if names - modules else set())
    return found & modules


def test_imports_have_no_cycle_late_ones_and_those_for_types_counted():
    modules = {module_of(file) for file in TREES}
    left = {module_of(file): imported(tree, modules) for file, tree in TREES.items()}
    assert "dominantsets.rows.base" in left["dominantsets.rows.memory"]
    assert "dominantsets.rows.tensors" in left["dominantsets.rows.chunks"]  # in a function
    # take away what imports nothing that is left; what cannot be taken away is in a cycle, or leads to one
    while free := {module for module, needed in left.items() if not needed & set(left)}:
        left = {module: needed for module, needed in left.items() if module not in free}
    assert not left, {module: needed & set(left) for module, needed in left.items()}


def test_a_similarity_is_asked_for_at_most_15_things():
    asked = [name for name in vars(Similarity) if not name.startswith("_")]
    questions = [name for name in asked if callable(vars(Similarity)[name])]
    questions += [name for name in asked if isinstance(vars(Similarity)[name], property)]
    assert {"block", "gradient", "degrees", "stored"} <= set(questions)
    assert len(questions) <= 15
    assert len(Similarity.__annotations__) <= 12


LOADED = """
import sys
import numpy as np
from dominantsets import DominantSets
DominantSets(2).fit(np.random.default_rng(0).normal(size=(60, 3)))
print(*(m.__file__ for name, m in sys.modules.items() if name.split(".")[0] == "dominantsets"), sep="\\n")
"""


@pytest.mark.subprocess
def test_arrays_in_memory_load_nothing_that_is_for_torch_or_dask():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    files = [str(Path(line).relative_to(SOURCE)) for line in done.stdout.splitlines()]
    assert "estimator.py" in files
    heavy = {}
    for file in files:
        imports = [n for n in ast.walk(TREES[file]) if isinstance(n, ast.Import | ast.ImportFrom)]
        roots = {alias.name for n in imports if isinstance(n, ast.Import) for alias in n.names}
        roots |= {n.module or "" for n in imports if isinstance(n, ast.ImportFrom)}
        heavy[file] = {root.split(".")[0] for root in roots} & {"torch", "triton", "dask", "distributed"}
    assert not any(heavy.values()), {file: packages for file, packages in heavy.items() if packages}


STUDIES = """
import sys
import numpy as np
import dominantsets
def say():
    print(*sorted(name for name in sys.modules if name.startswith("dominantsets.studies")))
A = np.ones((4, 4)) - np.eye(4)
dominantsets.DominantSets(1, affinity="precomputed").fit(A)
dominantsets.solve(A, algorithm="replicator", start="barycenter")
say()
dominantsets.solve(A, algorithm="exponential-replicator", start="barycenter")
say()
dominantsets.Cut
say()
"""


@pytest.mark.subprocess
def test_studies_are_loaded_when_one_of_them_is_asked_for():
    done = subprocess.run([sys.executable, "-c", STUDIES], capture_output=True, text=True, check=True)
    room = "dominantsets.studies"
    one, two = f"{room}.exponential", f"{room}.trajectory"
    assert done.stdout.splitlines() == ["", f"{room} {one}", f"{room} {one} {two}"]


TESTS = Path(__file__).parent


def test_facts_use_public_names_only():
    """And so do the helpers that they import."""
    files = sorted((TESTS / "facts").rglob("test_*.py"))
    trees = {str(path.relative_to(TESTS)): ast.parse(path.read_text("utf-8")) for path in files}
    imports = [
        n for tree in trees.values() for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)
    ]
    asked = {n.module for n in imports if isinstance(n, ast.ImportFrom)}
    asked |= {alias.name for n in imports if isinstance(n, ast.Import) for alias in n.names}
    helpers = [TESTS / f"{name}.py" for name in asked if (TESTS / f"{name}.py").is_file()]
    assert TESTS / "support.py" in helpers
    trees |= {path.name: ast.parse(path.read_text("utf-8")) for path in helpers}
    private = {file: names for file, tree in trees.items() if (names := names_not_public(tree))}
    assert not private, private


def test_most_tests_are_facts():
    functions = [
        node.name
        for path in (TESTS / "facts").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]
    assert sum(name.startswith("test_") for name in functions) >= 600
