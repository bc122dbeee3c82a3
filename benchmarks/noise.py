"""Noise around groups of any shape: labels of ours and of HDBSCAN, for shares of noise from 0 to 40%.

Run ``nice python benchmarks/noise.py --seeds 6``; it prints a table and writes results/noise.json.

Families: moons, circles, spirals, random closed curves in 2, 3 and 10 dimensions, round and long normal
groups, and groups with the tails of Student's t with 3 degrees of freedom in 5 and 20 dimensions. Noise
is uniform in the box of the groups, a tenth wider on each side. The adjusted Rand index has noise as a
class of its own.
"found" is the share of the noise with the label -1, "false" the share of the others with it. Rules and
constants were chosen on even seeds; odd seeds are reported apart.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)
from sklearn.datasets import make_circles, make_moons  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402

from _curves import turned  # noqa: E402
from _drawn import places  # noqa: E402
from _methods import METHODS  # noqa: E402
from dominantsets import DominantSets  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "noise.json"
SHARES = (0.0, 0.1, 0.2, 0.4)
N, AROUND = 800, 0.1  # objects of groups; by how much of its width the box is wider on each side


def closed_curves(rng: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Three closed curves, each with two random harmonics, apart from each other."""
    y = np.repeat(range(3), N // 3)
    X, centers = np.empty((y.size, d)), places(rng, 3, d, 3.4)
    for k in range(3):
        t = rng.uniform(0, 2 * np.pi, int((y == k).sum()))
        plane = np.linalg.qr(rng.normal(size=(d, 2)))[0]
        radius = 1 + 0.3 * np.cos(3 * t + rng.uniform(0, 6)) + 0.15 * np.cos(5 * t + rng.uniform(0, 6))
        X[y == k] = centers[k] + turned(t, radius) @ plane.T
    return X + rng.normal(size=X.shape) * 0.06, y


def spirals(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    t, y = np.sqrt(rng.uniform(0.06, 1, N)) * 3 * np.pi, rng.integers(2, size=N)
    return turned(t + y * np.pi, t) + rng.normal(size=(N, 2)) * 0.3, y


def normal(rng: np.random.Generator, d: int, long: bool) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(4, size=N)
    X = rng.normal(size=(N, d))
    if long:
        for k in range(4):
            turn = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.exp(rng.uniform(-1.4, 0.2, size=d))
            X[y == k] = X[y == k] @ turn.T
    return X + places(rng, 4, d, 6.0)[y], y


def tailed(rng: np.random.Generator, d: int, together: bool) -> tuple[np.ndarray, np.ndarray]:
    """Student's t with 3 degrees of freedom: per column, or of the distance from the center."""
    y, df = rng.integers(5, size=N), 3
    X = rng.standard_t(df, size=(N, d))
    if together:
        X = rng.normal(size=(N, d)) / np.sqrt(rng.chisquare(df, size=(N, 1)) / df)
    return X + places(rng, 5, d, 12.0)[y], y


FAMILIES = {
    "moons": lambda rng: make_moons(N, noise=0.06, random_state=int(rng.integers(1e6))),
    "circles": lambda rng: make_circles(N, factor=0.5, noise=0.05, random_state=int(rng.integers(1e6))),
    "spirals": spirals,
    "curves, d = 2": lambda rng: closed_curves(rng, 2),
    "curves, d = 3": lambda rng: closed_curves(rng, 3),
    "curves, d = 10": lambda rng: closed_curves(rng, 10),
    "round, d = 3": lambda rng: normal(rng, 3, False),
    "long, d = 2": lambda rng: normal(rng, 2, True),
    "t columns, d = 5": lambda rng: tailed(rng, 5, False),
    "t columns, d = 20": lambda rng: tailed(rng, 20, False),
    "t, d = 5": lambda rng: tailed(rng, 5, True),
    "t, d = 20": lambda rng: tailed(rng, 20, True),
}


def with_noise(family: str, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels, -1 for noise."""
    rng = np.random.default_rng([seed, list(FAMILIES).index(family)])
    X, y = FAMILIES[family](rng)
    count = round(share / (1 - share) * len(X))
    low, high = np.quantile(X, [0.005, 0.995], axis=0)  # a few far objects must not make the box
    edge = AROUND * (high - low)
    X = np.vstack([X, rng.uniform(low - edge, high + edge, size=(count, X.shape[1]))])
    return X, np.append(y, np.full(count, -1))


def named(affinity: str):
    return lambda X, k: DominantSets(k, affinity=affinity).fit(X).labels_


CONTESTANTS = {
    "DominantSets()": (METHODS["default"].fit, False),
    "DominantSets(k)": (METHODS["default"].fit, True),
    **{f"{a}, k given": (named(a), True) for a in ("path", "diffusion", "sqeuclidean")},
    "HDBSCAN 5": (METHODS["HDBSCAN 5"].fit, False),
    "HDBSCAN 15": (METHODS["HDBSCAN 15"].fit, False),
}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seeds", type=int, default=6)
    arguments.add_argument("--first", type=int, default=0)
    arguments.add_argument("--families", default=",".join(FAMILIES).replace(", d", "; d"))
    arguments.add_argument("--methods", default=None, help="separated by /")
    arguments.add_argument("--out", type=Path, default=RESULTS)
    asked = arguments.parse_args()
    warnings.simplefilter("ignore")
    families = [name.replace(";", ",") for name in asked.families.split(",")]
    methods = asked.methods.split("/") if asked.methods else list(CONTESTANTS)
    figures: dict[tuple[str, float, str, str], list[tuple[float, float, float]]] = defaultdict(list)
    for family in families:
        for share in SHARES:
            for seed in range(asked.first, asked.first + asked.seeds):
                X, y = with_noise(family, share, seed)
                half = "odd seeds" if seed % 2 else "even seeds (chosen on)"
                for method in methods:
                    fit, is_given = CONTESTANTS[method]
                    labels = fit(X, int(y.max()) + 1 if is_given else None)
                    out, noise = labels < 0, y < 0
                    found = float(out[noise].mean()) if noise.any() else float("nan")
                    ari = float(adjusted_rand_score(y, np.where(out, -1, labels)))
                    figures[family, share, method, half].append((ari, found, float(out[~noise].mean())))
            for method in methods:
                both = [
                    f
                    for half in ("even seeds (chosen on)", "odd seeds")
                    for f in figures[family, share, method, half]
                ]
                print(
                    f"{family:18} {share:4.0%} {method:24}",
                    *(f"{v:6.3f}" for v in np.mean(both, axis=0)),
                    flush=True,
                )
    asked.out.write_text(json.dumps(content(figures), indent=1) + "\n", encoding="utf-8")


def content(figures) -> dict:
    """Means: for each half of the seeds the index by family, share and method, and what is labelled noise."""
    out: dict = {"machine": machine(), "shares of noise": SHARES, "columns": ["index", "found", "false"]}
    for half in ("odd seeds", "even seeds (chosen on)"):
        rows: dict = defaultdict(lambda: defaultdict(dict))
        for (family, share, method, which), values in figures.items():
            if which == half:
                means = np.mean(values, axis=0)
                rows[family][f"{share:.0%}"][method] = [
                    None if np.isnan(v) else round(float(v), 3) for v in means
                ]
        out[half] = rows
    return out


if __name__ == "__main__":
    main()
