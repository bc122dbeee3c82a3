"""Path-based segmentation against slic, felzenszwalb and KMeans on the same features.

Run ``python benchmarks/segmentation.py [--out FOLDER]``. Needs the images that DOMINANTSETS_DATA names
(Berkeley images with human segmentations). Prints and writes results/segmentation.json:

- the airplane at 120 × 80, two segments (shift 15, no blur, as in the paper's study): ARI against each
  human, and the time of the exact route against the dense one (matrix of minimax distances, pairwise
  Frank-Wolfe) in the same run;
- the same image at full size: tree and all segments in passes of slic, peak memory;
- all images at full size with our defaults: ARI against each human (mean), and time.

A picture sheet (image, ours, theirs, a human's) goes to FOLDER; it is not committed, the images'
licences do not allow it. docs/pictures/segments.py makes one from images that ship with scikit-image.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)
from scipy.io import loadmat  # noqa: E402
from scipy.spatial.distance import cdist  # noqa: E402
from skimage import io  # noqa: E402
from skimage.segmentation import felzenszwalb, slic  # noqa: E402
from skimage.transform import resize  # noqa: E402
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.metrics import adjusted_rand_score  # noqa: E402

from dominantsets import as_similarity, peel  # noqa: E402
from dominantsets.labels.average import assign_by_average  # noqa: E402
from dominantsets.segmentation import _as_rgb, color_features, segment  # noqa: E402

SEGMENTS = 4
FOUR = (0, 1, 3, 4)  # people who drew airplane and sky; the third cut the sky along its clouds


def humans(folder: Path, name: str) -> list[np.ndarray]:
    return [e[0, 0]["Segmentation"] for e in loadmat(folder / f"{name}.mat")["groundTruth"][0]]


def scores(people: list[np.ndarray], labels: np.ndarray) -> list[float]:
    return [adjusted_rand_score(p.ravel(), labels.ravel()) for p in people]


def timed(work: Callable[[], Any], rounds: int = 3) -> tuple[float, Any]:
    """Median seconds, and the last result."""
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken), result


def dense_route(features: np.ndarray, shift: float) -> np.ndarray:
    """What the paper does: all minimax distances in a matrix, then pairwise Frank-Wolfe."""
    tree = as_similarity(cdist(features, features), "path", metric="precomputed")
    every = np.arange(len(features))
    A = np.empty((len(features), len(features)))
    for i in every:
        A[i] = tree.column(i)
    S = as_similarity(A)
    peeling = peel(S, 2, shift=shift, algorithm="pairwise")
    return assign_by_average(S, list(peeling), peeling.labels)


def small_airplane(folder: Path) -> dict[str, Any]:
    image = io.imread(folder / "airplane_3096_120x80.png")
    people = [
        resize(p, image.shape[:2], order=0, preserve_range=True, anti_aliasing=False)
        for p in humans(folder, "3096")
    ]
    exact_s, result = timed(lambda: segment(image, 2, shift=15.0, smooth=0.0), 9)
    features = color_features(_as_rgb(image))
    dense_s, labels = timed(lambda: dense_route(features, 15.0), 1)
    ours = scores(people, result.labels)
    return {
        "ari_each_human": [round(s, 3) for s in ours],
        "mean_ari_of_the_four_who_separate_airplane_and_sky": round(
            float(np.mean([ours[k] for k in FOUR])), 3
        ),
        "ari_of_exact_and_dense": round(adjusted_rand_score(result.labels.ravel(), labels), 3),
        "exact_s": round(exact_s, 4),
        "dense_s": round(dense_s, 2),
        "dense_over_exact": round(dense_s / exact_s, 1),
    }


def peak_memory(path: Path) -> float:
    """Largest resident memory of a fresh process that segments one image, imports included, in MB."""
    program = (
        "import sys\n"
        "from skimage import io\n"
        "from dominantsets.segmentation import segment\n"
        "segment(io.imread(sys.argv[1]), 4)\n"
        # ru_maxrss would count the parent's memory, from before the program was loaded
        "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(int(peak.split()[1]) / 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    return float(done.stdout)


def full_airplane(folder: Path) -> dict[str, Any]:
    image = io.imread(folder / "3096.jpg")
    ours_s, result = timed(lambda: segment(image, 2))
    slic_s, _ = timed(lambda: slic(image), 5)
    return {
        "pixels": image.shape[0] * image.shape[1],
        "ari_each_human": [round(s, 3) for s in scores(humans(folder, "3096"), result.labels)],
        "ours_s": round(ours_s, 3),
        "slic_s": round(slic_s, 4),
        "passes_of_slic": round(ours_s / slic_s, 1),
        "peak_memory_mb": round(peak_memory(folder / "3096.jpg"), 1),
    }


def methods(image: np.ndarray) -> dict[str, Callable[[], np.ndarray]]:
    features = color_features(_as_rgb(image))
    kmeans = KMeans(SEGMENTS, n_init=3, random_state=0)
    return {
        "ours": lambda: segment(image, SEGMENTS).labels,
        "slic": lambda: slic(image, n_segments=SEGMENTS),
        "felzenszwalb": lambda: felzenszwalb(image, scale=1000, sigma=1.0, min_size=2000),
        "kmeans": lambda: kmeans.fit_predict(features).reshape(image.shape[:2]),
    }


def all_images(folder: Path, out: Path | None) -> list[dict[str, Any]]:
    rows, sheet = [], []
    for path in sorted(folder.glob("*.jpg")):
        image = io.imread(path)
        people = humans(folder, path.stem)
        row: dict[str, Any] = {"image": path.stem, "humans": len(people)}
        pictures = {}
        for name, work in methods(image).items():
            seconds, labels = timed(work, 1)
            each = scores(people, labels)
            row[f"{name}_ari"] = round(float(np.mean(each)), 3)
            row[f"{name}_ari_each_human"] = [round(score, 3) for score in each]
            row[f"{name}_s"] = round(seconds, 2)
            row[f"{name}_segments"] = len(np.unique(labels))
            pictures[name] = labels
        rows.append(row)
        sheet.append((image, pictures, people[0]))
        print(row, flush=True)
    if out is not None:
        draw(sheet, out)
    return rows


def draw(sheet: list[Any], out: Path) -> None:
    from dominantsets.plotting import plt

    columns = ["image", "ours", "slic", "felzenszwalb", "kmeans", "a human"]
    figure, axes = plt.subplots(
        len(sheet), len(columns), figsize=(12, 1.6 * len(sheet)), layout="constrained"
    )
    for row, (image, pictures, person) in zip(axes, sheet, strict=True):
        for ax, name in zip(row, columns, strict=True):
            shown = image if name == "image" else person if name == "a human" else pictures[name]
            ax.imshow(shown, cmap=None if name == "image" else "tab20", interpolation="nearest")
            ax.set(xticks=[], yticks=[])
    for ax, name in zip(axes[0], columns, strict=True):
        ax.set_title(name, fontsize=9)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "segments.png", dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None, help="folder for the picture sheet")
    arguments = parser.parse_args()
    if "DOMINANTSETS_DATA" not in os.environ:
        sys.exit("set DOMINANTSETS_DATA to the folder of real data")
    folder = Path(os.environ["DOMINANTSETS_DATA"]) / "images"
    segment(io.imread(folder / "airplane_3096_120x80.png"), 2)  # compiled before the clock starts
    result: dict[str, Any] = {"machine": machine()}
    result["airplane_120x80"] = small_airplane(folder)
    print(result["airplane_120x80"], flush=True)
    result["airplane_full_size"] = full_airplane(folder)
    print(result["airplane_full_size"], flush=True)
    result["rows"] = all_images(folder, arguments.out)
    names = ("ours", "slic", "felzenszwalb", "kmeans")
    result["mean_ari"] = {n: round(float(np.mean([r[f"{n}_ari"] for r in result["rows"]])), 3) for n in names}
    result["mean_s"] = {n: round(float(np.mean([r[f"{n}_s"] for r in result["rows"]])), 2) for n in names}
    print(result["mean_ari"], result["mean_s"])
    target = Path(__file__).parent / "results" / "segmentation.json"
    target.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
