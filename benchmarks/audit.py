"""What an audit finds of planted errors, and what it says of clusters without any.

Run ``nice python benchmarks/audit.py --n 300``; it prints a table and writes results/audit.json. A run that
was stopped goes on where it was; ``--afresh`` counts from nothing.

Each data set has 3 to 6 normal groups of different sizes and widths in 2 to 10 dimensions, and the labels
that they were drawn with. The audit reads these labels, and then labels with one planted error: 5% of the
objects have the label of another group; one group is cut in two through its middle; two neighboring groups
have one label. Counted are objects that would move, cuts that are found (the two parts are named as one) and
joins that are found (the cluster is named as two), and the same in the labels without an error: the false
alarms. "best" is the share of the objects that the true densities would move. Objects are also ranked by
urgency: the share of the moved ones that is found if 1% of the others are.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)

from _resumed import go_on  # noqa: E402
from dominantsets import audit  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "audit.json"
SAVED_EVERY = 10
MOVED = 0.05  # share of the objects with a wrong label
DISTANCES = (3.0, 4.5, 6.0)  # between centers, in sums of two widths


class Tally:
    """Counts by the distance of the groups."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.made_ = int(known.get("data_sets", 0))
        self.counts = {name: Counter(known.get("counts", {}).get(name, {})) for name in map(str, DISTANCES)}
        self.errors = list(known.get("errors", []))

    def made(self) -> int:
        return self.made_

    def failed(self, number: int, error: Exception) -> None:
        self.made_ += 1
        self.errors.append(f"{number}: {type(error).__name__}: {error}"[:200])

    def content(self) -> dict[str, Any]:
        counts = {name: dict(counts) for name, counts in self.counts.items()}
        shares = {name: shares_of(one) for name, one in self.counts.items()}
        return {"data_sets": self.made_, "shares": shares, "counts": counts, "errors": self.errors}

    def add(self, content: dict[str, Any]) -> None:
        other = Tally(content)
        self.made_ += other.made_
        self.errors += other.errors
        for name, counts in other.counts.items():
            self.counts[name] += counts

    def show(self) -> None:
        print(json.dumps(self.content()["shares"], indent=1))


def shares_of(counts: Counter[str]) -> dict[str, float]:
    """Found, and false alarms, as shares of what there was."""
    pairs = {
        "moved objects that would move back": ("moved found", "moved"),
        "moved objects found at 1% false alarms": ("moved found at 1%", "moved"),
        "moved objects with their own label suggested": ("moved put right", "moved"),
        "objects that would move without an error": ("false moves", "objects"),
        "the same by the true densities": ("best", "objects"),
        "cuts found": ("cuts found", "cuts"),
        "pairs named as one without an error": ("false pairs", "pairs"),
        "joins found": ("joins found", "joins"),
        "clusters named as two without an error": ("false joins", "clusters"),
        "clusters that are dominant sets": ("dominant", "clusters"),
    }
    return {name: round(counts[a] / counts[b], 4) for name, (a, b) in pairs.items() if counts[b]}


def groups(rng: np.random.Generator, distance: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels, and the labels of the highest true density."""
    count, d = int(rng.integers(3, 7)), int(rng.integers(2, 11))
    widths = rng.uniform(0.6, 1.4, count)
    centers = [np.zeros(d)]
    while len(centers) < count:  # each as far from one of the others as asked, and no nearer to any
        k = int(rng.integers(len(centers)))
        way = rng.normal(size=d)
        one = centers[k] + way / np.linalg.norm(way) * distance * 0.5 * (widths[k] + widths[len(centers)])
        apart = [
            np.linalg.norm(one - c) / (0.5 * (widths[len(centers)] + w))
            for c, w in zip(centers, widths, strict=False)
        ]
        if min(apart) >= distance * (1.0 - 1e-9):
            centers.append(one)
    sizes = rng.integers(40, 120, count)
    y = np.repeat(np.arange(count), sizes)
    X = np.array(centers)[y] + rng.normal(size=(y.size, d)) * widths[y, None]
    squares = np.square(X[:, None] - np.array(centers)).sum(axis=2)
    scores = np.log(sizes) - d * np.log(widths) - 0.5 * squares / widths**2
    return X, y, scores.argmax(axis=1)


def one_data_set(tally: Tally, number: int) -> None:
    rng = np.random.default_rng(number)
    distance = DISTANCES[number % len(DISTANCES)]
    counts = tally.counts[str(distance)]
    X, y, best = groups(rng, distance)
    k, n = int(y.max()) + 1, y.size

    clean = audit(X, y, n_draws=0)
    counts.update({"objects": n, "false moves": clean.moves.size, "best": int((best != y).sum())})
    counts.update(
        {"pairs": len({tuple(sorted(p)) for p in neighbors(X, y)}), "false pairs": len(clean.pairs)}
    )
    counts.update({"clusters": k, "false joins": sum(bool(c.is_two) for c in clean.clusters)})
    counts["dominant"] += sum(c.is_dominant for c in clean.clusters)

    wrong = rng.choice(n, max(1, round(MOVED * n)), replace=False)
    z = y.copy()
    z[wrong] = (y[wrong] + rng.integers(1, k, wrong.size)) % k
    found = audit(X, z, n_draws=0)
    counts["moved"] += wrong.size
    counts["moved found"] += int(np.isin(wrong, found.moves).sum())
    right = np.setdiff1d(np.arange(n), wrong)
    level = np.sort(found.urgency[right])[::-1][max(0, round(0.01 * right.size) - 1)]
    counts["moved found at 1%"] += int((found.urgency[wrong] > level).sum())
    counts["moved put right"] += int((found.suggested[wrong] == y[wrong]).sum())

    one = int(rng.integers(k))
    way = rng.normal(size=X.shape[1])
    side = (X - X[y == one].mean(axis=0)) @ way > 0
    z = np.where((y == one) & side, k, y)
    found = audit(X, z, n_draws=0)
    counts["cuts"] += 1
    counts["cuts found"] += (one, k) in found.pairs

    a, b = neighbors(X, y)[one]
    z = np.where(y == b, a, y)
    found = audit(X, z, n_draws=0)
    counts["joins"] += 1
    counts["joins found"] += next(bool(c.is_two) for c in found.clusters if c.label == a)
    tally.made_ += 1


def neighbors(X: np.ndarray, y: np.ndarray) -> list[tuple[int, int]]:
    """Each group with the one whose center is nearest."""
    centers = np.array([X[y == k].mean(axis=0) for k in range(int(y.max()) + 1)])
    squares = np.square(centers[:, None] - centers).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    return [(k, int(other)) for k, other in enumerate(squares.argmin(axis=1))]


if __name__ == "__main__":
    go_on(__doc__, RESULTS, Tally, one_data_set, n=300, every=SAVED_EVERY)
