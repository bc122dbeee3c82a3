"""The command line: its name, its version and its commands, which are in ``commands/``.

Nothing heavy is imported here, so that ``--help`` and ``--version`` answer at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from dominantsets import __version__
from dominantsets.app.commands.audit import audit
from dominantsets.app.commands.cluster import cluster, predict
from dominantsets.app.commands.deduplicate import deduplicate
from dominantsets.app.commands.hierarchy import hierarchy
from dominantsets.app.commands.info import info
from dominantsets.app.commands.segment import segment
from dominantsets.app.commands.studies import demo, reproduce

app = typer.Typer(
    help="Dominant set clustering: groups whose members are more alike than anything outside.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 2 bad input or usage, 3 stopped early with partial results, 130 Ctrl-C "
    "(partial results are written). Tab completion: dominantsets --install-completion.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dominantsets {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Dominant set clustering: groups whose members are more alike than anything outside."""


def _paragraphs(text: str) -> str:
    """A docstring whose lines end where the terminal's do."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


for command in (cluster, predict, hierarchy, audit, deduplicate, segment, demo, reproduce, info):
    app.command(help=_paragraphs(command.__doc__ or ""))(command)
