"""The scikit-learn estimator."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from dominantsets import DominantSets, Status

CENTERS = [(0, 0), (10, 0), (0, 10)]


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(240, centers=CENTERS, random_state=0)


def test_the_same_seed_gives_the_same_labels(monkeypatch, blobs):
    from dominantsets.similarity import kernel

    monkeypatch.setattr(kernel, "SAMPLED_ABOVE", 100)
    monkeypatch.setattr(kernel, "SAMPLE", 50)
    fits = [DominantSets(3, affinity="rbf", random_state=7).fit(blobs[0]) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert fits[0].similarity_.degrees_error > 0


def test_no_warning_of_a_gap_that_is_rounding():
    """Groups of copies have a kappa near 0, and a gap of some last places: no solver does better."""
    X = np.sign(np.tile([3.0, -2, 1, -1, 1, -3, 4, -3, 2], 2))[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = DominantSets(affinity="sqeuclidean").fit(X)
        for gap, kappa in ((2e-16, 0.0), (1e-15, 1e-12)):
            tiny = replace(model.clusters_[0], status=Status.STALLED, gap=gap, unit=kappa)
            model.clusters_ = [tiny]
            model._warn(1)
        model.clusters_ = [replace(tiny, gap=1e-3)]
        with pytest.raises(ConvergenceWarning, match="did not converge"):
            model._warn(1)
