"""One self-contained HTML page: text, tables and pictures, nothing loaded from elsewhere.

It is read on a phone as on a desk, in light and in dark: figures do not break, wide tables scroll by
themselves, contents come first, and the end says when, by which command and with which versions it was made.
"""

from __future__ import annotations

import base64
import datetime
import html
import io
from collections.abc import Sequence
from typing import Any, Self

from dominantsets.compiled.interrupts import at_once

WIDE = 800  # pixels of a picture that is not squeezed into a phone's width, but scrolls
_STYLE = """
:root { color-scheme: light dark; --text: #1d2126; --quiet: #59616b; --back: #fff; --soft: #f3f5f8;
  --line: #d5dae1; --link: #005a8f; --warn: #fff3cd; --edge: #e69f00 }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e7eb; --quiet: #a3abb5; --back: #15181c; --soft: #1f242a; --line: #39414b;
    --link: #79bff0; --warn: #3a2f12; --edge: #e69f00 } }
* { box-sizing: border-box }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem;
  color: var(--text); background: var(--back); overflow-wrap: break-word }
h1 { font-size: 1.7rem; line-height: 1.25; margin: .5rem 0 1rem }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .6rem; padding-top: .6rem; border-top: 1px solid var(--line) }
a { color: var(--link) } p { margin: .6rem 0; max-width: 46rem }
nav { background: var(--soft); border-radius: 8px; padding: .7rem 1rem; margin: 1.2rem 0 }
nav ol { margin: 0; padding-left: 1.3rem; columns: 17rem; column-gap: 2.5rem } nav li { break-inside: avoid }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .7rem;
  margin: 1.2rem 0; padding: 0 }
.facts div { background: var(--soft); border-radius: 8px; padding: .6rem .9rem }
.facts dt { font-size: .82rem; color: var(--quiet) }
.facts dd { margin: 0; font-size: 1.15rem; font-weight: 600; font-variant-numeric: tabular-nums }
.scroll { overflow-x: auto; margin: .8rem 0; border: 1px solid var(--line); border-radius: 8px }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: .92rem;
  font-variant-numeric: tabular-nums }
th, td { padding: .38rem .8rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line) }
thead th { background: var(--soft); font-weight: 600; vertical-align: bottom }
tbody tr:last-child td { border-bottom: 0 }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--back) }
thead th:first-child { background: var(--soft) }
.words th, .words td { text-align: left; white-space: normal; min-width: 9rem; vertical-align: top }
.words th:first-child, .words td:first-child { position: static; min-width: 14rem }
.made th, .made td { text-align: left; white-space: normal; position: static; vertical-align: top }
.made th { white-space: nowrap; font-weight: 600; width: 1% } .made td { overflow-wrap: anywhere }
.dot { display: inline-block; width: .75em; height: .75em; border-radius: 50%; margin-right: .5em;
  border: 1px solid var(--line) }
figure { margin: 1.2rem 0 } figure img { max-width: 100%; height: auto; background: #fff; border-radius: 8px;
  border: 1px solid var(--line); display: block }
figcaption, .note { color: var(--quiet); font-size: .92rem }
figcaption { margin-top: .35rem; max-width: 46rem }
.warning { background: var(--warn); padding: .6rem 1rem; border-radius: 4px;
  border-left: 4px solid var(--edge) }
code { font: .9em ui-monospace, monospace }
@media (max-width: 40rem) {
  .words, .words tbody, .words tr, .words td { display: block } .words thead { display: none }
  .words tr { border-bottom: 1px solid var(--line); padding: .5rem 0 } .words tr:last-child { border: 0 }
  .words td { border: 0; padding: .15rem .8rem } .words td:first-child { font-weight: 600 }
  .words td:not(:first-child)::before { content: attr(data-name) ": "; color: var(--quiet) }
  .wide { overflow-x: auto } .wide img { max-width: none; width: 48rem } }
@media print { nav { display: none } .scroll { overflow: visible } h2 { break-after: avoid } }
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
    >>> page = Report("Two < three").section("Numbers").table(["n"], [[1], [2]])
    >>> "Two &lt; three" in page.html()
    True
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._above: list[str] = []
        self._sections: list[tuple[str, list[str]]] = []  # headings, and what is below each

    @property
    def _here(self) -> list[str]:
        return self._sections[-1][1] if self._sections else self._above

    def section(self, heading: str) -> Self:
        """A heading, which is one of the contents."""
        self._sections.append((heading, []))
        return self

    def text(self, text: str, kind: str = "") -> Self:
        """A paragraph; ``kind`` is "note", "warning" or nothing."""
        self._here.append(f"<p{_kind(kind)}>{html.escape(text)}</p>")
        return self

    def link(self, before: str, name: str, address: str, after: str = "") -> Self:
        """A paragraph with a link."""
        words = f'<a href="{html.escape(address)}">{html.escape(name)}</a>'
        self._here.append(f"<p>{html.escape(before)}{words}{html.escape(after)}</p>")
        return self

    def facts(self, facts: Sequence[tuple[str, Any]]) -> Self:
        """A few figures that are seen first, each under its name."""
        parts = "".join(
            f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(str(value))}</dd></div>"
            for name, value in facts
        )
        self._here.append(f'<dl class="facts">{parts}</dl>')
        return self

    def include(self, other: Report) -> Self:
        """All of another page but its heading."""
        self._here.extend(other._above)
        self._sections += other._sections
        return self

    def table(
        self, head: list[str], rows: list[list[Any]], kind: str = "", colors: Sequence[str] = ()
    ) -> Self:
        """A table: the first column is text, the others are figures, unless ``kind`` is "words".

        With ``colors``, each row begins with a dot of its colour.
        """
        dots = [f'<span class="dot" style="background: {html.escape(c)}"></span>' for c in colors]
        cells = "".join(f'<th scope="col">{html.escape(str(name))}</th>' for name in head)
        lines = [f"<thead><tr>{cells}</tr></thead>", "<tbody>"]
        for k, row in enumerate(rows):
            shown = [html.escape(str(value)) for value in row]
            shown[0] = (dots[k] if dots else "") + shown[0]
            marks = [f' data-name="{html.escape(str(title))}"' if kind == "words" else "" for title in head]
            cells = "".join(f"<td{mark}>{value}</td>" for mark, value in zip(marks, shown, strict=True))
            lines.append(f"<tr>{cells}</tr>")
        name = html.escape(f"table: {', '.join(map(str, head))}")
        self._here.append(
            f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table{_kind(kind)}>\n'
            + "\n".join(lines)
            + "\n</tbody></table></div>"
        )
        return self

    def figure(self, figure: Any, caption: str, dpi: int = 110) -> bytes:
        """A matplotlib figure, embedded; the picture itself is returned."""
        buffer = io.BytesIO()
        with at_once():
            figure.savefig(buffer, format="png", dpi=dpi)
        data = base64.b64encode(buffer.getvalue()).decode("ascii")
        words = html.escape(caption)
        width, height = (round(dpi * side) for side in figure.get_size_inches())
        self._here.append(
            f"<figure{_kind('wide' if width > WIDE else '')}>"
            f'<img alt="{words}" width="{width}" height="{height}" src="data:image/png;base64,{data}">'
            f"<figcaption>{words}</figcaption></figure>"
        )
        return buffer.getvalue()

    def made(self, command: str, facts: Sequence[tuple[str, Any]]) -> Self:
        """The last section: the date, the command, and versions and settings by name."""
        today = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
        rows = [("date", html.escape(today))]
        rows += [("command", f"<code>{html.escape(command)}</code>")] if command else []
        rows += [(html.escape(name), html.escape(str(value))) for name, value in facts]
        body = "\n".join(f'<tr><th scope="row">{name}</th><td>{value}</td></tr>' for name, value in rows)
        self.section("How this page was made")
        self._here.append(f'<div class="scroll"><table class="made">\n{body}\n</table></div>')
        return self

    def html(self) -> str:
        """The whole page."""
        parts = [f"<h1>{html.escape(self._title)}</h1>", *self._above]
        if len(self._sections) > 2:
            entries = "".join(
                f'<li><a href="#part-{k}">{html.escape(heading)}</a></li>'
                for k, (heading, _) in enumerate(self._sections, start=1)
            )
            parts.append(f'<nav aria-label="contents"><ol>{entries}</ol></nav>')
        for k, (heading, below) in enumerate(self._sections, start=1):
            parts += [f'<h2 id="part-{k}">{html.escape(heading)}</h2>', *below]
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{html.escape(self._title)}</title><style>{_STYLE}</style></head>\n<body>\n"
            + "\n".join(parts)
            + "\n</body></html>\n"
        )


def _kind(kind: str) -> str:
    return f' class="{html.escape(kind)}"' if kind else ""
