"""Data with groups that are known because they were planted: points, unit vectors, graphs, and none at all.

Every generator takes a seed first and gives the objects and the group of each, -1 for noise. The same seed
and options give the same numbers; the places of the groups do not depend on the number of objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform

SMALLEST = 12  # objects of a group: fewer are hardly a group to anybody
USUAL = {3: 1_000, 10: 2_000, 50: 4_000, 300: 9_000}  # objects, by the number of groups
SPREAD = {16: 0.5, 64: 0.7, 384: 0.8}  # of unit vectors about their centre, by dimension
PATIENCE = 20  # times that centres too near to another are drawn anew before their box grows

Points = tuple[np.ndarray, np.ndarray]


def centres(rng: np.random.Generator, k: int, d: int, apart: float, widths: np.ndarray) -> np.ndarray:
    """Places for k groups, no two nearer than ``apart`` times the mean of their widths.

    The box in which they are drawn grows until they fit, so that groups are about as crowded in every
    dimension.
    """
    needed = apart * (widths[:, None] + widths) / 2
    side = apart
    while True:
        C = rng.uniform(-side, side, size=(k, d))
        for _ in range(PATIENCE):
            D = squareform(pdist(C))
            np.fill_diagonal(D, np.inf)
            crowded = np.flatnonzero((needed > D).any(axis=1))
            if not crowded.size:
                return C
            C[crowded] = rng.uniform(-side, side, size=(crowded.size, d))
        side *= 1.15


def sizes(n: int, k: int, zipf: bool) -> np.ndarray:
    """About n objects in k groups, equal or in proportion to 1, 1/2, 1/3, ..."""
    share = 1 / np.arange(1, k + 1) if zipf else np.ones(k)
    return np.maximum(SMALLEST, np.floor(n * share / share.sum()).astype(int))


def with_noise(y: np.ndarray, noise: float) -> int:
    """How many objects of noise make up that share of all."""
    return round(len(y) * noise / (1 - noise))


def shuffled(rng: np.random.Generator, X: np.ndarray, y: np.ndarray) -> Points:
    order = rng.permutation(len(X))
    return X[order], y[order]


def blobs(
    seed: int, d: int, k: int, n: int | None = None, zipf: bool = False, wide: bool = False,
    noise: float = 0.0, kind: str = "uniform", apart: float = 6.0,
) -> Points:  # fmt: skip
    """Round Gaussian groups, of one width or of widths 1 to 4, among uniform or broad Gaussian noise."""
    rng = np.random.default_rng(seed)
    n = n or USUAL.get(k, 2_000)
    widths = np.exp(rng.uniform(0, np.log(4), k)) if wide else np.ones(k)
    C = centres(rng, k, d, apart, widths)
    counts = sizes(int(n * (1 - noise)), k, zipf)
    X = np.vstack([c + w * rng.normal(size=(m, d)) for c, w, m in zip(C, widths, counts, strict=True)])
    y = np.repeat(np.arange(k), counts)
    extra = with_noise(y, noise)
    if extra:
        if kind == "uniform":
            low, high = X.min(axis=0), X.max(axis=0)
            edge = 0.05 * (high - low)
            B = rng.uniform(low - edge, high + edge, size=(extra, d))
        else:
            B = X.mean(axis=0) + X.std() * 1.3 * rng.normal(size=(extra, d))
        X, y = np.vstack([X, B]), np.r_[y, np.full(extra, -1)]
    return shuffled(rng, X, y)


def sphere(seed: int, d: int, k: int, n: int = 2_000, noise: float = 0.0) -> Points:
    """Unit vectors about k directions; noise is spread over all directions."""
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(k, d))
    C /= np.linalg.norm(C, axis=1, keepdims=True)
    counts = sizes(int(n * (1 - noise)), k, False)
    spread = SPREAD[d] / np.sqrt(d)
    X = np.vstack([c + spread * rng.normal(size=(m, d)) for c, m in zip(C, counts, strict=True)])
    y = np.repeat(np.arange(k), counts)
    extra = with_noise(y, noise)
    X, y = np.vstack([X, rng.normal(size=(extra, d))]), np.r_[y, np.full(extra, -1)]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return shuffled(rng, X, y)


def tiles(seed: int, shape: str, k: int, n: int = 2_000, gap: float = 0.25) -> Points:
    """Discs or squares of flat density side by side, with a gap of that many radii between them."""
    rng = np.random.default_rng(seed)
    row = int(np.ceil(np.sqrt(k)))
    each, parts = n // k, []
    for i in range(k):
        P = rng.uniform(-1, 1, size=(4 * each, 2))
        if shape == "disc":
            P = P[(P**2).sum(axis=1) < 1]
        parts.append(np.array([i % row, i // row]) * (2 + 2 * gap) + P[:each])
    return np.vstack(parts), np.repeat(np.arange(k), each)


def ellipses(seed: int, d: int, k: int, n: int = 1_500, apart: float = 9.0) -> Points:
    """Gaussian groups that are up to five times as long as they are wide, each in its own direction."""
    rng = np.random.default_rng(seed)
    C = centres(rng, k, d, apart, np.ones(k))
    each, parts = n // k, []
    for c in C:
        axes = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.exp(rng.uniform(np.log(0.4), np.log(2), d))
        parts.append(c + rng.normal(size=(each, d)) @ axes.T)
    return np.vstack(parts), np.repeat(np.arange(k), each)


def null(seed: int, kind: str, d: int, n: int) -> Points:
    """Nothing to find: one Gaussian, or a box of flat density."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) if kind == "gauss" else rng.uniform(size=(n, d))
    return X, np.zeros(n, dtype=int)


def graph(
    seed: int, k: int, n: int = 2_000, zipf: bool = True, noise: float = 0.0, inside: float = 12.0,
    outside: float = 4.0, weighted: bool = False,
) -> tuple[Any, np.ndarray]:  # fmt: skip
    """A sparse similarity with planted groups, each node with so many edges inside and outside its group.

    The expected number of edges inside is the same in small and large groups, so large ones are sparser.
    Nodes of noise have as many edges as others, to anybody. With weights, edges within a group are heavier
    in the mean, but not each of them.
    """
    rng = np.random.default_rng(seed)
    counts = sizes(int(n * (1 - noise)), k, zipf)
    y = np.repeat(np.arange(k), counts)
    y = np.r_[y, np.full(with_noise(y, noise), -1)]
    heads, tails = [], []
    for first, m in zip(np.cumsum(counts) - counts, counts, strict=True):
        i, j = np.triu_indices(m, 1)
        drawn = rng.random(i.size) < inside / (m - 1)
        heads.append(first + i[drawn])
        tails.append(first + j[drawn])
    stubs = np.repeat(np.arange(len(y)), np.where(y < 0, inside + outside, outside).astype(int))
    stubs = rng.permutation(stubs)[: stubs.size // 2 * 2]
    within = sum(part.size for part in heads)
    i, j = np.concatenate([*heads, stubs[::2]]), np.concatenate([*tails, stubs[1::2]])
    weight = np.ones(i.size)
    if weighted:
        weight[:within] = rng.uniform(0.4, 1.0, within)
        weight[within:] = rng.uniform(0.1, 0.7, i.size - within)
    order = rng.permutation(len(y))
    place = np.argsort(order).astype(np.int32)  # as numbers of 64 bits, spectral clustering refuses them
    distinct = i != j
    ends = (place[i[distinct]], place[j[distinct]])
    A = sp.csr_array(sp.coo_array((weight[distinct], ends), shape=(len(y),) * 2))
    return A.maximum(A.T), y[order]
