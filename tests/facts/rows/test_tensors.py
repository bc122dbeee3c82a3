"""Torch tensors and devices: the same clusters as from NumPy arrays. On CPU tensors, and on a card if any."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dominantsets import DominantSets, End, Status, as_similarity, multistart, peel, solve
from support import (
    as_memmap,
    assert_certified,
    assert_clusters_certified,
    assert_same_cluster,
    features,
    formula,
    press_ctrl_c,
)

torch = pytest.importorskip("torch")

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
LOW_RANK = ("sqeuclidean", "cosine", "linear")
TYPES, CODES = ("float64", "float32", "float16", "bfloat16"), ("int8", "uint8", "bool")


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def stored(X, dtype, device):
    """A tensor, and what it really holds, in float64: of codes whole numbers, or bits."""
    bits = (np.median(X) < X) | (np.arange(X.shape[1]) == 0)  # no row of zeros
    X = {"int8": 5.0 * X, "uint8": 5.0 * X, "bool": bits}.get(dtype, X)
    tensor = torch.tensor(X).to(getattr(torch, dtype)).to(device)
    return tensor, tensor.double().cpu().numpy()


# similarities -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rbf", "laplacian"])
def test_the_automatic_gamma_is_that_of_the_cpu(kind, device):
    X = features(1_500, 3)
    assert as_similarity(torch.tensor(X, device=device), kind).gamma == pytest.approx(
        as_similarity(X, kind).gamma, rel=1e-12
    )


def test_offsets(device):
    X = features(50, 3)
    tensor = torch.tensor(X, device=device)
    for offset in ("bound", "exact", 1e3):
        ours, theirs = (as_similarity(x, "sqeuclidean", offset=offset).offset for x in (tensor, X))
        assert ours == pytest.approx(theirs, rel=1e-12)
    assert as_similarity(tensor - 5, "linear", offset="bound").offset == pytest.approx(
        as_similarity(X - 5, "linear", offset="bound").offset, rel=1e-12
    )
    for kind, offset in (("sqeuclidean", 1.0), ("linear", None), ("linear", 0.5), ("sqeuclidean", "most")):
        reasons = []
        for x in (tensor - 5, X - 5):
            with pytest.raises(ValueError, match=r"negative|not known") as caught:
                as_similarity(x, kind, **({} if offset is None else {"offset": offset}))
            # what "is" wrong, with its numbers; an array also names the two objects
            reasons.append(str(caught.value).split(" is ", 1)[1])
        assert reasons[0] == reasons[1]


# clusters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LOW_RANK)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("times", [1.0, 20.0])
def test_clusters_are_those_of_the_numpy_path(kind, dtype, times, device):
    tensor, X = stored(np.abs(features(700, 5)), dtype, device)
    S = as_similarity(X, kind)
    for i in (3, 99, 500):
        ours = solve(as_similarity(tensor, kind), start=i, shift=times * S.self_similarity)
        theirs = solve(S, start=i, shift=times * S.self_similarity)
        assert_same_cluster(ours, theirs)
        assert ours.margin == pytest.approx(theirs.margin, rel=1e-6, abs=1e-9 * S.self_similarity)
        if kind == "sqeuclidean":
            np.testing.assert_allclose(ours.center, theirs.center, rtol=1e-8)
            assert ours.radius == pytest.approx(theirs.radius, rel=1e-7)
        assert_certified(formula(kind, X), ours, rounding=1e-11)


@pytest.mark.parametrize("kind", ["sqeuclidean", "cosine"])
def test_clusters_of_many_features(kind, device):
    """More features than members: J is singular there, and found in low precision."""
    X = np.random.default_rng(0).normal(size=(400, 90)) + np.repeat(np.eye(4, 90) * 8, 100, axis=0)
    for dtype in ("float64", "float32"):
        tensor, exactly = stored(X, dtype, device)
        S = as_similarity(exactly, kind)
        for i in (0, 150):
            shift = 10 * S.self_similarity
            assert_same_cluster(
                solve(as_similarity(tensor, kind), start=i, shift=shift), solve(S, start=i, shift=shift)
            )


@pytest.mark.parametrize("kind", ["rbf", "laplacian"])
@pytest.mark.parametrize("shift", [0.0, 2.0, 30.0])
def test_kernels_take_the_way_of_the_numpy_path(kind, shift, device):
    X = features(600, 3)
    S, theirs = as_similarity(torch.tensor(X, device=device), kind), as_similarity(X, kind)
    A = formula(kind, X, theirs.gamma)
    for algorithm in ("auto", "working-set"):
        ours = solve(S, start=77, shift=shift, algorithm=algorithm)
        assert_certified(A, ours)
        assert_same_cluster(ours, solve(theirs, start=77, shift=shift, algorithm=algorithm), 1e-7)


@pytest.mark.parametrize("kind", ["sqeuclidean", "cosine"])
def test_peeling_is_that_of_the_numpy_path(kind, device):
    X, _ = make_blobs(900, centers=5, n_features=6, cluster_std=0.7, random_state=4)
    S = as_similarity(X, kind)
    shift = 0.02 * 900 * S.self_similarity / 4
    ours, theirs = (
        peel(as_similarity(torch.tensor(X, device=device), kind), 4, shift=shift),
        peel(S, 4, shift=shift),
    )
    for one, other in zip(ours, theirs, strict=True):
        assert_same_cluster(one, other)
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    assert ours.end is theirs.end
    assert ours.coherence == pytest.approx(theirs.coherence)


@pytest.mark.parametrize("kind", [*LOW_RANK, "rbf"])
@pytest.mark.parametrize("how", ["uniform", "dpp"])
def test_multi_start_on_a_device(kind, how, device):
    X, _ = make_blobs(500, centers=6, n_features=3, cluster_std=0.5, random_state=2)
    X = np.abs(X)
    tensor = torch.tensor(X, device=device)
    S = as_similarity(tensor, kind)
    shift = 1.0 if kind == "rbf" else 2.0 * S.self_similarity
    run = multistart(S, shift=shift, n_starts=10, sampling=how, random_state=0)
    A = formula(kind, X, getattr(S, "gamma", 0.0))
    alive = np.ones(500, dtype=bool)
    for found in run:
        assert alive[found.starts].all()
        assert len(set(found.starts.tolist())) == min(10, alive.sum())
        taken = np.zeros(500, dtype=bool)
        for cluster in found.clusters:
            assert alive[cluster.members].all()
            assert taken[cluster.members].mean() <= 0.1
            taken[cluster.members] = True
            assert cluster.status is Status.CONVERGED
            assert_certified(A, cluster, left=np.flatnonzero(alive), rounding=1e-11, stationary=1e-9)
        alive &= ~taken
    assert run.n_clusters >= 2
    assert run.end in (End.NOT_COHERENT, End.ALL_ASSIGNED, End.NO_SIMILARITY)


def test_multi_start_has_the_starts_and_clusters_of_the_cpu(device):
    X, _ = make_blobs(500, centers=6, n_features=3, cluster_std=0.5, random_state=2)
    options = {"n_starts": 12, "shift": 400.0, "random_state": 3}
    ours = multistart(as_similarity(torch.tensor(X, device=device), "sqeuclidean"), 6, **options)
    theirs = multistart(as_similarity(X, "sqeuclidean"), 6, **options)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one.starts, other.starts)
        for a, b in zip(one.solutions, other.solutions, strict=True):
            assert_same_cluster(a, b)
    np.testing.assert_array_equal(ours.labels, theirs.labels)


def test_a_barycenter_and_weights_as_starts(device):
    X = features(200, 3)
    S, plain = as_similarity(torch.tensor(X, device=device), "sqeuclidean"), as_similarity(X, "sqeuclidean")
    weights = np.random.default_rng(0).random(200)
    for start in ("barycenter", weights, 5):
        assert_same_cluster(solve(S, start=start, shift=900.0), solve(plain, start=start, shift=900.0))
    options = {"n_starts": 4, "start": "barycenter", "shift": 900.0, "random_state": 0}
    ours, theirs = (next(multistart(each, **options)).solutions for each in (S, plain))
    for one, other in zip(ours, theirs, strict=True):
        assert_same_cluster(one, other)


# the estimator -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sqeuclidean", "cosine"])
@pytest.mark.parametrize("assign", [None, "average", "refine"])
@pytest.mark.parametrize("one_shift", [False, True])
def test_the_estimator_gives_what_it_gives_for_arrays(kind, assign, one_shift, device):
    X, y = make_blobs(600, centers=4, n_features=5, cluster_std=0.8, random_state=1)
    options = {"affinity": kind, "assign": assign, "random_state": 0}
    if one_shift:
        options["shift"] = 0.02 * 600 * as_similarity(X, kind).self_similarity / 4
    theirs = DominantSets(4, **options).fit(X)
    for model, new in (
        (
            DominantSets(4, **options).fit(torch.tensor(X, device=device)),
            torch.tensor(X[:50] + 0.1, device=device),
        ),
        (DominantSets(4, device=device, **options).fit(X), X[:50] + 0.1),
    ):
        assert isinstance(model.labels_, np.ndarray)
        np.testing.assert_allclose(model.shifts_, theirs.shifts_, rtol=1e-9)
        np.testing.assert_array_equal(model.labels_, theirs.labels_)
        np.testing.assert_allclose(model.memberships_, theirs.memberships_, atol=1e-8)
        np.testing.assert_array_equal(model.predict(new), theirs.predict(X[:50] + 0.1))
        assert model.n_features_in_ == 5
    assert adjusted_rand_score(y, theirs.labels_) > 0.5


def test_half_precision_arrays_go_to_a_device_as_they_are(device, tmp_path):
    X = features(400, 4).astype(np.float16)
    theirs = DominantSets(2, affinity="sqeuclidean").fit(X.astype(np.float64))
    for data in (X, as_memmap(tmp_path / "X.dat", X)):
        model = DominantSets(2, device=device, affinity="sqeuclidean").fit(data)
        np.testing.assert_array_equal(model.labels_, theirs.labels_)
        assert model.similarity_.rows.features.dtype == torch.float16


def test_a_checkpoint_on_a_device(tmp_path):
    X = torch.tensor(features(300, 3))
    path = str(tmp_path / "run.npz")
    first = DominantSets(3, checkpoint=path, affinity="sqeuclidean").fit(X)
    again = DominantSets(3, checkpoint=path, affinity="sqeuclidean").fit(X)
    np.testing.assert_array_equal(first.labels_, again.labels_)
    with pytest.raises(ValueError, match="other data"):
        DominantSets(3, checkpoint=path, affinity="sqeuclidean").fit(X + 1.0)


def test_it_can_be_stopped_and_interrupted():
    X = torch.tensor(features(3_000, 20), dtype=torch.float32)
    S = as_similarity(X, "sqeuclidean")
    options = {"shift": 0.002 * S.n * S.self_similarity, "n_starts": 8, "random_state": 0}
    stopped = multistart(S, 50, callback=lambda p: True, **options)
    list(stopped)
    assert stopped.end is End.STOPPED
    late = multistart(S, 500, max_time=0.0, **options)
    list(late)
    assert late.end is End.TIME_LIMIT

    broken = solve(S, shift=options["shift"], callback=press_ctrl_c)
    assert broken.status is Status.INTERRUPTED
    assert broken.weights.sum() == pytest.approx(1.0)
    assert broken.gap >= 0


# sampling ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sqeuclidean", "rbf"])
def test_the_number_of_clusters_is_found_as_on_a_cpu(kind, device):
    X, y = make_blobs(500, 3, centers=3, cluster_std=0.6, random_state=3)
    theirs = DominantSets(affinity=kind).fit(X)
    ours = DominantSets(affinity=kind).fit(torch.tensor(X, device=device))
    np.testing.assert_allclose(ours.shifts_, theirs.shifts_, rtol=1e-9)
    assert ours.n_clusters_ == theirs.n_clusters_ == 3
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    inside = ours.labels_ >= 0
    assert adjusted_rand_score(y[inside], ours.labels_[inside]) == 1.0
    np.testing.assert_array_equal(ours.predict(torch.tensor(X, device=device)), theirs.predict(X))


# what is refused ---------------------------------------------------------------------------------------


def test_sets_that_lose_members_to_other_labels_are_those_of_a_cpu(device):
    """They are solved again among the objects with their label, on a device as a problem of these alone."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 3)) + 2.0 * rng.integers(3, size=300)[:, None]
    for affinity in ("sqeuclidean", "cosine"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            here = DominantSets(9, affinity=affinity).fit(X)
            there = DominantSets(9, affinity=affinity).fit(torch.tensor(X, device=device))
        np.testing.assert_array_equal(there.labels_, here.labels_)
        among = [row.among for row in there.selection_.rows]
        assert min(among) < len(X)
        assert among == [row.among for row in here.selection_.rows]
        for one, other in zip(there.clusters_, here.clusters_, strict=True):
            assert_same_cluster(one, other, atol=1e-8)
        A = as_similarity(X, affinity).toarray()
        assert_clusters_certified(A, there, rounding=1e-9)


@pytest.mark.parametrize("k", [None, 3])
def test_heavy_tails_in_noise_are_labelled_as_on_a_cpu(k, device):
    """Student's t with 3 degrees of freedom about three centers, in uniform noise."""
    rng = np.random.default_rng(0)
    n, d = 3_000, 6
    y = np.where(rng.random(n) < 0.3, -1, rng.integers(3, size=n))
    centers = 10.0 * rng.normal(size=(3, d))
    X = rng.normal(size=(n, d)) * np.sqrt(3.0 / rng.chisquare(3.0, size=(n, 1))) + centers[y]
    X[y < 0] = rng.uniform(-30.0, 30.0, size=(int((y < 0).sum()), d))
    new = np.vstack([centers, centers + 8.0, rng.uniform(-30.0, 30.0, size=(40, d))])
    here = DominantSets(k, affinity="sqeuclidean").fit(X)
    there = DominantSets(k, affinity="sqeuclidean").fit(torch.tensor(X, device=device))
    np.testing.assert_array_equal(there.labels_, here.labels_)
    np.testing.assert_allclose(there.probabilities_, here.probabilities_, atol=1e-6)
    np.testing.assert_array_equal(there.predict(torch.tensor(new, device=device)), here.predict(new))
    assert adjusted_rand_score(y, there.labels_) > 0.95
    assert (there.labels_[y >= 0] >= 0).mean() > 0.98
    assert there.selection_.noise == here.selection_.noise


def test_bad_input_gets_one_sentence():
    X = torch.tensor(features(30, 3))
    for data, options, words in (
        (X.to(torch.int32), {}, "torch.int32 .* not supported; use dense float16"),
        (X.to_sparse(), {}, "sparse.* not supported"),
        (X[0], {}, "2-D"),
        (X[:0], {}, "nothing to cluster"),
        (X * torch.nan, {}, "NaN or infinite"),
        (X, {"affinity": "path"}, "'path' is not available on a device"),
        (X, {"affinity": "precomputed"}, "is not available on a device"),
        (X, {"solver_params": {"algorithm": "pairwise"}}, "'pairwise' does not run on a device"),
        (X, {"affinity": "cosine", "affinity_params": {"gamma": 1.0}}, "takes no parameter 'gamma'"),
        (X, {"device": "warp"}, "is not a device"),
        (X.numpy(), {"device": "mps"}, "sums need float64"),
    ):
        with pytest.raises(ValueError, match=words):
            DominantSets(2, **options).fit(data)
    model = DominantSets(2, affinity="sqeuclidean").fit(X)
    with pytest.raises(ValueError, match="fitted with 3 features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="fitted with NumPy or Dask arrays"):
        DominantSets(2, affinity="sqeuclidean").fit(X.numpy()).predict(X)
    with pytest.raises(ValueError, match="trace=True"):
        solve(as_similarity(X, "sqeuclidean"), trace=True)
    with pytest.raises(ValueError, match="needs a shift above"):
        solve(as_similarity(X, "sqeuclidean"), shift=-1e6, algorithm="dual")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_no_cuda_is_said():
    X = features(30, 3)
    with pytest.raises(ValueError, match=r"needs a CUDA device, and torch .* sees none"):
        DominantSets(2, device="cuda", affinity="sqeuclidean").fit(X)
    with pytest.raises(ValueError, match="needs a CUDA device"):
        as_similarity(torch.tensor(X), "sqeuclidean", device="cuda")


@pytest.mark.subprocess
def test_without_torch_the_extra_is_named():
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        "            raise ModuleNotFoundError(\"No module named 'torch'\", name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from dominantsets import DominantSets\n"
        "DominantSets(1).fit([[0.0], [0.1], [9.0]])\n"
        "DominantSets(1, device='cuda').fit([[0.0], [0.1], [9.0]])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError: features on a device need the extra 'gpu'" in done.stderr


@pytest.mark.subprocess
def test_torch_is_not_imported_for_arrays():
    code = "import sys, dominantsets; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_precision_of_products_is_left_as_it_was():
    before = torch.get_float32_matmul_precision()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DominantSets(2, affinity="sqeuclidean").fit(torch.tensor(features(100, 3), dtype=torch.float32))
    assert torch.get_float32_matmul_precision() == before


def test_labels_of_new_rows_are_made_where_they_are(device):
    X, _ = make_blobs(600, 4, centers=5, random_state=0)
    X[::7] = 12.0 * np.random.default_rng(0).normal(size=X[::7].shape)
    tensor = torch.tensor(X, device=device)
    model = DominantSets(5, affinity="sqeuclidean").fit(tensor)
    np.testing.assert_array_equal(model.predict(tensor), model.labels_)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    host = DominantSets(5, affinity="sqeuclidean").fit(X)
    np.testing.assert_array_equal(host.labels_, model.labels_)
    np.testing.assert_allclose(host.probabilities_, model.probabilities_, atol=1e-9)


class Foreign:
    """An array of a library that we do not know: it says only how to share its memory."""

    def __init__(self, X):
        self._X = X

    def __dlpack__(self, **asked):
        return self._X.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self._X.__dlpack_device__()


def test_arrays_of_other_libraries_come_in_by_dlpack(device):
    X, _ = make_blobs(300, 3, centers=3, random_state=1)
    plain = DominantSets(3, affinity="sqeuclidean").fit(X)
    foreign = Foreign(torch.tensor(X, device=device))
    model = DominantSets(3, affinity="sqeuclidean").fit(foreign)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.predict(foreign), plain.labels_)
    assert as_similarity(foreign, "cosine").n == 300


@pytest.mark.parametrize("dtype", CODES)
def test_codes_are_clustered_as_their_numbers(dtype, device):
    """Codes about three words, some of them wrong: certificates are those of the stored numbers."""
    rng = np.random.default_rng(2)
    words = rng.integers(2, size=(3, 64)) * (1 if dtype == "bool" else 90)
    codes = words[rng.integers(3, size=400)]
    wrong = rng.random(codes.shape) < 0.1
    codes = np.where(wrong, words.max() - codes, codes).astype(dtype)
    tensor = torch.tensor(codes, device=device)
    model = DominantSets(3, affinity="sqeuclidean").fit(tensor)
    other = DominantSets(3, affinity="sqeuclidean", device=device).fit(codes)
    numbers = codes.astype(np.float64)
    plain = DominantSets(3, affinity="sqeuclidean").fit(numbers)
    assert tensor.element_size() == model.similarity_.rows.features.stored.element_size() == 1
    for ours in (model, other):
        np.testing.assert_array_equal(ours.labels_, plain.labels_)
        assert_clusters_certified(formula("sqeuclidean", numbers), ours)
        for cluster, same in zip(ours.clusters_, plain.clusters_, strict=True):
            assert_same_cluster(cluster, same)
