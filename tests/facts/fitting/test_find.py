"""What a fit does with what it finds: which clusters stay, what is said of noise, and where it goes on."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs

from dominantsets import DominantSets
from support import CORNERS

X, Y = make_blobs(160, centers=CORNERS, random_state=0)


def test_groups_that_nobody_asked_for_are_not_noise():
    """That is said where noise is judged, and only there."""
    fewer = DominantSets(2, affinity="sqeuclidean").fit(X)
    assert "4 groups are significant, more than were asked for" in fewer.selection_.noise
    assert (fewer.labels_ >= 0).all()
    asked = DominantSets(2, affinity="sqeuclidean", noise=None).fit(X)
    assert "as asked" in asked.selection_.noise
    share = DominantSets(2, affinity="sqeuclidean", noise=0.25).fit(X)
    assert (share.labels_ < 0).sum() == 40
    assert "significant" not in share.selection_.noise


def test_objects_that_are_all_alike_are_one_cluster():
    for noise in ("auto", None):
        model = DominantSets(affinity="sqeuclidean", noise=noise).fit(np.ones((9, 2)))
        assert (model.labels_ == 0).all()
        assert model.n_clusters_ == 1


def test_too_few_objects_for_a_metric():
    assert DominantSets(4, affinity="ellipses").fit(np.array(CORNERS, dtype=float)).n_clusters_ == 4
