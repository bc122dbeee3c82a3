"""The same labels on every machine: digests of a file, computed again here (benchmarks/same_labels.py)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "same_labels.py"
pytestmark = pytest.mark.skipif(
    not SCRIPT.is_file(), reason="benchmarks are in the repository, not in the sdist"
)


@pytest.fixture(name="script")
def imported(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import same_labels

    return same_labels


@pytest.fixture(name="known")
def recorded(script):
    return json.loads(script.RESULTS.read_text(encoding="utf-8"))["labels"]


def test_the_data_are_the_same_bits(script, known):
    assert len(known) == script.SEEDS + len(script.SHIPPED)
    assert {name: script.digest(X) for name, X in script.data_sets()} == {
        name: known[name]["data"] for name in known
    }


def test_labels_are_those_of_the_file(script, known):
    assert not script.differences(script.digests(seeds=20), known)


def test_labels_of_trees_do_not_depend_on_the_order_of_rows(script):
    """Pieces of one size are numbered by their lengths, not by the rows that come first."""
    for seed in range(0, 100, 4):
        X = script.drawn(seed)
        order = np.random.default_rng(seed).permutation(len(X))
        assert np.array_equal(script.labels_of(X, "path"), script.labels_of(X, "path", order)), seed


@pytest.mark.slow
@pytest.mark.subprocess
@pytest.mark.timeout(900)
@pytest.mark.parametrize("setting", ["1 thread", "2 threads", "generic processor", "OpenBLAS Haswell"])
def test_labels_under_other_settings(setting, script):
    command = [sys.executable, str(SCRIPT), "--here", "--seeds", "20"]
    run = subprocess.run(
        command, env=os.environ | script.SETTINGS[setting], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
