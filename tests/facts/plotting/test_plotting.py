"""Pictures: what they must contain, artist by artist."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dominantsets import DominantSets, solve
from dominantsets.plotting import (
    ClusterDisplay,
    MembershipDisplay,
    SegmentationDisplay,
    TraceDisplay,
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
