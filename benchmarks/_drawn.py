"""Random sets of 23 families and nulls, with their groups: what rules of choice are compared on.

``draw(seed)`` draws the family, dimension, sizes, widths, overlap and noise. Rules may be chosen on even
seeds only; figures are those of odd ones. A null has one group; noise has the label -1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Rng = np.random.Generator
Drawn = tuple[np.ndarray, np.ndarray]


def sizes(r: Rng, n: int, k: int, least: int = 6) -> np.ndarray:
    """Labels of n objects in k groups, as unequal as a random Dirichlet concentration makes them."""
    p = r.dirichlet(np.full(k, r.choice([0.8, 2.0, 8.0, 200.0])))
    count = np.maximum(np.round(p * n).astype(int), least)
    return np.repeat(np.arange(k), count)


def places(r: Rng, k: int, d: int, apart: float) -> np.ndarray:
    """k places, no two closer than ``apart``: drawn in a ball that grows until they fit."""
    radius, found = apart * 0.6 * k ** (1.0 / d), []
    while len(found) < k:
        for _ in range(60):
            c = r.normal(size=d)
            c *= radius * r.random() ** (1.0 / d) / np.linalg.norm(c)
            if all(np.linalg.norm(c - other) >= apart for other in found):
                found.append(c)
                break
        else:
            radius *= 1.15
    return np.array(found)


def some(r: Rng, *, most: int = 12, least: int = 2) -> int:
    return int(np.clip(np.round(np.exp(r.uniform(np.log(least - 0.4), np.log(most + 0.4)))), least, most))


def widths(r: Rng, k: int) -> np.ndarray:
    return np.exp(r.uniform(-0.7, 0.7, size=k) * r.choice([0.0, 0.5, 1.0]))


def round_groups(r: Rng, n: int, d: int) -> Drawn:
    k = some(r)
    y = sizes(r, n, k)
    C = places(r, k, d, r.uniform(2.5, 8.0))
    w = widths(r, k)
    return C[y] + w[y][:, None] * r.normal(size=(y.size, d)), y


def many_groups(r: Rng, n: int, d: int) -> Drawn:
    k = int(r.integers(15, 45))
    y = sizes(r, max(n, 20 * k), k)
    return places(r, k, d, r.uniform(4.0, 9.0))[y] + r.normal(size=(y.size, d)), y


def few_objects(r: Rng, n: int, d: int) -> Drawn:
    k = int(r.integers(2, 6))
    y = np.repeat(np.arange(k), r.integers(5, 12, size=k))
    return places(r, k, d, r.uniform(5.0, 10.0))[y] + r.normal(size=(y.size, d)), y


def ellipses(r: Rng, n: int, d: int) -> Drawn:
    k = some(r, most=8)
    y = sizes(r, n, k, least=2 * d + 6)
    C, X = places(r, k, d, r.uniform(2.5, 6.0)), np.empty((y.size, d))
    for j in range(k):
        turn = np.linalg.qr(r.normal(size=(d, d)))[0] * np.exp(r.uniform(-1.6, 0.5, size=d))
        X[y == j] = C[j] + r.normal(size=(np.sum(y == j), d)) @ turn.T
    return X, y


def crossing(r: Rng, n: int, d: int) -> Drawn:
    """Long thin groups through nearly one place."""
    k = some(r, most=4)
    y = sizes(r, n, k, least=30)
    X = np.empty((y.size, d))
    for j in range(k):
        axis = r.normal(size=d)
        axis /= np.linalg.norm(axis)
        m = int(np.sum(y == j))
        X[y == j] = (
            r.normal(size=(m, 1)) * 4.0 * axis
            + r.normal(size=(m, d)) * r.uniform(0.1, 0.4)
            + r.normal(size=d) * 1.5
        )
    return X, y


def tails(r: Rng, n: int, d: int) -> Drawn:
    k = some(r, most=8)
    y = sizes(r, n, k)
    C = places(r, k, d, r.uniform(4.0, 12.0))
    return C[y] + widths(r, k)[y][:, None] * r.standard_t(r.choice([2.5, 3.0, 5.0]), size=(y.size, d)), y


def skewed(r: Rng, n: int, d: int) -> Drawn:
    X, y = round_groups(r, n, d)
    X = X / X.std()
    return np.exp(r.uniform(0.4, 1.1) * X), y


def flat_shapes(r: Rng, n: int, d: int) -> Drawn:
    """Balls and boxes of constant density that nearly touch."""
    k = some(r, most=8)
    y = sizes(r, n, k, least=15)
    v = r.normal(size=(y.size, d))
    ball = v / np.linalg.norm(v, axis=1, keepdims=True) * r.random((y.size, 1)) ** (1.0 / d)
    box = r.uniform(-1.0, 1.0, size=(y.size, d)) * 0.8
    w = widths(r, k) * 0.75
    w = np.minimum(w, 1.0)
    C = places(r, k, d, r.uniform(1.9, 2.6))
    return C[y] + w[y][:, None] * np.where((r.random(k) < 0.5)[y][:, None], ball, box), y


def rings(r: Rng, n: int, d: int) -> Drawn:
    k = some(r, most=4)
    y = sizes(r, n, k, least=30)
    v = r.normal(size=(y.size, min(d, 3)))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    X = np.zeros((y.size, d))
    X[:, : v.shape[1]] = v * (np.arange(k) + r.uniform(0.0, 1.0))[y][:, None]
    return X + r.uniform(0.02, 0.16) * r.normal(size=X.shape), y


def moons(r: Rng, n: int, d: int) -> Drawn:
    k = some(r, most=5)
    y = sizes(r, n, k, least=30)
    a = np.pi * r.random(y.size)
    up = np.where(y % 2 == 0, 1.0, -1.0)
    X = np.zeros((y.size, d))
    X[:, 0] = np.cos(a) + y * 1.0
    X[:, 1] = up * np.sin(a) + np.where(y % 2 == 0, 0.0, r.uniform(0.3, 0.6))
    return X + r.uniform(0.02, 0.14) * r.normal(size=X.shape), y


def curves(r: Rng, n: int, d: int) -> Drawn:
    k = some(r, most=6)
    y = sizes(r, n, k, least=30)
    X, C = np.empty((y.size, d)), places(r, k, d, r.uniform(1.5, 4.0))
    for j in range(k):
        m = int(np.sum(y == j))
        t, P = r.random((m, 1)), r.normal(size=(4, d)) * r.uniform(1.0, 2.5)
        X[y == j] = (
            C[j] + P[0] * t + P[1] * np.sin(2.0 * np.pi * t) + P[2] * np.cos(np.pi * t) * r.uniform(0, 1)
        )
    return X + r.uniform(0.03, 0.2) * r.normal(size=X.shape), y


def spirals(r: Rng, n: int, d: int) -> Drawn:
    k = int(r.integers(2, 4))
    y = sizes(r, n, k, least=40)
    t = np.sqrt(r.random(y.size)) * r.uniform(1.0, 2.2) * 2.0 * np.pi
    a = t + 2.0 * np.pi * y / k
    X = np.zeros((y.size, d))
    X[:, 0], X[:, 1] = t * np.cos(a), t * np.sin(a)
    return X + r.uniform(0.1, 0.5) * r.normal(size=X.shape), y


def shells(r: Rng, n: int, d: int) -> Drawn:
    """A dense core in a sparse cloud, and another such pair beside it."""
    k = int(r.integers(1, 3))
    y = sizes(r, n, 2 * k, least=30)
    X = np.empty((y.size, d))
    for j in range(2 * k):
        m = int(np.sum(y == j))
        v = r.normal(size=(m, d))
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        radius = r.random((m, 1)) ** (1.0 / d) * 0.6 if j % 2 == 0 else r.uniform(1.0, 2.6, size=(m, 1))
        X[y == j] = v * radius
        X[y == j, 0] += 7.0 * (j // 2)
    return X, y


def densities(r: Rng, n: int, d: int) -> Drawn:
    """Round groups of very unlike widths."""
    k = some(r, most=6)
    y = sizes(r, n, k, least=20)
    w = np.exp(r.uniform(-1.6, 1.2, size=k))
    C = np.zeros((k, d))
    for j in range(1, k):
        step = r.normal(size=d)
        C[j] = C[j - 1] + step / np.linalg.norm(step) * (w[j] + w[j - 1]) * r.uniform(2.2, 4.0)
    return C[y] + w[y][:, None] * r.normal(size=(y.size, d)), y


def sheets(r: Rng, n: int, d: int) -> Drawn:
    """Flat groups of two or three dimensions in many."""
    d = int(r.choice([12, 20, 30]))
    k, inner = some(r, most=8), int(r.integers(2, 4))
    y = sizes(r, n, k, least=25)
    X, C = np.empty((y.size, d)), r.normal(size=(k, d)) * r.uniform(0.6, 1.6)
    for j in range(k):
        m = int(np.sum(y == j))
        X[y == j] = C[j] + r.normal(size=(m, inner)) @ r.normal(size=(inner, d)) * 0.8
    return X + 0.15 * r.normal(size=X.shape), y


def high(r: Rng, n: int, d: int) -> Drawn:
    """Round groups in many dimensions, where distances are nearly equal."""
    d = int(r.choice([15, 25, 50]))
    k = some(r, most=10)
    y = sizes(r, n, k, least=15)
    C = r.normal(size=(k, d))
    C *= r.uniform(3.5, 8.0) / np.sqrt(2.0 * d)
    return C[y] + widths(r, k)[y][:, None] * r.normal(size=(y.size, d)), y


def useless_columns(r: Rng, n: int, d: int) -> Drawn:
    X, y = round_groups(r, n, 2)
    more = int(r.integers(3, 30))
    return np.hstack([X, r.normal(size=(len(X), more)) * X.std() * r.uniform(0.1, 0.5)]), y


def unlike_units(r: Rng, n: int, d: int) -> Drawn:
    X, y = round_groups(r, n, d)
    return X * 10.0 ** r.uniform(-1.5, 1.5, size=d), y


def rounded(r: Rng, n: int, d: int) -> Drawn:
    X, y = (round_groups if r.random() < 0.6 else ellipses)(r, n, d)
    return np.round(X / r.uniform(0.3, 1.5)), y


def binary(r: Rng, n: int, d: int) -> Drawn:
    d, k = int(r.integers(12, 45)), some(r, most=6)
    y = sizes(r, n, k, least=15)
    P = 1.0 / (1.0 + np.exp(-r.normal(size=(k, d)) * r.uniform(1.0, 3.0)))
    return (r.random((y.size, d)) < P[y]).astype(float), y


def counts(r: Rng, n: int, d: int) -> Drawn:
    d, k = int(r.integers(15, 45)), some(r, most=6)
    y = sizes(r, n, k, least=15)
    P = np.exp(r.normal(size=(k, d)) * r.uniform(0.4, 1.2) + r.normal(size=d))
    return r.poisson(3.0 * P[y]).astype(float), y


def mixed(r: Rng, n: int, d: int) -> Drawn:
    """Round, long and ring-shaped groups side by side."""
    k = some(r, most=7)
    y = sizes(r, n, k, least=25)
    C, X = places(r, k, d, r.uniform(4.0, 7.0)), np.empty((y.size, d))
    for j in range(k):
        m, kind = int(np.sum(y == j)), int(r.integers(3))
        Z = r.normal(size=(m, d))
        if kind == 1:
            Z *= np.exp(r.uniform(-1.5, 0.7, size=d))
        elif kind == 2:
            a = r.uniform(0.0, 2.0 * np.pi, size=m)
            Z *= 0.12
            Z[:, 0] += 1.6 * np.cos(a)
            Z[:, 1] += 1.6 * np.sin(a)
        X[y == j] = C[j] + Z @ np.linalg.qr(r.normal(size=(d, d)))[0]
    return X, y


def bridges(r: Rng, n: int, d: int) -> Drawn:
    """Two or more round groups with chains of objects between them."""
    k = some(r, most=5)
    y = sizes(r, n, k, least=40)
    C = places(r, k, d, r.uniform(6.0, 10.0))
    X = C[y] + r.normal(size=(y.size, d))
    for j in range(k - 1):
        m = int(r.integers(5, 25))
        t = r.random(m)[:, None]
        X = np.vstack([X, C[j] * (1 - t) + C[j + 1] * t + 0.2 * r.normal(size=(m, d))])
        y = np.concatenate([y, np.where(t[:, 0] < 0.5, j, j + 1)])
    return X, y


GROUPS: list[Callable[[Rng, int, int], Drawn]] = [
    round_groups, round_groups, many_groups, few_objects, ellipses, ellipses, crossing, tails, skewed,
    flat_shapes, rings, moons, curves, spirals, shells, densities, sheets, high, useless_columns,
    unlike_units, rounded, binary, counts, mixed, bridges,
]  # fmt: skip


def null(r: Rng, n: int, d: int) -> Drawn:
    kind = int(r.integers(7))
    d = int(r.choice([1, d, d, d, 20, 50])) if kind != 6 else d
    E = r.normal(size=(n, d))
    if kind == 1:
        E = r.random((n, d))
    elif kind == 2:
        E = r.standard_t(3, size=(n, d))
    elif kind == 3:
        E = r.exponential(size=(n, d))
    elif kind == 4:
        E = E / np.linalg.norm(E, axis=1, keepdims=True) * r.random((n, 1)) ** (1.0 / d)
    elif kind == 5:
        E = np.round(E * r.uniform(0.7, 4.0))
    elif kind == 6:
        E = E @ (np.linalg.qr(r.normal(size=(d, d)))[0] * np.exp(r.uniform(-2.0, 1.0, size=d)))
    return E, np.zeros(n, dtype=int)


def draw(seed: int) -> tuple[str, np.ndarray, np.ndarray]:
    """A set: its family, its rows in a random order, and their groups (-1: noise)."""
    r = np.random.default_rng([2026, seed])
    d, n = int(r.choice([2, 2, 2, 3, 4, 6, 9])), int(np.exp(r.uniform(np.log(100), np.log(1_200))))
    family = null if r.random() < 0.12 else GROUPS[int(r.integers(len(GROUPS)))]
    X, y = family(r, n, d)
    name = family.__name__
    if family not in (null, few_objects, binary, counts, rounded) and r.random() < 0.25:
        low, high_ = X.min(axis=0), X.max(axis=0)
        m = int(r.uniform(0.05, 0.4) * len(X))
        noise = r.uniform(low - 0.1 * (high_ - low), high_ + 0.1 * (high_ - low), size=(m, X.shape[1]))
        X, y, name = np.vstack([X, noise]), np.concatenate([y, np.full(m, -1)]), name + " in noise"
    if r.random() < 0.5 and family not in (binary, counts, rounded, unlike_units, skewed):
        X = X @ np.linalg.qr(r.normal(size=(X.shape[1], X.shape[1])))[0]
    order = r.permutation(len(X))
    return name, X[order], y[order]
