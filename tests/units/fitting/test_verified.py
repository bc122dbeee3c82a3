"""Lies that are put into a fitted model are found by the check of ``DOMINANTSETS_VERIFY=1``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dominantsets import DominantSets
from dominantsets.fitting.verified import verify
from support import features

X = features(60, 2)


@pytest.fixture(name="model")
def fitted(monkeypatch):
    monkeypatch.setenv("DOMINANTSETS_VERIFY", "1")
    model = DominantSets(3, affinity="sqeuclidean").fit(X)
    assert model.n_clusters_ == 3
    assert model.labels_.min() >= 0
    return model


@pytest.mark.parametrize("name", ["value", "gap", "margin"])
def test_a_number_of_a_certificate(name, model):
    cluster = model.clusters_[1]
    model.clusters_[1] = replace(cluster, **{name: getattr(cluster, name) + 1e-6 * cluster.unit})
    with pytest.raises(RuntimeError, match=f"the {name} of cluster 1 is"):
        verify(model, X, None)


def test_weights(model):
    cluster = model.clusters_[0]
    model.clusters_[0] = replace(cluster, weights=cluster.weights[::-1].copy())
    with pytest.raises(RuntimeError, match="of cluster 0 is"):
        verify(model, X, None)


def test_an_order_of_members(model):
    cluster = model.clusters_[0]
    model.clusters_[0] = replace(cluster, members=cluster.members[::-1], weights=cluster.weights[::-1])
    with pytest.raises(RuntimeError, match="no point of the simplex"):
        verify(model, X, None)


def test_the_label_of_a_member(model):
    i = model.clusters_[2].members[0]
    model.labels_[i] = 0
    with pytest.raises(RuntimeError, match=f"object {i} is a member of cluster 2 and has the label 0"):
        verify(model, X, None)


def test_the_label_of_another_object(model):
    i = int(np.flatnonzero((model.core_labels_ < 0) & (model.labels_ == 1))[0])
    model.labels_[i] = 0
    with pytest.raises(RuntimeError, match=f"1 of 60 labels do not follow.* object {i}, 0"):
        verify(model, X, None)


def test_labels_that_predict_does_not_give(model, monkeypatch):
    monkeypatch.setattr(DominantSets, "predict", lambda *_: np.zeros(60, dtype=int))
    with pytest.raises(RuntimeError, match="predict gives other labels"):
        verify(model, X, None)


def test_labels_that_another_fit_does_not_give(model, monkeypatch):
    plain = DominantSets._fit

    def other(self, given, around):
        plain(self, given, around)
        self.labels_[:5] = (self.labels_[:5] + 1) % 3

    monkeypatch.setattr(DominantSets, "_fit", other)
    with pytest.raises(RuntimeError, match=r"gives another label to [1-5] of 60 objects"):
        verify(model, X, None)


def test_other_names_are_no_other_labels(model, monkeypatch):
    plain = DominantSets._fit

    def renamed(self, given, around):
        plain(self, given, around)
        self.labels_ = (self.labels_ + 1) % 3

    monkeypatch.setattr(DominantSets, "_fit", renamed)
    verify(model, X, None)
