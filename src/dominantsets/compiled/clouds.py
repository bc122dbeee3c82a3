"""One round of fitting clouds: what each object has of every cluster, added up."""

from __future__ import annotations

import numpy as np

from dominantsets._typing import Floats
from dominantsets.compiled.jit import reassociated

FAINT = 40.0  # nats below the largest at which a part is nothing


@reassociated
def expect(
    products: Floats,
    lengths: Floats,
    rows: Floats,
    squares: Floats,
    rates: Floats,
    levels: Floats,
    rest: Floats,
    behind: Floats,
    half: float,
    power: float,
    nearest: bool,
    sums: Floats,
    outside: Floats,
) -> float:
    """Add up the parts of some rows; the logarithm of their likelihood.

    ``products`` are those of rows and centres, ``squares`` the centres' lengths; a cluster's logarithm at the
    squared distance t is ``levels - z`` with z = rate t beside other clusters, with ``rest`` in the
    likelihood, that of the background is ``behind``. With tails of Student's t (a finite ``half`` of the
    degrees of freedom) it is ``levels - power log(1 + z / half)``, and the object has the weight
    w = power / (half + z) in the cluster, else 1. Row k of ``sums`` gets the sums over objects of p, p w t,
    p z², p w times the row, p w and p (log w - w), p what the object has of cluster k: all or nothing where
    ``nearest`` counts alone. What the background has goes to ``outside``.
    """
    m, count = products.shape
    d, tailed = rows.shape[1], half < np.inf
    t, logs = np.empty(count), np.empty(count)
    likelihood = 0.0
    for i in range(m):
        top, high, best, closest = -np.inf, -np.inf, 0, np.inf
        for k in range(count):
            s = lengths[i] - 2.0 * products[i, k] + squares[k]
            s = max(s, 0.0)
            t[k] = s
            z = rates[k] * s
            logs[k] = levels[k] - (power * np.log1p(z / half) if tailed else z)
            if logs[k] > top:
                top = logs[k]
            if logs[k] + rest[k] > high:
                high = logs[k] + rest[k]
            if s < closest:
                closest, best = s, k
        total = mixed = 0.0
        for k in range(count):
            if logs[k] + rest[k] > high - FAINT:
                mixed += np.exp(logs[k] + rest[k] - high)
            if logs[k] > top - FAINT:
                logs[k] = np.exp(logs[k] - top)
                total += logs[k]
            else:
                logs[k] = 0.0
        mixed, back = high + np.log(mixed), behind[i]
        high = max(mixed, back)
        both = high + np.log(np.exp(mixed - high) + np.exp(back - high))
        outside[i] = np.exp(back - both)
        inside = 1.0 - outside[i]
        likelihood += both
        for k in range(count):
            p = 0.0
            if nearest:
                p = inside if k == best else 0.0
            elif logs[k] > 0.0:
                p = logs[k] / total * inside
            if p > 0.0:
                z = rates[k] * t[k]
                w = power / (half + z) if tailed else 1.0
                sums[k, 0] += p
                sums[k, 1] += p * w * t[k]
                sums[k, 2] += p * z**2
                for j in range(d):
                    sums[k, 3 + j] += p * w * rows[i, j]
                sums[k, 3 + d] += p * w
                if tailed:
                    sums[k, 4 + d] += p * (np.log(w) - w)
    return likelihood
