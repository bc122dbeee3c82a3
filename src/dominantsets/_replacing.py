"""A file that is written whole or not at all, whatever fails on the way."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends well, and goes when not.

    It is on the disk before it is renamed: after a loss of power there is the old file or the new one.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    draft = Path(name)
    try:
        os.close(handle)
        yield draft
        with draft.open("rb+") as stream:
            os.fsync(stream.fileno())
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o666 & ~mask)  # a temporary file is private; the result need not be
        draft.replace(path)
    finally:
        with contextlib.suppress(OSError):  # what failed before is what is told
            draft.unlink(missing_ok=True)
