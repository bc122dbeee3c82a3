"""Protein complexes that overlap: how many of the known ones does a set match?

Run ``python benchmarks/overlap.py`` (needs DOMINANTSETS_DATA: Collins' weighted network of 1,622 yeast
proteins, and reference complexes). It prints and writes results/overlap.json. A set C matches a complex R
where |C ∩ R|² / (|C| |R|) is at least 0.25 (Bader and Hogue); counted over the different complexes with at
least three proteins of the network. Methods:

- ``dominant_sets`` at several shifts, by its searches: *tabu* (what it does for graphs), *deflate*, and a
  climb from every protein (*multistart* with unlimited patience), all sets, and those with a Jaccard index of
  at most 0.5 with every better one;
- sets of ``DominantSets``, which do not overlap; label propagation and Louvain's
  method of networkx; Leiden's method, by modularity, where leidenalg is installed.

*Shared*: proteins in more than one set, and the largest number of sets that one protein is in. *Pairs*: pairs
of sets that overlap, and the largest share of the smaller one that is in the other. *Discarded*: sets of
which more than a tenth is in a better one that was kept, which is the paper's rule for the answers of one
pass. Sets of a single protein are left out everywhere. The complexes themselves are the last row.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)

import networkx as nx  # noqa: E402
import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

import _real  # noqa: E402 (after the threads are pinned)
from dominantsets import DominantSets, dominant_sets  # noqa: E402

MATCH, LEAST, PAPER = 0.25, 2, 0.1
SHIFTS = (0.0, 0.5, 1.0, 2.0)


def incidence(sets: Sequence[Any], n: int) -> Any:
    """A row for each set, with ones at its objects."""
    rows = np.repeat(np.arange(len(sets)), [len(one) for one in sets])
    columns = np.concatenate([np.asarray(list(one), dtype=np.int64) for one in sets])
    return sp.csr_array((np.ones(rows.size), (rows, columns)), shape=(len(sets), n))


def scores(sets: Sequence[Any], references: Sequence[Any], n: int) -> dict[str, Any]:
    """Complexes that are matched, sets that match one, and how sets overlap."""
    if not sets:
        return {"sets": 0, "matched": 0}
    S, R = incidence(sets, n), incidence(references, n)
    sizes, known = S.sum(axis=1), R.sum(axis=1)
    match = np.square((S @ R.T).toarray()) >= MATCH * np.outer(sizes, known)
    common = (S @ S.T).toarray()
    np.fill_diagonal(common, 0.0)
    times = S.sum(axis=0)
    return {
        "sets": len(sets),
        "matched": int(match.any(axis=0).sum()),
        "of": len(references),
        "share_of_sets_that_match": round(float(match.any(axis=1).mean()), 3),
        "proteins": int((times > 0).sum()),
        "shared_proteins": int((times > 1).sum()),
        "most_sets_of_a_protein": int(times.max()),
        "overlapping_pairs": int(np.count_nonzero(common) // 2),
        "largest_share_of_the_smaller": round(float((common / np.minimum.outer(sizes, sizes)).max()), 3),
    }


def discarded(sets: Sequence[Any]) -> int:
    """How many sets, best first, the paper's rule leaves out."""
    kept: list[set[int]] = []
    for one in ({int(i) for i in s} for s in sets):
        if all(len(one & other) <= PAPER * len(one) for other in kept):
            kept.append(one)
    return len(sets) - len(kept)


def of_labels(labels: Any) -> list[Any]:
    return [np.flatnonzero(labels == k) for k in np.unique(labels[labels >= 0])]


def methods(A: Any) -> dict[str, Callable[[], list[Any]]]:
    graph = nx.from_scipy_sparse_array(A)
    found: dict[str, Callable[[], list[Any]]] = {}
    for shift in SHIFTS:
        for method in ("tabu", "deflate"):
            found[f"dominant_sets, {method}, shift={shift:g}"] = lambda s=shift, m=method: [
                one.members for one in dominant_sets(A, shift=s, method=m, patience=20, max_time=60)
            ]
        for overlap in (1.0, 0.5):
            name = f"dominant_sets, every start, shift={shift:g}, max_overlap={overlap:g}"
            found[name] = lambda s=shift, o=overlap: [
                one.members
                for one in dominant_sets(
                    A, shift=s, method="multistart", patience=A.shape[0], max_overlap=o, max_time=120
                )
            ]
    found["DominantSets()"] = lambda: of_labels(DominantSets(affinity="precomputed").fit(A).labels_)
    found["DominantSets(shift=1)"] = lambda: of_labels(
        DominantSets(affinity="precomputed", shift=1.0).fit(A).labels_
    )
    found["label propagation"] = lambda: [
        list(c) for c in nx.community.asyn_lpa_communities(graph, weight="weight", seed=0)
    ]
    found["Louvain"] = lambda: [list(c) for c in nx.community.louvain_communities(graph, seed=0)]
    with suppress(ModuleNotFoundError):
        import igraph
        import leidenalg

        upper = sp.triu(A, k=1).tocoo()
        edges = igraph.Graph(A.shape[0], list(zip(upper.row.tolist(), upper.col.tolist(), strict=True)))
        found["Leiden"] = lambda: list(
            leidenalg.find_partition(
                edges, leidenalg.ModularityVertexPartition, weights=upper.data.tolist(), seed=0
            )
        )
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    if not _real.available():
        sys.exit("set DOMINANTSETS_DATA to the folder of real data")
    A, complexes = _real.network()
    references, n = sorted({tuple(sorted(set(c))) for c in complexes}), A.shape[0]
    rows = []
    for name, work in methods(A).items():
        began = time.perf_counter()
        sets = [one for one in work() if len(one) >= LEAST]
        seconds = round(time.perf_counter() - began, 2)
        rows.append({"method": name, **scores(sets, references, n), "seconds": seconds})
        if name.startswith("dominant_sets"):
            rows[-1]["discarded_by_the_papers_rule"] = discarded(sets)
        print(rows[-1], flush=True)
    rows.append({"method": "the complexes themselves", **scores(references, references, n)})
    print(rows[-1])
    path = Path(__file__).parent / "results" / "overlap.json"
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
