"""A file that is written whole or not at all, whatever fails on the way.

Also where memory runs out, and stays so while a block is left: a draft's name is known before there is a
file, and as bytes, which the system takes as they are. Functions are short: where CPython (3.11 to 3.13)
leaves a block beyond the 256th place of a function, it makes a number of that place, and without memory
tries so forever. Names are text: asked for a Path's name without memory, Python raises TypeError.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator


@contextlib.contextmanager
def replacing(path: str) -> Iterator[str]:
    """A name beside ``path`` for a draft that takes its place when the block ends well, and goes when not.

    It is on the disk before it is renamed: after a loss of power there is the old file or the new one.
    """
    draft = _beside(path)
    name = os.fsencode(draft)
    try:
        yield draft
        _sync(draft)
        os.replace(draft, path)
    except BaseException:
        _remove(name)
        raise


def _beside(path: str) -> str:
    """A new name."""
    folder, last = os.path.split(path)
    return os.path.join(folder, f".{last}.{secrets.token_urlsafe(6)}{os.path.splitext(last)[1]}")


def _sync(name: str) -> None:
    with open(name, "rb+") as stream:
        os.fsync(stream.fileno())


def _remove(name: bytes) -> None:
    """Asks for no memory, unless there is no such file."""
    try:  # noqa: SIM105 (contextlib.suppress would ask for some)
        os.unlink(name)
    except OSError:  # what failed before is what is told
        pass
