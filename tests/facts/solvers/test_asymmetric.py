"""Asymmetric similarities: infection and immunisation, and the test of evolutionary stability."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import brute_force
import reference
from capped_maxima import agree
from dominantsets import Equilibrium, Status, solve, solve_asymmetric
from support import given_comparisons, press_ctrl_c, random_similarity

sizes, seeds = st.integers(2, 6), st.integers(0, 10_000)


def weights_of(found: Equilibrium, n: int) -> np.ndarray:
    x = np.zeros(n)
    x[found.members] = found.weights
    return x


def random_payoffs(n, seed, integers=False):
    rng = np.random.default_rng(seed)
    A = rng.integers(0, 4, (n, n)).astype(float) if integers else rng.random((n, n))
    np.fill_diagonal(A, 0.0)
    return A


def exact(A, shift=0):
    n = len(A)
    return brute_force.equilibria(
        [[Fraction(-shift) if i == j else Fraction(A[i, j]) for j in range(n)] for i in range(n)]
    )


def rock_paper_scissors(win, lose):
    """Object i beats i + 1; what a tie gives stands on the diagonal, as minus the shift."""
    return win * np.roll(np.eye(3), 1, axis=1) + lose * np.roll(np.eye(3), -1, axis=1)


def quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return solve_asymmetric(*args, **options)


# symmetric ones -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_on_symmetric_similarities_it_walks_the_iterates_of_away_steps(shift):
    """Proposition 1 of the paper, step by step, against the plain form and against away-steps."""
    A = random_similarity(40, seed=11)
    expected = reference.infection_immunization(reference.shifted(A, shift), reference.vertex(A), 60)
    for t in range(1, 61, 7):
        x = weights_of(quietly(A, shift=shift, tol=0.0, max_iter=t), 40)
        np.testing.assert_allclose(x, expected[t], atol=1e-10)
        away = solve(A, algorithm="inimdyn", shift=shift, tol=0.0, max_iter=t)
        np.testing.assert_allclose(x[away.members], away.weights, atol=1e-10)


@given(sizes, seeds, st.sampled_from([0.0, 0.5, 2.0]))
def test_stable_means_strict_where_the_similarity_is_symmetric(n, seed, shift):
    A = random_similarity(n, seed)
    cluster, found = solve(A, algorithm="away", shift=shift), solve_asymmetric(A, shift=shift)
    if cluster.strict is not None and len(found) == len(cluster):
        assert found.stable is cluster.strict
    assert found.value == pytest.approx(cluster.value, abs=1e-9)


# against enumeration ------------------------------------------------------------------------------------


@given_comparisons(0.9, sizes, seeds, st.booleans())
def test_every_equilibrium_has_its_certificate(n, seed, integers):
    """From each equilibrium of the enumeration, in rationals: it stays, and is called what it is.

    Integers have ties outside the support, where strict copositivity decides.
    """
    A = random_payoffs(n, seed, integers)
    if not A.any():
        return False
    every, ties = exact(A), 0
    for S, (x, stable) in every.items():
        start = np.zeros(n)
        start[list(S)] = [float(v) for v in x]
        found = solve_asymmetric(A, start=start, tol=1e-9)
        assert found.members.tolist() == list(S)
        np.testing.assert_allclose(found.weights, start[list(S)], atol=1e-12)
        assert found.status is Status.CONVERGED
        assert found.stable is stable
        ties += len(found.extended) - len(S)
        r = A @ start
        np.testing.assert_array_equal(found.extended, np.flatnonzero(np.abs(r - start @ r) < 1e-7))
    return len(every) > 0


def test_it_ends_at_a_stable_equilibrium_where_there_is_one():
    """Of 100 random games: all in which enumeration knows an ESS."""
    with_one = 0
    for seed in range(100):
        A = random_payoffs(2 + seed % 5, seed)
        stable = {S: x for S, (x, is_stable) in exact(A).items() if is_stable}
        found = quietly(A)
        if stable:
            with_one += 1
            assert found.stable is True
            expected = [float(v) for v in stable[tuple(found.members.tolist())]]
            np.testing.assert_allclose(found.weights, expected, atol=1e-6)
        else:
            assert found.stable is not True
    assert with_one > 50


# at the edge --------------------------------------------------------------------------------------------


def test_an_object_that_the_dynamics_has_not_yet_driven_out_is_no_member():
    A = np.array([[0.0, 3, 1, 1], [0, 0, 3, 2], [3, 3, 0, 1], [3, 0, 2, 0]])
    found = solve_asymmetric(A)
    weights, stable = exact(A)[0, 1, 2]
    assert stable
    assert found.members.tolist() == [0, 1, 2]
    assert found.stable is True
    np.testing.assert_allclose(found.weights, [float(v) for v in weights], atol=1e-15)
    np.testing.assert_array_equal(found.extended, [0, 1, 2, 3])  # it has the payoff of the members


def test_an_outsider_above_f_is_no_tie():
    """By 1e-11, below the tolerance: no support of two or three objects is an equilibrium."""
    A = np.array([[0.0, 0, 2, 2], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1e-11, 1, 0]])
    found = solve_asymmetric(A, start=0)
    stable = {S for S, (_, is_stable) in exact(A).items() if is_stable}
    assert (tuple(found.members.tolist()) in stable) is found.stable


@pytest.mark.parametrize("off", [-1e-9, -1e-13, 0.0, 1e-13, 1e-9])
def test_near_ties_are_decided(off):
    """Object 2 has the payoff 1/2 + off beside the pair 0 and 1, which loses half of it beside object 2."""
    A = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.5 + off, 0.5 + off, 0.0]])
    found = solve_asymmetric(A, start=np.array([0.5, 0.5, 0.0]))
    stable = [set(S) for S, (_, is_stable) in exact(A).items() if is_stable]
    members, undecided = set(found.members.tolist()), set(found.undecided.tolist())
    assert found.stable is any(agree(members, undecided, support) for support in stable)


@given_comparisons(
    0.8,
    st.integers(2, 5),
    seeds,
    st.sampled_from([0.0, 1e-9, 1e-12, 1e-16]),
    st.sampled_from([0.0, 1.0, -0.5]),
)
def test_stable_is_so_in_rationals(n, seed, noise, shift):
    rng = np.random.default_rng(seed)
    A = np.abs(rng.integers(0, 4, (n, n)) + noise * rng.integers(-2, 3, (n, n)))
    np.fill_diagonal(A, 0.0)
    if not A.any():
        return False
    found = quietly(A, shift=shift, start=int(rng.integers(n)), max_iter=5_000)
    if found.stable is None:
        return False
    stable = [set(S) for S, (_, is_stable) in exact(A, shift).items() if is_stable]
    members, undecided = set(found.members.tolist()), set(found.undecided.tolist())
    assert found.stable is any(agree(members, undecided, support) for support in stable)
    return True


def circle(n, turn):
    """All alike by 1, and more by ``turn`` to the first half of those that follow than to the second."""
    ahead = (np.arange(n)[None, :] - np.arange(n)[:, None]) % n
    return np.where(ahead == 0, 0.0, 1.0 + turn * np.where(ahead <= n // 2, 1.0, -1.0))


def test_more_members_than_rationals_are_taken_for():
    """An odd number of objects in a circle: z'Az = -|z|² where z sums to 0, so equal weights are an ESS."""
    n = 25
    A = circle(n, 0.3)
    found = solve_asymmetric(A, start="barycenter")
    np.testing.assert_allclose(found.weights, 1 / n)
    assert found.stable is True
    assert found.undecided.size == 0
    # a copy of object 0 has the payoff f for ever: mass may move to it at no loss
    copied = np.block([[A, A[:, :1]], [A[:1], np.zeros((1, 1))]])
    assert solve_asymmetric(copied, start=np.append(np.full(n, 1 / n), 0.0)).stable is not True
    # less beside itself than beside the others, it would lose once it had come: a tie, and f bends down
    rival = copied.copy()
    rival[n, :n], rival[:n, n] = A.mean(axis=0), 1.0
    tied = solve_asymmetric(rival, start=np.append(np.full(n, 1 / n), 0.0))
    assert tied.stable is True
    assert n in tied.extended
    assert n in tied.undecided
    # and where it gains from each of them, it is above f
    rival[n, :n] += 1e-11
    assert solve_asymmetric(rival, start=np.append(np.full(n, 1 / n), 0.0)).stable is not None


# rock, paper, scissors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("win", "lose", "tie"), [(2, 0, 0.5), (1, 0, 0.4), (3, 1, 1.9), (1, 1, 0.2)])
def test_equal_shares_of_rock_paper_scissors_are_stable_if_winning_gains_more_than_losing_costs(
    win, lose, tie
):
    """Known of these games: equal shares are the equilibrium, an ESS if and only if win + lose > 2 tie."""
    assert win + lose > 2 * tie
    A = rock_paper_scissors(win, lose)
    found = solve_asymmetric(A, start=np.array([0.5, 0.3, 0.2]), shift=-tie)
    np.testing.assert_allclose(found.weights, 1 / 3, atol=1e-8)
    assert found.stable is True
    assert found.status is Status.CONVERGED


@pytest.mark.parametrize("algorithm", ["inimdyn", "replicator"])
@pytest.mark.parametrize("tie", [0.5, 0.7])
def test_where_nothing_is_stable_the_dynamics_goes_in_circles_and_says_so(algorithm, tie):
    A = rock_paper_scissors(1, 0)
    with pytest.warns(UserWarning, match="did not settle in .* iterations .* may go in circles"):
        found = solve_asymmetric(A, algorithm=algorithm, start=np.array([0.5, 0.3, 0.2]), shift=-tie)
    assert found.status is Status.STALLED
    assert found.stable is None
    assert found.n_iter < 100_000
    at_rest = solve_asymmetric(A, start="barycenter", shift=-tie)
    assert at_rest.stable is False  # equal shares are an equilibrium nevertheless


def test_replicator_dynamics_circles_where_infection_settles():
    A = rock_paper_scissors(1, 0)
    start = np.array([0.5, 0.3, 0.2])
    with pytest.warns(UserWarning, match="try algorithm='inimdyn'"):
        assert solve_asymmetric(A, algorithm="replicator", start=start).gap > 0.1
    assert solve_asymmetric(A, start=start).stable is True


# input --------------------------------------------------------------------------------------------------


def test_sparse_is_as_dense():
    A = random_payoffs(12, 3) * (np.random.default_rng(0).random((12, 12)) < 0.5)
    one, other = quietly(A), quietly(sp.csr_array(A))
    np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize("algorithm", ["inimdyn", "replicator"])
def test_ctrl_c_returns_what_was_reached(algorithm):
    A = random_payoffs(400, 1)
    options = {"tol": 0.0, "max_iter": 10**9, "shift": 200.0, "start": "barycenter"}
    found = solve_asymmetric(A, algorithm=algorithm, callback=press_ctrl_c, **options)
    assert found.status is Status.INTERRUPTED
    assert found.n_iter > 0
    assert found.weights.sum() == pytest.approx(1.0)


def test_limits():
    A = random_payoffs(300, 1)
    stopped = solve_asymmetric(A, tol=0.0, shift=150.0, start="barycenter", callback=lambda progress: True)
    assert stopped.status is Status.STOPPED
    assert quietly(A, max_iter=3).n_iter == 3


@pytest.mark.parametrize(
    ("A", "options", "words"),
    [
        (np.ones((2, 3)), {}, "must be square"),
        (np.full((2, 2), np.nan), {}, "NaN or infinite"),
        (-np.ones((2, 2)), {}, "negative entries, down to -1"),
        (np.ones((2, 2)), {"algorithm": "dual"}, "choose one of 'inimdyn', 'replicator'"),
        (np.ones((2, 2)), {"algorithm": "replicator"}, "a fixed point"),
        (np.ones((2, 2)), {"start": 2}, "not an object"),
    ],
)
def test_bad_input(A, options, words):
    with pytest.raises(ValueError, match=words):
        solve_asymmetric(A, **options)


def test_a_diagonal_is_left_out():
    with pytest.warns(UserWarning, match="taken as zero"):
        found = solve_asymmetric(np.array([[5.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(found.weights, 0.5)
