"""What is imported is declared, and each extra works alone, without what else happens to be installed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from alone import EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
USERS = ("plot", "cli", "io", "dask", "gpu", "tables")  # extras of the package's own parts
OF_OTHERS = (
    "networkx",
    "scanpy",
)  # extras by the names of libraries whose objects are taken; none is imported
NEEDED_BY = {"gpu": "torch", "dask": "dask"}  # extras that the tests may lack
CALLED_OTHERWISE = {
    "_pytest": "pytest",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "PIL": "pillow",
}
WITH_TORCH = {"triton"}  # a part of torch's installation, looked for and not demanded


def name_of(requirement: str) -> str:
    return re.match(r"[\w-]+", requirement)[0].lower().replace("_", "-")


def imports(found: Iterable[ast.AST]) -> set[str]:
    """The packages that some nodes import."""
    nodes = list(found)
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {
        node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level
    }
    return {name.split(".")[0] for name in names}


def test_what_is_imported_is_declared():
    declared = {name_of(r) for r in PROJECT["dependencies"]}
    declared |= {name_of(r) for extra in USERS for r in PROJECT["optional-dependencies"][extra]}
    files = (ROOT / "src").rglob("*.py")
    found = set().union(*(imports(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in files))
    found -= set(sys.stdlib_module_names) | {"dominantsets"} | WITH_TORCH
    assert {CALLED_OTHERWISE.get(name, name) for name in found} == declared


def test_what_benchmarks_need_is_declared():
    """What they import at their top; methods of others are imported where they are called."""
    scripts = list((ROOT / "benchmarks").glob("*.py"))
    if not scripts:
        pytest.skip("the sdist has no benchmarks")
    extras = PROJECT["optional-dependencies"]
    asked = [
        *PROJECT["dependencies"],
        *(r for extra in (*USERS, "test", "benchmarks") for r in extras[extra]),
    ]
    found = set()
    for script in scripts:
        tree = ast.parse(script.read_text(encoding="utf-8"))
        found |= imports(node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    ours = [*scripts, *(ROOT / "tests").glob("*.py"), *(ROOT / "checker").glob("*.py")]
    own = {path.stem for path in ours} | {"dominantsets"}
    found -= set(sys.stdlib_module_names) | own
    assert "mpmath" in found
    assert {CALLED_OTHERWISE.get(name, name) for name in found} <= {name_of(r) for r in asked}


def test_every_extra_of_users_is_tried_alone():
    assert {*EXTRAS} == {"", *USERS}
    assert {*PROJECT["optional-dependencies"]} == {
        *USERS,
        *OF_OTHERS,
        "all",
        "test",
        "dev",
        "docs",
        "benchmarks",
    }


def needed(extra: str) -> set[str]:
    """The distributions that pip installs for dominantsets with one extra."""
    seen: set[tuple[str, str]] = set()
    todo = [(r, "") for r in PROJECT["dependencies"] + PROJECT["optional-dependencies"].get(extra, [])]
    while todo:
        text, wanted = todo.pop()
        requirement = Requirement(text)
        if requirement.marker and not any(requirement.marker.evaluate({"extra": e}) for e in ("", wanted)):
            continue
        for inner in ("", *requirement.extras):
            key = (name_of(requirement.name), inner)
            if key not in seen:
                seen.add(key)
                try:
                    todo += [(r, inner) for r in metadata.requires(requirement.name) or []]
                except metadata.PackageNotFoundError:
                    continue
    return {name for name, _ in seen} | {"dominantsets"}


ALONE = """
import runpy, sys
hidden = set(sys.argv.pop(1).split(","))
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r} (hidden)", name=name)
sys.meta_path.insert(0, Hide())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.subprocess
@pytest.mark.parametrize("extra", EXTRAS, ids=lambda extra: extra or "none")
def test_an_extra_works_alone(extra):
    if extra in NEEDED_BY:
        pytest.importorskip(NEEDED_BY[extra])
    allowed = needed(extra)
    hidden = [
        module
        for module, owners in metadata.packages_distributions().items()
        if not {name_of(owner) for owner in owners} & allowed
    ]
    assert "pytest" in hidden
    command = [sys.executable, "-c", ALONE, ",".join(hidden), str(ROOT / "tests" / "alone.py"), extra]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


USER = """
import numpy as np
from dominantsets import DominantSet, DominantSets, as_similarity, peel

X = np.eye(6)
model = DominantSets(2, affinity="cosine").fit(X)
cluster: DominantSet = model.clusters_[0]
gap: float = cluster.gap
sizes: list[int] = [len(found) for found in peel(as_similarity(X, "cosine"), n_clusters=2, shift=1.0)]
"""
WRONG = (
    "from dominantsets import DominantSet\n\n\ndef gap(found: DominantSet) -> str:\n    return found.gap\n"
)


@pytest.mark.subprocess
@pytest.mark.skipif(find_spec("mypy") is None, reason="needs mypy")
def test_a_users_snippet_has_types(tmp_path):
    """``py.typed`` is read: what is right passes --strict, what is wrong does not."""
    for text, code in ((USER, 0), (WRONG, 1)):
        (tmp_path / "user.py").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "user.py"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
    assert 'got "float", expected "str"' in done.stdout
