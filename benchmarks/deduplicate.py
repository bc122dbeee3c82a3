"""Semantic deduplication of made embeddings: how long, what is missed, and what is dropped wrongly?

Run ``python benchmarks/deduplicate.py [10000 100000 1000000]``; it runs examples/embeddings.py at each size,
prints and writes results/deduplicate.json. Two threads, once compiled. Half of the texts are statements of a
topic (100 topics for a million), a third are copies of any text, changed a little or more, the others are
texts of no topic. A copy is *near* where its similarity to its original is above the example's limit, 0.95.

recall:     of the near copies, the share of which not both, copy and original, are kept.
precision:  of what is dropped, the share with the same original as the text that it is dropped for.
left:       of 2,000 kept texts, how many have another kept one above the limit, among all of them.
exemplars:  how many of the clusters' exemplars are kept.
fit, drop:  seconds of the fit, and of the comparisons and the choice; cpu: of the process, for both, and for
            making the data.
"""

from __future__ import annotations

import json
import resource
import runpy
import sys
import tempfile
import time
from contextlib import chdir
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)

import matplotlib as mpl  # noqa: E402
import numpy as np  # noqa: E402 (after the threads are pinned)

mpl.use("Agg")
HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "embeddings.py"


def ran(size: int) -> dict[str, Any]:
    """The names of the example, run at a size."""
    before = sys.argv
    sys.argv = [str(EXAMPLE), str(size)]
    try:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            return runpy.run_path(str(EXAMPLE))
    finally:
        sys.argv = before


def measured(size: int) -> dict[str, Any]:
    cpu = time.process_time()
    names = ran(size)
    cpu = time.process_time() - cpu
    X, keeps, limit = names["X"], names["keeps"], names["LIMIT"]
    kept = np.flatnonzero(keeps)
    some = np.random.default_rng(1).choice(kept, min(2_000, kept.size), replace=False)
    left = sum(
        int((np.count_nonzero(X[part] @ X[kept].T > limit, axis=1) > 1).sum())
        for part in np.array_split(some, max(1, some.size // 50))
    )
    dropped, for_whom = names["dropped"], names["kept_for"][names["dropped"]]
    shown = np.linspace(0, dropped.size - 1, 5).astype(int)
    return {
        "texts": size,
        "clusters": names["model"].n_clusters_,
        "in no cluster": round(float((names["model"].labels_ < 0).mean()), 3),
        "fit_s": round(names["seconds_to_fit"], 1),
        "drop_s": round(names["seconds_to_drop"], 1),
        "cpu_s": round(cpu, 1),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 1),
        "near copies": int(names["near"].size),
        "dropped": int(dropped.size),
        "recall": round(1.0 - float(names["missed"].mean()), 5),
        "precision": round(1.0 - float(names["wrong"].mean()), 5),
        "left": f"{left} of {some.size}",
        "exemplars": f"{int(keeps[names['model'].exemplars_].sum())} of {names['model'].n_clusters_}",
        "similarity to what is kept: least, median": [
            round(float(number), 4) for number in np.quantile(names["similarity"], [0.0, 0.5])
        ],
        "for example": [
            f"{dropped[i]} for {for_whom[i]}, similarity {names['similarity'][i]:.3f}" for i in shown
        ],
    }


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [10_000, 100_000, 1_000_000]
    ran(3_000)  # compiles
    rows = []
    for size in sizes:
        rows.append(measured(size))
        print(json.dumps(rows[-1], indent=1), flush=True)
        out = {"machine": machine(), "rows": sorted(rows, key=lambda row: row["texts"])}
        (HERE / "results" / "deduplicate.json").write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
