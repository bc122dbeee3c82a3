"""Which names of the package a file of tests takes that are not public."""

from __future__ import annotations

import ast
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "api.rst"
PROGRAM = {"dominantsets.app.cli": {"app"}}  # the command line is public; tests start it by this object
NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}


def public_names() -> dict[str, set[str]]:
    """Names that docs/api.rst lists, by module."""
    out: dict[str, set[str]] = dict(PROGRAM)
    module = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.removeprefix(".. currentmodule:: ").strip()
            out.setdefault(module, {"__version__"})
        elif line.startswith("   ") and line.strip().isidentifier():
            out[module].add(line.strip())
    out["dominantsets"] |= {module.split(".")[1] for module in out if module.count(".") == 1}
    return out


def names_not_public(tree: ast.Module) -> list[str]:
    """Imports of names that the page of the API does not list, and reads of attributes with an underscore."""
    public, found, foreign = public_names(), [], {"self"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module.split(".")[0] != "dominantsets":
                foreign |= {alias.asname or alias.name for alias in node.names}
                continue
            known = public.get(module, set())
            found += [f"{module}.{alias.name}" for alias in node.names if alias.name not in known]
        elif isinstance(node, ast.Import):
            ours = [alias.name for alias in node.names if alias.name.split(".")[0] == "dominantsets"]
            found += [name for name in ours if name not in public]
            foreign |= {alias.asname or alias.name.split(".")[0] for alias in node.names} - {"dominantsets"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            first = next(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
            if node.attr not in NAMED_TUPLE and first not in foreign:
                found.append(ast.unparse(node))
    return found
