"""For readers that are programs (https://llmstxt.org).

llms.txt lists every page with its first sentence, pages in Markdown lie beside their HTML, and
llms-full.txt has them all in one file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes


def _opening(tree: Any) -> str:
    """The first sentence of a page."""
    for paragraph in tree.findall(nodes.paragraph):
        if paragraph.parent.tagname == "section":
            text = " ".join(paragraph.astext().split())
            return re.match(r".{25,}?(?=[.:] |[.:]?$)|.*", text)[0].rstrip(".:") + "."
    return ""


def _included(page: Path) -> Any:
    """What stands in the place of a file that a page includes."""
    return lambda directive: (page.parent / directive[1]).read_text(encoding="utf-8")


def _write(app: Any, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    out, source = Path(app.outdir), Path(app.srcdir)
    lines = [f"# {app.config.project}", "", f"> {_opening(app.env.get_doctree('index'))}", ""]
    full = []
    for section in app.env.toctree_includes.get("index", []):
        lines += [f"## {app.env.titles[section].astext()}", ""]
        for name in [section, *app.env.toctree_includes.get(section, [])]:
            page = source / f"{name}.md"
            address = f"{name}.md" if page.exists() else f"{name}.html"
            opening = _opening(app.env.get_doctree(name))
            lines.append(f"- [{app.env.titles[name].astext()}]({address}): {opening}".rstrip(": "))
            if page.exists():
                (out / address).parent.mkdir(parents=True, exist_ok=True)
                text = re.sub(
                    r"^```{include} (.+)\n(:.*\n)*```", _included(page), page.read_text(encoding="utf-8")
                )
                (out / address).write_text(text, encoding="utf-8")
                full.append(text)
        lines.append("")
    (out / "llms.txt").write_text("\n".join(lines), encoding="utf-8")
    (out / "llms-full.txt").write_text("\n\n".join(full), encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
