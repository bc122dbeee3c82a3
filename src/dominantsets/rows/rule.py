r"""The rule that turns scores of clouds into labels, wherever the scores are.

The score of object i at cluster k is :math:`s_{ik} = c_k - r_k t_{ik}`, the logarithm of its density; the
object is of the cluster with the highest one. A cloud of D dimensions has the share
:math:`Q(D / 2, c_k - s_{ik})` farther out, with Q the upper regularised gamma function: that is the
probability of the object in its cluster. It is noise where that is below what the cluster asks for, or where
the background's score is higher, or where :math:`c_k - s_{ik}` is larger than ``far``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammainccinv

from dominantsets._typing import Floats
from dominantsets.rows.base import Cores


class Rule(NamedTuple):
    """What labels are made of; arrays have an entry for each cluster."""

    cores: Cores
    dimension: float
    rest: Floats  # what is added to a score before it is compared with the background
    least: Floats  # the probability below which an object is noise
    far: Floats  # the fall of the score from that at the center, above which an object is noise
    background: Cores | None = None
    judges: Cores | None = None  # clusters that the background is compared with, where these are others

    @property
    def falls(self) -> Floats:
        """The fall of the score from that at the center, above which an object of each cluster is noise."""
        unlikely = gammainccinv(0.5 * self.dimension, np.minimum(self.least, 1.0))
        return np.asarray(np.minimum(unlikely, self.far))

    def decide(
        self, nearest: Callable[[Cores], tuple[Any, Any]], tail: Callable[[float, Any], Any], send: Any
    ) -> tuple[Any, Any]:
        """Labels and probabilities, as arrays of the library that ``nearest`` answers in.

        ``nearest`` gives the best core of each object and its score, ``tail`` is Q, and ``send`` brings an
        array of NumPy to where the others are.
        """
        best, score = nearest(self.cores)
        away = send(self.cores.constants)[best] - score
        away[away < 0.0] = 0.0
        probabilities = tail(0.5 * self.dimension, away)
        noise = (probabilities < send(self.least)[best]) | (away > send(self.far)[best])
        if self.background is not None:
            behind = nearest(self.background)[1]
            before = score + send(self.rest)[best] if self.judges is None else nearest(self.judges)[1]
            noise |= behind > before
        best[noise], probabilities[noise] = -1, 0.0
        return best, probabilities
