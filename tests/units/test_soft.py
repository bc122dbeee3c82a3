"""Soft answers: payoffs of objects against clusters, and the weights of all dominant sets."""

from __future__ import annotations

import pickle

import numpy as np

from dominantsets import DominantSets


def weights_of(model: DominantSets) -> np.ndarray:
    """The dominant sets as dense vectors: the columns."""
    return np.column_stack(
        [np.bincount(c.members, c.weights, minlength=model.similarity_.n) for c in model.clusters_]
    )


def squares(new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.square(new[:, None, :] - old[None, :, :]).sum(axis=2)


LONG = [((5.0, 0.4), 0.0), ((0.4, 5.0), 20.0)]  # widths along the axes, and where


def test_each_ellipse_has_its_own_similarity():
    rng = np.random.default_rng(0)
    rows = np.vstack(
        [rng.normal(size=(150, 2)) * scale + at for scale, at in (((5, 0.4), 0), ((0.4, 5), 20))]
    )
    model = DominantSets(2, affinity="ellipses").fit(rows)
    top, x = model.similarity_._top, weights_of(model)
    metrics = model.similarity_.metrics
    assert not np.allclose(metrics[0], metrics[1], atol=0.1)
    new = rows[::7] + 0.2
    expected = np.column_stack([(top - squares(new @ T, rows @ T)) @ x[:, k] for k, T in enumerate(metrics)])
    for answer in (model, pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(answer.transform(new), expected, rtol=1e-10)
