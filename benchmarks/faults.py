"""Runs that are killed or interrupted at random instants, memory over many fits, and workers that die.

Run ``python benchmarks/faults.py [PART ...]``; it prints figures and writes each part to results/faults.json.
Parts are these (all, where none is named):

- *kills*: a fit with a checkpoint gets SIGKILL after a time drawn uniformly from the duration of a whole one;
  a second run takes the file up, and must have the labels, weights and gaps of an undisturbed one exactly.
- *fits*, *commands*, *fresh*: SIGINT during fits, during every command in a process that has imported
  everything, and in a new interpreter from where Python calls ``main`` (_interrupts.py).
- *allocations*: memory runs out while files are written and read, and during fits (_allocations.py).
- *memory*: resident memory after each tenth of many fits of several kinds.
- *soak*: fits on two Dask workers, one of which is killed every 20 s; labels must be those of no cluster.

Times are those of the processor from the signal to the end, which do not depend on what else is going on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)
import matplotlib as mpl  # noqa: E402
import numpy as np  # noqa: E402

mpl.use("Agg")
from _interrupts import FITS, GRAPH, X, answer, commands_in, fit, fits, interrupts  # noqa: E402
from _processes import duration, forked, stopped  # noqa: E402
from dominantsets import DominantSetHierarchy, DominantSets  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "faults.json"
EVERY = 20.0  # seconds between two deaths


def kills(count: int, rng: random.Random, folder: Path) -> dict[str, Any]:
    """SIGKILL during a run with a checkpoint."""
    expected = answer(fit("peeling"))
    path, said = folder / "run.npz", folder / "said"

    def work() -> int:
        fit("peeling", checkpoint=str(path))
        return 0

    whole = duration(forked(work), said)
    seen = Counter[str]()
    for _ in range(count):
        path.unlink(missing_ok=True)
        code, _ = stopped(forked(work), said, rng.uniform(0.0, whole), signal.SIGKILL)
        seen["killed" if code < 0 else "had ended"] += 1
        seen["left a file"] += path.exists()
        seen["same answer"] += answer(fit("peeling", checkpoint=str(path))) == expected
        for draft in folder.glob(".run.npz.*"):  # a killed process cannot tidy up
            draft.unlink()
            seen["left a draft"] += 1
    return {"runs": count, **seen}


def during_fits(count: int, rng: random.Random, folder: Path) -> dict[str, Any]:
    return interrupts(fits(folder / "said"), -(-count // len(FITS)), rng, folder / "said")


def during_commands(count: int, rng: random.Random, folder: Path) -> dict[str, Any]:
    return interrupts(commands_in(folder, new=False), -(-count // 7), rng, folder / "said")


def in_new_interpreters(count: int, rng: random.Random, folder: Path) -> dict[str, Any]:
    return interrupts(commands_in(folder, new=True), -(-count // 7), rng, folder / "said")


def without_memory(count: int, rng: random.Random, folder: Path) -> dict[str, Any]:
    from _allocations import allocations  # needs _testcapi, which not every Python has

    return allocations(count, folder)


def memory(count: int, rng: random.Random, folder: Path) -> dict[str, Any]:
    """MiB after each tenth of so many fits."""
    small, graph = X[:60], GRAPH[:60, :60]
    kinds: list[Callable[[], Any]] = [
        lambda: DominantSets(3, affinity="sqeuclidean", shift=50.0).fit(small),
        lambda: DominantSets(affinity="sqeuclidean").fit(small).predict(X[60:70]),
        lambda: DominantSets(3, affinity="laplacian", shift=2.0).fit(small),
        lambda: DominantSets(affinity="path").fit(small),
        lambda: DominantSets(affinity="precomputed").fit(graph),
        lambda: DominantSets(3, affinity="rbf", assign="average").fit(small.astype(np.float32)),
        lambda: DominantSetHierarchy().fit(small),
        lambda: DominantSets(3, affinity="cosine", checkpoint=str(folder / "run.npz"), shift=1.0).fit(small),
        lambda: DominantSets(3, affinity="diffusion").fit(small),
        lambda: DominantSets(3).fit(small),
    ]
    page = resource.getpagesize() / 2**20
    rows = []
    for k in range(count):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kinds[k % len(kinds)]()
        if (k + 1) % max(1, count // 10) == 0:
            resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
            rows.append(round(resident * page, 1))
            print(k + 1, rows[-1], flush=True)
    return {"fits": count, "kinds": len(kinds), "mib": rows}


def soak(seconds: int, rng: random.Random, folder: Path) -> dict[str, Any]:
    """Fits on workers that die."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster
    from distributed.core import Status

    options = {"n_clusters": 8, "affinity": "sqeuclidean", "shift": 50.0}
    expected = DominantSets(**options).fit(X).labels_
    began, seen, over = time.monotonic(), Counter[str](), threading.Event()
    # Dask gives a worker up that has not come back after 15 s, which a busy machine may need
    dask.config.set({"distributed.deploy.lost-worker-timeout": "600s"})
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):

        def kill() -> None:
            while not over.wait(EVERY):
                cluster.scale(2)  # on a busy machine Dask may have given both up
                # Dask gives up a worker that dies before it has started
                alive = [
                    nanny.process for nanny in cluster.workers.values() if nanny.status == Status.running
                ]
                alive = [one for one in alive if one is not None and one.status == Status.running]
                if alive:
                    os.kill(rng.choice(alive).pid, signal.SIGKILL)
                    seen["killed"] += 1

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        while time.monotonic() - began < seconds:
            model = DominantSets(**options).fit(da.from_array(X, chunks=(300, 4)))
            seen["fits"] += 1
            seen["same labels"] += bool((np.asarray(model.labels_) == expected).all())
        over.set()
        killer.join()
    return {"seconds": seconds, **seen}


Part = Callable[[int, random.Random, Path], dict[str, Any]]
PARTS: dict[str, tuple[Part, int]] = {  # and how many
    "kills": (kills, 200),
    "fits": (during_fits, 500),
    "commands": (during_commands, 250),
    "fresh": (in_new_interpreters, 250),
    "allocations": (without_memory, 10_000),
    "memory": (memory, 10_000),
    "soak": (soak, 3_600),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", default=list(PARTS), choices=[*PARTS, []])
    parser.add_argument("--count", type=int, help="of signals, fits or allocations, or seconds of the soak")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    for name in args.part:
        part, count = PARTS[name]
        with tempfile.TemporaryDirectory() as folder:
            row = part(args.count or count, random.Random(args.seed), Path(folder))
        print(name, row)
        known = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
        content = known | {"machine": machine(), name: row}
        args.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
