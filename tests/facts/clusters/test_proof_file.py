"""Certificates in files: what is written, of which stores, and what is refused."""

from __future__ import annotations

import hashlib
import json
import pickle

import cases
import dscheck
import numpy as np
import pytest

from dominantsets import DominantSets, as_similarity, certify, dominant_sets, global_optimum, peel, solve


def check(capsys, *paths):
    code = dscheck.main([str(path) for path in paths])
    return code, capsys.readouterr().out


@pytest.fixture(name="X")
def rows():
    return cases.groups(7)


@pytest.fixture
def saved(X, tmp_path):
    return cases.saved(X, tmp_path)


def test_what_the_first_line_and_the_digest_of_the_data_are(X, tmp_path):
    path = certify(
        as_similarity(X, "sqeuclidean"), solve(as_similarity(X, "sqeuclidean")), str(tmp_path / "a.cert")
    )
    first, _, rest = (tmp_path / "a.cert").read_bytes().partition(b"\n")
    assert path == [str(tmp_path / "a.cert")]
    assert first.decode() == f"dominantsets certificate 1 sha256 {hashlib.sha256(rest).hexdigest()}"
    n, d = X.shape
    digest = hashlib.sha256(f"{n} {d}\n".encode() + X.astype("<f8").tobytes()).hexdigest()
    assert json.loads(rest)["data"]["sha256"] == digest


def test_the_size_grows_with_members_and_labels(tmp_path):
    sizes = []
    for n in (100, 200, 400):
        model = DominantSets(affinity="sqeuclidean", shift=1e4).fit(cases.groups(1, n))
        sizes.append(cases.Path(model.certify(str(tmp_path / "fit.cert"))[0]).stat().st_size)
    assert sizes[2] < 4.4 * sizes[0]


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine", "rbf"])
def test_rows_in_chunks_have_the_certificate_of_an_array(affinity, X, saved, tmp_path, capsys):
    da = pytest.importorskip("dask.array")
    model = DominantSets(affinity=affinity).fit(da.from_array(X, chunks=(17, -1)))
    files = model.certify(str(tmp_path / "fit.cert"))
    code, text = check(capsys, files[0], saved)
    assert code in (0, 3), text


@pytest.mark.parametrize("affinity", ["sqeuclidean", "cosine"])
def test_tensors_have_the_certificate_of_an_array(affinity, X, saved, tmp_path, capsys):
    torch = pytest.importorskip("torch")
    model = DominantSets(affinity=affinity).fit(torch.as_tensor(X))
    code, text = check(capsys, model.certify(str(tmp_path / "fit.cert"))[0], saved)
    assert code == 0, text


def test_sets_of_every_function(X, saved, tmp_path, capsys):
    S, path = as_similarity(X, "sqeuclidean"), str(tmp_path / "some.cert")
    for clusters in (solve(S), list(peel(S, 3)), list(dominant_sets(S)), global_optimum(S)):
        certify(S, clusters, path)
        code, text = check(capsys, path, saved)
        assert code in (0, 3), text
        assert "cluster 0 strict: holds" in text


def test_peeling_sets_small_sets_aside(tmp_path, capsys):
    """A pair that is very alike is too small; without it three others are a set, which it would join."""
    A = np.ones((5, 5)) - np.eye(5)
    A[0, 1] = A[1, 0] = 10.0
    params = {"affinity": "precomputed", "shift": 0.0, "min_cluster_size": 3, "assign": None, "n_clusters": 1}
    certificate, data = cases.written(A, params, tmp_path)
    (cluster,) = cases.content_of(certificate)["clusters"]
    assert (cluster["members"], cluster["apart"]) == ([2, 3, 4], [0, 1])
    code, text = check(capsys, certificate, data)
    assert code == 0, text


@pytest.mark.parametrize("noise", [None, 0.0, 0.2])
def test_no_noise_and_a_share_of_it(noise, X, saved, tmp_path, capsys):
    files = DominantSets(3, affinity="sqeuclidean", noise=noise).fit(X).certify(str(tmp_path / "fit.cert"))
    code, text = check(capsys, files[0], saved)
    assert code == 0, text
    assert "file labels: holds" in text


def test_sets_of_other_data_are_refused(X, tmp_path):
    cluster = solve(as_similarity(X, "sqeuclidean"))
    with pytest.raises(ValueError, match="is no set of this similarity: its value is"):
        certify(as_similarity(X + np.arange(2.0 * len(X)).reshape(X.shape), "sqeuclidean"), cluster, "a.cert")
    around = solve(as_similarity(X, "sqeuclidean"), seeds=[3])
    if around.gap + abs(around.margin) > 0:
        with pytest.raises(ValueError, match="Sets around seeds"):
            certify(as_similarity(X, "sqeuclidean"), around, "a.cert")


def test_a_saved_model_has_no_rows(X, tmp_path):
    model = pickle.loads(pickle.dumps(DominantSets(affinity="sqeuclidean").fit(X)))
    with pytest.raises(ValueError, match="write it before saving the model"):
        model.certify(str(tmp_path / "fit.cert"))


def test_a_stream_needs_a_fit_of_all_rows(X, tmp_path, capsys):
    model = DominantSets(affinity="sqeuclidean").partial_fit(X[:40])
    model.partial_fit(X[40:])
    if model.similarity_.n < len(X):
        with pytest.raises(ValueError, match="certify needs a fit of all"):
            model.certify(str(tmp_path / "fit.cert"))
    model.partial_fit()
    code, text = check(capsys, model.certify(str(tmp_path / "fit.cert"))[0], cases.saved(X, tmp_path))
    assert code == 0, text


def test_data_are_written_on_request(X, tmp_path, capsys):
    files = DominantSets(affinity="sqeuclidean").fit(X).certify(str(tmp_path / "fit.cert"), with_data=True)
    assert np.array_equal(np.load(files[1]), X)
    assert check(capsys, *files)[0] == 0


def test_a_million_far_objects_do_not_make_a_proof_worse(tmp_path, capsys):
    """A far object makes M, and with it the bound of rounding, large: what holds then still holds."""
    X = np.vstack([cases.groups(3), [[1e5, 0.0]]])
    model = DominantSets(affinity="sqeuclidean").fit(X)
    code, text = check(capsys, model.certify(str(tmp_path / "fit.cert"))[0], cases.saved(X, tmp_path))
    assert code in (0, 3), text


def test_proofs_by_boxes_hold_against_every_support(tmp_path, capsys):
    """Of few objects all supports are looked at: no set has a value above what the boxes allow."""
    for seed in range(6):
        X = np.random.default_rng(seed).normal(size=(7, 2))
        S = as_similarity(X, "sqeuclidean")
        A, best = S.toarray(), -np.inf
        for code in range(1, 2**7):
            J = np.flatnonzero([code >> i & 1 for i in range(7)])
            system = np.block(
                [[A[np.ix_(J, J)], np.ones((J.size, 1))], [np.ones((1, J.size)), np.zeros((1, 1))]]
            )
            x = np.linalg.lstsq(system, np.append(np.zeros(J.size), 1.0), rcond=None)[0][:-1]
            if x.min() > 0:
                best = max(best, float(x @ A[np.ix_(J, J)] @ x))
        found = global_optimum(S)
        claim = cases.content_of(cases.Path(certify(S, found, str(tmp_path / "a.cert"))[0]))["clusters"][0]
        assert claim["boxes"]
        assert claim["value"] - 1e-9 <= best <= claim["value"] + claim["global_gap"]
        assert check(capsys, tmp_path / "a.cert", cases.saved(X, tmp_path))[0] == 0
