"""Rules by which ``affinity="auto"`` may take a candidate when the number of clusters is given.

Each candidate is fitted to random sets (``_drawn.py``) and to two parts of each, 70 % of the objects; rules
take one of the candidates without a look at the groups. Even seeds are for choosing, odd ones for reporting.

    python benchmarks/judge.py --seeds 400     # all that build/judge.jsonl lacks, then results/judge.json
    python benchmarks/judge.py --only-rules    # rules again, of what is there
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

if __name__ == "__main__":
    pin_threads(1)
import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from _drawn import draw
from dominantsets import DominantSets
from dominantsets.fitting.separation import conductances, neighbour_graph

HERE = Path(__file__).parent
KEPT, RESULT = HERE.parent / "build" / "judge.jsonl", HERE / "results" / "judge.json"
PART, PARTS = 0.7, 2
LARGEST = 2_000  # objects of a set; of more, a sample
FEW = 10  # features up to which ellipses are a candidate, and above which an embedding is one
BELIEVED, CONFIRMED, APART = 0.5, 0.8, 0.04  # as in dominantsets.fitting.contest

Candidate = dict[str, Any]


def candidates(d: int, k: int) -> dict[str, dict[str, Any] | None]:
    """Affinities with their parameters, in the order of the contest."""
    ways: dict[str, dict[str, Any] | None] = {"sqeuclidean": None, "path": {"min_samples": 5}}
    if d <= FEW:
        ways["ellipses"] = None
    ways["diffusion"] = {"n_components": k}
    return ways if d <= FEW else ways | {"embedding": None}


def judged(seed: int) -> dict[str, Any] | None:
    """All candidates on one set: agreement with the truth (noise is a class), and what rules may look at."""
    family, X, y = draw(seed)
    k, random = len(set(y[y >= 0])), np.random.RandomState(0)
    if k < 2 or len(X) < 4 * k:
        return None
    if len(X) > LARGEST:
        some = np.sort(random.permutation(len(X))[:LARGEST])
        X, y = X[some], y[some]
    parts = [np.sort(random.permutation(len(X))[: int(PART * len(X))]) for _ in range(PARTS)]
    graph = neighbour_graph(X, density=X.shape[1] <= FEW)
    row: dict[str, Any] = {"name": f"{family}#{seed}", "k": k, "noise": float((y < 0).mean()), "c": {}}
    for affinity, params in candidates(X.shape[1], k).items():

        def labels(rows: np.ndarray, noise: str | None) -> np.ndarray:
            model = DominantSets(k, affinity=affinity, affinity_params=params, noise=noise)  # noqa: B023
            return np.asarray(model.fit(rows).labels_)

        try:
            found, plain = labels(X, "auto"), labels(X, None)
            again = [(labels(X[part], "auto"), labels(X[part], None)) for part in parts]
        except ValueError as error:
            row["c"][affinity] = {"error": str(error)}
            continue
        groups = np.unique(plain, return_inverse=True)[1].reshape(-1)
        row["c"][affinity] = {
            "ari": adjusted_rand_score(y, found),
            "ari0": adjusted_rand_score(y, plain),
            "st": [adjusted_rand_score(found[p], one) for p, (one, _) in zip(parts, again, strict=True)],
            "st0": [adjusted_rand_score(plain[p], one) for p, (_, one) in zip(parts, again, strict=True)],
            "noise": float((found < 0).mean()),
            "k": int(groups.max()) + 1,
            "cmv": float(np.log(conductances(graph, groups)).mean()),
        }
    row["auto"] = adjusted_rand_score(y, DominantSets(k).fit(X).labels_)
    row["km"] = adjusted_rand_score(y, KMeans(k, n_init=10, random_state=0).fit_predict(X))
    row["ward"] = adjusted_rand_score(y, AgglomerativeClustering(k).fit_predict(X))
    mixture = GaussianMixture(k, n_init=2, random_state=0, reg_covar=1e-6 * X.var())
    row["gmm"] = adjusted_rand_score(y, mixture.fit_predict(X))
    return row


def says_noise(one: Candidate, least: float) -> bool:
    return one["noise"] > 0.0 and float(np.mean(one["st"][:PARTS])) >= least


def stability(one: Candidate) -> float:
    """Of the labels that a fit returns."""
    plain = one["noise"] > 0.0 and not says_noise(one, BELIEVED)
    return float(np.mean(one["st0" if plain else "st"][:PARTS]))


def agreement(one: Candidate) -> float:
    plain = one["noise"] > 0.0 and not says_noise(one, BELIEVED)
    return float(one["ari0" if plain else "ari"])


def by(score: Callable[[Candidate], float], confirmed: bool = False) -> Callable[[dict[str, Any]], float]:
    """The rule that takes the candidate with the highest score, of those with all clusters."""

    def rule(row: dict[str, Any]) -> float:
        ones = [row["c"][name] for name in row["order"]]
        if confirmed:
            ones = [one for one in ones if says_noise(one, CONFIRMED)] or ones
        return agreement(max(ones, key=lambda one: (one["k"] >= row["k"], round(score(one), 2))))

    return rule


RULES: dict[str, Callable[[dict[str, Any]], float]] = {
    "auto: stability - 0.04 conductance, confirmed background": by(
        lambda one: stability(one) - APART * one["cmv"], confirmed=True
    ),
    "the same without the background": by(lambda one: stability(one) - APART * one["cmv"]),
    "stability alone": by(stability),
    "stability - 0.125 conductance": by(lambda one: stability(one) - 0.125 * one["cmv"]),
    "the lowest conductance": by(lambda one: -0.125 * one["cmv"]),
    "the best by the labels": lambda row: max(agreement(row["c"][name]) for name in row["order"]),
    "KMeans": lambda row: row["km"],
    "Ward": lambda row: row["ward"],
}


def always(name: str) -> Callable[[dict[str, Any]], float]:
    return lambda row: agreement(row["c"].get(name, row["c"]["sqeuclidean"]))


def rules(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means of all rules, by halves of the seeds."""
    every = RULES | {
        f"always {name}": always(name) for name in ("sqeuclidean", "path", "ellipses", "diffusion")
    }
    for row in rows:
        some = {name for name, one in row["c"].items() if "error" not in one and "err" not in one}
        many = "embedding" in row["c"]
        row["order"] = [name for name in candidates(99 if many else 2, 2) if name in some]
    seed = {row["name"]: int(row["name"].split("#")[1]) for row in rows}
    out = {}
    for half, odd in (("chosen on", 0), ("not chosen on", 1)):
        some_rows = [row for row in rows if seed[row["name"]] % 2 == odd]
        noisy = [row for row in some_rows if row["noise"] > 0.0]
        out[half] = {"sets": len(some_rows), "noisy": len(noisy)} | {
            name: [round(float(np.mean([rule(row) for row in part])), 4) for part in (some_rows, noisy)]
            for name, rule in every.items()
        }
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--only-rules", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    KEPT.parent.mkdir(exist_ok=True)
    lines = KEPT.read_text(encoding="utf-8").splitlines() if KEPT.exists() else []
    rows = {row["name"]: row for row in map(json.loads, lines)}
    done = {int(name.split("#")[1]) for name in rows}
    for seed in range(0 if args.only_rules else args.seeds):
        if seed not in done and (row := judged(seed)) is not None:
            rows[row["name"]] = row
            with KEPT.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(
                row["name"],
                {name: round(one.get("ari", np.nan), 2) for name, one in row["c"].items()},
                flush=True,
            )
    found = rules(list(rows.values()))
    for half, row in found.items():
        print(half, row["sets"], "sets,", row["noisy"], "with noise")
        for name, value in row.items():
            if isinstance(value, list):
                print(f"  {name:58} {value[0]:.3f}   in noise {value[1]:.3f}")
    RESULT.write_text(json.dumps({"machine": machine(), **found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
