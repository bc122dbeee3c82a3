"""Fits at the same time, and in odd surroundings: the labels are those of one fit alone."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.datasets import make_blobs

from dominantsets import DominantSets
from support import neighbor_graph, random_similarity

X, _ = make_blobs(240, centers=4, n_features=3, random_state=0)
CASES = {
    "scales": (X, {"affinity": "sqeuclidean"}),
    "peeling": (X, {"n_clusters": 4, "affinity": "rbf", "shift": 1.0}),
    "path": (X, {"affinity": "path", "n_clusters": 4}),
    "auto": (X, {"n_clusters": 4}),
    "matrix": (random_similarity(80, 0), {"n_clusters": 2, "affinity": "precomputed", "shift": 1.0}),
    "graph": (neighbor_graph(200), {"affinity": "precomputed"}),
    "sparse rows": (sp.csr_array(np.abs(X)), {"n_clusters": 3, "affinity": "cosine", "shift": 1.0}),
}


def labels_of(name):
    data, options = CASES[name]
    return DominantSets(**options).fit(data).labels_


@pytest.fixture(scope="module")
def alone():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: labels_of(name) for name in CASES}


@pytest.mark.filterwarnings("ignore")
def test_eight_threads_at_once(alone):
    """All kinds beside each other, each three times, on one similarity matrix and graph."""
    names = [*CASES] * 3
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(labels_of, names))
    for name, labels in zip(names, together, strict=True):
        np.testing.assert_array_equal(labels, alone[name], err_msg=name)


@pytest.mark.filterwarnings("ignore")
def test_one_estimator_is_cloned_by_joblib_threads(alone):
    together = Parallel(n_jobs=4, backend="threading")(delayed(labels_of)(name) for name in CASES)
    for name, labels in zip(CASES, together, strict=True):
        np.testing.assert_array_equal(labels, alone[name], err_msg=name)


@pytest.mark.subprocess
@pytest.mark.filterwarnings("ignore")
def test_processes_of_joblib():
    """loky starts new interpreters; the data travel by pickle."""
    model = DominantSets(4, affinity="sqeuclidean")
    expected = model.fit(X).labels_
    fitted = Parallel(n_jobs=2)(delayed(model.fit)(X) for _ in range(3))
    for other in fitted:
        np.testing.assert_array_equal(other.labels_, expected)


@pytest.mark.filterwarnings("ignore")
def test_tasks_of_dask(alone):
    dask = pytest.importorskip("dask")
    together = dask.compute(*[dask.delayed(labels_of)(name) for name in CASES], scheduler="threads")
    for name, labels in zip(CASES, together, strict=True):
        np.testing.assert_array_equal(labels, alone[name], err_msg=name)


ODD = """
import numpy as np
from dominantsets import DominantSets
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(30, 3)), rng.normal(size=(30, 3)) + 9])
labels = [DominantSets(2, affinity=a).fit(X).labels_ for a in ("sqeuclidean", "path")]
print(*[int(label) for each in labels for label in each])
"""
SURROUNDINGS = {
    "optimised": (["-O"], {}),
    "warnings are errors": (["-W", "error"], {}),
    "no home": ([], {"HOME": None}),
    "a home that is not there": ([], {"HOME": os.devnull + "/home"}),
    "one thread": ([], {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}),
}


@pytest.fixture(scope="module")
def in_a_plain_process():
    return subprocess.run([sys.executable, "-c", ODD], capture_output=True, text=True, check=True).stdout


@pytest.mark.subprocess
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_odd_surroundings_give_the_same_labels(name, in_a_plain_process):
    flags, changed = SURROUNDINGS[name]
    environment = {k: v for k, v in {**os.environ, **changed}.items() if v is not None}
    command = [sys.executable, *flags, "-c", ODD]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == in_a_plain_process
    assert len(set(done.stdout.split())) >= 2
