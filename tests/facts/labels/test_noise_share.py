"""``noise=0.2``: the same share, of the same meaning, whatever the similarity."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_moons

from dominantsets import DominantSets


def network() -> sp.csr_array:
    """Four groups of 15 nodes, with weights so that no two payoffs are equal."""
    rng, group = np.random.default_rng(0), np.repeat(np.arange(4), 15)
    upper = np.triu(rng.random((60, 60)) < np.where(group[:, None] == group, 0.6, 0.05), 1)
    A = np.where(upper, rng.uniform(0.5, 1.5, (60, 60)), 0.0)
    return sp.csr_array(A + A.T)


MOONS, IRIS = make_moons(300, noise=0.08, random_state=0)[0], load_iris().data
CASES = [
    ("precomputed", network()), ("path", MOONS), ("sqeuclidean", MOONS), ("cosine", IRIS),
    ("ellipses", IRIS), ("embedding", IRIS), ("diffusion", MOONS),
]  # fmt: skip


@pytest.mark.parametrize(("affinity", "X"), CASES, ids=[case[0] for case in CASES])
def test_a_share_is_that_share_of_the_objects(affinity, X):
    n = X.shape[0]
    noisy = {share: DominantSets(affinity=affinity, noise=share).fit(X) for share in (0, 0.0, 0.2)}
    counts = {share: int((model.labels_ < 0).sum()) for share, model in noisy.items()}
    assert counts[0] == 0
    assert abs(counts[0.2] - 0.2 * n) <= 0.02 * n  # equally typical objects stay together
    left = noisy[0.2].labels_ < 0
    clean = noisy[0.0].probabilities_
    assert clean[left].max() < clean[~left].min()
    assert (noisy[0.2].probabilities_[left] == 0.0).all()


@pytest.mark.parametrize(("affinity", "X"), CASES, ids=[case[0] for case in CASES])
def test_a_whole_number_means_what_the_same_float_does(affinity, X):
    whole, real = (DominantSets(affinity=affinity, noise=share).fit(X).labels_ for share in (0, 0.0))
    np.testing.assert_array_equal(whole, real)
    for share in (1, 1.0, -0.1):
        with pytest.raises(ValueError, match=r"'noise' parameter .* in the range \[0.0, 1.0\)"):
            DominantSets(affinity=affinity, noise=share).fit(X)


@pytest.mark.parametrize("affinity", ["path", "sqeuclidean"])
def test_the_order_of_the_rows_does_not_decide(affinity):
    order = np.random.default_rng(1).permutation(len(MOONS))
    one = DominantSets(affinity=affinity, noise=0.1).fit(MOONS).labels_ < 0
    other = DominantSets(affinity=affinity, noise=0.1).fit(MOONS[order]).labels_ < 0
    np.testing.assert_array_equal(one[order], other)
