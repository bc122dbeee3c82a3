"""Strokes on an image: what goes with each of them."""

from __future__ import annotations

import numpy as np

from dominantsets.clusters.scribbles import label_regions, similarities, split_at_strokes
from dominantsets.segmentation import segment

THREE = np.zeros((24, 60, 3), dtype=np.uint8)
THREE[:, 20:40] = (255, 60, 60)
THREE[:, 40:] = (60, 60, 255)
STROKES = np.zeros((24, 60), dtype=np.int64)
STROKES[5:9, 4], STROKES[5:9, 30], STROKES[12, 50:55] = 3, 5, 9


def test_regions_with_strokes_of_two_labels_are_split():
    regions = np.repeat([0, 1, 2], 4).reshape(1, -1)
    strokes = np.array([[1, 0, 2, 0, 0, 1, 1, 0, 0, 0, 0, 0]])
    split, own = split_at_strokes(regions, strokes)
    assert (own[split][strokes > 0] == strokes[strokes > 0]).all()
    assert np.unique(split[0, :4]).size == 3
    assert np.unique(split[0, 4:8]).size == 1
    assert own[split[0, 5]] == 1
    assert own[split[0, 11]] == 0


def test_similarities_have_scales_of_their_own():
    means = np.random.default_rng(3).normal(size=(12, 2))
    D = np.linalg.norm(means[:, None] - means[None], axis=2)
    scale = np.array([np.sort(row)[1:8].mean() for row in D])
    expected = 1.0 / (1.0 + D**2 / (scale[:, None] * scale[None]))
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(similarities(means), expected)
    assert (similarities(np.zeros((3, 2))) == 1.0 - np.eye(3)).all()  # one flat colour


def test_nothing_is_like_a_stroke():
    A = np.zeros((4, 4))
    A[2, 3] = A[3, 2] = 1.0
    found = label_regions(A, np.array([1, 0, 2, 0]), "auto")
    assert found.labels[[0, 2, 3]].tolist() == [1, 2, 2]
    assert segment(np.zeros((1, 1)), scribbles=np.ones((1, 1), dtype=bool)).labels.tolist() == [[1]]
