"""One card: the tests, how fast the batched dual is on it, and whole fits beside k-means.

Run ``python benchmarks/gpu.py [--parts tests,card,a,c,stream,fit,zipf,b] [--scale 1.0] [--device cuda]`` on a
machine with a card; it prints each figure as soon as it is there and writes results/gpu.json after each
part. ``--scale 0.005 --device cpu`` tries the script itself.

card:    name, memory, copy bandwidth (bytes read and written), rates of the products that a pass makes, and
         what it costs to start a kernel, to wait for a number, and to copy a few kilobytes either way.
a:       10,000,000 × 128 float32 (100 planted clusters, 30 % noise), 64 starts, relative gap 1e-5.
c:       n = 1,000,000, d = 20, K = 5 peeled, against the CPU path on the same machine; with the operations
         that torch is asked for (kernels, copies, allocations) and how often the host waits.
stream:  a memmap that is streamed in blocks instead of kept on the card: bytes a second, beside the bus's own
         pinned copy, a plain copy on the host with as many threads, and a Parquet file (pyarrow, Dask).
fit:     1,000,000 × 64, 100 planted clusters, 30 % noise: the default fit, K given and not, beside 64 starts
         at a given shift without labels, and beside k-means.
zipf:    10,000,000 × 64, 300 clusters with sizes by Zipf's law and widths 1 : 4, 30 % noise on a sphere.
b:       50,000,000 × 128 float16, 1,000 planted clusters and 30 % noise: the default fit, beside k-means.

A planted cluster is a unit Gaussian about a centre drawn from a unit Gaussian; noise is a Gaussian with the
covariance of all the planted objects together. In parts a, c and stream the shift is
0.05 · m · (peak - mean similarity), with m the expected size of a cluster; it knows nothing of the labels.
In b a planted cluster counts as found where one returned cluster has at least half of its objects by the
labels, and they are at least half of that cluster; precision is the share of clusters that are such a match.

k-means is plain torch: as many clusters as were planted, 25 rounds from random objects, products in the
features' own precision. Adjusted Rand indices are of all objects, noise as one more class; k-means has none.

Bound: the time in which the features could be read once a sweep (or product) at the measured copy bandwidth.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib.util
import json
import os
import pstats
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(os.cpu_count() or 1)

import numpy as np  # noqa: E402 (after the threads are pinned)
import torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from dominantsets import DominantSets, as_similarity, multistart, parquet_rows, peel  # noqa: E402
from dominantsets.rows import fused, tensor_features  # noqa: E402
from dominantsets.solvers import SolverOptions, make_problem  # noqa: E402
from dominantsets.solvers.monitor import Monitor, Stopwatch  # noqa: E402
from dominantsets.solvers.problem import Point  # noqa: E402

HERE = Path(__file__).parent
PARTS = ("tests", "card", "a", "c", "stream", "fit", "zipf", "b")
SIZE_RULE = 0.05


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(device: torch.device, work: Callable[[], Any], rounds: int = 5) -> tuple[float, Any]:
    """The median time of some rounds after one that does not count."""
    result = work()
    taken = []
    for _ in range(rounds):
        wait(device)
        begin = time.perf_counter()
        result = work()
        wait(device)
        taken.append(time.perf_counter() - begin)
    return float(np.median(taken)), result


def planted(
    n: int, d: int, k: int, noise: float, dtype: torch.dtype, device: torch.device, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Features made on the device, and the planted cluster of each object (-1: noise)."""
    torch.manual_seed(seed)
    centers = torch.randn(k, d, device=device)
    y = torch.randint(k, (n,), device=device, dtype=torch.int32)
    y[torch.rand(n, device=device) < noise] = -1
    X = torch.empty(n, d, dtype=dtype, device=device)
    height = 2**20
    for begin in range(0, n, height):
        mine = y[begin : begin + height].long()
        block = torch.randn(len(mine), d, device=device)
        inside = mine >= 0
        block[inside] += centers[mine[inside]]
        block[~inside] *= 2.0**0.5
        X[begin : begin + height] = block.to(dtype)
    return X, y


def mean_similarity(S: Any) -> float:
    return float(S.formula.total_degree(S.sums)) / (S.n * (S.n - 1.0))


def size_shift(S: Any, m: float) -> float:
    return SIZE_RULE * m * (S.self_similarity - mean_similarity(S))


def copy_seconds(n: int, device: torch.device) -> float:
    a, b = torch.randn(n, device=device), torch.empty(n, device=device)
    return timed(device, lambda: b.copy_(a), 10)[0]


def card(args: argparse.Namespace, device: torch.device) -> dict[str, Any]:
    out: dict[str, Any] = {"torch": torch.__version__}
    n = int(2**30 * min(1.0, args.scale)) or 2**20
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        out |= {
            "name": properties.name,
            "memory_gib": round(properties.total_memory / 2**30, 1),
            "multiprocessors": properties.multi_processor_count,
        }
    out["copy_tb_a_s"] = round(8 * n / copy_seconds(n, device) / 1e12, 3)
    rows, s = max(64, int(2_000_000 * args.scale)), 64
    X, W = torch.randn(rows, 128, device=device), torch.randn(s, 128, device=device)
    for name in ("highest", "high"):
        torch.set_float32_matmul_precision(name)
        seconds, values = timed(device, lambda: W @ X.T)
        out[f"product_float32_{name}_ms"] = round(1e3 * seconds, 3)
    torch.set_float32_matmul_precision("highest")
    seconds, above = timed(device, lambda: values > 25.0)
    out["compare_ms"] = round(1e3 * seconds, 3)
    seconds, _ = timed(device, lambda: torch.nonzero(above.view(-1)))
    out["nonzero_ms"] = round(1e3 * seconds, 3)
    out["nonzero_share"] = float(above.float().mean())
    seconds, _ = timed(device, lambda: W.double() @ X.double().T, 3)
    out["product_float64_ms"] = round(1e3 * seconds, 3)
    out["product_bound_ms"] = round(1e3 * X.numel() * 4 / (out["copy_tb_a_s"] * 1e12), 3)
    J = torch.randn(s, 128, 128, device=device, dtype=torch.float64) * 0.01
    J = J @ J.transpose(1, 2) + 2.0 * torch.eye(128, device=device, dtype=torch.float64)
    seconds, _ = timed(device, lambda: torch.linalg.cholesky_ex(J))
    out["cholesky_64_ms"] = round(1e3 * seconds, 3)
    small, here = torch.zeros(64, device=device), torch.zeros(4096)
    kernels = timed(device, lambda: [small.add_(1.0) for _ in range(1_000)])[0]
    waits = timed(device, lambda: [small[0].item() for _ in range(100)])[0]
    sends = timed(device, lambda: [here.to(device, copy=True) for _ in range(100)])[0]
    out["start_of_a_kernel_us"] = round(1e3 * kernels, 2)
    out["wait_for_a_number_us"] = round(1e4 * waits, 2)
    out["small_copy_us"] = round(1e4 * sends, 2)
    return out


VIEWS = ("view", "expand", "slice", "select", "t", "transpose", "detach", "unsqueeze", "alias", "unbind")
WAITS = ("_local_scalar_dense", "nonzero", "equal")


class Asked(TorchDispatchMode):
    """Counts what torch is asked for, but for views."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = self.waits = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(function.overloadpacket).removeprefix("aten.")
        self.operations += name not in VIEWS
        to_host = name == "_to_copy" and str((kwargs or {}).get("device")) == "cpu"
        self.waits += name in WAITS or to_host
        return function(*args, **(kwargs or {}))


def breakdown(clock: Any) -> dict[str, Any]:
    return {
        "seconds": {
            name: round(value, 4) for name, value in sorted(clock.seconds.items(), key=lambda item: -item[1])
        },
        "counts": dict(clock.counts),
    }


def part_a(args: argparse.Namespace, device: torch.device, bandwidth: float) -> dict[str, Any]:
    n, d, k = max(5_000, int(10_000_000 * args.scale)), 128, 100
    X, _ = planted(n, d, k, 0.3, torch.float32, device)
    begin = time.perf_counter()
    S = as_similarity(X, "sqeuclidean")
    wait(device)
    made_s = time.perf_counter() - begin
    shift = size_shift(S, 0.7 * n / k)
    starts = np.random.default_rng(0).choice(n, args.starts, replace=False)
    points = [Point(np.array([i]), np.ones(1)) for i in starts]
    problem = make_problem(S, shift)
    options = SolverOptions("dual", tol=1e-5, max_iter=1_000)

    def work() -> list[Any]:
        return problem.solve_starts(points, options, Monitor())

    forms = {}
    for fused.FUSED in (False, True):
        forms["fused" if fused.FUSED else "plain"] = timed(device, work, 3)
        print("a", {name: round(pair[0], 4) for name, pair in forms.items()}, flush=True)
    fused.FUSED = forms["fused"][0] <= forms["plain"][0]  # the later parts take the faster one
    seconds, found = forms["fused" if fused.FUSED else "plain"]
    apart = max(
        abs(a.value - b.value) / b.value for a, b in zip(forms["fused"][1], forms["plain"][1], strict=True)
    )
    breakdowns = {}
    chosen = fused.FUSED
    for fused.FUSED in (not chosen, chosen):
        problem.clock = Stopwatch(wanted=True, wait=lambda: wait(device))
        work()
        breakdowns["fused" if fused.FUSED else "plain"] = breakdown(problem.clock)
    bound = problem.clock.counts["sweeps"] * X.numel() * 4 / bandwidth
    return {
        "n": n,
        "starts": len(points),
        "shift": round(shift, 1),
        "similarity_s": round(made_s, 4),
        "seconds": round(seconds, 4),
        "plain_s": round(forms["plain"][0], 4),
        "fused_s": round(forms["fused"][0], 4),
        "fused_used": fused.usable(device),
        "largest_difference_of_values": f"{apart:.1e}",
        "sweeps": problem.clock.counts["sweeps"],
        "bound_s": round(bound, 4),
        "share_of_bandwidth": round(bound / seconds, 3),
        "passes": sorted(c.n_iter for c in found),
        "largest_relative_gap": f"{max(c.relative_gap for c in found):.1e}",
        "converged": sum(c.status.value == "converged" for c in found),
        "strict": sum(c.strict is True for c in found),
        "supports": [int(np.quantile([len(c) for c in found], q)) for q in (0, 0.5, 1)],
        "breakdown": breakdowns,
        "memory_gb": memory(device),
    }


def memory(device: torch.device) -> float | None:
    if device.type != "cuda":
        return None
    peak = torch.cuda.max_memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    return round(peak / 1e9, 2)


def agreement(truth: torch.Tensor, labels: torch.Tensor) -> float:
    """The adjusted Rand index, from the table of both; -1 is one more class."""
    wide = int(labels.max()) + 2
    table = torch.bincount((truth.long() + 1) * wide + labels.long() + 1).double()
    n = float(table.sum())
    rows = torch.zeros(int(truth.max()) + 2, dtype=torch.float64, device=table.device)
    columns = torch.zeros(wide, dtype=torch.float64, device=table.device)
    places = torch.arange(len(table), device=table.device)
    rows.index_add_(0, places // wide, table)
    columns.index_add_(0, places % wide, table)

    def pairs(x: torch.Tensor) -> float:
        return float((x * (x - 1.0)).sum()) / 2.0

    both, a, b = pairs(table), pairs(rows), pairs(columns)
    chance = a * b / (n * (n - 1.0) / 2.0)
    return (both - chance) / (0.5 * (a + b) - chance)


def k_means(X: torch.Tensor, k: int, rounds: int = 25) -> tuple[torch.Tensor, float]:
    """Labels after some rounds from random objects, and the seconds of one round."""
    torch.manual_seed(1)
    centers = X[torch.randint(len(X), (k,), device=X.device)].float()
    labels = torch.empty(len(X), dtype=torch.int64, device=X.device)
    height = max(1, 2**28 // k)
    wait(X.device)
    begin = time.perf_counter()
    for _ in range(rounds):
        sums, counts = torch.zeros_like(centers), torch.zeros(k, device=X.device)
        half = 0.5 * centers.square().sum(1)
        for first in range(0, len(X), height):
            block = X[first : first + height]
            mine = ((block @ centers.to(X.dtype).T).float() - half).argmax(1)
            labels[first : first + height] = mine
            sums.index_add_(0, mine, block.float())
            counts.index_add_(0, mine, torch.ones(len(mine), device=X.device))
        centers = torch.where(counts[:, None] > 0, sums / counts.clamp_min(1.0)[:, None], centers)
    wait(X.device)
    return labels, (time.perf_counter() - begin) / rounds


def scores(y: torch.Tensor, labels: torch.Tensor) -> dict[str, float]:
    noise = y < 0
    return {
        "ari": round(agreement(y, labels), 4),
        "noise_recall": round(float((labels[noise] < 0).float().mean()), 4),
        "noise_precision": round(
            float(noise[labels < 0].float().mean()) if bool((labels < 0).any()) else 0, 4
        ),
    }


def whole_fit(
    args: argparse.Namespace,
    device: torch.device,
    X: torch.Tensor,
    y: torch.Tensor,
    k: int | None,
    times: int = 1,
) -> tuple[Any, dict[str, Any]]:
    """A default fit, timed (the last of several: the first compiles what is new), and what it found."""
    taken = []
    for _ in range(times):
        memory(device)
        wait(device)
        begin = time.perf_counter()
        profile = cProfile.Profile()
        with profile if args.profile else nullcontext():
            model = DominantSets(k, affinity="sqeuclidean").fit(X)
            wait(device)
        taken.append(round(time.perf_counter() - begin, 3))
    if args.profile:
        pstats.Stats(profile).sort_stats("cumtime").print_stats(45)
    labels = torch.from_numpy(model.labels_).to(device)
    row: dict[str, Any] = {
        "seconds": taken[-1],
        "first_s": taken[0],
        "clusters": model.n_clusters_,
        **scores(y, labels),
    }
    row["largest_relative_gap"] = f"{max(c.relative_gap for c in model.clusters_):.1e}"
    row["converged"] = sum(c.status.value == "converged" for c in model.clusters_)
    row["noise"] = model.selection_.noise
    row["memory_gb"] = memory(device)
    print(k, row, flush=True)
    return (model, labels), row


def beside_k_means(X: torch.Tensor, y: torch.Tensor, k: int) -> dict[str, Any]:
    labels, seconds = k_means(X, k)
    row = {"round_s": round(seconds, 4), "seconds": round(25 * seconds, 3), **scores(y, labels)}
    print("k-means", row, flush=True)
    return row


def part_fit(args: argparse.Namespace, device: torch.device, bandwidth: float) -> dict[str, Any]:
    n, d, k = max(20_000, int(1_000_000 * args.scale)), 64, 100
    X, y = planted(n, d, k, 0.3, torch.float32, device)
    rows: dict[str, Any] = {"n": n, "planted": k}

    def given() -> Any:
        S = as_similarity(X, "sqeuclidean")
        run = multistart(S, k, n_starts=64, shift=size_shift(S, 0.7 * n / k), random_state=0)
        return [cluster for found in run for cluster in found.clusters]

    rows["given_s"] = round(timed(device, given, 3)[0], 3)
    rows["given_found"] = len(given())
    DominantSets(k, affinity="sqeuclidean").fit(X)  # compiles
    rows["k_given"] = whole_fit(args, device, X, y, k)[1]
    rows["k_unknown"] = whole_fit(args, device, X, y, None)[1]
    rows["times_given"] = round(rows["k_given"]["seconds"] / rows["given_s"], 2)
    rows["k_means"] = beside_k_means(X, y, k)
    return rows


def part_zipf(args: argparse.Namespace, device: torch.device, bandwidth: float) -> dict[str, Any]:
    n, d, k = max(20_000, int(10_000_000 * args.scale)), 64, max(10, int(300 * min(1.0, 20 * args.scale)))
    torch.manual_seed(0)
    shares = 1.0 / torch.arange(1.0, k + 1.0, device=device)
    widths = 0.25 * 4.0 ** torch.rand(k, device=device)  # from 1 to 4, in units of a quarter
    centers = torch.randn(k, d, device=device)
    y = torch.multinomial(shares, n, replacement=True).int()
    y[torch.rand(n, device=device) < 0.3] = -1
    X = torch.randn(n, d, device=device)
    inside = y >= 0
    mine = y[inside].long()
    X[inside] = centers[mine] + widths[mine, None] * X[inside]
    length = X[inside].norm(dim=1).mean()
    X[~inside] *= (length / X[~inside].norm(dim=1))[:, None]
    rows: dict[str, Any] = {"n": n, "planted": k}
    rows["k_given"] = whole_fit(args, device, X, y, k)[1]
    rows["k_unknown"] = whole_fit(args, device, X, y, None)[1]
    rows["k_means"] = beside_k_means(X, y, k)
    return rows


def part_b(args: argparse.Namespace, device: torch.device, bandwidth: float) -> dict[str, Any]:
    n, d = max(20_000, int(50_000_000 * args.scale)), 128
    k = max(10, int(1_000 * min(1.0, 20 * args.scale)))
    X, y = planted(n, d, k, 0.3, torch.float16, device)
    rows: dict[str, Any] = {"n": n, "planted": k}
    (model, labels), rows["k_given"] = whole_fit(args, device, X, y, k, times=3)
    table = torch.bincount((y.long() + 1) * (k + 1) + labels + 1, minlength=(k + 1) ** 2)
    table = table.view(k + 1, k + 1)[:, 1:].double()
    sizes = torch.bincount(y.long() + 1, minlength=k + 1).double()
    best = table.argmax(0)
    hits = table.amax(0)
    matched = (best > 0) & (hits >= 0.5 * sizes[best]) & (hits >= 0.5 * table.sum(0).clamp_min(1.0))
    rows["recall"] = round(len(torch.unique(best[matched])) / k, 4)
    rows["precision"] = round(float(matched.sum()) / max(1, model.n_clusters_), 4)
    rows["certified_1e-6"] = sum(c.relative_gap <= 1e-6 for c in model.clusters_)
    del model, labels
    rows["k_means"] = beside_k_means(X, y, k)
    rows["rounds_of_k_means"] = round(rows["k_given"]["seconds"] / rows["k_means"]["round_s"], 1)
    rows["bound_s"] = round(X.numel() * 2 / bandwidth, 4)
    return rows


def part_c(args: argparse.Namespace, device: torch.device, bandwidth: float) -> dict[str, Any]:
    n, d = max(5_000, int(1_000_000 * args.scale)), 20
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(5, d))[rng.integers(5, size=n)] + 0.5 * rng.normal(size=(n, d))).astype(np.float32)
    tensor = torch.from_numpy(X).to(device)
    rows: dict[str, Any] = {"n": n, "d": d}
    for kind, shift in (("cosine", 0.01 * n), ("sqeuclidean", None)):

        def run(data: Any, kind: str = kind, shift: float | None = shift) -> Any:
            S = as_similarity(data, kind)
            peeling = peel(S, 5, shift=0.005 * n * S.offset if shift is None else shift)
            return list(peeling), peeling.labels

        gpu_s, (ours, labels) = timed(device, lambda run=run: run(tensor), 3)
        cpu_s, (theirs, cpu_labels) = timed(torch.device("cpu"), lambda run=run: run(X), 3)
        S = as_similarity(tensor, kind)
        peeling = peel(S, 5, shift=0.005 * n * S.offset if shift is None else shift)
        peeling._problem.clock.wanted = True
        list(peeling)
        with Asked() as asked:
            run(tensor)
        passes = sum(c.n_iter for c in ours)
        bound = passes * X.nbytes / bandwidth
        rows[kind] = {
            "device_s": round(gpu_s, 4),
            "cpu_s": round(cpu_s, 4),
            "ratio": round(cpu_s / gpu_s, 2),
            "bound_s": round(bound, 5),
            "share_of_bandwidth": round(bound / gpu_s, 4),
            "operations": asked.operations,
            "waits": asked.waits,
            "us_an_operation": round(1e6 * gpu_s / asked.operations, 1),
            "cpu_threads": os.cpu_count(),
            "passes": [c.n_iter for c in ours],
            "cpu_passes": [c.n_iter for c in theirs],
            "supports": [len(c) for c in ours],
            "same_labels": float((labels == cpu_labels).mean()),
            "largest_relative_gap": f"{max(c.relative_gap for c in ours):.1e}",
            "breakdown": breakdown(peeling._problem.clock),
        }
        print("c", kind, rows[kind], flush=True)
    return rows


def part_stream(args: argparse.Namespace, device: torch.device, bandwidth: float) -> dict[str, Any]:
    """Rows that do not fit the card: bytes a second, beside the bus's own and a host copy's."""
    n, d = max(5_000, int(8_000_000 * args.scale)), 128
    X, _ = planted(n, d, 50, 0.3, torch.float16, device)
    host = X.cpu().numpy()
    gigabytes = X.numel() * 2 / 1e9
    rows: dict[str, Any] = {"gigabytes": round(gigabytes, 2), "rates_gb_a_s": {}}
    rates = rows["rates_gb_a_s"]
    tensor_features.RESIDENT_SHARE = 0.0  # as if the card were full
    with tempfile.TemporaryDirectory() as folder:
        host.tofile(Path(folder) / "X.dat")
        data = np.memmap(Path(folder) / "X.dat", dtype=np.float16, mode="r", shape=(n, d))
        for name, source in (("resident", X), ("streamed", data)):
            S = as_similarity(source, "sqeuclidean", device=None if name == "resident" else device)
            problem = make_problem(S, size_shift(S, 0.7 * n / 50))
            points = [Point(np.array([i]), np.ones(1)) for i in np.random.default_rng(0).choice(n, 16)]
            wait(device)
            begin = time.perf_counter()
            found = problem.solve_starts(points, SolverOptions("dual", tol=1e-5, max_iter=100), Monitor())
            wait(device)
            rows[name] = {
                "seconds": round(time.perf_counter() - begin, 3),
                "sweeps": problem.clock.counts["sweeps"],
                "values": [round(c.value, 3) for c in found][:4],
            }

        def through() -> None:  # all rows, with no work on them
            for _ in S.rows.features.blocks(n):
                pass

        rates["streamed"] = gigabytes / timed(device, through)[0]
        rates["streamed and summed"] = gigabytes / timed(device, lambda: S.rows.ask("survey"))[0]
        if all(importlib.util.find_spec(name) for name in ("dask", "pyarrow")):
            rates["parquet, decoded and summed"] = gigabytes / _parquet_seconds(Path(folder), host, device)
    piece = X[: min(n, 2**20)].cpu()
    piece = piece.pin_memory() if device.type == "cuda" else piece
    seconds = timed(device, lambda: piece.to(device, copy=True))[0]
    rates["bus, one pinned copy"] = piece.numel() * 2 / 1e9 / seconds
    threads = min(tensor_features.READERS, tensor_features.N_THREADS)
    rows["threads"], other = threads, np.empty_like(host)

    def copy(part: slice) -> None:
        np.copyto(other[part], host[part])

    def copies(count: int) -> float:
        parts = [slice(n * k // count, n * (k + 1) // count) for k in range(count)]
        with ThreadPoolExecutor(count) as pool:
            return gigabytes / timed(device, lambda: list(pool.map(copy, parts)))[0]

    rates["host copy, one thread"], rates["host copy, as many threads"] = copies(1), copies(threads)
    rows["rates_gb_a_s"] = {name: round(rate, 2) for name, rate in rates.items()}
    print("stream", rows, flush=True)
    return rows


def _parquet_seconds(folder: Path, host: np.ndarray, device: torch.device) -> float:
    """One pass over the same rows in a Parquet file, as lists of float16, row groups of 64 MB."""
    import pyarrow as pa  # not everywhere where there is a card
    import pyarrow.parquet

    from dominantsets.rows.chunks import InProcess

    vectors = pa.FixedSizeListArray.from_arrays(pa.array(host.ravel()), host.shape[1])
    options = {"compression": "none", "use_dictionary": False, "row_group_size": 2**18}
    pyarrow.parquet.write_table(pa.table({"vector": vectors}), folder / "X.parquet", **options)
    chunks = parquet_rows(folder / "X.parquet").to_delayed().ravel().tolist()
    sizes = [min(2**18, len(host) - begin) for begin in range(0, len(host), 2**18)]
    rows = InProcess(chunks, sizes, host.shape[1], str(device), kept=False)
    return timed(device, lambda: rows.ask("survey"))[0]


def part_tests() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--maxfail=15", "--tb=short", "-m", "",
         "-k", "cuda or fused or replayed",  # what runs on a card
         "tests/facts/rows/test_tensors.py", "tests/units/rows/test_tensors.py",
         "tests/units/solvers/test_tensor_few.py"],
        cwd=HERE.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip
    tail = done.stdout.strip().splitlines()
    if done.returncode:
        print(done.stdout[-9000:], done.stderr[-2000:], flush=True)
    return {"exit": done.returncode, "summary": tail[-1] if tail else done.stderr[-200:]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--starts", type=int, default=64)
    parser.add_argument("--profile", action="store_true", help="print where whole fits spend their time")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "gpu.json")
    args = parser.parse_args()
    device = torch.device(args.device)
    result: dict[str, Any] = {"machine": machine(), "scale": args.scale}
    bandwidth = 4.0e12
    for name in args.parts.split(","):
        begin = time.perf_counter()
        try:
            if name == "tests":
                row: Any = part_tests()
            elif name == "card":
                row = card(args, device)
                bandwidth = row["copy_tb_a_s"] * 1e12
            else:
                work = {
                    "a": part_a, "b": part_b, "c": part_c, "fit": part_fit, "stream": part_stream,
                    "zipf": part_zipf,
                }[name]  # fmt: skip
                row = work(args, device, bandwidth)
        except Exception as error:  # the other parts still run
            traceback.print_exc()
            row = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
        if device.type == "cuda":
            torch.cuda.empty_cache()
        row["part_s"] = round(time.perf_counter() - begin, 1)
        result[name] = row
        print(name, json.dumps(row), flush=True)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
