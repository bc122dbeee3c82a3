"""Pictures: what they must contain, artist by artist."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import Rectangle
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, trajectory
from dominantsets.app.report import Report
from dominantsets.plotting import (
    NOISE,
    PALETTE,
    ClusterDisplay,
    SimilarityDisplay,
    TrajectoryDisplay,
    clusters,
    color_of,
)

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    X, _ = make_blobs(120, centers=3, n_features=2, random_state=0)
    return DominantSets(2, affinity="sqeuclidean").fit(X), X


@pytest.mark.parametrize("d", [1, 2, 5])
def test_clusters_in_the_plane(d):
    X, _ = make_blobs(120, centers=3, n_features=d, random_state=0)
    model = DominantSets(2, affinity="sqeuclidean", noise=0.1).fit(X)
    display = ClusterDisplay.from_estimator(model, X)
    noise, *found, exemplars = display.ax_.collections
    assert len(noise.get_offsets()) == (model.labels_ < 0).sum()
    for color in noise.get_facecolor()[:1]:
        assert mpl.colors.to_hex(color).upper() == NOISE
    assert [len(c.get_offsets()) for c in found] == [(model.labels_ == k).sum() for k in range(2)]
    np.testing.assert_allclose(exemplars.get_offsets()[0], display.points[model.exemplars_[0]])
    sizes = found[0].get_sizes()
    inside = model.probabilities_[model.labels_ == 0]
    assert sizes.argmax() == inside.argmax()
    _, ax = plt.subplots()
    assert ClusterDisplay.from_estimator(model, X, ax=ax).ax_ is ax
    with pytest.raises(ValueError, match="X has 7 rows, the estimator was fitted on 120"):
        ClusterDisplay.from_estimator(model, X[:7])


def test_more_clusters_than_colours_have_numbers():
    centers = [(9 * i, 9 * j) for i in range(4) for j in range(3)]
    X, _ = make_blobs(240, centers=centers, random_state=0)
    model = DominantSets(12, affinity="sqeuclidean").fit(X)
    display = ClusterDisplay.from_estimator(model, X)
    assert [text.get_text() for text in display.ax_.texts] == [str(k) for k in range(model.n_clusters_)]
    for text, exemplar in zip(display.ax_.texts, model.exemplars_, strict=True):
        np.testing.assert_allclose(text.get_position(), X[exemplar])
    colors = [color_of(k) for k in range(256)]
    assert len({*colors, NOISE}) == 257


def test_the_similarity_matrix_in_the_order_of_clusters(fitted, monkeypatch):
    model, _ = fitted
    display = SimilarityDisplay.from_estimator(model)
    (image,) = display.ax_.images
    shown = np.asarray(image.get_array())
    assert shown.shape == (120, 120)
    blocks = [patch for patch in display.ax_.patches if isinstance(patch, Rectangle)]
    sizes = np.bincount(model.labels_[model.labels_ >= 0])
    assert [int(b.get_width()) for b in blocks] == sizes.tolist()
    first = int(sizes[0])
    assert shown[0, 1:first].mean() > shown[0, first:].mean()
    assert display.labels.tolist() == sorted(display.labels.tolist(), key=lambda k: (k < 0, k))
    assert mpl.colors.to_hex(blocks[0].get_edgecolor()).upper() == color_of(0).upper()
    monkeypatch.setattr(clusters, "LARGEST_MATRIX", 30)
    _, ax = plt.subplots()
    small = SimilarityDisplay.from_estimator(model, ax=ax)
    assert small.matrix.shape == (30, 30)
    assert small.ax_ is ax


def test_a_trajectory_has_a_line_for_each_object_and_for_each_cut():
    y = np.repeat([0, 1, 2], [10, 10, 20])
    A = np.where((y[:, None] == y) & (y < 2), np.where(y == 0, 0.82, 0.8), 0.2) * (1 - np.eye(40))
    run = trajectory(A, regularization=0.5)
    display = TrajectoryDisplay(run).plot()
    ax = display.ax_
    *objects, first, second, end = ax.lines
    assert len(objects) == 40
    assert [line.get_xdata()[0] for line in (first, second, end)] == [
        *(cut.step for cut in run.cuts),
        run.n_iter,
    ]
    np.testing.assert_allclose(objects[0].get_ydata(), run.weights[:, 0])
    colors = [objects[int(i)].get_color() for i in (0, 10, 20)]  # the last group, the other, the background
    assert colors == [color_of(0), color_of(2), color_of(1)]
    assert display.figure_ is ax.figure


def test_colours_are_told_apart_by_the_colour_blind():
    """Any two differ in lightness or from blue to yellow, which red-green blindness leaves."""
    from skimage.color import rgb2lab

    lab = rgb2lab(np.array([[mpl.colors.to_rgb(c) for c in PALETTE]]))[0]
    for i in range(len(lab)):
        for j in range(i):
            assert np.hypot(lab[i, 0] - lab[j, 0], lab[i, 2] - lab[j, 2]) > 12


def test_a_report_escapes_what_it_shows():
    page = Report("<b>").section("a & b").text("<script>", "note").table(["<"], [["&"]])
    figure, _ = plt.subplots()
    picture, text = page.figure(figure, "a picture"), page.html()
    assert picture.startswith(b"\x89PNG")
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert text.count("<img") == 1
    assert text.startswith("<!doctype html>")
