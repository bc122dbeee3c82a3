"""The command line: thin commands over the library.

Exit codes: 0 done, 2 bad input or usage, 3 stopped early with partial results, 130 Ctrl-C.
"""

from __future__ import annotations

import logging
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table as RichTable

from dominantsets import __version__
from dominantsets.app import files
from dominantsets.app.job import Job, environment, shift_of

app = typer.Typer(
    help="Dominant set clustering: groups whose members are more alike than anything outside.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 2 bad input or usage, 3 stopped early with partial results, 130 Ctrl-C "
    "(partial results are written). Tab completion: dominantsets --install-completion.",
)
PARTIAL, INTERRUPTED = 3, 130
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
SEGMENTS = 5  # where neither a number nor strokes are given

# spelled out for the type checker and the help page; a test holds them against the library's own lists
Format = Literal["csv", "tsv", "parquet", "npy", "npz", "mtx", "edges", "graphml"]
Affinity = Literal[
    "auto",
    "sqeuclidean",
    "cosine",
    "linear",
    "rbf",
    "laplacian",
    "euclidean",
    "nearest_neighbors",
    "diffusion",
    "embedding",
    "ellipses",
    "path",
]
Conversion = Literal["auto", "max", "gaussian", "path"]
Algorithm = Literal[
    "auto",
    "fw",
    "pairwise",
    "away",
    "inimdyn",
    "replicator",
    "exponential-replicator",
    "trajectory",
    "shrink-expand",
    "path-following",
    "working-set",
    "dual",
    "exact",
]
Assign = Literal["refine", "average", "correlation", "mode", "none"]
Which = Literal["all", "synthetic", "newsgroups", "image", "multistart", "theory", "family"]
LogLevel = Literal["debug", "info", "warning", "error"]


def _fail(sentence: str) -> typer.Exit:
    """One sentence on stderr, and the exit code of bad input."""
    sys.stderr.write(f"dominantsets: {' '.join(str(sentence).split())}\n")
    return typer.Exit(2)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dominantsets {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Dominant set clustering: groups whose members are more alike than anything outside."""


def _noise(text: str) -> str | float | None:
    """What --noise means: none, a name, or a share."""
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        return text


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for demo.html and the pictures.")] = Path("demo"),
) -> None:
    """Four short stories on data that ships with the dependencies: tables here, pictures in a page.

    Example: dominantsets demo --out demo
    """
    console = Console()
    try:
        import matplotlib

        matplotlib.use("Agg")
        from dominantsets.app.demo import HEAD, stories
        from dominantsets.app.report import Report
        from dominantsets.plotting import plt
    except ModuleNotFoundError as error:
        raise _fail(str(error)) from error
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _fail(f"{out}: cannot be made a folder ({error.strerror}).") from error
    page, began = Report("dominantsets: a demonstration"), time.perf_counter()
    page.text(f"dominantsets {__version__}. Everything below was computed on this machine just now.", "note")
    try:
        parts = stories()
        while True:
            with Console(stderr=True).status("clustering (the first run compiles) ..."):
                story = next(parts, None)
            if story is None:
                break
            page.section(story.title).text(story.text)
            console.print(f"\n[bold]{story.title}[/bold]\n{story.text}", highlight=False)
            if story.rows:
                table = RichTable()
                width = len(HEAD) - (not any(row[-1] for row in story.rows))  # a column of nothing goes
                for place, name in enumerate(HEAD[:width]):
                    table.add_column(name, justify="right" if place else "left", no_wrap=True)
                for row in story.rows:
                    table.add_row(*row[:width])
                console.print(table)
                page.table(HEAD[:width], [row[:width] for row in story.rows])
            if story.note:
                page.text(story.note, "note")
            for name, figure, caption in story.pictures:
                with files.replacing(out / f"{name}.png") as draft:
                    figure.savefig(draft, dpi=110)
                page.figure(figure, caption)
                plt.close(figure)
    except KeyboardInterrupt:
        page.text("Interrupted here: this page is partial.", "warning")
        files.write_text(out / "demo.html", page.html())
        sys.stderr.write(f"dominantsets: interrupted; {out / 'demo.html'} is partial.\n")
        raise typer.Exit(INTERRUPTED) from None
    except files.FileError as error:
        raise _fail(str(error)) from error
    files.write_text(out / "demo.html", page.html())
    seconds = time.perf_counter() - began
    console.print(
        f"\nPictures and [bold]{out / 'demo.html'}[/bold] are written; {seconds:.0f} s in all.",
        highlight=False,
    )


@app.command()
def reproduce(
    study: Annotated[Which, typer.Argument(help="Which of the paper's studies.")] = "all",
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version of everything, about two minutes.")
    ] = False,
    literal: Annotated[
        bool, typer.Option("--literal", help="Newsgroups with the shift that the text states (cosine + 16).")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for results; a stopped run resumes there.")] = Path(
        "reproduction"
    ),
) -> None:
    """Run the paper's studies and set our figures beside the paper's: tables, pictures, CSV and a page.

    Example: dominantsets reproduce synthetic --quick --out reproduction
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from dominantsets.app.experiments import STUDIES
        from dominantsets.app.experiments.pages import reproduce_studies
    except ModuleNotFoundError as error:
        raise _fail(str(error)) from error
    names: list[str] = list(STUDIES) if study == "all" else [study]
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        out.mkdir(parents=True, exist_ok=True)
        with Progress(*columns, console=Console(stderr=True)) as bar:
            tasks = {name: bar.add_task(name, total=None) for name in names}

            def tell(name: str, done: int, total: int) -> None:
                bar.update(tasks[name], completed=done, total=total)

            left_out = reproduce_studies(names, out, quick=quick, literal=literal, tell=tell)
    except KeyboardInterrupt:
        sys.stderr.write(f"dominantsets: stopped; what is done is kept in {out}, run it again to go on.\n")
        raise typer.Exit(INTERRUPTED) from None
    except (ValueError, RuntimeError, OSError) as error:
        raise _fail(str(error)) from error
    for name, reason in left_out.items():
        sys.stderr.write(f"dominantsets: {name} is left out: {reason}\n")
    typer.echo(f"{out / 'report.html'} is written.")
    if left_out:
        raise typer.Exit(PARTIAL)


@app.command(name="cluster")
def cluster_command(
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
        raise _fail(str(error)) from error
    except (ValueError, MemoryError, OSError) as error:
        raise _fail(str(error)) from error
    except KeyboardInterrupt:
        sys.stderr.write("dominantsets: interrupted before a cluster was found; nothing is written.\n")
        raise typer.Exit(INTERRUPTED) from None
    if not quiet:
        sys.stderr.write(f"{result.line()}, {time.perf_counter() - began:.1f} s\n")
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)
    if result.partial:
        raise typer.Exit(PARTIAL)


@app.command(name="segment")
def segment_command(
    image: Annotated[Path, typer.Argument(help="A picture (PNG, JPEG, TIFF, ...).")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Labels of the pixels (.npy), or a picture of the segments."),
    ],
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
) -> None:
    """Segment a picture into dominant sets of its pixels, exactly, or into what goes with strokes on it.

    Example: dominantsets segment photo.jpg -k 4 -o segments.png
    """
    import numpy as np

    try:
        import matplotlib

        matplotlib.use("Agg")
        from dominantsets.plotting import SegmentationDisplay
        from dominantsets.segmentation import segment
    except ModuleNotFoundError as error:
        raise _fail(str(error)) from error
    try:
        files.check_readable(image)
        files.check_writable(output, (".npy", *PICTURES), (str(image), str(scribbles)))
        pixels, strokes = files.read_picture(image), None
        if scribbles is not None:
            files.check_readable(scribbles)
            strokes = files.read_strokes(scribbles)
        elif n_segments is None:
            n_segments = SEGMENTS
        found = segment(
            pixels,
            n_segments,
            scribbles=strokes,
            shift=shift_of(shift),
            smooth=smooth,
            position=position,
            downscale=downscale,
        )
        with files.replacing(output) as draft:
            if output.suffix.lower() == ".npy":
                np.save(draft, found.labels)
            else:
                SegmentationDisplay.from_segmentation(found, pixels).figure_.savefig(draft, dpi=130)
    except (ValueError, MemoryError, OSError) as error:
        raise _fail(str(error)) from error
    except KeyboardInterrupt:
        sys.stderr.write("dominantsets: interrupted; nothing is written.\n")
        raise typer.Exit(INTERRUPTED) from None
    sizes = np.unique(found.labels, return_counts=True)[1] / found.labels.size
    typer.echo(f"{len(sizes)} segments: " + ", ".join(f"{share:.1%}" for share in sizes))
    if n_segments is not None and len(sizes) < n_segments:
        typer.echo(f"fewer than {n_segments}: the rest of the picture falls to those found", err=True)


@app.command()
def info() -> None:
    """Versions, threads, memory and extras: what a bug report needs.

    Example: dominantsets info
    """
    table: list[tuple[str, Any]] = environment()
    width = max(len(name) for name, _ in table)
    for name, value in table:
        typer.echo(f"{name:{width}}  {value}")
