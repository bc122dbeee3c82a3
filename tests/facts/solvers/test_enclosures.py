"""Intervals of gaps and margins contain the numbers in rationals, for the weights and data as they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dominantsets import DominantSet, DominantSets, Similarity, as_similarity, solve
from support import features, random_similarity


def exactly(kind: str, X: np.ndarray, S: Similarity) -> list[list[Fraction]]:
    """Similarities without any rounding, from the rows and the offset of S, or as they are given."""
    rows = [[Fraction(float(v)) for v in row] for row in X]
    if kind in ("dense", "graph"):
        return rows
    offset, A = Fraction(float(S.offset or 0.0)), []
    for p in rows:
        if kind == "linear":
            A.append([offset + sum(a * b for a, b in zip(p, q, strict=True)) for q in rows])
        else:
            A.append([offset - sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) for q in rows])
    return A


def gap_and_margin(A: list[list[Fraction]], cluster: DominantSet) -> tuple[Fraction, Fraction | None]:
    """From the definitions; no margin where no object is outside."""
    whole = sum(Fraction(float(w)) for w in cluster.weights)
    x = {int(i): Fraction(float(w)) / whole for i, w in zip(cluster.members, cluster.weights, strict=True)}
    shift = Fraction(float(cluster.shift))
    r = [
        sum((a * x[j] for j, a in enumerate(row) if j in x and j != i), Fraction(0))
        for i, row in enumerate(A)
    ]
    r = [p - shift * x.get(i, Fraction(0)) for i, p in enumerate(r)]
    f = sum((w * r[i] for i, w in x.items()), Fraction(0))
    outside = [p for i, p in enumerate(r) if i not in x]
    return max(r) - f, f - max(outside) if outside else None


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["sqeuclidean", "linear", "dense", "graph"]),
    st.sampled_from(["dual", "pairwise", "auto"]),
    st.integers(2, 14),
    st.integers(0, 10_000),
    st.sampled_from([1e-6, 1.0, 1e5]),
    st.sampled_from([-0.3, 0.0, 0.5, 8.0]),
    st.booleans(),
)
def test_they_contain_the_exact_numbers(kind, algorithm, n, seed, scale, share, far):
    rng = np.random.default_rng(seed)
    X = scale * (rng.normal(size=(n, 3)) + 1e4 * far)
    X = X if kind in ("sqeuclidean", "linear") else scale * random_similarity(n, seed, zeros=0.3)
    given_rows = kind in ("sqeuclidean", "linear")
    X = abs(X)  # products of rows must not be negative
    S = as_similarity(X, kind) if given_rows else as_similarity(sp.csr_array(X) if kind == "graph" else X)
    algorithm = "pairwise" if kind in ("dense", "graph") and algorithm == "dual" else algorithm
    largest = float(abs(S.block(np.arange(n), np.arange(n))).max())
    level = 0.0 if kind == "graph" else share * largest
    cluster = solve(S, shift=max(level, 0.0) if kind == "linear" else level, algorithm=algorithm)
    if cluster.rounding is None:  # copies are folded, which no interval is about
        assert len(np.unique(X, axis=0)) < n
        return
    gap, margin = gap_and_margin(exactly(kind, X, S), cluster)
    low, high = cluster.gap_bounds
    assert low <= max(gap, Fraction(0)) <= high
    low, high = cluster.margin_bounds
    if margin is None:
        assert low == high == np.inf
    else:
        assert low <= margin <= high
        size = (S.offset or 0.0) + largest + abs(level)
        assert high - low <= 1e-11 * size


@pytest.mark.parametrize("kind", ["rbf", "euclidean", "path"])
def test_there_is_none_where_a_formula_has_more_than_sums(kind):
    cluster = solve(as_similarity(features(30), kind))
    assert cluster.rounding is cluster.gap_bounds is cluster.margin_bounds is None


def test_clusters_of_an_estimator_have_them():
    X = features(60, 2)
    for cluster in DominantSets(3, affinity="sqeuclidean").fit(X).clusters_:
        low, high = cluster.margin_bounds
        assert low < cluster.margin < high
        assert cluster.gap_bounds[0] >= 0.0
    weighted = DominantSets(3, affinity="sqeuclidean").fit(X, sample_weight=np.arange(60) % 3)
    assert [cluster.margin_bounds for cluster in weighted.clusters_] == [None] * weighted.n_clusters_
