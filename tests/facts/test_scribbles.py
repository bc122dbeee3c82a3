"""Strokes on an image: what goes with each of them."""

from __future__ import annotations

import numpy as np
import pytest
from skimage import data
from skimage.transform import resize

from dominantsets.segmentation import segment

THREE = np.zeros((24, 60, 3), dtype=np.uint8)
THREE[:, 20:40] = (255, 60, 60)
THREE[:, 40:] = (60, 60, 255)
STROKES = np.zeros((24, 60), dtype=np.int64)
STROKES[5:9, 4], STROKES[5:9, 30], STROKES[12, 50:55] = 3, 5, 9


def test_each_colour_goes_to_its_stroke():
    found = segment(THREE, scribbles=STROKES, smooth=0.0)
    expected = np.repeat([3, 5, 9], 20)
    assert (found.labels == expected).all()
    assert (found.cores[found.cores >= 0] == found.labels[found.cores >= 0]).all()
    assert found.regions.shape == (24, 60)


def test_a_stroke_over_two_colours_takes_both():
    """Sets go on around seeds that are left; the labels of strokes are kept whatever is drawn."""
    strokes = np.zeros_like(STROKES)
    strokes[10, 5:35], strokes[12, 50] = 1, 2
    labels = segment(THREE, scribbles=strokes, smooth=0.0).labels
    assert (labels == np.repeat([1, 1, 2], 20)).all()
    rng = np.random.default_rng(0)
    wild = np.where(rng.random(STROKES.shape) < 0.2, rng.integers(1, 4, STROKES.shape), 0)
    labels = segment(THREE, scribbles=wild, smooth=0.0).labels
    assert (labels[wild > 0] == wild[wild > 0]).all()


def test_one_label_is_what_is_like_it():
    for strokes in (STROKES == 5, np.where(STROKES == 5, 7, 0)):
        labels = segment(THREE, scribbles=strokes, smooth=0.0).labels
        inside = labels == strokes.max()
        assert set(np.unique(labels)) == {0, int(strokes.max())}
        assert (inside == (np.repeat([0, 1, 0], 20) > 0)).all()


def test_an_animal_and_its_sky_from_two_strokes():
    """The silhouette that scikit-image has, brown, before a sky that grows darker downwards, and noise."""
    animal = resize(data.horse().astype(float), (164, 200), order=0) < 0.5
    down = np.linspace(1.0, 0.75, len(animal))[:, None, None]
    image = np.where(animal[..., None], [0.45, 0.3, 0.2], down * [0.45, 0.65, 0.9])
    image = np.clip(image + np.random.default_rng(0).normal(scale=0.02, size=image.shape), 0.0, 1.0)
    strokes = np.zeros(animal.shape, dtype=np.uint8)
    body = np.argwhere(animal).mean(axis=0).astype(int)
    strokes[body[0], body[1] - 10 : body[1] + 10], strokes[1, 20:180] = 1, 2
    assert animal[strokes == 1].all()
    assert not animal[strokes == 2].any()
    assert ((segment(image, scribbles=strokes).labels == 1) == animal).mean() > 0.97


def test_sets_are_certified_and_meet_their_strokes():
    """Every set is a KKT point among the regions that were left to it, and has a stroke of its label."""
    image = data.astronaut()[::4, ::4]
    strokes = np.zeros(image.shape[:2], dtype=np.int64)
    strokes[20:40, 55], strokes[5:60, 10], strokes[100:110, 30:80] = 1, 2, 3
    found = segment(image, scribbles=strokes)
    own = np.zeros(found.regions.max() + 1, dtype=np.int64)
    own[found.regions[strokes > 0]] = strokes[strokes > 0]
    assert {int(own[c.members].max()) for c in found.clusters} == {1, 2, 3}
    for cluster in found.clusters:
        assert np.unique(own[cluster.members][own[cluster.members] > 0]).size == 1
        assert cluster.relative_gap < 1e-8
        assert cluster.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("scribbles", "words"),
    [
        (np.zeros((24, 60), dtype=int), "scribbles are empty"),
        (np.ones((24, 59), dtype=int), r"shape \(24, 60\) of the image, got \(24, 59\)"),
        (np.ones((24, 60, 3), dtype=int), "shape"),
        (np.ones((24, 60)), "whole numbers, got float64"),
        (-np.ones((24, 60), dtype=int), "have the label -1"),
    ],
)
def test_scribbles_that_cannot_be_meant(scribbles, words):
    with pytest.raises(ValueError, match=words):
        segment(THREE, scribbles=scribbles)


def test_scribbles_or_a_number():
    for options in ({}, {"n_segments": 2, "scribbles": STROKES}):
        with pytest.raises(ValueError, match="either n_segments or scribbles"):
            segment(THREE, **options)
    with pytest.raises(ValueError, match="downscale=2 goes with n_segments only"):
        segment(THREE, scribbles=STROKES, downscale=2)
