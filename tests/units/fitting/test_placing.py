"""Fits of some objects, with all others placed by ``predict``: limits are low."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from dominantsets import DominantSetHierarchy, DominantSets, as_similarity
from dominantsets.fitting import placing, samples
from dominantsets.similarity import search
from dominantsets.similarity.isolation import isolation_of, nearby
from support import as_memmap, assert_certified

N, SOME = 1_500, 300
CURVES, SIDES = make_moons(N - 100, noise=0.05, random_state=0)
X = np.vstack([CURVES, np.random.default_rng(0).uniform(-3.0, 4.0, size=(100, 2))])
Y = np.append(SIDES, np.full(100, -1))
ORDER = np.random.default_rng(1).permutation(N)
X, Y = X[ORDER], Y[ORDER]


@pytest.fixture(autouse=True)
def _low_limits(monkeypatch):
    monkeypatch.setattr(samples, "TREES", ((np.inf, SOME),))
    monkeypatch.setattr(samples, "WALKS", SOME)
    monkeypatch.setattr(samples, "FEWEST", SOME)
    monkeypatch.setattr(samples, "SAMPLE", 400)
    monkeypatch.setattr(placing, "HEIGHT", 150)
    ways = [("sqeuclidean", {}), ("path", {"min_samples": 5})]
    monkeypatch.setattr(samples.PointSample, "ways", lambda *_: ways)


def held(form, rows, folder):
    if form == "memmap":
        return as_memmap(folder / f"{len(rows)}.dat", rows)
    if form in ("array", "frame"):
        return rows if form == "array" else pytest.importorskip("pandas").DataFrame(rows)
    if form == "tensor":
        return pytest.importorskip("torch").tensor(rows)
    chunks = (len(rows) // 4, -1)
    return pytest.importorskip("dask.array").from_array(rows, chunks=chunks)


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": None, "memory_limit": 0}
    with distributed.LocalCluster(n_workers=2, **options) as cluster, distributed.Client(cluster) as client:
        client.run(_low_height)
        yield client


def _low_height():
    placing.HEIGHT = 150


@pytest.fixture(
    params=[
        "array",
        "frame",
        "memmap",
        "tensor",
        "Dask",
        pytest.param("cluster", marks=pytest.mark.subprocess),
    ]
)
def form(request):
    if request.param == "cluster":
        request.getfixturevalue("client")
    return request.param


@pytest.mark.parametrize("k", [2, None])
def test_the_fit_is_one_of_some_rows_and_the_others_are_placed(form, k, tmp_path):
    model = DominantSets(k).fit(held(form, X, tmp_path))
    fitted = model.choice_.fitted
    assert (model.affinity_, fitted.size) == ("path", SOME)
    assert f"{SOME} of {N:,} objects" in str(model.selection_)
    labels, plain = (
        np.asarray(model.labels_),
        DominantSets(2, affinity="path", affinity_params={"min_samples": 5}),
    )
    plain.fit(X[fitted])
    np.testing.assert_array_equal(labels[fitted], plain.labels_)
    placed = np.setdiff1d(np.arange(N), fitted)
    np.testing.assert_array_equal(labels[placed], plain.predict(X[placed]))
    np.testing.assert_array_equal(np.asarray(model.predict(held(form, X, tmp_path))), plain.predict(X))
    assert adjusted_rand_score(Y[Y >= 0], labels[Y >= 0]) > 0.9
    assert [row.labelled for row in model.selection_.rows] == np.bincount(labels[labels >= 0]).tolist()
    probabilities = np.asarray(model.probabilities_)
    np.testing.assert_array_equal(probabilities == 0.0, labels < 0)
    assert probabilities.max() <= 1.0
    np.testing.assert_allclose(probabilities[fitted], plain.probabilities_)


def test_clusters_are_certified_among_what_was_fitted(form, tmp_path):
    model = DominantSets(2).fit(held(form, X, tmp_path))
    fitted = model.choice_.fitted
    A = as_similarity(X[fitted], "path", min_samples=5).toarray()
    for k, cluster in enumerate(model.clusters_):
        assert np.isin(cluster.members, fitted).all()
        assert (np.asarray(model.labels_)[cluster.members] == k).all()
        here = np.searchsorted(fitted, cluster.members)
        assert_certified(A, type(cluster)(**{**vars(cluster), "members": here}))
    np.testing.assert_array_equal(model.counts_, np.bincount(fitted, minlength=N))
    np.testing.assert_array_equal(
        np.flatnonzero(np.asarray(model.memberships_) > 0.0),
        np.sort(np.concatenate([c.members for c in model.clusters_])),
    )


def test_what_else_a_fit_offers(form, tmp_path):
    model = DominantSets(2).fit(held(form, X, tmp_path))
    fitted, labels = model.choice_.fitted, np.asarray(model.labels_)
    placed = np.setdiff1d(np.arange(N), fitted)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), labels)
    assert model.soft_labels_.shape == (N, 3)
    np.testing.assert_array_equal(model.soft_labels_[placed], np.eye(3)[labels[placed]])
    np.testing.assert_array_equal(np.isnan(np.asarray(model.outlier_scores_)), model.counts_ == 0)
    np.testing.assert_array_equal(np.isnan(np.asarray(model.label_margins())[placed]), True)
    assert model.transform(X[:5]).shape == (5, 2)
    with pytest.raises(ValueError, match="not one of those that were fitted"):
        model.why(int(placed[0]))
    with pytest.raises(ValueError, match="placed by predict"):
        model.around(int(placed[0]))
    assert np.isin(model.around(int(fitted[0])).members, fitted).all()
    files = model.certify(str(tmp_path / "fit.cert"))
    assert len(np.load(files[1])) == SOME


def test_hierarchies_and_weights_are_of_all_rows():
    weights = np.ones(N)
    weights[0] = 2.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted, tree = DominantSets(2).fit(X, sample_weight=weights), DominantSetHierarchy(2).fit(X)
    assert weighted.choice_.fitted is tree.choice_.fitted is None
    assert weighted.counts_.sum() == N + 1


def test_walks_are_placed_by_their_neighbors(monkeypatch):
    monkeypatch.setattr(samples, "TREES", ((np.inf, 0),))
    monkeypatch.setattr(
        samples.PointSample, "ways", lambda self, k: [("sqeuclidean", {}), ("diffusion", {"n_components": 2})]
    )
    model = DominantSets(2).fit(CURVES)
    assert (model.affinity_, model.choice_.fitted.size) == ("diffusion", SOME)
    assert adjusted_rand_score(SIDES, model.labels_) > 0.95


@pytest.mark.parametrize("affinity", ["path", "diffusion", "embedding", "embedding as balls"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_rows_on_a_device_find_their_neighbors_there(affinity, kind, monkeypatch):
    torch = pytest.importorskip("torch")
    params = {"n_neighbors": 8} | ({"then": "balls"} if "balls" in affinity else {})
    params = {"min_samples": 5} if affinity == "path" else params
    rows = X.astype(kind)
    model = DominantSets(2, affinity=affinity.split()[0], affinity_params=params).fit(rows[:SOME])
    assert isolation_of(model.similarity_) is not None
    work, there = placing.Placing.of(model), torch.tensor(rows)
    labels, typical = work.everywhere(rows)
    with monkeypatch.context() as patched:
        patched.setattr(search, "ON_DEVICE", {"cuda": 2**16, "cpu": 2**16})
        patched.setattr(search.Exact, "kneighbors", _not_here)
        assert work.stays("cpu")
        found = pickle.loads(pickle.dumps(work)).everywhere(there)
        assert nearby(work.similarity, "cpu")._there is None
        bad = there.clone()
        bad[N // 2, 0] = torch.nan
        with pytest.raises(ValueError, match="NaN or infinite"):
            work.everywhere(bad)
    assert {0, 1} <= set(labels)
    np.testing.assert_array_equal(found[0], labels)
    np.testing.assert_allclose(found[1], typical, atol=1e-2)  # rounding may change a rank by one


def _not_here(index, rows):
    assert rows.shape[1] > 2  # places of an embedding are here
    return NearestNeighbors(n_neighbors=index._search.n_neighbors).fit(index._search._fit_X).kneighbors(rows)


def test_what_needs_rows_on_the_host_gets_them():
    work = placing.Placing.of(DominantSets(2, affinity="sqeuclidean").fit(X[:SOME]))
    assert not work.stays("cuda")
    assert not work.stays("cpu")
    words = np.abs(X[:SOME]) + 0.1
    model = DominantSets(2, affinity="diffusion", affinity_params={"metric": "cosine"}).fit(words)
    assert not placing.Placing.of(model).stays("cuda")
    for options in ({"assign": None}, {"assign": "average"}, {"noise": "cores"}):
        model = DominantSets(2, affinity="path", **options).fit(X[:SOME])
        assert not placing.Placing.of(model).stays("cuda")
