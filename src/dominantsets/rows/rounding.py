"""Rounded features: a lattice, whose points are groups of copies without being clusters."""

from __future__ import annotations

import numpy as np

from dominantsets._typing import Floats


def unrounded(rows: Floats) -> Floats:
    """Rows with the rounding of their columns undone.

    Rounded values lie on a lattice, whose points are groups of copies without being clusters. A column with
    equal values gets random digits below its last one: uniform, as wide as the smallest difference. Columns
    of one or two values, and those with a difference larger than their deviation, are left as they are.

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
        if 2 < values.size < column.size and (last := float(np.diff(values).min())) <= column.std():
            out[:, j] += last * digits[:, j]
    return out
