"""
Lines through points: a hypergraph
==================================

No two points say anything about a line, but three do. Three points that lie near one line are a hyperedge,
the heavier the nearer. A line is then a dominant set of the hypergraph; its points are taken out, and the
next one is looked for. Writes lines.png.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dominantsets import solve_hypergraph
from dominantsets.plotting import plt

WIDTH = 0.02  # how far points lie off their line
rng = np.random.default_rng(0)
ends = [((0.0, 0.1), (1.0, 0.8)), ((0.1, 0.9), (0.9, 0.0)), ((0.0, 0.55), (1.0, 0.35))]
lines = [np.outer(1 - t, a) + np.outer(t, b) for (a, b), t in ((e, rng.random(25)) for e in ends)]
X = np.vstack(
    [*(points + WIDTH / 2 * rng.normal(size=points.shape) for points in lines), rng.random((25, 2))]
)
y = np.repeat([0, 1, 2, -1], 25)

# all triples: the least singular value of three centred points is how far they are from one line
edges = np.array(list(combinations(range(len(X)), 3)))
triples = X[edges] - X[edges].mean(axis=1, keepdims=True)
weights = np.exp(-np.square(np.linalg.svd(triples, compute_uv=False)[:, 1] / WIDTH))
near = weights > 0.01
edges, weights = edges[near], weights[near]

labels, left = np.full(len(X), -1), np.ones(len(edges), dtype=bool)
for k in range(3):
    line = solve_hypergraph(edges[left], weights[left], n=len(X))
    labels[line.members] = k
    left &= ~np.isin(edges, line.members).any(axis=1)
    print(f"line {k}: {len(line)} points, gap {line.gap:.1g}, {line.status.value}, strict: {line.strict}")
both = (y >= 0) & (labels >= 0)
ari = adjusted_rand_score(y[both], labels[both])
print(f"of {np.sum(y >= 0)} points of lines {both.sum()} are in a set, ARI {ari:.2f}")

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, shown, title in (
    (axes[0], y, "three lines and noise"),
    (axes[1], labels, "dominant sets of triples"),
):
    ax.scatter(*X.T, c=[["#bbbbbb", "#0072B2", "#E69F00", "#009E73"][label + 1] for label in shown], s=14)
    ax.set(title=title, xticks=[], yticks=[])
figure.savefig("lines.png", dpi=90)
