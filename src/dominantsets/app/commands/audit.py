"""An audit of the clusters that a column of a file has."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from dominantsets.app.commands._common import (
    TABLES,
    AffinityParam,
    AuditAffinity,
    Columns,
    Convert,
    Drop,
    File,
    FormatOption,
    IdColumn,
    IsDistance,
    IsSimilarity,
    Quiet,
    ScaleOption,
    command_line,
    in_a_sentence,
    matrix_of,
    params_of,
    spoken,
    table_of,
)


def audit(
    file: File,
    labels: Annotated[str, typer.Option("--labels", "-l", help="The column with the clusters; -1 is none.")],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="A suggestion per object: .csv, .tsv, .parquet, or -."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="A page with the tables (.html).")] = None,
    affinity: Annotated[
        AuditAffinity, typer.Option(help="How features become similar; path: groups of any shape.")
    ] = "sqeuclidean",
    affinity_param: AffinityParam = None,
    scale: ScaleOption = "none",
    columns: Columns = None,
    drop: Drop = None,
    id_column: IdColumn = None,
    format: FormatOption = None,
    similarity: IsSimilarity = False,
    distance: IsDistance = False,
    convert: Convert = "max",
    draws: Annotated[
        int, typer.Option(min=0, help="Draws of structureless data that the score is compared with.")
    ] = 19,
    quiet: Quiet = False,
) -> None:
    """Judge clusters of any method: which objects would move, which clusters are two, which pairs are one.

    Example: dominantsets audit iris.csv --labels species --scale standard -o moves.csv
    """
    from dominantsets.app import files
    from dominantsets.app.job import Job

    began = time.perf_counter()
    with in_a_sentence() as written:
        job = Job(
            affinity="auto" if similarity or distance else affinity,
            affinity_params=params_of(affinity_param),
            scale=scale,
            matrix=matrix_of(similarity, distance),
            convert=convert,
        )
        table = table_of(
            file,
            [(output, TABLES), (report, (".html", ".htm"))],
            quiet,
            format=format,
            label_column=labels,
            id_column=id_column,
            columns=files.listed(columns or ()),
            drop=files.listed(drop or ()),
        )
        with spoken(quiet):
            found = job.audit(table, draws)
        if output is not None:
            files.write_columns(output, table.ids, found.columns())
            written.append(output)
        if report is not None:
            files.write_text(report, found.page(Path(file).name, command_line()).html())
            written.append(report)
    sys.stdout.write("" if output == "-" else f"{found.result}\n")
    if not quiet:
        seconds = f"{time.perf_counter() - began:.1f} s"
        sys.stderr.write(
            f"{found.result.moves.size:,} of {len(found.given):,} objects would move, {seconds}\n"
        )
