"""Which modules the doctests leave out: those that import an extra which is not installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

_missing = [name for name in ("torch", "triton") if find_spec(name) is None]
collect_ignore = [
    str(path)
    for path in Path(__file__).parent.rglob("*.py")
    if any(f"\nimport {name}" in path.read_text(encoding="utf-8") for name in _missing)
]
