"""The family on DIMACS graphs: the largest clique that each finds, beside the clique number.

Run ``DOMINANTSETS_DATA=... python benchmarks/cliques.py``; it prints a table and writes results/cliques.json.
The shift is -1/2, with which strict maxima are the maximal cliques; only answers that are certified as strict
count, and are checked to be cliques. "pairwise", "inimdyn" and "shrink-expand" start at every node;
"trajectory" and "path-following" have one start, equal weights, a saddle where all degrees are equal.
Milliseconds are those of one run, the mean over the starts.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)

from dominantsets import as_similarity, solve  # noqa: E402

FROM_NODES = ("pairwise", "inimdyn", "shrink-expand")
FROM_EVERYBODY = ("trajectory", "path-following")


def row(name: str, facts: dict[str, Any], bits: Any) -> dict[str, Any]:
    n = facts["n"]
    A = np.zeros((n, n))
    A[np.triu_indices(n, 1)] = np.unpackbits(bits)[: n * (n - 1) // 2]
    A = A + A.T
    S, out = as_similarity(A), {"graph": name, "n": n, "clique_number": facts["omega"]}
    out["degrees_equal"] = bool(np.ptp(A.sum(axis=0)) == 0.0)
    for algorithm in (*FROM_NODES, *FROM_EVERYBODY):
        starts = range(n) if algorithm in FROM_NODES else ["barycenter"]
        solve(S, algorithm=algorithm, shift=-0.5)  # compiled
        begin = time.perf_counter()
        found = [solve(S, algorithm=algorithm, shift=-0.5, start=start) for start in starts]
        taken = 1e3 * (time.perf_counter() - begin) / len(found)
        cliques = [c.members for c in found if c.strict]
        assert all(A[np.ix_(c, c)].sum() == c.size * (c.size - 1) for c in cliques)
        out[algorithm] = max((len(c) for c in cliques), default=0)
        out[f"{algorithm}_strict"] = round(len(cliques) / len(found), 3)
        out[f"{algorithm}_ms"] = round(taken, 2)
    print(out, flush=True)
    return out


def main() -> None:
    folder = Path(os.environ["DOMINANTSETS_DATA"]) / "cliques"
    facts = json.loads((folder / "dimacs.json").read_text(encoding="utf-8"))
    with np.load(folder / "dimacs.npz") as file:
        rows = [row(name, facts[name], file[name]) for name in facts]
    uneven = [r for r in rows if not r["degrees_equal"]]
    share = {
        algorithm: round(float(np.mean([r[algorithm] / r["clique_number"] for r in uneven])), 3)
        for algorithm in (*FROM_NODES, *FROM_EVERYBODY)
    }
    print("mean share of the clique number, graphs whose degrees differ:", share)
    result = {"machine": machine(), "share_of_clique_number": share, "graphs": len(uneven), "rows": rows}
    path = Path(__file__).parent / "results" / "cliques.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
