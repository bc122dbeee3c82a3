"""Leaves out doctests of modules whose extra is not installed; a test that cannot be imported is an error."""

from importlib.util import find_spec
from pathlib import Path

NEEDS = {  # what a module imports at its top
    "torch": ["rows/tensors.py", "rows/tensor_operations.py", "rows/tiles.py", "solvers/tensor_*.py"],
    "triton": ["solvers/triton_kernels.py"],
    "matplotlib": ["plotting/*.py", "app/*.py", "app/experiments/*.py"],
    "skimage": ["segmentation.py", "app/*.py", "app/experiments/*.py"],
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
