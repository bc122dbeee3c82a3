"""The walk of a fit: the files of the package that it enters, stage by stage.

``python benchmarks/_walk.py`` prints the table of docs/architecture.md, ``--write`` puts it there; with the
name of a fit all is printed as JSON, which house.py reads. Numba is off, so that compiled functions are seen.
A file is entered where one of its functions is called; bodies of modules and classes do not count.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import sys
import warnings
from pathlib import Path
from types import CodeType
from typing import Any

FITS: dict[str, dict[str, Any]] = {
    "default": {},
    "sqeuclidean": {"affinity": "sqeuclidean"},
    "CSR": {"affinity": "precomputed"},
    "path": {"affinity": "path"},
}
STAGES = ("parameters", "similarity", "choice", "plan", "groups", "labels", "attributes")
BEGUN_BY = {  # rooms and functions
    ("_input.py", "similarity_of"): "similarity",
    ("fitting", "choose_for"): "choice",
    ("fitting", "plan_of"): "plan",
    ("fitting", "groups"): "groups",
    ("fitting", "labels"): "labels",
}
DECIDING = ("clusters/", "labels/", "fitting/")  # rooms whose constants decide on groups and labels
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"
ROW = re.compile(r"^\| \*\*(\w+)\*\* \| (.*) \| (.*) \| (.*) \|$", flags=re.M)


def objects(kind: str) -> Any:
    """42 objects of three Gaussian groups; for CSR the graph of their neighbors."""
    import numpy as np
    from sklearn.neighbors import kneighbors_graph

    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0, 0.0], [8.0, 0.0, 0.0], [0.0, 8.0, 0.0]], 14, axis=0) + rng.normal(size=(42, 3))
    if kind != "CSR":
        return X
    graph = kneighbors_graph(X, 7)
    return graph.maximum(graph.T).tocsr()


class Walk:
    """Follows a fit.

    Attributes
    ----------
    files : dict
        The files in the order in which they are entered, and the stage in which each is entered first.
    called : set
        The functions.
    """

    def __init__(self, kind: str) -> None:
        import dominantsets

        self.home = Path(dominantsets.__file__).resolve().parent
        self.files: dict[str, str] = {}
        self.called: set[CodeType] = set()
        self._begun: list[tuple[Any, str]] = []  # frames that began a stage
        self._apart = STAGES[0]  # outside all of them
        X = objects(kind)
        dominantsets.DominantSets(**FITS[kind]).fit(X)  # imports, and what is made only once
        model = dominantsets.DominantSets(**FITS[kind])
        sys.setprofile(self._follow)
        try:
            model.fit(X)
        finally:
            sys.setprofile(None)

    def _follow(self, frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "return" and self._begun and self._begun[-1][0] is frame:
            self._begun.pop()
        if event != "call" or not code.co_flags & inspect.CO_OPTIMIZED:  # bodies of modules and classes
            return
        file = self.name(code)
        if file is None:
            return
        self.called.add(code)
        stage = BEGUN_BY.get((file.split("/")[0], code.co_name))
        if stage and (not self._begun or stage == "choice"):  # what the choice tries is a part of it
            self._begun.append((frame, stage))
            self._apart = STAGES[-1] if stage == "groups" else self._apart
        self.files.setdefault(file, self._begun[-1][1] if self._begun else self._apart)

    def name(self, code: CodeType) -> str | None:
        """The file of a function within the package."""
        path = Path(code.co_filename)
        return path.relative_to(self.home).as_posix() if path.is_relative_to(self.home) else None

    def constants(self) -> list[str]:
        """Constants of rooms that decide on groups and labels, which the functions read."""
        read: dict[str, set[str]] = {}
        for code in self.called:
            read.setdefault(self.name(code) or "", set()).update(filter(CONSTANT.fullmatch, names_in(code)))
        out = set()
        for file, names in read.items():
            here, elsewhere = module_names(self.home, file)
            for name in names:
                where, there = (file, name) if name in here else elsewhere.get(name, ("", ""))
                if where.startswith(DECIDING) and there in module_names(self.home, where)[0]:
                    out.add(f"{where}: {there}")
        return sorted(out)


def names_in(code: CodeType) -> set[str]:
    """Global names that a function reads, and those inside it."""
    inner = [names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)


def module_names(home: Path, file: str) -> tuple[set[str], dict[str, tuple[str, str]]]:
    """Constants that a module defines, and those that it imports: from which file, under which name."""
    here, elsewhere = set(), {}
    for node in ast.parse((home / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            here |= set(filter(CONSTANT.fullmatch, named))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dominantsets."):
            where = "/".join(str(node.module).split(".")[1:]) + ".py"
            if (home / where).is_file():
                elsewhere |= {alias.asname or alias.name: (where, alias.name) for alias in node.names}
    return here, elsewhere


def table(page: str) -> str:
    """Rows of the page: a stage, what the page says of it, and the files that it enters first.

    Those of a fit with a given affinity, and those that a default fit enters besides.
    """
    said = {stage: text for stage, text, *_ in ROW.findall(page)}
    plain, default = Walk("sqeuclidean").files, Walk("default").files
    more = {file: stage for file, stage in default.items() if file not in plain}
    rows = []
    for stage in STAGES:
        cells = [
            [f"`{file}`" for file, entered in walk.items() if entered == stage] for walk in (plain, more)
        ]
        rows.append(" | ".join([f"| **{stage}**", said[stage], *(", ".join(c) or "–" for c in cells)]) + " |")
    return "\n".join(rows)


def main() -> None:
    warnings.simplefilter("ignore")
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # before it is imported
    kind = next((name for name in sys.argv[1:] if name in FITS), None)
    if kind:
        walk = Walk(kind)
        found = {"files": walk.files, "functions": len(walk.called), "constants": walk.constants()}
        print(json.dumps(found))
        return
    page = PAGE.read_text(encoding="utf-8")
    rows = table(page)
    print(rows)
    if "--write" in sys.argv:
        old = "\n".join(match[0] for match in ROW.finditer(page))
        PAGE.write_text(page.replace(old, rows), encoding="utf-8")


if __name__ == "__main__":
    main()
