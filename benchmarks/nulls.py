"""Groups by chance: how many data without structure have, against how many are expected.

Run ``python benchmarks/nulls.py [--seed 0] [--runs 20]``; it prints a table and writes results/nulls.json.
Uniform and Gaussian data of several sizes and dimensions; for each, the mean number of groups with a chance
(:mod:`dominantsets.clusters.evidence`) below a level, by either test, and the share of runs in which
``by_evidence`` finds more than one cluster; and the strongest of the first cuts of a spanning tree
(:mod:`dominantsets.clusters.tree_cut`), plain and with mutual reachability, beside the level that is hardly
to be reached, and the share of runs with a cut; and the conductance of 5 groups that are asked of documents
of one topic, of a sphere and of a cap, by the affinities that are tried there (the mean of its logarithm, as
the choice has it, below which 0.35 lies). The constants of the modules were fitted with seed 0; the
file committed was made with another seed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import numpy as np  # noqa: E402 (after the threads are pinned)

from dominantsets.clusters.modes import LEAST, ModeTree  # noqa: E402
from dominantsets.clusters.selection import DOUBTFUL, by_evidence, groups  # noqa: E402
from dominantsets.clusters.tree_cut import cut_tree  # noqa: E402
from dominantsets.similarity import as_similarity  # noqa: E402
from dominantsets.similarity.located import Coordinates  # noqa: E402
from dominantsets.solvers import Monitor, SolverOptions  # noqa: E402

LEVELS = (0.02, 0.1, 1.0)
DIMENSIONS, SIZES = (1, 2, 3, 5, 10, 30), (150, 500, 2_000)


def row(kind: str, d: int, n: int, runs: int, rng: np.random.Generator) -> dict[str, float | str]:
    """What chance gives in one kind of data."""
    counts, several, dimension = np.zeros(len(LEVELS)), 0, 0.0
    for _ in range(runs):
        X = rng.uniform(size=(n, d)) if kind == "uniform" else rng.normal(size=(n, d))
        tree = ModeTree(Coordinates(X - X.mean(axis=0), np.zeros(n), 1.0), LEAST, Monitor())
        chances = np.array([node.chance for node in groups(tree.nodes(DOUBTFUL))])
        counts += [(chances < np.log(level)).sum() for level in LEVELS]
        several += len(by_evidence(tree)[0]) > 1
        dimension += tree.dimension
    found: dict[str, float | str] = {"kind": kind, "d": d, "n": n, "dimension": round(dimension / runs, 2)}
    for level, count in zip(LEVELS, counts, strict=True):
        found[f"below {level:g}"] = round(float(count) / runs, 3)
    found["more than one"] = round(several / runs, 3)
    return found


def cuts(kind: str, d: int, n: int, runs: int, rng: np.random.Generator) -> dict[str, float | str]:
    """How strong cuts are in one kind of data."""
    out: dict[str, float | str] = {"kind": kind, "d": d, "n": n, "runs": runs}
    for min_samples in (1, 5):
        strongest, levels, several = [], [], 0
        for _ in range(runs):
            X = rng.uniform(size=(n, d)) if kind == "uniform" else rng.normal(size=(n, d))
            S = as_similarity(X, "path", min_samples=min_samples)
            found = cut_tree(S, None, 1, SolverOptions().checked(), Monitor())
            strongest.append(max(found.strengths[:3], default=0.0))
            levels.append(found.least)
            several += len(found.pieces) > 1
        out |= {
            f"strongest, {min_samples}": round(float(np.max(strongest)), 2),
            f"level, {min_samples}": round(float(np.mean(levels)), 2),
            f"cut, {min_samples}": round(several / runs, 3),
        }
    return out


def words(seed: int) -> list[dict[str, float | str]]:
    """How well groups are apart that are asked of directions without structure."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import normalize

    from _words import topics
    from dominantsets.fitting.judge import choose
    from dominantsets.fitting.samples import WordSample

    counts, _ = topics(seed, 1, 0.3, 0.05)
    one = TfidfTransformer().fit_transform(counts)
    rng = np.random.default_rng(seed)
    sets = {
        "one topic": one.tocsr(),
        "one topic, 20 directions": normalize(TruncatedSVD(20, random_state=0).fit_transform(one)),
        "sphere, 20": normalize(rng.normal(size=(1_200, 20))),
        "cap, 64": normalize(rng.normal(size=(1_200, 64)) + 1.0),
    }
    out: list[dict[str, float | str]] = []
    for name, X in sets.items():
        asked = choose(WordSample(X, 5), 5, Monitor()).candidates
        alone = choose(WordSample(X, None), None, Monitor())
        best = min(asked, key=lambda candidate: candidate.separation)
        out.append(
            {
                "data": name,
                "lowest conductance of 5 asked": round(float(np.exp(best.separation)), 2),
                "by": best.affinity,
                "clusters found": max(c.n_clusters for c in alone.candidates),
            }
        )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="write results/nulls.json")
    options = parser.parse_args()
    rng, rows = np.random.default_rng(options.seed), []
    for kind in ("uniform", "gauss"):
        for d in DIMENSIONS:
            for n in SIZES:
                rows.append(
                    row(kind, d, n, max(4, options.runs * 500 // n if n > 500 else options.runs), rng)
                )
                print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    trees = []
    for kind in ("uniform", "gauss"):
        for d in DIMENSIONS:
            for n in SIZES[:2]:
                trees.append(cuts(kind, d, n, options.runs, rng))
                print("  ".join(f"{key} {value}" for key, value in trees[-1].items()), flush=True)
    directions = words(options.seed)
    for line in directions:
        print("  ".join(f"{key} {value}" for key, value in line.items()), flush=True)
    if options.write:
        out = Path(__file__).parent / "results" / "nulls.json"
        out.write_text(
            json.dumps(
                {
                    "machine": machine(),
                    "seed": options.seed,
                    "rows": rows,
                    "cuts": trees,
                    "directions": directions,
                },
                indent=1,
            )
            + "\n"
        )


if __name__ == "__main__":
    main()
