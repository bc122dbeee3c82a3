"""What a result file says about the machine: nothing that names it."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version


def pin_threads(n: int = 1) -> None:
    """Set the thread pools' sizes; call before NumPy is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(n)


def machine() -> dict[str, object]:
    """CPU model, cores, memory and versions."""
    model = platform.processor() or "unknown"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            model = next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        pass
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "threads": int(os.environ.get("OMP_NUM_THREADS", "0")) or "not pinned",
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }
