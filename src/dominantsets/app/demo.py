"""What ``dominantsets demo`` does, with data that ships with the dependencies: four short stories."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from dominantsets.estimator import DominantSets
from dominantsets.plotting import (
    NOISE,
    Circle,
    ClusterDisplay,
    MembershipDisplay,
    SegmentationDisplay,
    SimilarityDisplay,
    color_of,
    plt,
)
from dominantsets.segmentation import segment
from dominantsets.similarity import as_similarity

MILLION = 1_000_000
ITERATIONS = 1_000  # of plain replicator dynamics, for each cluster
HEAD = ["method", "clusters", "assigned", "ARI", "gap", "time", "speed"]
# Beside the default, which needs no matrix: the paper's methods on the dense one, as the paper has it.
METHODS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("pairwise", {"algorithm": "pairwise"}),
    ("away-steps", {"algorithm": "away", "max_iter": 20_000}),
    ("Frank-Wolfe", {"algorithm": "fw", "max_iter": 20_000}),
    ("working set", {"algorithm": "working-set"}),
)


@dataclass
class Story:
    """One part of the demo: what was done, a table, pictures with captions."""

    title: str
    text: str
    rows: list[list[str]] = field(default_factory=list)
    note: str = ""
    pictures: list[tuple[str, Any, str]] = field(default_factory=list)  # file name, figure, caption


def _quietly(fit: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gap and clusters say what the warnings would
        result = fit()
    return result, time.perf_counter() - began


def _fit(X: Any, n_clusters: int, options: dict[str, Any]) -> DominantSets:
    return DominantSets(n_clusters, **options).fit(X)


def _row(name: str, y: Any, labels: Any, gap: str, seconds: float, plain: float | None) -> list[str]:
    inside = labels >= 0
    ari = adjusted_rand_score(y[inside], labels[inside]) if inside.any() else np.nan
    return [
        name,
        f"{np.unique(labels[inside]).size}",
        f"{inside.mean():.0%}",
        f"{ari:.2f}",
        gap,
        f"{seconds:.2f} s",
        f"{plain / seconds:.0f} ×" if plain is not None else "",
    ]


def _gap(clusters: Any) -> str:
    return f"{max(c.relative_gap for c in clusters):.0e}" if len(clusters) else "-"


def plain_replicator(A: Any, shift: float, n_clusters: int, iterations: int) -> tuple[Any, float]:
    """What people write in an afternoon: replicator dynamics on a dense matrix, rows and columns cut out."""
    A = A + shift
    np.fill_diagonal(A, 0.0)
    labels, left, largest = np.full(len(A), -1), np.arange(len(A)), 0.0
    for k in range(n_clusters):
        x = np.full(len(left), 1.0 / len(left))
        for _ in range(iterations):
            r = A @ x
            x = x * r / (x @ r)
        r = A @ x
        largest = max(largest, float(r.max() - x @ r) / float(x @ r))
        inside = x > 2e-12
        labels[left[inside]] = k
        left = left[~inside]
        A = A[np.ix_(~inside, ~inside)]
        if not left.size:
            break
    return labels, largest


def digits() -> Story:
    """Every method on the same matrix of digits, against plain replicator dynamics."""
    X, y = load_digits(return_X_y=True)
    story = Story(
        "Handwritten digits, every method",
        f"{len(X):,} images of 8 × 8 pixels; ten clusters are asked for, nothing is told about the digits.",
    )
    A = as_similarity(X, "sqeuclidean").toarray()
    balls = {"affinity": "sqeuclidean"}
    _quietly(partial(_fit, X[:300], 2, balls))
    for _, options in METHODS:  # compiled before the clock starts
        given = {**options, "affinity": "precomputed", "shift": 1.0}
        _quietly(partial(_fit, np.ascontiguousarray(A[:300, :300]), 2, given))
    default, _ = _quietly(partial(_fit, X, 10, balls))
    dual, seconds = _quietly(partial(_fit, X, 10, {**balls, "shift": default.shift_}))
    (labels, gap), plain = _quietly(lambda: plain_replicator(A, default.shift_, 10, ITERATIONS))
    story.rows.append(_row("dual (for features)", y, dual.labels_, _gap(dual.clusters_), seconds, plain))
    for name, options in METHODS:
        given = {**options, "affinity": "precomputed", "shift": default.shift_}
        model, seconds = _quietly(partial(_fit, A, 10, given))
        story.rows.append(_row(name, y, model.labels_, _gap(model.clusters_), seconds, plain))
    story.rows.append(_row("plain replicator", y, labels, f"{gap:.0e}", plain, plain))
    story.note = (
        "assigned: share in a cluster, the rest is left alone as noise. ARI: agreement of the assigned with "
        "the true digits, 1 is perfect. gap: distance from stationary, relative, recomputed. speed: against "
        f"plain replicator dynamics, NumPy on the dense matrix, {ITERATIONS:,} iterations a cluster, too few "
        "for it to converge. The dual works from "
        "the features, the others from the dense matrix; all at one shift, the median of those that "
        "shift='auto' chose."
    )
    figure, axes = plt.subplots(10, 9, figsize=(5.6, 6.2), layout="constrained")
    for k, cluster in enumerate(default.clusters_[:10]):
        best = cluster.members[np.argsort(-cluster.weights)][:9]
        for m, ax in enumerate(axes[k]):
            ax.set(xticks=[], yticks=[], frame_on=False)
            if m < best.size:
                ax.imshow(X[best[m]].reshape(8, 8), cmap="gray_r")
        axes[k, 0].set_ylabel(f"{len(cluster)}", rotation=0, labelpad=14, va="center")
    for ax in axes[len(default.clusters_) :].flat:
        ax.set_visible(False)
    caption = "The nine strongest members of each cluster, and its size: the exemplar is on the left."
    story.pictures.append(("digits", figure, caption))
    matrix = SimilarityDisplay.from_estimator(default)
    caption = "The similarity matrix in the order of the clusters; what is in no cluster comes last."
    story.pictures.append(("digits_similarity", matrix.figure_, caption))
    return story


def noise() -> Story:
    """Three classes under uniform noise, beside KMeans."""
    rng = np.random.default_rng(3)
    centers = np.array([(0.0, 0.0), (6.0, 0.5), (2.5, 5.0)])
    X = np.concatenate([c + rng.normal(scale=0.6, size=(200, 2)) for c in centers])
    X = np.concatenate([X, rng.uniform((-4, -4), (10, 9), size=(300, 2))])
    y = np.concatenate([np.repeat([0, 1, 2], 200), np.full(300, -1)])
    _quietly(lambda: DominantSets(1).fit(X[:60]))  # compiled before the clock starts
    model, seconds = _quietly(lambda: DominantSets(3).fit(X))
    rival, rival_seconds = _quietly(lambda: KMeans(3, n_init=10, random_state=0).fit(X))
    story = Story(
        "Noise is left alone",
        "Three classes of 200 points, and 300 points of uniform noise; three clusters are asked for.",
        [
            _row("dominantsets", y, model.labels_, _gap(model.clusters_), seconds, None),
            _row("KMeans", y, rival.labels_, "-", rival_seconds, None),
        ],
    )
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for k in range(3):
        left.scatter(*X[rival.labels_ == k].T, s=9, color=color_of(k), linewidths=0)
    left.set(title="KMeans: every point has to belong somewhere", xticks=[], yticks=[])
    ClusterDisplay.from_estimator(model, X, ax=right)
    right.set_title("dominant sets: the larger the more typical, noise in grey")
    story.pictures.append(("noise", figure, "KMeans and dominant sets on the same points."))
    profile = MembershipDisplay.from_estimator(model)
    caption = "How strongly the members belong: weights of each cluster, sorted; a steep end is a clear edge."
    story.pictures.append(("noise_memberships", profile.figure_, caption))
    return story


def million(n: int = MILLION) -> Story:
    """Many objects, features to labels, without the matrix."""
    rng = np.random.default_rng(0)
    centers = 10.0 * np.array([(0, 0), (1, 0), (0, 1), (1, 1), (2, 0.5)])
    y = rng.integers(-1, 5, size=n)
    X = centers[y] + rng.normal(size=(n, 2))
    X[y < 0] = rng.uniform(-6, 26, size=(int((y < 0).sum()), 2)) * (1, 0.6)
    _quietly(lambda: DominantSets(2).fit(X[: min(n, 150_000)]))  # compiled before the clock starts
    model, seconds = _quietly(lambda: DominantSets(5).fit(X))
    matrix = 8 * n * n / 1e12
    story = Story(
        f"{n:,} points",
        f"Five classes and a sixth of noise, features to labels; the matrix would take {matrix:,.0f} TB.",
        [_row("default (dual)", y, model.labels_, _gap(model.clusters_), seconds, None)],
    )
    some = rng.choice(n, min(n, 30_000), replace=False)
    figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    colors = np.array([color_of(k) for k in range(5)] + [NOISE])
    ax.scatter(X[some, 0], X[some, 1], s=1.5, c=colors[model.labels_[some]], linewidths=0, rasterized=True)
    for k, cluster in enumerate(model.clusters_):
        ax.add_patch(Circle(cluster.center, cluster.radius, fill=False, color=color_of(k), linewidth=1.4))
    ax.set(xticks=[], yticks=[], aspect="equal")
    caption = "30,000 of the points, and the balls that the clusters are: a center and a radius each."
    story.pictures.append(("million", figure, caption))
    return story


def photograph() -> Story:
    """Segments of a photograph, exactly, at full size."""
    from skimage import data

    image: Any = data.rocket()  # type: ignore[no-untyped-call]
    _quietly(lambda: segment(image[:40, :40], 3))
    found, seconds = _quietly(lambda: segment(image, 4, smooth=2.0))
    height, width = image.shape[:2]
    display = SegmentationDisplay.from_segmentation(found, image)
    sizes = ", ".join(
        f"{share:.0%}" for share in np.sort(np.bincount(found.labels.ravel()))[::-1] / found.labels.size
    )
    return Story(
        "A photograph in segments",
        f"{height * width:,} pixels under path-based similarity, solved exactly in {seconds:.1f} s: "
        f"{len(found.clusters)} segments of {sizes} of the image.",
        pictures=[
            (
                "photograph",
                display.figure_,
                "The rocket that ships with scikit-image: the sky, what stands before it, the lights.",
            )
        ],
    )


def stories() -> Iterator[Story]:
    """The parts of the demo, one after another as they are done."""
    for part in (noise, digits, million, photograph):
        yield part()
