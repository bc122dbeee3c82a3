"""Rounded features: a lattice, whose points are groups of copies without being clusters."""

from __future__ import annotations

import numpy as np

from dominantsets._typing import Floats

MOST = 1e6  # steps from the smallest to the largest value: with more digits nothing is rounded
EQUAL = 1e-3  # of a step, by which values may miss the lattice


def unrounded(rows: Floats) -> Floats:
    """Rows with the rounding of their columns undone.

    Rounded values are multiples of a last digit, on a lattice whose points are groups of copies without being
    clusters. A column of such values, some of them equal, gets random digits below the last one: uniform, as
    wide as the smallest difference. Columns of one or two values, and those with a smallest difference
    larger than their deviation, are left as they are: their values are classes.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.round(np.random.default_rng(0).normal(size=(100, 2)) * 3.0)
    >>> Y = unrounded(X)
    >>> bool((np.round(Y) == X).all()), len(np.unique(Y[:, 0]))
    (True, 100)
    """
    out = rows.copy()
    digits = np.empty_like(rows)
    digits[np.lexsort(rows.T[::-1])] = np.random.RandomState(0).uniform(-0.5, 0.5, size=rows.shape)
    for j, column in enumerate(rows.T):
        values = np.unique(column)
        if not 2 < values.size < column.size:
            continue
        last = float(np.diff(values).min())
        steps = (values - values[0]) / last
        is_lattice = steps[-1] < MOST and np.abs(steps - np.round(steps)).max() < EQUAL
        if is_lattice and last <= column.std():
            out[:, j] += last * digits[:, j]
    return out
