"""Complexes of proteins that sets match: the score of benchmarks/overlap.py, and what it finds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from dominantsets import dominant_sets

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def overlap(monkeypatch):
    """The script as a module, with its folder as Python has it when it is run."""
    pytest.importorskip("networkx")
    monkeypatch.setitem(sys.modules, "_machine", None)
    monkeypatch.delitem(sys.modules, "_machine")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("overlap_benchmark", BENCHMARKS / "overlap.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_score_by_hand(overlap):
    """|C ∩ R|² / (|C| |R|): 4/9 for two of three, 1/9 for one of three, 1/4 for two of four and four."""
    references = [(0, 1, 2), (3, 4, 5, 6), (7, 8, 9)]
    told = overlap.scores([[0, 1, 9], [3, 4, 0, 1], [5, 6]], references, 10)
    assert told["matched"] == 2
    assert told["share_of_sets_that_match"] == 1.0
    assert told["shared_proteins"] == 2
    assert told["overlapping_pairs"] == 1
    assert told["largest_share_of_the_smaller"] == pytest.approx(2 / 3, abs=1e-3)
    assert overlap.scores([[0, 3, 7]], references, 10)["matched"] == 0
    assert overlap.discarded([[0, 1, 2], [2, 3, 4], [5, 6]]) == 1


def test_sets_of_the_network_match_more_complexes_than_label_propagation(overlap, data_folder):
    """At least the 345 of 501 that label propagation matches, counted here pair by pair."""
    A, complexes = overlap._real.network()
    assert A.shape == (1622, 1622)
    assert data_folder.exists()
    references = sorted({tuple(sorted(set(c))) for c in complexes})
    assert len(references) == 501
    found = dominant_sets(A, shift=0.5)
    assert found.method == "tabu"
    sets = [set(map(int, one.members)) for one in found if len(one) > 1]
    plain = sum(any(len(one & set(r)) ** 2 >= 0.25 * len(one) * len(r) for one in sets) for r in references)
    told = overlap.scores([sorted(one) for one in sets], references, 1622)
    assert told["matched"] == plain >= 345
    times = np.bincount([p for one in sets for p in one])
    assert told["shared_proteins"] == np.count_nonzero(times > 1) > 0
