"""Segments of a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dominantsets.app.commands._common import PICTURES, Quiet, fail, in_a_sentence, say, spoken
from dominantsets.compiled.interrupts import check

SEGMENTS = 5  # where neither a number nor strokes are given


def segment(
    image: Annotated[Path, typer.Argument(help="A picture (PNG, JPEG, TIFF, ...).")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The segment of each pixel, in the size of the picture: .png (colour k of its palette is "
            "segment k) or .npy.",
        ),
    ],
    figure: Annotated[
        Path | None, typer.Option(help="The picture with the segments' borders, beside their mean colours.")
    ] = None,
    n_segments: Annotated[
        int | None, typer.Option("--n-segments", "-k", min=1, help="Largest number of segments: 5.")
    ] = None,
    scribbles: Annotated[
        Path | None,
        typer.Option(
            help="Strokes instead of a number: a picture of the same size where every colour but black is a "
            "segment, or labels of the pixels (.npy)."
        ),
    ] = None,
    shift: Annotated[str, typer.Option(help="The resolution: a number, or auto.")] = "auto",
    smooth: Annotated[float, typer.Option(min=0, help="Blur beforehand, in pixels.")] = 1.0,
    position: Annotated[float, typer.Option(min=0, help="Weight of the pixels' places.")] = 0.0,
    downscale: Annotated[int, typer.Option(min=1, help="Work on an image this many times smaller.")] = 1,
    quiet: Quiet = False,
) -> None:
    """Segment a picture into dominant sets of its pixels, exactly, or into what goes with strokes on it.

    Example: dominantsets segment photo.jpg -k 4 -o labels.png --figure segments.png
    """
    import numpy as np

    from dominantsets.app import files
    from dominantsets.app.job import shift_of

    try:
        import matplotlib

        matplotlib.use("Agg")
        from dominantsets.plotting import SegmentationDisplay
        from dominantsets.segmentation import segment as segments_of
    except ModuleNotFoundError as error:
        raise fail(str(error)) from error
    with in_a_sentence() as written:
        files.check_readable(image)
        given = (str(image), str(scribbles))
        files.check_writable(output, files.LABEL_MAPS, given)
        if figure is not None:
            files.check_writable(figure, PICTURES, (*given, str(output)))
        pixels: Any = files.read_picture(image)
        strokes = None
        if scribbles is not None:
            files.check_readable(scribbles)
            strokes = files.read_strokes(scribbles)
        elif n_segments is None:
            n_segments = SEGMENTS
        with spoken(quiet):
            found = segments_of(
                pixels,
                n_segments,
                scribbles=strokes,
                shift=shift_of(shift),
                smooth=smooth,
                position=position,
                downscale=downscale,
            )
        files.write_label_map(output, found.labels)
        written.append(output)
        if figure is not None:
            with files.replacing(figure) as draft:
                drawn = SegmentationDisplay.from_segmentation(found, pixels).figure_
                check()
                drawn.savefig(draft, dpi=130)
            written.append(figure)
    if quiet:
        return
    sizes = np.unique(found.labels, return_counts=True)[1] / found.labels.size
    typer.echo(f"{len(sizes)} segments: " + ", ".join(f"{share:.1%}" for share in sizes))
    if n_segments is not None and len(sizes) < n_segments:
        say(f"fewer than {n_segments}: the rest of the picture falls to those found.")
