"""Segmentation of images."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import loadmat
from skimage import data, io
from skimage.transform import resize
from sklearn.metrics import adjusted_rand_score

from dominantsets.segmentation import Segmentation, color_features, segment

TWO = np.zeros((20, 30, 3), dtype=np.uint8)
TWO[:, 15:] = (255, 60, 60)


def test_two_colors_are_two_segments():
    result = segment(TWO, 2, smooth=0.0)
    assert isinstance(result, Segmentation)
    assert result.labels.shape == (20, 30)
    assert len(np.unique(result.labels[:, :15])) == 1
    assert len(np.unique(result.labels[:, 15:])) == 1
    assert result.labels[0, 0] != result.labels[0, 29]
    assert all(c.strict and c.relative_gap < 1e-12 for c in result.clusters)


@pytest.mark.parametrize(
    "image",
    [
        TWO.astype(np.uint16) * 257,
        TWO / 255.0,
        (TWO / 255.0).astype(np.float32),
        np.dstack([TWO, np.full((20, 30), 128, dtype=np.uint8)]),
        np.where(TWO[..., 0] > 0, 200, 20).astype(np.uint8),
        TWO[..., 0] > 0,
        TWO[..., :1],
    ],
    ids=["uint16", "float64", "float32", "rgba", "grey", "bool", "one channel"],
)
def test_every_usual_kind_of_image(image):
    expected = segment(TWO, 2, smooth=0.0).labels
    assert adjusted_rand_score(expected.ravel(), segment(image, 2, smooth=0.0).labels.ravel()) == 1.0


def test_features_are_the_papers():
    # pure red: h = 0, s = v = 1; grey: s = 0; green: h = 1/3
    rgb = np.array([[[1.0, 0, 0], [0.5, 0.5, 0.5], [0, 1.0, 0]]])
    expected = [[1, 0, 1], [0.5, 0, 0], [1, np.sin(2 * np.pi / 3), np.cos(2 * np.pi / 3)]]
    np.testing.assert_allclose(color_features(rgb), expected, atol=1e-12)


def test_one_pixel_and_one_color():
    assert segment(np.zeros((1, 1, 3), dtype=np.uint8), 3).labels.tolist() == [[0]]
    assert (segment(np.array([[0, 255]], dtype=np.uint8), 2).labels >= 0).all()
    assert set(segment(np.full((6, 7, 3), 77, dtype=np.uint8), 3).labels.ravel()) == {0}


@pytest.mark.parametrize(
    ("image", "options", "words"),
    [
        (np.zeros((0, 5, 3)), {}, "no pixels"),
        (np.zeros((4, 5, 2)), {}, r"\(h, w, 4\), got \(4, 5, 2\)"),
        (np.zeros(5), {}, "shape"),
        (np.full((3, 3), 7.0), {}, "between 0 and 1"),
        (np.full((3, 3), np.nan), {}, "between 0 and 1"),
        (np.zeros((3, 3), dtype=complex), {}, "complex128 is not known"),
        (np.zeros((3, 3), dtype=np.int64), {}, "int64 is not known"),
        (TWO, {"n_segments": 0}, "n_segments must be a whole number"),
        (TWO, {"shift": "large"}, "a number or 'auto'"),
        (TWO, {"smooth": -1.0}, "smooth must be at least 0"),
        (TWO, {"downscale": 0}, "downscale must be a whole number"),
        (TWO, {"position": -1.0}, "position must be at least 0"),
    ],
)
def test_bad_images_and_options(image, options, words):
    with pytest.raises(ValueError, match=words):
        segment(image, **{"n_segments": 2, **options})


def test_downscaling_keeps_the_shape_and_nearly_the_labels():
    image = np.kron(TWO, np.ones((4, 4, 1), dtype=np.uint8))
    small = segment(image, 2, downscale=4)
    assert small.labels.shape == (80, 120)
    assert small.cores.shape == (20, 30)
    full = segment(image, 2, smooth=0.0).labels
    assert adjusted_rand_score(full.ravel(), small.labels.ravel()) > 0.9


def test_position_tells_equal_colors_apart():
    image = np.zeros((10, 60), dtype=np.uint8)
    image[:, 25:35] = 255  # two black fields with a white bar between them
    without = segment(image, 2, smooth=0.0)
    assert without.labels[0, 0] == without.labels[0, 59]
    with_places = segment(image, 3, smooth=0.0, position=3.0, shift=0.5)
    assert with_places.labels[0, 0] != with_places.labels[0, 59]


def test_a_bundled_photograph_at_full_size():
    image = data.coffee()  # 400 × 600
    result = segment(image, 4)
    assert result.labels.shape == image.shape[:2]
    assert (result.labels >= 0).all()
    assert 2 <= len(result.clusters) <= 4


def test_an_animal_before_the_sky():
    """The silhouette that scikit-image has, brown, before a sky that grows darker downwards, and noise."""
    animal = resize(data.horse().astype(float), (82, 100), order=0) < 0.5
    down = np.linspace(1.0, 0.75, len(animal))[:, None, None]
    image = np.where(animal[..., None], [0.45, 0.3, 0.2], down * [0.45, 0.65, 0.9])
    image = np.clip(image + np.random.default_rng(0).normal(scale=0.02, size=image.shape), 0.0, 1.0)
    labels = segment(image, 2, shift=15.0, smooth=0.0).labels
    assert adjusted_rand_score(animal.ravel(), labels.ravel()) > 0.99


def test_the_papers_airplane(data_folder):
    """Two segments agree with the four people who separated airplane and sky."""
    image = io.imread(data_folder / "images" / "airplane_3096_120x80.png")
    people = [
        entry[0, 0]["Segmentation"]
        for entry in loadmat(data_folder / "images" / "3096.mat")["groundTruth"][0]
    ]
    labels = segment(image, 2, shift=15.0, smooth=0.0).labels.ravel()
    scores = []
    for person in people:
        small = resize(person, image.shape[:2], order=0, preserve_range=True, anti_aliasing=False)
        scores.append(adjusted_rand_score(small.ravel(), labels))
    assert len(scores) == 5
    assert np.mean([scores[k] for k in (0, 1, 3, 4)]) >= 0.85  # the third cut the sky along its clouds
