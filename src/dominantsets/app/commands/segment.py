"""Segments of a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dominantsets.app.commands._common import INTERRUPTED, PICTURES, fail


def segment(
    image: Annotated[Path, typer.Argument(help="A picture (PNG, JPEG, TIFF, ...).")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Labels of the pixels (.npy), or a picture of the segments."),
    ],
    n_segments: Annotated[
        int, typer.Option("--n-segments", "-k", min=1, help="Largest number of segments.")
    ] = 5,
    shift: Annotated[str, typer.Option(help="The resolution: a number, or auto.")] = "auto",
    smooth: Annotated[float, typer.Option(min=0, help="Blur beforehand, in pixels.")] = 1.0,
    position: Annotated[float, typer.Option(min=0, help="Weight of the pixels' places.")] = 0.0,
    downscale: Annotated[int, typer.Option(min=1, help="Work on an image this many times smaller.")] = 1,
) -> None:
    """Segment a picture into dominant sets of its pixels, exactly.

    Example: dominantsets segment photo.jpg -k 4 -o segments.png
    """
    import numpy as np

    from dominantsets.app import files
    from dominantsets.app.job import shift_of

    try:
        import matplotlib

        matplotlib.use("Agg")
        from skimage.io import imread

        from dominantsets.plotting import SegmentationDisplay
        from dominantsets.segmentation import segment as segments_of
    except ModuleNotFoundError as error:
        raise fail(str(error)) from error
    try:
        files.check_readable(image)
        files.check_writable(output, (".npy", *PICTURES), (str(image),))
        try:
            pixels = imread(image)
        except Exception as error:  # the imaging libraries raise many kinds
            raise files.FileError(f"{image}: this is not a picture that can be read.") from error
        found = segments_of(
            pixels, n_segments, shift=shift_of(shift), smooth=smooth, position=position, downscale=downscale
        )
        with files.replacing(output) as draft:
            if output.suffix.lower() == ".npy":
                np.save(draft, found.labels)
            else:
                SegmentationDisplay.from_segmentation(found, pixels).figure_.savefig(draft, dpi=130)
    except (ValueError, MemoryError, OSError) as error:
        raise fail(str(error)) from error
    except KeyboardInterrupt:
        sys.stderr.write("dominantsets: interrupted; nothing is written.\n")
        raise typer.Exit(INTERRUPTED) from None
    sizes = np.bincount(found.labels.ravel()) / found.labels.size
    typer.echo(f"{len(found.clusters)} segments: " + ", ".join(f"{share:.1%}" for share in sizes))
    if len(found.clusters) < n_segments:
        typer.echo(f"fewer than {n_segments}: the rest of the picture falls to those found", err=True)
