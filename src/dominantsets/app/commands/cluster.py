"""Clusters of a file, and the clusters of new objects."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from dominantsets.app.commands._common import (
    INTERRUPTED,
    PARTIAL,
    PICTURES,
    TABLES,
    AffinityOption,
    AffinityParam,
    Algorithm,
    AssignOption,
    Columns,
    Convert,
    Drop,
    File,
    FormatOption,
    IdColumn,
    IsDistance,
    IsSimilarity,
    LabelColumn,
    LogLevel,
    MaxTime,
    MinClusterSize,
    NClusters,
    Noise,
    Plot,
    Quiet,
    RandomState,
    ScaleOption,
    Shift,
    WeightColumn,
    command_line,
    in_a_sentence,
    is_drawn,
    matrix_of,
    noise_of,
    params_of,
    say,
    spoken,
    table_of,
)


def cluster(
    file: File,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="Labels: .csv, .tsv or .parquet, - for standard output; of a graph also .graphml or .gexf.",
        ),
    ] = "-",
    n_clusters: NClusters = None,
    affinity: AffinityOption = "auto",
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
    shift: Shift = "auto",
    assign: AssignOption = "refine",
    noise: Noise = "auto",
    min_cluster_size: MinClusterSize = 1,
    random_state: RandomState = 0,
    algorithm: Annotated[Algorithm, typer.Option(help="The solver.")] = "auto",
    tol: Annotated[float, typer.Option(help="Relative gap at which a cluster counts as converged.")] = 1e-10,
    max_time: MaxTime = None,
    seed: Annotated[
        list[str] | None,
        typer.Option(
            help="Only the set around this object (its name, or its number from 0); may be repeated."
        ),
    ] = None,
    summary: Annotated[Path | None, typer.Option(help="JSON with every certificate.")] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(help="Claims about every cluster (.cert), and beside it the data, for dscheck.py."),
    ] = None,
    plot: Plot = None,
    report: Annotated[Path | None, typer.Option(help="A page with tables and pictures (.html).")] = None,
    quiet: Quiet = False,
    log_level: Annotated[LogLevel, typer.Option(help="info: a line on stderr for each cluster.")] = "warning",
) -> None:
    """Cluster the objects of a file: CSV and its kin, Parquet, .npy, .npz, Matrix Market, or a graph.

    Features are rows of numbers, with or without a line of names; commas, semicolons, tabs, bars or spaces
    between them are found out, and so are decimal commas. Graphs are edge lists, GraphML or GEXF. Labels come
    out with each object's probability (how typical it is of its cluster, 0 for noise) and an exemplar flag;
    -1 is noise.

    Example: dominantsets cluster iris.csv --label-column species -k 3 -o labels.csv --report iris.html
    """
    from dominantsets.app import files
    from dominantsets.app.job import Job

    logging.basicConfig(level=log_level.upper(), format="dominantsets: %(message)s")
    began = time.perf_counter()
    with in_a_sentence((plot or report) is not None) as written:
        job = Job(
            n_clusters=n_clusters,
            affinity=affinity,
            affinity_params=params_of(affinity_param),
            scale=scale,
            matrix=matrix_of(similarity, distance),
            convert=convert,
            shift=shift,
            assign=None if assign == "none" else assign,
            noise=noise_of(noise) if assign == "refine" else "auto",
            algorithm=algorithm,
            tol=tol,
            max_time=max_time,
            min_cluster_size=min_cluster_size,
            random_state=random_state,
        )
        table = table_of(
            file,
            [
                (output, (*TABLES, *files.GRAPHS)),
                (summary, (".json",)),
                (certificate, (".cert",)),
                (plot, PICTURES),
                (report, (".html", ".htm")),
            ],
            quiet,
            format=format,
            label_column=label_column,
            id_column=id_column,
            weight_column=weight_column,
            columns=files.listed(columns or ()),
            drop=files.listed(drop or ()),
        )
        write = files.writer_of(output, table)
        if seed:
            if summary or certificate or plot or report:
                raise files.FileError(
                    "--seed gives one set as labels; leave out --summary, --certificate, --plot and --report."
                )
            with spoken(quiet):
                found, labels, typical = job.around(table, seed)
            write(labels, typical, [found.exemplar])
            if not quiet:
                sys.stderr.write(f"{found!r}, {time.perf_counter() - began:.1f} s\n")
            return
        with spoken(quiet):
            result = job.run(table, bar=not quiet)
        model = result.model
        write(model.labels_, model.probabilities_, model.exemplars_)
        written.append(output)
        if summary is not None:
            files.write_text(summary, result.json())
            written.append(summary)
        if certificate is not None:
            written.extend(result.certify(certificate))
        draws = (plot or report) is not None and is_drawn(result.interrupted)
        if plot is not None and draws:
            with files.replacing(plot) as draft:
                result.draw(draft)
            written.append(plot)
        if report is not None and draws:
            from dominantsets.app.result_page import page_of

            files.write_text(report, page_of(result, Path(file).name, command_line()).html())
            written.append(report)
    if not quiet:
        sys.stderr.write(f"{result.line()}, {time.perf_counter() - began:.1f} s\n")
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    if result.partial:
        raise typer.Exit(PARTIAL)


def predict(
    known: Annotated[str, typer.Argument(help="The data to find clusters in.")],
    new: Annotated[str, typer.Argument(help="Other objects, with the same columns; - for standard input.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Labels of the new objects: .csv, .tsv, .parquet, or -.")
    ] = "-",
    n_clusters: NClusters = None,
    affinity: AffinityOption = "auto",
    affinity_param: AffinityParam = None,
    scale: ScaleOption = "none",
    columns: Columns = None,
    drop: Drop = None,
    label_column: LabelColumn = None,
    id_column: IdColumn = None,
    weight_column: WeightColumn = None,
    format: FormatOption = None,
    shift: Shift = "auto",
    assign: AssignOption = "refine",
    noise: Noise = "auto",
    min_cluster_size: MinClusterSize = 1,
    random_state: RandomState = 0,
    max_time: MaxTime = None,
    quiet: Quiet = False,
) -> None:
    """Find the clusters of one file, and say to which of them the objects of another belong.

    The labels are those that cluster gives the first file with the same options; -1 belongs to none. New
    objects may lack the columns that are no features.

    Example: dominantsets predict known.csv new.csv -k 3 --scale standard -o labels.csv
    """
    from dominantsets.app import files
    from dominantsets.app.job import Job

    logging.basicConfig(level="WARNING", format="dominantsets: %(message)s")
    began = time.perf_counter()
    with in_a_sentence():
        job = Job(
            n_clusters=n_clusters,
            affinity=affinity,
            affinity_params=params_of(affinity_param),
            scale=scale,
            shift=shift,
            assign=None if assign == "none" else assign,
            noise=noise_of(noise) if assign == "refine" else "auto",
            min_cluster_size=min_cluster_size,
            random_state=random_state,
            max_time=max_time,
        )
        if output != "-":
            files.check_writable(output, TABLES, tuple(name for name in (known, new) if name != "-"))
        options: dict[str, Any] = {
            "label_column": label_column,
            "id_column": id_column,
            "weight_column": weight_column,
            "columns": files.listed(columns or ()),
            "drop": files.listed(drop or ()),
        }
        table = files.read(known, format=format, **options)
        if table.graph:
            raise files.FileError(f"{known}: predict is for tables of features, and this is a graph.")
        others = files.read_like(new, table, **options)
        for name, told in ((known, table), (new, others)):
            for note in () if quiet else told.notes:
                say(f"{name}: {note}")
        with spoken(quiet):
            result = job.run(table, bar=not quiet)
            labels = result.predict(others)
        files.write_columns(output, others.ids, {"label": labels})
    if not quiet:
        left = f", {(labels < 0).sum():,} in none" if (labels < 0).any() else ""
        seconds = f"{time.perf_counter() - began:.1f} s"
        sys.stderr.write(f"{labels.size:,} new objects{left}; known: {result.line()}, {seconds}\n")
    if result.partial:
        raise typer.Exit(INTERRUPTED if result.interrupted else PARTIAL)
