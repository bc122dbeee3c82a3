"""Equal rows: those of a lattice are rounded, others are copies; neither are clusters."""

from __future__ import annotations

import numpy as np

from dominantsets._typing import Floats, Ints

MOST = 1e6  # steps from the smallest to the largest value: with more digits nothing is rounded
EQUAL = 1e-3  # of a step, by which values may miss the lattice
FEWEST = 8  # different rows, of which fewer are groups even if they are copies


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
        last = _last_digit(column)
        if 0.0 < last <= column.std():
            out[:, j] += last * digits[:, j]
    return out


def distinct(rows: Floats) -> Ints:
    """The first of all rows that are equal, in their order; all rows where equal ones are no copies.

    In a column of real numbers two objects are hardly ever equal: equal rows are copies of one object, which
    counts once where groups are looked for. Values on a lattice, and columns of two values, are equal by
    themselves. Fewer than 8 different rows are groups.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> distinct(np.repeat(X, 3, axis=0)).tolist() == list(range(0, 60, 3))
    True
    >>> distinct(np.round(X)).size
    20
    """
    every = np.arange(len(rows))
    first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
    if first.size in (every.size, *range(FEWEST)) or all(_last_digit(column) for column in rows.T):
        return every
    return first


def _last_digit(column: Floats) -> float:
    """The smallest difference of values on a lattice, or of two values; inf of one value, 0 of others."""
    values = np.unique(column)
    if not 2 < values.size < column.size:
        return 0.0 if values.size > 2 else np.inf
    last = float(np.diff(values).min())
    steps = (values - values[0]) / last
    return last if steps[-1] < MOST and np.abs(steps - np.round(steps)).max() < EQUAL else 0.0
