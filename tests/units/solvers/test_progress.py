"""The bar: there on a terminal, nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from dominantsets import Progress
from dominantsets.solvers.progress import progress_bar


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def progress(n_clusters=2, n_left=50):
    return Progress(
        n_iter=3, value=1.0, gap=1e-3, support_size=5, n_clusters=n_clusters, n_left=n_left, elapsed=0.5
    )


@pytest.fixture
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_wide")
def test_a_bar_on_a_terminal_says_where_the_run_stands():
    stream, seen = Terminal(), []
    with progress_bar(seen.append, 10, 100, stream=stream) as callback:
        callback(progress())
    shown = stream.getvalue()
    for words in ("2 clusters", "50 objects left", "gap 1e-03", "4 clusters/s"):
        assert words in shown
    assert len(seen) == 1  # the user's callback is called too


@pytest.mark.usefixtures("_wide")
def test_the_users_callback_still_stops_the_run():
    with progress_bar(lambda _: True, None, 100, stream=Terminal()) as callback:
        assert callback(progress()) is True
    with progress_bar(None, None, 100, stream=Terminal()) as callback:
        assert callback(progress()) is None


def test_no_bar_elsewhere(monkeypatch):
    stream = io.StringIO()
    with progress_bar(None, 10, 100, stream=stream) as callback:
        assert callback is None
    assert stream.getvalue() == ""
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with progress_bar(None, 10, 100, stream=Terminal()) as callback:
        assert callback is None
