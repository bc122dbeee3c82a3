"""Segmentation of colour images by dominant sets. The only module that imports scikit-image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dominantsets._checks import check_int, check_real, missing_extra
from dominantsets._typing import Floats
from dominantsets.clusters.peeling import peel
from dominantsets.clusters.scribbles import (
    checked_scribbles,
    label_regions,
    means_of,
    similarities,
    split_at_strokes,
)
from dominantsets.compiled.interrupts import all_or_nothing
from dominantsets.labels.average import assign_by_average
from dominantsets.similarity import Path
from dominantsets.solvers import DominantSet

try:
    from skimage.color import gray2rgb, rgb2hsv
    from skimage.filters import gaussian
    from skimage.segmentation import slic
    from skimage.transform import resize
    from skimage.util import img_as_float64
except ModuleNotFoundError as error:  # pragma: no cover - depends on the installation
    raise missing_extra("segmentation needs", "plot", "skimage") from error


SHIFT_PER_PIXEL = 0.03  # of the largest minimax distance; docs/decisions.md
REGIONS = 600  # about so many regions of an image with scribbles: a matrix of 600 × 600


@dataclass(frozen=True, eq=False)
class Segmentation:
    """Segments of an image.

    Attributes
    ----------
    labels : ndarray of int, the shape of the image
        The segment of each pixel, numbered from 0 in the order found; with scribbles their labels, and 0
        where nothing is like the strokes of a single label.
    cores : ndarray of int, the shape of the image that was segmented
        The same before leftover pixels were assigned, -1 for those; after downscaling. With scribbles also
        -1 where sets of several labels overlap.
    clusters : list of DominantSet
        The dominant sets, with their certificates. Those around scribbles are sets of regions, without what
        earlier ones of their label have, and without strokes of other labels.
    regions : ndarray of int, the shape of cores
        The objects that members of clusters number: pixels, or with scribbles regions of pixels.
    """

    labels: NDArray[np.int64]
    cores: NDArray[np.int64]
    clusters: list[DominantSet]
    regions: NDArray[np.int64]

    def __repr__(self) -> str:
        height, width = self.labels.shape
        return f"Segmentation({len(self.clusters)} segments of {height:,} × {width:,} pixels)"


@all_or_nothing()
def segment(
    image: Any,
    n_segments: int | None = None,
    *,
    scribbles: Any = None,
    shift: float | str = "auto",
    smooth: float = 1.0,
    position: float = 0.0,
    downscale: int = 1,
) -> Segmentation:
    r"""Segment an image into dominant sets of its pixels, or into what goes with strokes drawn on it.

    A pixel with hue h, saturation s and value v has the features :math:`[v, v s \sin h, v s \cos h]`
    (Pavan and Pelillo, 2007). With ``n_segments``, two pixels are alike where a chain of small steps leads
    from one to the other: similarity is :math:`\max(D) - D` with D the minimax distance. The segments are
    the dominant sets of highest value, found exactly, one after another; pixels in none of them go to the
    segment with the highest average similarity.

    With ``scribbles``, about 600 small regions (SLIC) are alike by their mean features,
    :math:`1 / (1 + D_{ij}^2 / (\sigma_i \sigma_j))` with :math:`\sigma_i` the mean distance to the seven
    nearest. The strokes of one label are the seeds of constrained dominant sets (docs/theory-seeds.md),
    one after another until every stroke is in one; strokes of other labels are never in them. A region
    goes to the label that has a set with the largest average similarity to it. With one label only, what
    is in none of its sets is 0; a second one, drawn on the background, tells more.

    Parameters
    ----------
    image : array of shape (h, w), (h, w, 3) or (h, w, 4)
        Grey, RGB or RGBA; 8 or 16 bit integers, or floats from 0 to 1. Transparency is ignored.
    n_segments : int, optional
        Largest number of segments; fewer where the rest of the image falls to those found. Either this or
        scribbles.
    scribbles : array of shape (h, w), optional
        Strokes: a mask, or a label above 0 for each pixel that has one, 0 elsewhere.
    shift : float or "auto", default="auto"
        The resolution: the larger, the larger the segments. "auto" is 0.03 · pixels · max(D), which keeps
        its meaning from thumbnails to full size; the paper's study has 15. With scribbles it is the shift
        of regions without a stroke, "auto" one above which every set meets the strokes.
    smooth : float, default=1.0
        Standard deviation in pixels of a Gaussian blur before anything else. Chains of small steps run
        through the noise of a photograph; a light blur cuts them. 0 for none.
    position : float, default=0.0
        Weight of the pixel's coordinates, scaled to the image's longer side, as two more features.
    downscale : int, default=1
        Segment an image this many times smaller, and scale the labels up again. Not with scribbles.

    Returns
    -------
    Segmentation
        Labels in the shape of the image, cores, and the clusters. Ctrl-C raises KeyboardInterrupt.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets.segmentation import segment
    >>> image = np.zeros((4, 6, 3))
    >>> image[:, 3:] = (1.0, 0.2, 0.2)
    >>> segment(image, 2, smooth=0.0).labels[0]
    array([0, 0, 0, 1, 1, 1])
    >>> strokes = np.zeros((4, 6), dtype=int)
    >>> strokes[1, 0], strokes[2, 5] = 7, 4
    >>> segment(image, scribbles=strokes, smooth=0.0).labels[0]
    array([7, 7, 7, 4, 4, 4])
    """
    if (n_segments is None) == (scribbles is None):
        raise ValueError("segment needs either n_segments or scribbles; give one of them.")
    check_int("downscale", downscale, at_least=1)
    if not isinstance(shift, str):
        check_real("shift", shift)
    elif shift != "auto":
        raise ValueError(f"shift={shift!r} is not known; use a number or 'auto'.")
    check_real("smooth", smooth, at_least=0.0)
    check_real("position", position, at_least=0.0)
    rgb = _as_rgb(image)
    if scribbles is not None:
        if downscale != 1:
            raise ValueError(f"downscale={downscale} goes with n_segments only; scribbles have regions.")
        return _around(rgb, checked_scribbles(scribbles, rgb.shape[:2]), shift, smooth, position)
    check_int("n_segments", n_segments, at_least=1)
    assert n_segments is not None
    shape = rgb.shape[:2]
    if smooth > 0:
        rgb = gaussian(rgb, sigma=smooth, channel_axis=-1)
    if downscale > 1:
        small = tuple(max(1, round(side / downscale)) for side in shape)
        rgb = resize(rgb, small, anti_aliasing=True)
    similarity = Path(_features(rgb, position))
    alpha = SHIFT_PER_PIXEL * similarity.n * similarity.top if isinstance(shift, str) else float(shift)
    peeling = peel(similarity, min(n_segments, similarity.n), shift=alpha)
    clusters = list(peeling)
    labels = assign_by_average(similarity, clusters, peeling.labels)
    cores = peeling.labels.reshape(rgb.shape[:2])
    labels = labels.reshape(rgb.shape[:2])
    if downscale > 1:
        labels = resize(labels, shape, order=0, preserve_range=True, anti_aliasing=False).astype(np.int64)
    return Segmentation(labels, cores, clusters, np.arange(similarity.n).reshape(cores.shape))


def _around(
    rgb: Floats, strokes: NDArray[np.int64], shift: float | str, smooth: float, position: float
) -> Segmentation:
    """What goes with the strokes of each label."""
    regions = slic(rgb, n_segments=REGIONS, start_label=0)
    regions, own = split_at_strokes(regions.astype(np.int64), strokes)
    if smooth > 0:
        rgb = gaussian(rgb, sigma=smooth, channel_axis=-1)
    found = label_regions(similarities(means_of(_features(rgb, position), regions)), own, shift)
    labels, cores = found.labels[regions], found.cores[regions]
    return Segmentation(labels, cores, found.clusters, regions)


def _features(rgb: Floats, position: float) -> Floats:
    """Features of pixels: colour and, with a weight, place."""
    features = color_features(rgb)
    if position == 0:
        return features
    places = np.indices(rgb.shape[:2]).reshape(2, -1).T / max(rgb.shape[:2])
    return np.column_stack([features, position * places])


def color_features(rgb: Floats) -> Floats:
    r"""The features :math:`[v, v s \sin h, v s \cos h]` of the pixels, one row per pixel."""
    hue, saturation, value = (rgb2hsv(rgb)[..., k].reshape(-1) for k in range(3))
    chroma, angle = value * saturation, 2.0 * np.pi * hue
    return np.column_stack([value, chroma * np.sin(angle), chroma * np.cos(angle)])


def _as_rgb(image: Any) -> Floats:
    """Any usual image as floats of shape (h, w, 3) between 0 and 1."""
    image = np.asarray(image)
    if image.ndim == 3 and image.shape[2] == 1:
        image = image[..., 0]
    grey = image.ndim == 2
    if not grey and (image.ndim != 3 or image.shape[2] not in (3, 4)):
        raise ValueError(f"an image has the shape (h, w), (h, w, 3) or (h, w, 4), got {image.shape}.")
    if image.size == 0:
        raise ValueError(f"an image of shape {image.shape} has no pixels.")
    if image.dtype.kind == "f":
        if not np.isfinite(image).all() or image.min() < 0 or image.max() > 1:
            raise ValueError(
                "an image of floats must lie between 0 and 1, without NaN; divide by its maximum first."
            )
    elif image.dtype.kind not in "bu":
        raise ValueError(f"an image of {image.dtype} is not known; use uint8, uint16, bool or floats.")
    image = img_as_float64(image)
    rgb = gray2rgb(image) if grey else image[..., :3]
    return np.asarray(rgb, dtype=np.float64)
