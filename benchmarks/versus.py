"""Is this commit as fast as an old one? Both in one run, in turns.

Run ``python benchmarks/versus.py --old ../old [--cases 'small*' 'fit*'] [--repeats 11] [--threads 2]``; it
prints a table and writes results/versus.json. With ``--device cuda`` (or cpu, with ``--scale 0.002``, to try
it) the cases of benchmarks/gpu.py run on torch tensors instead, and results/versus_cuda.json is written.
``--list`` names the cases. It needs NumPy, SciPy, scikit-learn and Numba; cases that need Dask or torch are
left out where those are missing.

Each checkout has one process, which stays; the pieces of work are those of the other benchmarks. The two take
turns (old, new, new, old, ...), so that a slow phase of the machine meets both, with the same number of
threads. Data are made, and each piece of work is done twice, before the clock starts; short work is repeated
within a measurement. *ratio* is best of old over best of new: above 1, this commit is the faster one; below
0.95 is too slow. A case whose ratio is further from 1 than that, either way, is measured up to twice again,
and all measurements count. *of CPU* is the ratio of processor time (of all threads), which other work on the
machine disturbs less. *same* says whether both found the same labels, or clusters of the same sizes.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import statistics
import subprocess
import sys
import time
import warnings
import zlib
from collections.abc import Callable
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads
from _pair import HERE, checkouts, commit, environment, parser, require

WANTED = 0.95
SHORT = 0.1  # seconds that a measurement should take at least
ROUNDS = 3  # at most, where the ratio is far from 1
CASE_SECONDS = 60.0  # a case takes fewer repetitions rather than longer, but 3 at least in a round
Work = Callable[[], Any]


class Case(NamedTuple):
    """A piece of work: ``make(options)`` prepares it and returns what is timed."""

    name: str
    make: Callable[[argparse.Namespace], Work]
    needs: str | None
    device: bool


CASES: dict[str, Case] = {}


def case(name: str, /, *, needs: str | None = None, device: bool = False, **fixed: Any) -> Any:
    """Register a function under a name, with some arguments fixed."""

    def register(function: Callable[..., Work]) -> Callable[..., Work]:
        CASES[name] = Case(name, lambda options: function(options, **fixed), needs, device)
        return function

    return register


def sizes(clusters: Any) -> list[int]:
    return [len(cluster) for cluster in clusters]


def mark(labels: Any) -> int:
    """A number that is the same for the same labels."""
    import numpy as np

    plain = labels.compute() if hasattr(labels, "compute") else labels
    return zlib.crc32(np.ascontiguousarray(plain, dtype=np.int64).tobytes())


# data ---------------------------------------------------------------------------------------------------


def classes(n: int, d: int = 20, k: int = 5, spread: float = 0.5) -> Any:
    """Rows of k Gaussian classes."""
    import numpy as np

    rng = np.random.default_rng(0)
    centers = rng.normal(size=(k, d))
    X = np.empty((n, d))
    for begin in range(0, n, 10**6):
        part = X[begin : begin + 10**6]
        part[:] = centers[rng.integers(k, size=len(part))] + spread * rng.normal(size=part.shape)
    return X


def plane(n: int) -> Any:
    """Five classes in the plane, well separated."""
    import numpy as np

    rng = np.random.default_rng(0)
    centers = 8.0 * np.array([(0, 0), (1, 0), (0, 1), (1, 1), (2, 0.5)])
    return centers[rng.integers(5, size=n)] + rng.normal(size=(n, 2))


def bound(X: Any) -> float:
    """The constant M that makes M - D² positive."""
    import numpy as np

    center = X.mean(axis=0)
    return 4.0 * float(
        max(np.square(X[i : i + 10**5] - center).sum(axis=1).max() for i in range(0, len(X), 10**5))
    )


def gaussian_matrix(n: int, spread: float, d: int = 20) -> Any:
    """A dense similarity of blobs: exp(-D² / median D²)."""
    import numpy as np
    from sklearn.datasets import make_blobs
    from sklearn.metrics import pairwise_distances

    X, _ = make_blobs(n, centers=5, n_features=d, random_state=0, cluster_std=spread)
    A = pairwise_distances(X, metric="sqeuclidean")
    A *= -1.0 / np.median(A[:1_000, :1_000])
    np.exp(A, out=A)
    np.fill_diagonal(A, 0.0)
    return np.maximum(A, A.T)


def documents(n: int, words: int = 10_000, k: int = 5) -> Any:
    """Sparse rows as of tf-idf: some 60 words each, half of them of the document's topic."""
    import numpy as np
    import scipy.sparse as sp

    rng, length = np.random.default_rng(0), 60
    topic = rng.integers(k, size=(n, 1))
    common = (words * rng.random((n, length)) ** 3).astype(int)
    own = topic * (words // k) + (words // k * rng.random((n, length)) ** 2).astype(int)
    columns = np.where(rng.random((n, length)) < 0.5, own, common).ravel()
    rows = np.repeat(np.arange(n), length)
    X = sp.csr_array(sp.coo_array((rng.exponential(size=n * length), (rows, columns)), shape=(n, words)))
    X.sum_duplicates()
    return X


def known(name: str) -> Any:
    """A data set that comes with scikit-learn."""
    from sklearn import datasets

    return getattr(datasets, f"load_{name}")().data


# the rules, as in iteration.py ----------------------------------------------------------------------------


@case("iteration fw 500", rule="fw", n=500)
@case("iteration pairwise 500", rule="pairwise", n=500)
@case("iteration away 500", rule="away", n=500)
@case("iteration fw 2,000", rule="fw", n=2_000)
@case("iteration pairwise 2,000", rule="pairwise", n=2_000)
@case("iteration away 2,000", rule="away", n=2_000)
def iteration(_: Any, rule: str, n: int) -> Work:
    from dominantsets import as_similarity, solve

    S = as_similarity(as_similarity(classes(n, spread=0.8), "cosine").toarray())
    options = {"algorithm": rule, "start": 0, "shift": 15.0, "tol": 0.0, "max_iter": 2_000}
    return lambda: len(solve(S, **options))


@case("iteration replicator 2,000")
def replicator(_: Any) -> Work:
    from dominantsets import as_similarity, solve

    S = as_similarity(as_similarity(classes(2_000, spread=0.8), "cosine").toarray())
    options = {"algorithm": "replicator", "start": "barycenter", "shift": 15.0, "tol": 0.0, "max_iter": 60}
    return lambda: len(solve(S, **options))


# many objects, as in scale.py -----------------------------------------------------------------------------


@case("scale cosine 100,000 × 20, shift 0.01 n", n=10**5, share=0.01)
@case("scale cosine 100,000 × 20, shift 30", n=10**5, share=3e-4)
@case("scale cosine 1,000,000 × 20, shift 0.01 n", n=10**6, share=0.01)
@case("scale cosine 100,000 × 20 float32", n=10**5, share=0.01, dtype="float32")
def scale_cosine(_: Any, n: int, share: float, dtype: str = "float64") -> Work:
    from dominantsets import as_similarity, peel

    X = classes(n).astype(dtype)
    return lambda: sizes(peel(as_similarity(X, "cosine"), 5, shift=share * n))


@case("scale sqeuclidean 10,000 × 20", n=10**4)
@case("scale sqeuclidean 100,000 × 20", n=10**5)
@case("scale sqeuclidean 1,000,000 × 20", n=10**6)
@case("scale sqeuclidean in the plane 100,000", n=10**5, flat=True)
@case("scale sqeuclidean in the plane 1,000,000", n=10**6, flat=True)
def scale_sqeuclidean(_: Any, n: int, flat: bool = False) -> Work:
    from dominantsets import as_similarity, peel

    X = plane(n) if flat else classes(n)
    shift = 0.005 * n * bound(X)
    return lambda: sizes(peel(as_similarity(X, "sqeuclidean"), 5, shift=shift))


@case("scale documents 20,000 × 10,000 CSR, cosine")
def scale_documents(_: Any) -> Work:
    from dominantsets import as_similarity, peel

    X = documents(20_000)
    return lambda: sizes(peel(as_similarity(X, "cosine"), 5, shift=0.01 * X.shape[0]))


@case("scale dense 10,000, auto", algorithm="auto", share=1.0)
@case("scale dense 10,000, working set", algorithm="working-set", share=1.0)
@case("scale dense 10,000, working set, large supports", algorithm="working-set", share=40.0)
def scale_dense(_: Any, algorithm: str, share: float) -> Work:
    from dominantsets import as_similarity, peel

    A = gaussian_matrix(10_000, 4.0)
    S, shift = as_similarity(A), share * float(A.mean())
    return lambda: sizes(peel(S, 5, shift=shift, algorithm=algorithm))


@case("scale dense 10,000, input checks")
def scale_checks(_: Any) -> Work:
    from dominantsets import as_similarity

    A = gaussian_matrix(10_000, 4.0)
    return lambda: as_similarity(A).n


@case("scale graph 100,000 nodes, 1,000 clusters")
def scale_graph(options: Any) -> Work:
    import numpy as np

    from dominantsets import as_similarity, peel

    X = np.sqrt(10**5) * np.random.default_rng(0).random((10**5, 2))
    S = as_similarity(X, "nearest_neighbors", n_neighbors=15, n_jobs=options.threads)
    return lambda: sum(sizes(peel(S, 1_000)))


@case("scale rbf 50,000 × 32", affinity="rbf")
@case("scale laplacian 50,000 × 32", affinity="laplacian")
def scale_kernel(_: Any, affinity: str) -> Work:
    from sklearn.datasets import make_blobs

    from dominantsets import as_similarity, peel

    X, _ = make_blobs(50_000, centers=20, n_features=32, random_state=0, cluster_std=2.0)
    gamma = {"rbf": 1.0 / 1_500, "laplacian": 1.0 / 150}[affinity]
    return lambda: sizes(peel(as_similarity(X, affinity, gamma=gamma), 3, shift=0.4))


# small data -----------------------------------------------------------------------------------------------


@case("small iris, peeled", name="iris", k=3)
@case("small wine, peeled", name="wine", k=3)
@case("small digits, peeled", name="digits", k=10)
@case("small digits, peeled, pairwise", name="digits", k=10, algorithm="pairwise")
@case("small digits, peeled, cosine", name="digits", k=10, affinity="cosine")
def small(_: Any, name: str, k: int, affinity: str = "sqeuclidean", algorithm: str = "auto") -> Work:
    from dominantsets import as_similarity, peel

    X = known(name)
    shift = 0.05 / k * len(X) * (bound(X) / 4.0 if affinity == "sqeuclidean" else 1.0)
    return lambda: sizes(peel(as_similarity(X, affinity), k, shift=shift, algorithm=algorithm))


@case("small iris, default fit", name="iris", k=3)
@case("small wine, default fit", name="wine", k=3)
@case("small digits, default fit", name="digits", k=10)
@case("small digits, number of clusters not given", name="digits", k=None)
@case("small digits, path", name="digits", k=10, affinity="path")
@case("small digits, diffusion", name="digits", k=10, affinity="diffusion")
@case("small digits, nearest neighbours", name="digits", k=10, affinity="nearest_neighbors")
@case("small wine, rbf", name="wine", k=3, affinity="rbf")
def small_fit(_: Any, name: str, k: int | None, affinity: str = "sqeuclidean") -> Work:
    from dominantsets import DominantSets

    X = known(name)
    return lambda: mark(DominantSets(k, affinity=affinity).fit(X).labels_)


# many starts, as in multistart.py -------------------------------------------------------------------------


@case("multistart K = 16, uniform", sampling="uniform")
@case("multistart K = 16, dpp", sampling="dpp")
@case("multistart K = 16, plain peeling", sampling=None)
def starts(_: Any, sampling: str | None) -> Work:
    from sklearn.datasets import make_blobs

    from dominantsets import as_similarity, multistart, peel

    k = 16
    X, _ = make_blobs(20_000, centers=k, n_features=10, cluster_std=1.0, random_state=0)
    S, shift = as_similarity(X, "sqeuclidean"), 0.05 / k * len(X) * bound(X) / 4
    if sampling is None:
        return lambda: sizes(peel(S, k, shift=shift))
    options = {"n_starts": 2 * k, "sampling": sampling, "shift": shift, "random_state": 0}
    return lambda: [size for found in multistart(S, k, **options) for size in sizes(found.clusters)]


@case("multistart dense 3,000, 32 starts on threads")
def starts_on_threads(options: Any) -> Work:
    from dominantsets import as_similarity, multistart

    S = as_similarity(gaussian_matrix(3_000, 1.0, 10))
    fixed = {
        "n_starts": 32, "shift": 20.0, "algorithm": "pairwise", "start": "barycenter", "random_state": 0,
        "n_jobs": options.threads, "tol": 0.0, "max_iter": 3_000,
    }  # fmt: skip
    return lambda: sizes(next(multistart(S, **fixed)).clusters)


# whole fits -----------------------------------------------------------------------------------------------


@case("fit 1,000 × 20", n=10**3)
@case("fit 10,000 × 20", n=10**4)
@case("fit 100,000 × 20", n=10**5)
@case("fit 100,000 × 20 float32", n=10**5, dtype="float32")
@case("fit 1,000,000 × 20", n=10**6)
@case("fit 100,000 × 20, cores only", n=10**5, assign=None)
@case("fit 100,000 × 20, cosine", n=10**5, affinity="cosine")
@case("fit 10,000 × 20, rbf", n=10**4, affinity="rbf")
@case("fit 10,000 × 20, average", n=10**4, assign="average")
def whole_fit(_: Any, n: int, dtype: str = "float64", **options: Any) -> Work:
    from dominantsets import DominantSets

    X = classes(n).astype(dtype)
    return lambda: mark(DominantSets(5, **options).fit(X).labels_)


@case("fit Dask array in this process 100,000 × 20", needs="dask")
def dask_fit(_: Any) -> Work:
    import dask.array as da

    from dominantsets import DominantSets

    X = da.from_array(classes(10**5), chunks=(25_000, 20))
    return lambda: mark(DominantSets(5, affinity="sqeuclidean").fit(X).core_labels_)


@case("fit Dask array in this process 10,000 × 20", needs="dask")
def small_dask_fit(_: Any) -> Work:
    import dask.array as da

    from dominantsets import DominantSets

    X = da.from_array(classes(10**4), chunks=(2_500, 20))
    return lambda: mark(DominantSets(5, affinity="sqeuclidean").fit(X).labels_)


@case("fit dense matrix 2,000")
def matrix_fit(_: Any) -> Work:
    from dominantsets import DominantSets

    A = gaussian_matrix(2_000, 4.0)
    return lambda: mark(DominantSets(5, affinity="precomputed").fit(A).labels_)


@case("fit moons 5,000, path")
def path_fit(_: Any) -> Work:
    from sklearn.datasets import make_moons

    from dominantsets import DominantSets

    X, _ = make_moons(5_000, noise=0.06, random_state=0)
    return lambda: mark(DominantSets(2, affinity="path").fit(X).labels_)


@case("fit graph 20,000 nodes")
def graph_fit(_: Any) -> Work:
    import scipy.sparse as sp
    from sklearn.neighbors import kneighbors_graph

    from dominantsets import DominantSets

    G = kneighbors_graph(classes(20_000, 5), 15)
    A = sp.csr_array(0.5 * (G + G.T))
    return lambda: mark(DominantSets(5, affinity="precomputed").fit(A).labels_)


@case("predict 10,000 of 100,000 × 20", n=10**4)
@case("predict one of 100,000 × 20", n=1)
def predict(_: Any, n: int) -> Work:
    from dominantsets import DominantSets

    X = classes(10**5)
    model = DominantSets(5, affinity="sqeuclidean").fit(X)
    new = X[:n] + 0.01
    return lambda: mark(model.predict(new))


@case("hierarchy of 500 × 5")
def tree(_: Any) -> Work:
    from dominantsets import DominantSetHierarchy

    X = classes(500, 5)
    return lambda: mark(DominantSetHierarchy(3).fit(X).labels_)


@case("import dominantsets")
def importing(_: Any) -> Work:
    return lambda: subprocess.run([sys.executable, "-c", "import dominantsets"], check=True).returncode


# tensors, as in gpu.py ------------------------------------------------------------------------------------


def tensor(options: Any, X: Any, dtype: str = "float32") -> Any:
    import torch

    return torch.from_numpy(X).to(getattr(torch, dtype)).to(options.device)


def scaled(options: Any, n: int) -> int:
    return max(1_000, int(n * options.scale))


@case("device cosine 1,000,000 × 20, peeled", needs="torch", device=True, affinity="cosine")
@case("device sqeuclidean 1,000,000 × 20, peeled", needs="torch", device=True, affinity="sqeuclidean")
def device_peel(options: Any, affinity: str) -> Work:
    from dominantsets import as_similarity, peel

    n = scaled(options, 10**6)
    X = classes(n)
    shift = 0.01 * n if affinity == "cosine" else 0.005 * n * bound(X)
    data = tensor(options, X)
    return lambda: sizes(peel(as_similarity(data, affinity), 5, shift=shift))


@case("device 10,000,000 × 128, 64 starts", needs="torch", device=True, n=10**7, dtype="float32")
@case("device 10,000,000 × 128 float16, 64 starts", needs="torch", device=True, n=10**7, dtype="float16")
@case("device 1,000,000 × 128, 64 starts", needs="torch", device=True, n=10**6, dtype="float32")
@case(
    "device 1,000,000 × 128, 16 starts by a DPP",
    needs="torch",
    device=True,
    n=10**6,
    dtype="float32",
    sampling="dpp",
)
def device_starts(options: Any, n: int, dtype: str, sampling: str = "uniform") -> Work:
    import torch

    from dominantsets import as_similarity, multistart

    n, d, k = scaled(options, n), 128, 100
    X = planted(n, d, k, 0.3, getattr(torch, dtype), torch.device(options.device))
    S = as_similarity(X, "sqeuclidean")
    apart = 2.0 * float(X.var(dim=0, correction=0).sum()) if dtype == "float32" else 4.0 * d
    shift = 0.05 * 0.7 * n / k * apart
    count = 64 if sampling == "uniform" else 16
    fixed = {"n_starts": count, "sampling": sampling, "shift": shift, "tol": 1e-5, "random_state": 0}
    return lambda: sizes(next(multistart(S, **fixed)).clusters)


def planted(n: int, d: int, k: int, noise: float, dtype: Any, device: Any) -> Any:
    """Unit Gaussians about k centres, and noise, made on the device."""
    import torch

    torch.manual_seed(0)
    centers = torch.randn(k, d, device=device)
    y = torch.randint(k, (n,), device=device, dtype=torch.int32)
    y[torch.rand(n, device=device) < noise] = -1
    X = torch.empty(n, d, dtype=dtype, device=device)
    for begin in range(0, n, 2**20):
        mine = y[begin : begin + 2**20].long()
        block = torch.randn(len(mine), d, device=device)
        inside = mine >= 0
        block[inside] += centers[mine[inside]]
        block[~inside] *= 2.0**0.5
        X[begin : begin + 2**20] = block.to(dtype)
    return X


@case("device fit 100,000 × 20", needs="torch", device=True, n=10**5)
@case("device fit 1,000,000 × 20", needs="torch", device=True, n=10**6)
@case("device fit 100,000 × 20, rbf", needs="torch", device=True, n=10**5, affinity="rbf")
def device_fit(options: Any, n: int, **more: Any) -> Work:
    from dominantsets import DominantSets

    X = tensor(options, classes(scaled(options, n)))
    return lambda: mark(DominantSets(5, **more).fit(X).labels_)


@case("device predict 10,000 of 1,000,000 × 20", needs="torch", device=True)
def device_predict(options: Any) -> Work:
    from dominantsets import DominantSets

    X = tensor(options, classes(scaled(options, 10**6)))
    model, new = DominantSets(5, affinity="sqeuclidean").fit(X), X[:10_000] + 0.01
    return lambda: mark(model.predict(new))


# the two processes ----------------------------------------------------------------------------------------


def settled(options: argparse.Namespace) -> None:
    """Wait for the device."""
    if options.device and options.device.startswith("cuda"):
        import torch

        torch.cuda.synchronize()


def serve(options: argparse.Namespace) -> None:
    """The work of a child process: prepare, run and forget cases as it is told."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what anybody prints is not an answer
    warnings.simplefilter("ignore")
    require(options.old)
    work: Work | None = None
    for line in sys.stdin:
        order, value = json.loads(line)
        told: Any = None
        try:
            if order == "prepare":
                work = CASES[value].make(options)
            elif order == "run":
                assert work is not None
                settled(options)
                begin, busy = time.perf_counter(), time.process_time()
                for _ in range(value):
                    found = work()
                settled(options)
                seconds, busy = time.perf_counter() - begin, time.process_time() - busy
                told = {"seconds": seconds / value, "cpu": busy / value, "found": repr(found)}
            else:
                work = found = None  # what they hold is freed
                gc.collect()
                if options.device and options.device.startswith("cuda"):
                    import torch

                    torch.cuda.empty_cache()
        except Exception as error:
            told = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        answers.write(json.dumps(told) + "\n")
        answers.flush()


class FailedError(Exception):
    """A case that raised in one of the processes."""


class Worker:
    """A process that works for a checkout."""

    def __init__(self, name: str, root: Path, args: argparse.Namespace) -> None:
        words = [sys.executable, __file__, "--serve", "--old", str(root), "--threads", str(args.threads)]
        words += ["--scale", str(args.scale), *(["--device", args.device] if args.device else [])]
        self.name = name
        self._child = subprocess.Popen(
            words,
            env=environment(root, args.threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, order: str, value: Any = None) -> Any:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(json.dumps([order, value]) + "\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            raise SystemExit(f"the process of the {self.name} checkout has ended.") from None
        line = self._child.stdout.readline()
        if not line:
            raise SystemExit(f"the process of the {self.name} checkout has ended.")
        told = json.loads(line)
        if isinstance(told, dict) and "error" in told:
            raise FailedError(f"{self.name}: {told['error']}")
        return told

    def close(self) -> None:
        if self._child.poll() is None:
            assert self._child.stdin is not None
            self._child.stdin.close()
            try:
                self._child.wait(10)
            except subprocess.TimeoutExpired:
                self._child.kill()


def measure(name: str, workers: list[Worker], repeats: int) -> dict[str, Any]:
    """One case in both processes."""
    for worker in workers:
        worker.ask("prepare", name)
        worker.ask("run", 1)  # compiles
    first = [worker.ask("run", 1) for worker in workers]
    once = min(told["seconds"] for told in first)
    loops = max(1, math.ceil(SHORT / max(once, 1e-6)))
    repeats = max(3, min(repeats, int(CASE_SECONDS / (2 * loops * once))))
    taken: dict[str, list[float]] = {worker.name: [] for worker in workers}
    busy: dict[str, list[float]] = {worker.name: [] for worker in workers}
    for _ in range(ROUNDS):
        for turn in range(repeats):
            for worker in workers if turn % 2 == 0 else workers[::-1]:
                told = worker.ask("run", loops)
                taken[worker.name].append(told["seconds"])
                busy[worker.name].append(told["cpu"])
        best = {which: min(values) for which, values in taken.items()}
        if WANTED <= best["old"] / best["new"] <= 1.0 / WANTED:
            break
    middle = {which: statistics.median(values) for which, values in taken.items()}
    return {
        "case": name,
        "repeats": len(taken["old"]),
        "loops": loops,
        **{f"{which}_best_ms": round(1e3 * best[which], 4) for which in taken},
        **{f"{which}_median_ms": round(1e3 * middle[which], 4) for which in taken},
        "ratio": round(best["old"] / best["new"], 3),
        "ratio_of_medians": round(middle["old"] / middle["new"], 3),
        "ratio_of_cpu": round(min(busy["old"]) / max(min(busy["new"]), 1e-9), 3),
        "same": first[0]["found"] == first[1]["found"],
    }


def chosen(args: argparse.Namespace) -> list[str]:
    """Names of the cases to run; those whose library is missing are told."""
    patterns = args.cases or ["device*" if args.device else "*"]
    out = []
    for name, one in CASES.items():
        if not any(fnmatch(name, pattern) for pattern in patterns):
            continue
        if one.device and not args.device:
            continue
        if one.needs is not None and find_spec(one.needs) is None:
            print(f"{name}: left out, {one.needs} is not installed", flush=True)
            continue
        out.append(name)
    return out


def card(device: str) -> dict[str, Any]:
    import torch

    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else "none"
    return {"torch": torch.__version__, "card": name}


def show(row: dict[str, Any]) -> None:
    if "error" in row:
        print(f"| {row['case']} | {row['error']} |", flush=True)
        return
    flag = "" if row["ratio"] >= WANTED else " **slower**"
    times = " | ".join(
        f"{row[f'{which}_{what}_ms']:,.3f}" for which in ("old", "new") for what in ("best", "median")
    )
    ratios = f"{row['ratio']:.2f}{flag} | {row['ratio_of_medians']:.2f} | {row['ratio_of_cpu']:.2f}"
    print(f"| {row['case']} | {times} | {ratios} | {'yes' if row['same'] else 'no'} |", flush=True)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--cases", nargs="+", metavar="PATTERN", help="names, * stands for anything")
    options.add_argument("--repeats", type=int, default=11)
    options.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    options.add_argument("--device", help="cuda or cpu: where tensors are")
    options.add_argument("--scale", type=float, default=1.0, help="of the sizes on a device")
    options.add_argument("--list", action="store_true", help="name the cases, run nothing")
    options.add_argument("--serve", action="store_true", help="used by the script itself")
    args = options.parse_args()
    if args.serve:
        serve(args)
        return
    names = chosen(args)
    if args.list:
        print(*names, sep="\n")
        return
    pin_threads(args.threads)
    roots = checkouts(args)
    result: dict[str, Any] = {
        "what": "milliseconds; ratio: best of old over best of new",
        "machine": machine() | (card(args.device) if args.device else {}),
        "commits": {name: commit(root) for name, root in roots.items()},
        "scale": args.scale,
        "rows": [],
    }
    file = "versus.json" if not args.device else f"versus_{args.device.split(':')[0]}.json"
    path = args.out or HERE / "results" / file
    print(
        "| case | old best ms | median | new best ms | median | ratio | of medians | of CPU | same |\n"
        + "|---" * 9
        + "|"
    )
    workers = [Worker(name, root, args) for name, root in roots.items()]
    try:
        for name in names:
            try:
                row = measure(name, workers, args.repeats)
            except FailedError as error:
                row = {"case": name, "error": str(error)}
            for worker in workers:
                worker.ask("forget")
            result["rows"].append(row)
            show(row)
            path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    finally:
        for worker in workers:
            worker.close()
    ratios = [row["ratio"] for row in result["rows"] if "ratio" in row]
    if ratios:
        slower = sum(ratio < WANTED for ratio in ratios)
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
        print(f"\n{len(ratios)} cases, geometric mean of the ratios {mean:.3f}, {slower} below {WANTED}")


if __name__ == "__main__":
    main()
