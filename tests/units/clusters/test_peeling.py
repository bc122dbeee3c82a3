"""Peeling: masks instead of copies, and why it ends."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import numpy as np

from dominantsets import End, peel
from dominantsets.clusters import peeling as module
from support import cliques


def test_four_in_a_row_that_do_not_stand_alone_are_the_end(monkeypatch):
    """Where no number is given; one that stands alone begins the count again."""
    alone = iter([True, False, False, False, True] + 20 * [False])
    monkeypatch.setattr(module, "judge", lambda problem, found: SimpleNamespace(significant=next(alone)))
    peeling = peel(cliques([3] * 15, np.linspace(1.0, 2.0, 15)))
    assert len(list(peeling)) == 9
    assert peeling.end is End.NOT_COHERENT
    assert [one.significant for one in peeling.judgements] == [True, *3 * [False], True, *4 * [False]]
    assert len(list(peel(cliques([3] * 15, np.linspace(1.0, 2.0, 15))))) == 4  # none of them does


def test_what_is_told_of_each_cluster(caplog):
    with caplog.at_level(logging.DEBUG, logger="dominantsets"):
        list(peel(cliques([4, 3, 2]), 3))
    told = [record.getMessage() for record in caplog.records if record.name == module.__name__]
    assert [(words.split(":")[0], words.split(", ")[-1]) for words in told] == [
        ("cluster 1", "5 left"), ("cluster 2", "2 left"), ("cluster 3", "0 left"),
    ]  # fmt: skip
