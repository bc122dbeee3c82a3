"""How the house is built, before and after: switches, files, walks through them, imports.

Run ``python benchmarks/house.py --old ../old [--list]``; it prints a table and writes results/house.json. It
needs NumPy, SciPy, scikit-learn, Numba, torch and Dask; a walk whose library is missing is left out.

Switches
    Places outside the factories (similarity/factory.py, _input.py) that ask what something is:
    ``isinstance``, ``issubclass``, ``type(x) is`` and class patterns of ``match`` about a proper subclass of
    Similarity or Problem (by name, over the class definitions of the package; "is it a Similarity at all" is
    no switch), or about a class held in a local variable; each read of ``on_device``; each comparison of
    something called ``kind`` with the name of a kind of similarity, and each read of a formula's trait
    (``_leans``, ``has_bias``, ``unit``, ``centred``: a kind by another name) outside similarity/ and rows/;
    calls of ``is_dask`` and ``is_tensor``; ``getattr`` and ``hasattr`` of "device".
Flags of place
    Reads of ``in_pieces``, ``in_memory`` and ``posed_as``, and comparisons of ``home`` with a word: no
    switches, since what is asked is what can be done and not what it is, but branches all the same.
Kind ladders inside the formula
    Comparisons of ``kind`` and reads of traits in similarity/ and rows/.
Places of the low-rank formula
    Files with at least two of: comparisons of ``kind`` with "sqeuclidean", "cosine" or "linear", reads of
    ``_leans``. (One alone is a switch.) And files that define a class whose name ends in Formula, or at least
    two classes that are named for these kinds or derive from such a class. Triton kernels, where ``KIND`` or
    a trait in capitals is asked for at least twice, are counted apart. Beside it, files that branch on the
    kind or on traits at least twice, whatever they do then.
Files on a walk
    Files of the package with a function that is called (compiled ones too; bodies of modules and classes do
    not count) in ``DominantSets(3).fit`` of 42 objects, three Gaussian groups, after one fit that does not
    count: as an array, a neighbour graph, a torch tensor, and a Dask array of three chunks in the process.
Signatures
    Functions with the parameters ``tol`` and ``max_iter``; public: of what ``dominantsets.__all__`` names.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine
from _pair import HERE, checkouts, commit, environment, package, parser, require

FACTORIES = ("similarity/factory.py", "_input.py")
FORMULA_ROOMS = ("similarity/", "rows/")
ROOTS = ("Similarity", "Problem")
LOW_RANK = ("sqeuclidean", "cosine", "linear")
KINDS = (
    *LOW_RANK, "rbf", "laplacian", "euclidean", "path", "nearest_neighbors", "diffusion", "precomputed",
    "dense", "graph", "kernel", "low_rank", "dask", "tensor", "torch",
)  # fmt: skip
TRAITS, TRAITS_OF_FORMULAS = ("_leans", "has_bias"), ("unit", "centred")  # the latter are common words
PLACES = ("in_pieces", "in_memory", "posed_as")
IN_TRITON = ("KIND", "HAS_BIAS", "UNIT", "CENTRED")
LIBRARIES = {"torch": ("torch",), "dask": ("dask", "distributed")}
WALKS = {"array": None, "graph": None, "tensor": "torch", "dask": "dask"}


class Found(NamedTuple):
    """A place in the package."""

    file: str
    line: int
    what: str


class Source:
    """A file of the package, parsed."""

    def __init__(self, root: Path, path: Path) -> None:
        self.name = path.relative_to(package(root)).as_posix()
        text = path.read_text(encoding="utf-8")
        self.lines = text.count("\n")
        self.tree = ast.parse(text)
        self.nodes = list(ast.walk(self.tree))
        self.renamed: dict[str, str] = {}  # names imported from the package, as they are called there
        self.foreign: set[str] = set()  # names imported from elsewhere
        self.modules: set[str] = set()  # what is imported, the first part of each name
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self.modules.add(alias.name.split(".")[0])
                    if not alias.name.startswith("dominantsets"):
                        self.foreign.add(alias.asname or alias.name.split(".")[0])
            elif isinstance(node, ast.ImportFrom):
                ours = node.level > 0 or (node.module or "").split(".")[0] == "dominantsets"
                if not ours:
                    self.modules.add((node.module or "").split(".")[0])
                for alias in node.names:
                    if ours:
                        self.renamed[alias.asname or alias.name] = alias.name
                    else:
                        self.foreign.add(alias.asname or alias.name)
        self.constants = {
            target.id: node.value
            for node in self.tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        self.defined = {n.name for n in self.nodes if isinstance(n, ast.ClassDef)}

    def classes_asked(self, node: ast.expr) -> Iterator[tuple[str, bool]]:
        """Names of the classes in the second argument of isinstance; whether each is a local variable."""
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            for part in node.elts:
                yield from self.classes_asked(part)
        elif isinstance(node, ast.BinOp):
            yield from self.classes_asked(node.left)
            yield from self.classes_asked(node.right)
        elif isinstance(node, ast.Attribute):
            top = node
            while isinstance(top, ast.Attribute):
                top = top.value  # type: ignore[assignment]
            if not (isinstance(top, ast.Name) and top.id in self.foreign):
                yield node.attr, False
        elif isinstance(node, ast.Name) and node.id not in self.foreign:
            if node.id in self.constants and node.id not in self.defined:
                yield from self.classes_asked(self.constants[node.id])
            else:
                known = node.id in self.renamed or node.id in self.defined or hasattr(builtins, node.id)
                yield self.renamed.get(node.id, node.id), not known


def read(root: Path) -> list[Source]:
    return [Source(root, path) for path in sorted(package(root).rglob("*.py"))]


def called(node: ast.expr) -> str | None:
    """The last part of a name."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def subclasses(sources: list[Source]) -> set[str]:
    """Classes that derive from Similarity or Problem, by name."""
    bases = {
        (node.name, called(base.value if isinstance(base, ast.Subscript) else base))
        for source in sources
        for node in source.nodes
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    }
    out = set(ROOTS)
    while more := {name for name, base in bases if base in out and name not in out}:
        out |= more
    return out - set(ROOTS)


def strings(node: ast.AST) -> set[str]:
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def about_kind(node: ast.AST, names: tuple[str, ...]) -> bool:
    """Whether a node compares something called kind with one of the names."""
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    if not any(called(side) == "kind" for side in sides):
        return False
    if not all(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in node.ops):
        return False
    return bool(set(names).intersection(*(strings(s) for s in sides if called(s) != "kind")))


def type_switch(source: Source, node: ast.AST, kinds: set[str]) -> bool:
    """Whether a node asks for a proper subclass."""
    asked: list[ast.expr] = []
    if (
        isinstance(node, ast.Call)
        and called(node.func) in ("isinstance", "issubclass")
        and len(node.args) == 2
    ):
        asked = [node.args[1]]
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        if any(isinstance(s, ast.Call) and called(s.func) == "type" and len(s.args) == 1 for s in sides):
            asked = [s for s in sides if not isinstance(s, ast.Call)]
    elif isinstance(node, ast.MatchClass):
        asked = [node.cls]
    names = [pair for part in asked for pair in source.classes_asked(part)]
    return any(name in kinds or local for name, local in names)


def switch(source: Source, node: ast.AST, kinds: set[str]) -> bool:
    if type_switch(source, node, kinds):
        return True
    if isinstance(node, ast.Attribute):
        return node.attr == "on_device" and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Call):
        name = called(node.func)
        device = (
            len(node.args) > 1 and isinstance(node.args[1], ast.Constant) and node.args[1].value == "device"
        )
        return name in ("is_dask", "is_tensor") or (name in ("getattr", "hasattr") and device)
    return about_kind(node, KINDS)


def trait(source: Source, node: ast.AST) -> bool:
    """Whether a node reads what kind of formula it is."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return False
    own = called(node.value) == "formula" or source.name.endswith("/formulas.py")
    return node.attr in TRAITS or (node.attr in TRAITS_OF_FORMULAS and own)


def place(node: ast.AST) -> bool:
    """Whether a node reads where the rows are."""
    if isinstance(node, ast.Attribute):
        return node.attr in PLACES and isinstance(node.ctx, ast.Load)
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    return any(called(side) == "home" for side in sides) and any(strings(side) for side in sides)


def switches(sources: list[Source]) -> dict[str, list[Found]]:
    """Those outside the factories, flags of place, and the ladders inside the formula."""
    kinds = subclasses(sources)
    out: dict[str, list[Found]] = {"switches": [], "flags": [], "ladders": []}
    for source in sources:
        if source.name in FACTORIES:
            continue
        inside = source.name.startswith(FORMULA_ROOMS)
        for node in source.nodes:
            ladder = about_kind(node, KINDS) or trait(source, node)
            if inside and ladder:
                name = "ladders"
            elif ladder or switch(source, node, kinds):
                name = "switches"
            elif place(node):
                name = "flags"
            else:
                continue
            out[name].append(Found(source.name, node.lineno, ast.unparse(node)))  # type: ignore[attr-defined]
    return {name: sorted(found) for name, found in out.items()}


def triton(source: Source) -> bool:
    return "triton" in source.modules


def formula(source: Source) -> bool:
    """Whether the low-rank formula is written in a file."""
    if triton(source):
        tests = [n.test for n in source.nodes if isinstance(n, ast.If | ast.IfExp)]
        return sum(called(n) in IN_TRITON for test in tests for n in ast.walk(test)) >= 2
    asked = sum(
        about_kind(node, LOW_RANK) or (isinstance(node, ast.Attribute) and node.attr == "_leans")
        for node in source.nodes
    )
    named = 0
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            bases = [called(b.value if isinstance(b, ast.Subscript) else b) or "" for b in node.bases]
            named += any(kind in node.name.lower() for kind in LOW_RANK)
            named += 2 * node.name.endswith("Formula") + any(base.endswith("Formula") for base in bases)
    return asked >= 2 or named >= 2


def branching(source: Source) -> bool:
    """Whether a file branches on the kind of formula more than once."""
    return sum(about_kind(node, LOW_RANK) or trait(source, node) for node in source.nodes) >= 2


def signatures(sources: list[Source]) -> tuple[list[str], list[str]]:
    """Functions that take tol and max_iter; those of them that are public."""
    public = next(strings(s.constants["__all__"]) for s in sources if s.name == "__init__.py")
    every, seen = [], []
    for source in sources:
        owners = {
            id(part): node.name
            for node in source.nodes
            if isinstance(node, ast.ClassDef)
            for part in node.body
        }
        for node in source.nodes:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            arguments = node.args
            names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
            if not {"tol", "max_iter"} <= names:
                continue
            owner = owners.get(id(node))
            name = node.name if owner is None else f"{owner}.{node.name}"
            every.append(f"{source.name}: {name}")
            if (owner or node.name) in public and (owner is None or node.name == "__init__"):
                seen.append(name)
    return every, seen


def importers(sources: list[Source], library: str) -> list[str]:
    return [s.name for s in sources if s.modules & set(LIBRARIES[library])]


def objects(kind: str) -> tuple[Any, dict[str, Any]]:
    """42 objects of three Gaussian groups, and the options that this kind of data needs."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0, 0.0], [8.0, 0.0, 0.0], [0.0, 8.0, 0.0]], 14, axis=0) + rng.normal(size=(42, 3))
    if kind == "graph":
        from sklearn.neighbors import kneighbors_graph

        graph = kneighbors_graph(X, 7)
        return graph.maximum(graph.T).tocsr(), {"affinity": "precomputed"}
    if kind == "tensor":
        import torch

        return torch.from_numpy(X), {}
    if kind == "dask":
        import dask.array as da

        return da.from_array(X, chunks=(14, 3)), {}
    return X, {}


def walk(root: Path, kind: str) -> dict[str, Any]:
    """The work of a child process: fit, and see which files have a part in it."""
    import warnings

    warnings.simplefilter("ignore")
    require(root)
    from numba.core.registry import CPUDispatcher

    from dominantsets import DominantSets

    home, recording = str(package(root)) + "/", False
    files: dict[str, None] = {}
    functions: set[Any] = set()

    def note(code: Any) -> None:
        if recording and code.co_filename.startswith(home):
            files.setdefault(code.co_filename.removeprefix(home))
            functions.add((code.co_filename, code.co_firstlineno, code.co_name))

    def profile(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            note(frame.f_code)  # bodies of modules and classes are not optimised

    def call(dispatcher: Any, *args: Any, **kwargs: Any) -> Any:
        note(dispatcher.py_func.__code__)
        return plain(dispatcher, *args, **kwargs)

    plain, CPUDispatcher.__call__ = CPUDispatcher.__call__, call  # the profile does not see compiled ones
    threading.setprofile(profile)  # threads of pools too, which live on after the first fit
    X, options = objects(kind)
    DominantSets(3, **options).fit(X)
    recording = True
    sys.setprofile(profile)
    model = DominantSets(3, **options).fit(X)
    sys.setprofile(None)
    recording = False
    loaded = {
        Path(module.__file__).resolve().relative_to(package(root)).as_posix()
        for name, module in sys.modules.items()
        if name.split(".")[0] == "dominantsets" and getattr(module, "__file__", None)
    }
    return {
        "clusters": model.n_clusters_,
        "functions": len(functions),
        "files": list(files),
        "loaded": sorted(loaded),
        "libraries": [name for name in ("torch", "dask", "distributed") if name in sys.modules],
    }


def walks(root: Path) -> dict[str, Any]:
    out = {}
    for kind, library in WALKS.items():
        if library is not None and find_spec(library) is None:
            print(f"{kind}: left out, {library} is not installed", flush=True)
            continue
        child = [sys.executable, __file__, "--walk", kind, "--old", str(root)]
        done = subprocess.run(child, env=environment(root, 1), capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{kind}: left out, the fit failed:\n{done.stderr[-2000:]}", flush=True)
            continue
        out[kind] = json.loads(done.stdout.splitlines()[-1])
    if "array" not in out:
        raise SystemExit("not even an array can be fitted.")
    return out


def count(root: Path) -> dict[str, Any]:
    """All measures of a checkout."""
    sources = read(root)
    sizes = {source.name: source.lines for source in sources}
    found = switches(sources)
    every, public = signatures(sources)
    written = [source.name for source in sources if formula(source) and not triton(source)]
    steps = walks(root)
    torch_files, dask_files = importers(sources, "torch"), importers(sources, "dask")
    plain = steps["array"]
    return {
        "commit": commit(root),
        **{
            name: {
                "all": len(places),
                "by_file": dict(Counter(place.file for place in places)),
                "list": [f"{place.file}:{place.line}: {place.what}" for place in places],
            }
            for name, places in found.items()
        },
        "files_at_top_level": sum("/" not in name for name in sizes),
        "files": len(sizes),
        "lines": sum(sizes.values()),
        "walks": {
            kind: {
                "clusters": step["clusters"],
                "n_files": len(step["files"]),
                "functions": step["functions"],
                "lines_of_files": sum(sizes[name] for name in step["files"]),
                "beyond_array": [name for name in step["files"] if name not in plain["files"]],
                "files": step["files"],
            }
            for kind, step in steps.items()
        },
        "imports_torch": torch_files,
        "imports_dask": dask_files,
        "array_loads": {
            "files": len(plain["loaded"]),
            "lines": sum(sizes[name] for name in plain["loaded"]),
            "of_torch": [name for name in plain["loaded"] if name in torch_files],
            "of_dask": [name for name in plain["loaded"] if name in dask_files],
            "libraries": plain["libraries"],
        },
        "low_rank_formula": {
            "files": written,
            "triton": [source.name for source in sources if formula(source) and triton(source)],
            "branching": [source.name for source in sources if branching(source)],
        },
        "tol_and_max_iter": {"all": every, "public": public},
    }


def rooms(names: list[str]) -> str:
    """How many files, and in how many rooms."""
    folders = len({name.rpartition("/")[0] for name in names})
    return f"{len(names)} in {folders} folder{'s' * (folders != 1)}" if names else "0"


def table(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Rows of the table: measure, before, after."""

    def row(name: str, tell: Any) -> tuple[str, str, str]:
        return name, str(tell(result["old"])), str(tell(result["new"]))

    def in_files(counted: dict[str, Any]) -> str:
        files = len(counted["by_file"])
        return f"{counted['all']} in {files} file{'s' * (files != 1)}" if files else "0"

    def formulas(c: dict[str, Any]) -> str:
        written = c["low_rank_formula"]
        return f"{len(written['files'])} + {len(written['triton'])} in Triton"

    def beyond(kind: str) -> Any:
        return lambda c: f"{len(c['walks'][kind]['beyond_array'])}"

    walked = [kind for kind in result["old"]["walks"] if kind in result["new"]["walks"]]
    return [
        row("switches outside the factories", lambda c: in_files(c["switches"])),
        row("flags of place read", lambda c: in_files(c["flags"])),
        row("kind ladders inside the formula", lambda c: in_files(c["ladders"])),
        row("files at top level", lambda c: c["files_at_top_level"]),
        row("files in all", lambda c: c["files"]),
        row("lines in all", lambda c: f"{c['lines']:,}"),
        *(
            row(
                f"files (functions, lines of the files) on the walk of: {kind}",
                lambda c, kind=kind: "{n_files} ({functions}; {lines_of_files:,})".format(**c["walks"][kind]),
            )
            for kind in walked
        ),
        *(row(f"files beyond those of an array: {kind}", beyond(kind)) for kind in walked[1:]),
        row("files that import torch", lambda c: rooms(c["imports_torch"])),
        row("files that import Dask", lambda c: rooms(c["imports_dask"])),
        row("files of torch loaded by a fit of an array", lambda c: len(c["array_loads"]["of_torch"])),
        row("files of Dask loaded by a fit of an array", lambda c: len(c["array_loads"]["of_dask"])),
        row("places where the low-rank formula is written", formulas),
        row(
            "files that branch on the kind of formula more than once",
            lambda c: len(c["low_rank_formula"]["branching"]),
        ),
        row("signatures with tol and max_iter", lambda c: len(c["tol_and_max_iter"]["all"])),
        row("of these public", lambda c: len(c["tol_and_max_iter"]["public"])),
    ]


def main() -> None:
    options = parser(__doc__)
    options.add_argument(
        "--list", action="store_true", help="print all places that are counted, and the walks"
    )
    options.add_argument("--walk", choices=WALKS, help="used by the script itself")
    args = options.parse_args()
    if args.walk:
        print(json.dumps(walk(args.old, args.walk)))
        return
    result: dict[str, Any] = {"machine": machine()}
    for name, root in checkouts(args).items():
        result[name] = count(root)
        if args.list:
            for what in ("switches", "flags", "ladders"):
                print(f"== {what}, {name}", *result[name][what]["list"], sep="\n")
            for kind, step in result[name]["walks"].items():
                print(f"== walk of {kind}, {name}", " → ".join(step["files"]), sep="\n")
            for what in ("low_rank_formula", "tol_and_max_iter", "array_loads"):
                print(f"== {what}, {name}", json.dumps(result[name][what], indent=1), sep="\n")
    before, after = (result[name]["commit"] for name in ("old", "new"))
    print(f"\n| measure | before ({before}) | after ({after}) |\n|---|---|---|")
    for row in table(result):
        print("| " + " | ".join(row) + " |")
    path = args.out or HERE / "results" / "house.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
