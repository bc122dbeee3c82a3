"""Second-order conditions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force import maxima_of
from dominantsets.similarity.faces import matrix_face, negative_definite_on_face
from support import negative_on_face


def test_second_order_test_agrees_with_eigenvalues():
    rng = np.random.default_rng(0)
    verdicts = set()
    for _ in range(200):
        m = int(rng.integers(2, 7))
        B = rng.normal(size=(m, m))
        B = (B + B.T) / 2 - rng.random() * 3 * np.eye(m)
        verdict = negative_definite_on_face(B)
        assert verdict == negative_on_face(B)
        verdicts.add(verdict)
    assert verdicts == {True, False}


@pytest.mark.parametrize("m", [10, 14, 18])
@pytest.mark.parametrize("seed", range(4))
def test_large_pivots_of_a_nearly_singular_face(m, seed):
    """With a nearly null vector of components 0.6^k no pivot is small, but the inverse is as large as 1e12.

    Its norm must be seen: the maximum on the face is far from a point with level payoffs.
    """
    rng = np.random.default_rng(seed)
    null = 0.6 ** np.arange(m) * rng.choice([-1.0, 1.0], m)
    null -= null.mean()
    null /= np.linalg.norm(null)
    basis = np.linalg.qr(np.column_stack([np.ones(m), null, rng.normal(size=(m, m - 2))]))[0]
    values = np.concatenate([[0.0, 1e-12], rng.uniform(0.5, 1.5, m - 2)])
    B = -(basis * values) @ basis.T
    B = 0.5 * (B + B.T)
    face = matrix_face(B, 0.0, 1.0)
    assert face.concave is not False
    if face.concave:  # |z| = |p| / 1e-12 is possible, for a p along the null vector
        assert face.weights.max() >= 0.5 * np.abs(null).max() / 1e-12 * np.abs(null).max()


@given(st.integers(0, 10**6), st.integers(3, 6), st.floats(0.0, 2.0))
@settings(max_examples=40, deadline=None)
def test_a_face_bounds_how_far_its_maximum_is(seed, m, shift):
    """Against the maximum of a concave f with changed payoffs, over all supports in rationals."""
    rng = np.random.default_rng(seed)
    A = rng.integers(0, 5, (m, m)).astype(float)
    A = np.triu(A, 1) + np.triu(A, 1).T
    B = A - (4.0 + shift) * np.eye(m)
    face = matrix_face(B, 0.0, 4.0)
    if not face.concave:
        return
    p = rng.uniform(-1e-2, 1e-2, m)

    def best(B, p):  # x'Bx + 2 p'x is a form of x on the simplex
        form = [
            [Fraction(float(B[i, j])) + Fraction(float(p[i])) + Fraction(float(p[j])) for j in range(m)]
            for i in range(m)
        ]
        ((S, (x, _)),) = maxima_of(form)[0].items()
        out = np.zeros(m)
        out[list(S)] = [float(v) for v in x]
        return out

    moved = np.abs(best(B, p) - best(B, np.zeros(m)))
    assert (moved <= np.abs(p).max() * face.weights * (1.0 + 1e-9)).all()
