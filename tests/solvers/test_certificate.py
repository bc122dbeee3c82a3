"""Second-order conditions."""

from __future__ import annotations

import numpy as np
import pytest

from dominantsets import solve
from dominantsets.similarity.faces import negative_definite_on_face
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
    assert not solve(A).strict
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


@pytest.mark.parametrize("unit", [1.0, 0.1, 1e140, 1e-140])
@pytest.mark.parametrize("method", ["pairwise", "away", "working-set", "path-following", "shrink-expand"])
def test_an_outsider_at_the_threshold_proves_nothing(method, unit):
    """A triangle, and an object that is like two of its corners: at equal weights it has f = 2/3 too.

    A solver stops near the maximum, where the margin is of either sign and may exceed the gap, or where the
    outsider still has a tiny weight.
    """
    A = np.zeros((5, 5))
    for i, j in [(0, 1), (0, 2), (1, 2), (3, 0), (3, 1)]:
        A[i, j] = A[j, i] = unit
    for start in ("vertex",) if method == "path-following" else (0, 2, 3, "barycenter"):
        found = solve(A, algorithm=method, start=start)
        assert found.value == pytest.approx(2 / 3 * unit, rel=1e-9)
        assert not found.strict


def test_a_member_whose_weight_is_rounding_proves_nothing():
    """The best point leaves one of four at 0, exactly level with the others."""
    B = np.array([[-2.0, 0.5, 1.0, 2.0], [0.5, -2.0, 0.5, 0.5], [1.0, 0.5, -2.0, 1.0], [2.0, 0.5, 1.0, -2.0]])
    x = np.array([3.0, 0.0, 2.0, 3.0]) / 8.0
    B[1, [0, 2, 3]] = B[[0, 2, 3], 1] = x @ B @ x
    r = B @ x
    np.testing.assert_allclose(r, x @ r)
    near = x + np.array([0.0, 4e-17, 0.0, 0.0])
    for method in ("pairwise", "working-set", "shrink-expand"):
        found = solve(B + 2.0 * np.eye(4), algorithm=method, shift=2.0, start=near)
        assert not found.strict or found.undecided.tolist() == [1]


def test_expansions_end_whatever_the_unit():
    """Products of gains of 1e-281 are 0: a step of 0 was taken again and again."""
    A = np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    for unit in (1.0, 1e-280, 1e100):
        found = solve(unit * A, algorithm="shrink-expand", shift=-0.5 * unit, start=2)
        assert found.status.value == "converged"
        assert found.members.tolist() == [0, 1]
