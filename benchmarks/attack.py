"""Every kind of claim where it is hardest to keep: how many were made, and how many are false.

Run ``nice python benchmarks/attack.py``; it prints a table and writes results/attack.json. The problems are
the degenerate ones of soundness.py, with other numbers. The file has one column per version of the package:
``PYTHONPATH=other/src python benchmarks/attack.py --column "commit e16a6aa"`` attacks another checkout.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import pin_threads

pin_threads(1)

from _degenerate import KINDS, claims  # noqa: E402 (after the threads are pinned)
from _resumed import go_on  # noqa: E402

FIRST = 10_000_000  # number of the first problem: soundness.py has those below
RESULTS = Path(__file__).parent / "results" / "attack.json"


class Tally:
    """How often each claim was made of problems of each kind, how often it was false, and of which first."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.problems: int = known.get("problems", 0)
        self.claims: dict[str, dict[str, int]] = known.get("claims", {})
        self.errors: dict[str, str] = known.get("errors", {})

    def take(self, name: str, holds: bool, number: int) -> None:
        row = self.claims.setdefault(name, {"cases": 0, "false": 0})
        row["cases"] += 1
        if not holds:
            row["false"] += 1
            row.setdefault("first", number)

    def made(self) -> int:
        return self.problems

    def failed(self, number: int, error: Exception) -> None:
        self.errors[str(number)] = repr(error)[:200]

    def add(self, content: dict[str, Any]) -> None:
        self.problems += content["problems"]
        self.errors |= content["errors"]
        for name, new in content["claims"].items():
            row = self.claims.setdefault(name, {"cases": 0, "false": 0})
            row["cases"] += new["cases"]
            row["false"] += new["false"]
            if "first" in new:
                row["first"] = min(new["first"], row.get("first", new["first"]))

    def content(self) -> dict[str, Any]:
        rows = dict(sorted(self.claims.items()))
        return {"problems": self.problems, "claims": rows, "errors": self.errors}

    def show(self) -> None:
        print(f"{self.problems:,} problems, {len(self.errors)} errors")
        for name, row in self.content()["claims"].items():
            print(f"{name:45} {row['cases']:8,} {row['false']:6,}  {row.get('first', '')}")


def one_problem(tally: Tally, number: int) -> None:
    """Problem ``number``: the kinds take turns."""
    kind = list(KINDS)[number % len(KINDS)]
    tally.problems += 1
    made: Iterator[tuple[str, bool]] = claims(kind, number)
    for claim, holds in made:
        tally.take(f"{kind}: {claim}", holds, number)


if __name__ == "__main__":
    go_on(__doc__, RESULTS, Tally, one_problem, n=2_000 * len(KINDS), every=200, first=FIRST, columns=True)
