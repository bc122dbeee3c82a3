"""Graph shift: every object where its own climb ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import as_similarity, graph_shift, solve
from dominantsets.clusters.shift import Scale
from dominantsets.studies.graph_shift import BATCH, same_mode
from support import CORNERS, random_similarity


def test_groups_of_points():
    X, y = make_blobs(200, centers=CORNERS, random_state=1)
    S = as_similarity(X, "sqeuclidean")
    found = graph_shift(S, shift=Scale(S, S.degrees()).shift(0.015))
    assert len(found.modes) == 4
    assert adjusted_rand_score(y, found.labels) == 1.0


def test_modes_with_a_weight_that_hardly_counts_are_one():
    A = as_similarity(random_similarity(20, seed=5))
    one = solve(A, shift=1.0)
    weights = np.append(one.weights * (1 - 1e-5), 1e-5)
    outsider = int(np.setdiff1d(np.arange(20), one.members)[0])
    order = np.argsort(np.append(one.members, outsider))
    nearly = replace(one, members=np.append(one.members, outsider)[order], weights=weights[order])
    assert same_mode(one, nearly)
    assert not same_mode(one, replace(nearly, value=2.0 * one.value))
    assert not same_mode(one, replace(one, members=one.members + 100))


def test_a_callback_hears_how_many_are_left():
    n, left = BATCH + 300, []
    S = as_similarity(np.random.default_rng(0).normal(size=(n, 8)), "laplacian")
    graph_shift(S, shift=1.0, algorithm="working-set", callback=lambda progress: left.append(progress.n_left))
    assert left  # a climb takes some steps, and the callback is called at least once for each batch
    assert set(left) <= {n, n - BATCH, n - 2 * BATCH}
