"""How many components a mixture has, against scikit-learn's mixtures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture

from dominantsets.fitting import mixtures
from dominantsets.fitting.mixtures import components
from dominantsets.solvers import Monitor


@pytest.mark.parametrize("seed", range(4))
def test_the_criterion_is_not_worse_than_of_scikit_learns_mixtures(seed):
    """By more than a thousandth of a nat per object: both climb from starts of their own."""
    rng = np.random.default_rng(seed)
    X = np.vstack(
        [rng.normal(size=(90, 2)) * rng.uniform(0.4, 1.5, 2) + rng.uniform(-4, 4, 2) for _ in "abc"]
    )
    found = components(X, Monitor())
    others = [
        GaussianMixture(k, covariance_type=shape, random_state=0).fit(X).bic(X)
        for k in range(1, 7)
        for shape in ("spherical", "full")
    ]
    assert found.mixture.bic(len(X)) <= min(others) + 2.0 * len(X) * 1e-3
    assert found.is_round in (True, False)


def test_one_component_of_one_normal_distribution():
    for d in (1, 2, 6):
        X = np.random.default_rng(d).normal(size=(300, d))
        assert components(X, Monitor()).number == 1


def test_groups_far_apart_are_certain_and_skewed_data_are_not():
    random = np.random.RandomState(0)
    parts = [np.sort(random.permutation(300)[:210]) for _ in range(2)]
    X, _ = make_blobs(300, centers=[(0, 0), (12, 0), (0, 12)], random_state=0)
    found = components(X, Monitor())
    assert (found.number, found.is_round) == (3, True)
    assert found.certainty(parts) == pytest.approx(1.0, abs=1e-6)
    skewed = np.random.default_rng(0).exponential(size=(300, 2))
    found = components(skewed, Monitor())
    assert found.number > 1
    assert found.certainty(parts) < 0.9


def test_many_components_are_found_between_the_steps(monkeypatch):
    """Numbers above ten are tried in steps, then those between; there is a largest one."""
    X, _ = make_blobs(23 * 40, centers=np.random.default_rng(0).uniform(-80, 80, (23, 3)), random_state=0)
    assert components(X, Monitor()).number == 23
    assert list(mixtures._numbers(30)) == [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 24, 29]
    monkeypatch.setattr(mixtures, "MOST", 5)
    assert components(X, Monitor()).number == 5
    assert components(X[:11], Monitor()).number <= 2  # four objects per component, at least
    assert components(X, Monitor(0.0)).number == 1
