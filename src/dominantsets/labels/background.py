r"""Is there a background: objects that lie evenly, and far apart, around groups of any shape?

A background is even: its objects are as isolated as places drawn evenly from where it is. Let :math:`r_i` be
the isolation of object i, the distance to its 5th nearest other one, and s that of drawn places. No group
reaches the emptier half of the places, so twice the share of the objects with :math:`r_i \ge` the median of
s is the share p of the background. With G the distribution of s, an object is background above the level
:math:`\rho` at which fewest of the n objects are expected on the wrong side:

.. math:: n p\,G(\rho) + \bigl(|\{i : r_i > \rho\}| - n p\,(1 - G(\rho))\bigr).

On a line and in a plane places are drawn from the convex hull of the objects. In more dimensions the hull is
mostly empty corners; there, places are drawn that have the mean and the covariance of the background, again
and again until it is steady.

The background is believed if

- it has at least 30 objects, and no more than 60% of all;
- no more than 55% of it are expected on the wrong side of the level, with a standard error of its number
  added;
- its objects are as isolated as places above the level are, as far from each other as such places are from
  them (objects of a sparse cluster are not), and as far from all other objects (edges of groups are not). In
  each of these comparisons the object has the larger value in at least 0.42 of the pairs with a place; of a
  background it has it in a half.

``benchmarks/noise.py`` has the sets on which these numbers were chosen, and others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.spatial import QhullError
from sklearn.neighbors import NearestNeighbors

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.labels.clouds import within_hull
from dominantsets.labels.noise import larger
from dominantsets.similarity import Similarity
from dominantsets.similarity.isolation import RowIsolation, isolation_of
from dominantsets.similarity.search import FEW_FEATURES

FEWEST, MOST = 30, 0.6  # objects of a background, and its largest share
WRONG = 0.55  # largest share of the background on the wrong side of the level, with a standard error
LARGER = 0.42  # least share of pairs of an object and a place in which the object has the larger value
DRAWN = 2_000  # places, and objects that span the hull: the most isolated ones
SPARE = 8  # times as many are drawn from the box as from the hull
PLANE = 2  # dimensions up to which places are drawn from the hull
ROUNDS = 4  # of drawing places with the background's mean and covariance


class Background(NamedTuple):
    """Whether there is a background, and which objects belong to it.

    Parameters
    ----------
    isolation : ndarray of shape (n,)
        The distance of each object to its 5th nearest other one.
    level : float
        Objects with a larger distance are background; inf if there is none.
    sentence : str
        What was found, and why.
    """

    isolation: Floats
    level: float
    sentence: str

    @property
    def is_found(self) -> bool:
        """Whether there is a background."""
        return bool(np.isfinite(self.level))

    @property
    def objects(self) -> Flags:
        """Which objects are background."""
        return self.isolation > self.level

    def part(self, some: Ints) -> Background:
        """The background of some of the objects."""
        return self._replace(isolation=self.isolation[some])


class _Level(NamedTuple):
    """The level between groups and background: with it, the places, and what is expected of it."""

    level: float
    share: float
    wrong: float
    places: Floats
    isolation: Floats


def find_background(similarity: Similarity) -> Background:
    """Find the background of rows of features.

    Parameters
    ----------
    similarity : Similarity
        Any; one without rows of its own has no background that can be found.

    Returns
    -------
    Background
        The background; its level is inf where none is believed.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets.similarity import as_similarity
    >>> rng = np.random.default_rng(0)
    >>> angles = rng.uniform(0.0, 6.3, 400)
    >>> ring = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> X = np.concatenate([ring, rng.uniform(-1.5, 1.5, size=(100, 2))])
    >>> found = find_background(as_similarity(X, "path"))
    >>> int(found.objects[:400].sum()), bool(found.objects[400:].mean() > 0.7)
    (0, True)
    """
    isolation, n = isolation_of(similarity), similarity.n
    r = np.zeros(n) if isolation is None else isolation.of_objects()

    def none(reason: str) -> Background:
        return Background(r, np.inf, f"no object is labelled noise: {reason}.")

    if not isinstance(isolation, RowIsolation):
        return none("a background is looked for among rows of features")
    if isolation.rows.shape[1] > FEW_FEATURES:
        found = isolation.rows.shape[1]
        return none(f"a background is looked for in up to {FEW_FEATURES} features, these are {found}")
    rows = isolation.rows.toarray() if sp.issparse(isolation.rows) else isolation.rows
    if n < 2 * FEWEST:
        return none(f"{n} objects are too few for a background")
    if not r.max() > 0.0:
        return none("all objects have copies")
    found = _level(rows, r, isolation)
    out = r > found.level
    if out.sum() < FEWEST:
        return none("no background was found")
    if found.share > MOST:
        return none(f"{found.share:.0%} of the objects are spread evenly, too many for a background")
    if n * found.wrong + np.sqrt(n * found.share) > WRONG * n * found.share:
        return none("groups and what surrounds them pass into each other")
    above, far = found.isolation > found.level, rows[out]
    if not above.any() or larger(r[out], found.isolation[above])[0] < LARGER:
        return none("the most isolated objects are less isolated than evenly drawn places")
    if _is_nearer(far, found.places[above], far):
        return none("the most isolated objects keep together, so that they may be groups")
    if _is_nearer(far, found.places[above], rows[~out]):
        return none("the most isolated objects keep to the groups, so that they may be their edges")
    share = f"{out.mean():.0%} of the objects are labelled noise"
    return Background(r, found.level, f"{share}: they are spread evenly around the groups, and far apart.")


def _is_nearer(objects: Floats, places: Floats, others: Floats) -> bool:
    """Whether objects are nearer to others than places are; an object is no other one to itself."""
    search = NearestNeighbors(n_neighbors=1).fit(others)
    mine = search.kneighbors(None if others is objects else objects)[0]
    return larger(mine[:, 0], search.kneighbors(places)[0][:, 0])[0] < LARGER


def _level(rows: Floats, r: Floats, isolation: RowIsolation) -> _Level:
    """The level at which fewest objects are expected on the wrong side."""
    order = np.argsort(r, kind="stable")
    rising, out = r[order], order
    random, hull = np.random.RandomState(0), _hull(rows[order[-DRAWN:]])
    for _ in range(ROUNDS if hull is None else 1):
        places = _alike(rows[out], random) if hull is None else hull
        s = isolation.of_places(places)
        share = min(1.0, 2.0 * float((r >= np.median(s)).mean()))
        below = np.searchsorted(np.sort(s), rising, side="right") / s.size
        wrong = 1.0 - np.arange(1, r.size + 1) / r.size + share * (2.0 * below - 1.0)
        wrong[:-1][rising[:-1] == rising[1:]] = np.inf  # equal objects stay together
        k = int(wrong.argmin())
        level = 0.5 * float(rising[k] + rising[min(k + 1, r.size - 1)])
        out = order[rising > level]
        if out.size < FEWEST:
            break
    return _Level(level, share, float(wrong[k]), places, s)


def _hull(rows: Floats) -> Floats | None:
    """Places drawn evenly from the convex hull of some rows; None in many dimensions, or without a volume."""
    if rows.shape[1] > PLANE or not np.ptp(rows, axis=0).all():
        return None
    try:
        drawn = np.random.RandomState(0).uniform(size=(SPARE * DRAWN, rows.shape[1]))
        return within_hull(rows, drawn)[:DRAWN]
    except QhullError:  # the rows lie in a plane
        return None


def _alike(rows: Floats, random: np.random.RandomState) -> Floats:
    """Places with the mean and the covariance of some rows: two of them, turned into each other."""
    middle = rows.mean(axis=0)
    one, two = (rows[random.randint(len(rows), size=DRAWN)] - middle for _ in range(2))
    angle = random.uniform(0.0, 2.0 * np.pi, size=(DRAWN, 1))
    return np.asarray(middle + np.cos(angle) * one + np.sin(angle) * two)
