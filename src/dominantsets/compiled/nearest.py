"""Compiled parts of the search for nearest neighbours: the best of a block of scores, true distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import reassociated

Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]


@reassociated
def smallest(products: Floats32, squares: Floats32, own: Ints, out: Ints) -> None:
    """The columns with the least squares - 2 products of each row, in rising order; of equals the first.

    ``own`` is the column of the row's own object, which is left out; -1 for none. Rows with fewer columns
    than are asked for end in -1.
    """
    rows, cols = products.shape
    count = out.shape[1]
    best = np.empty(count, np.float32)
    for i in range(rows):
        held, row, place = 0, products[i], out[i]
        for j in range(cols):
            score = squares[j] - np.float32(2.0) * row[j]
            if (held == count and score >= best[count - 1]) or j == own[i]:
                continue
            k = held if held < count else count - 1
            held = min(held + 1, count)
            while k > 0 and best[k - 1] > score:
                best[k], place[k] = best[k - 1], place[k - 1]
                k -= 1
            best[k], place[k] = score, j
        for k in range(held, count):
            place[k] = -1


@reassociated
def rerank(new: Floats32, X: Floats32, own: Ints, candidates: Ints, nearest: Ints, squares: Floats32) -> None:
    """The nearest of each row's candidates (numbers of rows of X, -1 for none), by their true distances.

    ``own[i]`` is a candidate that is left out, -1 for none. Candidates may stand
    there twice. Equal distances are ordered by number, so that the order of the candidates does not matter.
    """
    count, d = nearest.shape[1], X.shape[1]
    for i in range(own.size):
        row, held = new[i], 0
        for c in candidates[i]:
            if c < 0 or c == own[i]:
                continue
            other, s = X[c], np.float32(0.0)
            for f in range(d):
                e = row[f] - other[f]
                s += e * e
            if held == count and (s > squares[i, count - 1]):
                continue
            k, known = 0, False
            for h in range(held):
                known |= nearest[i, h] == c
            if known:
                continue
            if held == count:
                if s == squares[i, count - 1] and c > nearest[i, count - 1]:
                    continue
                k = count - 1
            else:
                k = held
                held += 1
            while k > 0 and (squares[i, k - 1] > s or (squares[i, k - 1] == s and nearest[i, k - 1] > c)):
                squares[i, k], nearest[i, k] = squares[i, k - 1], nearest[i, k - 1]
                k -= 1
            squares[i, k], nearest[i, k] = s, c
        for k in range(held, count):
            nearest[i, k], squares[i, k] = -1, np.inf
