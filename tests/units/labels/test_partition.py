"""Labels of objects that are no points, as those of a tree are: noise, shares, new objects, Ctrl-C."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, End, as_similarity, peel
from dominantsets.compiled.interrupts import check
from dominantsets.labels.background import find_background
from dominantsets.labels.partition import ByFit, label_by_fit, label_by_pieces
from dominantsets.labels.refinement import refine
from dominantsets.solvers import Monitor
from support import CORNERS, cliques, path, press_ctrl_c


def test_new_nodes_of_a_graph():
    """By links to the groups over the root of the groups' own; -1 without any link."""
    S = as_similarity(cliques([4, 3], isolated=1))
    links = sp.csr_array(
        [[1.0, 0, 0, 0, 0, 0, 0, 0], [0.5, 0, 0, 0, 0.4, 0, 0, 0], [0, 0, 0, 0, 0.5, 0.6, 0, 0], [0.0] * 8,
         [0, 0, 0, 0, 0, 0, 0, 1.0]]
    )  # fmt: skip
    by_members = ByFit(refine(S, np.array([0, 0, 0, 0, 1, 1, 1, -1]), 2).rule)
    # groups' own: 12 and 6 of ones off the diagonal; 0.5 / sqrt(12) is less than 0.4 / sqrt(6)
    np.testing.assert_array_equal(by_members.of_new(S, links), [0, 1, 1, -1, -1])


def test_pieces_of_a_tree_by_hand():
    """Chains with steps 1, 2, 3, 4, and 1 apart from it: the later an object is joined to one, the less."""
    D = sp.coo_array(([1.0, 2.0, 3.0, 4.0, 1.0], ([0, 1, 2, 3, 5], [1, 2, 3, 4, 6])), shape=(10, 10)).tocsr()
    S = path(D)
    clusters = list(peel(S, 2, shift=0.0))
    assert [c.members.tolist() for c in clusters] == [[0, 1, 2], [5, 6]]
    labels = np.array([0, 0, 0, 0, 0, 1, 1, -1, -1, -1])
    shares = np.array([1.0, 1.0, 0.6, 0.4, 0.2, 1.0, 1.0, 0.0, 0.0, 0.0])  # joined at 1, 1, 2, 3, 4
    none = find_background(S)  # of given distances none is found
    auto = label_by_pieces(S, labels, none, "auto")
    np.testing.assert_array_equal(auto.labels, labels)
    np.testing.assert_allclose(auto.probabilities, shares)
    assert auto.sentence.startswith("30% are in trees of their own; no object is labelled noise: ")
    assert label_by_pieces(S, labels, none, None).sentence == "no object is labelled noise, as asked."
    some = label_by_pieces(S, labels, none, 0.4)  # three of them are in no cluster anyway
    np.testing.assert_array_equal(some.labels, [0, 0, 0, 0, -1, 1, 1, -1, -1, -1])
    np.testing.assert_allclose(some.probabilities, np.where(some.labels < 0, 0.0, shares))
    assert some.sentence.startswith("40% of the objects are labelled noise")
    whole = path(D[:5, :5])
    everybody = label_by_pieces(whole, labels[:5], find_background(whole), "auto")
    assert everybody.sentence.startswith("no object is labelled noise: ")
    # a new object is where its nearest one is; with no way to any, or more than twice as far from it as the
    # objects of the piece join it (4 and 1), it is nowhere
    new = sp.csr_array(
        ([9.0, 7.9, 0.5, 0.5, 2.0, 2.1], ([0, 1, 2, 3, 3, 4], [4, 3, 5, 2, 6, 6])), shape=(6, 10)
    )
    np.testing.assert_array_equal(auto.rule.of_new(S, new), [-1, 0, 1, 0, -1, -1])


def test_a_share_of_a_partition_is_left_out():
    """Those that fit their clusters least get -1, as many as asked for."""
    X, _ = make_blobs(200, centers=CORNERS, random_state=0)
    S = as_similarity(X, "path")
    run = peel(S, 4, shift=1.0)
    clusters = list(run)
    every = label_by_fit(S, clusters, run.labels, None, Monitor())
    some = label_by_fit(S, clusters, run.labels, 0.25, Monitor())
    assert (every.labels >= 0).all()
    assert ((every.probabilities > 0) & (every.probabilities <= 1)).all()
    for k in range(len(clusters)):
        assert every.probabilities[every.labels == k].max() == pytest.approx(1.0)
    least = np.quantile(every.probabilities, 0.25)
    np.testing.assert_array_equal(some.labels < 0, every.probabilities < least)
    np.testing.assert_array_equal(some.probabilities == 0.0, some.labels < 0)
    assert "25%" in some.sentence


@pytest.mark.parametrize(
    ("affinity", "name"), [("sqeuclidean", "points.label_by_clouds"), ("path", "tree.label_by_pieces")]
)
def test_ctrl_c_during_the_labelling_keeps_the_cores(affinity, name, monkeypatch):
    def interrupted(*args, **kwargs):
        press_ctrl_c()
        check()

    X, _ = make_blobs(200, centers=CORNERS, random_state=0)
    monkeypatch.setattr(f"dominantsets.fitting.{name}", interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        model = DominantSets(4, affinity=affinity).fit(X)
    np.testing.assert_array_equal(model.labels_, model.core_labels_)
    np.testing.assert_array_equal(model.probabilities_, model.memberships_)
    assert model.n_clusters_ == 4
    assert model.end_ is End.INTERRUPTED
    assert model.predict(X).max() == 3
