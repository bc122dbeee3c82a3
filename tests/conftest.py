"""Shared fixtures: data, similarities of every kind, and how data tests are skipped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, settings
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import kneighbors_graph

from dominantsets import as_similarity

# A property must not depend on how fast the machine is, and a failure must be repeatable.
settings.register_profile(
    "dominantsets",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("dominantsets")


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


def features(n: int = 60, d: int = 4, seed: int = 0) -> np.ndarray:
    """Three groups and some noise, far from the origin so that centring matters."""
    rng = np.random.default_rng(seed)
    groups = rng.normal(size=(3, d)) * 3
    X = groups[rng.integers(3, size=n)] + rng.normal(size=(n, d))
    return X + 5.0


def random_similarity(n: int, seed: int = 0, zeros: float = 0.0) -> np.ndarray:
    """A random symmetric similarity, a share of its entries zero."""
    rng = np.random.default_rng(seed)
    A = rng.random((n, n)) * (rng.random((n, n)) >= zeros)
    A = np.triu(A, 1)
    A = A + A.T
    if n > 1 and not A.any():
        A[0, 1] = A[1, 0] = 1.0
    return A


def inverse_distance(P: Any, Q: Any) -> Any:
    return 1.0 / (1.0 + np.abs(P[:, None, :] - Q[None, :, :]).sum(axis=2))


def _numbers(rows: Any, cols: Any) -> Any:
    return 1.0 / (1.0 + np.abs(np.subtract.outer(rows, cols)))


def diffusion_by_hand(X: np.ndarray, k: int, count: int, steps: int) -> np.ndarray:
    """From the definition: eigenvectors of the walk's own matrix, which is not symmetric."""
    C = kneighbors_graph(X, k).toarray()
    G = 0.5 * (C + C.T)
    P = G / G.sum(axis=1, keepdims=True)
    values, vectors = np.linalg.eig(P)
    order = np.argsort(-values.real)[: count + 1]
    values, vectors = values.real[order], vectors.real[:, order]
    constant = np.ptp(vectors / np.abs(vectors).max(axis=0), axis=0) < 1e-6
    values, vectors = values[~constant][:count], vectors[:, ~constant][:, :count]
    # the length of an eigenvector: as the stationary distribution weighs it
    share = G.sum(axis=1) / G.sum()
    vectors = vectors / np.sqrt(share @ vectors**2)
    return cosine_similarity(vectors * ((1.0 + values) / 2.0) ** steps) + 1.0


def formula(kind: str, X: np.ndarray) -> np.ndarray:
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
        A = np.exp(-0.1 * D2)
    elif kind == "laplacian":
        A = np.exp(-0.1 * np.abs(X[:, None, :] - X[None, :, :]).sum(axis=2))
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
        A = diffusion_by_hand(X, 7, 5, 4)
    elif kind == "path":
        P = np.sqrt(D2)
        for k in range(n):
            P = np.minimum(P, np.maximum.outer(P[:, k], P[k]))
        A = P.max() - P
    elif kind in ("dense", "memmap", "fortran", "graph"):
        A = np.maximum(np.exp(-0.2 * D2) - 0.01, 0.0)
    else:
        raise AssertionError(kind)
    np.fill_diagonal(A, 0.0)
    return A


KINDS = (
    "dense", "fortran", "memmap", "graph", "sqeuclidean", "cosine", "linear", "rbf", "laplacian",
    "euclidean", "callable", "numbers", "nearest_neighbors", "diffusion", "path", "sparse-sqeuclidean",
    "sparse-cosine", "sparse-linear", "sparse-rbf",
)  # fmt: skip


@pytest.fixture(params=[(k, t) for k in KINDS for t in ("float64", "float32")], ids="-".join)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Any, np.ndarray, float]:
    """Every kind of similarity with its own dense matrix and the rounding of its storage."""
    name, dtype = request.param
    X = np.abs(features()).astype(dtype)
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
            file = np.memmap(tmp_path / "A.dat", dtype=dtype, mode="w+", shape=A.shape)
            file[:] = stored
            file.flush()
            stored = np.memmap(tmp_path / "A.dat", dtype=dtype, mode="r", shape=A.shape)
        S = as_similarity(stored)
    elif name == "callable":
        S = as_similarity(X, inverse_distance)
    elif name == "numbers":
        S = as_similarity(len(X), _numbers)
    else:
        params: dict[str, Any] = {}
        if base in ("rbf", "laplacian"):
            params["gamma"] = 0.1
        if base == "nearest_neighbors":
            params["n_neighbors"] = 7
        if base == "diffusion":
            params = {"n_neighbors": 7, "n_components": 5, "steps": 4}
        S = as_similarity(sp.csr_array(X) if base != name else X, base, **params)
    rounding = 1e-9 if name == "diffusion" else 1e-12  # of eigenvectors
    return name, S, A, rounding * float(A.max())
