"""What more than one test needs: data, formulas, graphs, and the certificate computed again."""

from __future__ import annotations

import functools
import os
import signal
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import event, given
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import kneighbors_graph

import brute_force
from dominantsets import DominantSet, DominantSets, Status, as_similarity

CORNERS = [(0, 0), (9, 0), (0, 9), (9, 9)]


# data ---------------------------------------------------------------------------------------------------


def features(n: int = 60, d: int = 4, seed: int = 0) -> np.ndarray:
    """Three groups and some noise, far from the origin so that centring matters."""
    rng = np.random.default_rng(seed)
    groups = rng.normal(size=(3, d)) * 3
    X = groups[rng.integers(3, size=n)] + rng.normal(size=(n, d))
    return X + 5.0


def unequal(n: int = 500, d: int = 2, seed: int = 11) -> tuple[np.ndarray, np.ndarray]:
    """Four groups of different widths, and a few objects that lie anywhere."""
    rng = np.random.default_rng(seed)
    centres = 14.0 * np.eye(4, d) if d > 3 else 1.6 * np.array(CORNERS)[:, :d]
    X, y = make_blobs(n, centers=centres, cluster_std=[0.3, 1.0, 0.5, 2.0], random_state=seed)
    some = rng.uniform(X.min(axis=0), X.max(axis=0), size=(n // 20, d))
    return np.vstack([X, some]), np.r_[y, np.full(len(some), -1)]


def frozen(X: np.ndarray) -> np.ndarray:
    """As the library holds data, read-only: compiled code is made for that, and not once more for tests."""
    X = np.ascontiguousarray(X).view()
    X.flags.writeable = False
    return X


def random_similarity(n: int, seed: int = 0, zeros: float = 0.0) -> np.ndarray:
    """A random symmetric similarity, a share of its entries zero."""
    rng = np.random.default_rng(seed)
    A = rng.random((n, n)) * (rng.random((n, n)) >= zeros)
    A = np.triu(A, 1)
    A = A + A.T
    if n > 1 and not A.any():
        A[0, 1] = A[1, 0] = 1.0
    return A


def random_distances(n: int, seed: int, ties: bool) -> np.ndarray:
    """A random symmetric matrix; with ties, small integers and zeros."""
    rng = np.random.default_rng(seed)
    D = rng.integers(0, 6, (n, n)).astype(float) if ties else rng.random((n, n)) + 0.1
    D = np.triu(D, 1)
    return D + D.T


def cliques(sizes: Any, values: Any = None, isolated: int = 0) -> sp.csr_array:
    """Groups of equal similarity, nothing between them, and objects that are like no other."""
    values = [1.0] * len(sizes) if values is None else values
    blocks = [v * (np.ones((m, m)) - np.eye(m)) for m, v in zip(sizes, values, strict=True)]
    return sp.csr_array(sp.block_diag([*blocks, sp.csr_array((isolated, isolated))]))


def neighbor_graph(n: int = 900, seed: int = 0) -> sp.csr_array:
    """Weights exp(-distance) between neighbours of four groups of points."""
    X, _ = make_blobs(n, centers=4, n_features=3, random_state=seed)
    A = kneighbors_graph(X, 8, mode="distance")
    A.data = np.exp(-A.data)
    return sp.csr_array(A.maximum(A.T))


def in_row_blocks(A: sp.csr_array, chunks: tuple[int, ...]) -> Any:
    """The same graph as a Dask array of CSR blocks."""
    import dask
    import dask.array as da

    ends = np.cumsum([0, *chunks])
    parts = [A[a:b] for a, b in pairwise(ends) if b > a]
    return da.concatenate([
        da.from_delayed(dask.delayed(sp.csr_matrix(part)), part.shape, dtype=part.dtype,
                        meta=sp.csr_matrix((0, 0), dtype=part.dtype))
        for part in parts
    ])  # fmt: skip


# similarities by their definitions ------------------------------------------------------------------------


def inverse_distance(P: Any, Q: Any) -> Any:
    return 1.0 / (1.0 + np.abs(P[:, None, :] - Q[None, :, :]).sum(axis=2))


def _numbers(rows: Any, cols: Any) -> Any:
    return 1.0 / (1.0 + np.abs(np.subtract.outer(rows, cols)))


def diffusion_by_hand(X: np.ndarray, k: int, count: int) -> np.ndarray:
    """From the definition: eigenvectors of the walk's own matrix, which is not symmetric."""
    D = np.sqrt(np.square(X[:, None, :] - X[None, :, :]).sum(axis=2, dtype=np.float64))
    C = kneighbors_graph(X, k).toarray()
    units = np.sort(D, axis=1)[:, 7]  # the object itself is first
    W = np.where(C + C.T > 0, np.exp(-(D**2) / np.multiply.outer(units, units)), 0.0)
    P = W / W.sum(axis=1, keepdims=True)
    values, vectors = np.linalg.eig(P)
    vectors = vectors.real[:, np.argsort(-values.real)[:count]]
    # the length of an eigenvector: as the stationary distribution weighs it
    share = W.sum(axis=1) / W.sum()
    return cosine_similarity(vectors / np.sqrt(share @ vectors**2)) + 1.0


def minimax(D: np.ndarray) -> np.ndarray:
    """The smallest of the longest steps over all chains between two objects (Floyd and Warshall)."""
    P = np.array(D)
    for k in range(len(P)):
        P = np.minimum(P, np.maximum.outer(P[:, k], P[k]))
    return P


def path(D: np.ndarray) -> Any:
    """The path-based similarity of a matrix of distances."""
    return as_similarity(D, "path", metric="precomputed")


def formula(kind: str, X: np.ndarray, gamma: float = 0.1) -> np.ndarray:
    """The dense matrix of a kind, written directly from its definition."""
    X = np.asarray(X, dtype=np.float64)
    n = len(X)
    D2 = np.square(X[:, None, :] - X[None, :, :]).sum(axis=2)
    if kind == "sqeuclidean":
        A = 4 * np.square(X - X.mean(axis=0)).sum(axis=1).max() - D2
    elif kind == "cosine":
        U = X / np.linalg.norm(X, axis=1, keepdims=True)
        A = U @ U.T + 1
    elif kind == "linear":
        A = X @ X.T
    elif kind == "rbf":
        A = np.exp(-gamma * D2)
    elif kind == "laplacian":
        A = np.exp(-gamma * np.abs(X[:, None, :] - X[None, :, :]).sum(axis=2))
    elif kind == "euclidean":
        A = 2 * np.sqrt(np.square(X - X.mean(axis=0)).sum(axis=1).max()) - np.sqrt(D2)
    elif kind == "callable":
        A = inverse_distance(X, X)
    elif kind == "numbers":
        A = _numbers(np.arange(n), np.arange(n))
    elif kind == "nearest_neighbors":
        np.fill_diagonal(D2, np.inf)
        near = np.zeros((n, n))
        np.put_along_axis(near, np.argsort(D2, axis=1)[:, :7], 1.0, axis=1)
        A = (near + near.T) / 2
    elif kind == "diffusion":
        A = diffusion_by_hand(X, 7, 5)
    elif kind == "path":
        P = minimax(np.sqrt(D2))
        A = P.max() - P
    elif kind in ("dense", "memmap", "fortran", "graph"):
        A = np.maximum(np.exp(-0.2 * D2) - 0.01, 0.0)
    else:
        raise AssertionError(kind)
    np.fill_diagonal(A, 0.0)
    return A


KINDS = (
    "dense", "fortran", "memmap", "graph", "sqeuclidean", "cosine", "linear", "rbf", "laplacian",
    "euclidean", "callable", "numbers", "nearest_neighbors", "diffusion", "path", "embedding-path",
    "embedding-balls", "sparse-sqeuclidean",
    "sparse-cosine", "sparse-linear", "sparse-rbf", "equalized", "equalized-graph",
)  # fmt: skip


def similarity_of(name: str, dtype: str, folder: Path) -> tuple[Any, np.ndarray]:
    """A similarity of one of KINDS, and its dense matrix by definition."""
    X = np.abs(features()).astype(dtype)
    if name.startswith("embedding"):  # where the places come from is tested elsewhere
        then = name.removeprefix("embedding-")
        S = as_similarity(X, "embedding", n_neighbors=7, n_epochs=50, then=then)
        if then == "balls":
            return S, formula("sqeuclidean", S.places.at)
        D = np.sqrt(np.square(S.places.at[:, None] - S.places.at).sum(axis=2))
        core = np.sort(D, axis=1)[:, 4]  # within which 5 objects lie, itself among them
        D = minimax(np.where(np.eye(len(D)) > 0.0, 0.0, np.maximum(D, np.maximum.outer(core, core))))
        A = D.max() - D
        np.fill_diagonal(A, 0.0)
        return S, A
    if name.startswith("equalized"):
        A, graph = formula("rbf", X), name == "equalized-graph"
        A = np.where(np.median(A) < A, A, 0.0) if graph else A
        S = as_similarity(sp.csr_array(A) if graph else X, *(() if graph else ("rbf",)), equalize=True,
                          **({} if graph else {"gamma": 0.1}))  # fmt: skip
        pairs = np.sort(A[np.triu_indices(len(A), 1)])
        pairs = pairs[pairs > 0.0]
        at_most = np.searchsorted(pairs, A, side="right") - (not graph)
        return S, np.where(A > 0.0, at_most / (pairs.size - (not graph)), 0.0) * (1.0 - np.eye(len(A)))
    base = name.removeprefix("sparse-")
    if base != name:
        X[np.random.default_rng(1).random(X.shape) < 0.4] = 0
        X[~X.any(axis=1)] = 1
    A = formula(base, X)
    if name in ("dense", "fortran", "memmap", "graph"):
        stored = A.astype(dtype)
        A = stored.astype(np.float64)
        if name == "fortran":
            stored = np.asfortranarray(stored)
        elif name == "graph":
            stored = sp.csr_array(stored)
        elif name == "memmap":
            stored = as_memmap(folder / "A.dat", stored)
        return as_similarity(stored), A
    if name == "callable":
        return as_similarity(X, inverse_distance), A
    if name == "numbers":
        return as_similarity(len(X), _numbers), A
    params: dict[str, Any] = {}
    if base in ("rbf", "laplacian"):
        params["gamma"] = 0.1
    if base == "nearest_neighbors":
        params["n_neighbors"] = 7
    if base == "diffusion":
        params = {"n_neighbors": 7, "n_components": 5}
    return as_similarity(sp.csr_array(X) if base != name else X, base, **params), A


def as_memmap(path: Path, array: np.ndarray) -> np.memmap:
    """The array in a file, opened for reading."""
    file = np.memmap(path, dtype=array.dtype, mode="w+", shape=array.shape)
    file[:] = array
    file.flush()
    return np.memmap(path, dtype=array.dtype, mode="r", shape=array.shape)


# certificates -------------------------------------------------------------------------------------------


def vector(cluster: DominantSet, n: int) -> np.ndarray:
    """The weights of all n objects, 0 outside the cluster."""
    x = np.zeros(n)
    x[cluster.members] = cluster.weights
    return x


def negative_on_face(B: np.ndarray, rounding: float = 0.0) -> bool:
    """Whether x'Bx falls along every direction that sums to 0, by eigenvalues."""
    m = len(B)
    P = np.eye(m) - 1.0 / m
    eigenvalues = np.linalg.eigvalsh(P @ B @ P)
    rest = np.delete(eigenvalues, np.abs(eigenvalues).argmin())  # one is 0, that of the all-ones direction
    return bool((rest < rounding).all())


def assert_clusters_certified(
    A: np.ndarray, model: DominantSets, labels: np.ndarray | None = None, **known: float
) -> None:
    """Compute again what the clusters of a fit claim: each of all objects, or of those with its label.

    All members have the label of their cluster, and ``selection_`` says among how many it is certified.
    """
    labels = np.asarray(model.labels_ if labels is None else labels)
    for k, (cluster, row) in enumerate(zip(model.clusters_, model.selection_.rows, strict=True)):
        mine = np.flatnonzero(labels == k)
        assert np.isin(cluster.members, mine).all()
        assert row.among in (len(A), mine.size)
        assert_certified(A, cluster, left=mine if row.among < len(A) else None, **known)


def assert_certified(
    A: np.ndarray,
    cluster: DominantSet,
    *,
    left: np.ndarray | None = None,
    rounding: float = 1e-12,
    stationary: float | None = None,
    size: float = 0.0,
) -> None:
    """Compute again what a cluster claims, from its members, its weights and the dense matrix alone.

    ``left`` are the objects among which it was found, all of them without it. What is claimed may be off by
    ``rounding``, in units of the largest number of the problem; ``stationary`` is how far, in the same unit,
    the KKT conditions may be violated, where they are asked for. ``size`` is that of numbers from which the
    similarities were made: of two objects all of them may be what rounding left.
    """
    n, shift = len(A), cluster.shift
    unit = max(float(np.abs(A).max()), abs(shift), size)
    x = vector(cluster, n)
    here = np.arange(n) if left is None else left
    assert (np.diff(cluster.members) > 0).all()
    assert np.isin(cluster.members, here).all()
    assert cluster.weights.min() > 0
    assert cluster.weights.sum() == pytest.approx(1.0, abs=1e-12)
    r = A @ x - shift * x
    f = x @ r
    outside = np.setdiff1d(here, cluster.members)
    gap = max(0.0, float(r[here].max()) - f)
    assert cluster.value == pytest.approx(f + shift, rel=0, abs=rounding * unit)
    assert cluster.gap == pytest.approx(gap, rel=0, abs=rounding * unit)
    if outside.size:
        assert cluster.margin == pytest.approx(f - r[outside].max(), rel=0, abs=rounding * unit)
    else:
        assert cluster.margin == np.inf
    if cluster.strict and not cluster.undecided.size and not cluster.margin > 0:  # strict in spite of a tie
        assert cluster.margin == 0.0
        near = np.union1d(cluster.members, outside[r[outside] >= f - rounding * unit])[:10]
        B = [[Fraction(v) for v in row] for row in (A - shift * np.eye(n))[np.ix_(near, near)].tolist()]
        assert tuple(np.searchsorted(near, cluster.members).tolist()) in brute_force.maxima_of(B)[0]
    if cluster.strict and len(cluster) <= 100:
        B = A[np.ix_(cluster.members, cluster.members)] - shift * np.eye(len(cluster))
        assert negative_on_face(B, 1e-12 * len(cluster) * unit)
    if stationary is not None:
        assert gap <= stationary * unit
        assert x @ np.abs(r - f) <= 2 * stationary * unit  # the sum of x (f - r) over the members is 0


def contradict(one, other):
    """Whether one answer proves what the other disproves; None proves nothing, rounding may decide that."""
    return one is not None and other is not None and one != other


def assert_same_model(one: Any, other: Any) -> None:
    """Labels, and the certificates of the clusters: those of the same optimum, to rounding."""
    np.testing.assert_array_equal(np.asarray(one.labels_), np.asarray(other.labels_))
    np.testing.assert_allclose(np.asarray(one.memberships_), np.asarray(other.memberships_), atol=1e-6)
    assert one.end_ is other.end_
    for a, b in zip(one.clusters_, other.clusters_, strict=True):
        np.testing.assert_array_equal(a.members, b.members)
        assert b.status is a.status
        assert b.value == pytest.approx(a.value, rel=1e-9)
        assert b.margin == pytest.approx(a.margin, rel=1e-4, abs=1e-9 * abs(a.value))
        assert not contradict(a.strict, b.strict)
        assert b.weights.sum() == pytest.approx(1.0)
        if a.center is not None:
            np.testing.assert_allclose(b.center, a.center, rtol=1e-8)
            assert b.radius == pytest.approx(a.radius, rel=1e-7)


def assert_same_cluster(ours: DominantSet, theirs: DominantSet, atol: float = 1e-9) -> None:
    """Both converged, to the same support and weights."""
    assert ours.status is theirs.status is Status.CONVERGED
    assert ours.value == pytest.approx(theirs.value, rel=1e-9)
    assert not contradict(ours.strict, theirs.strict)
    np.testing.assert_array_equal(ours.members, theirs.members)
    np.testing.assert_allclose(ours.weights, theirs.weights, atol=atol)


# properties ---------------------------------------------------------------------------------------------


def given_comparisons(
    at_least: float, *strategies: Any
) -> Callable[[Callable[..., bool]], Callable[..., None]]:
    """As ``hypothesis.given`` of a test that says, by True or False, whether there was anything to compare.

    A property that compares nothing cannot fail; so it fails where less than this share of the examples did.
    """

    def decorate(test: Callable[..., bool]) -> Callable[..., None]:
        counts = Counter[bool]()

        @functools.wraps(test)
        def one(*args: Any, **kwargs: Any) -> None:
            compared = bool(test(*args, **kwargs))
            event("compared" if compared else "nothing to compare")
            counts[compared] += 1

        drawn = given(*strategies)(one)

        @functools.wraps(drawn)
        def all_of_them(*args: Any, **kwargs: Any) -> None:
            counts.clear()
            drawn(*args, **kwargs)
            share = counts[True] / max(1, counts.total())
            assert share >= at_least, f"{counts[True]} of {counts.total()} examples compared anything"

        return all_of_them

    return decorate


# signals ------------------------------------------------------------------------------------------------


def press_ctrl_c(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)
