"""One card: default fits of unequal, heavy-tailed and flat clusters, first and again, beside k-means.

Run ``python benchmarks/gpu_unequal.py [--cases tails,flats,...]`` on a machine with a card. Each case prints
a line of JSON as soon as it is done. ``--scale 0.001 --device cpu`` tries the script itself.

tails:    1,000,000 × 64, 50 clusters with Student's t tails of 3 degrees of freedom, and 30 % uniform noise.
flats:    1,000,000 × 128, 20 clusters in random flats of 6 dimensions: spread 1 in it, .05 outside it;
          centers uniform in a box of side .3. K unknown; ``flats_k``: K given.
curves:   4,000,000 × 8, two half circles in a random plane, with a spread of .05 everywhere. K unknown.
zipf10:   10,000,000 × 64, 300 clusters with sizes by Zipf's law and widths 1 : 4, and 30 % noise on a sphere.
          K unknown; ``zipf10_k``: K given.
zipf50:   50,000,000 × 128 float16, 1,000 clusters of the same kind. K unknown; ``zipf50_k``: K given.
pieces:   seconds of fits with all that is there for tensors only, and without each piece of it:
          1,000,000 × 64 (100 clusters, K unknown), 1,000,000 × 20 (5 clusters, K given) and 1,000,000 × 64 by
          Zipf's law (300 clusters, K given). Not one of the default cases.

A line has the adjusted Rand index of all objects (noise is one more class), recall and precision of
noise, the number of clusters, seconds of the first and of the last fit, the affinity that was taken, the
number of objects of the fit, the largest relative gap, and the largest memory. k-means has the true
number of clusters, begins at k-means++ centers of a sample of 20,000, and takes 10 rounds of Lloyd's
algorithm in plain torch. ``--affinity sqeuclidean`` fits round groups without a choice; ``--sample`` sets
the number of objects up to which a sample may grow on a card; ``--profile`` prints where the last fit of
each case spends its time.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any
from unittest import mock

import torch

from dominantsets import DominantSets
from dominantsets.rows import fused, graphs, tensors
from dominantsets.rows.points import Points
from dominantsets.similarity.low_rank import LowRank
from dominantsets.solvers import tensor_problem
from gpu import memory, scores, wait

Made = tuple[torch.Tensor, torch.Tensor, int]  # features, planted clusters (-1: noise), their number
BLOCK = 2**20  # rows that are made at a time


def blocks(n: int) -> Iterator[slice]:
    for begin in range(0, n, BLOCK):
        yield slice(begin, min(n, begin + BLOCK))


def tails(n: int, device: torch.device, scale: float) -> Made:
    d, k = 64, max(3, int(50 * min(1.0, 20 * scale)))
    centers = 10.0 * torch.randn(k, d, device=device)
    y = torch.randint(k, (n,), device=device)
    y[torch.rand(n, device=device) < 0.3] = -1
    X = torch.empty(n, d, device=device)
    for part in blocks(n):
        mine = y[part]
        noise = mine < 0
        chi = torch.randn(len(mine), 3, device=device).square().sum(1)
        block = (
            centers[mine.clamp_min(0)]
            + torch.randn(len(mine), d, device=device) * (3.0 / chi).sqrt()[:, None]
        )
        block[noise] = 60.0 * torch.rand(int(noise.sum()), d, device=device) - 30.0
        X[part] = block
    return X, y, k


def flats(n: int, device: torch.device, scale: float) -> Made:
    d, k, inner = 128, 20, 6
    centers = 0.3 * torch.rand(k, d, device=device)
    axes = torch.linalg.qr(torch.randn(k, d, inner, device=device)).Q
    y = torch.randint(k, (n,), device=device)
    X = torch.empty(n, d, device=device)
    for part in blocks(n):
        mine = y[part]
        X[part] = centers[mine] + 0.05 * torch.randn(len(mine), d, device=device)
        for c in range(k):
            here = torch.nonzero(mine == c)[:, 0] + part.start
            X[here] += torch.randn(len(here), inner, device=device) @ axes[c].T
    return X, y, k


def curves(n: int, device: torch.device, scale: float) -> Made:
    d = 8
    plane = torch.linalg.qr(torch.randn(d, 2, device=device)).Q
    y = torch.randint(2, (n,), device=device)
    X = torch.empty(n, d, device=device)
    for part in blocks(n):
        mine = y[part]
        angle = torch.pi * torch.rand(len(mine), device=device)
        side = 1.0 - 2.0 * mine
        at = torch.stack([mine + side * angle.cos(), 0.5 * mine + side * angle.sin()], 1)
        X[part] = at @ plane.T + 0.05 * torch.randn(len(mine), d, device=device)
    return X, y, 2


def zipf(n: int, d: int, k: int, dtype: torch.dtype, device: torch.device) -> Made:
    shares = 1.0 / torch.arange(1.0, k + 1.0, device=device)
    widths = 0.25 * 4.0 ** torch.rand(k, device=device)
    centers = torch.randn(k, d, device=device)
    X, y = torch.empty(n, d, dtype=dtype, device=device), torch.empty(n, dtype=torch.int32, device=device)
    length = ((1.0 + (shares / shares.sum()) @ widths.square()) * d) ** 0.5
    for part in blocks(n):
        count = part.stop - part.start
        mine = torch.multinomial(shares, count, replacement=True)
        block, noise = torch.randn(count, d, device=device), torch.rand(count, device=device) < 0.3
        block = torch.where(
            noise[:, None],
            length * block / block.norm(dim=1, keepdim=True),
            centers[mine] + widths[mine, None] * block,
        )
        X[part], y[part] = block.to(dtype), torch.where(noise, -1, mine).int()
    return X, y, k


def zipf10(n: int, device: torch.device, scale: float) -> Made:
    return zipf(n, 64, max(10, int(300 * min(1.0, 20 * scale))), torch.float32, device)


def zipf50(n: int, device: torch.device, scale: float) -> Made:
    return zipf(n, 128, max(10, int(1_000 * min(1.0, 20 * scale))), torch.float16, device)


CASES: dict[str, tuple[Callable[..., Made], int, bool]] = {  # how it is made, rows, and whether K is given
    "tails": (tails, 1_000_000, False),
    "flats": (flats, 1_000_000, False),
    "flats_k": (flats, 1_000_000, True),
    "curves": (curves, 4_000_000, False),
    "zipf10": (zipf10, 10_000_000, False),
    "zipf10_k": (zipf10, 10_000_000, True),
    "zipf50_k": (zipf50, 50_000_000, True),
    "zipf50": (zipf50, 50_000_000, False),
}


def k_means(X: torch.Tensor, k: int, rounds: int = 10) -> tuple[torch.Tensor, float]:
    """Labels after some rounds from k-means++ centers of a sample, and the seconds of all of it."""
    torch.manual_seed(1)
    wait(X.device)
    begin = time.perf_counter()
    sample = X[torch.randint(len(X), (min(len(X), 20_000),), device=X.device)].float()
    chosen = [sample[0]]
    away = (sample - chosen[0]).square().sum(1)
    for _ in range(1, k):
        chosen.append(sample[int(torch.multinomial(away, 1))])
        away = torch.minimum(away, (sample - chosen[-1]).square().sum(1))
    centers = torch.stack(chosen)
    labels, height = torch.empty(len(X), dtype=torch.int64, device=X.device), max(1, 2**28 // k)
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
    return labels, time.perf_counter() - begin


def fitted(X: torch.Tensor, k: int | None, affinity: str, profile: bool = False) -> tuple[Any, float]:
    """A default fit, and its seconds."""
    wait(X.device)
    begin, profiled = time.perf_counter(), cProfile.Profile()
    with profiled if profile else nullcontext():
        model = DominantSets(k, affinity=affinity).fit(X)
        wait(X.device)
    seconds = time.perf_counter() - begin
    if profile:
        pstats.Stats(profiled).sort_stats("cumtime").print_stats(60)
    return model, seconds


def measured(name: str, args: argparse.Namespace, device: torch.device) -> dict[str, Any]:
    make, size, given = CASES[name]
    n = max(20_000, int(size * args.scale))
    torch.manual_seed(0)
    X, y, k = make(n, device, args.scale)
    memory(device)
    taken = []
    for time_ in range(args.times):
        model, seconds = fitted(
            X, k if given else None, args.affinity, args.profile and time_ == args.times - 1
        )
        taken.append(round(seconds, 2))
    labels = torch.from_numpy(model.labels_).to(device)
    row: dict[str, Any] = {"case": name, "n": n, "d": X.shape[1], "planted": k, "k_given": given}
    row |= {"first_s": taken[0], "seconds": taken[-1], "clusters": model.n_clusters_, **scores(y, labels)}
    if not bool((y < 0).any()):
        row["noise_recall"] = None
    row |= {"affinity": model.affinity_, "noise": model.selection_.noise}
    choice = model.choice_
    row |= {"fitted": n if choice is None or choice.fitted is None else len(choice.fitted)}
    row |= {"reason": "" if choice is None else choice.reason}
    row |= {"gap": f"{max(c.relative_gap for c in model.clusters_):.1e}", "memory_gb": memory(device)}
    del model
    theirs, seconds = k_means(X, k)
    return row | {"k_means_s": round(seconds, 2), "k_means_ari": scores(y, theirs)["ari"]}


PIECES: dict[str, list[tuple[Any, str, Any]]] = {
    "nothing": [],
    "Triton kernels (rows/triton_*.py, fused.py)": [(fused, "FUSED", False)],
    "CUDA graphs (rows/graphs.py)": [(graphs, "broken", True)],
    "few starts (solvers/tensor_few.py)": [(tensor_problem, "fits", lambda *_: False)],
    "rough sweep of certificates": [(tensor_problem, "SWEPT", {"cuda": 2**62, "cpu": 2**62})],
    "points on the device (rows/tensor_points.py)": [
        (tensors.TensorRows, "points", lambda self, rows, extra: Points(rows, extra))
    ],
    "sets among their labels (LowRank.part)": [(LowRank, "part", lambda self, objects: None)],
}


@contextmanager
def without(piece: str) -> Iterator[None]:
    with ExitStack() as stack:
        for where, name, value in PIECES[piece]:
            stack.enter_context(mock.patch.object(where, name, value))
        yield


def pieces(args: argparse.Namespace, device: torch.device) -> Iterator[dict[str, Any]]:
    n = max(20_000, int(1_000_000 * args.scale))
    for name, make, k in (
        ("1,000,000 x 64", lambda: equal(n, 64, 100, device), None),
        ("1,000,000 x 20, K = 5", lambda: equal(n, 20, 5, device), 5),
        ("1,000,000 x 64, Zipf, K = 300", lambda: zipf10(n, device, args.scale)[0], 300),
    ):
        X = make()
        for piece in PIECES:
            with without(piece):
                times = [round(fitted(X, k, "sqeuclidean")[1], 3) for _ in range(3)]
            yield {
                "case": "pieces",
                "data": name,
                "without": piece,
                "first_s": times[0],
                "seconds": min(times),
            }


def equal(n: int, d: int, k: int, device: torch.device) -> torch.Tensor:
    torch.manual_seed(0)
    centers = torch.randn(k, d, device=device)
    return centers[torch.randint(k, (n,), device=device)] + 0.5 * torch.randn(n, d, device=device)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--affinity", default="auto")
    parser.add_argument("--times", type=int, default=2, help="fits of each case")
    parser.add_argument("--sample", type=int, help="objects up to which a sample may grow on a card")
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    device = torch.device(args.device)
    if args.sample is not None:
        tensors.LARGE_SAMPLE[device.type] = args.sample
    warnings.simplefilter("ignore")
    for name in args.cases.split(","):
        try:
            rows = pieces(args, device) if name == "pieces" else iter([measured(name, args, device)])
            for row in rows:
                print(json.dumps(row), flush=True)
        except Exception as error:  # the other cases still run
            traceback.print_exc()
            print(
                json.dumps({"case": name, "error": f"{type(error).__name__}: {str(error)[:300]}"}), flush=True
            )
        if device.type == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
