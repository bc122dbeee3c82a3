"""Fixtures, and how tests of real data are skipped."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

pytest.register_assert_rewrite("support")

from dominantsets.similarity import kernel  # noqa: E402
from support import KINDS, similarity_of  # noqa: E402 (its asserts are rewritten first)

DTYPES = ("float64", "float32")

# A property must not depend on how fast the machine is, and a failure must be repeatable.
settings.register_profile(
    "dominantsets",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("dominantsets")
# Matrices are small here: on a busy machine the threads of BLAS wait for each other longer than they work.
threadpool_limits(1, user_api="blas")


@pytest.hookimpl(tryfirst=True)  # before marks are selected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "data_folder" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.data)
        slow = item.get_closest_marker("slow") or item.get_closest_marker("subprocess")
        if slow and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(600))  # on a busy machine


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Where the folder of real data is named, no test of it may be skipped."""
    report = yield
    if report.skipped and item.get_closest_marker("data") and os.environ.get("DOMINANTSETS_DATA"):
        report.outcome = "failed"
        report.longrepr = (
            f"DOMINANTSETS_DATA is set, and yet a test of real data is skipped: {report.longrepr}"
        )
    return report


@pytest.fixture(autouse=True)
def _ctrl_c_raises() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, also where we run in the background of a script, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data; without the variable the test is skipped, with it it must be there."""
    named = os.environ.get("DOMINANTSETS_DATA")
    if not named:
        pytest.skip("set DOMINANTSETS_DATA to the folder of real data to run this test")
    folder = Path(named)
    if not folder.is_dir():
        pytest.fail(f"DOMINANTSETS_DATA names {named}, which is not a folder")
    return folder


# kernels of few objects answer from a matrix that they keep: they are tested without it, too
KERNELS = ("rbf", "laplacian", "euclidean", "callable", "numbers", "sparse-rbf")
COMPUTED = [(k, t, "computed") for k in KERNELS for t in DTYPES]


@pytest.fixture(params=[(k, t) for k in KINDS for t in DTYPES] + COMPUTED, ids="-".join)
def kind(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, Any, np.ndarray, float]:
    """Every kind of similarity with its own dense matrix and the rounding of its storage."""
    name, dtype, *computed = request.param
    if computed:
        monkeypatch.setattr(kernel, "KEPT", 0)
    S, A = similarity_of(name, dtype, tmp_path)
    rounding = 1e-9 if name == "diffusion" else 1e-12  # of eigenvectors
    return name, S, A, rounding * float(A.max())
