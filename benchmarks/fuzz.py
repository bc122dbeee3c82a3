"""Damaged files through the readers: each is read, or refused in one sentence, in little time and memory.

Run ``python benchmarks/fuzz.py [--count 100000] [--first 0] [--keep FOLDER]``; it prints a table and writes
results/fuzz.json. Files are those of tests/bad_files.py: whole ones of every format with one to four changes
(bits, bytes, odd words, cuts, copies, pieces of other formats). The process may use 1 GiB more than it has when
the readers are loaded, and a file may take 10 s; what exceeds either, or raises anything but FileError, is a fault,
and is kept in FOLDER.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]
from _machine import machine, pin_threads  # noqa: E402

pin_threads(1)
from bad_files import FORMATS, WHOLE, damaged  # noqa: E402
from dominantsets.app.files import FileError, read  # noqa: E402

MEMORY = 2**30
SECONDS = 10


def outcome(path: Path, column: str | None) -> str:
    """What became of a file: "read", "refused", or the name of an error."""
    signal.alarm(SECONDS)
    try:
        table = read(str(path), label_column=column)
        return "read" if table.data.ndim == 2 else "no table"
    except FileError as error:
        return "refused" if "\n" not in str(error) else "more than one line"
    except TimeoutError:
        return "more than 10 s"
    except Exception as error:
        return type(error).__name__
    finally:
        signal.alarm(0)


def too_long(*_: Any) -> None:
    raise TimeoutError


def run(first: int, count: int, keep: Path | None) -> dict[str, Any]:
    signal.signal(signal.SIGALRM, too_long)
    results = {format: Counter[str]() for format in FORMATS}
    slowest = dict.fromkeys(FORMATS, 0.0)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for format in FORMATS:  # loads the libraries
            path = Path(folder) / f"whole.{format}"
            path.write_bytes(WHOLE[format][0])
            read(str(path), label_column="kind" if format in ("csv", "tsv") else None)
        now = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
        for number in range(first, first + count):
            format, raw, column = damaged(number)
            path = Path(folder) / f"file.{format}"
            path.write_bytes(raw)
            began = time.process_time()
            said = outcome(path, column)
            slowest[format] = max(slowest[format], time.process_time() - began)
            results[format][said] += 1
            if said not in ("read", "refused") and keep is not None:
                (keep / f"{number}-{said}.{format}").write_bytes(raw)
    return {
        format: {
            "files": sum(found.values()),
            "read": found.pop("read", 0),
            "refused": found.pop("refused", 0),
            "faults": dict(found),
            "slowest_s": round(slowest[format], 3),
        }
        for format, found in results.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first file")
    parser.add_argument("--keep", type=Path, help="a folder for the files that are faults")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "fuzz.json")
    args = parser.parse_args()
    rows = run(args.first, args.count, args.keep)
    print(f"{'format':8} {'files':>9} {'read':>9} {'refused':>9} {'faults':>7} {'slowest':>9}")
    for format, row in rows.items():
        print(
            f"{format:8} {row['files']:9,} {row['read']:9,} {row['refused']:9,} "
            f"{sum(row['faults'].values()):7} {row['slowest_s']:7.3f} s"
        )
    faults = sum(sum(row["faults"].values()) for row in rows.values())
    print(f"{args.count:,} files, {faults} faults")
    about = {"machine": machine(), "first": args.first, "count": args.count, "faults": faults}
    content = {**about, "formats": rows}
    args.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
