"""What commands share: how they end, and the options that several of them have.

Exit codes: 0 done, 2 bad input or usage, 3 stopped early with partial results, 130 Ctrl-C.
"""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dominantsets._checks import NO_MEMORY, memory_explained
from dominantsets.app.commands._interrupts import at_work
from dominantsets.compiled.interrupts import check, listening

if TYPE_CHECKING:
    from dominantsets.app.files import Table

PARTIAL, INTERRUPTED = 3, 130
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
TABLES = (".csv", ".tsv", ".tab", ".parquet")
COMPILING = "compiling for this machine, which the first run does for all later ones ..."

# spelled out for the type checker and the help page; a test holds them against the library's own lists
Format = Literal["csv", "tsv", "txt", "parquet", "npy", "npz", "mtx", "edges", "graphml", "gexf"]
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
AuditAffinity = Literal[
    "sqeuclidean", "cosine", "linear", "rbf", "laplacian", "euclidean", "path", "diffusion"
]
Conversion = Literal["auto", "max", "gaussian", "path"]
Scale = Literal["none", "standard", "robust", "range"]
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
Assign = Literal["refine", "average", "none"]
Which = Literal["all", "synthetic", "newsgroups", "image", "multistart", "theory", "family"]
LogLevel = Literal["debug", "info", "warning", "error"]

File = Annotated[
    str,
    typer.Argument(help="The data; - for standard input (CSV unless --format says else). May end with .gz."),
]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="The file's format.", show_default="by its ending")
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        help="The features, such as x,y or 2-5: names, or numbers from 1.", show_default="all columns"
    ),
]
Drop = Annotated[list[str] | None, typer.Option(help="Columns that are no features, such as name,date.")]
IdColumn = Annotated[str | None, typer.Option(help="Column with the objects' names.")]
WeightColumn = Annotated[str | None, typer.Option(help="Column that says for how many objects each stands.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column with classes, to score against.")]
ScaleOption = Annotated[
    Scale,
    typer.Option(
        "--scale",
        help="Columns of different units: standard (mean 0, deviation 1), robust (median 0, quartiles 1 "
        "apart), range (0 to 1).",
    ),
]
NClusters = Annotated[
    int | None,
    typer.Option(
        "--n-clusters", "-k", min=1, help="Largest number of clusters.", show_default="the significant ones"
    ),
]
AffinityOption = Annotated[
    Affinity, typer.Option("--affinity", help="How features become similar; auto finds out.")
]
AffinityParam = Annotated[
    list[str] | None,
    typer.Option(help="A parameter of the affinity, such as gamma=0.5; may be repeated."),
]
IsSimilarity = Annotated[
    bool, typer.Option("--similarity", help="The file holds an n × n similarity, not features.")
]
IsDistance = Annotated[
    bool, typer.Option("--distance", help="The file holds an n × n distance (or edges with lengths).")
]
Convert = Annotated[
    Conversion,
    typer.Option(
        "--convert",
        help="How a distance D becomes a similarity: max (max D - D), gaussian (exp(-D²/median²)), "
        "path (chains of small steps); auto finds out.",
    ),
]
Shift = Annotated[
    str,
    typer.Option(
        help="The resolution: a number, the larger the larger the clusters; auto; guaranteed or "
        "sufficient, for no cluster below --min-cluster-size."
    ),
]
AssignOption = Annotated[
    Assign,
    typer.Option(
        "--assign",
        help="refine: every object where it fits best; average: those outside the cores join the cluster "
        "most like them; none: the cores alone.",
    ),
]
Noise = Annotated[
    str,
    typer.Option(
        "--noise",
        help="What refine leaves out as noise: auto, the background where the evidence is strong; none, "
        "no object; cores, all outside the dominant sets; a number, that share of the objects.",
    ),
]
MinClusterSize = Annotated[int, typer.Option(min=1, help="Leave out smaller clusters.")]
MaxTime = Annotated[
    float | None, typer.Option(min=0, help="Seconds after which to stop, with what is found.")
]
RandomState = Annotated[int, typer.Option(min=0, help="Seed of what is sampled: row sums of large kernels.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No bar, no notes, no summary line.")]
Plot = Annotated[Path | None, typer.Option(help="A picture (.png, .svg or .pdf).")]


def fail(sentence: str) -> typer.Exit:
    """One sentence on stderr, and the exit code of bad input."""
    say(sentence)
    return typer.Exit(2)


def say(sentence: str) -> None:
    """One line on stderr."""
    sys.stderr.write(f"dominantsets: {' '.join(str(sentence).split())}\n")


def command_line() -> str:
    """The command as it was given."""
    return shlex.join(["dominantsets", *sys.argv[1:]])


@contextmanager
def in_a_sentence(draws: bool = False) -> Iterator[list[str | Path]]:
    """Whatever goes wrong is one sentence and an exit code; what is written by then is put into the list."""
    written: list[str | Path] = []
    try:
        if draws:  # half a second, in which the flag would not be read; here Ctrl-C ends the process
            import dominantsets.plotting  # noqa: F401
        with memory_explained(NO_MEMORY), at_work(), listening():
            yield written
    except BrokenPipeError:  # the reader of a pipe has gone: not an error
        sys.stderr.close()
        raise typer.Exit(0) from None
    except (ModuleNotFoundError, ValueError, MemoryError, OSError) as error:
        raise fail(str(error)) from error
    except KeyboardInterrupt:
        done = ", ".join("the table" if path == "-" else str(path) for path in written)
        say(f"interrupted; {done} written, nothing else." if done else "interrupted; nothing is written.")
        raise typer.Exit(INTERRUPTED) from None


def is_drawn(interrupted: bool) -> bool:
    """Whether pictures are made: not after Ctrl-C, which is answered at once."""
    if interrupted:
        say("interrupted: the labels are written, pictures are left out.")
    else:
        check()
    return not interrupted


@contextmanager
def spoken(quiet: bool) -> Iterator[None]:
    """What a fit warns of is a line each, once; that it compiles is one, too."""
    from dominantsets.compiled.jit import telling

    check()  # Ctrl-C while the file was read: a fit would answer it with next to nothing
    with warnings.catch_warnings(record=True) as caught, telling(lambda: None if quiet else say(COMPILING)):
        warnings.simplefilter("always")
        yield
    for sentence in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)):
        say(sentence)


def params_of(texts: list[str] | None) -> dict[str, Any]:
    """Parameters from options such as gamma=0.5."""
    import ast

    from dominantsets.app.files import FileError

    params: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise FileError(f"--affinity-param {text} is not of the form name=value, such as gamma=0.5.")
        try:
            params[name] = ast.literal_eval(value.capitalize() if value.isalpha() else value)
        except (ValueError, SyntaxError):
            params[name] = value
    return params


def noise_of(text: str) -> str | float | None:
    """What --noise means: none, a name, or a share."""
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def matrix_of(similarity: bool, distance: bool) -> str | None:
    """What the file holds, where it does not hold features."""
    if similarity and distance:
        raise ValueError("--similarity and --distance exclude each other.")
    return "distance" if distance else "similarity" if similarity else None


def table_of(
    file: str, outputs: Sequence[tuple[str | Path | None, tuple[str, ...]]], quiet: bool, **columns: Any
) -> Table:
    """What a file holds, read once it is clear that the outputs can be written: each with its endings."""
    from dominantsets.app import files

    inputs = () if file == "-" else (file,)
    for path, endings in outputs:
        if path not in (None, "-"):
            files.check_writable(path, endings, inputs)
    table = files.read(file, **columns)
    for note in () if quiet else table.notes:
        say(f"{file}: {note}")
    return table
