"""Compiled parts of the neighbour embedding: weights of neighbours, and one round of moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import compiled, reassociated

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]

HALVINGS = 64  # of the interval in which a bandwidth is sought


@compiled
def weigh(distances: Floats, total: float, out: Floats) -> None:
    """out[i, j] = exp(-(d_ij - d_i0) / s_i) with s_i such that they sum to ``total``; distances rise.

    Where more than ``total`` neighbours are equally near, no s does: then s is 0, and those have weight 1.
    """
    n, k = distances.shape
    for i in range(n):
        nearest = distances[i, 0]
        ties = 0
        while ties < k and distances[i, ties] <= nearest:
            ties += 1
        low, high = 0.0, np.inf
        s = distances[i, k - 1] - nearest
        if ties < total:
            for _ in range(HALVINGS):
                found = 0.0
                for j in range(k):
                    found += np.exp((nearest - distances[i, j]) / s)
                if found > total:
                    high = s
                else:
                    low = s
                s = 0.5 * (low + high) if high < np.inf else 2.0 * s
        for j in range(k):
            if j < ties:
                out[i, j] = 1.0
            else:
                out[i, j] = np.exp((nearest - distances[i, j]) / s) if ties < total else 0.0


@compiled
def mixed(a: Any) -> Any:
    """A number that looks random, from a counter: the last steps of a common hash."""
    a = (a ^ (a >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    a = (a ^ (a >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return a ^ (a >> np.uint64(31))


@reassociated
def move(
    now: Floats32, speed: Floats32, starts: Ints, others: Ints, shares: Floats32, first: int, last: int,
    epoch: int, samples: int, rate: float, repulsion: float, momentum: float, after: Floats32,
) -> None:  # fmt: skip
    """One step of the objects first, ..., last - 1, all from the places of the step before.

    Half the slope of sum p log(1 + t) over neighbours, plus repulsion times the mean of 1 / (1 + t) over
    samples, t being squared distances.
    """
    n, d = now.shape
    force = np.empty(d, np.float32)
    one, push = np.float32(1.0), np.float32(repulsion / samples)
    step, keep = np.float32(rate), np.float32(momentum)
    for i in range(first, last):
        force[:] = 0.0
        for e in range(starts[i], starts[i + 1]):
            j, t = others[e], one
            for f in range(d):
                t += (now[i, f] - now[j, f]) ** 2
            pull = shares[e] / t
            for f in range(d):
                force[f] += pull * (now[j, f] - now[i, f])
        counter = np.uint64((epoch * n + i) * samples)
        for s in range(samples):
            j = np.int64(mixed(counter + np.uint64(s)) % np.uint64(n))
            t = one
            for f in range(d):
                t += (now[i, f] - now[j, f]) ** 2
            away = push / (t * t)
            for f in range(d):
                force[f] += away * (now[i, f] - now[j, f])
        for f in range(d):
            speed[i, f] = keep * speed[i, f] + step * force[f]
            after[i, f] = now[i, f] + speed[i, f]
