"""The demonstration, and the paper reproduced."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dominantsets.app.commands._common import INTERRUPTED, PARTIAL, Which, command_line, fail
from dominantsets.app.commands._interrupts import at_work
from dominantsets.compiled.interrupts import all_or_nothing, check, listening

if TYPE_CHECKING:
    from rich.console import Console

    from dominantsets.app.demo import Story
    from dominantsets.app.report import Report


def demo(
    out: Annotated[Path, typer.Option(help="Folder for demo.html and the pictures.")] = Path("demo"),
) -> None:
    """Five short stories on data that ships with the dependencies: tables here, pictures in a page.

    Example: dominantsets demo --out demo
    """
    from rich.console import Console

    from dominantsets.app import files

    console = Console()
    try:
        import matplotlib

        matplotlib.use("Agg")
        from dominantsets.app.demo import stories
        from dominantsets.app.machine import provenance
        from dominantsets.app.report import Report
    except ModuleNotFoundError as error:
        raise fail(str(error)) from error
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise fail(f"{out}: cannot be made a folder ({error.strerror}).") from error
    page, began = Report("dominantsets: a demonstration"), time.perf_counter()
    page.text("Everything below was computed on this machine just now, from data that ship with the library.")
    try:
        with at_work(), all_or_nothing(), listening():  # a story of fits that were interrupted is not told
            _tell(stories(), page, console, out)
    except KeyboardInterrupt:
        page.text("Interrupted here: this page is partial.", "warning")
        files.write_text(out / "demo.html", page.html())
        sys.stderr.write(f"dominantsets: interrupted; {out / 'demo.html'} is partial.\n")
        raise typer.Exit(INTERRUPTED) from None
    except files.FileError as error:
        raise fail(str(error)) from error
    seconds = time.perf_counter() - began
    page.made(command_line(), [("time", f"{seconds:.0f} s in all"), *provenance()])
    files.write_text(out / "demo.html", page.html())
    console.print(
        f"\nPictures and [bold]{out / 'demo.html'}[/bold] are written; {seconds:.0f} s in all.",
        highlight=False,
    )


def _tell(parts: Iterator[Story], page: Report, console: Console, out: Path) -> None:
    """Story after story, on the console and on the page."""
    from rich.console import Console
    from rich.table import Table

    from dominantsets.app import files
    from dominantsets.plotting import plt

    while True:
        with Console(stderr=True).status("clustering (the first run compiles) ..."):
            story = next(parts, None)
        check()
        if story is None:
            break
        page.section(story.title).text(story.text)
        console.print(f"\n[bold]{story.title}[/bold]\n{story.text}", highlight=False)
        if story.rows:
            table = Table()
            for place, name in enumerate(story.head):
                widest = max(len(name), *(len(row[place]) for row in story.rows))
                table.add_column(  # figures are never cut off, names may go on in the next line
                    name,
                    justify="right" if place else "left",
                    overflow="fold",
                    min_width=widest if place else None,
                )
            for row in story.rows:
                table.add_row(*row)
            console.print(table)
            page.table(story.head, story.rows)
        if story.note:
            page.text(story.note, "note")
        for name, figure, caption in story.pictures:
            with files.replacing(out / f"{name}.png") as draft:
                figure.savefig(draft, dpi=110)
            page.figure(figure, caption)
            plt.close(figure)


def reproduce(
    study: Annotated[Which, typer.Argument(help="Which of the paper's studies.")] = "all",
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version of everything, about two minutes.")
    ] = False,
    literal: Annotated[
        bool, typer.Option("--literal", help="Newsgroups with the shift that the text states (cosine + 16).")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for results; a stopped run resumes there.")] = Path(
        "reproduction"
    ),
) -> None:
    """Run the paper's studies and set our figures beside the paper's: tables, pictures, CSV and a page.

    Example: dominantsets reproduce synthetic --quick --out reproduction
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from dominantsets.studies.experiments import STUDIES
        from dominantsets.studies.experiments.pages import reproduce_studies
    except ModuleNotFoundError as error:
        raise fail(str(error)) from error
    from rich.console import Console

    names: list[str] = list(STUDIES) if study == "all" else [study]
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        out.mkdir(parents=True, exist_ok=True)
        bar = Progress(*columns, console=Console(stderr=True))
        with at_work(), all_or_nothing(), listening(), bar:
            tasks = {name: bar.add_task(name, total=None) for name in names}

            def tell(name: str, done: int, total: int) -> None:
                bar.update(tasks[name], completed=done, total=total)

            left_out = reproduce_studies(
                names, out, quick=quick, literal=literal, command=command_line(), tell=tell
            )
    except KeyboardInterrupt:
        sys.stderr.write(f"dominantsets: stopped; what is done is kept in {out}, run it again to go on.\n")
        raise typer.Exit(INTERRUPTED) from None
    except (ValueError, RuntimeError, OSError) as error:
        raise fail(str(error)) from error
    for name, reason in left_out.items():
        sys.stderr.write(f"dominantsets: {name} is left out: {reason}\n")
    typer.echo(f"{out / 'report.html'} is written.")
    if left_out:
        raise typer.Exit(PARTIAL)
