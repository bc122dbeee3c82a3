"""Pictures and strokes over them in, and maps of labels out."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from dominantsets._typing import Ints
from dominantsets.app.files._common import FileError, first_line
from dominantsets.app.files.writing import replacing, write_bytes

LABEL_MAPS = (".png", ".npy")
MOST = 256  # colours of a palette
COLOURS = 100  # labels of one file of strokes; more of them are the colours of a photograph


def read_picture(path: Path) -> Any:
    """The pixels of a picture."""
    from skimage.io import imread

    try:
        return imread(path)
    except Exception as error:  # the imaging libraries raise many kinds
        raise FileError(f"{path}: this is not a picture that can be read.") from error


def read_strokes(path: Path) -> Ints:
    """Labels of pixels, 0 without a stroke: an array, or a picture where each colour is a label.

    Black and transparent pixels have no stroke; colours are numbered from 1 in increasing order.
    """
    if path.suffix.lower() == ".npy":
        try:
            return np.asarray(np.load(path, allow_pickle=False))
        except (ValueError, OSError, EOFError) as error:
            raise FileError(f"{path}: {first_line(error)}.") from error
    pixels = np.asarray(read_picture(path))
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.shape[-1] in (2, 4):  # transparent: as if black
        pixels = np.where(pixels[..., -1:] > 0, pixels[..., :-1], 0)
    colours, numbers = np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0, return_inverse=True)
    drawn = colours.any(axis=1)
    if np.count_nonzero(drawn) > COLOURS:
        raise FileError(
            f"{path}: {np.count_nonzero(drawn)} colours are more than {COLOURS} labels; draw strokes "
            "without smoothing on black, and save them as PNG."
        )
    labels = np.where(drawn, np.cumsum(drawn), 0)
    return np.asarray(labels[numbers.reshape(pixels.shape[:2])], dtype=np.int64)


def write_label_map(path: Path, labels: Any) -> None:
    """A label for each pixel: an array, or a picture whose palette has a colour for each label.

    Programs that read palettes (PIL, and most that know segmentations) have the labels as they are; others
    show them in colours that differ.
    """
    if path.suffix.lower() == ".npy":
        with replacing(path) as draft:
            np.save(draft, labels)
        return
    count = int(labels.max()) + 1
    if count > MOST:
        raise FileError(f"{path}: a palette has {MOST} colours, and there are {count} segments; use .npy.")
    from PIL import Image

    from dominantsets.plotting import color_of

    height, width = labels.shape
    image = Image.frombytes(
        "L", (width, height), labels.astype(np.uint8).tobytes()
    )  # grey, without a palette
    image.putpalette(b"".join(bytes.fromhex(color_of(k)[1:]) for k in range(count)))
    whole = io.BytesIO()  # made before there is a draft: short of memory, PIL may not come back to remove one
    image.save(whole, format="PNG")
    write_bytes(path, whole.getvalue())
