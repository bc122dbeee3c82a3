"""Pictures: what they must contain, artist by artist."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dominantsets import DominantSets, solve, trajectory
from dominantsets.app.report import Report
from dominantsets.plotting import (
    NOISE,
    PALETTE,
    ClusterDisplay,
    MembershipDisplay,
    SegmentationDisplay,
    SimilarityDisplay,
    TraceDisplay,
    TrajectoryDisplay,
    clusters,
    color_of,
)
from dominantsets.segmentation import Segmentation, segment
from support import random_similarity

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


def test_axes_have_the_names_of_the_columns():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(30, 3)), 8 + rng.normal(size=(30, 3))]) * (1, 100, 1)
    frame = pd.DataFrame(X, columns=["width", "height", "depth"])
    for data, names in (
        (frame[["width", "height"]], ("width", "height")),
        (frame[["depth"]], ("depth", "")),
        (frame, ("first principal component", "second principal component")),
        (X[:, :2], ("", "")),
    ):
        ax = ClusterDisplay.from_estimator(DominantSets(2).fit(data), data).ax_
        assert (ax.get_xlabel(), ax.get_ylabel()) == names
    ax = ClusterDisplay.from_estimator(DominantSets(2).fit(X[:, :2]), X[:, :2], names=["a", "b"]).ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")


def test_a_pipeline_is_drawn_as_its_last_step_sees_it():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(30, 2)), 8 + rng.normal(size=(30, 2))]) * (1, 100)
    frame = pd.DataFrame(X, columns=["width", "height"])
    model = make_pipeline(StandardScaler(), DominantSets(2)).fit(frame)
    display = ClusterDisplay.from_estimator(model, frame)
    np.testing.assert_allclose(display.points, (X - X.mean(axis=0)) / X.std(axis=0))
    assert display.ax_.get_xlabel() == "width"
    two = make_pipeline(StandardScaler(), PCA(1), DominantSets(2)).fit(X)
    assert ClusterDisplay.from_estimator(two, X).ax_.get_xlabel() == "pca0"


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


def test_membership_profiles(fitted):
    model, _ = fitted
    display = MembershipDisplay.from_estimator(model)
    assert len(display.ax_.lines) == 2  # the cutoff lies far below the picture
    for line, cluster in zip(display.ax_.lines, model.clusters_, strict=False):
        np.testing.assert_allclose(line.get_ydata(), np.sort(cluster.weights)[::-1])
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert f"{len(model.clusters_[0])} members" in legend[0]
    assert "margin" in legend[0]
    cut = MembershipDisplay(list(model.clusters_), cutoff=float(model.clusters_[0].weights.min())).plot()
    assert len(cut.ax_.lines) == 3


def test_traces():
    A = random_similarity(60, seed=0)
    one, other = (solve(A, algorithm=name, trace=True) for name in ("pairwise", "away"))
    display = TraceDisplay.from_cluster(one)
    _, gap, support = display.axes_
    assert [ax.get_ylabel() for ax in display.axes_] == ["value below the best", "gap", "support"]
    np.testing.assert_allclose(support.lines[0].get_ydata(), one.trace.support_size)
    np.testing.assert_allclose(support.lines[0].get_xdata(), one.trace.seconds)
    assert gap.get_yscale() == "log"
    assert gap.get_xscale() == "log"
    value, *_ = TraceDisplay.from_clusters([one, other], against="iteration").axes_
    assert [line.get_label() for line in value.lines] == ["pairwise", "away"]
    best = max(one.value, other.value, *one.trace.value, *other.trace.value)
    for line, run in zip(value.lines, (one, other), strict=True):  # one reference for both
        shown = np.asarray(line.get_ydata())
        np.testing.assert_allclose(shown, np.where(run.trace.value < best, best - run.trace.value, np.nan))
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(run.trace) + 1))
    with pytest.raises(ValueError, match="trace=True"):
        TraceDisplay.from_cluster(solve(A))
    with pytest.raises(ValueError, match="against='hours' is not known"):
        TraceDisplay.from_cluster(one, against="hours")


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


@pytest.mark.parametrize("dtype", [np.uint8, np.float64, bool])
@pytest.mark.parametrize("grey", [False, True])
def test_segments_over_their_image(dtype, grey):
    image = np.zeros((12, 16, 3))
    image[:, 8:] = 1.0
    image = (image * (255 if dtype is np.uint8 else 1)).astype(dtype)
    image = image[..., 0] if grey else image
    found = segment(image, 2, smooth=0.0)
    display = SegmentationDisplay.from_segmentation(found, image)
    borders, means = display.axes_
    assert borders.collections  # a contour
    shown = np.asarray(means.images[0].get_array())
    np.testing.assert_allclose(shown[:, :8], 0.0)
    np.testing.assert_allclose(shown[:, 8:], 1.0)
    with pytest.raises(ValueError, match="pixels"):
        SegmentationDisplay.from_segmentation(
            Segmentation(found.labels[:3], found.cores, [], found.regions), image
        )


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
    text = page.figure(figure, "a picture").html()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert text.count("<img") == 1
    assert text.startswith("<!doctype html>")
