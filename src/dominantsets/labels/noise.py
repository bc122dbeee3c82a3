"""Noise: a given share of the objects, and whether objects look like those of a background."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np
from scipy.stats import rankdata

from dominantsets._typing import Flags, Floats, Ints

FAR = 2.0  # times as far as the farthest object of its cluster a new object is from which it is noise
UNLIKE = 0.05  # by which the share of pairs may differ from 1/2 where the background is what it is taken for


def is_share(noise: float | str | None) -> TypeGuard[float]:
    """Whether ``noise`` is a share of the objects, and not a way to find out."""
    return not (noise is None or isinstance(noise, str))


def noise_level(typical: Floats, share: float) -> float:
    """The level below which a share of the objects lies.

    Objects that are equally typical stay together, on the side that comes closer to the share: their order
    must not decide.

    Parameters
    ----------
    typical : ndarray
        How typical each object is of its cluster.
    share : float
        A share of the objects, from 0 to 1.

    Returns
    -------
    float
        Objects below this level are noise.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets.labels.noise import noise_level
    >>> float(round(noise_level(np.array([0.1, 0.9, 0.4, 0.7]), 0.5), 2))
    0.55
    >>> noise_level(np.ones(4), 0.25)  # all or none: none is closer
    -inf
    """
    count = round(share * typical.size)
    if count == 0:
        return -np.inf
    if count == typical.size:
        return np.inf
    level = float(np.partition(typical, count)[count])
    below, equal = np.count_nonzero(typical < level), np.count_nonzero(typical == level)
    out = typical < level if 2 * (count - below) <= equal else typical <= level
    # half way, so that rounding puts no object on the other side
    return 0.5 * float(typical[out].max(initial=-np.inf) + typical[~out].min(initial=np.inf))


def without_noise(labels: Ints, typical: Floats, share: float) -> tuple[Ints, Floats, str]:
    """Labels and probabilities once a share of the objects is called noise, and a sentence that says so."""
    out = typical < noise_level(typical, share)
    return np.where(out, -1, labels), np.where(out | (labels < 0), 0.0, typical), sentence_of(out, share)


def share_beyond(away: Floats, labels: Ints) -> Floats:
    """For each object, the share of its cluster that is at least as far away; 0 without a cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets.labels.noise import share_beyond
    >>> share_beyond(np.array([1.0, 3.0, 2.0, 2.0, 9.0]), np.array([0, 0, 0, 0, -1]))
    array([1.  , 0.25, 0.75, 0.75, 0.  ])
    """
    out = np.zeros(labels.size)
    for k in range(int(labels.max(initial=-1)) + 1):
        mine = np.flatnonzero(labels == k)
        out[mine] = 1.0 - np.searchsorted(np.sort(away[mine]), away[mine], side="left") / max(1, mine.size)
    return out


def largest_of(away: Floats, labels: Ints) -> Floats:
    """The largest value in each cluster; 0 without objects."""
    out = np.zeros(int(labels.max(initial=-1)) + 1)
    np.maximum.at(out, labels[labels >= 0], away[labels >= 0])
    return out


def sentence_of(out: Flags, share: float) -> str:
    """What was done about a share of noise."""
    labelled = f"{out.mean():.0%} of the objects are labelled noise ({share:.0%} asked)"
    return f"{labelled}: those least typical of their clusters."


def larger(objects: Floats, drawn: Floats) -> tuple[float, float]:
    """The share of pairs of an object and a drawn place in which the object has the larger value.

    Parameters
    ----------
    objects, drawn : ndarray
        A value of each.

    Returns
    -------
    share : float
        1/2 where both have one distribution.
    error : float
        Its standard error in that case.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets.labels.noise import larger
    >>> larger(np.array([3.0, 5.0]), np.array([1.0, 4.0]))[0]
    0.75
    """
    m, n = objects.size, drawn.size
    ranks = rankdata(np.concatenate([objects, drawn]))[:m]
    share = float((ranks.sum() - 0.5 * m * (m + 1)) / (m * n))
    return share, float(np.sqrt((m + n + 1) / (12.0 * m * n)))
