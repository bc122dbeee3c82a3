"""Facts from outside: clique numbers of the DIMACS graphs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import strategies as st

import reference
from dominantsets import Status, as_similarity, solve
from support import given_comparisons

GRAPHS = (
    "C125.9", "C250.9", "MANN_a9", "brock200_1", "brock200_4", "c-fat200-2", "gen200_p0.9_55",
    "hamming6-4", "hamming8-2", "johnson8-4-4", "keller4", "p_hat300-1", "p_hat300-3",
    "san200_0.7_2", "sanr200_0.7", "hamming8-4", "brock400_2", "DSJC500_5",
)  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_every_start_ends_in_a_maximal_clique(name, data_folder):
    """With shift -1/2 the strict maxima of a 0/1 graph are its maximal cliques, and nothing else."""
    facts = json.loads((data_folder / "cliques" / "dimacs.json").read_text())[name]
    n = facts["n"]
    A = np.zeros((n, n))
    with np.load(data_folder / "cliques" / "dimacs.npz") as file:
        A[np.triu_indices(n, 1)] = np.unpackbits(file[name])[: n * (n - 1) // 2]
    A = A + A.T
    assert A.sum() == 2 * facts["edges"]
    S = as_similarity(A)
    for i in range(n):
        cluster = solve(S, algorithm="pairwise", shift=-0.5, start=i)
        clique = cluster.members
        k = len(clique)
        neighbors = A[:, clique].sum(axis=1)
        assert (neighbors[clique] == k - 1).all()
        assert not (neighbors == k).any()  # maximal: nobody knows all of them
        assert k <= facts["omega"]
        assert cluster.threshold == pytest.approx(1 - 1 / (2 * k), abs=1e-9)
        assert cluster.status is Status.CONVERGED
        assert cluster.strict is True


@given_comparisons(0.9, st.integers(3, 8), st.integers(0, 10_000), st.floats(0.2, 0.9))
def test_small_graphs_against_enumeration(n, seed, density):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < density, 1).astype(float)
    A = A + A.T
    if not A.any():
        return False
    cliques, strict = reference.maximal_cliques(A), 0
    for rule in ("pairwise", "away"):
        for i in range(n):
            cluster = solve(A, algorithm=rule, shift=-0.5, start=i)
            if cluster.strict:
                assert frozenset(cluster.members.tolist()) in cliques
                strict += 1
    found = {frozenset(solve(A, shift=-0.5, start=i).members.tolist()) for i in range(n)}
    assert found <= cliques
    return strict > 0
