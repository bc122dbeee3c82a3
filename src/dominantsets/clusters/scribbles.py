r"""Regions of an image that go with strokes drawn on it: constrained dominant sets.

Two regions have the similarity :math:`1 / (1 + D_{ij}^2 / (\sigma_i \sigma_j))`, with :math:`\sigma_i` the
mean distance of region i to its seven nearest; it is never zero, so that every region is more like one
stroke than another. The strokes of one label are the seeds of a dominant set (docs/theory-seeds.md). It meets
them but need not have them all, because one object may have several colours: its members are taken out, and
the next set is around the seeds that are left (Zemene and Pelillo, 2016).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from dominantsets._typing import Floats, Ints
from dominantsets.similarity import as_similarity
from dominantsets.solvers import DominantSet, solve

NEAREST = 7  # regions that say how far apart neighbours are: Zelnik-Manor and Perona (2004)


class Found(NamedTuple):
    """The label of each region, that of its sets (-1: in none, or in those of several), and the sets."""

    labels: Ints
    cores: Ints
    clusters: list[DominantSet]


def checked_scribbles(scribbles: Any, shape: tuple[int, ...]) -> Ints:
    """Strokes as a map of labels, 0 where there is none, if they can be meant."""
    given = np.asarray(scribbles)
    if given.shape != shape:
        raise ValueError(f"scribbles must have the shape {shape} of the image, got {given.shape}.")
    if given.dtype.kind not in "bui":
        raise ValueError(f"scribbles must be a mask or a map of whole numbers, got {given.dtype}.")
    strokes = given.astype(np.int64)
    if strokes.min() < 0:
        raise ValueError(f"scribbles have the label {strokes.min()}; 0 is no stroke, labels are 1 and above.")
    if not strokes.any():
        raise ValueError(
            "scribbles are empty: no pixel has a label above 0, so there is nothing to begin at."
        )
    return strokes


def split_at_strokes(regions: Ints, strokes: Ints) -> tuple[Ints, Ints]:
    """Regions of which none has strokes of two labels, and the label of each region, 0 without a stroke."""
    drawn = strokes > 0
    pairs = np.unique(np.column_stack([regions[drawn], strokes[drawn]]), axis=0)
    shared = np.bincount(pairs[:, 0], minlength=regions.max() + 1) > 1
    codes = regions * (strokes.max() + 1) + np.where(shared[regions], strokes, 0)
    _, flat = np.unique(codes, return_inverse=True)
    split = flat.reshape(regions.shape).astype(np.int64)
    own = np.zeros(split.max() + 1, dtype=np.int64)
    own[split[drawn]] = strokes[drawn]
    return split, own


def means_of(features: Floats, regions: Ints) -> Floats:
    """The mean features of regions, from those of pixels."""
    flat = regions.ravel()
    sums = np.column_stack([np.bincount(flat, column) for column in features.T])
    return np.asarray(sums / np.bincount(flat)[:, None])


def similarities(means: Floats) -> Floats:
    """Similarities of regions, each with its own scale."""
    D = cdist(means, means)
    scale = np.sort(D, axis=1)[:, 1 : NEAREST + 1].mean(axis=1) if len(D) > 1 else np.ones(1)
    scale = np.maximum(scale, 1e-3 * D.mean() or 1.0)  # flat colours: neighbours that are the same
    A: Floats = 1.0 / (1.0 + np.square(D) / np.outer(scale, scale))
    np.fill_diagonal(A, 0.0)
    return A


def sets_around(A: Floats, seeds: Ints, others: Ints, seed_shift: float | str) -> list[DominantSet]:
    """Sets of seeds and others, one after another, until no seed is left, or a set has none."""
    sets: list[DominantSet] = []
    while seeds.size:
        objects = np.union1d(seeds, others)
        B = A[np.ix_(objects, objects)]
        if not B.any():  # nothing is like what is left
            break
        places = np.searchsorted(objects, seeds)
        found = solve(as_similarity(B), seeds=places, seed_shift=seed_shift)
        members = objects[found.members]
        if not np.isin(seeds, members).any():
            break
        sets.append(replace(found, members=members))
        seeds, others = np.setdiff1d(seeds, members), np.setdiff1d(others, members)
    return sets


def label_regions(A: Floats, own: Ints, seed_shift: float | str) -> Found:
    """Each region to the label that has a set with the largest payoff for it; one label: who is in a set."""
    names, clusters = np.unique(own[own > 0]), []
    payoffs, inside = np.zeros((names.size, own.size)), np.zeros((names.size, own.size), dtype=bool)
    free = np.flatnonzero(own == 0)
    for k, name in enumerate(names):
        for found in sets_around(A, np.flatnonzero(own == name), free, seed_shift):
            payoffs[k] = np.maximum(payoffs[k], A[:, found.members] @ found.weights)
            inside[k, found.members] = True
            clusters.append(found)
    labels = np.where(inside[0], names[0], 0) if names.size == 1 else names[payoffs.argmax(axis=0)]
    labels = np.where(own > 0, own, labels)
    inside |= own == names[:, None]
    cores = np.where(inside.sum(axis=0) == 1, names[inside.argmax(axis=0)], -1)
    return Found(labels, cores, clusters)
