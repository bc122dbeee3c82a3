"""Leaves out doctests of modules whose extra is not installed, and with --rest what has passed before.

A test that cannot be imported is an error.
"""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

NEEDS = {  # what a module imports at its top, or its example needs
    "torch": [
        "rows/tensors.py",
        "rows/tensor_*.py",
        "rows/fused.py",
        "rows/graphs.py",
        "rows/tiles.py",
        "solvers/tensor_*.py",
    ],
    "dask": ["rows/parquet.py"],
    "pyarrow": ["rows/parquet.py"],
    "triton": ["rows/triton_*.py"],
    "matplotlib": ["plotting/*.py", "app/*.py", "studies/experiments/*.py"],
    "skimage": ["segmentation.py", "app/*.py", "studies/experiments/*.py"],
    "typer": ["app/cli.py", "app/commands/*.py"],
}
_package = Path(__file__).parent / "src" / "dominantsets"
collect_ignore = [
    str(path)
    for library, patterns in NEEDS.items()
    if find_spec(library) is None
    for pattern in patterns
    for path in _package.glob(pattern)
]

PASSED = "dominantsets/passed"  # in pytest's cache: the tests that the last run without --rest passed


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rest",
        action="store_true",
        help="only what the last run did not pass: it was left out, or lacked data or a package",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """``-n auto``: a process takes half a gigabyte, and compiles what the others compile."""
    return min(4, os.cpu_count() or 1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("rest"):
        passed = set(config.cache.get(PASSED, []))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not config.getoption("rest") and hasattr(config, "cache"):  # which -p no:cacheprovider leaves out
        config.cache.set(PASSED, [report.nodeid for report in terminalreporter.stats.get("passed", [])])
