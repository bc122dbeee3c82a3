"""Enumeration by destabilising: maximal cliques against networkx, and the conditions of the method."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from dominantsets.studies.destabilise import _Search


def random_graph(n, seed, density):
    A = np.triu(np.random.default_rng(seed).random((n, n)) < density, 1).astype(float)
    return A + A.T


@given(st.integers(3, 7), st.integers(0, 10_000), st.floats(0.2, 0.9))
@settings(max_examples=25)
def test_an_added_strategy_beats_its_clique_and_no_other(n, seed, density):
    """The three conditions, with the payoffs themselves, for every maximal clique of the enumeration."""
    A = random_graph(n, seed, density)
    every = [np.array(sorted(clique)) for clique in reference.maximal_cliques(A)]
    for k, clique in enumerate(every):
        search = _Search(A)
        search._beat(clique)
        B = search.payoffs
        for m, other in enumerate(every):
            x = np.zeros(n + 1)
            x[other] = 1.0 / other.size
            f, r = x @ B @ x, B @ x
            assert (r[n] > f) == (m == k)
            assert (r[:n] <= f + 1e-12).all()
        if clique.size < n:
            alone = np.eye(n + 1)[n]
            assert (B @ alone).max() > alone @ B @ alone  # who plays it alone is beaten
