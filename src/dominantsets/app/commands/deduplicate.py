"""Near copies among the records of a file."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from dominantsets.app.commands._common import TABLES, File, Quiet, in_a_sentence, spoken

TEXT_TABLES = (".csv", ".tsv", ".tab")


def deduplicate(
    file: File,
    text: Annotated[
        list[str], typer.Option("--text", help="The columns that are compared, such as name,address.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", help="The records kept: .csv, .tsv, or -.")],
    drops: Annotated[
        str | None,
        typer.Option(help="A row per dropped record, with the one kept for it: .csv, .tsv, .parquet."),
    ] = None,
    max_size: Annotated[int, typer.Option(min=2, help="Most near copies of one record.")] = 50,
    quiet: Quiet = False,
) -> None:
    """Keep one record of each group of near copies, by the trigrams of columns of text.

    Example: dominantsets deduplicate people.csv --text name,address -o kept.csv --drops drops.csv
    """
    from dominantsets.app import files
    from dominantsets.deduplication import deduplicate as deduplicated

    with in_a_sentence() as written:
        for path, endings in ((output, TEXT_TABLES), (drops, TABLES)):
            if path not in (None, "-"):
                files.check_writable(path, endings, () if file == "-" else (file,))
        records = files.read_records(file)
        texts = records.texts(files.listed(text))
        with spoken(quiet):
            found = deduplicated(texts, max_size=max_size)
        files.write_records(output, records, found.kept)
        written.append(output)
        if drops is not None:
            member, keeper = found.drops["member"], found.drops["keeper"]
            columns = {
                "keeper": keeper + 1,
                "similarity": found.drops["similarity"],
                "nearness": found.drops["nearness"],
                "text": [texts[i] for i in member],
                "keeper text": [texts[i] for i in keeper],
            }
            files.write_columns(drops, [str(i + 1) for i in member], columns)
            written.append(drops)
    if not quiet:
        sys.stderr.write(f"{found}\n")
