"""The scikit-learn estimator."""

from __future__ import annotations

import logging
import sys
from contextlib import nullcontext
from copy import copy
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dominantsets._checks import NO_MEMORY, check_real, memory_explained, warn
from dominantsets._input import Chosen, Made, batch, is_given, set_tags, similarity_of
from dominantsets._new import NewObjects
from dominantsets.clusters.checkpoint import Checkpoint, signature
from dominantsets.clusters.peeling import check_peeling
from dominantsets.compiled.interrupts import listening
from dominantsets.compiled.jit import say_that_it_compiles, telling
from dominantsets.fitting.callbacks import Around, CallbackSupportMixin, fit_tasks, with_callbacks
from dominantsets.fitting.copies import Copies, Weighted, without_direction
from dominantsets.fitting.judge import Choice, choose_for, unseen
from dominantsets.fitting.kinds import plan_of
from dominantsets.fitting.plan import Request
from dominantsets.fitting.stream import Stream, can_stream, checked_rows, choice_of_stream, in_balls
from dominantsets.fitting.verified import verify
from dominantsets.similarity import Similarity
from dominantsets.similarity.arrivals import detached
from dominantsets.similarity.source import device_of, release
from dominantsets.solvers import Callback, DominantSet, Monitor, SolverOptions, solve
from dominantsets.solvers.progress import progress_bar
from dominantsets.solvers.result import HALTS
from dominantsets.solvers.seeds import checked_seeds

_log = logging.getLogger(__name__)


class DominantSets(
    CallbackSupportMixin,  # type: ignore[misc]
    NewObjects,
    Weighted,
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    r"""Dominant set clustering.

    A dominant set is a group of objects that are more similar to each other than to anything
    outside: a strict local maximum of :math:`x^T (A - \alpha I) x` over the simplex, where A is a
    similarity with a zero diagonal and :math:`\alpha` the shift. Its support is the cluster, x itself
    says how strongly each object belongs. Clusters are found one after another, each among the
    objects that the earlier ones left; objects in no cluster get the label -1.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters: significant groups first, then the best of the rest. If None, the significant
        groups: more persistent, or sharper, than chance would have it in data without structure
        (:mod:`dominantsets.clusters.evidence`). Without any, all objects are one cluster.
    affinity : str, callable or Similarity, default="auto"
        How similarity comes from X. ``"auto"`` finds out on a sample whether groups are round, elliptic, or
        of any shape, and takes what suits them (``print(selection_)`` has the table and the reason). If a
        shift or an algorithm is given, it means round ones. Groups of any shape among very many rows are
        found in some of these, and ``predict`` places the others (``choice_.fitted``). Else
        ``"sqeuclidean"`` (M - D²), ``"ellipses"`` (the same, every cluster with a metric of its own),
        ``"cosine"`` (cos + 1),
        ``"linear"``, ``"rbf"``, ``"laplacian"``, ``"euclidean"`` (M - D), ``"path"`` (minimax distances),
        ``"nearest_neighbors"``, ``"diffusion"`` (random walks on their graph) and ``"embedding"`` (few
        dimensions where neighbours are near), both for images and other data with groups that are not round,
        ``"precomputed"`` (X is the similarity; sparse: a graph), ``"precomputed_distance"`` (X holds
        distances; what becomes of them is found out, unless ``affinity_params={"then": ...}`` says it) or a
        callable of two sets of rows.
        See :func:`as_similarity`.
    affinity_params : dict, optional
        Parameters of the affinity, such as ``{"gamma": 0.5}``.
    shift : float, "auto", "guaranteed" or "sufficient", default="auto"
        The resolution :math:`\alpha`: the larger, the larger the clusters. "auto": every cluster has its own,
        where it stays the same longest as the shift rises (:mod:`dominantsets.clusters.modes`;
        ``print(selection_)`` has the reasons). A number is the shift of all clusters, which are then peeled
        off one after another. It may be negative, where a constant in the similarity is larger than needed.
        "guaranteed" is the least shift for which it is proved that no cluster has fewer than
        ``min_cluster_size`` members; "sufficient" searches for a smaller one that is enough on these data
        (about ten times the work).
    solver_params : dict, optional
        Any of ``algorithm`` (the solver by its name), ``start`` ("vertex", "barycenter", "global", an object
        or weights), ``tol`` (1e-10: the relative gap at which a cluster counts as converged), ``max_iter``
        (100,000 for a cluster), ``cutoff`` (2e-12: members have a weight above it) and ``algorithm_params``,
        see :func:`solve`. For example ``{"algorithm": "pairwise", "tol": 1e-8}``.
    min_cluster_size : int, default=1
        Sets with fewer members are skipped; see ``shift`` for how to have none of them.
    assign : {"refine", "average", None}, default="refine"
        What becomes of objects in no dominant set. "refine": all objects go to the cluster whose cloud they
        belong to (:mod:`dominantsets.labels.mixture`); "average": those in no dominant set join the cluster
        with which they have the highest average similarity (the paper's post-assignment); None: they stay -1.
        :func:`correlation_clusters` and :func:`graph_shift` label objects in other ways.
    noise : "auto", None, "cores" or float, default="auto"
        With ``assign="refine"``, what gets no label (-1). "auto": the background, where the evidence for one
        is strong (``print(selection_)`` says what was decided, and why); None: no object; "cores": all
        objects outside the dominant sets; a number: that share, of the objects farthest out in their
        clusters.
    random_state : int, RandomState or None, default=None
        Used where row sums of a kernel are estimated from a sample (above 20,000 objects).
    max_time : float, optional
        Seconds after which fitting stops, with what has been found.
    checkpoint : str, optional
        A file in which clusters are kept after each of them. A new fit of the same data with the same
        parameters goes on from there; one that belongs to others is refused. It stays when fitting is done.
        Paths, networks and ellipses, all of whose clusters come at once, keep none.
    device : str or torch.device, optional
        Where to work on features under sqeuclidean, cosine, linear, rbf or laplacian, such as ``"cuda"``
        (extra "gpu"). A torch tensor is worked on where it is, without this; chunks of a Dask array go to
        the device of the worker that has them. Results are NumPy arrays (of Dask's: Dask arrays).
    callback : callable, optional
        Called about every 50 ms with a :class:`Progress`; return True to stop. Dropped by pickling.
        scikit-learn's own callbacks (version 1.9 and later) are set with ``set_callbacks``: the fit is a task
        for them, and so is every cluster.
    verbose : int, default=0
        1 shows a bar where stderr is a terminal (and rich is installed), and logs a line for each cluster
        (on stderr where logging is not set up).

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster of each object, or -1.
    probabilities_ : ndarray of shape (n,)
        How typical an object is of its cluster: the share of the cluster that lies farther out; 0 for noise.
    soft_labels_ : ndarray of shape (n, K + 1)
        How likely each object is in each cluster, and in none (the last column), see ``predict_soft_labels``;
        computed when it is read.
    outlier_scores_ : ndarray of shape (n,)
        How isolated each object is: its distance to the 5th nearest other one, among all objects or a sample
        of 2,000. On a graph it is 1 - ``probabilities_``. Computed when it is read.
    far_limits_ : ndarray of shape (K,) or None
        The distance from each cluster beyond which ``predict`` gives new objects the label -1.
    clusters_ : list of DominantSet
        Members, weights and certificate of each: clusters_[k] is the dominant set of label k, and all of its
        members have that label. It is one among all objects, or, where it would have members with other
        labels, among those with its label (``selection_`` has their number under "among"). With a shift or an
        algorithm given, and ``assign`` None or "average", it is one among the objects that earlier ones left.
    n_clusters_ : int
        Number of clusters found, K.
    exemplars_ : ndarray of shape (K,)
        The object with the largest weight of each cluster.
    core_labels_ : ndarray of shape (n,)
        The labels of the dominant sets themselves: -1 outside all of them.
    memberships_ : ndarray of shape (n,)
        The weight of each object in its dominant set, 1 for the exemplar; 0 outside all of them.
    membership_matrix_ : csr_array of shape (n, K)
        The weights of every dominant set, each 1 for its exemplar.
    assignment_rate_ : float
        Share of the objects with a label other than -1.
    n_iter_ : int
        Iterations of all clusters together.
    shifts_ : ndarray of shape (K,)
        The shift of each cluster.
    selection_ : Selection
        How the clusters were chosen, to be printed.
    solver_options_ : SolverOptions
        The solver's options, with the algorithm that "auto" meant.
    end_ : End
        Why no more clusters were looked for.
    similarity_ : Similarity
        The similarity that was clustered.
    affinity_, affinity_params_ : str and dict
        The affinity, and its parameters: with ``affinity="auto"`` what was taken.
    choice_ : Choice or None
        How it came about, to be printed; None where the affinity was given.
    scale_ : ndarray of shape (n_features,) or None
        The standard deviations of the columns, if ``affinity="auto"`` divided columns of unlike units by them
        (one spreads more than ten times as far as the median one); else None. ``predict`` divides new rows.
    counts_ : ndarray of shape (n,)
        How many copies stood for each object, with ``sample_weight``; else 1. 0 for an object that was not
        fitted, but placed by ``predict``.
    n_features_in_ : int
        Number of columns of X.
    holds_rows_ : bool
        Whether a saved model (a pickle) holds the rows or similarities of ``fit``.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from dominantsets import DominantSets
    >>> X, y = make_blobs(300, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    >>> model = DominantSets(n_clusters=3).fit(X)
    >>> model.n_clusters_, [c.status.value for c in model.clusters_]
    (3, ['converged', 'converged', 'converged'])
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        affinity: Any = "auto",
        affinity_params: dict[str, Any] | None = None,
        shift: float | str = "auto",
        solver_params: dict[str, Any] | None = None,
        min_cluster_size: int = 1,
        assign: str | None = "refine",
        noise: float | str | None = "auto",
        random_state: Any = None,
        max_time: float | None = None,
        checkpoint: str | None = None,
        device: Any = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.affinity_params = affinity_params
        self.shift = shift
        self.solver_params = solver_params
        self.min_cluster_size = min_cluster_size
        self.assign = assign
        self.noise = noise
        self.random_state = random_state
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.device = device
        self.callback = callback
        self.verbose = verbose

    def around(self, seeds: Any, *, shift: float = 0.0, seed_shift: float | str = "auto") -> DominantSet:
        """The dominant set around one or more of the objects that were fitted.

        Parameters
        ----------
        seeds : int or array of int
            Numbers of objects.
        shift : float, default=0.0
            The shift of the seeds.
        seed_shift : float or "auto", default="auto"
            The shift of the others, see :func:`solve`.

        Returns
        -------
        DominantSet
            With at least one of the seeds; labels are not changed.

        Examples
        --------
        >>> import numpy as np
        >>> from dominantsets import DominantSets
        >>> X = np.array([[0.0], [1.0], [2.0], [20.0], [21.0], [30.0]])
        >>> model = DominantSets(2, affinity="rbf", affinity_params={"gamma": 0.1}).fit(X)
        >>> model.around(3).members
        array([3, 4])
        """
        check_is_fitted(self, "similarity_")
        objects, similarity = checked_seeds(seeds, self._n_objects), self.similarity_
        if similarity.structure == "ellipses":  # in the metric of the first seed's cluster
            similarity = similarity.for_cluster(max(0, int(self.labels_[objects[0]])))
        copies: Copies | None = getattr(self, "_copies", None)
        if copies is None:
            return solve(similarity, seeds=objects, shift=shift, seed_shift=seed_shift)
        found = solve(similarity, seeds=copies.copies_of(objects), shift=shift, seed_shift=seed_shift)
        return copies.fold_cluster(found)

    def __sklearn_tags__(self) -> Any:
        return set_tags(super().__sklearn_tags__(), self.affinity)

    def __copy__(self) -> Self:  # in this process, where the callback stays what it is
        new = type(self).__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if state.get("callback") is not None:
            warn("the callback of DominantSets is not pickled; set it again after loading.")
            state["callback"] = None
        if "similarity_" in state:
            state["similarity_"] = detached(state["similarity_"])
        return state

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of X.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, Dask array, tensor of shape (n, n_features), Similarity or graph
            Rows of features; an n × n similarity for ``affinity="precomputed"``, which a networkx graph is by
            itself (its objects are ``list(graph)``). Rows of a Dask array stay
            in their chunks, on the workers of the current ``distributed.Client`` where there is one; labels
            are then Dask arrays with the same chunks.
        y : None
            Not used.
        sample_weight : array of shape (n,), optional
            How many objects each row stands for. The answer is that of rows which are repeated so often, and
            ``clusters_`` have their weights added up; a row of weight 0 is like a new object: it has the
            label that ``predict`` gives, and probability 0. Weights that are not whole are rounded to copies
            (``counts_``); those that add up to less than one for a row are scaled to that. Graphs of
            neighbours may part copies: a row is where its first copy is. For rows or a matrix in memory.

        Returns
        -------
        DominantSets
            The fitted estimator. Ctrl-C keeps the clusters found so far and warns.
        """
        self.__dict__.pop("_copies", None)
        empty = without_direction(X, self.affinity, self.affinity_params)
        if "_earlier" in self.__dict__:  # rows of a stream have no weights
            empty = None
        if empty is not None and not empty.all():
            warn(f"{empty.sum()} of {empty.size} rows are all 0 and have no direction: they are labelled -1.")
            sample_weight = ~empty if sample_weight is None else np.where(empty, 0.0, sample_weight)
        copies = None if sample_weight is None else Copies.of(sample_weight, X, self.affinity)
        compiling = telling(say_that_it_compiles)
        with memory_explained(NO_MEMORY), listening(), compiling, fit_tasks(self, X, y) as around:
            made = self._fit(X if copies is None else copies.rows(X, self.affinity), around, copies is None)
            if made.data is not None:
                copies = self._fold_rows(made.data, made.fitted)
            elif copies is not None:
                self._fold(copies, X)
        verify(self, X, copies)
        return self

    def _fit(self, X: Any, around: Around, some: bool = True) -> Made:
        """Fit all rows, or ``some`` of them; what was made of them."""
        options = self._checked()
        for name in ("_stream", "_came_here", "_chunks"):  # of before
            self.__dict__.pop(name, None)
        self.affinity_, self.affinity_params_ = self.affinity, dict(self.affinity_params or {})
        self.choice_: Choice | None = None
        self._monitor = monitor = Monitor(self.max_time)  # the choice takes its time from the same clock
        made = similarity_of(self, X, self._choose, self.device, whole=not some)
        similarity = made.similarity
        self._device = device_of(similarity)
        check_peeling(similarity.n, self.n_clusters, self.min_cluster_size)
        if similarity.n == 1:
            warn("there is one object: it is a cluster by itself.")
        # a start is refused before the row sums are made; which solver "auto" means needs the shift
        early = 0.0 if isinstance(self.shift, str) else float(self.shift)
        options.chosen_for(similarity, early).check_start(similarity.n)
        bar = progress_bar(self.callback, self.n_clusters, similarity.n) if self.verbose else None
        with bar or nullcontext(self.callback) as told:
            monitor.callback = around(told)
            found = self._find(similarity, options, monitor)
        del self._monitor
        self._warn(found)
        if not is_given(self, X):  # a fitted model holds what it needs; a caller's similarity is the caller's
            release(similarity)
        return made

    def _find(self, similarity: Similarity, options: SolverOptions, monitor: Monitor) -> int:
        """Find the clusters and label all objects; the number of clusters that the plan finds."""
        self.similarity_ = similarity
        request = Request(
            self.n_clusters if self.choice_ is None else self.choice_.asked(self.n_clusters),
            self.shift,
            options,
            int(self.min_cluster_size),
            self._noise_asked,
            self._checkpoint,
            _say if self.verbose else _silent,
            self.__dict__.get("_earlier"),
        )
        plan = plan_of(similarity, request, check_random_state(self.random_state), monitor)
        plan.groups()
        self.end_, self.solver_options_, self.selection_ = plan.end, plan.options, plan.explain()
        if self.choice_ is not None:
            self.selection_ = self.selection_.with_choice(self.choice_)
        self._set_clusters(plan.clusters, plan.cores)
        self._set_labels(lambda: plan.labels(request.noise), options, monitor, plan.peels)
        return len(plan.clusters)

    def _choose(self, X: Any, distances: bool) -> Chosen:
        """The affinity that suits X, its parameters, the columns' scale, and the objects to fit."""
        if self.shift != "auto" or self._solver_params["algorithm"] != "auto":
            words = not distances and sp.issparse(X.X)
            reason = "A shift or an algorithm is given: nothing was compared."
            self.choice_ = unseen("cosine" if words else "sqeuclidean", reason)
        else:
            self.choice_ = choose_for(X, self.n_clusters, self._monitor, distances=distances)
        taken = self.choice_.taken
        self.affinity_, self.affinity_params_ = taken.affinity, dict(taken.params)
        return Chosen(self.affinity_, self.affinity_params_, self.choice_.scale, self.choice_.fitted)

    def _checkpoint(
        self, similarity: Similarity, algorithm: str, depends: dict[str, Any], names: list[str]
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        depends = depends | {
            name: getattr(self, name) for name in [*names, "affinity", "affinity_params", "min_cluster_size"]
        }
        depends |= self._solver_params | {"algorithm": algorithm}
        return Checkpoint(self.checkpoint, signature(similarity, depends))

    @available_if(can_stream)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any = None, y: Any = None, *, forget: float = 0.0) -> Self:
        """Append a batch of rows, and fit all rows where that is needed.

        The first batch is fitted. A later one is labelled by the rule of the last fit, as ``predict`` does.
        All rows are then fitted anew if half of them are new since the last fit (for fits of up to 6,000
        rows, the size of a sample), if fewer than a tenth of the rows of a larger fit are left, or if a test
        says that the rows since are in other dominant sets, or outside them, more often than before
        (docs/streams.md). Clusters that are found again keep their labels.
        ``partial_fit()`` without a batch fits all rows now: the model is then that of ``fit`` on all of them.

        An error leaves the model as it was. If Ctrl-C or ``max_time`` ends a fit early, the last one stays.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_batch, n_features), optional
            Rows, for affinity "sqeuclidean" or "cosine"; "auto" is one of these, by the first batch. The
            model keeps them, also in a pickle; ``fit`` drops them.
        y : None
            Not used.
        forget : float, default=0.0
            Fraction of the earlier rows that is dropped before this batch; at least 0 and below 1.

        Returns
        -------
        DominantSets
            The estimator. Attributes with an entry per object are about the batch, or without one about all
            rows. All others, such as ``clusters_`` and ``similarity_``, are those of the last fit.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from dominantsets import DominantSets
        >>> X, y = make_blobs(600, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
        >>> model = DominantSets()
        >>> for batch in (X[:200], X[200:400], X[400:]):
        ...     model = model.partial_fit(batch)
        >>> model.labels_.shape, model.similarity_.n  # the third batch was labelled by the fit of two
        ((200,), 400)
        >>> model.partial_fit().labels_.shape
        (600,)
        """
        if not 0.0 <= check_real("forget", forget) < 1.0:
            raise ValueError(f"forget must be at least 0 and below 1, got {forget!r}.")
        model, stream = copy(self), self.__dict__.get("_stream")  # an error leaves this one as it was
        if X is None:
            if stream is None:
                raise ValueError("partial_fit() fits the rows that came in batches; there are none.")
            model._fit_stream(stream, stream.n)
        else:
            model._take_batch(batch(model, X, stream is None), stream, forget)
        self.__dict__ = model.__dict__
        return self

    @available_if(can_stream)  # type: ignore[untyped-decorator]
    def partial_unfit(self, rows: Any) -> Self:
        """Remove rows that came in batches, and fit those that are left.

        Parameters
        ----------
        rows : array of int
            Numbers of rows, among those that are kept and in the order in which they came. Those that are
            left are then numbered anew, in the same order.

        Returns
        -------
        DominantSets
            The estimator, as ``fit`` has it on the rows that are left. Clusters that are found again keep
            their labels.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_blobs
        >>> from dominantsets import DominantSets
        >>> X, y = make_blobs(600, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
        >>> model = DominantSets(affinity="sqeuclidean").partial_fit(X[:300]).partial_fit(X[300:])
        >>> model.partial_unfit(np.flatnonzero(y == 1)).n_clusters_
        2
        """
        stream, model = self.__dict__.get("_stream"), copy(self)
        if stream is None:
            raise ValueError("partial_unfit takes rows out that came with partial_fit; there are none.")
        left = stream.only(~checked_rows(rows, stream.n))
        model._fit_stream(left, left.n, anyway=True)  # what was removed is nowhere
        self.__dict__ = model.__dict__
        return self

    def _take_batch(self, X: Any, stream: Stream | None, forget: float) -> None:
        """Label a batch by the last fit, and fit if it calls for that; the first one in any case."""
        size = X.shape[0]
        if stream is None:
            self.choice_ = choice_of_stream(X) if self.affinity == "auto" else None
            self.affinity_ = self.affinity if self.choice_ is None else self.choice_.taken.affinity
            self._fit_stream(Stream().with_batch(X, np.full(size, -1)), size, anyway=True)
            return
        own = self.similarity_.self_similarity
        assert own is not None  # one κ for all objects
        placed = None if self._rule is None else self._rule.place(self.similarity_, X)
        here = in_balls(self._payoffs(X), self.clusters_, own, None if placed is None else placed[0])
        self.core_labels_, self.memberships_ = here
        labels, likely = here if placed is None else placed
        if self.assign == "average":
            labels = self.predict(X)
        self.labels_ = labels if self.noise != "cores" else np.where(self.core_labels_ >= 0, labels, -1)
        self.probabilities_ = np.where(self.labels_ >= 0, likely, 0.0)
        self.assignment_rate_ = float((self.labels_ >= 0).mean())
        self._stream = stream = stream.forgetting(forget).with_batch(X, self.core_labels_)
        if stream.calls_for_a_fit():
            self._fit_stream(stream, size)

    def _fit_stream(self, stream: Stream, size: int, anyway: bool = False) -> None:
        """Fit all rows of a stream; attributes with an entry per object keep the last ``size`` of them.

        A fit that ends early changes nothing, unless it is wanted ``anyway``.
        """
        model = copy(self)
        model.affinity, model._earlier = self.affinity_, stream.before
        model.fit(stream.rows)
        whole = model.end_ not in HALTS.values()
        if not (whole or anyway):
            warn("the fit of all rows of the stream ended early: the last one stays.")
            return
        del model._earlier
        model.affinity, model.choice_ = self.affinity, self.choice_
        if self.choice_ is not None:
            model.selection_ = model.selection_.with_choice(self.choice_)
        if hasattr(self, "feature_names_in_"):  # the rows are an array
            model.feature_names_in_ = self.feature_names_in_
        model._stream = stream.fitted(model.labels_, model.core_labels_, model.n_clusters_, whole)
        for name in ("labels_", "core_labels_", "memberships_", "probabilities_"):
            setattr(model, name, getattr(model, name)[-size:].copy())
        model.assignment_rate_ = float((model.labels_ >= 0).mean())
        self.__dict__ = model.__dict__


def _say(number: int, cluster: DominantSet) -> None:
    """Log a line, on stderr where the user has not set logging up."""
    line = f"cluster {number}: {cluster!r}"
    if _log.hasHandlers():
        _log.info(line)
    else:
        sys.stderr.write(f"{line}\n")


def _silent(number: int, cluster: DominantSet) -> None:
    """Log nothing."""
