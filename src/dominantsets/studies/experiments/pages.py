"""All of it: work through the studies, and write one page about them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from dominantsets.app.files import write_text
from dominantsets.app.machine import provenance
from dominantsets.studies.experiments import STUDIES, StudyError, run_study, settings_of
from dominantsets.studies.experiments._common import Page, Store, check_folder
from dominantsets.studies.experiments.paper import ADDRESS, AUTHORS, CLAIMS, NUMBER, TITLE, YEAR


def reproduce_studies(
    names: list[str],
    out: Path,
    *,
    quick: bool = False,
    literal: bool = False,
    command: str = "",
    tell: Callable[[str, int, int], None] | None = None,
) -> dict[str, str]:
    """Run studies and write report.html; the reasons of those that could not be made here.

    Parameters
    ----------
    names : list of str
        Studies, of ``STUDIES``.
    out : Path
        A folder that exists. What an earlier run of the same kind left there is used.
    quick : bool, default=False
        A small version of everything.
    literal : bool, default=False
        Newsgroups with the shift that the paper's text states.
    command : str
        How it was asked for, for the page.
    tell : callable, optional
        Called with a study's name, parts done and parts in all.

    Returns
    -------
    dict of str to str
        Studies that are left out, and why.
    """
    settings = settings_of(quick, literal)
    check_folder(out, settings)
    left_out: dict[str, str] = {}
    clock = _Clock(out / "durations.json")
    for name in names:
        try:
            for done, total in run_study(STUDIES[name], out, quick=quick, literal=literal):
                clock.add(name)
                if tell is not None:
                    tell(name, done, total)
        except StudyError as error:
            left_out[name] = str(error)
    body = Page("")
    for name, study in STUDIES.items():
        rows = Store(out / f"{name}.csv").rows
        if name in left_out:
            body.section(study.title).text(left_out[name], "warning")
        elif rows:
            body.section(study.title)
            study.tell(rows, body, out)
    page = Page("The paper, reproduced").link(
        f'{AUTHORS}, "{TITLE}" ({YEAR}), ',
        NUMBER,
        ADDRESS,
        ": its studies and its claims, with dominantsets.",
    )
    if quick:
        page.text("A quick run: fewer data sets, levels and iterations than the paper's.", "warning")
    page.section("What the paper says, and what comes out here")
    page.table(["claim", "verdict", "our numbers", "study"], _claims(body, left_out), "words")
    page.include(body)
    page.made(
        command,
        [("work", clock.told()), ("rows", "the CSV files beside this page, with seeds"), *provenance()],
    )
    write_text(out / "report.html", page.html())
    return left_out


def _claims(body: Page, left_out: dict[str, str]) -> list[list[str]]:
    """All claims, those first that were looked at."""
    rows = []
    for key, claim in CLAIMS.items():
        why = "the study is left out" if claim.study in left_out else "not in this run"
        word, evidence = body.verdicts.get(key, ("not tested", why))
        rows.append([claim.text, word, evidence, claim.study])
    return rows


class _Clock:
    """Seconds of work by study, over all runs that filled a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds: dict[str, float] = json.loads(path.read_text("utf-8")) if path.exists() else {}
        self._last = time.perf_counter()

    def add(self, study: str) -> None:
        now = time.perf_counter()
        self._seconds[study] = self._seconds.get(study, 0.0) + now - self._last
        self._last = now
        write_text(self._path, json.dumps(self._seconds, indent=1) + "\n")

    def told(self) -> str:
        parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self._seconds.items())
        return f"{sum(self._seconds.values()):.0f} s ({parts})"
