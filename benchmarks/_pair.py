"""Two checkouts side by side: an old one, named by ``--old``, and the one that holds the scripts."""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
NEW = HERE.parent


def parser(description: str | None) -> argparse.ArgumentParser:
    """Options that all comparisons have."""
    out = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    out.add_argument(
        "--old",
        type=Path,
        required=True,
        help="a checkout of the old commit, such as `git worktree add ../old COMMIT` makes",
    )
    out.add_argument("--new", type=Path, default=NEW, help="the other one; by default, that of this script")
    out.add_argument("--out", type=Path, help="instead of the file in benchmarks/results")
    return out


def checkouts(args: argparse.Namespace) -> dict[str, Path]:
    """The roots of both, where there is a package in them."""
    roots = {"old": args.old.resolve(), "new": args.new.resolve()}
    for name, root in roots.items():
        if not (package(root) / "__init__.py").is_file():
            raise SystemExit(f"--{name}: there is no package src/dominantsets in that folder.")
    return roots


def package(root: Path) -> Path:
    return root / "src" / "dominantsets"


def commit(root: Path) -> str:
    """The commit of a checkout, with a plus where files of the package are changed."""

    def ask(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    try:
        name = ask("rev-parse", "--short", "HEAD")
        return name + ("+" if name and ask("status", "--porcelain", "--", "src") else "") or "unknown"
    except OSError:  # no git
        return "unknown"


def environment(root: Path, threads: int | None = None) -> dict[str, str]:
    """Variables for a process that imports the package of a checkout."""
    out = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    if threads is not None:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
            out[name] = str(threads)
    return out


def require(root: Path) -> None:
    """In such a process: refuse to measure another package than that of the checkout."""
    import dominantsets

    if Path(dominantsets.__file__).resolve().parent != package(root.resolve()):
        raise SystemExit("dominantsets was imported from another place than the checkout.")
