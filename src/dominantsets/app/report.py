"""One self-contained HTML page: text, tables and pictures, nothing loaded from elsewhere."""

from __future__ import annotations

import base64
import html
import io
from typing import Any, Self

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2.2rem }
table { display: block; overflow-x: auto; border-collapse: collapse;
  font-size: .9rem; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child, .words td, .words th { text-align: left } th { border-bottom: 2px solid #888 }
figure { margin: 1rem 0 } img { max-width: 100% } figcaption, .note { color: #555; font-size: .9rem }
.warning { background: #fff3cd; padding: .6rem 1rem; border-left: 4px solid #e69f00 }
"""


class Report:
    """A page that is built from top to bottom; everything that is shown is escaped.

    Parameters
    ----------
    title : str
        The page's title and heading.

    Examples
    --------
    >>> from dominantsets.app.report import Report
    >>> page = Report("Two < three").text("Numbers.").table(["n"], [[1], [2]])
    >>> "Two &lt; three" in page.html()
    True
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = [f"<h1>{html.escape(title)}</h1>"]

    def section(self, heading: str) -> Self:
        """A heading."""
        self._parts.append(f"<h2>{html.escape(heading)}</h2>")
        return self

    def text(self, text: str, kind: str = "") -> Self:
        """A paragraph; ``kind`` is "note", "warning" or nothing."""
        self._parts.append(f'<p class="{html.escape(kind)}">{html.escape(text)}</p>')
        return self

    def link(self, before: str, name: str, address: str, after: str = "") -> Self:
        """A paragraph with a link."""
        words = f'<a href="{html.escape(address)}">{html.escape(name)}</a>'
        self._parts.append(f"<p>{html.escape(before)}{words}{html.escape(after)}</p>")
        return self

    def include(self, other: Report) -> Self:
        """All of another page but its heading."""
        self._parts += other._parts[1:]
        return self

    def table(self, head: list[str], rows: list[list[Any]], kind: str = "") -> Self:
        """A table: the first column is text, the others are figures, unless ``kind`` is "words"."""
        cells = "".join(f"<th>{html.escape(str(name))}</th>" for name in head)
        lines = [f"<tr>{cells}</tr>"]
        for row in rows:
            cells = "".join(f"<td>{html.escape(str(value))}</td>" for value in row)
            lines.append(f"<tr>{cells}</tr>")
        self._parts.append(f'<table class="{html.escape(kind)}">\n' + "\n".join(lines) + "\n</table>")
        return self

    def figure(self, figure: Any, caption: str, dpi: int = 110) -> Self:
        """A matplotlib figure, embedded."""
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=dpi)
        data = base64.b64encode(buffer.getvalue()).decode("ascii")
        words = html.escape(caption)
        self._parts.append(
            f'<figure><img alt="{words}" src="data:image/png;base64,{data}">'
            f"<figcaption>{words}</figcaption></figure>"
        )
        return self

    def html(self) -> str:
        """The whole page."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self._title)}</title><style>{_STYLE}</style></head>\n<body>\n"
            + "\n".join(self._parts)
            + "\n</body></html>\n"
        )
