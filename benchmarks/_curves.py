"""Generated groups that are not all round: curves, rings, ellipses, overlapping clouds, touching squares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import make_blobs, make_circles, make_moons

Set = tuple[str, np.ndarray, np.ndarray]


def turned(t: np.ndarray, radius: np.ndarray | float) -> np.ndarray:
    return np.column_stack([np.cos(t), np.sin(t)]) * np.asarray(radius).reshape(-1, 1)


def curves(seed: int) -> Iterator[Set]:
    """Name, points in random order, and labels (-1: noise) of 23 sets."""
    rng = np.random.default_rng(seed)

    def draw() -> int:
        return int(rng.integers(1e6))

    sets: list[Set] = []

    def add(name: str, X: np.ndarray, y: np.ndarray) -> None:
        sets.append((name, np.asarray(X, dtype=float), np.asarray(y)))

    for noise in (0.04, 0.08, 0.12):
        add(f"moons {noise}", *make_moons(600, noise=noise, random_state=draw()))
    for factor, noise in ((0.5, 0.05), (0.35, 0.08), (0.7, 0.04)):
        add(f"circles {factor}", *make_circles(700, factor=factor, noise=noise, random_state=draw()))
    X, y = make_blobs(600, centers=3, random_state=draw())
    add("sheared", X @ np.array([[0.6, -0.6], [-0.4, 0.8]]), y)
    add("widths", *make_blobs(600, cluster_std=[1, 2.5, 0.5], centers=3, random_state=draw()))
    for apart, name in ((3.2, "clouds 15"), (2.4, "clouds 15, overlapping")):
        some, centres = rng.uniform(0, 1, (400, 2)), []
        for place in some:
            if len(centres) < 15 and all(np.linalg.norm(place - other) > 0.16 for other in centres):
                centres.append(place)
        y = rng.integers(0, len(centres), 1500)
        add(name, np.array(centres)[y] + rng.normal(size=(1500, 2)) * 0.16 / apart, y)
    grid = np.array([(i + (j % 2) * 0.5, j * 0.87) for i in range(6) for j in range(5)])
    grid = grid + rng.normal(size=(30, 2)) * 0.07
    y = rng.integers(0, 30, 1800)
    add("clouds 30", grid[y] + rng.normal(size=(1800, 2)) * 0.17, y)
    places = [(0, 0), (1, 0.6), (1, -0.6), (6, 0), (6.5, 0.7), (7, -0.4), (7.3, 0.5), (6.3, -0.8)]
    y = np.repeat(range(8), [700] * 3 + [50] * 5)
    add("unequal sizes", np.array(places)[y] + rng.normal(size=(y.size, 2)) * 0.13, y)
    t, y = np.sqrt(rng.uniform(0.06, 1, 600)) * 3 * np.pi, np.repeat([0, 1, 2], 200)
    add("spirals", turned(t + y * 2 * np.pi / 3, t) + rng.normal(size=(600, 2)) * 0.35, y)
    ring = turned(rng.uniform(0, 2 * np.pi, 400), 3 + rng.normal(size=400) * 0.2)
    add("ring and cloud", np.vstack([ring, rng.normal(size=(250, 2)) * 0.6]), np.repeat([0, 1], [400, 250]))
    left, right = rng.uniform(0, 1, (600, 2)), rng.uniform(0, 1, (300, 2))
    add("squares", np.vstack([left * [1, 2], right * [1, 2] + [1.12, 0]]), np.repeat([0, 1], [600, 300]))
    X = np.vstack([rng.normal(size=(250, 2)) * [4, 0.35] + [0, k * 2.2] for k in range(4)])
    add("stripes", X, np.repeat(range(4), 250))
    parts = []
    for k in range(4):
        axes = np.linalg.qr(rng.normal(size=(2, 2)))[0] @ np.diag([2.2, 0.4])
        corner = rng.uniform(-4, 4, 2) + np.array([(k % 2) * 7, (k // 2) * 7])
        parts.append(rng.normal(size=(220, 2)) @ axes.T + corner)
    add("ellipses", np.vstack(parts), np.repeat(range(4), 220))
    t = rng.uniform(0, 4 * np.pi, 500)
    snake = np.column_stack([t, 2 * np.sin(t), 0 * t]) + rng.normal(size=(500, 3)) * 0.15
    clouds = [rng.normal(size=(150, 3)) * 0.5 + c for c in ((3, 4.5, 0), (9, -4.5, 0))]
    add("snake", np.vstack([snake, *clouds]), np.repeat([0, 1, 2], [500, 150, 150]))
    y = rng.choice(6, 900, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    add("clouds, d = 10", (rng.normal(size=(6, 10)) * 1.6)[y] + rng.normal(size=(900, 10)), y)
    pair = [rng.normal(size=(500, 8)) * 0.6, rng.normal(size=(500, 8)) * 0.6 + 0.9]
    add("two clouds, d = 8", np.vstack(pair), np.repeat([0, 1], 500))
    _, X, y = sets[0]
    far = rng.uniform(-1.6, 2.6, (120, 2)) * [1, 0.7]
    add("moons and noise", np.vstack([X, far]), np.append(y, np.full(120, -1)))
    X = [rng.normal(size=(300, 2)) * 2, rng.normal(size=(300, 2)) * 0.25 + [5, 4.5]]
    X.append(rng.normal(size=(200, 2)) * 0.5 + [-6, 5])
    add("dense and wide", np.vstack(X), np.repeat([0, 1, 2], [300, 300, 200]))
    ring = turned(rng.uniform(0, 2 * np.pi, 500), 5 + rng.normal(size=500) * 0.12)
    arc = turned(rng.uniform(1.15 * np.pi, 1.85 * np.pi, 200), 3 + rng.normal(size=200) * 0.12)
    eyes = [rng.normal(size=(100, 2)) * 0.3 + c for c in ((-1.6, 1.6), (1.6, 1.6))]
    add("face", np.vstack([ring, arc, *eyes]), np.repeat([0, 1, 2, 3], [500, 200, 100, 100]))
    for name, X, y in sets:
        order = rng.permutation(len(X))
        yield name, X[order], y[order]
