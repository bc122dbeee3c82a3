"""The global optimum: never beaten, bounds that hold in exact arithmetic, the same wherever the rows are."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from dominantsets import Status, as_similarity, global_optimum, solve
from dominantsets.compiled import boxes
from dominantsets.similarity.expansion import EXPANDED, expandable
from dominantsets.similarity.solving import solving_of
from dominantsets.solvers import branch_and_bound
from dominantsets.solvers.anchors import RowAnchors, column_tops, trivial_bound
from dominantsets.solvers.boxes import BoxedProblem
from support import features, press_ctrl_c

KINDS = ("sqeuclidean", "cosine", "linear")


def random_rows(rng: np.random.Generator) -> tuple[np.ndarray, str, float]:
    """A small problem of any kind: clustered, spread out, with ties and copies, at any shift."""
    n, d = int(rng.integers(3, 41)), int(rng.integers(1, 5))
    kind = KINDS[rng.integers(3)]
    X = rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(3, d))[rng.integers(3, size=n)]
    how = rng.integers(4)
    if how == 0:
        X = np.round(X)  # ties, copies
    if how == 1:
        X = X + 3.0 * rng.normal(size=(4, d))[rng.integers(4, size=n)]
    X = np.abs(X) if kind == "linear" else X
    X[~X.any(axis=1)] = 1.0
    shift = float(rng.choice([0.0, rng.exponential(1.0), rng.exponential(20.0)]))
    return X, kind, shift + (0.5 if kind == "linear" else 0.0)


def test_a_box_is_bounded_wherever_it_lies():
    """Local maxima from all starts: each is below the bound of every box that has its U'x."""
    rng = np.random.default_rng(3)
    compared = 0
    for _ in range(40):
        X, kind, shift = random_rows(rng)
        S = as_similarity(X, kind)
        boxed = BoxedProblem(expandable(S).expanded(np.arange(S.n), shift), shift)
        maxima = [solve(S, start=i, shift=shift) for i in range(S.n)]
        images = [m.weights @ boxed.Y[m.members] for m in maxima]
        for _ in range(10):
            box = boxed.root(np.arange(S.n), maxima[0])
            width = (box.high - box.low) * rng.random(box.low.size)
            box.low = np.maximum(box.low, images[rng.integers(len(images))] - width * rng.random(width.size))
            box.high = np.minimum(box.high, box.low + width)
            if (box.low > box.high).any():
                continue
            low, high = box.low.copy(), box.high.copy()
            box.p = 0.5 * (low + high)
            boxed.look(box, -np.inf)
            for m, image in zip(maxima, images, strict=True):
                if (image >= low).all() and (image <= high).all():
                    compared += 1
                    assert m.value - shift <= box.bound
    assert compared > 500


def test_scatter_of_parts_against_numpy():
    rng = np.random.default_rng(0)
    Y, inverse, part = rng.normal(size=(50, 3)), rng.random(50) + 0.1, rng.random(50)
    full, S = np.empty((3, 3)), np.empty((3, 3))
    boxes.scatter(Y, inverse, np.arange(50, dtype=np.int32), part, rng.normal(size=3), full, S)
    for got, weights in ((full, inverse), (S, inverse * part)):
        off = Y - weights @ Y / weights.sum()
        np.testing.assert_allclose(got, (off * weights[:, None]).T @ off, atol=1e-10)
    diagonal = np.empty(3)
    boxes.dominating(S, diagonal)
    assert np.linalg.eigvalsh(np.diag(diagonal) - S).min() >= -1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_the_test_of_concavity_never_errs(kind):
    rng = np.random.default_rng(4)
    known = 0
    for _ in range(60):
        X = np.abs(rng.normal(size=(int(rng.integers(2, 30)), int(rng.integers(1, 4))))) + 0.1
        S, shift = as_similarity(X, kind), float(rng.exponential(10.0))
        n = S.n
        H = np.eye(n) - 1.0 / n
        curved = np.linalg.eigvalsh(H @ (S.toarray() - shift * np.eye(n)) @ H)
        concave = np.sort(curved)[::-1][0] <= 1e-9 and np.sort(curved)[::-1][1] < -1e-9 if n > 1 else True
        if solving_of(S).concave(shift):
            known += 1
            assert concave
    assert known > 5


def test_the_search_is_the_same_on_one_thread(monkeypatch):
    S = as_similarity(features(300, d=3), "sqeuclidean")
    many = global_optimum(S)
    monkeypatch.setattr(branch_and_bound, "parallel_map", lambda work, parts: [work(part) for part in parts])
    one = global_optimum(S)
    assert (one.n_nodes, one.bound, one.cluster.value) == (many.n_nodes, many.bound, many.cluster.value)


def test_little_room_for_lists_changes_nothing_that_is_proven(monkeypatch):
    S = as_similarity(features(300, d=3), "sqeuclidean")
    roomy = global_optimum(S)
    monkeypatch.setattr("dominantsets.solvers.boxes.LISTS_BYTES", 0)
    tight = global_optimum(S)
    assert tight.proven
    assert tight.cluster.value == pytest.approx(roomy.cluster.value, rel=1e-12)


def trivial(A: np.ndarray, shift: float) -> float:
    """f = x'Ax - shift |x|² is at most a - (a + shift) |x|², and |x|² is between 1/n and 1."""
    a = A.max()
    return (a + shift) * (1.0 - 1.0 / len(A)) if a + shift >= 0.0 else 0.0


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_by_columns_against_its_plain_form(seed):
    rng = np.random.default_rng(seed)
    n, shift = 12, float(rng.choice([0.0, 3.0, -0.5]))
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.6), 1)
    A += A.T
    own = A.max()
    plain = []
    for y in range(n):  # max K_y x - kappa |x|² over the simplex, by trying every number of members
        K = A[y].copy()
        K[y] = own
        s = np.sort(K)[::-1]
        levels = (np.cumsum(s) - 2.0 * (own + shift)) / np.arange(1, n + 1)
        level = levels[np.flatnonzero(s > levels)[-1]]
        plain.append(level + np.square(np.maximum(s - level, 0.0)).sum() / (4.0 * (own + shift)))
    for S in (as_similarity(A), as_similarity(sp.csr_array(A))):
        found = column_tops(S, np.arange(n), shift, own, -9.0, lambda: False)
        expected = np.minimum(plain, trivial_bound(own, shift, n))
        np.testing.assert_allclose(found, expected, atol=1e-9)
        assert (found >= expected - 1e-15).all()
        none = column_tops(S, np.arange(n), shift, own, -9.0, lambda: True)
        np.testing.assert_allclose(none, trivial_bound(own, shift, n))
    best = max(solve(A, start=i, shift=shift).value for i in range(n)) - shift
    assert max(plain) >= best


@pytest.mark.parametrize("kind", ["rbf", "graph", "matrix"])
def test_more_than_300_objects_of_any_similarity_have_a_bound(kind):
    X = features(EXPANDED + 100, d=2)
    S = as_similarity(X, "rbf")
    if kind == "matrix":
        S = as_similarity(S.toarray())
    if kind == "graph":
        A = S.toarray()
        S = as_similarity(sp.csr_array(np.where(A > 0.5, A, 0.0)))
    found = global_optimum(S)
    starts = [solve(S, start=i).value for i in range(0, S.n, 20)]
    assert max(starts) <= found.bound <= trivial(S.toarray(), 0.0) * (1.0 + 1e-12)
    assert found.cluster.value >= solve(S).value
    assert found.cluster.global_gap == found.global_gap == pytest.approx(found.bound - found.cluster.value)
    assert found.n_nodes == 0
    interrupted = global_optimum(S, callback=press_ctrl_c)
    assert interrupted.status is Status.INTERRUPTED
    assert interrupted.bound >= found.cluster.value


def test_below_every_similarity_a_single_object_is_best():
    S = as_similarity(np.random.default_rng(0).normal(size=(EXPANDED + 1, 2)), "sqeuclidean")
    found = global_optimum(S, shift=-2.0 * S.offset)
    assert len(found.cluster) == 1
    assert found.proven
    assert found.cluster.value == pytest.approx(0.0, abs=1e-9 * S.offset)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_better_is_in_a_part_that_is_left(seed):
    """U'x of every maximum above a floor is in a ball of a part, and its members are that part's objects."""
    rng = np.random.default_rng(seed)
    X, kind, shift = random_rows(rng)
    if seed % 2:
        n, d = 600, int(rng.integers(2, 9))
        kind, shift = KINDS[seed % 3], 0.0 if seed % 3 == 0 else 5.0
        X = 4.0 * np.abs(rng.normal(size=(3, d)))[rng.integers(3, size=n)] + np.abs(rng.normal(size=(n, d)))
    S = as_similarity(X, kind)
    maxima = [solve(S, start=int(i), shift=shift) for i in rng.permutation(S.n)[:40]]
    values = np.array([one.value - shift for one in maxima])
    every = np.arange(S.n)
    expansion = expandable(S).expanded(every, shift)
    compared = 0
    for floor in (values.min() - 1e-9, np.median(values) - 1e-9):
        for look in (False, True):
            anchors = RowAnchors(expansion, shift, float(floor))
            if look:
                anchors.look(lambda: False)
            assert anchors.bound >= values.max() - 1e-12 * abs(values.max())
            parts = anchors.parts(float(floor))
            for one in maxima:
                if one.value - shift <= floor or one.status is not Status.CONVERGED:
                    continue
                image = one.weights @ expansion.rows[one.members]
                near = [
                    part
                    for part in parts
                    if (np.linalg.norm(part.balls.centers - image, axis=1) <= part.balls.radii).any()
                    and np.linalg.norm(part.balls.middle - image) <= part.balls.radius
                    and np.isin(one.members, part.objects).all()
                ]
                assert near
                compared += 1
    assert compared
