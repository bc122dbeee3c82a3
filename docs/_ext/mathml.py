"""Formulas as MathML, which browsers draw themselves: no script, and nothing from elsewhere."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _formula(translator: Any, node: Any) -> None:
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _displayed(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (_formula, None), (_displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
