"""Draws the pictures of docs/how.md: ``python docs/pictures/how.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.tri import Triangulation

from dominantsets import DominantSets, as_similarity, peel, solve
from dominantsets.plotting import NOISE, Circle, color_of, plt

HERE = Path(__file__).parents[1]
WIDE, TALL = 7.2, 3.4
rng = np.random.default_rng(2)
CENTERS = np.array([(0, 0), (4.2, 0.6), (1.6, 4.0)])
X = np.vstack(
    [c + 0.55 * rng.normal(size=(m, 2)) for c, m in zip(CENTERS, (30, 24, 20), strict=True)]
    + [rng.uniform((-2.5, -2), (6.5, 6), (16, 2))]
)


def bare(ax, title):
    ax.set(title=title, xticks=[], yticks=[])
    ax.set_aspect("equal")


def save(figure, name):
    figure.savefig(HERE / f"how-{name}.png", dpi=100)
    plt.close(figure)


def similarity():
    """Objects, and the matrix of how much alike they are."""
    S = as_similarity(X, "sqeuclidean")
    everybody = np.arange(len(X))
    figure, axes = plt.subplots(1, 2, figsize=(WIDE, TALL), layout="constrained")
    groups = np.repeat([0, 1, 2, -1], [30, 24, 20, 16])
    axes[0].scatter(*X.T, s=14, c=[color_of(k) if k >= 0 else NOISE for k in groups])
    bare(axes[0], "90 objects")
    image = axes[1].imshow(S.block(everybody, everybody), cmap="viridis")
    axes[1].set(title="how much alike each two are", xticks=[], yticks=[])
    figure.colorbar(image, ax=axes[1], shrink=0.8)
    save(figure, "similarity")


def simplex():
    """Three objects: every way of sharing out weight is a place in a triangle, and f is its height."""
    A = np.array([[0, 0.9, 0.2], [0.9, 0, 0.3], [0.2, 0.3, 0]])
    corners = np.array([(0, 0), (1, 0), (0.5, np.sqrt(0.75))])
    steps = 60
    weights = (
        np.array([(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]) / steps
    )
    figure, axes = plt.subplots(1, 2, figsize=(WIDE, TALL), layout="constrained")
    for ax, shift in zip(axes, (0.0, 0.6), strict=True):
        values = np.einsum("ni,ij,nj->n", weights, A - shift * np.eye(3), weights)
        ax.tricontourf(Triangulation(*(weights @ corners).T), values, levels=14, cmap="viridis")
        best = solve(A, shift=shift, start="barycenter")
        x = np.zeros(3)
        x[best.members] = best.weights
        ax.plot(*(x @ corners), marker="*", ms=14, color="w", mec="k")
        for name, (across, up) in zip("abc", ((-0.07, -0.03), (1.07, -0.03), (0.5, 0.93)), strict=True):
            ax.text(across, up, name, ha="center", va="center", fontsize=12)
        words = ", ".join(f"{name} {w:.2f}" for name, w in zip("abc", x, strict=True) if w)
        ax.set(title=f"shift {shift:g}: {words}", xlim=(-0.15, 1.15), ylim=(-0.1, 1.0))
        ax.set_aspect("equal")
        ax.axis("off")
    save(figure, "simplex")


def ball():
    """What a dominant set of features is, for three shifts."""
    S = as_similarity(X, "sqeuclidean")
    figure, axes = plt.subplots(1, 3, figsize=(WIDE, 2.9), layout="constrained")
    for ax, kappa in zip(axes, (6, 30, 600), strict=True):
        one = solve(S, shift=kappa - S.offset, start=0)
        weights = np.zeros(len(X))
        weights[one.members] = one.weights / one.weights.max()
        ax.scatter(*X.T, s=8, color=NOISE)
        ax.scatter(*X[one.members].T, s=4 + 30 * weights[one.members], color=color_of(0))
        ax.add_patch(Circle(one.center, one.radius, fill=False, ec=color_of(0)))
        bare(ax, f"{len(one)} members")
        ax.set(xlim=(-3, 7), ylim=(-2.5, 6.5))
    save(figure, "ball")


def scale():
    """How many members a ball has as the shift rises: a group stops growing, flat data do not."""
    flat = rng.uniform((-2.5, -2), (6.5, 6), (90, 2))
    figure, ax = plt.subplots(figsize=(WIDE, TALL), layout="constrained")
    kappas = np.geomspace(2, 3000, 60)
    for data, color, label in ((X, color_of(0), "from the largest group"), (flat, "0.4", "in flat data")):
        S = as_similarity(data, "sqeuclidean")
        middle = data[:30].mean(axis=0) if data is X else data.mean(axis=0)
        start = int(np.argmin(np.square(data - middle).sum(axis=1)))
        members = []
        for kappa in kappas:
            one = solve(S, shift=kappa - S.offset, start=start)
            members.append(len(one))
        ax.plot(kappas, members, marker=".", color=color, label=label)
    ax.axhline(30, color="0.7", lw=1)
    ax.annotate("the group has 30", (2, 30), va="bottom")
    ax.set(xscale="log", yscale="log", xlabel="shift + M", ylabel="members")
    ax.set(yticks=[5, 10, 30, 90], yticklabels=["5", "10", "30", "90"])
    ax.minorticks_off()
    ax.legend()
    save(figure, "scale")


def peeling():
    """One after another, and what is left."""
    S = as_similarity(X, "sqeuclidean")
    left = np.ones(len(X), dtype=bool)
    figure, axes = plt.subplots(1, 4, figsize=(WIDE, 2.3), layout="constrained")
    for k, one in enumerate(peel(S, 3, shift=25 - S.offset)):
        ax = axes[k]
        ax.scatter(*X[left].T, s=5, color=NOISE)
        ax.scatter(*X[one.members].T, s=8, color=color_of(k))
        ax.add_patch(Circle(one.center, one.radius, fill=False, ec=color_of(k)))
        bare(ax, f"{k + 1}: {len(one)} members")
        left[one.members] = False
    axes[3].scatter(*X[left].T, s=8, color=NOISE)
    bare(axes[3], f"{left.sum()} are left")
    for ax in axes:
        ax.set(xlim=(-3, 7), ylim=(-2.5, 6.5))
    save(figure, "peeling")


def certificate():
    """Payoffs of all objects: members are level, and nobody outside reaches them."""
    model = DominantSets(3, affinity="sqeuclidean").fit(X)
    one = model.clusters_[0]
    everybody = np.arange(len(X))
    A = model.similarity_.block(everybody, everybody)
    x = np.zeros(len(X))
    x[one.members] = one.weights
    payoffs = A @ x - one.shift * x
    value = x @ payoffs
    inside = x > 0
    order = np.argsort(-payoffs)
    rank = np.empty(len(X), dtype=int)
    rank[order] = everybody
    figure, ax = plt.subplots(figsize=(WIDE, TALL), layout="constrained")
    ax.scatter(rank[inside], payoffs[inside], s=16, color=color_of(0), label="members")
    ax.scatter(rank[~inside], payoffs[~inside], s=10, color="0.5", label="others")
    ax.axhline(value, color=color_of(0), lw=1)
    outside = payoffs[~inside].max()
    ax.annotate(
        f"margin {one.margin:.2f}: the best outsider would lose by joining",
        (inside.sum(), outside),
        (inside.sum() + 6, value + 0.12 * (value - payoffs.min())),
        arrowprops={"arrowstyle": "->", "color": "0.3"},
    )
    ax.annotate(f"gap {one.gap:.1g}:\nmembers are level", (1, value - 0.35 * (value - payoffs.min())))
    ax.set(
        xlabel="objects, by their payoff",
        ylabel="payoff",
        ylim=(None, value + 0.25 * (value - payoffs.min())),
    )
    ax.legend(loc="lower left")
    save(figure, "certificate")


def main():
    similarity()
    simplex()
    ball()
    scale()
    peeling()
    certificate()


if __name__ == "__main__":
    main()
