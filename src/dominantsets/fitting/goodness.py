r"""Whether clouds explain the data: the density of unseen objects, beside a density that has no shape.

The rival is a mean of normal kernels about the objects, each as wide as f times the distance to its tenth
neighbour, f the best of some for objects that are left out of their own density. Where a mixture of K clouds
gives unseen objects a higher density than that, the groups have the shape of clouds; groups that are curves
or of flat density do better with the rival.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from dominantsets._typing import Floats, Ints
from dominantsets.labels.ellipses import BACKGROUNDS, Ellipses, fit_ellipses, usable
from dominantsets.solvers import Monitor

UNIT, NEAR = 10, 60  # the neighbour whose distance is a kernel's unit, and kernels that reach an object
SIGNIFICANT = 2.0  # standard errors
WIDTHS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4)  # of kernels, in that unit


class Shapeless:
    """The density of some objects, without a shape.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> at = Shapeless(X).density(np.array([[0.0], [3.0]]))
    >>> bool(abs(at[0] + 0.919) < 0.3 and at[1] < at[0] - 2.0)
    True
    """

    def __init__(self, rows: Floats) -> None:
        n, self._d = rows.shape
        self._n, self._search = n, NearestNeighbors(n_neighbors=min(NEAR, n - 1)).fit(rows)
        far, who = self._search.kneighbors()  # without the object itself
        unit = far[:, min(UNIT, far.shape[1]) - 1]
        self._units = np.maximum(unit, 1e-9 * max(float(unit.max()), 1e-300))
        self._width = max(WIDTHS, key=lambda width: float(self._logs(far, who, width, n - 1).mean()))

    def _logs(self, far: Floats, who: Ints, width: float, n: int) -> Floats:
        units = width * self._units[who]
        logs = -0.5 * np.square(far / units) - self._d * np.log(units)
        return np.asarray(logsumexp(logs, axis=1) - 0.5 * self._d * np.log(2.0 * np.pi) - np.log(n))

    def density(self, rows: Floats) -> Floats:
        """The logarithm of the density at some rows."""
        far, who = self._search.kneighbors(rows)
        return self._logs(far, who, self._width, self._n)


@dataclass(frozen=True, eq=False)
class Cloud:
    """Clouds that were fitted to groups.

    Attributes
    ----------
    mixture : Ellipses
        Of all objects.
    start : str
        The affinity whose groups they began with.
    is_round : bool
        Whether all are round.
    labels : ndarray of int
        Of all objects, -1 for the background.
    lifts : ndarray
        The logarithms by which unseen objects are denser than the rival has them.
    lift, error : float
        Their mean, and its standard error.
    stability : float
        The mean agreement of the groups of parts with those of all.
    """

    mixture: Ellipses
    start: str
    is_round: bool
    labels: Ints
    lifts: Floats
    stability: float

    @property
    def lift(self) -> float:
        return float(self.lifts.mean())

    @property
    def error(self) -> float:
        return float(self.lifts.std() / np.sqrt(self.lifts.size))

    @property
    def is_significant(self) -> bool:
        """Whether unseen objects are explained significantly better than by the rival."""
        return self.lift > SIGNIFICANT * self.error

    def beats(self, other: Cloud) -> bool:
        """Whether unseen objects are explained significantly better than by others."""
        more = self.lifts - other.lifts
        return float(more.mean()) > SIGNIFICANT * float(more.std() / np.sqrt(more.size))


def best_cloud(
    rows: Floats, parts: list[Ints], starts: list[tuple[str, Ints, bool]], monitor: Monitor
) -> Cloud | None:
    """The clouds that explain unseen objects best.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The objects.
    parts : list of ndarray of int
        Objects that are seen; the others are not.
    starts : list of (name, labels, bool)
        The groups they may begin with, and whether round clouds are tried as well; a background only where
        some are noise (-1).
    monitor : Monitor
        At its time limit the best so far is taken.

    Returns
    -------
    Cloud or None
        Round ones, unless others are significantly better or round ones are no better than the rival. None
        where nothing could be fitted.
    """
    unseen = [others(len(rows), part) for part in parts]
    rivals = [Shapeless(rows[p]).density(rows[u]) for p, u in zip(parts, unseen, strict=True)]
    best: dict[bool, Cloud] = {}
    for name, labels, also_round in starts:
        labels = usable(labels)
        if labels.max(initial=-1) < 0:
            continue
        for round_ in (True, False) if also_round else (False,):
            for background in BACKGROUNDS if (labels < 0).any() else (None,):
                if best and monitor.out_of_time():
                    break
                cloud = _cloud(rows, parts, unseen, rivals, name, labels, round_, background)
                if cloud is not None and (round_ not in best or cloud.lift > best[round_].lift):
                    best[round_] = cloud
    if True in best and False in best:
        simple, other = best[True], best[False]
        return simple if simple.is_significant and not other.beats(simple) else other
    return best.get(True, best.get(False))


def _cloud(
    rows: Floats,
    parts: list[Ints],
    unseen: list[Ints],
    rivals: list[Floats],
    name: str,
    labels: Ints,
    round_: bool,
    background: str | None,
) -> Cloud | None:
    mixture = fit_ellipses(rows, labels, round_=round_, background=background)
    found = mixture.label(rows)[0]
    lifts, agreements = [], []
    for part, rest, rival in zip(parts, unseen, rivals, strict=True):
        start = usable(found[part])
        if start.max(initial=-1) < 0:
            return None
        again = fit_ellipses(rows[part], start, round_=round_, background=background)
        lifts.append(again.density(rows[rest]) - rival)
        agreements.append(adjusted_rand_score(found[part], again.label(rows[part])[0]))
    return Cloud(mixture, name, round_, found, np.concatenate(lifts), float(np.mean(agreements)))


def others(n: int, part: Ints) -> Ints:
    """The objects that are not in a part."""
    unseen = np.ones(n, dtype=bool)
    unseen[part] = False
    return np.flatnonzero(unseen)
