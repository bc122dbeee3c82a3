"""Strokes on photographs: which share of the pixels goes to the right one?

Run ``python benchmarks/scribbles.py`` (needs DOMINANTSETS_DATA: Berkeley images with human segmentations). It
prints and writes results/scribbles.json. For each image the human whose number of segments is nearest to
five; each segment of at least 2 % of the image has a stroke, the skeleton of its innermost part (farther from
its border than 0.4 of the farthest pixel). ``segment(image, scribbles=...)`` with its defaults and with
``position=0.5``, beside scikit-image's random walker (beta 1,000, blurred as ours) and watershed, and the
nearest stroke in the plane; the share of pixels of these segments with the right label, and seconds. The form
of the similarity was looked at on every other image (``seen``); means are of the others.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)
from scipy.io import loadmat  # noqa: E402
from scipy.ndimage import distance_transform_edt, label  # noqa: E402
from skimage import io  # noqa: E402
from skimage.color import rgb2gray  # noqa: E402
from skimage.filters import gaussian, sobel  # noqa: E402
from skimage.morphology import skeletonize  # noqa: E402
from skimage.segmentation import random_walker, watershed  # noqa: E402

from dominantsets.segmentation import segment  # noqa: E402

SMALLEST, INNER, ABOUT = 0.02, 0.4, 5


def strokes_in(truth: Any) -> Any:
    """A stroke in every segment that is large enough, with the segment's own label."""
    out = np.zeros(truth.shape, dtype=np.int64)
    for name in np.unique(truth):
        inside = truth == name
        if inside.mean() < SMALLEST:
            continue
        depth = distance_transform_edt(inside)
        parts, _ = label(depth > INNER * depth.max())
        sizes = np.bincount(parts.ravel())
        sizes[0] = 0
        out[skeletonize(parts == sizes.argmax())] = name
    return out


def nearest_stroke(strokes: Any) -> Any:
    _, (rows, columns) = distance_transform_edt(strokes == 0, return_indices=True)
    return strokes[rows, columns]


def methods(image: Any, strokes: Any) -> dict[str, Callable[[], Any]]:
    blurred = gaussian(image, 1.0, channel_axis=-1)
    return {
        "ours": lambda: segment(image, scribbles=strokes).labels,
        "ours, position=0.5": lambda: segment(image, scribbles=strokes, position=0.5).labels,
        "random walker": lambda: random_walker(blurred, strokes, beta=1000, mode="cg_j", channel_axis=-1),
        "watershed": lambda: watershed(sobel(rgb2gray(image)), strokes),
        "nearest stroke": lambda: nearest_stroke(strokes),
    }


def compared(folder: Path, name: str, seen: bool) -> dict[str, Any]:
    image = io.imread(folder / f"{name}.jpg")
    people = [e[0, 0]["Segmentation"] for e in loadmat(folder / f"{name}.mat")["groundTruth"][0]]
    truth = min(people, key=lambda p: abs(np.unique(p).size - ABOUT)).astype(np.int64)
    drawn = strokes_in(truth)
    used = np.unique(drawn[drawn > 0])
    counted = np.isin(truth, used)
    # the random walker numbers labels anew: from 1 on, without gaps, it need not
    truth, strokes = (
        np.searchsorted(used, truth) + 1,
        np.where(drawn > 0, np.searchsorted(used, drawn) + 1, 0),
    )
    row: dict[str, Any] = {"image": name, "seen": seen, "labels": int(np.unique(strokes).size - 1)}
    for method, work in methods(image, strokes).items():
        began = time.perf_counter()
        labels = work()
        row[f"{method}, seconds"] = round(time.perf_counter() - began, 2)
        row[method] = round(float((labels == truth)[counted].mean()), 4)
    return row


def main() -> None:
    warnings.simplefilter("ignore")
    if "DOMINANTSETS_DATA" not in os.environ:
        sys.exit("set DOMINANTSETS_DATA to the folder of real data")
    folder = Path(os.environ["DOMINANTSETS_DATA"]) / "images"
    small = np.zeros((30, 30, 3))
    small[:, 15:] = 1.0
    segment(small, scribbles=np.eye(30, dtype=np.int64))  # compiles
    names = sorted(path.stem for path in folder.glob("*.jpg"))
    rows = [compared(folder, name, k % 2 == 0) for k, name in enumerate(names)]
    unseen = [row for row in rows if not row["seen"]]
    columns = [name for name in rows[0] if name not in ("image", "seen", "labels")]
    means = {name: round(float(np.mean([row[name] for row in unseen])), 4) for name in columns}
    for row in (*rows, means):
        print(row, flush=True)
    result = {"machine": machine(), "means_of_unseen": means, "rows": rows}
    path = Path(__file__).parent / "results" / "scribbles.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
