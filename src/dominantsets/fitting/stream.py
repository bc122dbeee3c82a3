"""The rows of a stream: which are kept, and when they are fitted anew (docs/streams.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.clusters.scales import SAMPLE
from dominantsets.fitting.judge import Choice, unseen
from dominantsets.fitting.samples import has_words
from dominantsets.solvers import DominantSet

SURPRISE = 0.02  # probability that rows of one distribution cause a fit before they have doubled
GROWTH = 2  # factor by which rows grow between two fits, while all of them are in the sample of a fit
LEFT = 0.1  # smallest fraction of the rows of a larger fit that may be left before the next one
GOLDEN = 0.5 * (5.0**0.5 - 1.0)  # its multiples modulo 1 are spread evenly, in any run of them

BALLS = ("auto", "sqeuclidean", "cosine")  # affinities under which all objects have the same κ
USUAL: dict[str, Any] = {"shift": "auto", "checkpoint": None, "device": None}


def can_stream(estimator: Any) -> bool:
    """Whether the parameters are those of a stream; the error names one that is not."""
    affinity = estimator.affinity
    if not isinstance(affinity, str) or affinity not in BALLS:
        raise AttributeError(f"partial_fit needs affinity={' or '.join(map(repr, BALLS))}, got {affinity!r}.")
    if (estimator.affinity_params or {}).get("equalize"):
        raise AttributeError("partial_fit has no ranks of similarities: leave out equalize.")
    for name, usual in USUAL.items():
        if getattr(estimator, name) != usual:
            raise AttributeError(f"partial_fit needs {name}={usual!r}, got {getattr(estimator, name)!r}.")
    return True


def choice_of_stream(X: Any) -> Choice:
    """What ``affinity="auto"`` means where rows come in batches, by the first of them."""
    return unseen("cosine" if has_words(X) else "sqeuclidean", "Rows come in batches: balls.")


@dataclass(frozen=True, eq=False)
class Stream:
    """The rows that are kept, in the order in which they came.

    Attributes
    ----------
    parts : tuple of arrays
        The rows.
    due : ndarray of float
        A row is dropped when its number exceeds 1.
    came : int
        Rows that have come so far.
    labels : ndarray of int
        Labels of the rows of the last fit that are kept: the first rows of all.
    n_fitted : int
        Rows of the last fit; 0 if it ended early.
    counts : ndarray of shape (2, n_clusters + 1)
        How many rows are in no dominant set, and in each of them: rows of the last fit, and rows since.
    n_batches : int
        Batches since the last fit.
    """

    parts: tuple[Any, ...] = ()
    due: Floats = field(default_factory=lambda: np.empty(0))
    came: int = 0
    labels: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_fitted: int = 0
    counts: Ints = field(default_factory=lambda: np.zeros((2, 1), dtype=np.int64))
    n_batches: int = 0

    @property
    def n(self) -> int:
        """Rows that are kept."""
        return self.due.size

    @property
    def is_fitted(self) -> bool:
        """Whether the last fit was one of all these rows."""
        return self.n == self.n_fitted == self.labels.size

    @property
    def before(self) -> Ints:
        """Labels from the last fit; -1 for the rows since, which may be of a new group."""
        return np.concatenate([self.labels, np.full(self.n - self.labels.size, -1)])

    @property
    def rows(self) -> Any:
        """These rows in one array; sparse if some of them are."""
        if len(self.parts) == 1:
            return self.parts[0]
        if any(sp.issparse(part) for part in self.parts):
            return sp.vstack([sp.csr_array(part) for part in self.parts], format="csr")
        return np.concatenate(self.parts)

    def with_batch(self, X: Any, cores: Ints) -> Stream:
        """Append a batch with the numbers of its dominant sets.

        X is copied: the caller may fill the same array with the next batch.
        """
        numbers = self.came + 1 + np.arange(X.shape[0])
        since = self.counts[1] + np.bincount(cores + 1, minlength=self.counts.shape[1])
        return replace(
            self,
            parts=(*self.parts, X.copy()),
            due=np.concatenate([self.due, np.modf(GOLDEN * numbers)[0]]),
            came=self.came + X.shape[0],
            counts=np.stack([self.counts[0], since]),
            n_batches=self.n_batches + 1,
        )

    def forgetting(self, share: float) -> Stream:
        """Drop a share of the rows: evenly among all, and never the same rows as before."""
        older = replace(self, due=self.due / (1.0 - share))
        keep = older.due <= 1.0
        return older if keep.all() else older.only(keep)

    def only(self, keep: Flags) -> Stream:
        """Drop the other rows."""
        return replace(
            self,
            parts=(self.rows[keep],) if self.n else (),
            due=self.due[keep],
            labels=self.labels[keep[: self.labels.size]],
        )

    def fitted(self, labels: Ints, cores: Ints, n_clusters: int, whole: bool) -> Stream:
        """After a fit of all rows; one that is not ``whole`` is made again with the next batch."""
        counts = np.bincount(cores + 1, minlength=n_clusters + 1)
        return replace(
            self,
            parts=(self.rows,),
            labels=labels,
            n_fitted=self.n if whole else 0,
            counts=np.stack([counts, np.zeros_like(counts)]),
            n_batches=0,
        )

    def calls_for_a_fit(self) -> bool:
        """Whether all rows are to be fitted: they have doubled, are mostly new, or are surprising.

        More rows than the sample of a fit show no more groups. The k-th batch since a fit is tested at the
        level 1 / (k (k + 1)) of all: rows of one distribution cause no fit however many come.
        """
        if self.n_fitted < SAMPLE:
            renewed = self.n >= GROWTH * self.labels.size
        else:
            renewed = self.labels.size < LEFT * self.n_fitted
        k = max(1, self.n_batches)
        return not self.n_fitted or renewed or is_surprising(self.counts, SURPRISE / (k * (k + 1)))


def is_surprising(counts: Ints, level: float) -> bool:
    """Whether later rows are in other clusters, or in none, than chance explains: a χ² test."""
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / max(1, counts.sum())
    if not expected.all():  # no row came before, or since
        return False
    statistic = float((np.square(counts - expected) / expected).sum())
    return bool(chi2.sf(statistic, max(1, counts.shape[1] - 1)) < level)


def in_balls(
    payoffs: Floats, clusters: Sequence[DominantSet], own: float, labels: Ints | None = None
) -> tuple[Ints, Floats]:
    """The first dominant set that new objects would gain by joining, and their weight in its ball.

    Objects with labels join that of their label only.
    The weight of object i in the ball is max(0, p - f) / κ for members and all others; it is 1 for the
    exemplar. -1 and 0 outside all balls.
    """
    n = payoffs.shape[0]
    if not clusters:
        return np.full(n, -1, dtype=np.int64), np.zeros(n)
    gains = payoffs - [cluster.threshold for cluster in clusters]
    if labels is not None:
        gains = np.where(labels[:, None] == np.arange(len(clusters)), gains, 0.0)
    tops = np.array([(own + cluster.shift) * cluster.weights.max() for cluster in clusters])
    first = (gains > 0.0).argmax(axis=1)
    gain, top = gains[np.arange(n), first], tops[first]
    inside = gain > 0.0
    weights = np.divide(gain, top, out=np.ones(n), where=inside & (gain < top))
    return np.where(inside, first, -1), np.where(inside, weights, 0.0)


def checked_rows(rows: Any, n: int) -> Flags:
    """Which of n rows are to be taken out, if they are there and some are left."""
    given = np.asarray(rows)
    if given.ndim > 1 or not (given.size and np.issubdtype(given.dtype, np.integer)):
        raise ValueError(f"rows must be numbers of rows, at least one, got {rows!r}.")
    if given.min() < 0 or given.max() >= n:
        wrong = given.min() if given.min() < 0 else given.max()
        raise ValueError(f"row {wrong} is not one of the rows 0 to {n - 1} of the stream.")
    gone = np.zeros(n, dtype=bool)
    gone[given] = True
    if gone.all():
        raise ValueError(f"no row would be left of {n}; make a new estimator instead.")
    return gone
