"""Words that are not to come back: pages, docstrings and messages speak of objects as objects."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
AVOIDED = {  # and what to write
    r"nobody|no one": "no object",
    r"whoever": "an object that, a method that",
    r"anybody|anyone": "any object",
    r"everybody|everyone": "all objects",
    r"stands? alone": "significant",
    r"(is|was|are|were) told(?! apart)": "given",
    r"untold|not told": "unknown",
    r"nats an object": "nats per object",
}
PATTERN = re.compile(rf"\b({'|'.join(AVOIDED)})\b", re.IGNORECASE)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [path for path in PAGES if path.name not in ("decisions.md", "changelog.md")]  # what was said then
MODULES = sorted((ROOT / "src" / "dominantsets").rglob("*.py"))


def found(text: str) -> list[str]:
    return [match.group() for match in PATTERN.finditer(text)]


def strings(path: Path) -> list[str]:
    """Docstrings and messages."""
    tree = ast.parse(path.read_text("utf-8"))
    return [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def test_the_pattern_finds_words():
    assert found("Nobody is told; whoever stands alone.") == ["Nobody", "is told", "whoever", "stands alone"]
    assert found("The objects of a group are alike.") == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages(path):
    assert found(path.read_text("utf-8")) == []


def test_docstrings_and_messages():
    words = {str(path.relative_to(ROOT)): [w for s in strings(path) for w in found(s)] for path in MODULES}
    assert {name: some for name, some in words.items() if some} == {}
