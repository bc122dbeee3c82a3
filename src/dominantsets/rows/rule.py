r"""The rule that turns scores of clouds into labels, wherever the scores are.

The score of object i at cluster k is :math:`s_{ik} = c_k - r_k t_{ik}`, the logarithm of its density; the
object is of the cluster with the highest one. A cloud of D dimensions has the share :math:`Q(D / 2, z)`
farther out, with :math:`z = c_k - s_{ik}` and Q the upper regularised gamma function: that is the probability
of the object in its cluster. It is noise where that is below what the cluster asks for, or where the
background's score is higher, or where z is larger than ``far``.

With tails of Student's t, of :math:`\nu` degrees of freedom for all clusters, the density of cluster k is
:math:`u_k (1 + t / \nu\sigma_k^2)^{-h}` with :math:`h = (\nu + D) / 2`. It is highest where
:math:`u_k^{-1/h} (1 + t / \nu\sigma_k^2)` is lowest, which is linear in t as well: minus that is the score.
The share farther out is :math:`I(\nu / 2, D / 2; \nu / (\nu + 2 z))`, with I the regularised incomplete beta
function and z half of :math:`t / \sigma_k^2`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, betaincinv, gammaincc, gammainccinv

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
        """z, above which an object of each cluster is noise."""
        least, tails = np.clip(self.least, 0.0, 1.0), self.cores.tails
        if tails is None:
            unlikely = gammainccinv(0.5 * self.dimension, least)
        else:
            with np.errstate(divide="ignore"):
                unlikely = tails.half / betaincinv(tails.half, 0.5 * self.dimension, least) - tails.half
        return np.asarray(np.minimum(unlikely, self.far))

    def beyond(self, z: Floats) -> Floats:
        """The share of a cluster that is farther out than z."""
        tails = self.cores.tails
        if tails is None:
            return np.asarray(gammaincc(0.5 * self.dimension, z))
        return np.asarray(betainc(tails.half, 0.5 * self.dimension, tails.half / (tails.half + z)))

    def decide(
        self,
        nearest: Callable[[Cores], tuple[Any, Any]],
        beyond: Callable[[Any], Any],
        log: Callable[[Any], Any],
        send: Any,
    ) -> tuple[Any, Any]:
        """Labels and probabilities, as arrays of the library that ``nearest`` answers in.

        ``nearest`` gives the best core of each object and its score, ``beyond`` and ``log`` are functions of
        that library, and ``send`` brings an array of NumPy to where the others are.
        """

        def highest(cores: Cores) -> tuple[Any, Any, Any]:  # the core, the logarithm, the fall of the score
            best, score = nearest(cores)
            top = send(cores.constants)[best]
            away = top - score
            away[away < 0.0] = 0.0  # no score is higher than that at the center, but for rounding
            return best, cores.logs(top - away, log), away

        best, density, away = highest(self.cores)
        if self.cores.tails is not None:
            away *= send(self.cores.tails.scales)[best]
        probabilities = beyond(away)
        noise = (probabilities < send(self.least)[best]) | (away > send(self.far)[best])
        if self.background is not None:
            before = density + send(self.rest)[best] if self.judges is None else highest(self.judges)[1]
            noise |= nearest(self.background)[1] > before
        best[noise], probabilities[noise] = -1, 0.0
        return best, probabilities
