"""One data set in every container, under every option, with every limit so low that large-data code runs.

Labels must be those of the float64 array. The numbers are float32's, so that every container holds the same.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from dominantsets import (
    DominantSetHierarchy,
    DominantSets,
    End,
    as_similarity,
    correlation_clusters,
    graph_shift,
    multistart,
)
from support import as_memmap

# What separates small data from large: module, name, a small value, and the package that the module needs.
LIMITS = [
    ("dominantsets.labels.refinement", "EVERYBODY", 100, None),
    ("dominantsets.labels.refinement", "SAMPLED", 12, None),
    ("dominantsets.labels.refinement", "MOVES", 5, None),
    ("dominantsets.clusters.shift", "SAMPLE", 150, None),
    ("dominantsets.clusters.shift", "SAMPLE_A_CLUSTER", 10, None),
    ("dominantsets.clusters.shift", "SAMPLE_OF_MATRIX", 150, None),
    ("dominantsets.clusters.significance", "SOME", 40, None),
    ("dominantsets.clusters.significance", "MANY", 60, None),
    ("dominantsets.similarity.kernel", "LARGE", 100, None),
    ("dominantsets.similarity.kernel", "SAMPLED_ABOVE", 100, None),
    ("dominantsets.similarity.kernel", "SAMPLE", 80, None),
    ("dominantsets.similarity.kernel", "MEDIAN_SAMPLE", 60, None),
    ("dominantsets.similarity.formulas", "EXACT_LIMIT", 100, None),
    ("dominantsets.solvers.working_set", "BLOCK_LIMIT", 60, None),
    ("dominantsets.solvers.working_set", "DIRECT_LIMIT", 40, None),
    ("dominantsets.solvers.dual", "SMALL", 0, None),
    ("dominantsets.compiled.threads", "GRAIN", 64, None),
    ("dominantsets.rows.arrays", "PIECE_BYTES", 2**14, None),
    ("dominantsets.solvers.chunk_dual", "BAND", 20, None),
    ("dominantsets.solvers.chunk_dual", "BAND_LIMIT", 30, None),
    ("dominantsets.solvers.tensor_dual", "BLOCK_VALUES", {"cpu": 1_000}, "torch"),
    ("dominantsets.solvers.tensor_dual", "CANDIDATES", {"cpu": 2_000}, "torch"),
    ("dominantsets.solvers.tensor_dual", "PART_NUMBERS", {"cpu": 1_000}, "torch"),
    ("dominantsets.solvers.tensor_problem", "PAYOFF_VALUES", {"cpu": 1_000}, "torch"),
    ("dominantsets.solvers.tensor_problem", "GROUP_BYTES", {"cpu": 2**10}, "torch"),
    ("dominantsets.solvers.tensor_dual", "ON_HOST", 0, "torch"),
    ("dominantsets.rows.tensor_block", "BLOCK_NUMBERS", {"cpu": 2_000}, "torch"),
]


def model(
    n_clusters: int | None = 3,
    *,
    noise: Any = "auto",
    solver_params: dict[str, Any] | None = None,
    **options: Any,
) -> DominantSets:
    """With a seed, whatever else is asked for."""
    return DominantSets(
        n_clusters,
        noise=noise,
        random_state=0,
        solver_params=solver_params,
        **options,
    )


def draw(n: int, seed: int, spread: float = 1.7) -> np.ndarray:
    """Three groups and a tenth of noise, no number negative, some zero: those of float32, as float64."""
    rng = np.random.default_rng(seed)
    centers = np.array([[9.0, 1.0, 1.0, 4.0], [1.0, 9.0, 1.0, 4.0], [1.0, 1.0, 9.0, 4.0]])
    X = centers[rng.integers(3, size=n)] + spread * rng.normal(size=(n, 4))
    noise = rng.random(n) < 0.1
    X[noise] = rng.uniform(0.0, 12.0, size=(int(noise.sum()), 4))
    return np.maximum(X, 0.0).astype(np.float32).astype(np.float64)


X, NEW, OTHER, CLEAR = draw(200, 0), draw(40, 1), draw(200, 2), draw(200, 3, spread=0.8)
CHUNKS = (80, 1, 0, 70, 49)
LOW_RANK = ("sqeuclidean", "cosine", "linear")
AFFINITIES = (*LOW_RANK, "rbf", "laplacian")
DENSE_ONLY = ("laplacian",)


def chunked(rows: np.ndarray) -> Any:
    da = pytest.importorskip("dask.array")
    chunks = CHUNKS if len(rows) == sum(CHUNKS) else len(rows)
    return da.from_array(rows, chunks=(chunks, rows.shape[1]))


def on_device(rows: np.ndarray) -> Any:
    return pytest.importorskip("torch").tensor(rows)


CONTAINERS: dict[str, Any] = {
    "float32": lambda rows, folder: rows.astype(np.float32),
    "data frame": lambda rows, folder: pd.DataFrame(rows, columns=list("abcd")),
    "memmap": lambda rows, folder: as_memmap(folder / f"{len(rows)}-{rows[0, 0]}.dat", rows),
    "CSR": lambda rows, folder: sp.csr_array(rows),
    "Dask": lambda rows, folder: chunked(rows),
    "Dask on a cluster": lambda rows, folder: chunked(rows),
    "CPU tensor": lambda rows, folder: on_device(rows),
    "Dask of tensors": lambda rows, folder: chunked(rows).map_blocks(pytest.importorskip("torch").as_tensor),
}
BACKENDS = [pytest.param(n, marks=pytest.mark.subprocess) if "cluster" in n else n for n in CONTAINERS]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": 0}
    with distributed.LocalCluster(n_workers=2, **options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(params=BACKENDS)
def held(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A function that puts rows into the container."""
    if "cluster" in request.param:
        request.getfixturevalue("client")
    folder = tmp_path_factory.mktemp("rows")

    def hold(rows: np.ndarray) -> Any:
        return CONTAINERS[request.param](rows, folder)

    hold.backend = request.param  # type: ignore[attr-defined]
    return hold


@pytest.fixture(autouse=True)
def _low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name, value, package in LIMITS:
        if package is None or importlib.util.find_spec(package) is not None:
            before = getattr(importlib.import_module(module), name)
            for loaded in [m for m in sys.modules if m.startswith("dominantsets")]:
                if vars(sys.modules[loaded]).get(name) is before:  # also where it was imported by its name
                    monkeypatch.setattr(sys.modules[loaded], name, value)


def of(affinity: str) -> dict[str, Any]:
    """What "auto" means for rows elsewhere depends on where they are; so the method is named."""
    return {"affinity": affinity, "solver_params": {"algorithm": method_of(affinity)}}


def method_of(affinity: str) -> str:
    return "auto" if affinity in LOW_RANK else "working-set"


def known(held: Any, affinity: str) -> None:
    if held.backend == "CSR" and affinity in DENSE_ONLY:
        pytest.skip(f"{affinity} takes dense features only")


OPTIONS: dict[str, dict[str, Any]] = {
    "three": {},
    "as many as stand alone": {"n_clusters": None},
    "cores": {"assign": None},
    "average": {"assign": "average"},
    "everybody": {"noise": None},
    "only cores": {"noise": "cores"},
    "by a quantile": {"noise": 0.2},
    "guaranteed": {"shift": "guaranteed", "min_cluster_size": 12},
    "sufficient": {"shift": "sufficient", "min_cluster_size": 12},
    "none small": {"min_cluster_size": 12},
}


# every option for one of low rank and one kernel, the main ones for the others
SOME = ("three", "cores", "average")
PAIRS = [(a, o) for a in AFFINITIES for o in OPTIONS if a in ("sqeuclidean", "rbf") or o in SOME]
PAIRS += [("linear", "sufficient")]  # where objects differ in their similarity to a copy


@cache
def expected(affinity: str, name: str) -> DominantSets:
    """Of the float64 array; the limits are low whenever it is asked for."""
    return model(**{**of(affinity), **OPTIONS[name]}).fit(X)


def assert_same_clusters(found: DominantSets, plain: DominantSets) -> None:
    np.testing.assert_allclose(found.shifts_, plain.shifts_, rtol=1e-9)
    assert [c.members.tolist() for c in found.clusters_] == [c.members.tolist() for c in plain.clusters_]
    for one, other in zip(found.clusters_, plain.clusters_, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)
        assert one.value == pytest.approx(other.value, rel=1e-9)
    np.testing.assert_array_equal(np.asarray(found.core_labels_), plain.core_labels_)
    np.testing.assert_array_equal(np.asarray(found.labels_), plain.labels_)


@pytest.mark.parametrize(("affinity", "option"), PAIRS)
@pytest.mark.filterwarnings("ignore:.* clusters were found")
def test_labels_are_those_of_the_float64_array(held, affinity, option):
    known(held, affinity)
    found = model(**{**of(affinity), **OPTIONS[option]}).fit(held(X))
    assert_same_clusters(found, expected(affinity, option))
    assert found.n_features_in_ == X.shape[1]


@pytest.mark.parametrize(
    ("affinity", "option"),
    [
        *((a, "three") for a in AFFINITIES),
        *(("sqeuclidean", o) for o in ("average", "cores", "by a quantile")),
    ],
)
def test_new_objects_get_the_labels_that_they_get_from_the_float64_array(held, affinity, option):
    known(held, affinity)
    found = model(**{**of(affinity), **OPTIONS[option]}).fit(held(X))
    np.testing.assert_array_equal(
        np.asarray(found.predict(held(NEW))), expected(affinity, option).predict(NEW)
    )


@pytest.mark.parametrize("affinity", AFFINITIES)
def test_a_model_that_was_pickled_predicts(held, affinity):
    known(held, affinity)
    found = model(**of(affinity)).fit(held(X))
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(np.asarray(again.labels_), np.asarray(found.labels_))
    np.testing.assert_array_equal(
        np.asarray(again.predict(held(NEW))), expected(affinity, "three").predict(NEW)
    )


@pytest.mark.parametrize(
    ("affinity", "option"),
    [*((a, "three") for a in AFFINITIES), ("sqeuclidean", "average"), ("sqeuclidean", "cores")],
)
@pytest.mark.parametrize("backend", ["float64", "memmap", "Dask", "CPU tensor"])
def test_a_pickle_holds_no_more_of_the_data_than_predict_needs(backend, affinity, option, tmp_path):
    """Nothing, where the similarity to a cluster is a sum over features; else once.

    Of each object a model has its label, core and membership and its place among the members and weights: not
    more than ten numbers, against the 50 of its features.
    """
    rows = np.abs(np.random.default_rng(0).normal(size=(300, 50)) + 4 * np.eye(50)[np.arange(300) % 3])
    data = rows if backend == "float64" else CONTAINERS[backend](rows, tmp_path)
    found = model(**{**of(affinity), **OPTIONS[option]}).fit(data)
    limit = 10 * 8 * len(rows) + 20_000 if affinity in LOW_RANK else 1.5 * rows.nbytes
    assert len(pickle.dumps(found)) < limit


class _Stop:
    """A callback that stops the run in a cluster."""

    def __init__(self, cluster: int) -> None:
        self.cluster = cluster

    def __call__(self, progress: Any) -> bool:
        return progress.n_clusters >= self.cluster


# a shift is given, so that the callback hears of the run itself and not of the comparison of shifts
SHIFTS = {"sqeuclidean": 500.0, "cosine": 2.0, "linear": 500.0, "rbf": 3.0, "laplacian": 3.0}


@pytest.mark.parametrize("affinity", AFFINITIES)
def test_a_run_that_is_stopped_has_what_was_found_and_goes_on_from_its_checkpoint(held, affinity, tmp_path):
    known(held, affinity)
    options = {**of(affinity), "shift": SHIFTS[affinity], "assign": None}
    plain = model(3, **options).fit(X)
    path = str(tmp_path / "run.npz")
    with pytest.warns(ConvergenceWarning, match="ended early"):
        stopped = model(3, callback=_Stop(1), checkpoint=path, **options).fit(held(X))
    assert stopped.end_ is End.STOPPED
    assert 1 <= stopped.n_clusters_ <= 3
    first = stopped.clusters_[0].members
    assert first.tolist() == plain.clusters_[0].members.tolist()
    np.testing.assert_array_equal(np.flatnonzero(np.asarray(stopped.core_labels_) == 0), first)
    assert_same_clusters(model(3, checkpoint=path, **options).fit(held(X)), plain)
    told: list[int] = []
    again = model(3, checkpoint=path, callback=lambda progress: told.append(1), **options).fit(held(X))
    assert not told  # nothing was left to do
    assert_same_clusters(again, plain)


@pytest.mark.parametrize("affinity", AFFINITIES)
def test_a_checkpoint_of_other_data_is_refused(held, affinity, tmp_path):
    known(held, affinity)
    options = {**of(affinity), "checkpoint": str(tmp_path / "run.npz"), "shift": SHIFTS[affinity]}
    if affinity in ("rbf", "laplacian"):
        options["affinity_params"] = {"gamma": 0.1}  # else it is the data's, and tells them apart
    model(2, **options).fit(held(X))
    moved = X.copy()
    moved[[3, 7]] = moved[[7, 3]]  # other data, although every sum over them is the same
    for other in (OTHER, moved):
        with pytest.raises(ValueError, match="belongs to other data"):
            model(2, **options).fit(held(other))


def many_starts(S: Any, affinity: str, sampling: str) -> Any:
    options = {"shift": SHIFTS[affinity], "algorithm": method_of(affinity), "random_state": 0}
    run = multistart(S, 3, n_starts=5, sampling=sampling, **options)
    list(run)
    return run.labels


def climbed(S: Any, affinity: str) -> Any:
    """The modes of their members; which way an object between two modes climbs is for the solver to say."""
    found = graph_shift(S, shift=SHIFTS[affinity], algorithm=method_of(affinity))
    members = np.unique(np.concatenate([mode.members for mode in found.modes]))
    return np.column_stack([members, found.labels[members]])


FUNCTIONS: dict[str, Any] = {
    "many starts": lambda S, affinity: many_starts(S, affinity, "uniform"),
    "many starts, spread": lambda S, affinity: many_starts(S, affinity, "dpp"),
    "modes": climbed,
    "correlation": lambda S, affinity: correlation_clusters(S, start=np.arange(200) % 3).labels,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("affinity", ["sqeuclidean", "rbf"])
def test_functions_find_what_they_find_in_the_float64_array(held, affinity, name):
    if held.backend == "data frame":
        pytest.skip("a data frame is for estimators")
    found = FUNCTIONS[name](as_similarity(held(X), affinity), affinity)
    np.testing.assert_array_equal(found, FUNCTIONS[name](as_similarity(X, affinity), affinity))


@cache
def expected_hierarchy(affinity: str) -> DominantSetHierarchy:
    return DominantSetHierarchy(affinity=affinity).fit(CLEAR)


def assert_same_tree(tree: DominantSetHierarchy, plain: DominantSetHierarchy) -> None:
    np.testing.assert_array_equal(np.asarray(tree.leaves_), plain.leaves_)
    np.testing.assert_array_equal(np.asarray(tree.labels_), plain.labels_)
    for k in range(1, plain.n_leaves_ + 1):
        np.testing.assert_array_equal(np.asarray(tree.cut(k)), plain.cut(k))
    assert tree.linkage_.shape == plain.linkage_.shape


# Of clear groups, and not of inner products, where the longest rows are the most alike: how sets that hardly
# stand alone join each other is for rounding to decide.
@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine"])
@pytest.mark.filterwarnings("ignore:no groups stand out")
def test_the_hierarchy_is_that_of_the_float64_array(held, affinity):
    assert_same_tree(DominantSetHierarchy(affinity=affinity).fit(held(CLEAR)), expected_hierarchy(affinity))


@pytest.mark.parametrize("affinity", ["sqeuclidean", "rbf"])
@pytest.mark.parametrize("make", [chunked, on_device])
@pytest.mark.filterwarnings("ignore:no groups stand out")
def test_the_hierarchy_of_a_similarity_of_rows_that_are_elsewhere(make, affinity, monkeypatch):
    # an object at the rim of a set is in or out by the solver's tolerance: both must have the same solver
    monkeypatch.setattr("dominantsets.similarity.kernel.LARGE", 20_000)
    S = as_similarity(make(CLEAR), affinity)
    assert_same_tree(DominantSetHierarchy().fit(S), expected_hierarchy(affinity))


@pytest.mark.parametrize(
    "make", [lambda: DominantSets(3, affinity="sqeuclidean"), DominantSetHierarchy], ids=["sets", "hierarchy"]
)
@pytest.mark.filterwarnings("ignore:no groups stand out")
def test_a_dask_array_never_becomes_one_array(make, monkeypatch):
    da = pytest.importorskip("dask.array")

    def refuse(*args: Any, **options: Any) -> None:
        raise AssertionError("all rows were fetched")

    data = chunked(X)
    with monkeypatch.context() as patch:
        patch.setattr(da.Array, "__array__", refuse)
        make().fit(data)


@pytest.mark.parametrize(("module", "name", "package"), [(m, n, p) for m, n, _, p in LIMITS])
def test_a_limit_that_is_patched_is_one_that_is_read(module, name, package):
    """Each name of the table is used in its module, else patching it does nothing."""
    if package is not None:
        pytest.importorskip(package)
    source = importlib.util.find_spec(module).loader.get_source(module)
    assert source.count(name) > 1
