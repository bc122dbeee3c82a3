"""The tree of groups of a file."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from dominantsets.app.commands._common import (
    INTERRUPTED,
    PARTIAL,
    PICTURES,
    TABLES,
    Affinity,
    AffinityParam,
    Columns,
    Convert,
    Drop,
    File,
    FormatOption,
    IdColumn,
    IsDistance,
    IsSimilarity,
    LabelColumn,
    MaxTime,
    MinClusterSize,
    Plot,
    Quiet,
    ScaleOption,
    WeightColumn,
    in_a_sentence,
    is_drawn,
    matrix_of,
    params_of,
    spoken,
    table_of,
)


def hierarchy(
    file: File,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="A column of labels for each cut: .csv, .tsv, .parquet, or -."),
    ] = "-",
    cut: Annotated[
        list[int] | None,
        typer.Option(
            "--cut",
            "-k",
            min=1,
            help="So many groups; may be repeated.",
            show_default="the significant ones",
        ),
    ] = None,
    tree: Annotated[
        Path | None, typer.Option(help="JSON with every group: its parent, shifts, exemplar, objects.")
    ] = None,
    plot: Plot = None,
    affinity: Annotated[
        Affinity, typer.Option(help="How features become similar; auto: as ``cluster`` finds out.")
    ] = "auto",
    affinity_param: AffinityParam = None,
    scale: ScaleOption = "none",
    columns: Columns = None,
    drop: Drop = None,
    label_column: LabelColumn = None,
    id_column: IdColumn = None,
    weight_column: WeightColumn = None,
    format: FormatOption = None,
    similarity: IsSimilarity = False,
    distance: IsDistance = False,
    convert: Convert = "auto",
    min_cluster_size: MinClusterSize = 1,
    max_time: MaxTime = None,
    quiet: Quiet = False,
) -> None:
    """The tree of groups within groups, cut wherever you like: as the shift rises, groups merge.

    Example: dominantsets hierarchy iris.csv --drop species -k 2 -k 3 -o groups.csv --plot tree.png
    """
    from dominantsets.app import files
    from dominantsets.app.job import Job

    began = time.perf_counter()
    with in_a_sentence(plot is not None) as written:
        job = Job(
            affinity=affinity,
            affinity_params=params_of(affinity_param),
            scale=scale,
            matrix=matrix_of(similarity, distance),
            convert=convert,
            min_cluster_size=min_cluster_size,
            max_time=max_time,
        )
        table = table_of(
            file,
            [(output, TABLES), (tree, (".json",)), (plot, PICTURES)],
            quiet,
            format=format,
            label_column=label_column,
            id_column=id_column,
            weight_column=weight_column,
            columns=files.listed(columns or ()),
            drop=files.listed(drop or ()),
        )
        with spoken(quiet):
            grown = job.grow(table)
            columns_of_labels = grown.cuts(cut or [])
        files.write_columns(output, table.ids, columns_of_labels)
        written.append(output)
        if tree is not None:
            files.write_text(tree, grown.json())
            written.append(tree)
        if plot is not None and is_drawn(grown.interrupted):
            with files.replacing(plot) as draft:
                grown.draw(draft, max(cut) if cut else None)
            written.append(plot)
    if not quiet:
        sys.stderr.write(f"{grown.line()}, {time.perf_counter() - began:.1f} s\n")
    if grown.partial:
        raise typer.Exit(INTERRUPTED if grown.interrupted else PARTIAL)
