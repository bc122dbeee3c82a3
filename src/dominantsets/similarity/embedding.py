"""Places in few dimensions where neighbours are near each other, and similarity there."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

from dominantsets._checks import check_choice, check_int
from dominantsets._typing import Floats, Ints
from dominantsets.compiled import embedding as _compiled
from dominantsets.compiled.interrupts import check
from dominantsets.compiled.threads import blas, parallel_map, thread_slices
from dominantsets.rows.memory import InMemory
from dominantsets.similarity.formulas import SQEUCLIDEAN
from dominantsets.similarity.low_rank import LowRank
from dominantsets.similarity.neighbors import check_neighbors
from dominantsets.similarity.path import REACH, Path
from dominantsets.similarity.search import SAMPLE, Search

# benchmarks/embedding.py says on what these were chosen
REPULSION = 10.0  # of the mean over all objects, beside the mean over neighbours, in the last round
SAMPLES = 10  # objects for that mean, in each round
RATE, MOMENTUM = 1.0, 0.8  # the rate of the first round; it falls to 0
SMOOTHING = 30  # means over neighbours of the places to begin with
ROUNDING = 1e-12  # relative spread below which coordinates are equal
JITTER = 1e-3  # by which equal objects begin apart
GRAIN = 2_000  # objects below which a part is not worth a thread
SETTLING = 20  # steps of a new object among its neighbours


class Places:
    r"""Objects in few dimensions, neighbours near each other and others apart.

    With :math:`d_{ij}` the distance to the k nearest neighbours and :math:`\rho_i` that to the nearest, the
    weights :math:`v_{ij} = \exp(-(d_{ij} - \rho_i) / \sigma_i)` have the sum :math:`\log_2 k` by the choice
    of :math:`\sigma_i`; :math:`w = v + v^T - v v^T`, entry by entry, is symmetric, and
    :math:`p_{ij} = w_{ij} / \sum_j w_{ij}`. At places y objects are alike by
    :math:`q_{ij} = 1 / (1 + |y_i - y_j|^2)`. Every object moves down the slope of

    .. math:: E_i(y_i) = -\sum_j p_{ij} \log q_{ij} + \gamma \operatorname{mean}_s q_{is},

    the second mean over a few objects that are chosen anew in each round: it is drawn to its neighbours and
    driven away from all objects. :math:`\gamma` rises from 0: a group comes together before groups part. All
    move at once from where all were before, and who is chosen comes from counters, so that the places are the
    same in every run and for any number of threads. The first places are on the principal axes, smoothed over
    neighbours.

    Attributes
    ----------
    at : ndarray of shape (n, n_components)
        The places.
    graph : CSR array
        The weights w.
    recall : float
        Of the search for neighbours, as in :class:`Neighbors`.
    """

    def __init__(
        self,
        X: Any,
        n_neighbors: int | None,
        n_components: int,
        n_epochs: int,
        search: str,
        n_jobs: int | None,
        cosine: bool = False,
    ) -> None:
        n = X.shape[0]
        self.directions = cosine
        X = normalize(X) if cosine else X
        d = check_int("n_components", n_components, at_least=1)
        epochs = check_int("n_epochs", n_epochs, at_least=0)
        self.search = Search(X, check_neighbors(n_neighbors, n), search, n_jobs)
        self.recall = self.search.recall
        if n == 1:
            self.graph, self.at = sp.csr_array((1, 1)), np.zeros((1, d))
            return
        self.graph = fuzzy_graph(*self.search.kneighbors())
        self.at = moved(self.graph, _first_places(X, self.graph, d), epochs).astype(np.float64)

    def prepared(self, new: Any) -> Any:
        """New rows as the search for neighbors takes them."""
        return normalize(new) if self.directions else new

    def of(self, new: Any) -> Floats:
        """New objects where their neighbours hold them: from the nearest one's place down the slope.

        Without repulsion, and the others stay: steps to the mean of the neighbours under p q.
        """
        if len(self.at) == 1:
            return np.repeat(self.at, new.shape[0], axis=0)
        new = self.prepared(new)
        distances, nearest = self.search.kneighbors(new)
        weights, around = neighbor_weights(distances)[:, :, None], self.at[nearest]
        y = around[:, 0]
        for _ in range(SETTLING):
            pull = weights / (1.0 + np.square(around - y[:, None]).sum(axis=2, keepdims=True))
            y = (pull * around).sum(axis=1) / pull.sum(axis=1)
        # a copy of an object is where that one is
        return np.where(self.search.copies(new, nearest[:, 0])[:, None], around[:, 0], y)


class EmbeddingBalls(LowRank):
    """M - D² of the places: clusters are balls there."""

    def __init__(self, X: Any, places: Places) -> None:
        self.places = places
        super().__init__(InMemory(places.at), SQEUCLIDEAN, "bound")
        self.n_features = X.shape[1]

    def moved(self, new: Any) -> Floats:
        return self.places.of(new)


class EmbeddingPath(Path):
    """Path-based similarity of the places: clusters are what hangs together there."""

    def __init__(self, X: Any, places: Places) -> None:
        self.places = places
        super().__init__(places.at, min_samples=min(REACH, len(places.at)))
        self.n_features = X.shape[1]

    def nearest_object(self, new: Any) -> tuple[Floats, Ints]:
        return super().nearest_object(self.places.of(new))


THEN: dict[str, type[EmbeddingPath] | type[EmbeddingBalls]] = {"path": EmbeddingPath, "balls": EmbeddingBalls}


def embedding(
    X: Any,
    *,
    n_neighbors: int | None = None,
    n_components: int = 4,
    n_epochs: int = 300,
    then: str = "path",
    n_jobs: int | None = None,
    search: str = "auto",
    metric: str = "euclidean",
) -> EmbeddingPath | EmbeddingBalls:
    """Similarity at :class:`Places` of few dimensions, which bring neighbours together.

    For images, embeddings and other data on curved surfaces. ``then="path"``: minimax distances there (groups
    of any shape); ``"balls"``: squared distances. ``metric="cosine"``: neighbours are those of about the same
    direction, as words have it. The places are ``similarity.places.at``.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import as_similarity
    >>> X = np.repeat([[0.0], [100.0]], 20, axis=0) + np.tile(np.arange(20.0), 2)[:, None]
    >>> S = as_similarity(X, "embedding", n_neighbors=6)
    >>> S.column(0)[[19, 20]] > 0.0  # of one group, of two
    array([ True, False])
    """
    make = THEN[check_choice("then", then, THEN)]
    cosine = check_choice("metric", metric, ("euclidean", "cosine")) == "cosine"
    return make(X, Places(X, n_neighbors, n_components, n_epochs, search, n_jobs, cosine))


def neighbor_weights(distances: Floats) -> Floats:
    """The weights v of neighbours at these distances, which rise in each row."""
    out = np.empty_like(distances)
    _compiled.weigh(np.ascontiguousarray(distances), float(np.log2(distances.shape[1])), out)
    return out


def fuzzy_graph(distances: Floats, nearest: Ints) -> sp.csr_array:
    """The symmetric weights w of neighbours."""
    n, k = distances.shape
    v = sp.csr_array(
        (neighbor_weights(distances).ravel(), nearest.ravel(), np.arange(n + 1) * k), shape=(n, n)
    )
    back = v.T.tocsr()
    w = sp.csr_array(v + back - v.multiply(back))
    w.sort_indices()
    return w


def _first_places(X: Any, graph: sp.csr_array, d: int) -> Floats:
    """Coordinates on the principal axes, smoothed over neighbours, each with deviation 1."""
    n, count = X.shape[0], min(d, *X.shape)
    some = np.random.RandomState(0).permutation(n)[:SAMPLE]
    sample = X[np.sort(some)]
    middle = np.zeros(X.shape[1]) if sp.issparse(X) else sample.mean(axis=0)
    with blas().limit(limits=1, user_api="blas"):
        _, _, axes = randomized_svd(sample - middle if not sp.issparse(X) else sample, count, random_state=0)
        y = np.zeros((n, d))
        y[:, :count] = X @ axes.T - middle @ axes.T
    share = _normalised(graph)
    for _ in range(SMOOTHING):
        y = 0.5 * (y + share @ y)
    y -= y.mean(axis=0)
    spread = y.std(axis=0)
    if spread.max() <= ROUNDING * max(1e-300, float(abs(X).max())):  # all are equal, and stay so
        return np.zeros((n, d))
    y /= np.where(spread > ROUNDING * spread.max(), spread, np.inf)
    return y + JITTER * np.random.RandomState(0).normal(size=y.shape)


def _normalised(graph: sp.csr_array) -> sp.csr_array:
    """The shares p of the neighbours in the weight of each object."""
    return sp.csr_array(sp.diags_array(1.0 / np.asarray(graph.sum(axis=1)).ravel()) @ graph)


def moved(graph: sp.csr_array, y: Floats, epochs: int) -> Any:
    """The places after so many rounds of moves, in float32."""
    p = _normalised(graph)
    starts, others, shares = p.indptr.astype(np.int64), p.indices.astype(np.int64), p.data.astype(np.float32)
    now = np.ascontiguousarray(y, dtype=np.float32)
    after, speed = np.empty_like(now), np.zeros_like(now)
    parts = thread_slices(len(now), GRAIN)
    for epoch in range(epochs):
        check()
        done = epoch / epochs

        def work(
            part: slice, now: Any = now, after: Any = after, epoch: int = epoch, done: float = done
        ) -> None:
            _compiled.move(
                now, speed, starts, others, shares, part.start, part.stop, epoch, SAMPLES,
                RATE * (1.0 - done), REPULSION * done, MOMENTUM, after,
            )  # fmt: skip

        parallel_map(work, parts)
        now, after = after, now
    return now
