"""Runs that are killed or interrupted at random instants, and memory over many fits.

Run ``python benchmarks/faults.py [--kills 200] [--interrupts 500] [--fits 10000] [--soak 0] [--seed 0]``; it
prints figures and writes results/faults.json. Every run is a fork of this process, in which all is compiled.

- *kill*: a fit with a checkpoint gets SIGKILL after a time drawn uniformly from the duration of a whole one;
  a second run takes the file up, and must have the labels, weights and gaps of an undisturbed one exactly.
- *interrupt*: the same with SIGINT, of fits (peeling, scales, auto, a graph, paths) and of the command
  ``cluster``. A fit must return with what it has or, before there is anything, raise KeyboardInterrupt; the
  command must end with 130 and no traceback. The time is that of the processor from the signal to the end,
  which does not depend on what else the machine does.
- *memory*: resident memory after each tenth of many fits.
- *soak* (seconds): fits on two Dask workers, one of which is killed every 20 s; labels are compared.
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
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)
import numpy as np  # noqa: E402
from sklearn.datasets import make_blobs  # noqa: E402
from sklearn.neighbors import kneighbors_graph  # noqa: E402

from dominantsets import DominantSets  # noqa: E402

X, _ = make_blobs(1500, centers=8, n_features=4, random_state=0)
GRAPH = kneighbors_graph(X, 10)
GRAPH = GRAPH.maximum(GRAPH.T)
FITS: dict[str, tuple[Any, dict[str, Any]]] = {
    "peeling": (X, {"n_clusters": 8, "affinity": "laplacian", "shift": 2.0}),
    "scales": (X, {"affinity": "sqeuclidean"}),
    "auto": (X[:400], {"n_clusters": 8}),
    "graph": (GRAPH, {"affinity": "precomputed"}),
    "path": (X, {"affinity": "path"}),
}


def fit(name: str, **options: Any) -> DominantSets:
    data, own = FITS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DominantSets(**own, **options).fit(data)


def fork(work: Callable[[], int], folder: Path) -> int:
    """The number of a new process that does the work; its errors go to a file."""
    child = os.fork()
    if child:
        return child
    signal.signal(signal.SIGINT, signal.default_int_handler)
    stream = os.open(folder / "stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(stream, 2)
    os.dup2(stream, 1)
    code = 99
    try:
        code = work()
    except KeyboardInterrupt:
        code = 98
    except SystemExit as done:
        code = int(done.code or 0)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def seconds_of(child: int) -> float:
    """Processor time of a process so far."""
    cells = Path(f"/proc/{child}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")


def stopped(work: Callable[[], int], folder: Path, after: float, number: int) -> tuple[int | None, float]:
    """Send a signal after so much processor time: the exit code (None: killed), and the time to the end."""
    child = fork(work, folder)
    while seconds_of(child) < after and not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        time.sleep(0.002)
    at = seconds_of(child)
    os.kill(child, number)
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return (None if code < 0 else code), max(0.0, usage.ru_utime + usage.ru_stime - at)


def answer(model: DominantSets) -> list[Any]:
    return [
        model.labels_.tolist(),
        *([c.members.tolist(), c.weights.tolist(), c.gap] for c in model.clusters_),
    ]


def duration(work: Callable[[], int], folder: Path) -> float:
    _, status, usage = os.wait4(fork(work, folder), 0)
    assert os.waitstatus_to_exitcode(status) == 0, (folder / "stderr").read_text(encoding="utf-8")
    return usage.ru_utime + usage.ru_stime


def kills(count: int, rng: random.Random, folder: Path) -> dict[str, Any]:
    expected = answer(fit("peeling"))
    path = folder / "run.npz"

    def work() -> int:
        fit("peeling", checkpoint=str(path))
        return 0

    whole = duration(work, folder)
    seen = Counter[str]()
    for _ in range(count):
        path.unlink(missing_ok=True)
        code, _ = stopped(work, folder, rng.uniform(0.0, whole), signal.SIGKILL)
        seen["killed" if code is None else "had ended"] += 1
        seen["left a file"] += path.exists()
        seen["same answer"] += answer(fit("peeling", checkpoint=str(path))) == expected
        for draft in folder.glob(".run.npz.*"):  # a killed process cannot tidy up
            draft.unlink()
            seen["left a draft"] += 1
    return {"runs": count, **seen}


def interrupts(count: int, rng: random.Random, folder: Path) -> dict[str, Any]:
    table, labels = folder / "x.csv", folder / "labels.csv"
    np.savetxt(table, X, delimiter=",")

    def command() -> int:
        from dominantsets.__main__ import main

        arguments = ["cluster", str(table), "--affinity", "laplacian", "--shift", "2", "-k", "8"]
        sys.argv = ["dominantsets", *arguments, "-o", str(labels)]
        main()
        return 0

    def fitting(name: str) -> Callable[[], int]:
        def work() -> int:
            model = fit(name)
            return 0 if model.labels_.shape[0] == FITS[name][0].shape[0] else 97

        return work

    cases = {name: fitting(name) for name in FITS} | {"command": command}
    out = {}
    for name, work in cases.items():
        whole = duration(work, folder)
        seen, slowest, times = Counter[str](), 0.0, []
        words = {0: "returned", 98: "KeyboardInterrupt", 130: "exit code 130", None: "died of the signal"}
        for _ in range(max(1, count // len(cases))):
            code, took = stopped(work, folder, rng.uniform(0.0, whole), signal.SIGINT)
            seen[words.get(code, f"exit code {code}")] += 1
            said = (folder / "stderr").read_text(encoding="utf-8")
            seen["traceback"] += "Traceback" in said
            if "Traceback" in said:
                print(said)
            times.append(took)
            slowest = max(slowest, took)
        median = float(np.median(times))
        out[name] = {
            "whole_s": round(whole, 2),
            **seen,
            "median_s": round(median, 3),
            "slowest_s": round(slowest, 3),
        }
        print(name, out[name])
    return out


def memory(count: int) -> list[float]:
    """MiB after each tenth."""
    rows = []
    small = X[:60]
    page = resource.getpagesize() / 2**20
    for k in range(count):
        DominantSets(3, affinity="sqeuclidean", shift=50.0).fit(small)
        if (k + 1) % max(1, count // 10) == 0:
            resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
            rows.append(round(resident * page, 1))
    return rows


def soak(seconds: float) -> dict[str, Any]:
    import dask.array as da
    from distributed import Client, LocalCluster

    options = {**FITS["peeling"][1], "affinity": "sqeuclidean"}
    expected = DominantSets(**options).fit(X).labels_
    began = last = time.monotonic()
    seen = Counter[str]()
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        while time.monotonic() - began < seconds:
            if time.monotonic() - last > 20:
                worker = random.choice(list(cluster.workers.values()))
                os.kill(worker.process.pid, signal.SIGKILL)
                seen["killed"] += 1
                last = time.monotonic()
            model = DominantSets(**options).fit(da.from_array(X, chunks=(300, 4)))
            seen["fits"] += 1
            seen["same labels"] += bool((np.asarray(model.labels_) == expected).all())
    return {"seconds": round(seconds), **seen}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--interrupts", type=int, default=500)
    parser.add_argument("--fits", type=int, default=10_000)
    parser.add_argument("--soak", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "faults.json")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    for name in FITS:
        fit(name)  # compiles
    content: dict[str, Any] = {"machine": machine()}
    with tempfile.TemporaryDirectory() as folder:
        content["kills"] = kills(args.kills, rng, Path(folder))
        print("kills", content["kills"])
        content["interrupts"] = interrupts(args.interrupts, rng, Path(folder))
    content["memory_mib"] = memory(args.fits)
    print("memory", content["memory_mib"])
    if args.soak:
        content["soak"] = soak(args.soak)
        print("soak", content["soak"])
    args.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
