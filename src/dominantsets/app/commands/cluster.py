"""Clusters of a file."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated

import typer

from dominantsets.app.commands._common import (
    INTERRUPTED,
    PARTIAL,
    PICTURES,
    Affinity,
    Algorithm,
    Assign,
    Conversion,
    Format,
    LogLevel,
    fail,
)


def _noise(text: str) -> str | float | None:
    """What --noise means: none, a name, or a share."""
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def cluster(
    file: Annotated[
        str, typer.Argument(help="The data; - for standard input (CSV unless --format says else).")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Labels: .csv, .tsv or .parquet; - for standard output.")
    ] = "-",
    n_clusters: Annotated[
        int | None,
        typer.Option("--n-clusters", "-k", min=1, help="Largest number of clusters. [default: open]"),
    ] = None,
    affinity: Annotated[Affinity, typer.Option(help="How features become similar; auto finds out.")] = "auto",
    similarity: Annotated[
        bool, typer.Option("--similarity", help="The file holds an n × n similarity, not features.")
    ] = False,
    distance: Annotated[
        bool, typer.Option("--distance", help="The file holds an n × n distance (or edges with lengths).")
    ] = False,
    convert: Annotated[
        Conversion,
        typer.Option(
            help="How a distance D becomes a similarity: max (max D - D), gaussian (exp(-D²/median²)), "
            "path (chains of small steps); auto finds out."
        ),
    ] = "auto",
    shift: Annotated[
        str,
        typer.Option(
            help="The resolution: a number, the larger the larger the clusters; auto; guaranteed or "
            "sufficient, for no cluster below --min-cluster-size."
        ),
    ] = "auto",
    assign: Annotated[
        Assign,
        typer.Option(
            help="refine: every object where it fits best; average: those outside the cores join the cluster "
            "most like them; correlation: until no single move gains; mode: where a climb from each object "
            "ends; none: the cores alone."
        ),
    ] = "refine",
    noise: Annotated[
        str,
        typer.Option(
            "--noise",
            "--keep-noise",  # its name before version 0.2
            help="What refine leaves out as noise: auto, the background where the evidence is strong; none, "
            "nobody; cores, all outside the dominant sets; a number, that share of the objects.",
        ),
    ] = "auto",
    algorithm: Annotated[Algorithm, typer.Option(help="The solver.")] = "auto",
    tol: Annotated[float, typer.Option(help="Relative gap at which a cluster counts as converged.")] = 1e-10,
    max_time: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which to stop, with what is found.")
    ] = None,
    min_cluster_size: Annotated[int, typer.Option(min=1, help="Leave out smaller clusters.")] = 1,
    seed: Annotated[
        list[str] | None,
        typer.Option(
            help="Only the set around this object (its name, or its number from 0); may be repeated."
        ),
    ] = None,
    label_column: Annotated[str | None, typer.Option(help="Column with classes, to score against.")] = None,
    id_column: Annotated[str | None, typer.Option(help="Column with the objects' names.")] = None,
    format: Annotated[Format | None, typer.Option(help="The file's format. [default: by its ending]")] = None,
    summary: Annotated[Path | None, typer.Option(help="JSON with every certificate.")] = None,
    plot: Annotated[Path | None, typer.Option(help="A picture of the clusters (.png, .svg or .pdf).")] = None,
    report: Annotated[Path | None, typer.Option(help="A page with tables and pictures (.html).")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No bar, no summary line.")] = False,
    log_level: Annotated[LogLevel, typer.Option(help="info: a line on stderr for each cluster.")] = "warning",
) -> None:
    """Cluster the objects of a file: CSV, TSV, Parquet, .npy, .npz, Matrix Market, edge list or GraphML.

    Features are rows of numbers, with or without a line of names. Labels come out with each object's
    probability (how typical it is of its cluster, 0 for noise) and an exemplar flag; -1 is noise.

    Example: dominantsets cluster iris.csv --label-column species -k 3 -o labels.csv --report iris.html
    """
    from dominantsets.app import files
    from dominantsets.app.job import Job

    logging.basicConfig(level=log_level.upper(), format="dominantsets: %(message)s")
    job = Job(
        n_clusters=n_clusters,
        affinity=affinity,
        matrix="distance" if distance else "similarity" if similarity else None,
        convert=convert,
        shift=shift,
        assign=None if assign == "none" else assign,
        noise=_noise(noise) if assign == "refine" else "auto",
        algorithm=algorithm,
        tol=tol,
        max_time=max_time,
        min_cluster_size=min_cluster_size,
    )
    began = time.perf_counter()
    try:
        if similarity and distance:
            raise files.FileError("--similarity and --distance exclude each other.")
        inputs = () if file == "-" else (file,)
        if output != "-":
            files.check_writable(output, (".csv", ".tsv", ".tab", ".parquet"), inputs)
        for path, endings in ((summary, (".json",)), (plot, PICTURES), (report, (".html", ".htm"))):
            if path is not None:
                files.check_writable(path, endings, inputs)
        table = files.read(
            file,
            format=format,
            label_column=label_column,
            id_column=id_column,
        )
        if seed:
            if summary or plot or report:
                raise files.FileError(
                    "--seed gives one set as labels; leave out --summary, --plot and --report."
                )
            found, labels, typical = job.around(table, seed)
            files.write_labels(output, table.ids, labels, typical, [found.exemplar])
            if not quiet:
                sys.stderr.write(f"{found!r}, {time.perf_counter() - began:.1f} s\n")
            return
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = job.run(table, bar=not quiet)
        for warning in caught:
            if issubclass(warning.category, UserWarning):
                sys.stderr.write(f"dominantsets: {' '.join(str(warning.message).split())}\n")
        model = result.model
        files.write_labels(output, table.ids, model.labels_, model.probabilities_, model.exemplars_)
        if summary is not None:
            files.write_text(summary, result.json())
        if plot is not None:
            with files.replacing(plot) as draft:
                result.draw(draft)
        if report is not None:
            files.write_text(report, result.page(Path(file).name))
    except BrokenPipeError:  # the reader of a pipe has gone: not an error
        sys.stderr.close()
        raise typer.Exit(0) from None
    except ModuleNotFoundError as error:
        raise fail(str(error)) from error
    except (ValueError, MemoryError, OSError) as error:
        raise fail(str(error)) from error
    except KeyboardInterrupt:
        sys.stderr.write("dominantsets: interrupted before a cluster was found; nothing is written.\n")
        raise typer.Exit(INTERRUPTED) from None
    if not quiet:
        sys.stderr.write(f"{result.line()}, {time.perf_counter() - began:.1f} s\n")
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    if result.partial:
        raise typer.Exit(PARTIAL)
