"""What ``dominantsets audit`` says about the clusters of a table."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from dominantsets.app.files import FileError, Table
from dominantsets.app.report import Report
from dominantsets.auditing import Audit


def clusters_of(table: Table, n: int) -> Any:
    """The column of clusters: whole numbers, of which negative ones mean none, or names."""
    if table.classes is None or len(table.classes) != n:
        raise FileError("an audit needs a column with the cluster of each object: --labels NAME.")
    names = np.asarray(table.classes, dtype=str)
    try:
        return names.astype(np.int64)
    except ValueError:
        return names


@dataclass(frozen=True, eq=False)
class Audited:
    """An audit beside the table it came from."""

    result: Audit
    table: Table
    given: Any

    def columns(self) -> dict[str, Any]:
        """One row per object: its label, the label after all moves, and how urgent the move is."""
        urgency = np.maximum(self.result.urgency, 0.0)
        return {"label": self.given, "suggested": self.result.suggested, "urgency": urgency}

    def name_of(self, i: int) -> Any:
        """What an object is called."""
        return i if self.table.ids is None else self.table.ids[i]

    def page(self, name: str, command: str) -> Report:
        """A page with the clusters and the most urgent moves."""
        result, page = self.result, Report(f"Audit of the clusters in {name}")
        facts = [("score", f"{result.score:.3f}"), ("would move", f"{result.moves.size:,}")]
        facts += [("p-value", f"{result.p_value:.2g}")] if result.null.size else []
        page.facts([("clusters", len(result.clusters)), *facts])
        page.section("Clusters").table(
            ["cluster", "size", "cohesion", "dominant", "leave", "join", "two"],
            [
                [
                    c.label,
                    c.size,
                    f"{c.cohesion:.2f}",
                    "yes" if c.is_dominant else "no",
                    c.leave.size,
                    c.join.size,
                    "-" if c.is_two is None else "yes" if c.is_two else "no",
                ]
                for c in result.clusters
            ],
        )
        page.text(
            "Cohesion is 1 for a dominant set at its own scale. Members leave if another cluster holds them "
            "more strongly than their own."
        )
        for a, b in result.pairs:
            page.text(f"{a} and {b} are one group: no valley lies between them.", "note")
        if result.moves.size:
            rows = [
                [self.name_of(int(i)), self.given[i], result.suggested[i], f"{result.urgency[i]:.3f}"]
                for i in result.moves[:50]
            ]
            page.section("Most urgent moves").table(["object", "from", "to", "urgency"], rows)
        return page.made(command, [("dominantsets", version("dominantsets"))])
