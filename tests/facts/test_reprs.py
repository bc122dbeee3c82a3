"""What an object shows of itself is one short line, however large it is."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets import (
    DominantSetHierarchy,
    DominantSets,
    as_similarity,
    correlation_clusters,
    dominant_sets,
    path_spectrum,
    solve,
)
from dominantsets.segmentation import segment
from support import KINDS, random_similarity, similarity_of

A = random_similarity(60, seed=0)
X = np.concatenate([c + np.random.default_rng(0).normal(size=(80, 2)) for c in ((0, 0), (9, 0), (0, 9))])


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: DominantSetHierarchy().fit(X).root_, "240 objects"),
        (lambda: path_spectrum(as_similarity(X, "path")), "240 objects"),
        (lambda: segment(np.eye(30), 2), "30 × 30 pixels"),
        (lambda: solve(A, trace=True, algorithm="pairwise").trace, "iterations"),
        (lambda: solve(A), "members"),
        (lambda: DominantSets(3).fit(X).selection_, "3 clusters"),
        (lambda: DominantSets(3).fit(X).choice_, "print it"),
        (lambda: dominant_sets(A), "dominant sets of 60 objects"),
        (lambda: correlation_clusters(A), "value="),
    ],
)
def test_results(made, words):
    shown = repr(made())
    assert words in shown
    assert len(shown) < 300
    assert "\n" not in shown
    assert "array(" not in shown


@pytest.mark.parametrize("kind", KINDS)
def test_similarities(kind, tmp_path):
    S, _ = similarity_of(kind, "float64", tmp_path)
    shown = repr(S)
    assert f"{S.n} objects" in shown
    assert len(shown) < 120
    assert " at 0x" not in shown
