"""Facts from outside: clique numbers of the DIMACS graphs, and classes of data that others have clustered."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize, scale

import reference
from dominantsets import DominantSets, Status, as_similarity, solve
from support import given_comparisons

GRAPHS = (
    "C125.9", "C250.9", "MANN_a9", "brock200_1", "brock200_4", "c-fat200-2", "gen200_p0.9_55",
    "hamming6-4", "hamming8-2", "johnson8-4-4", "keller4", "p_hat300-1", "p_hat300-3",
    "san200_0.7_2", "sanr200_0.7", "hamming8-4", "brock400_2", "DSJC500_5",
)  # fmt: skip


def words(n, weight=None):
    """The words of n bits, or those of them with so many ones, in order."""
    every = np.array(list(product((0, 1), repeat=n)))
    return every if weight is None else every[every.sum(axis=1) == weight]


def span(*rows):
    """The words that a linear code of these generators has."""
    return np.array(list(product((0, 1), repeat=len(rows)))) @ np.array(rows) % 2


def at_distance(points, d):
    """Words joined where they differ in at least d bits."""
    return (np.abs(points[:, None] - points[None]).sum(axis=2) >= d).astype(float)


# Graphs of coding theory among DIMACS's, by their definition (Hasselberg, Pardalos and Vairaktarakis, 1993):
# words that may stand in one code. Their clique numbers are A(6, 4) = 4, A(6, 2) = 32, A(8, 4, 2) = 4 and
# A(8, 4, 4) = 14, their edges those of DIMACS. Of each one largest clique: a linear code, the words of even
# weight, four disjoint pairs, and the words of weight 4 of the extended Hamming code.
HAMMING = span([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 1, 1, 0, 0], [1, 0, 1, 0, 1, 0, 1, 0], [1] * 8)
OF_CODES = {
    "hamming6-4": (words(6), 4, 704, 4, span([1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1])),
    "hamming6-2": (words(6), 2, 1_824, 32, words(6)[words(6).sum(axis=1) % 2 == 0]),
    "johnson8-2-4": (words(8, 2), 4, 210, 4, np.kron(np.eye(4, dtype=int), [[1, 1]])),
    "johnson8-4-4": (words(8, 4), 4, 1_855, 14, HAMMING[HAMMING.sum(axis=1) == 4]),
}


def assert_every_start_ends_in_a_maximal_clique(A, omega):
    """With shift -1/2 the strict maxima of a 0/1 graph are its maximal cliques (Bomze, 1997)."""
    S = as_similarity(A)
    for i in range(len(A)):
        cluster = solve(S, algorithm="pairwise", shift=-0.5, start=i)
        clique = cluster.members
        k = len(clique)
        neighbors = A[:, clique].sum(axis=1)
        assert (neighbors[clique] == k - 1).all()
        assert not (neighbors == k).any()  # maximal: no other object knows all of them
        assert k <= omega
        assert cluster.threshold == pytest.approx(1 - 1 / (2 * k), abs=1e-9)
        assert cluster.status is Status.CONVERGED
        assert cluster.strict is True


def assert_the_family_ends_in_cliques(A, omega):
    """The other systems: what is certified as strict is a maximal clique, everything is stationary.

    Equal weights are a saddle where all degrees are equal; those that start there, or with all neighbours
    of an object, stay there, and the certificate says so.
    """
    S, n = as_similarity(A), len(A)
    starts = {"inimdyn": range(0, n, 13), "shrink-expand": range(0, n, 13)}
    symmetric = np.ptp(A.sum(axis=0)) <= 1.0
    if not symmetric:
        starts |= {"trajectory": ["barycenter"], "path-following": ["barycenter"]}
    for algorithm, where in starts.items():
        found = [solve(S, algorithm=algorithm, shift=-0.5, start=start) for start in where]
        assert all(cluster.status is Status.CONVERGED for cluster in found)
        cliques = [cluster.members for cluster in found if cluster.strict]
        assert 2 * len(cliques) >= len(found) or (symmetric and algorithm != "inimdyn")
        for clique in cliques:
            neighbors = A[:, clique].sum(axis=1)
            assert (neighbors[clique] == clique.size - 1).all()
            assert not (neighbors == clique.size).any()
            assert clique.size <= omega
        if algorithm == "inimdyn":
            away = [solve(S, algorithm="away", shift=-0.5, start=start) for start in where]
            assert [c.members.tolist() for c in found] == [c.members.tolist() for c in away]


@pytest.mark.parametrize("name", OF_CODES)
def test_cliques_of_graphs_of_codes(name):
    points, d, edges, omega, code = OF_CODES[name]
    A = at_distance(points, d)
    assert A.sum() == 2 * edges
    assert_every_start_ends_in_a_maximal_clique(A, omega)
    assert_the_family_ends_in_cliques(A, omega)
    # a run that starts at a largest clique stays there; no value is above 1 - 1/omega (Motzkin, Straus)
    x = np.array([any((p == word).all() for word in code) for p in points], dtype=float)
    assert x.sum() == omega
    stays = solve(A, algorithm="pairwise", shift=-0.5, start=x)
    assert stays.members.tolist() == np.flatnonzero(x).tolist()
    np.testing.assert_allclose(stays.weights, 1 / omega)
    assert max(solve(A, start=i).value for i in range(0, len(A), 7)) <= 1 - 1 / omega + 1e-12


@pytest.mark.parametrize("name", GRAPHS)
def test_cliques_of_dimacs_graphs(name, data_folder):
    facts = json.loads((data_folder / "cliques" / "dimacs.json").read_text())[name]
    n = facts["n"]
    A = np.zeros((n, n))
    with np.load(data_folder / "cliques" / "dimacs.npz") as file:
        A[np.triu_indices(n, 1)] = np.unpackbits(file[name])[: n * (n - 1) // 2]
    A = A + A.T
    assert A.sum() == 2 * facts["edges"]
    if name in OF_CODES:  # what the repository has by definition is what DIMACS has
        points, d, edges, omega, _ = OF_CODES[name]
        assert (len(points), edges, omega) == (n, facts["edges"], facts["omega"])
        np.testing.assert_array_equal(np.sort(at_distance(points, d).sum(axis=1)), np.sort(A.sum(axis=1)))
    assert_every_start_ends_in_a_maximal_clique(A, facts["omega"])
    assert_the_family_ends_in_cliques(A, facts["omega"])


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


# classes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_round_classes_are_found_as_well_as_k_means_finds_them(load, affinity):
    """Clouds are what k-means has, but each has its own width; rows of length 1 make it cosine similarity.

    So k-means may be better by some objects on the border only: its ARI are .730, .904, .897 and .884, with
    the features of wine in units of their deviations, where an object more or less is worth about .02.
    """
    X, y = load(return_X_y=True)
    X = scale(X) if load is load_wine else X
    means = KMeans(3, n_init=10, random_state=0).fit_predict(normalize(X) if affinity == "cosine" else X)
    labels = DominantSets(3, affinity=affinity, noise=None).fit_predict(X)
    assert adjusted_rand_score(y, labels) > adjusted_rand_score(y, means) - 0.04


def test_the_digits_are_found_better_than_by_k_means_of_their_pixels():
    """A random walk on the neighbours knows more of the digits than distances of pixels do."""
    X, y = load_digits(return_X_y=True)
    labels = DominantSets(10, affinity="diffusion").fit_predict(X)
    means = KMeans(10, n_init=10, random_state=0).fit_predict(X)
    assert adjusted_rand_score(y, labels) > adjusted_rand_score(y, means) + 0.1
