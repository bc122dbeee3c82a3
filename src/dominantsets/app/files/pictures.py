"""Pictures in, and maps of labels out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dominantsets.app.files._common import FileError
from dominantsets.app.files.writing import replacing

LABEL_MAPS = (".png", ".npy")
MOST = 256  # colours of a palette


def read_picture(path: Path) -> Any:
    """The pixels of a picture."""
    from skimage.io import imread

    try:
        return imread(path)
    except Exception as error:  # the imaging libraries raise many kinds
        raise FileError(f"{path}: this is not a picture that can be read.") from error


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

    image = Image.fromarray(labels.astype(np.uint8))  # grey, until it has a palette
    image.putpalette(b"".join(bytes.fromhex(color_of(k)[1:]) for k in range(count)))
    with replacing(path) as draft:
        image.save(draft, format="PNG")
