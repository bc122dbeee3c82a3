"""Lists of all dominant sets where data have ties, against every support in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from brute_force import maxima_of
from dominantsets import as_similarity, dominant_sets, path_spectrum
from tied_data import complaints, draw, draw_path


def listed(X, offset, shift, max_nodes=100_000):
    S = as_similarity(np.array(X, dtype=float).reshape(len(X), -1), "sqeuclidean", offset=offset)
    return dominant_sets(S, shift=shift, max_nodes=max_nodes)


@pytest.mark.parametrize("seed", range(8))
def test_a_list_is_what_brute_force_finds(seed):
    """Every set of a list is a strict maximum, a complete list has all of them, up to undecided objects."""
    complete = 0
    for k in range(25):
        S, shift, B = draw(np.random.default_rng(1_000 * seed + k), largest=5)
        found = dominant_sets(S, shift=shift, max_nodes=5_000)
        assert not complaints(found, B), (seed, k)
        complete += found.complete
    assert complete > 15


def test_a_list_of_a_path_is_what_brute_force_finds():
    complete = 0
    for seed in range(100):
        S, shift, B = draw_path(np.random.default_rng(seed), largest=5)
        found = dominant_sets(S, shift=shift)
        assert not complaints(found, B), seed
        assert all(one.strict for one in found)
        complete += found.complete
    assert complete > 90


@pytest.mark.parametrize(
    ("X", "offset", "shift", "members", "on_the_edge"),
    [
        ([-1.0, 0.0, 0.0, 1.0, 2.0], 10.0, 4.0, [0, 1, 2, 3], [4]),
        ([0.0, -2.0, -2.0], 8.0, 0.0, [1, 2], [0]),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 1e-13, 1e-10, -1e-10])
def test_an_outsider_at_the_threshold_hides_no_set(X, offset, shift, members, on_the_edge, noise):
    """f is strictly concave: there is one strict maximum, with an outsider on the edge of its ball."""
    X = np.array(X)
    X[on_the_edge] += noise
    found = listed(X, offset, shift)
    assert found.complete
    (one,) = found
    assert one.strict
    rows = [Fraction(float(v)) for v in X]
    B = [[Fraction(offset) - (a - b) ** 2 for b in rows] for a in rows]
    for i in range(len(B)):
        B[i][i] = -Fraction(shift)
    ((true, _),) = maxima_of(B)[0].items()
    assert set(one.members) - set(one.undecided) <= set(true) <= set(one.members) | set(one.undecided)
    if abs(noise) < 1e-12:
        assert one.undecided.tolist() == on_the_edge
        assert set(one.members.tolist()) | set(on_the_edge) == {*members, *on_the_edge}
    else:  # far beyond rounding: decided
        assert not one.undecided.size
        assert one.members.tolist() == sorted(true)


def test_a_flat_direction_is_not_called_complete():
    """m objects in equal steps h, kappa = h^2 m (m^2 - 1) / 6: J is exactly 1, and maxima are a segment."""
    for m in (3, 4, 5):
        kappa = m * (m * m - 1) / 6.0
        found = listed(np.arange(float(m + 1)), float(m * m), kappa - m * m, max_nodes=3_000)
        assert not found.complete
        assert not len(found)


@pytest.mark.parametrize("far", [1e2, 1e3, 1e5, 1e6, 3e6])
def test_a_far_object_merges_no_sets(far):
    """Two groups half a unit apart are two sets, however long the longest row; rounding may leave it open."""
    X = [0.0, 0.01, 0.5, 0.51, far]
    found = listed(X, far**2, 0.05 - far**2)
    sets = [{0, 1}, {2, 3}, {4}]
    assert found.complete or far > 1e3
    assert len(found) == 3 or (far > 1e5 and not found.complete)
    for one in found:
        assert any(set(one.members) - set(one.undecided) <= S for S in sets)


def test_large_sets_are_listed_too():
    """A group and its copy 30 to the right: their sets are copies of each other, at least one each."""
    n = 1_500
    group = np.random.default_rng(0).normal(size=(n, 2))
    found = listed(np.concatenate([group, group + np.array([30.0, 0.0])]), 4_000.0, -3_000.0)
    assert found.complete
    sets = {tuple(one.members.tolist()) for one in found}
    assert sets
    assert max(map(len, sets)) > 500
    assert {tuple(sorted((i + n) % (2 * n) for i in one)) for one in sets} == sets


@pytest.mark.parametrize("affinity", ["sqeuclidean", "path"])
def test_a_list_from_which_sets_were_left_out_is_not_complete(affinity):
    X = np.array([2.0, 3.0, 7.0, 8.0, 13.0, 14.0, 15.0])[:, None]
    S = as_similarity(X, affinity)
    shift = 0.0 if affinity == "sqeuclidean" else 0.5
    every = dominant_sets(S, shift=shift)
    assert every.complete
    assert every.n_left_out == 0
    few = dominant_sets(S, shift=shift, max_overlap=0.0)
    assert len(few) + few.n_left_out == len(every)
    assert few.complete == (few.n_left_out == 0)
    assert f"{few.n_left_out} more left out" in repr(few) or few.complete
    assert few.complete == (affinity == "path")  # sets of a tree do not overlap


def test_a_spectrum_and_a_list_agree_at_every_whole_shift():
    S = as_similarity(np.array([0.0, 1.0, 3.0, 4.0, 4.0, 9.0, 10.0, 10.0])[:, None], "path")
    spectrum = path_spectrum(S)
    for shift in range(-5, 40):
        found = dominant_sets(S, shift=float(shift))
        assert found.complete
        several = {tuple(one.members.tolist()) for one in found if len(one) > 1}
        assert {tuple(spectrum.members(k).tolist()) for k in spectrum.at(float(shift))} == several


def test_ties_of_a_path_hide_no_set():
    """Three equal rows and two others: the set of the copies is a strict maximum in spite of ties."""
    X = np.array([7.0, 3.0, 7.0, 7.0, 4.0])[:, None]
    S, shift = as_similarity(X, "path"), 6.0
    D = np.abs(X - X.T)
    for k in range(5):  # Floyd and Warshall: the longest step of the best chain
        D = np.minimum(D, np.maximum.outer(D[:, k], D[k]))
    B = [[Fraction(float(v)) for v in row] for row in D.max() - D]
    for i in range(5):
        B[i][i] = -Fraction(shift)
    found = dominant_sets(S, shift=shift)
    assert found.complete
    assert {tuple(one.members.tolist()) for one in found} == set(maxima_of(B)[0])
    assert len(found) == 1
