"""Sums over rows of matrices, and checks of matrices, against their plain forms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets.compiled import matrices
from support import frozen


def sparse(seed, n=9, m=9):
    A = sp.random_array((n, m), density=0.4, rng=np.random.default_rng(seed), format="csr")
    return A, (A.indptr.astype(np.int32), A.indices.astype(np.int32), A.data)


@pytest.mark.parametrize("seed", range(3))
def test_sums_of_sparse_rows(seed):
    A, parts = sparse(seed)
    rows, weights = np.array([7, 2, 4]), np.array([0.5, -2.0, 3.0])
    out = np.ones(9)
    matrices.add_sparse_rows(*parts, rows, weights, out)
    expected = weights @ A.toarray()[rows]
    np.testing.assert_allclose(out, 1.0 + expected, atol=1e-14)
    objects, values = matrices.merge_sparse_rows(*parts, rows, weights)
    touched = np.zeros(9, dtype=bool)
    touched[rows] = True
    touched[A[rows].indices] = True
    assert objects.tolist() == np.flatnonzero(touched).tolist()
    np.testing.assert_allclose(values, expected[objects], atol=1e-14)


@pytest.mark.parametrize(("n", "some"), [(9, 4), (9, 9), (150, 90), (150, 3)])
def test_entries_of_a_sparse_matrix_are_picked_without_its_diagonal(n, some):
    rng = np.random.default_rng(n + some)
    A, parts = sparse(some, n, n)
    rows, cols = rng.permutation(n)[:some], np.sort(rng.permutation(n)[:some])
    places = rng.permutation(some)
    out = np.zeros((some, some))
    matrices.pick(*parts, rows, cols, places, out)
    expected = A.toarray() * (1.0 - np.eye(n))
    np.testing.assert_array_equal(out[:, places], expected[np.ix_(rows, cols)])


def test_a_block_has_zeros_where_both_are_the_same_object():
    A = np.random.default_rng(0).random((6, 6))
    rows, cols = np.array([4, 1]), np.array([1, 0, 4])
    out = np.full((2, 3), 9.0)
    matrices.take_block(frozen(A), rows, cols, out)
    np.testing.assert_array_equal(out, (A * (1.0 - np.eye(6)))[np.ix_(rows, cols)])


def square(n, seed):
    A = np.random.default_rng(seed).normal(size=(n, n))
    A[np.diag_indices(n)] = 1e9 * (-1.0) ** np.arange(n)  # which nobody may look at
    return A


@pytest.mark.parametrize("tile", [1, 3, 4, 20])
@pytest.mark.parametrize("n", [2, 7, 12])
def test_what_is_seen_of_a_square_matrix(n, tile):
    A = square(n, n)
    off = ~np.eye(n, dtype=bool)
    apart = np.where(off, np.abs(A - A.T), 0.0)
    seen = matrices.glance_square(frozen(A), tile, 0, 1)
    assert seen.tolist() == [A[off].min(), max(0.0, A[off].max()), apart.max(), 0.0]  # of similarities
    # strides share the tiles, so that together they see the same
    parts = np.array([matrices.glance_square(frozen(A), tile, first, 2) for first in range(2)])
    assert [parts[:, 0].min(), *parts[:, 1:3].max(axis=0)] == seen[:3].tolist()
    bad, least, i, j, most_apart, a, b, most = matrices.inspect_square(frozen(A), tile)
    assert (bad, least, most_apart) == (0, A[off].min(), apart.max())
    assert A[i, j] == least
    assert i != j
    assert apart[a, b] == most_apart
    assert most == max(0.0, A[np.triu_indices(n, 1)].max())


@pytest.mark.parametrize("place", [(0, 5), (5, 0), (6, 2), (3, 4)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_stains(place, value):
    A = square(7, 1)
    A[place] = value
    stains = [matrices.glance_square(frozen(A), 3, first, 2)[3] for first in range(2)]
    assert np.isnan(stains).any()
    assert matrices.inspect_square(frozen(A), 3)[0] == 1
    A[place[::-1]] = np.nan  # a pair counts once
    assert matrices.inspect_square(frozen(A), 3)[0] == 1
    A[1, 2] = np.nan
    assert matrices.inspect_square(frozen(A), 3)[0] == 2
    A[:] = 0.0
    A[4, 4] = value  # the diagonal is left out
    assert matrices.inspect_square(frozen(A), 3)[0] == 0
    assert matrices.glance_square(frozen(A), 3, 0, 1)[3] == 0.0


def test_of_equal_entries_the_first_is_named():
    A = np.ones((5, 5))
    assert matrices.inspect_square(frozen(A), 2)[1:4] == (1.0, 0, 1)
    assert matrices.inspect_square(frozen(A), 2)[4:7] == (0.0, 0, 0)
    A[1, 3] = A[2, 4] = 0.5  # twice as far from what is across the diagonal
    assert matrices.inspect_square(frozen(A), 9)[1:7] == (0.5, 1, 3, 0.5, 1, 3)
