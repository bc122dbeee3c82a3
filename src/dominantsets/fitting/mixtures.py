r"""How many components a mixture of normal distributions has: a number of clusters for groups that overlap.

Mixtures with round components, and with a covariance for each, begin at Ward's clusters for growing numbers
of components. Bayes' information criterion takes one of them. Skewed and heavy-tailed data without groups
have several components, too, so the number is an answer by itself only if the components are *apart* and
*certain*. They are apart if the density has a valley between any two of them. Their certainty is the mean
largest posterior probability, times the mean adjusted Rand index between the labels and those of mixtures of
subsamples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.special import logsumexp
from sklearn.metrics import adjusted_rand_score

from dominantsets._typing import Floats, Ints
from dominantsets.labels.ellipses import Ellipses, fit_ellipses
from dominantsets.solvers import Monitor

MOST = 50  # largest number of components
OBJECTS = 4  # smallest mean number of objects per component
WORSE = 3  # numbers in a row with a larger criterion, after which larger ones are not tried
ROUNDS, STEADY = 60, 1e-4  # of a fit, and the gain in nats per object below which it is done
VALLEY = 0.8  # largest density between two components that are apart, over that of the lower center
PLACES = np.linspace(0.0, 1.0, 21)[:, None]  # between two centers
STEP = 1.2  # ratio between numbers above ten; those between the best and its neighbors are tried at last


@dataclass(frozen=True, eq=False)
class Components:
    """The mixture that Bayes' information criterion takes.

    Attributes
    ----------
    mixture : Ellipses
        The mixture, of all rows.
    is_round : bool
        Whether its components are round.
    """

    mixture: Ellipses
    is_round: bool

    @property
    def number(self) -> int:
        """Number of components."""
        return self.mixture.n_clusters

    @property
    def is_apart(self) -> bool:
        """Whether the density has a valley between the centers of any two components."""
        mixture = self.mixture
        peaks = mixture.density(mixture.centres)
        for i in range(1, self.number):
            between = mixture.centres[i] + PLACES * (mixture.centres[:i, None] - mixture.centres[i])
            lows = mixture.density(between.reshape(-1, between.shape[2])).reshape(i, -1).min(axis=1)
            if (lows - np.minimum(peaks[:i], peaks[i]) > np.log(VALLEY)).any():
                return False
        return True

    def certainty(self, rows: Floats, parts: list[Ints]) -> float:
        """Mean largest posterior probability of the rows, times the agreement with mixtures of some."""
        labels, logs = self.mixture.label(rows)[0], self.mixture.logs(rows)
        likely = np.exp(logs.max(axis=1) - logsumexp(logs, axis=1))
        agreements = []
        for part in parts:
            some = np.unique(rows[part], axis=0)
            again = _fitted(some, _Starts(some)(self.number), self.is_round)
            agreements.append(adjusted_rand_score(labels[part], again.label(rows[part])[0]))
        return float(likely.mean() * np.mean(agreements))


class _Starts:
    """Ward's clusters of some rows, for every number of them."""

    def __init__(self, rows: Floats) -> None:
        self._tree = linkage(rows, "ward")

    def __call__(self, number: int) -> Ints:
        return np.asarray(fcluster(self._tree, number, "maxclust"), dtype=np.int64) - 1


def components(rows: Floats, monitor: Monitor) -> Components:
    """The mixture of some rows that Bayes' information criterion takes; copies of a row are one.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The rows; at least two of them differ.
    monitor : Monitor
        At its time limit the best so far is taken.

    Returns
    -------
    Components
        The mixture.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from dominantsets.solvers import Monitor
    >>> X, _ = make_blobs(400, centers=[(0, 0), (3, 0), (0, 3)], random_state=0)
    >>> components(X, Monitor()).number
    3
    """
    rows = np.unique(rows, axis=0)  # the criterion counts independent rows
    starts, n = _Starts(rows), len(rows)
    best: Components | None = None
    for is_round in (True, False) if rows.shape[1] > 1 else (True,):
        found = _best_of(rows, starts, is_round, monitor)
        if best is None or found.mixture.bic(n) < best.mixture.bic(n):
            best = found
    assert best is not None
    return best


def _fitted(rows: Floats, labels: Ints, is_round: bool) -> Ellipses:
    return fit_ellipses(rows, labels, round_=is_round, rounds=ROUNDS, steady=STEADY)


def _best_of(rows: Floats, starts: _Starts, is_round: bool, monitor: Monitor) -> Components:
    """The best mixture of one shape."""
    n = len(rows)
    fits: dict[int, Ellipses] = {}

    def criterion(number: int) -> float:
        fits[number] = _fitted(rows, starts(number), is_round)
        return fits[number].bic(n)

    best, lowest, worse = 1, criterion(1), 0
    for number in _numbers(min(MOST, n // OBJECTS)):
        if worse >= WORSE or monitor.out_of_time():
            break
        now = criterion(number)
        worse = 0 if now < lowest else worse + 1
        if now < lowest:
            best, lowest = number, now
    tried = sorted(fits)
    place = tried.index(best)
    low, high = tried[max(place - 1, 0)], tried[min(place + 1, len(tried) - 1)]
    for number in range(low + 1, high):
        if number not in fits and not monitor.out_of_time() and criterion(number) < lowest:
            best, lowest = number, fits[number].bic(n)
    return Components(fits[best], is_round)


def _numbers(most: int) -> Iterator[int]:
    """Numbers from two on: all up to ten, then by steps."""
    number = 2
    while number <= most:
        yield number
        number = max(number + 1, round(number * STEP)) if number >= 10 else number + 1
