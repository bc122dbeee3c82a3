"""A bar for long work: an ordinary callback, made inside a run and never a parameter's value."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dominantsets.solvers import Callback, Progress


@contextmanager
def progress_bar(
    callback: Callback | None, n_clusters: int | None, n: int, *, stream: Any = None
) -> Iterator[Callback | None]:
    """A bar on the terminal, and the callback that moves it and then calls the user's.

    The callback is passed through where the stream is no terminal or rich is not installed. Done is the share
    of the clusters asked for, or, where that is open, of the objects in a cluster.
    """
    stream = sys.stderr if stream is None else stream
    try:
        import rich.progress as bars
        from rich.console import Console
    except ModuleNotFoundError:
        yield callback
        return
    console = Console(file=stream)
    if not console.is_terminal:
        yield callback
        return
    bar = bars.Progress(
        bars.TextColumn("{task.description}"),
        bars.BarColumn(bar_width=24),
        bars.TextColumn(
            "{task.fields[found]} clusters, {task.fields[left]:,} objects left, gap {task.fields[gap]}"
        ),
        bars.TextColumn("{task.fields[rate]}"),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    total = n if n_clusters is None else n_clusters
    task = bar.add_task("clustering", total=total, found=0, left=n, gap="-", rate="")

    def tell(progress: Progress) -> bool | None:
        done = n - progress.n_left if n_clusters is None else progress.n_clusters
        rate = f"{progress.n_clusters / progress.elapsed:.2g} clusters/s" if progress.n_clusters else ""
        bar.update(
            task,
            completed=done,
            found=progress.n_clusters,
            left=progress.n_left,
            gap=f"{progress.gap:.0e}",
            rate=rate,
        )
        return callback(progress) if callback is not None else None

    with bar:
        yield tell
