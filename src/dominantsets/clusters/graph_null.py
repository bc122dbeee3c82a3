r"""What structureless graphs would show: how many sets like one are expected in them.

A structureless graph has the degrees k of the graph at hand and otherwise random edges, two nodes being
linked with probability :math:`k_i k_j / 2E`; its weights are those of the graph, dealt out at random.

A set of m nodes with v edge ends has M = m (m - 1) / 2 pairs, of which a share p is linked on average. By
Chernoff's bound a share of at least q is linked with a probability of at most
:math:`e^{-M\,\mathrm{KL}(q, p)}`. The same event is that no more than b edges leave the set; where all 2E
ends are paired at random, b edges do with probability

.. math:: \binom{v}{b} \binom{2E - v}{b}\, b!\, \frac{(v - b - 1)!!\,(2E - v - b - 1)!!}{(2E - 1)!!} ,

which is smaller for a large part of the graph. The smaller of both bounds counts. The weights inside sum to
at least w with a probability of at most

.. math:: \inf_t \; e^{-t w} \bigl(1 + p\,(\mathbb{E}\,e^{t a} - 1)\bigr)^M ,

with a the weight of an edge. Where weights differ, the more surprising of edges and weights counts, and twice
because there are two. (Pairs differ in their probabilities; as the logarithm is concave, putting p for all of
them only weakens the bound.) There are no more than

.. math:: \min\Bigl\{\tbinom{n}{m},\; \inf_{s \ge 0} \tfrac{1}{m!} e^{s v} Z(s)^m\Bigr\},
   \qquad Z(s) = \sum_i e^{-s k_i},

sets of m nodes with at most v edge ends. The product of both is the expected number of such sets among *all*
sets, so that it does not matter how hard the best one was searched for: no constant is tuned. Its logarithm
is the *evidence*; it is also the number of nats, with the sign turned, by which naming the set shortens a
description of the graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from dominantsets._typing import Floats, Ints
from dominantsets.compiled.graph import within

QUANTILES = 512  # weights that stand for all of them


class Null:
    """Structureless graphs with the degrees and weights of a graph, a CSR matrix with at least an edge."""

    def __init__(self, A: Any) -> None:
        self._A, self._n = A, A.shape[0]
        self._degrees = np.diff(A.indptr).astype(np.float64)
        self._ends = float(self._degrees.sum())
        self._inside = np.zeros(self._n, dtype=bool)
        degrees, counts = np.unique(self._degrees, return_counts=True)
        self._s = np.concatenate([[0.0], np.geomspace(1e-3, 8.0, 60)])
        self._log_z = np.array([_log_sum(counts, -s * degrees) for s in self._s])
        weights = np.sort(A.data.astype(np.float64))
        self._flat = bool(weights[0] >= 0.999 * weights[-1])
        some = weights[np.linspace(0, weights.size - 1, min(QUANTILES, weights.size)).astype(np.int64)]
        self._t = np.geomspace(1e-3, 500.0, 80) / weights[-1]  # beyond e^500 the moments would overflow
        self._moments = np.expm1(np.outer(self._t, some)).mean(axis=1)

    def evidence(self, members: Ints) -> float:
        """The logarithm of the number of sets like this one that are expected, at most; 0 for one node."""
        m, k = members.size, self._degrees[members]
        ends, pairs = float(k.sum()), m * (m - 1) / 2.0
        linked = min(1.0, (ends**2 - float(k @ k)) / (2.0 * self._ends * pairs)) if m > 1 else 0.0
        if linked <= 0.0:
            return 0.0
        # sizes 2, 3, ... share one budget, as 1 / 2 + 1 / 6 + 1 / 12 + ... = 1
        return self._log_sets(m, ends) + float(np.log(2.0 * pairs)) - self._rarity(members, pairs, linked)

    def _rarity(self, members: Ints, pairs: float, linked: float) -> float:
        """Minus the logarithm of the probability of so many edges, or of so much weight, inside a set."""
        A = self._A
        count, total = within(A.indptr, A.indices, A.data, members, self._inside)
        ends = float(self._degrees[members].sum())
        rarity = max(
            pairs * _divergence(count / pairs, linked), _few_leave(ends, ends - 2.0 * count, self._ends)
        )
        if not self._flat:
            tilted = self._t * total - pairs * np.log1p(linked * self._moments)
            rarity = max(rarity, float(tilted.max())) - float(np.log(2.0))
        return max(0.0, rarity)

    def _log_sets(self, m: int, ends: float) -> float:
        """The logarithm of the number of sets of m nodes, or of those with no more edge ends, at most."""
        every = _log_choose(self._n, m)
        # the number of ends is looked at in powers of e, each of which is one more chance
        few = float((self._s * ends + m * self._log_z).min()) - gammaln(m + 1) + np.log(2.0 + np.log(ends))
        return float(min(every, few))


def _log_sum(counts: Ints, logs: Floats) -> float:
    top = float(logs.max())
    return top + float(np.log(counts @ np.exp(logs - top)))


def _few_leave(v: float, b: float, ends: float) -> float:
    """Minus the logarithm of the probability that at most b edges leave v of all ends, paired at random."""
    rest = ends - v
    if b * (ends - 1.0) >= v * rest:
        return 0.0
    ways = _log_choose(v, b) + _log_choose(rest, b) + gammaln(b + 1.0)
    log_p = ways + _log_pairings(v - b) + _log_pairings(rest - b) - _log_pairings(ends)
    return -float(log_p + np.log(b / 2.0 + 1.0))  # b, b - 2, ... edges: each less likely than the one before


def _log_choose(n: float, k: float) -> float:
    return float(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def _log_pairings(ends: float) -> float:
    """The logarithm of (ends - 1)!!, the number of ways to pair an even number of ends."""
    return float(gammaln(ends + 1.0) - gammaln(ends / 2.0 + 1.0) - ends / 2.0 * np.log(2.0))


def _divergence(q: float, p: float) -> float:
    """KL of a share q from a smaller one, p; 0 where it is not smaller."""
    if q <= p:
        return 0.0
    return float(q * np.log(q / p) + ((1.0 - q) * np.log((1.0 - q) / (1.0 - p)) if q < 1.0 else 0.0))
