"""From a user's data to a similarity that solvers can use."""

from __future__ import annotations

import inspect
import numbers
import sys
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._checks import check_choice, warn
from dominantsets.rows.base import Rows, require_finite, require_square
from dominantsets.rows.foreign import is_tensor, shared, torch_needed
from dominantsets.rows.memory import InMemory
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.dense import Dense, warn_of_distances
from dominantsets.similarity.diffusion import Diffusion
from dominantsets.similarity.distances import from_distances
from dominantsets.similarity.elliptic import Elliptic
from dominantsets.similarity.embedding import embedding
from dominantsets.similarity.equalized import Equalized, EqualizedGraph
from dominantsets.similarity.graph import Graph
from dominantsets.similarity.kernel import Custom, Euclidean, Indexed, LaplacianKernel, Rbf
from dominantsets.similarity.low_rank import cosine, linear, sqeuclidean
from dominantsets.similarity.neighbors import Neighbors
from dominantsets.similarity.path import Path

ANYWHERE: dict[str, Callable[..., Similarity]] = {  # of rows in memory, in Dask chunks or on a device
    "sqeuclidean": sqeuclidean,
    "cosine": cosine,
    "linear": linear,
    "rbf": Rbf,
    "laplacian": LaplacianKernel,
}
FROM_ROWS: dict[str, Callable[..., Similarity]] = {**ANYWHERE, "euclidean": Euclidean}
FROM_ARRAYS: dict[str, Callable[..., Similarity]] = {
    "nearest_neighbors": Neighbors,
    "diffusion": Diffusion,
    "embedding": embedding,
    "ellipses": Elliptic,
    "path": Path,
}
PRECOMPUTED = ("precomputed", "precomputed_distance")  # X is a matrix of all pairs
AFFINITIES = (*FROM_ROWS, *FROM_ARRAYS, *PRECOMPUTED)
NUMBERED = {"diffusion": "n_components"}  # parameters that are a number of clusters, where nothing is said
NO_NODES = "the graph has no nodes: there is nothing to cluster."
DENSE_ONLY = ("laplacian", "euclidean", "path", "ellipses")  # affinities that refuse sparse features


def as_similarity(X: Any, affinity: Any = "precomputed", *, device: Any = None, **params: Any) -> Similarity:
    """Turn data into a similarity that the solvers can ask.

    Parameters
    ----------
    X : array, sparse matrix, DataFrame, Dask array, torch tensor, graph, Similarity or int
        A graph of networkx or igraph has the weights of its edges for similarities.
        An array of another library that has ``__dlpack__`` (CuPy, JAX) is taken where it is.
        A symmetric n × n similarity (dense, or sparse: a graph) for ``affinity="precomputed"``, else
        n rows of features. A similarity is returned as it is. For a callable, the number n of
        objects may stand here instead of features. Rows of a Dask array stay in their chunks; it takes
        "sqeuclidean", "cosine", "linear", "rbf", "laplacian" and, in blocks of CSR rows, "precomputed".
    affinity : str or callable, default="precomputed"
        ``"sqeuclidean"`` (M - D²), ``"cosine"`` (cos + 1), ``"linear"``, ``"rbf"``, ``"laplacian"``,
        ``"euclidean"`` (M - D), ``"path"`` (minimax distances), ``"nearest_neighbors"``,
        ``"diffusion"`` (random walks on that graph), ``"embedding"`` (neighbours brought together in few
        dimensions), ``"ellipses"`` (M - D², every cluster with its own metric), ``"precomputed"`` or
        ``"precomputed_distance"``. A callable gets two arrays of feature rows (two arrays of object
        numbers where X is an int) and returns the array of their similarities; any of
        ``sklearn.metrics.pairwise``'s kernels will do.
    device : str or torch.device, optional
        Where features under sqeuclidean, cosine, linear, rbf or laplacian are to be worked on, such as
        ``"cuda"``. A torch tensor stays where it is; an array is brought there, in float16, int8, uint8 or
        bool too, and one that does not fit streams in blocks. Each chunk of a Dask array is brought to the
        device of the worker that has it; chunks that are tensors stay where they are.
    **params
        ``gamma`` for rbf and laplacian; ``offset`` for sqeuclidean, euclidean (``"bound"``,
        ``"exact"`` or a number) and linear; ``n_neighbors``, ``n_jobs`` and ``search``
        ("auto", "exact", "approximate") for nearest_neighbors, diffusion and embedding; the last two also
        ``metric`` ("euclidean" or "cosine"); diffusion takes
        ``n_components`` (as many as clusters are asked for; without that, as the eigenvalues say), embedding
        ``n_components``, ``n_epochs`` and ``then`` ("path" or "balls"), ellipses ``start``;
        ``then`` ("path", "sqeuclidean", "euclidean" or "rbf") and ``min_samples`` for precomputed_distance;
        ``metric="precomputed"`` for path, where X holds distances (sparse: a graph of distances). Any of them
        takes ``equalize=True``: ranks of the similarities instead of their values (of a graph, of its edges),
        so that no increasing map of them, such as another gamma, changes anything.

    Returns
    -------
    Similarity
        Checked: symmetric, finite, not negative; its diagonal counts as zero.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> S = as_similarity(np.array([[0.0, 0.0], [3.0, 4.0]]), affinity="sqeuclidean")
    >>> S.n, S.offset, float(S.column(0)[1])
    (2, 25.0, 0.0)
    """
    if "equalize" in params:
        wanted = params.pop("equalize")
        if not isinstance(wanted, bool | np.bool_):
            raise ValueError(f"equalize must be True or False, got {wanted!r}.")
        made = as_similarity(X, affinity, device=device, **params)
        if not wanted:
            return made
        return EqualizedGraph(made) if isinstance(made, Graph) else Equalized(made)
    refuse_anndata(X)
    if is_graph(X):
        X = matrix_of_graph(X, affinity)
    if isinstance(X, Similarity):
        _check_params("of a similarity that is already made", params, known=[])
        return X
    X = shared(X)
    if is_dask(X):
        return _elsewhere(X, affinity, params, "for Dask arrays", partial(_in_chunks, device))
    if device is not None or is_tensor(X):
        return _elsewhere(X, affinity, params, "on a device", lambda X, _: _on_device(X, device))
    if callable(affinity):
        _check_params("a callable", params, known=[])
        if isinstance(X, numbers.Integral):
            return Indexed(int(X), affinity)
        return Custom(InMemory(_features(X)), affinity)
    name = check_choice("affinity", affinity, AFFINITIES)
    if name == "precomputed":
        _check_params(name, params, known=[])
        if sp.issparse(X):
            return Graph(X)
        X = X if isinstance(X, np.memmap) else np.asarray(X)
        made = Dense(X)
        warn_of_distances(X)
        return made
    if name == "precomputed_distance":
        _check_params(name, params, known=["then", "min_samples"])
        return from_distances(X if sp.issparse(X) else np.asarray(X), **params)
    if name == "path" and params.get("metric") == "precomputed":  # distances, not features
        _check_params(name, params, parameters_of(name))
        return Path(X if sp.issparse(X) else np.asarray(X), **params)
    _check_params(name, params, parameters_of(name))
    features = _features(X)
    if name in FROM_ROWS:
        return FROM_ROWS[name](InMemory(features), **params)
    return FROM_ARRAYS[name](features, **params)


def parameters_of(name: str) -> list[str]:
    """The parameters that an affinity takes."""
    made = (FROM_ROWS | FROM_ARRAYS).get(name)
    parameters = inspect.signature(made).parameters.values() if made else ()
    return [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]


def is_small(X: Any) -> bool:
    """Whether numbers take one or two bytes each, as codes do: they stay so on a device."""
    return str(getattr(X, "dtype", "")) in ("float16", "int8", "uint8", "bool")


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, without importing Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def is_graph(X: Any) -> bool:
    """Whether X is a graph of networkx or igraph; neither is imported to find out."""
    kinds = [getattr(sys.modules.get(name), "Graph", None) for name in ("networkx", "igraph")]
    return any(isinstance(kind, type) and isinstance(X, kind) for kind in kinds)


def matrix_of_graph(graph: Any, affinity: Any, weight: str | None = "weight") -> sp.csr_array:
    """The weights of the edges of a graph (1 where they have none), in the order of its nodes.

    Several edges between two nodes add up, those in opposite directions too.
    """
    if graph.is_directed() and affinity != "precomputed":
        undirected = "as_undirected" if hasattr(graph, "as_undirected") else "to_undirected"
        raise ValueError(f"the graph is directed, and distances are symmetric; pass graph.{undirected}().")
    if not (isinstance(affinity, str) and affinity in PRECOMPUTED):
        raise ValueError(f"affinity={affinity!r} is for features; a graph takes affinity='precomputed'.")
    if hasattr(graph, "vcount"):
        return _matrix_of_igraph(graph, weight)
    if not len(graph):
        raise ValueError(NO_NODES)
    names = {name for _, _, edge in graph.edges(data=True) for name in edge}
    _check_weight(weight, names)
    networkx = sys.modules["networkx"]
    A = sp.csr_array(networkx.to_scipy_sparse_array(graph, weight=weight, dtype=np.float64, format="csr"))
    return sp.csr_array(A + A.T) if graph.is_directed() else A


def _matrix_of_igraph(graph: Any, weight: str | None) -> sp.csr_array:
    n = graph.vcount()
    if not n:
        raise ValueError(NO_NODES)
    _check_weight(weight, graph.es.attributes())
    weighted = weight in graph.es.attributes()
    values = np.array(graph.es[weight] if weighted else np.ones(graph.ecount()), dtype=np.float64)
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2).T
    half = sp.coo_array((values, (ends[0], ends[1])), shape=(n, n)).tocsr()
    return sp.csr_array(half + half.T)


def _check_weight(weight: str | None, names: Collection[str]) -> None:
    """A sentence where the edges have attributes and none with the name of the weight."""
    if weight is None or weight in names or not names:
        return
    listed = ", ".join(repr(name) for name in sorted(map(str, names)))
    warn(
        f"the edges have no attribute {weight!r}, so that all of them count 1; they have {listed}. Pass a "
        "matrix, such as nx.to_scipy_sparse_array(graph, weight=...), or dominant_set_communities(graph, "
        "weight=...)."
    )


def refuse_anndata(X: Any) -> None:
    """A sentence for a table of cells, which has several matrices."""
    if type(X).__module__.partition(".")[0] == "anndata":
        raise ValueError(
            "X is an AnnData; call dominantsets.scanpy.tl.dominant_sets(adata), or pass one of its matrices, "
            'such as adata.obsm["X_pca"].'
        )


def rows_of(X: Any, device: Any = None) -> Rows:
    """Rows of features, where they are or on a device: what similarities of ``ANYWHERE`` are made of."""
    if is_dask(X):
        return _in_chunks(device, X, False)
    if device is not None or is_tensor(X):
        return _on_device(X, device)
    return InMemory(_features(X))


def _elsewhere(
    X: Any, affinity: Any, params: dict[str, Any], where: str, stored: Callable[[Any, bool], Rows]
) -> Similarity:
    """The similarity of rows that stay where they are."""
    graph = isinstance(affinity, str) and affinity == "precomputed" and is_dask(X)
    if not graph and (not isinstance(affinity, str) or affinity not in ANYWHERE):
        known = [*ANYWHERE, *(["precomputed"] if is_dask(X) else [])]
        raise ValueError(
            f"affinity={affinity!r} is not available {where}; choose one of "
            f"{', '.join(repr(name) for name in known)}, or pass a NumPy array."
        )
    _check_params(affinity, params, [] if graph else parameters_of(affinity))
    if graph:
        from dominantsets.similarity.chunk_graph import ChunkGraph  # only where there is Dask

        return ChunkGraph(stored(X, True))
    return ANYWHERE[affinity](stored(X, False), **params)


def _in_chunks(device: Any, X: Any, graph: bool) -> Rows:
    from dominantsets.rows.from_dask import rows_of_dask  # only where there is Dask

    return rows_of_dask(X, graph, device)


def in_process(X: Any) -> Any:
    """The rows of a Dask array, brought to this process; a data frame brings itself."""
    from dominantsets.rows.chunks import computed  # only where there is Dask

    return computed(X) if hasattr(X, "numblocks") else X


def _on_device(X: Any, device: Any) -> Rows:
    if sp.issparse(X):
        raise ValueError("sparse features do not work on a device; leave device out, or pass X.toarray().")
    with torch_needed():
        from dominantsets.rows.tensors import TensorRows
    if not is_tensor(X) and not isinstance(X, np.memmap):
        X = np.asarray(X)
        X = X if is_small(X) else _features(X)
    return TensorRows(X, device)


def _check_params(name: str, params: dict[str, Any], known: list[str]) -> None:
    for key in params:
        if key not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"affinity {name} takes no parameter {key!r}; it takes: {listed}.")


def _features(X: Any) -> Any:
    """Feature rows as a float32 or float64 array (memmaps in place) or CSR matrix, all finite."""
    if sp.issparse(X):
        X = sp.csr_array(X)
    elif not isinstance(X, np.memmap):
        X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(
            f"features must be a 2-D array, one row an object, got {X.ndim} dimension(s); "
            "reshape a single feature with X.reshape(-1, 1)."
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"features of shape {X.shape} are empty: there is nothing to cluster.")
    if np.iscomplexobj(X):
        raise ValueError("the features are complex; features must be real numbers.")
    if X.dtype not in (np.float32, np.float64):
        try:
            X = X.astype(np.float32 if X.dtype == np.float16 else np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the features do not hold numbers: {error}.") from error
    values = X.data if sp.issparse(X) else X
    # The sum is finite unless an entry is not, or it overflows: only then look at every entry.
    require_finite(bool(np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all()))
    require_square(max(float(values.max(initial=0.0)), -float(values.min(initial=0.0))))
    return X
