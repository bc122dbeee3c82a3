"""Many numbered cases whose counts are kept in a file: a stopped run goes on where it was."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from _machine import machine


class Tally(Protocol):
    """What is counted."""

    def made(self) -> int:
        """How much has been done, of what ``--n`` asks for."""

    def failed(self, number: int, error: Exception) -> None:
        """A case that ended with an error."""

    def content(self) -> dict[str, Any]:
        """What the file keeps, and a new tally begins with."""

    def add(self, content: dict[str, Any]) -> None:
        """Take in what another process has counted; for ``--jobs`` only."""

    def show(self) -> None:
        """Print a table."""


T = TypeVar("T", bound=Tally)


def go_on(
    about: str,
    out: Path,
    begin: Callable[[dict[str, Any]], T],
    one: Callable[[T, int], None],
    n: int,
    every: int,
    first: int = 0,
    columns: bool = False,
) -> None:
    """Cases ``one(tally, number)`` until ``--n`` are made; the file is written after ``every`` of them.

    With ``columns`` a file holds several such runs side by side, each under the name that ``--column`` gives.
    """
    arguments = argparse.ArgumentParser(description=about.splitlines()[0])
    arguments.add_argument("--n", type=int, default=n, help="how many in all")
    arguments.add_argument("--seed", type=int, default=first, help="the number of the first case")
    arguments.add_argument("--out", type=Path, default=out)
    arguments.add_argument("--afresh", action="store_true", help="forget what the file counts")
    arguments.add_argument("--jobs", type=int, default=1, help="processes that share the cases")
    if columns:
        arguments.add_argument("--column", default="now", help="what the file calls this run")
    options = arguments.parse_args()
    file = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    known = file.get(options.column, {}) if columns else file
    if options.afresh or known.get("seed") != options.seed:
        known = {"seed": options.seed, "next": options.seed, "seconds": 0.0}
    tally, number, began = begin(known), int(known["next"]), time.perf_counter()
    before = float(known["seconds"])

    def save() -> None:
        seconds = round(before + time.perf_counter() - began, 1)
        content = {"seed": options.seed, "next": number, "seconds": seconds, **tally.content()}
        content |= {"machine": machine()}
        whole = {**file, options.column: content} if columns else content
        options.out.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")

    try:
        if options.jobs > 1:  # all numbers up to n, which are then as many cases
            numbers = range(number, options.seed + options.n, every)
            parts = [range(k, min(k + every, options.seed + options.n)) for k in numbers]
            with ProcessPoolExecutor(options.jobs) as pool:
                for content in pool.map(partial(_counted, begin, one), parts):
                    tally.add(content)
            number = options.seed + options.n
        while tally.made() < options.n:
            _case(tally, one, number)
            number += 1
            if number % every == 0:
                save()
    except KeyboardInterrupt:
        print("stopped; run it again to go on")
    save()
    tally.show()


def _case(tally: Tally, one: Callable[[Any, int], None], number: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            one(tally, number)
        except Exception as error:
            tally.failed(number, error)


def _counted(
    begin: Callable[[dict[str, Any]], T], one: Callable[[T, int], None], numbers: range
) -> dict[str, Any]:
    """Some cases, counted from nothing: the work of one process."""
    tally = begin({})
    for number in numbers:
        _case(tally, one, number)
    return tally.content()
