"""Groups of near copies: a constant, real records, and seconds.

Run ``python benchmarks/deduplicate.py [10000 100000 1000000]``; it writes results/deduplicate.json. One
thread.

chosen:     mean F1 of pairs over made records (_records.py), at several numbers of deviations between chance
            and the boundary; and how many of 6,000 records without a copy are dropped.
febrl:      F1 of pairs on Febrl 1 and 2 (the folder that DOMINANTSETS_DATA names), on which nothing was
            chosen: from features at several starts, and from graphs of trigram cosines above a threshold,
            with connected components of the same graph beside them.
embeddings: made rows of 384 numbers, a third of them copies; seconds of CPU, and the most memory of the
            process over that of the data.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)
import scipy.sparse as sp  # noqa: E402
from scipy.sparse.csgraph import connected_components  # noqa: E402
from sklearn.preprocessing import normalize  # noqa: E402

import dominantsets.deduplication as module  # noqa: E402
from _records import embeddings, records  # noqa: E402
from dominantsets import deduplicate  # noqa: E402

OUT = Path(__file__).parent / "results" / "deduplicate.json"
MADE = [  # records, share of persons with copies, most copies, most errors, words
    (1_000, 1.0, 1, 3, 300),
    (3_000, 0.3, 4, 3, 1_000),
    (3_000, 0.3, 2, 6, 300),
    (3_000, 0.1, 2, 4, 300),
    (3_000, 0.1, 1, 10, 1_000),
    (2_000, 0.01, 1, 4, 300),
    (2_000, 0.03, 2, 3, 100),
]
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7)


def scores(labels: Any, truth: Any) -> dict[str, float]:
    """Precision, recall and F1 of pairs; label -1 is a group of one."""
    labels = np.where(labels < 0, labels.max() + 1 + np.arange(labels.size), labels)
    both = sp.coo_array((np.ones(labels.size), (labels, truth))).tocsr().data
    pairs, found, true = (
        float((sizes * (sizes - 1.0)).sum()) for sizes in (both, np.bincount(labels), np.bincount(truth))
    )
    numbers = {"f1": 2.0 * pairs / (found + true), "precision": pairs / max(found, 1), "recall": pairs / true}
    return {name: round(number, 4) for name, number in numbers.items()}


def chosen() -> list[dict[str, Any]]:
    rows, usual = [], module.DEVIATIONS
    made = [records(*how, seed=k) for k, how in enumerate(MADE)]
    alone = [records(2_000, 0.0, 1, 1, words, seed=words)[0] for words in (100, 300, 1_000)]
    for deviations in (4.0, 5.0, 6.0, 7.0, 8.0):
        module.DEVIATIONS = deviations
        found = [scores(deduplicate(texts).labels, persons) for texts, persons in made]
        dropped = sum(len(texts) - deduplicate(texts).kept.size for texts in alone)
        means = {name: round(float(np.mean([row[name] for row in found])), 4) for name in found[0]}
        rows.append({"deviations": deviations, **means, "dropped without copies": dropped})
    module.DEVIATIONS = usual
    return rows


def febrl(folder: Path) -> list[dict[str, Any]]:
    rows = []
    for k in (1, 2):
        with np.load(folder / "duplicates" / f"febrl_dataset{k}.npz", allow_pickle=False) as data:
            X = sp.csr_array((data["data"], data["indices"], data["indptr"]), shape=tuple(data["shape"]))
            persons = np.unique(data["y"], return_inverse=True)[1]
        for start in THRESHOLDS:
            found = deduplicate(X, start=start)
            rows.append(
                {
                    "set": k,
                    "start": start,
                    "boundary": round(found.boundary, 3),
                    **scores(found.labels, persons),
                }
            )
        unit = normalize(X.astype(float))
        for threshold in THRESHOLDS:
            graph = sp.csr_array(unit @ unit.T)
            graph.data = np.where(graph.data < threshold, 0.0, np.minimum(graph.data, 1.0))
            graph.eliminate_zeros()
            linked = scores(connected_components(graph, directed=False)[1], persons)["f1"]
            ours = scores(deduplicate(graph, "precomputed").labels, persons)["f1"]
            rows.append({"set": k, "graph above": threshold, "f1": ours, "components f1": linked})
    return rows


def measured(size: int) -> dict[str, Any]:
    X, origin = embeddings(size, 384)
    cpu = time.process_time()
    found = deduplicate(X)
    cpu = time.process_time() - cpu
    return {
        "rows": size,
        "cpu_s": round(cpu, 1),
        "peak over data": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / X.nbytes, 2),
        "groups": len(found.groups),
        "dropped": size - found.kept.size,
        **scores(found.labels, origin),
    }


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [10_000, 100_000, 1_000_000]
    deduplicate(np.eye(5))
    out: dict[str, Any] = {"machine": machine(), "embeddings": [measured(size) for size in sizes]}
    out["chosen"] = chosen()
    if "DOMINANTSETS_DATA" in os.environ:
        out["febrl"] = febrl(Path(os.environ["DOMINANTSETS_DATA"]))
    OUT.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
    for part in ("chosen", "febrl", "embeddings"):
        for row in out.get(part, []):
            sys.stdout.write(f"{part}: {row}\n")


if __name__ == "__main__":
    main()
