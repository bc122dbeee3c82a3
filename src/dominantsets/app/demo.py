"""What ``dominantsets demo`` does, with data that ships with the dependencies: five short stories."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, KMeans
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
    TraceDisplay,
    color_of,
    plt,
)
from dominantsets.segmentation import segment
from dominantsets.similarity import as_similarity
from dominantsets.solvers import solve

MILLION = 1_000_000
ITERATIONS = 500  # of replicator dynamics
HEAD = ["method", "clusters", "labelled", "ARI", "ARI of labelled", "time"]
# The paper's methods on the dense matrix, and what this library has beside them.
SOLVERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("replicator dynamics", {"algorithm": "replicator", "start": "barycenter", "max_iter": ITERATIONS}),
    ("Frank-Wolfe", {"algorithm": "fw", "max_iter": 20_000}),
    ("away-steps", {"algorithm": "away"}),
    ("pairwise", {"algorithm": "pairwise"}),
    ("working set", {"algorithm": "working-set"}),
    ("dual", {"algorithm": "dual"}),
)


@dataclass
class Story:
    """One part of the demo: what was done, a table, pictures with captions."""

    title: str
    text: str
    rows: list[list[str]] = field(default_factory=list)
    note: str = ""
    pictures: list[tuple[str, Any, str]] = field(default_factory=list)  # file name, figure, caption
    head: list[str] = field(default_factory=lambda: HEAD)


def _quietly(fit: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gap and clusters say what the warnings would
        result = fit()
    return result, time.perf_counter() - began


def _row(name: str, y: Any, labels: Any, seconds: float) -> list[str]:
    inside = labels >= 0
    return [
        name,
        f"{np.unique(labels[inside]).size}",
        f"{inside.mean():.0%}",
        f"{adjusted_rand_score(y, labels):.2f}",
        f"{adjusted_rand_score(y[inside], labels[inside]):.2f}" if inside.any() else "-",
        f"{seconds:.2f} s",
    ]


def digits() -> Story:
    """The default on handwritten digits, beside what people use."""
    X, y = load_digits(return_X_y=True)
    models: tuple[tuple[str, Any], ...] = (
        ("DominantSets(10)", DominantSets(10, random_state=0)),
        ("DominantSets()", DominantSets(random_state=0)),
        ("KMeans(10)", KMeans(10, n_init=10, random_state=0)),
        ("HDBSCAN()", HDBSCAN(copy=True)),
    )
    for _, model in models:
        _quietly(lambda model=model: clone(model).fit(X[:600]))  # type: ignore[misc]  # compiled first
    fitted = [(name, *_quietly(lambda model=model: model.fit(X))) for name, model in models]  # type: ignore[misc]
    default = fitted[0][1]
    story = Story(
        "Handwritten digits",
        f"{len(X):,} images of 8 × 8 pixels, as they come: nothing is known of the digits, no parameter is "
        f"tuned. The affinity was found out: {default.affinity_}.",
        [_row(name, y, model.labels_, seconds) for name, model, seconds in fitted],
        "labelled: share in a cluster, the rest is called noise. ARI: agreement with the true digits, 1 is "
        "perfect, 0 is chance; of all objects (noise as one more class), and of the labelled ones alone. "
        "DominantSets() and HDBSCAN() find the number of clusters, the others are given it; all with their "
        "defaults, KMeans with the best of ten starts.",
    )
    figure, axes = plt.subplots(10, 9, figsize=(5.6, 6.2), layout="constrained", squeeze=False)
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[], frame_on=False)
    for k, cluster in enumerate(default.clusters_[:10]):
        best = cluster.members[np.argsort(-cluster.weights)][:9]
        for m, member in enumerate(best):
            axes[k, m].imshow(X[member].reshape(8, 8), cmap="gray_r")
        size = int(np.count_nonzero(default.labels_ == k))
        axes[k, 0].set_ylabel(f"{size}", rotation=0, labelpad=14, va="center")
    caption = "The nine strongest members of each cluster, and its size: the exemplar is on the left."
    story.pictures.append(("digits", figure, caption))
    matrix = SimilarityDisplay.from_estimator(default)
    caption = "The similarity matrix in the order of the clusters; what is in no cluster comes last."
    story.pictures.append(("digits_similarity", matrix.figure_, caption))
    return story


def solvers() -> Story:
    """One dominant set by every solver, from the same matrix to the same gap."""
    X, _ = load_digits(return_X_y=True)
    features = as_similarity(X, "sqeuclidean")
    A = features.toarray()
    shift = float(np.median(DominantSets(10, affinity="sqeuclidean").fit(X).shifts_))
    rows, found = [], []
    for name, options in SOLVERS:
        given: Any = features if options["algorithm"] == "dual" else A
        small = as_similarity(X[:300], "sqeuclidean") if given is features else A[:300, :300].copy()
        how = {"shift": shift, "tol": 1e-9, "trace": True, **options}
        _quietly(partial(solve, small, **(how | {"max_iter": 50})))  # compiled before the clock starts
        cluster, seconds = _quietly(partial(solve, given, **how))
        found.append(cluster)
        rows.append(
            [name, f"{len(cluster):,}", f"{cluster.value:.6g}", f"{cluster.relative_gap:.0e}",
             f"{cluster.n_iter:,}", f"{1e3 * seconds:,.1f} ms"]
        )  # fmt: skip
    display = TraceDisplay.from_clusters(found, labels=[name for name, _ in SOLVERS])
    return Story(
        "One dominant set, every solver",
        f"The first cluster of the {len(X):,} digits under squared distances: one shift, and a relative gap "
        "of 1e-9 for all.",
        rows,
        "gap: distance from stationary, relative to the value, recomputed from the answer. The dual works "
        "from the features, the others from the dense matrix, whose making is not counted. Replicator "
        f"dynamics, which needs many more, is left after {ITERATIONS} iterations.",
        [
            (
                "solvers",
                display.figure_,
                "How far each is below the best value, its gap and its support, over time.",
            )
        ],
        ["solver", "members", "value", "gap", "iterations", "time"],
    )


def noise() -> Story:
    """Three classes under uniform noise, beside KMeans."""
    rng = np.random.default_rng(3)
    centers = np.array([(0.0, 0.0), (6.0, 0.5), (2.5, 5.0)])
    X = np.concatenate([c + rng.normal(scale=0.6, size=(200, 2)) for c in centers])
    X = np.concatenate([X, rng.uniform((-4, -4), (10, 9), size=(300, 2))])
    y = np.concatenate([np.repeat([0, 1, 2], 200), np.full(300, -1)])
    _quietly(lambda: DominantSets(3).fit(X))  # compiled before the clock starts
    model, seconds = _quietly(lambda: DominantSets(3).fit(X))
    rival, rival_seconds = _quietly(lambda: KMeans(3, n_init=10, random_state=0).fit(X))
    story = Story(
        "Noise is left alone",
        "Three classes of 200 points, and 300 points of uniform noise; three clusters are asked for.",
        [
            _row("DominantSets(3)", y, model.labels_, seconds),
            _row("KMeans(3)", y, rival.labels_, rival_seconds),
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
    _quietly(
        lambda: DominantSets(2, affinity="sqeuclidean").fit(X[: min(n, 150_000)])
    )  # compiled before the clock starts
    model, seconds = _quietly(lambda: DominantSets(5, affinity="sqeuclidean").fit(X))
    matrix = 8 * n * n / 1e12
    story = Story(
        f"{n:,} points",
        "Five classes and a sixth of noise, features to labels, with affinity='sqeuclidean'; the matrix "
        f"would take {matrix:,.0f} TB.",
        [_row("DominantSets(5)", y, model.labels_, seconds)],
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
    for part in (noise, digits, solvers, million, photograph):
        yield part()
