"""Damaged files through the readers: each is read, or refused in one sentence, in little time and memory.

Run ``nice python benchmarks/fuzz.py --n 1000000``; it prints a table and writes results/fuzz.json. A run that
was stopped goes on where it was; ``--afresh`` counts from nothing. Files are those of tests/bad_files.py:
whole ones of every format with one to four changes (bits, bytes, odd words, cuts, copies, pieces of others).

A forked process reads BATCH files. It may use 1 GiB more than it has when the readers are loaded, and a file
may take 10 s; what exceeds either, raises anything but FileError, or brings the process down is a fault. They
are listed by number, so that ``damaged(number)`` makes the file again, and belong into
tests/units/app/corpus.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]
from _machine import pin_threads  # noqa: E402

pin_threads(1)
from _resumed import go_on  # noqa: E402
from bad_files import FORMATS, WHOLE, damaged  # noqa: E402
from dominantsets.app.files import FileError, read  # noqa: E402

RESULTS = HERE / "results" / "fuzz.json"
MEMORY = 2**30
SECONDS = 10
BATCH = 4_000
SAVED_EVERY = 5  # batches
FINE = ("read", "refused")


class Tally:
    """Outcomes by format, the slowest file of each, and the numbers of faults."""

    def __init__(self, known: dict[str, Any]) -> None:
        formats = known.get("formats", {})
        self.outcomes = {name: Counter[str](formats.get(name, {}).get("outcomes", {})) for name in FORMATS}
        self.slowest = {name: float(formats.get(name, {}).get("slowest_s", 0.0)) for name in FORMATS}
        self.faults: list[list[Any]] = known.get("faults", [])

    def add(self, number: int, format: str, said: str, seconds: float) -> None:
        self.outcomes[format][said] += 1
        self.slowest[format] = max(self.slowest[format], round(seconds, 3))
        if said not in FINE:
            self.faults.append([number, said])

    def made(self) -> int:
        return sum(found.total() for found in self.outcomes.values())

    def failed(self, number: int, error: Exception) -> None:
        raise error  # of this script, not of a reader

    def content(self) -> dict[str, Any]:
        rows = {
            name: {"outcomes": dict(found), "slowest_s": self.slowest[name]}
            for name, found in self.outcomes.items()
        }
        return {"files": self.made(), "faults": self.faults, "formats": rows}

    def show(self) -> None:
        print(f"{'format':8} {'files':>9} {'read':>9} {'refused':>9} {'faults':>7} {'slowest':>9}")
        for name, found in self.outcomes.items():
            files, fine = found.total(), [found[what] for what in FINE]
            print(
                f"{name:8} {files:9,} {fine[0]:9,} {fine[1]:9,} {files - sum(fine):7} "
                f"{self.slowest[name]:7.3f} s"
            )
        print(f"{self.made():,} files, {len(self.faults)} faults {self.faults or ''}")


def outcome(path: Path, column: str | None) -> str:
    """What became of a file: "read", "refused", or the name of an error."""
    signal.alarm(SECONDS)
    try:
        table = read(str(path), label_column=column)
        return "read" if table.data.ndim == 2 else "no table"
    except FileError as error:
        return "refused" if "\n" not in str(error) else "more than one line"
    except TimeoutError:
        return f"more than {SECONDS} s"
    except Exception as error:
        return type(error).__name__
    finally:
        signal.alarm(0)


def too_long(*_: Any) -> None:
    raise TimeoutError


def load_readers(folder: Path) -> None:
    """Whole files, once: the libraries that read them are then there."""
    for format in FORMATS:
        path = folder / f"whole.{format}"
        path.write_bytes(WHOLE[format][0])
        read(str(path), label_column="kind" if format in ("csv", "tsv") else None)


def read_all(first: int, folder: Path, at: mmap.mmap, answers: int) -> None:
    """In a process of its own: the files from ``first`` on, up to the end of their batch."""
    signal.signal(signal.SIGALRM, too_long)
    now = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    with os.fdopen(answers, "w", encoding="utf-8") as out:
        for number in range(first, first - first % BATCH + BATCH):
            at[:8] = struct.pack("q", number)
            format, raw, column = damaged(number)
            path = folder / f"file.{format}"
            path.write_bytes(raw)
            began = time.process_time()
            said = outcome(path, column)
            print(json.dumps([number, format, said, time.process_time() - began]), file=out, flush=True)


def one_batch(tally: Tally, batch: int) -> None:
    """A batch of files; after one that brings the process down, another process reads the rest."""
    number, rows = batch * BATCH, []
    at = mmap.mmap(-1, 8)  # the number of the file that is being read
    with tempfile.TemporaryDirectory() as folder:
        load_readers(Path(folder))
        while number < (batch + 1) * BATCH:
            ours, theirs = os.pipe()
            child = os.fork()
            if not child:
                code = 1
                try:
                    read_all(number, Path(folder), at, theirs)
                    code = 0
                finally:
                    os._exit(code)
            os.close(theirs)
            with os.fdopen(ours, encoding="utf-8") as lines:
                rows += [json.loads(line) for line in lines]
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            number = struct.unpack("q", at[:8])[0] + 1
            if code:
                rows.append([number - 1, damaged(number - 1)[0], f"the process ended with {code}", 0.0])
    for row in rows:
        tally.add(*row)


if __name__ == "__main__":
    go_on(__doc__, RESULTS, Tally, one_batch, n=1_000_000, every=SAVED_EVERY)
