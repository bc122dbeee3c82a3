"""Damaged and hostile files: each is refused in one sentence, and nothing in it is run."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "src" / "dominantsets"


def test_no_loader_unpickles():
    """No reader lets NumPy, pandas or anything else load Python objects, or evaluates text."""
    calls = [
        (path.name, ast.unparse(node.func), {k.arg: ast.unparse(k.value) for k in node.keywords})
        for path in [*(PACKAGE / "app").rglob("*.py"), PACKAGE / "clusters" / "checkpoint.py"]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    ]
    loads = [options for _, name, options in calls if name == "np.load"]
    assert loads
    assert all(options.get("allow_pickle", "False") == "False" for options in loads)
    forbidden = {"pickle.load", "pickle.loads", "joblib.load", "pd.read_pickle", "torch.load", "eval", "exec"}
    assert not [(file, name) for file, name, _ in calls if name in forbidden]
