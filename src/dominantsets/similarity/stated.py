"""What a similarity is, for a program that knows nothing of this package: a formula, its numbers, its data.

The formulas are those of ``checker/README.md``. A kind that is no formula of the rows that were given, such
as a diffusion map, states the formula of what it made of them; these data then go into a file of their own.
"""

from __future__ import annotations

import hashlib
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import require_memory
from dominantsets.compiled.threads import row_blocks
from dominantsets.rows.base import Detached, Recipe, Rows
from dominantsets.rows.memory import InMemory
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.dense import Dense
from dominantsets.similarity.diffusion import Diffusion
from dominantsets.similarity.distances import FromDistances
from dominantsets.similarity.elliptic import Elliptic
from dominantsets.similarity.embedding import EmbeddingBalls, EmbeddingPath
from dominantsets.similarity.equalized import Equalized, EqualizedGraph
from dominantsets.similarity.formulas import LINEAR
from dominantsets.similarity.graph import Graph
from dominantsets.similarity.kernel import Custom, Kernel
from dominantsets.similarity.low_rank import LowRank
from dominantsets.similarity.neighbors import Neighbors
from dominantsets.similarity.path import Path

_AS_GIVEN = Recipe("as given", LINEAR, None)  # rows neither centred nor scaled
PRODUCTS = ("sqeuclidean", "cosine", "linear")  # of rows: their f has bounds by boxes
_WORDS = {
    "sqeuclidean": "a_ij = M - |x_i - x_j|^2, M = {offset!r}",
    "euclidean": "a_ij = M - |x_i - x_j|, M = {offset!r}",
    "cosine": "a_ij = 1 + x_i.x_j / (|x_i| |x_j|)",
    "linear": "a_ij = x_i.x_j + m, m = {offset!r}",
    "rbf": "a_ij = exp(-g |x_i - x_j|^2), g = {gamma!r}",
    "laplacian": "a_ij = exp(-g |x_i - x_j|_1), g = {gamma!r}",
    "path": "a_ij = M - minimax distance, M = {offset!r}, mutual reachability with {min_samples} objects",
    "matrix": "a_ij as given, the mean of both entries",
    "graph": "a_ij as given, 0 where there is no edge",
}


class Stated(NamedTuple):
    """A formula by its name, its numbers, and its data: "rows", a "matrix" or a "graph".

    ``made`` says how the data came about, where they are not those that were given.
    """

    kind: str
    numbers: dict[str, Any]
    form: str
    data: Any
    made: str = ""

    @property
    def words(self) -> str:
        """The formula in one line."""
        return _WORDS[self.kind].format(**self.numbers)

    def digest(self) -> str:
        """SHA-256 of the data in float64, little-endian, behind a line with their shape."""
        if self.form == "graph":
            head, parts = _edges(self.data)
        elif self.form == "matrix":
            head, parts = f"{len(self.data)} {len(self.data)}\n", _symmetric(self.data)
        else:
            head, parts = f"{self.data.n} {self.data.d}\n", _rows(self.data)
        out = hashlib.sha256(head.encode())
        for part in parts:
            out.update(np.ascontiguousarray(part, dtype="<i8" if part.dtype.kind == "i" else "<f8").tobytes())
        return out.hexdigest()

    def saved(self) -> Any:
        """The data as an array or a CSR matrix that can be saved."""
        if self.form == "graph":
            return self.data
        return self.data if self.form == "matrix" else np.concatenate(list(_rows(self.data)))


def _rows(rows: Rows) -> Any:
    for part in row_blocks(rows.n, 8 * rows.d):
        yield rows.fetch(np.arange(rows.n)[part], "take", _AS_GIVEN)


def _symmetric(A: Any) -> Any:
    for part in row_blocks(len(A), 8 * len(A)):
        rows = 0.5 * (np.asarray(A[part], dtype=np.float64) + np.asarray(A[:, part], dtype=np.float64).T)
        rows[np.arange(len(rows)), np.arange(part.start, part.stop)] = 0.0
        yield rows


def _edges(G: sp.csr_array) -> tuple[str, list[Any]]:
    G = sp.csr_array(G, copy=True)
    G.sort_indices()
    parts = [G.indptr.astype(np.int64), G.indices.astype(np.int64), G.data.astype(np.float64)]
    return f"{G.shape[0]} {G.nnz}\n", parts


@singledispatch
def stated(similarity: Similarity) -> Stated:
    """What a similarity is; a kind that states more than its matrix registers it here."""
    n = similarity.n
    require_memory(8 * n * n, f"the {n:,} × {n:,} similarities that a certificate of this kind is about", "")
    return Stated(
        "matrix", {}, "matrix", similarity.toarray(), _MADE.get(type(similarity), "its similarities")
    )


_MADE: dict[type, str] = {
    Equalized: "ranks of similarities",
    FromDistances: "similarities made from a matrix of distances",
    Custom: "similarities by a function of the user",
}


def _known(rows: Rows) -> Rows:
    """Rows that can be read."""
    if isinstance(rows, Detached):
        raise ValueError(
            f"a saved model keeps what new objects need, not its {rows.n:,} training rows, which a "
            "certificate is about; write it before saving the model, or fit again."
        )
    return rows


@stated.register(LowRank)
def _of_products(similarity: LowRank) -> Stated:
    numbers = {"offset": float(similarity.formula.offset)}
    return Stated(similarity.formula.name, numbers, "rows", _known(similarity.rows))


@stated.register(Elliptic)
def _of_ellipses(similarity: Elliptic) -> Stated:
    """The formula before a metric; the metrics are with the clusters, and M is the same for all."""
    features = _known(similarity.rows) if similarity.features is None else InMemory(similarity.features)
    offset = stated.dispatch(LowRank)(similarity.for_cluster(0)).numbers
    return Stated("sqeuclidean", offset, "rows", features)


@stated.register(Diffusion)
def _of_walks(similarity: Diffusion) -> Stated:
    return _of_products(similarity)._replace(made="coordinates of a diffusion map of the rows")


@stated.register(EmbeddingBalls)
def _of_places(similarity: EmbeddingBalls) -> Stated:
    return _of_products(similarity)._replace(made="places of an embedding of the rows")


@stated.register(Kernel)
def _of_kernel(similarity: Kernel) -> Stated:
    name = getattr(similarity.formula, "name", None)
    if name is None:
        return stated.dispatch(Similarity)(similarity)
    numbers = {"offset": similarity.formula.M} if name == "euclidean" else {"gamma": similarity.gamma}
    return Stated(
        name, {key: float(value) for key, value in numbers.items()}, "rows", _known(similarity.rows)
    )


@stated.register(FromDistances)
def _of_distances(similarity: FromDistances) -> Stated:
    return stated.dispatch(Similarity)(similarity)


@stated.register(Dense)
def _of_matrix(similarity: Dense) -> Stated:
    return Stated("matrix", {}, "matrix", similarity.stored)


@stated.register(Graph)
def _of_graph(similarity: Graph) -> Stated:
    return Stated("graph", {}, "graph", similarity.matrix)


@stated.register(Neighbors)
def _of_neighbors(similarity: Neighbors) -> Stated:
    return _of_graph(similarity)._replace(made="the graph of nearest neighbors of the rows")


@stated.register(EqualizedGraph)
def _of_ranks(similarity: EqualizedGraph) -> Stated:
    return _of_graph(similarity)._replace(made="ranks of the edges of a graph")


@stated.register(Path)
def _of_path(similarity: Path) -> Stated:
    numbers = {"offset": similarity.top, "min_samples": similarity.min_samples}
    tree = similarity.tree
    if similarity._features is not None and not tree.approximate:
        rows = np.ascontiguousarray(similarity._features, dtype=np.float64)
        return Stated("path", numbers, "rows", InMemory(rows))
    made = "the spanning tree of the distances, which has the same minimax distances"
    if tree.approximate:
        made = "an approximate spanning tree of the rows, from nearest neighbors"
    i, j = tree.ends
    both = np.concatenate([i, j]), np.concatenate([j, i])
    G = sp.csr_array((np.tile(np.sort(tree.height), 2), both), shape=(tree.n, tree.n))
    return Stated("path", numbers | {"min_samples": 1}, "graph", G, made)


@stated.register(EmbeddingPath)
def _of_embedded_path(similarity: EmbeddingPath) -> Stated:
    return _of_path(similarity)._replace(made="places of an embedding of the rows")
