"""All of it: work through the studies, and write one page about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dominantsets.app.experiments import STUDIES, StudyError, run_study, settings_of
from dominantsets.app.experiments._common import Store, check_folder
from dominantsets.app.files import write_text
from dominantsets.app.report import Report

PAPER = (
    'C. Johnell and M. Haghir Chehreghani, "Efficient Optimization of Dominant Set Clustering with '
    'Frank-Wolfe Algorithms"'
)


def reproduce_studies(
    names: list[str],
    out: Path,
    *,
    quick: bool = False,
    literal: bool = False,
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
    tell : callable, optional
        Called with a study's name, parts done and parts in all.

    Returns
    -------
    dict of str to str
        Studies that are left out, and why.
    """
    check_folder(out, settings_of(quick, literal))
    left_out: dict[str, str] = {}
    for name in names:
        try:
            for done, total in run_study(STUDIES[name], out, quick=quick, literal=literal):
                if tell is not None:
                    tell(name, done, total)
        except StudyError as error:
            left_out[name] = str(error)
    page = Report("The paper, reproduced").text(f"The studies of {PAPER}, with dominantsets.")
    if quick:
        page.text("A quick run: fewer data sets, levels and iterations than the paper's.", "warning")
    for name, study in STUDIES.items():
        rows = Store(out / f"{name}.csv").rows
        if name in left_out:
            page.section(study.title).text(left_out[name], "warning")
        elif rows:
            page.section(study.title)
            study.tell(rows, page, out)
    settings = settings_of(quick, literal)
    versions = ", ".join(f"{package} {number}" for package, number in settings["versions"].items())
    page.section("Settings").text(
        f"{versions}. Rows with seeds and settings: the CSV files beside this page."
    )
    write_text(out / "report.html", page.html())
    return left_out
