"""Small faults of a source file: where they can be made, and the tree with one of them."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PAIRS = ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn))
COMPARED = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
COMPUTED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}


@dataclass(frozen=True)
class Fault:
    """One place of a file: the number of its node in the order of ast.walk, and what becomes of it."""

    node: int
    line: int
    column: int
    function: str  # that runs it; "" where the import of the module does
    change: str


def change(node: Any) -> bool:
    """Change a node in place; False where there is nothing to change."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        node.ops = [COMPARED[type(node.ops[0])](), *node.ops[1:]]
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in COMPUTED:
        node.op = COMPUTED[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        node.value += 1
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        node.value = not node.value
    elif isinstance(node, ast.IfExp | ast.If | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Return) and not (node.value is None or ast.unparse(node.value) == "None"):
        node.value = ast.Constant(None)
    else:
        return False
    return True


def _words(node: Any) -> str:
    """The node as one line of code."""
    shown = node.test if isinstance(node, ast.IfExp | ast.If | ast.While) else node
    head = {ast.If: "if ", ast.While: "while "}.get(type(node), "")
    text = head + ast.unparse(shown).split("\n")[0]
    return text if len(text) <= 80 else text[:77] + "..."


def _left_out(node: ast.AST) -> Iterator[ast.AST]:
    """Parts of a node that are no code that a test could see.

    Annotations, decorators, imports for types, and ``strict`` of zip, which says what is so anyway.
    """
    for name in ("annotation", "returns"):
        part = getattr(node, name, None)
        if part is not None:
            yield part
    yield from getattr(node, "decorator_list", [])
    if isinstance(node, ast.keyword) and node.arg == "strict":
        yield node.value
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        yield node


def faults(source: str, seed: str) -> list[Fault]:
    """All that can be made, shuffled."""
    tree = ast.parse(source)
    skipped = {id(inner) for node in ast.walk(tree) for part in _left_out(node) for inner in ast.walk(part)}
    owner: dict[int, str] = {}
    _name(tree, "", False, owner)
    found = []
    for k, node in enumerate(ast.walk(tree)):
        other = copy.copy(node)
        if id(node) not in skipped and change(other):
            where = node.lineno, node.col_offset  # type: ignore[attr-defined]
            found.append(Fault(k, *where, owner[id(node)], f"{_words(node)} -> {_words(other)}"))
    random.Random(seed).shuffle(found)
    return found


def _name(node: ast.AST, path: str, inside: bool, owner: dict[int, str]) -> None:
    """Write down for each node the outermost function (of a class or a module) whose body it is in."""
    owner[id(node)] = path if inside else ""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef) and not inside:
            own = f"{path}.{child.name}".lstrip(".")
            if isinstance(child, ast.ClassDef):
                _name(child, own, False, owner)
            else:
                _name(child, own, True, owner)
                for early in (child.args, *child.decorator_list):  # defaults are made by the import
                    for part in ast.walk(early):
                        owner[id(part)] = ""
        else:
            _name(child, path, inside, owner)


def faulty(source: str, fault: Fault) -> ast.AST:
    """The tree of the file with the fault."""
    tree = ast.parse(source)
    change(next(node for k, node in enumerate(ast.walk(tree)) if k == fault.node))
    return ast.fix_missing_locations(tree)
