"""The command line."""

from __future__ import annotations

import time
import warnings
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, __version__

app = typer.Typer(
    help="Dominant set clustering: groups whose members are more alike than anything outside.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

# The paper's methods with its starts, and the default.
METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("default (dual)", {}),
    ("pairwise", {"algorithm": "pairwise"}),
    ("away-steps", {"algorithm": "away", "max_iter": 20_000}),
    ("Frank-Wolfe", {"algorithm": "fw", "max_iter": 20_000}),
    ("replicator", {"algorithm": "replicator", "start": "barycenter", "max_iter": 1_000}),
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


@app.command()
def demo() -> None:
    """Cluster scikit-learn's bundled digits with every method and print a table.

    Example: dominantsets demo
    """
    X, y = load_digits(return_X_y=True)
    table = Table(title=f"{len(X):,} handwritten digits of {X.shape[1]} pixels, 10 clusters asked for")
    table.add_column("method", no_wrap=True)
    for column in ("clusters", "assigned", "ARI", "iterations", "gap", "time"):
        table.add_column(column, justify="right", no_wrap=True)
    with Console(stderr=True).status("compiling (first run only) and clustering ..."):
        for _, parameters in METHODS:  # so that the times below are not the compiler's
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                DominantSets(2, **parameters).fit(X[:50])
        for name, parameters in METHODS:
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # gap and clusters say what the warnings would
                model = DominantSets(10, **parameters).fit(X)
            seconds = time.perf_counter() - began
            inside = model.labels_ >= 0
            ari = adjusted_rand_score(y[inside], model.labels_[inside]) if inside.any() else np.nan
            table.add_row(
                name,
                f"{model.n_clusters_}",
                f"{model.assignment_rate_:.0%}",
                f"{ari:.2f}",
                f"{model.n_iter_:,}",
                f"{max(c.relative_gap for c in model.clusters_):.0e}",
                f"{seconds:.2f} s",
            )
    console = Console()
    console.print(table)
    console.print(
        "assigned: share of the digits in a cluster, the rest are left alone as noise\n"
        "ARI: agreement of the assigned with the true digits (1 is perfect)\n"
        "gap: largest distance of an answer from stationary, relative and recomputed\n"
        "replicator: stopped after 1,000 iterations a cluster, too few for it to let\n"
        "objects go, so that almost everything ends in its first clusters"
    )
