"""The base class of similarities: what solvers, clusters and labels may ask of data."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import gammaincc
from sklearn.utils.extmath import randomized_svd

from dominantsets._checks import require_memory
from dominantsets._typing import Floats, Ints
from dominantsets.compiled.threads import row_blocks
from dominantsets.rows.base import Cores, Recipe, Rows
from dominantsets.rows.points import Points
from dominantsets.rows.rule import Rule
from dominantsets.similarity.expansion import Expansion, by_eigenvectors, top_by_products, top_of
from dominantsets.similarity.faces import EPS, negative_definite_on_face

AXES = 128  # of the points that stand for objects
PROFILES = 64  # objects to which similarities describe an object that has no features
SMALL = 200  # objects up to which a matrix is factorised only to see whether there is but one maximum
FEW = 1_000  # objects up to which a bound of the largest eigenvalue is that eigenvalue
ROUNDS, LOOKED_AT = 8, 20_000  # products that a bound of the largest eigenvalue takes; one, if they are dear
EXPANDED = 300  # objects up to which a matrix is written as products of rows, one for each eigenvector
HASHED = 256  # objects with hashed similarities, where only a function can reach the data


def off_diagonal(block: Floats, rows: Ints, cols: Ints) -> Floats:
    """Set the entries where row and column are the same object to zero, in place."""
    block[np.equal.outer(rows, cols)] = 0.0
    return block


def evenly(objects: Ints, count: int) -> Ints:
    """Up to ``count`` of the objects, spread evenly over their order."""
    if objects.size <= count:
        return objects
    return objects[np.linspace(0, objects.size - 1, count).astype(np.int64)]


def hashed(*parts: Any) -> str:
    """A hash of arrays (read in chunks), and of the printed form of other values."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if not isinstance(part, np.ndarray):
            digest.update(str(part).encode())
            continue
        digest.update(f"{part.dtype} {part.shape}".encode())
        for rows in row_blocks(len(part), max(1, part.nbytes // max(1, len(part)))):
            digest.update(np.ascontiguousarray(part[rows]).tobytes())
    return digest.hexdigest()


class Folded(NamedTuple):
    """The different objects of a similarity, how often each is there, and which of them each object is."""

    similarity: Similarity
    counts: Floats
    places: Ints


class Support(NamedTuple):
    """Weights on some objects, as they are."""

    objects: Ints
    weights: Floats


class Coordinates(NamedTuple):
    """Objects as points, half of whose squared distances of feature space are those of the rows.

    ``extra`` are the squares of what the rows leave out (at right angles for different objects), ``own`` is
    the similarity of an object to its copy; ``points`` makes of rows and extra what works on them.
    """

    rows: Floats
    extra: Floats
    own: float
    points: Callable[[Floats, Floats], Points] = Points


class Similarity(ABC):
    r"""A symmetric similarity A of n objects with a zero diagonal.

    A solver of :math:`\max_x x^T (A - \alpha I) x` asks only the questions below. A new kind has to
    answer ``block`` and ``cross``; the rest follows from them, and is overridden where the kind knows a
    cheaper way. Everything comes back in float64, whatever the data are stored in.

    Attributes
    ----------
    n : int
        Number of objects.
    n_features : int
        Columns of what describes a new object: features, or similarities to the n objects.
    offset : float or None
        The constant that this kind adds to make similarities nonnegative (the M of M - D²).
    self_similarity : float or None
        The similarity of an object to a copy of itself (the mean over the objects, where it differs);
        the largest similarity where only a matrix is given; None for a graph, which has no such level.
    components : ndarray of int or None
        The component of each object where objects of different ones must not be put together.
    zero_means_unrelated : bool
        Whether a similarity of 0 means "not alike". For path-based similarity it is only the largest
        distance there is, and a shift joins such objects too.
    degrees_error : float
        Largest standard error of ``degrees`` where it was sampled; 0.0 where it is exact.
    bounded_by_self_similarity : bool
        Whether no two objects are more alike than ``self_similarity``.
    is_sparse : bool
        Whether most similarities are 0 and ``sparse_gradient`` finds the others without a look at all
        objects.
    in_memory : bool
        Whether what it is made of is in the memory of this process.
    structure : str
        What the objects are, which says how a fit goes: "points" of a feature space, as ``coordinates`` gives
        them, "ellipses" (points, each cluster with a metric of its own, see ``for_cluster``), a "network"
        whose edges are the data, a "tree", or "graph" (the neighbors of points, or a graph in pieces).
    has_clouds : bool
        Whether groups are clouds, with widths of their own and perhaps a background. Not in a spectral
        embedding: groups are directions, and what lies between two is on the border, not noise.
    n_groups : int or None
        How many groups the similarity itself tells of, where it does.
    costs_all_pairs : bool
        Whether a product with all objects of a cluster costs as many similarities as there are pairs.
    describable : int
        How many objects ``describe`` may be asked of.
    device : torch.device or None
        Where the features are, if they are tensors.
    """

    n: int
    n_features: int
    offset: float | None = None
    self_similarity: float | None = None
    components: Ints | None = None
    zero_means_unrelated: bool = True
    degrees_error: float = 0.0
    bounded_by_self_similarity: bool = False
    is_sparse: bool = False
    structure: str = "points"
    has_clouds: bool = True
    n_groups: int | None = None
    costs_all_pairs: bool = True
    all_sets_by: str = ""  # how all dominant sets are found with proof: "tree", "boxes" or not

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n:,} objects)"

    @property
    def in_memory(self) -> bool:
        return True

    @property
    def describable(self) -> int:
        return 2**62

    @property
    def device(self) -> Any:
        return None

    @abstractmethod
    def block(self, rows: Ints, cols: Ints) -> Floats:
        """The dense block A[rows][:, cols], as a new array."""

    @abstractmethod
    def cross(self, new: Any, cols: Ints) -> Floats:
        """Similarities of new objects to the objects ``cols``, as a new array."""

    @property
    def rounding(self) -> float:
        """What may be left of a similarity of 0: nothing, unless it is a difference from an offset."""
        return 0.0 if self.offset is None or self.self_similarity is None else 1e-13 * self.self_similarity

    @property
    def stored(self) -> NDArray[Any] | None:
        """An n × n array with column i as row i off the diagonal, where one exists; never made."""
        return None

    def column(self, i: int) -> Floats:
        """The column A[:, i]."""
        return self.block(np.arange(self.n), np.array([i]))[:, 0]

    def entry(self, i: int, j: int) -> float:
        """The single similarity A[i, j]."""
        return float(self.block(np.array([i]), np.array([j]))[0, 0])

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        """The product A x for an x that is ``weights`` on ``support`` (distinct) and 0 elsewhere."""
        out = np.zeros(self.n)
        every = np.arange(self.n)
        for part in row_blocks(support.size, 8 * 256):
            for rows in row_blocks(self.n, 8 * (part.stop - part.start)):
                out[rows] += self.block(every[rows], support[part]) @ weights[part]
        return out

    def sparse_gradient(self, support: Ints, weights: Floats) -> tuple[Ints, Floats]:
        """As ``gradient``, but only for the support and the objects with a similarity to it.

        Returns those objects, in increasing order, and their products. For kinds that are ``is_sparse``.
        """
        raise NotImplementedError(f"{type(self).__name__} is not a sparse similarity.")

    def degrees(self, random_state: int | np.random.RandomState | None = 0) -> Floats:
        """Row sums of A. Kinds for which they cost O(n²d) may sample: see ``degrees_error``."""
        return self.gradient(np.arange(self.n), np.ones(self.n))

    def largest(self) -> float:
        """The largest similarity, or an upper bound of it; all pairs are visited where nothing is known."""
        if self.bounded_by_self_similarity:
            assert self.self_similarity is not None
            return self.self_similarity
        every, top = np.arange(self.n), 0.0
        for rows in row_blocks(self.n, 8 * self.n):
            top = max(top, float(self.block(every[rows], every).max()))
        return top

    @property
    def level(self) -> float:
        """What kappa adds to the shift: the self-similarity, or the largest similarity there is."""
        return self.largest() if self.self_similarity is None else self.self_similarity

    def self_similarities(self, objects: Ints) -> Floats:
        """The similarity of objects to copies of themselves; for kinds that have a ``self_similarity``."""
        if self.self_similarity is None:
            raise NotImplementedError(f"{type(self).__name__} has no similarity of an object to its copy.")
        return np.full(len(objects), self.self_similarity)

    def kappa_of(self, objects: Ints, shift: Any) -> Floats:
        """The shift plus the similarity of objects to copies of themselves (to anything, where unknown).

        One number where all share it.
        """
        return np.atleast_1d(self.level + shift)

    @property
    def magnitude(self) -> float:
        """The largest number that payoffs are sums of, as far as it is known without a look at all pairs."""
        return self.level

    @property
    def terms(self) -> int:
        """How many products make one similarity; 0 where similarities are given."""
        return 0

    def rounding_of(self, m: int) -> float:
        """How far a weighted mean of m similarities may be off: the one bound that certificates use.

        A sum of m terms, in any order, is off by at most m eps / 2 of the sum of their sizes; a similarity
        made of products is a sum, too. A factor 4 covers intermediate numbers (squares of lengths).
        """
        return 2.0 * (m + self.terms + 16.0) * EPS * self.magnitude

    def extents(self, radius: float | None, margin: float) -> tuple[float, float] | None:
        """Bounds of distances between rows: of members, and of an outsider at the margin from these.

        None where similarities are no products of rows.
        """
        return None

    def alike_to_copies(self, objects: Ints) -> Floats:
        """The same where objects have weights: what the copies for which they stand have in common."""
        return self.self_similarities(objects)

    def diagonal(self) -> Floats:
        """What may stand on the diagonal: self-similarities, or the largest similarity there is."""
        if self.self_similarity is None:
            return np.full(self.n, self.largest())
        return self.self_similarities(np.arange(self.n))

    def self_similarities_of_new(self, new: Any) -> Floats:
        """The similarity of new objects to copies of themselves."""
        return self.self_similarities(np.arange(new.shape[0]))

    def ball(self, support: Ints, weights: Floats, f: float) -> tuple[Floats, float] | None:
        """Center and radius of the objects that have a payoff above f, where they are a ball."""
        return None

    def toarray(self) -> Floats:
        """All of A as a dense array: for tests and small n. Refused where it cannot fit memory."""
        require_memory(
            8 * self.n * self.n,
            f"a dense {self.n:,} × {self.n:,} similarity",
            "the solvers work without the matrix: pass the features, with affinity='sqeuclidean' say",
        )
        every = np.arange(self.n)
        return self.block(every, every)

    def equalized(self) -> Similarity:
        """The same similarities by their rank, see :mod:`dominantsets.similarity.equalized`."""
        from dominantsets.similarity.equalized import Equalized  # which derives from this

        return Equalized(self)

    # how it is solved -----------------------------------------------------------------------------------

    def solver(self, algorithm: str, shift: float, start: Any) -> str:
        """The solver that a name means for this kind ("auto": the best one); refused where there is none."""
        return "pairwise" if algorithm == "auto" else algorithm

    def posed_as(self, shift: float) -> str:
        """Which problem the solvers are given, see ``dominantsets.solvers.make_problem``."""
        return "memory"

    def for_solving(self) -> Similarity:
        """What the solvers are given: itself, or a copy where that is more use to them."""
        return self

    def release(self) -> None:  # noqa: B027 (most kinds keep nothing)
        """Let go of what was kept for the run that is over; it is made again where it is needed again."""

    def require_dual(self) -> Any:
        """The similarity, if it has the low-rank structure that the dual needs."""
        raise ValueError(
            "algorithm='dual' needs features with affinity 'sqeuclidean', 'cosine' or 'linear', got a "
            f"{type(self).__name__} similarity, whose columns are not a low-rank product."
        )

    def require_path(self) -> Any:
        """The similarity, if it has the single-linkage tree that the exact solver needs."""
        raise ValueError(
            "algorithm='exact' needs a path-based similarity, which has a single-linkage tree; pass "
            "affinity='path', or leave algorithm at 'auto'."
        )

    def concave(self, shift: float) -> bool:
        """Whether f is known to be strictly concave on the whole simplex: it then has one maximum."""
        if self.n > SMALL or self.components is not None:
            return False
        every = np.arange(self.n)
        A = self.block(every, every)
        A[np.diag_indices_from(A)] = -shift
        return negative_definite_on_face(A, self.rounding_of(1))

    def top_outside(self, seeds: Ints) -> float:
        r"""A shift of the others above which every dominant set meets the seeds (docs/theory-seeds.md).

        An upper bound of :math:`x^T C x / |x|^2` for :math:`x \ge 0` on the others, with
        :math:`C = A - (1 a^T + a 1^T) / 2` and a the mean of the seeds' columns: its largest eigenvalue, for
        few objects. Else that of A, which has no negative entries, so that it is at most
        :math:`\max_i (A y)_i / y_i` for every y > 0.
        """
        others = np.setdiff1d(np.arange(self.n), seeds, assume_unique=True)
        if others.size <= FEW:
            return top_of(self.block(others, others), self.block(others, seeds).mean(axis=1))
        rounds = 1 if self.costs_all_pairs and self.n > LOOKED_AT else ROUNDS
        return top_by_products(lambda y: self.gradient(others, y)[others], others.size, rounds)

    def low_rank(self, objects: Ints, shift: float | Floats) -> bool:
        """Whether ``expanded`` writes any number of objects as rows of few columns."""
        return False

    def expanded(
        self, objects: Ints, shift: float | Floats, purpose: str = "the global optimum"
    ) -> Expansion:
        """Some objects in low-rank form with ``own + shift > 0``: here by eigenvectors of their matrix."""
        if objects.size > EXPANDED:
            raise ValueError(
                f"{purpose} of a {type(self).__name__} similarity is looked for among at most "
                f"{EXPANDED} objects, got {objects.size:,}; features with affinity 'sqeuclidean', 'cosine' "
                "or 'linear' and path-based similarity have no such limit."
            )
        return by_eigenvectors(self.block(objects, objects), shift)

    # new objects ----------------------------------------------------------------------------------------

    def arriving(self, new: Any) -> Any:
        """New objects as ``payoff_of`` takes them."""
        return new

    def summarise(self, support: Ints, weights: Floats) -> Any:
        """Weights on some objects, as little of them as new objects need."""
        return Support(support, weights)

    def summarise_each(self, clusters: Sequence[tuple[Ints, Floats]]) -> list[Any]:
        """The same of all clusters, each in its own similarity."""
        return [self.for_cluster(k).summarise(*one) for k, one in enumerate(clusters)]

    def payoff_of(self, new: Any, summary: Any) -> Floats:
        """The products of new objects' similarities with what was summarised."""
        out = np.empty(new.shape[0])
        for rows in row_blocks(new.shape[0], 8 * max(1, summary.objects.size)):
            out[rows] = self.cross(new[rows], summary.objects) @ summary.weights
        return out

    def payoff(self, new: Any, support: Ints, weights: Floats) -> Floats:
        """The products of new objects' similarities with an x on ``support``."""
        return self.payoff_of(new, self.summarise(support, weights))

    def folded(self) -> Folded | None:
        """The different objects, where many are there several times and fewer are cheaper; else None."""
        return None

    def for_cluster(self, k: int) -> Similarity:
        """The similarity of which cluster k is a dominant set: this one, unless each has its own."""
        return self

    def detached(self) -> Similarity:
        """What a saved model keeps: the similarity without objects that new ones do not need."""
        return self

    # what clusters and labels ask -----------------------------------------------------------------------

    def sample(self, objects: Ints) -> Similarity:
        """The similarity of some of the objects, in memory."""
        from dominantsets.similarity.dense import Dense  # which derives from this

        sub = Dense(self.block(objects, objects))
        sub.self_similarity = self.self_similarity
        return sub

    def sample_limit(self, of_rows: int, of_matrix: int) -> int:
        """Objects up to which there is no need of a sample."""
        return min(of_rows, of_matrix)

    @property
    def large_sample(self) -> int:
        """Objects up to which a sample may grow where groups are hardly seen in it; 0: it does not."""
        return 0

    def describe(self, objects: Ints) -> Any:
        """Rows that tell objects apart: their features, or their similarities to landmarks."""
        return self.block(objects, evenly(objects, PROFILES))

    def scatter_limit(self, of_matrix: int, of_rows: int) -> int:
        """How many objects ``scatter`` may be asked of."""
        return of_matrix

    def scatter(self, objects: Ints, own: Floats, scale: Floats, limit: int) -> Floats:
        r"""A matrix with the largest eigenvalue of :math:`H S H`, each object with its scale.

        S are the similarities of the objects with ``own`` on the diagonal, H centres them. ``limit`` is
        that of ``scatter_limit``.
        """
        J = self.block(objects, objects)
        J[np.diag_indices_from(J)] = own
        J -= scale @ J / scale.sum()
        J -= (J @ scale / scale.sum())[:, None]
        J *= np.sqrt(np.multiply.outer(scale, scale))
        return J

    def coordinates(self, objects: Ints) -> Coordinates:
        """Some objects as points, from their similarities to each other."""
        gram = self.block(objects, objects)
        own = self.self_similarities(objects)
        return of_gram(gram, own)

    def centre(self, objects: Ints, weights: Floats) -> Any:
        """A mixture of objects, as ``nearest`` takes it."""
        return Support(objects, weights)

    def nearest(self, cores: Cores) -> tuple[Ints, Floats]:
        """The core with the highest score of each object (of equals the first), and the score."""
        own = self.self_similarities(np.arange(self.n))
        best, top = np.zeros(self.n, dtype=np.int64), np.full(self.n, -np.inf)
        for k, (objects, weights) in enumerate(cores.mixtures):
            payoffs = self.gradient(objects, weights)
            payoffs[objects] += own[objects] * weights
            score = cores.constants[k] - cores.rates[k] * 0.5 * (own - 2.0 * payoffs + cores.inside[k])
            better = score > top
            best[better], top[better] = k, score[better]
        return best, top

    def spread(self, random_state: int | np.random.RandomState | None = 0) -> Callable[[int], Ints]:
        """Chooses so many objects, spread evenly over the order of their degrees."""
        degrees = self.degrees(random_state)
        return Spread(self.n, np.argsort(degrees, kind="stable").__getitem__)

    def centres(self, objects: Ints, weights: sp.csr_array) -> list[Any]:
        """Mixtures of objects, as ``nearest`` takes them: one for each row of weights."""
        parts = [slice(*ends) for ends in pairwise(weights.indptr.tolist())]
        return [self.centre(objects[weights.indices[part]], weights.data[part]) for part in parts]

    def label(self, rule: Rule) -> tuple[Ints, Floats]:
        """Labels of all objects by a rule, and their probabilities."""
        labels, probabilities = rule.decide(self.nearest, gammaincc, np.asarray)
        return labels, probabilities

    def label_new(self, new: Any, rule: Rule) -> tuple[Ints, Floats]:
        """The same of new objects."""
        own = self.self_similarities_of_new(new)

        def nearest(cores: Cores) -> tuple[Ints, Floats]:
            scores = np.empty((new.shape[0], len(cores.mixtures)))
            for k, mixture in enumerate(cores.mixtures):
                away = 0.5 * (own - 2.0 * self.payoff_of(new, mixture) + cores.inside[k])
                scores[:, k] = cores.constants[k] - cores.rates[k] * away
            best = scores.argmax(axis=1)
            return best, scores[np.arange(len(best)), best]

        labels, probabilities = rule.decide(nearest, gammaincc, np.asarray)
        return labels, probabilities

    def fingerprint(self) -> str:
        """A hash of the data, by which a checkpoint knows them again."""
        some = evenly(np.arange(self.n), HASHED)
        return hashed(type(self).__name__, self.n, self.block(some, some))

    def as_given(self, per_object: NDArray[Any]) -> Any:
        """An array with an entry for each object, as the caller's own data are kept."""
        return per_object


@dataclass(frozen=True)
class Spread:
    """Chooses objects that are spread evenly over an order: the same ones in whatever order they came."""

    n: int
    ranked: Callable[[Ints], Ints]  # which objects have given ranks

    def __call__(self, count: int) -> Ints:
        if self.n <= count:
            return np.arange(self.n)
        return np.sort(self.ranked(np.linspace(0, self.n - 1, count).astype(np.int64)))


def of_gram(gram: Floats, own: Floats) -> Coordinates:
    """Points from inner products (with anything on the diagonal) and squared lengths.

    Up to 128 principal axes; what they leave out is ``extra``.
    """
    gram[np.diag_indices_from(gram)] = own
    mean = gram.mean(axis=0)
    gram -= mean
    gram -= mean[:, None] - mean.mean()
    lengths = gram.diagonal().copy()
    if len(gram) <= 2 * AXES:
        values, vectors = np.linalg.eigh(gram)
    else:
        vectors, _, _ = randomized_svd(gram, AXES, n_oversamples=32, n_iter=4, random_state=0)
        values, turn = np.linalg.eigh(vectors.T @ gram @ vectors)
        vectors = vectors @ turn
    kept = values > 1e-10 * max(float(values.max(initial=0.0)), 1e-300)
    rows = np.ascontiguousarray((vectors[:, kept] * np.sqrt(0.5 * values[kept]))[:, ::-1][:, :AXES])
    return Coordinates(rows, _left_out(0.5 * lengths, rows), float(own.mean()))


def of_rows(rows: Floats, own: float, axes: int = AXES) -> Coordinates:
    """Points from features, on up to so many principal axes where they have more."""
    rows = rows - rows.mean(axis=0)
    rows = rows[:, np.ptp(rows, axis=0) > 0.0]  # a constant column is no dimension
    lengths = np.square(rows).sum(axis=1)
    if rows.shape[1] > axes:
        _, _, turn = randomized_svd(rows, axes, n_oversamples=32, n_iter=4, random_state=0)
        rows = rows @ turn.T
    return Coordinates(np.ascontiguousarray(rows), _left_out(lengths, rows), own)


def _left_out(lengths: Floats, rows: Floats) -> Floats:
    """The squares of what rows leave out of objects with these squared lengths; rounding is nothing."""
    left = lengths - np.square(rows).sum(axis=1)
    return np.where(left > 1e-9 * lengths.mean(), left, 0.0)


class OfRows(Similarity):
    """A similarity of feature rows, wherever they are: what low-rank formulas and kernels share."""

    rows: Rows
    recipe: Recipe
    taken_by = "take"  # the operation that gives rows as the formula sees them

    @property
    def formula(self) -> Any:
        """What makes similarities of rows."""
        return self.recipe.formula

    @property
    def terms(self) -> int:
        return self.rows.d

    @property
    def in_memory(self) -> bool:
        return self.rows.home == "memory"

    @property
    def device(self) -> Any:
        return self.rows.device

    @property
    def describable(self) -> int:
        return self.rows.describable

    def rows_of(self, objects: Ints) -> Floats:
        """The rows of chosen objects, as the formula sees them."""
        return self.rows.fetch(objects, self.taken_by, self.recipe)

    def describe(self, objects: Ints) -> Any:
        if not self.rows.describes(objects.size):
            return super().describe(objects)
        return self.rows.described(self.recipe, objects, self.taken_by)

    def __repr__(self) -> str:
        name = getattr(self.formula, "name", "a function")
        return f"{type(self).__name__}({name}, {self.n:,} objects, {self.n_features:,} features)"

    def fingerprint(self) -> str:
        return f"{self.formula} {self.rows.fingerprint()}"

    def as_given(self, per_object: NDArray[Any]) -> Any:
        return self.rows.as_given(per_object)
