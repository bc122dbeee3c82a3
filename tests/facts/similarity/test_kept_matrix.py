"""Kernels of few objects make their matrix once: how often the formula is asked, and who holds it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dominantsets import DominantSetHierarchy, DominantSets, as_similarity
from support import features

N = 600
FORMULAS = {"rbf": "Gaussian", "laplacian": "Laplacian", "euclidean": "Distance"}


def alike(P, Q):
    return 1.0 / (1.0 + cdist(P, Q))


def test_a_function_that_is_not_symmetric_is_refused_however_few_the_objects():
    with pytest.raises(ValueError, match="not symmetric"):
        as_similarity(features(12), lambda P, Q: np.abs(P[:, :1] - 2.0 * Q[:, 0]))


def test_an_error_in_a_users_function_leaves_it_usable():
    broken = [True]

    def fickle(P, Q):
        if broken[0] and len(P) > 100:
            raise RuntimeError("not now")
        return alike(P, Q)

    S = as_similarity(features(N), fickle)
    with pytest.raises(RuntimeError, match="not now"):
        S.degrees()
    broken[0] = False
    np.testing.assert_allclose(S.degrees(), alike(features(N), features(N)).sum(axis=1) - 1.0)


@pytest.mark.parametrize("affinity", [*FORMULAS, alike])
@pytest.mark.parametrize("given", [False, True])
def test_a_pickled_model_holds_no_matrix(affinity, given):
    X = features(N)
    S = as_similarity(X, affinity)
    model = DominantSets(3, affinity=affinity).fit(S if given else X)
    assert (model.similarity_.stored is not None) == given  # a caller's similarity is used again
    stored = pickle.dumps(model)
    assert len(stored) < 8 * N * N / 4
    again = pickle.loads(stored)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.similarity_.stored is None
    np.testing.assert_allclose(again.similarity_.degrees(), S.degrees(), rtol=1e-12)
    assert copy.deepcopy(S).stored is None


def test_a_hierarchy_lets_go_of_the_matrix():
    assert DominantSetHierarchy(2, affinity="rbf").fit(features(100)).similarity_.stored is None
