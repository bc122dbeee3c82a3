"""Versions, threads, memory and extras: what a bug report and a page about results need."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from dominantsets._checks import memory_available
from dominantsets.compiled.threads import N_THREADS

_EXTRAS = {
    "cli": ("typer", "rich"),
    "plot": ("matplotlib", "skimage"),
    "io": ("pandas", "pyarrow", "networkx"),
    "dask": ("dask", "distributed"),
    "gpu": ("torch",),
}


def environment() -> list[tuple[str, Any]]:
    """Versions, threads, memory and extras."""
    free = memory_available()
    rows: list[tuple[str, Any]] = [
        ("dominantsets", version("dominantsets")),
        ("python", f"{platform.python_version()} ({platform.machine()}, {platform.system()})"),
    ]
    rows += [(name, version(name)) for name in ("numpy", "scipy", "scikit-learn", "numba", "joblib")]
    rows += [
        ("cores", os.cpu_count()),
        ("threads", N_THREADS),
        ("memory free", "unknown" if free is None else f"{free / 2**30:.1f} GiB"),
        ("NUMBA_CACHE_DIR", os.environ.get("NUMBA_CACHE_DIR", "not set")),
    ]
    for extra, modules in _EXTRAS.items():
        missing = [name for name in modules if find_spec(name) is None]
        found = [f"{name} {_version_of(name)}".strip() for name in modules if name not in missing]
        absent = f'missing {", ".join(missing)}: pip install "dominantsets[{extra}]"' if missing else ""
        rows.append((f"extra {extra}", "; ".join([*found, absent] if absent else found)))
    return rows


def provenance() -> list[tuple[str, Any]]:
    """What a page says about where its figures come from."""
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    return [
        ("dominantsets", version("dominantsets")),
        ("versions", ", ".join(f"{name} {version(name)}" for name in packages)),
        ("machine", f"{cpu()}, {os.cpu_count()} cores, Python {platform.python_version()}"),
    ]


def cpu() -> str:
    """The processor's name, as the system knows it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _version_of(module: str) -> str:
    package = {"skimage": "scikit-image"}.get(module, module)
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
