"""Second-order conditions."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets import solve
from dominantsets.similarity.expansion import negative_definite_on_face
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


def test_a_weak_maximum_is_not_called_strict():
    # a path 0 - 1 - 2: weight may move between 0 and 2 freely, both pairs have value 1/2
    A = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    assert solve(A).strict is False
    assert solve(np.array([[0.0, 1.0], [1.0, 0.0]])).strict is True


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_a_block_of_equal_similarities_has_equal_weights(shift):
    """Derived: k objects of similarity a have value (a + shift)(1 - 1/k) in the paper's convention."""
    k, a = 7, 2.0
    A = np.zeros((10, 10))
    A[:k, :k] = a * (1 - np.eye(k))
    A[k:, k:] = 0.1 * (1 - np.eye(10 - k))
    for method in ("pairwise", "away"):
        cluster = solve(A, algorithm=method, shift=shift)
        assert cluster.members.tolist() == list(range(k))
        np.testing.assert_allclose(cluster.weights, 1 / k, atol=1e-9)
        assert cluster.value == pytest.approx((a + shift) * (1 - 1 / k), rel=1e-12)
        assert cluster.strict is True
