"""What a bug report needs."""

from __future__ import annotations

from typing import Any

import typer


def info() -> None:
    """Versions, threads, memory and extras: what a bug report needs.

    Example: dominantsets info
    """
    from dominantsets.app.machine import environment

    table: list[tuple[str, Any]] = environment()
    width = max(len(name) for name, _ in table)
    for name, value in table:
        typer.echo(f"{name:{width}}  {value}")
