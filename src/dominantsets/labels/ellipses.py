r"""Ellipses: clusters as normal clouds that each have their own covariance, and perhaps a background.

.. math:: p(x) = \sum_k w_k\,\mathcal N(x; \mu_k, \Sigma_k) + w_0\,b(x),

with b a constant density or one more, broad, normal cloud. The logarithm of a normal density is linear in the
products of the coordinates, and so are the sums that a covariance needs: every round of expectation and
maximisation is two products of matrices. A covariance of few objects is drawn to a round one as if d more
objects said so. With ``round_`` all clouds are round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import blas
from dominantsets.labels.clouds import climb
from dominantsets.solvers import Monitor

ROUNDS, STEADY = 200, 1e-5  # of a fit, and the gain in nats for each object below which it is done
FLOOR = 1e-9  # of the mean variance of all objects: the least of a cloud
BLOCK = 20_000  # objects that are looked at together
BACKGROUNDS = ("flat", "broad")


@dataclass(frozen=True, eq=False)
class Ellipses:
    """A mixture that was fitted.

    Attributes
    ----------
    shares : ndarray of shape (K,)
        The share of each cloud.
    centres : ndarray of shape (K, d)
        Their centres.
    covariances : ndarray of shape (K, d, d)
        Their covariances.
    n_clusters : int
        Clouds that are clusters: a broad background is one cloud more.
    noise, flat : float
        The share of a constant background, and the logarithm of its density; 0 and -inf without one.
    low, high : ndarray of shape (d,)
        The box of a constant background: beyond it lies about one object.
    likelihood : float
        The logarithm, over all objects.
    n_parameters : int
        Numbers that were fitted.
    """

    shares: Floats
    centres: Floats
    covariances: Floats
    n_clusters: int
    noise: float
    flat: float
    low: Floats
    high: Floats
    likelihood: float
    n_parameters: int

    @property
    def has_background(self) -> bool:
        """Whether objects may be of no cluster."""
        return self.noise > 0.0 or len(self.shares) > self.n_clusters

    def bic(self, n: int) -> float:
        """Bayes' information criterion for n objects: the smaller, the better."""
        return -2.0 * self.likelihood + self.n_parameters * float(np.log(n))

    def logs(self, rows: Floats) -> Floats:
        """The logarithms of the parts of the density at some rows, clusters first, then the background."""
        middle = self.centres.mean(axis=0)
        theta = _theta(self.shares, self.centres - middle, self.covariances)
        clouds = _features(np.asarray(rows, dtype=np.float64) - middle) @ theta
        if self.noise <= 0.0:
            return np.asarray(clouds)
        inside = ((rows >= self.low) & (rows <= self.high)).all(axis=1)
        outside = self.flat - np.log(max(2.0, self._objects))
        flat = np.log(self.noise) + np.where(inside, self.flat, outside)
        return np.column_stack([clouds, flat])

    @property
    def _objects(self) -> float:
        """About as many objects as were fitted: the box's edge lies that much beyond the last of them."""
        return float(len(self.shares) / max(float(self.shares.min()), 1e-9))

    def density(self, rows: Floats) -> Floats:
        """The logarithm of the density."""
        return np.asarray(logsumexp(self.logs(rows), axis=1))

    def label(self, rows: Floats) -> tuple[Ints, Floats]:
        """The cluster of each row, -1 for the background, and how typical of it the row is (0 to 1)."""
        labels, typical = np.empty(len(rows), dtype=np.int64), np.zeros(len(rows))
        for first in range(0, len(rows), BLOCK):
            part = slice(first, first + BLOCK)
            with blas().limit(limits=1, user_api="blas"):
                best = self.logs(rows[part]).argmax(axis=1)
            labels[part] = np.where(best < self.n_clusters, best, -1)
        squares = self.squares(rows, labels)
        for k in range(self.n_clusters):
            mine = np.flatnonzero(labels == k)
            order = np.sort(squares[mine])
            typical[mine] = 1.0 - np.searchsorted(order, squares[mine], side="left") / max(1, mine.size)
        return labels, typical

    def squares(self, rows: Floats, labels: Ints) -> Floats:
        """The squared Mahalanobis distance of each row from the center of its cluster; 0 without one."""
        out = np.zeros(len(rows))
        for k in range(self.n_clusters):
            mine = np.flatnonzero(labels == k)
            factor = np.linalg.inv(np.linalg.cholesky(self.covariances[k]))
            out[mine] = np.square((rows[mine] - self.centres[k]) @ factor.T).sum(axis=1)
        return out


def fit_ellipses(
    rows: Floats,
    labels: Ints,
    *,
    background: str | None = None,
    round_: bool = False,
    monitor: Monitor | None = None,
    rounds: int = ROUNDS,
    steady: float = STEADY,
) -> Ellipses:
    """Fit a mixture, from where some labels have it.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The objects.
    labels : ndarray of int
        Where it begins: 0 to K - 1, -1 for the background.
    background : {"flat", "broad"}, optional
        A constant density over the box of the objects, or one more cloud.
    round_ : bool, default=False
        Whether all clouds of clusters are round.
    monitor : Monitor, optional
        Its time limit ends the fit.
    rounds, steady : int, float
        Most rounds, and the gain in nats per object below which the fit is done.

    Returns
    -------
    Ellipses
        The mixture.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(300, 2)) * [5, 0.5], rng.normal(size=(300, 2)) * [5, 0.5] + [0, 4]])
    >>> rough = (X[:, 1] > 1.0).astype(int)
    >>> fitted = fit_ellipses(X, rough)
    >>> bool((fitted.label(X)[0] == np.repeat([0, 1], 300)).mean() > 0.99)
    True
    """
    n, d = rows.shape
    count, broad = int(labels.max(initial=-1)) + 1, background == "broad"
    middle = rows.mean(axis=0)
    X = np.asarray(rows, dtype=np.float64) - middle
    features = _features(X)
    floor = FLOOR * (float(np.square(X).mean()) or 1.0)  # equal rows have no size
    low, high, flat = _box(X)

    def share(parts: Floats) -> float:
        return float(parts[:, count].mean()) if background == "flat" else 0.0

    def step(before: tuple[Floats, Any], *_: Any) -> tuple[tuple[Floats, Any], float]:
        parts = before[0]
        form = _maximised(features, parts[:, : count + broad], d, floor, count if round_ else 0)
        logs = features @ _theta(*form)
        if background == "flat":
            logs = np.column_stack([logs, np.full(n, np.log(max(share(parts), 1e-300)) + flat)])
        # the same as SciPy's logsumexp, whose exponentials are the new parts but for their sum
        top = logs.max(axis=1, keepdims=True)
        parts = np.exp(logs - top)
        sums = parts.sum(axis=1, keepdims=True)
        now = float((top + np.log(sums)).mean())
        return (parts / sums, (*form, now)), now

    start: tuple[Floats, Any] = _begin(labels, count, background is not None), None
    with blas().limit(limits=1, user_api="blas"):
        parts, form = climb(step, start, rounds=rounds, steady=steady, monitor=monitor)
    shares, centres, covariances, now = form
    numbers = count * (d + 1 + (1 if round_ else d * (d + 1) // 2)) - 1
    numbers += (1 + d + d * (d + 1) // 2) if broad else int(background is not None)
    return Ellipses(
        shares,
        centres + middle,
        covariances,
        count,
        share(parts),
        flat,
        low + middle,
        high + middle,
        now * n,
        numbers,
    )


def best_ellipses(
    rows: Floats, starts: list[Ints], *, round_: bool = False, monitor: Monitor | None = None
) -> Ellipses | None:
    """The best of the mixtures that begin at some labels, by Bayes' information criterion.

    Where a start has noise, a background is tried as well. None where no start can be taken.
    """
    fits = []
    for labels in starts:
        labels = usable(labels)
        for background in (None, *BACKGROUNDS) if (labels < 0).any() else (None,):
            if labels.max(initial=-1) >= 0:
                fits.append(fit_ellipses(rows, labels, background=background, round_=round_, monitor=monitor))
    return min(fits, key=lambda fit: fit.bic(len(rows)), default=None)


def usable(labels: Ints) -> Ints:
    """Labels 0 to K - 1 of the groups with at least two objects, -1 elsewhere."""
    names, counts = np.unique(labels[labels >= 0], return_counts=True)
    out = np.full(labels.size, -1, dtype=np.int64)
    for k, name in enumerate(names[counts >= 2]):
        out[labels == name] = k
    return out


def _begin(labels: Ints, count: int, background: bool) -> Floats:
    """Parts of all objects in all clusters and outside; if no object is outside yet, all are a little."""
    parts = np.zeros((labels.size, count + 1))
    parts[np.arange(labels.size), np.where(labels >= 0, labels, count)] = 1.0
    if background and not (labels < 0).any():
        parts *= 0.95
        parts[:, count] = 0.05
    elif not background:
        parts = parts[:, :count]
        parts[labels < 0] = 1.0 / count
        parts = parts / parts.sum(axis=1, keepdims=True)
    return parts


def _box(X: Floats) -> tuple[Floats, Floats, float]:
    """The box of the objects, a little larger, and the logarithm of the constant density in it."""
    low, high = X.min(axis=0), X.max(axis=0)
    edge = np.maximum((high - low) / len(X), 1e-300)
    return low - edge, high + edge, -float(np.log(high - low + 2.0 * edge).sum())


def _features(X: Floats) -> Floats:
    """1, the coordinates, and their products."""
    i, j = np.triu_indices(X.shape[1])
    return np.column_stack([np.ones(len(X)), X, X[:, i] * X[:, j]])


def _theta(shares: Floats, centres: Floats, covariances: Floats) -> Floats:
    """What the features are multiplied with for the logarithms of share times density."""
    d = centres.shape[1]
    i, j = np.triu_indices(d)
    precisions = np.linalg.inv(covariances)
    dets = np.linalg.slogdet(covariances)[1]
    linear = np.einsum("kij,kj->ki", precisions, centres)
    constant = -0.5 * (np.einsum("ki,ki->k", linear, centres) + dets + d * np.log(2.0 * np.pi))
    quadratic = -precisions[:, i, j] * np.where(i == j, 0.5, 1.0)
    with np.errstate(divide="ignore"):
        return np.column_stack([constant + np.log(shares), linear, quadratic]).T


def _maximised(
    features: Floats, parts: Floats, d: int, floor: float, n_round: int
) -> tuple[Floats, Floats, Floats]:
    """Shares, centres and covariances, the first ``n_round`` of them round."""
    sums = parts.T @ features
    weights = sums[:, 0] + 1e-9
    centres = sums[:, 1 : d + 1] / weights[:, None]
    i, j = np.triu_indices(d)
    second = np.empty((len(weights), d, d))
    second[:, i, j] = second[:, j, i] = sums[:, d + 1 :] / weights[:, None]
    covariances = second - centres[:, :, None] * centres[:, None, :]
    variances = np.maximum(np.trace(covariances, axis1=1, axis2=2) / d, 0.0)
    share = d / (d + weights)
    share[:n_round] = 1.0
    circles = (variances * share + floor)[:, None, None] * np.eye(d)
    return weights / len(features), centres, (1.0 - share)[:, None, None] * covariances + circles
