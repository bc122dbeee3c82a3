"""Fixed problems take no more work than they did: counts, not seconds (benchmarks/counts.py)."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
MORE = 1.05
SLACK = 2  # of small counts, where one step by rounding is more than 5 %


@pytest.fixture(scope="module")
def counted():
    spec = importlib.util.spec_from_file_location("counts", BENCHMARKS / "counts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.counts()


@pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="benchmarks are in the repository, not in the sdist")
def test_no_problem_takes_more_work_than_it_did(counted):
    before = json.loads((BENCHMARKS / "results" / "counts.json").read_text(encoding="utf-8"))["counts"]
    assert counted.keys() == before.keys()
    assert all(sum(row.values()) > 0 for row in counted.values())
    risen = {
        (problem, kind): (before[problem].get(kind, 0), count)
        for problem, row in counted.items()
        for kind, count in row.items()
        if count > MORE * before[problem].get(kind, 0) + SLACK
    }
    assert not risen, "was, is; a change that is meant to take more runs benchmarks/counts.py again"
