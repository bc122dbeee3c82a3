"""The image study: an airplane under path-based similarity."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat
from sklearn.metrics import adjusted_rand_score

from dominantsets.labels.average import assign_by_average
from dominantsets.segmentation import color_features, segment
from dominantsets.similarity import as_similarity
from dominantsets.studies.experiments._common import (
    METHODS,
    Page,
    Row,
    Study,
    extract,
    figure,
    save,
    verdict,
)

K, SHIFT = 2, 15.0
STEPS, STEPS_RD = 10_000, 250
EXACT, FULL = "exact", "exact, full size"
FOUR = (0, 1, 3, 4)  # people who drew airplane and sky; the third cut the sky along its clouds


def airplane() -> Path | None:
    """The folder of the paper's image, where there is one."""
    folder = os.environ.get("DOMINANTSETS_DATA")
    path = Path(folder) / "images" if folder else None
    return path if path is not None and (path / "airplane_3096_120x80.png").exists() else None


@lru_cache(maxsize=4)
def picture(quick: bool, full: bool) -> tuple[Any, list[Any]]:
    """The image, and what people drew (nothing for the one that stands in)."""
    from skimage import data
    from skimage.io import imread
    from skimage.transform import resize

    folder = airplane()
    people: list[Any] = []
    if folder is None:
        image: Any = data.rocket()
        image = image if full else np.round(255 * resize(image, (80, 120))).astype(np.uint8)
    else:
        image = imread(folder / ("3096.jpg" if full else "airplane_3096_120x80.png"))
        drawn = [e[0, 0]["Segmentation"] for e in loadmat(folder / "3096.mat")["groundTruth"][0]]
        people = [drawn[k] for k in FOUR]
    if quick and not full:
        image = image[::2, ::2]
    fitted = [resize(p, image.shape[:2], order=0, preserve_range=True, anti_aliasing=False) for p in people]
    return image, fitted


def cells(quick: bool, literal: bool) -> list[Row]:
    shown = "airplane" if airplane() is not None else "rocket"
    return [{"image": shown, "method": m, "quick": int(quick)} for m in (*METHODS, EXACT, FULL)]


@lru_cache(maxsize=1)
def dense_path(quick: bool) -> Any:
    """The dense matrix of the paper: max(D) - D of all pairs of pixels, D the minimax distance."""
    image, _ = picture(quick, False)
    return as_similarity(as_similarity(color_features(_floats(image)), "path").toarray())


def _floats(image: Any) -> Any:
    return np.asarray(image[..., :3], dtype=np.float64) / 255.0


def steps_of(method: str, quick: bool) -> int:
    """The paper's iterations, or a tenth of them."""
    return (STEPS_RD if method == "RD" else STEPS) // (10 if quick else 1)


def labels_of(method: str, quick: bool) -> tuple[Any, float, int]:
    """Segments by one of the paper's methods on the dense matrix, or exactly; seconds and iterations."""
    image, _ = picture(quick, method == FULL)
    if method in (EXACT, FULL):
        began = time.perf_counter()
        found = segment(
            image, K, shift=SHIFT if method == EXACT else "auto", smooth=0.0 if method == EXACT else 1.0
        )
        return found.labels, time.perf_counter() - began, 0
    S = dense_path(quick)
    clusters, labels, seconds = extract(S, K, method, shift=SHIFT, t=steps_of(method, quick))
    made = assign_by_average(S, clusters, labels).reshape(image.shape[:2])
    return made, seconds, sum(cluster.n_iter for cluster in clusters)


def work(cell: Row) -> list[Row]:
    quick = bool(cell["quick"])
    labels, seconds, n_iter = labels_of(cell["method"], quick)
    _, people = picture(quick, cell["method"] == FULL)
    ari = [adjusted_rand_score(p.ravel(), labels.ravel()) for p in people]
    sizes = np.bincount(labels.ravel(), minlength=K)
    row = {
        **cell,
        "seconds": seconds,
        "n_iter": n_iter,
        "pixels": labels.size,
        "smaller_segment": float(sizes.min() / labels.size),
    }
    row["ari"] = float(np.mean(ari)) if ari else float("nan")
    row["bits"] = "x" + np.packbits(labels.ravel() == int(sizes.argmin())).tobytes().hex()  # the picture
    row["shape"] = f"{labels.shape[0]}x{labels.shape[1]}"
    return [row]


def tell(rows: list[Row], page: Page, out: Path) -> None:
    real, quick = rows[0]["image"] == "airplane", bool(rows[0]["quick"])
    extent = "a tenth of the paper's, on every other pixel" if quick else "as in the paper"
    page.text(
        "Pixels under path-based similarity max(D) - D of their HSV features, shift 15, two segments; "
        f"{steps_of('FW', quick):,} iterations of the Frank-Wolfe variants and {steps_of('RD', quick):,} of "
        f"RD on the dense matrix ({extent}), beside the exact solution and the full-size image. What is in "
        "no segment goes to the one with the "
        "highest average similarity."
    )
    if not real:
        page.text(
            "The paper's image is not here; the rocket that ships with scikit-image stands in.", "warning"
        )
    table = [
        [r["method"], f"{r['pixels']:,}", f"{r['n_iter']:,}" if r["n_iter"] else "", f"{r['seconds']:.2f} s"]
        + [f"{r['smaller_segment']:.3f}"]
        + ([f"{r['ari']:.3f}"] if real else [])
        for r in rows
    ]
    head = ["method", "pixels", "iterations", "time", "smaller segment"] + (
        ["ARI, mean of four people"] if real else []
    )
    page.table(head, table)
    image, _ = picture(quick, False)
    shown, axes = figure(2, 4, (3.0, 2.3))
    axes.flat[0].imshow(image)
    axes.flat[0].set_title("original", fontsize=9)
    for ax, row in zip(axes.flat[1:], rows, strict=False):
        height, width = (int(side) for side in str(row["shape"]).split("x"))
        bits = np.unpackbits(np.frombuffer(bytes.fromhex(str(row["bits"])[1:]), np.uint8))[: height * width]
        ax.imshow(bits.reshape(height, width), cmap="gray_r")
        ax.set_title(row["method"], fontsize=9)
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
    save(
        page,
        shown,
        out,
        "image",
        "The image, and the segments of each method; the last is the full-size one.",
    )
    by = {row["method"]: row for row in rows}
    variants = [m for m in METHODS if m != "RD"]
    if real:
        verdict(
            page,
            "airplane",
            {m: by[m]["ari"] > by["RD"]["ari"] for m in variants},
            "ARI: " + ", ".join(f"{m} {by[m]['ari']:.2f}" for m in (*METHODS, EXACT)),
        )
    each = {m: by[m]["seconds"] / max(1, by[m]["n_iter"]) for m in METHODS}
    verdict(
        page,
        "steps",
        {m: 10 * each[m] < each["RD"] for m in variants},
        "an iteration: " + ", ".join(f"{m} {1e3 * v:.2g} ms" for m, v in each.items()),
    )


STUDY = Study("image", "The airplane", cells, work, tell)
