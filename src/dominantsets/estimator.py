"""The scikit-learn estimator."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from dominantsets._callbacks import Around, CallbackSupportMixin, fit_tasks, with_callbacks
from dominantsets._checks import warn
from dominantsets._copies import Copies, Weighted, memberships_of
from dominantsets._input import is_given, new_objects, set_tags, similarity_of
from dominantsets._soft import SoftAnswers
from dominantsets._stream import Streaming, choice_of_stream
from dominantsets._typing import Ints
from dominantsets.clusters.checkpoint import Checkpoint, signature
from dominantsets.clusters.choice import Choice, choose, unseen
from dominantsets.clusters.climbs import check_climbs
from dominantsets.clusters.find import Request, find
from dominantsets.clusters.multistart import check_multistart, sampled_start
from dominantsets.clusters.peeling import check_peeling
from dominantsets.clusters.samples import sample_of
from dominantsets.clusters.table import Selection
from dominantsets.labels.average import (
    Core,
    assign_by_average,
    average_of,
    predict_by_average,
    predict_by_payoff,
)
from dominantsets.labels.correlation import label_by_correlation
from dominantsets.labels.partition import Partition
from dominantsets.similarity import Similarity
from dominantsets.solvers import ALGORITHMS, Callback, DominantSet, Monitor, SolverOptions, Status, solve
from dominantsets.solvers.progress import progress_bar
from dominantsets.solvers.result import End
from dominantsets.solvers.seeds import checked_seeds

_log = logging.getLogger(__name__)

# Parameters that mean one similarity, unless they have these values.
ONE_SIMILARITY: dict[str, tuple[Any, ...]] = {
    "shift": ("auto",),
    "algorithm": ("auto",),
    "assign": ("refine", "average", None),
    "overlap": (False,),
}
SHARED = 0.5  # of two clusters that may overlap: that is how much they may have in common
HURRIED = 0.3  # seconds for an answer, where Ctrl-C ended the choice of an affinity
WORTH_A_WARNING = 1e-6  # relative gap of an unconverged cluster
# The former names of parameters, and where they are now.
MOVED = {
    "keep_noise": "noise",
    "start": "solver_params",
    "tol": "solver_params",
    "max_iter": "solver_params",
    "cutoff": "solver_params",
    "sampling": "multistart_params",
    "max_overlap": "multistart_params",
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "solver_params": {
        "start": "vertex",
        "tol": 1e-10,
        "max_iter": 100_000,
        "cutoff": 2e-12,
        "algorithm_params": None,
    },
    "multistart_params": {"sampling": "uniform", "max_overlap": 0.1},
}


class DominantSets(
    CallbackSupportMixin,  # type: ignore[misc]
    SoftAnswers,
    Streaming,
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
        Number of clusters: those that stand alone first, others only to fill up. Without it, those that stand
        alone: more persistent, or sharper, than chance would have it in data without structure
        (:mod:`dominantsets.clusters.evidence`). Where nothing does, all objects are one cluster.
    affinity : str, callable or Similarity, default="auto"
        How similarity comes from X. ``"auto"`` finds out on a sample whether groups are round, elliptic, or
        of any shape, and takes what suits them (``print(selection_)`` has the table and the reason); where a
        shift or an algorithm is given, with ``assign="mode"`` or ``"correlation"``, and for Dask arrays and
        tensors, it means round ones. Else
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
    algorithm : str, default="auto"
        The solver by its name, see :func:`solve`.
    solver_params : dict, optional
        Any of ``start`` ("vertex", "barycenter", "global", an object or weights), ``tol`` (1e-10: the
        relative gap at which a cluster counts as converged), ``max_iter`` (100,000 for a cluster), ``cutoff``
        (2e-12: members have a weight above it) and ``algorithm_params``, see :func:`solve`.
    min_cluster_size : int, default=1
        Sets with fewer members are skipped; see ``shift`` for how to have none of them.
    assign : {"refine", "average", "correlation", "mode", None}, default="refine"
        What becomes of objects in no dominant set. "refine": all objects go to the cluster whose cloud they
        belong to (:mod:`dominantsets.labels.mixture`); "average": those in no dominant set join the cluster
        with which they have the highest average similarity (the paper's post-assignment); "correlation":
        correlation clustering by local search from the dominant sets, until no single move gains
        (:mod:`dominantsets.labels.correlation`; -1 for objects that are better off by themselves, unless
        ``noise=None``); "mode": clusters are the dominant sets in which climbs from all objects end, at one
        shift, and an object belongs where its own climb ends (graph shift; n solves); None: they stay -1.
    noise : "auto", None, "cores" or float, default="auto"
        With ``assign="refine"``, what gets no label (-1). "auto": the background, where the evidence for one
        is strong (``print(selection_)`` says what was decided, and why); None: nobody; "cores": everybody
        outside the dominant sets; a number: that share of the objects, those farthest out in their clusters.
    overlap : bool or float, default=False
        Whether clusters may share objects: each is then a dominant set of all objects, not of what the others
        left, at one shift (:func:`dominant_sets`; best value first); ``membership_matrix_`` says who is in
        which. A number is the largest share (Jaccard) that two may have in common; True is 0.5. ``labels_``
        has one of them for every object.
    n_starts : int, default=1
        Where a shift is given: 1 peels clusters one after another from their vertex. More: multi-start, in
        passes that solve from so many sampled objects at once, see :func:`multistart`.
    multistart_params : dict, optional
        Any of ``sampling`` ("uniform", or "dpp": a determinantal point process, which avoids objects that are
        alike) and ``max_overlap`` (0.1: the largest share of a cluster's members that may be in better
        clusters of the same pass), see :func:`multistart`.
    n_jobs : int, optional
        Threads for the starts of a pass; the result is the same for every number.
    random_state : int, RandomState or None, default=None
        Used for the sampling, and where row sums of a kernel are estimated from a sample (above 20,000
        objects).
    max_time : float, optional
        Seconds after which fitting stops, with what has been found.
    checkpoint : str, optional
        A file in which clusters are kept after each of them (each pass of multi-start). A new fit of the same
        data with the same parameters goes on from there; one that belongs to others is refused. It stays
        when fitting is done. Paths, networks and ellipses, all of whose clusters come at once, keep none.
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
    forget : float, default=0.0
        Share of its weight that every row loses with each later batch of ``partial_fit``.
    keep_noise, start, tol, max_iter, cutoff, sampling, max_overlap : deprecated
        Former names: use ``noise``, ``solver_params`` and ``multistart_params``.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster of each object, or -1.
    probabilities_ : ndarray of shape (n,)
        How typical an object is of its cluster: the share of the cluster that lies farther out; 0 for noise.
    clusters_ : list of DominantSet
        Members, weights and certificate of each: clusters_[k] is the dominant set of label k. Where members
        have another label, ``selection_`` counts them under "elsewhere".
    n_clusters_ : int
        Number of clusters found, K.
    exemplars_ : ndarray of shape (K,)
        The object with the largest weight of each cluster.
    core_labels_ : ndarray of shape (n,)
        The labels of the dominant sets themselves: -1 outside all of them. (``cores_`` is its former name.)
    memberships_ : ndarray of shape (n,)
        The weight of each object in its dominant set, 1 for the exemplar; 0 outside all of them.
    membership_matrix_ : csr_array of shape (n, K)
        The weights of every dominant set, each 1 for its exemplar: an object in several has several.
    assignment_rate_ : float
        Share of the objects with a label other than -1.
    n_iter_ : int
        Iterations of all clusters together.
    n_passes_ : int
        Passes of multi-start; without it, as many as clusters.
    shifts_ : ndarray of shape (K,)
        The shift of each cluster.
    shift_ : float
        The shift, where there is one for all; else the median of ``shifts_``.
    selection_ : Selection
        How the clusters were chosen, to be printed. (``resolution_`` is its former name.)
    solver_options_ : SolverOptions
        The solver's options, with the algorithm that "auto" meant.
    end_ : End
        Why no more clusters were looked for.
    similarity_ : Similarity
        The similarity that was clustered.
    correlation_ : Correlation
        With ``assign="correlation"``, the value of the partition and the certificate that no move gains.
    affinity_, affinity_params_ : str and dict
        The affinity, and its parameters: with ``affinity="auto"`` what was taken.
    choice_ : Choice or None
        How it came about, to be printed; None where the affinity was given.
    counts_ : ndarray of shape (n,)
        How many copies stood for each object, with ``sample_weight``; else 1.
    n_features_in_ : int
        Number of columns of X.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from dominantsets import DominantSets
    >>> X, y = make_blobs(300, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    >>> model = DominantSets(n_clusters=3).fit(X)
    >>> model.n_clusters_, [c.status.value for c in model.clusters_]
    (3, ['converged', 'converged', 'converged'])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "affinity": [str, callable, Similarity],
        "affinity_params": [dict, None],
        "shift": [
            Interval(Real, None, None, closed="neither"),
            StrOptions({"auto", "guaranteed", "sufficient"}),
        ],
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "solver_params": [dict, None],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left")],
        "assign": [StrOptions({"refine", "average", "correlation", "mode"}), None],
        "noise": [StrOptions({"auto", "cores", "payoff"}), Interval(Real, 0, 1, closed="both"), None],
        "overlap": ["boolean", Interval(Real, 0, 1, closed="right")],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "multistart_params": [dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "checkpoint": [str, os.PathLike, None],
        "device": "no_validation",
        "callback": [callable, None],
        "verbose": ["verbose"],
        "forget": [Interval(Real, 0, 1, closed="left")],
        **dict.fromkeys(MOVED, "no_validation"),
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        affinity: Any = "auto",
        affinity_params: dict[str, Any] | None = None,
        shift: float | str = "auto",
        algorithm: str = "auto",
        solver_params: dict[str, Any] | None = None,
        min_cluster_size: int = 1,
        assign: str | None = "refine",
        noise: float | str | None = "auto",
        overlap: bool | float = False,
        n_starts: int = 1,
        multistart_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        max_time: float | None = None,
        checkpoint: str | None = None,
        device: Any = None,
        callback: Callback | None = None,
        verbose: int = 0,
        forget: float = 0.0,
        keep_noise: Any = "deprecated",
        start: Any = "deprecated",
        tol: Any = "deprecated",
        max_iter: Any = "deprecated",
        cutoff: Any = "deprecated",
        sampling: Any = "deprecated",
        max_overlap: Any = "deprecated",
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.affinity_params = affinity_params
        self.shift = shift
        self.algorithm = algorithm
        self.solver_params = solver_params
        self.min_cluster_size = min_cluster_size
        self.assign = assign
        self.noise = noise
        self.overlap = overlap
        self.n_starts = n_starts
        self.multistart_params = multistart_params
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.device = device
        self.callback = callback
        self.verbose = verbose
        self.forget = forget
        self.keep_noise = keep_noise
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.cutoff = cutoff
        self.sampling = sampling
        self.max_overlap = max_overlap

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
        if similarity.is_elliptic:  # in the metric of the first seed's cluster
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
            state["similarity_"] = state["similarity_"].detached()
        return state

    def _former(self) -> dict[str, Any]:
        """Parameters that were given under their former names."""
        given = {name: getattr(self, name) for name in MOVED}
        return {k: v for k, v in given.items() if not (isinstance(v, str) and v == "deprecated")}

    def _grouped(self, group: str) -> dict[str, Any]:
        """The parameters of a group: defaults, what was given, and what was given under former names."""
        given = getattr(self, group) or {}
        for name in given:
            if name not in DEFAULTS[group]:
                raise ValueError(f"{group} takes no {name!r}; it takes: {', '.join(DEFAULTS[group])}.")
        former = {k: v for k, v in self._former().items() if MOVED[k] == group}
        return DEFAULTS[group] | given | former

    @property
    def _noise(self) -> Any:
        noise = self._former().get("keep_noise", self.noise)
        return "cores" if noise == "payoff" else noise

    @property
    def _noise_asked(self) -> Any:
        """What is asked about noise: nobody is called so where parts of the data find another background."""
        doubtful = self.choice_ is not None and self.choice_.taken.is_noise_doubtful
        return None if doubtful and self._noise == "auto" else self._noise

    def _checked(self) -> SolverOptions:
        """The solver's options, once all parameters are checked."""
        for name in self._former():
            now = "noise=..." if name == "keep_noise" else f"{MOVED[name]}={{{name!r}: ...}}"
            warn(f"{name} moved: pass {now}; the former name will go in version 0.3.", FutureWarning)
        self._validate_params()
        noise = self._noise
        only = {"noise": self._parameter_constraints["noise"]}
        validate_parameter_constraints(only, {"noise": noise}, type(self).__name__)
        if noise not in (None, "auto") and self.assign != "refine":
            raise ValueError(f"noise={noise!r} needs assign='refine', got {self.assign!r}.")
        if isinstance(self.shift, str) and self.shift != "auto" and self.min_cluster_size < 2:
            raise ValueError(
                f"shift={self.shift!r} is about min_cluster_size, which must be at least 2 for it, got "
                f"{self.min_cluster_size}."
            )
        options = SolverOptions(self.algorithm, **self._grouped("solver_params")).checked()
        if self.assign == "mode":
            check_climbs(options, self.n_starts, self.checkpoint)
        if self.overlap:
            check_overlap(self)
        if self.n_starts > 1:
            check_multistart(self.n_starts, start=options.start, **self._grouped("multistart_params"))
        return options

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
        copies = None if sample_weight is None else Copies.of(sample_weight, X, self.affinity)
        with fit_tasks(self, X, y) as around:
            if copies is None:
                return self._fit(X, around)
            self._fit(copies.rows(X, self.affinity), around)._fold(copies, X)
        return self

    def _fit(self, X: Any, around: Around) -> Self:
        options = self._checked()
        self.__dict__.pop("_seen", None)  # batches of before
        self.__dict__.pop("_before", None)
        self.affinity_, self.affinity_params_ = self.affinity, dict(self.affinity_params or {})
        self.choice_: Choice | None = None
        self._monitor = monitor = Monitor(self.max_time)  # the choice takes its time from the same clock
        similarity = similarity_of(self, X, self.device)
        self._device = similarity.device
        check_peeling(similarity.n, self.n_clusters, self.min_cluster_size)
        if similarity.n == 1:
            warn("there is one object: it is a cluster by itself.")
        # a start is refused before the row sums are made; which solver "auto" means needs the shift
        early = 0.0 if isinstance(self.shift, str) else float(self.shift)
        start = sampled_start(options) if self.n_starts > 1 else options.start
        options.chosen_for(similarity, early, start).check_start(similarity.n, start)
        bar = progress_bar(self.callback, self.n_clusters, similarity.n) if self.verbose else None
        with bar or nullcontext(self.callback) as told:
            monitor.callback = around(told)
            self._find(similarity, options, monitor)
        del self._monitor
        self._warn()
        if not is_given(self, X):  # a fitted model holds what it needs; a caller's similarity is the caller's
            similarity.release()
        return self

    def _find(self, similarity: Similarity, options: SolverOptions, monitor: Monitor) -> None:
        random_state = check_random_state(self.random_state)
        if self.random_state is None:  # a generator of our own: a checkpoint must not rewind NumPy's
            random_state = np.random.RandomState(random_state.randint(2**31 - 1))
        self.similarity_ = similarity
        request = Request(
            self.n_clusters,
            self.shift,
            options,
            int(self.min_cluster_size),
            self._noise_asked,
            int(self.n_starts),
            self.n_jobs,
            self._grouped("multistart_params"),
            self._checkpoint,
            _say if self.verbose else _silent,
            self.assign == "mode",
            (SHARED if self.overlap is True else float(self.overlap)) if self.overlap else None,
        )
        found = find(similarity, request, random_state, monitor)
        self.end_, self.n_passes_ = found.end, found.n_passes
        self.solver_options_, self.selection_ = found.options, found.selection
        if self.choice_ is not None:
            self.selection_ = replace(found.selection, choice=str(self.choice_))
            self.end_ = End.INTERRUPTED if self.choice_.interrupted else self.end_
        self._set_clusters(found.clusters, found.cores)
        self._set_labels(found.partition, monitor)

    def _choose(self, X: Any, seen: bool, distances: bool = False) -> tuple[str, dict[str, Any]]:
        """The affinity that suits X, where it can be looked at, and its parameters."""
        if hasattr(self, "_in_batches"):
            self.choice_ = choice_of_stream(X)
        elif not seen:
            self.choice_ = unseen("sqeuclidean", "The rows are not all in this process's memory: balls.")
        elif asked := [name for name, usual in ONE_SIMILARITY.items() if getattr(self, name) not in usual]:
            self.choice_ = unseen(
                "cosine" if sp.issparse(X) else "sqeuclidean",
                f"{' and '.join(asked)} mean one similarity: nothing was compared.",
            )
        else:
            sample = sample_of(X, self.n_clusters, distances)
            self.choice_ = choose(sample, self.n_clusters, self._monitor)
            if self.choice_.interrupted:
                self._monitor.hurry(HURRIED)
        taken = self.choice_.taken
        self.affinity_, self.affinity_params_ = taken.affinity, dict(taken.params)
        return self.affinity_, self.affinity_params_

    def _checkpoint(
        self, similarity: Similarity, algorithm: str, depends: dict[str, Any], names: list[str]
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        depends = depends | {
            name: getattr(self, name) for name in [*names, "affinity", "affinity_params", "min_cluster_size"]
        }
        depends |= {"algorithm": algorithm}
        depends |= self._grouped("solver_params") | self._grouped("multistart_params")
        return Checkpoint(self.checkpoint, signature(similarity, depends))

    def _set_clusters(self, clusters: list[DominantSet], cores: Ints) -> None:
        """The dominant sets themselves."""
        self.clusters_, self._cores = clusters, cores
        self.n_clusters_ = len(clusters)
        self.exemplars_ = np.array([c.exemplar for c in clusters], dtype=np.int64)
        self.shifts_ = np.array([c.shift for c in clusters])
        self.n_iter_ = sum(c.n_iter for c in clusters)
        self._memberships = memberships_of(clusters, cores)
        self._set_soft(self.similarity_)

    def _set_labels(self, partition: Callable[[], Partition], monitor: Monitor) -> None:
        """Labels of all objects, and what new ones need."""
        similarity, cores, clusters = self.similarity_, self._cores, self.clusters_
        labels, probabilities = cores.copy(), self._memberships.copy()
        sentence = "the labels are those of the dominant sets: all others are -1."
        self._rule: Any = None
        self._levels: list[Core] = []
        self._averages: list[Any] = []
        if self.assign == "average":
            labels = assign_by_average(similarity, clusters, labels)
            self._averages = [average_of(similarity.for_cluster(k), c) for k, c in enumerate(clusters)]
            sentence = "everybody is in the cluster with the highest average similarity."
        elif self.assign == "correlation" and clusters:
            try:
                made, self.correlation_ = label_by_correlation(
                    similarity, cores, len(clusters), self._noise is not None, monitor
                )
                labels, probabilities, self._rule, sentence = made
            except KeyboardInterrupt:  # the cores are there
                self.end_ = End.INTERRUPTED
        elif self.assign in ("refine", "mode") and clusters:
            try:
                labels, probabilities, self._rule, sentence = partition()
                if self._noise_asked != self._noise:
                    sentence = "nobody is called noise: other parts of the data find another background."
                if self._noise == "cores":
                    labels = np.where(cores >= 0, labels, -1)
                    probabilities = np.where(cores >= 0, probabilities, 0.0)
                    sentence = "everybody outside the dominant sets is -1, as asked."
            except KeyboardInterrupt:  # the cores are there
                self.end_ = End.INTERRUPTED
        if self._rule is None or self._noise == "cores":
            self._levels = [Core.of(similarity.for_cluster(k), c) for k, c in enumerate(clusters)]
        self.selection_ = self.selection_.labelled(clusters, labels, sentence)
        self.assignment_rate_ = float((labels >= 0).mean())
        # as the caller's own data are kept: Dask arrays in the same chunks
        self.labels_, self.core_labels_ = similarity.as_given(labels), similarity.as_given(cores)
        self.memberships_ = similarity.as_given(self._memberships)
        self.probabilities_ = similarity.as_given(np.where(labels < 0, 0.0, probabilities))
        del self._cores, self._memberships

    @property
    def cores_(self) -> Any:
        """The former name of ``core_labels_``."""
        return self.core_labels_

    @property
    def resolution_(self) -> Selection:
        """The former name of ``selection_``."""
        return self.selection_

    @property
    def shift_(self) -> float:
        """The shift used; the median of ``shifts_`` where every cluster has its own."""
        check_is_fitted(self)
        if self.selection_.resolution is not None:
            return self.selection_.resolution.shift
        return float(np.median(self.shifts_)) if len(self.shifts_) else float("nan")

    def _warn(self) -> None:
        if self.end_ in (End.INTERRUPTED, End.TIME_LIMIT, End.STOPPED):
            warn(
                f"fitting ended early ({self.end_.value}): {self.n_clusters_} clusters were found, "
                "the last of which may be incomplete.",
                ConvergenceWarning,
            )
            return
        loose = [c for c in self.clusters_ if c.status is not Status.CONVERGED]
        loose = [c for c in loose if c.relative_gap > WORTH_A_WARNING]
        if any(c.status is Status.DISSOLVED for c in loose):
            degree = float(self.similarity_.degrees().mean())
            warn(
                f"the shift of {self.shift_:.6g} is too large for this graph, whose mean degree is "
                f"{degree:.6g}: every object would gain by joining; lower it.",
                ConvergenceWarning,
            )
        elif loose:
            worst = max(c.relative_gap for c in loose)
            warn(
                f"{len(loose)} of {self.n_clusters_} clusters did not converge (largest relative gap "
                f"{worst:.1g}); raise max_iter in solver_params or use algorithm='pairwise'.",
                ConvergenceWarning,
            )
        if self.n_clusters_ == 0 and self.end_ is End.NOT_COHERENT:
            warn(
                "no cluster was found: no group stands out of the data, which look like noise or like one "
                "group; pass n_clusters, or a shift, to get clusters anyway."
            )
        elif self.n_clusters_ == 0:
            warn("no cluster was found: no two objects have a positive similarity.")
        elif self.n_clusters is not None and self.n_clusters_ < self.n_clusters:
            warn(
                f"{self.n_clusters_} of {self.n_clusters} clusters were found, then nothing was left to look "
                f"for{f' ({self.end_.value})' if self.end_ not in (None, End.N_CLUSTERS) else ''}."
            )

    def predict(self, X: Any) -> Ints:
        r"""The clusters of new objects.

        The rule is the one that made ``labels_``, so that objects of ``fit`` get their labels again wherever
        no tie is involved. With ``assign="refine"`` an object belongs to the cluster whose cloud it lies in,
        or to the background (-1); on a network to the group that it has most in common with; under "path"
        where the object nearest to it belongs. With ``assign=None`` it joins the first cluster found for
        which :math:`\sum_i x_i a_{ij} > x^T A x - \alpha |x|^2` (it would gain by joining), else -1; with
        "average" that cluster too, else the one with the highest average similarity; with "correlation" the
        one where it gains most.

        Exceptions: with ``assign="mode"`` new objects join by their gain, as with None, while ``labels_`` say
        where a climb from the object itself ends; a share of noise (``noise=0.1``) is one of the objects of
        ``fit``; and under "nearest_neighbors" an object of ``fit`` that comes again as a new one has itself
        among its neighbours.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_new, n_features)
            Rows of features; for ``affinity="precomputed"`` the similarities of the new objects to
            the n objects of ``fit`` (a row of that matrix is its object; its diagonal is ignored).

        Returns
        -------
        ndarray of shape (n_new,)
            Labels.
        """
        check_is_fitted(self)
        similarity = self.similarity_
        X = similarity.arriving(new_objects(self, X))
        if self.assign == "average":
            return predict_by_average(similarity, self._levels, self._averages, X)
        if self._rule is None:
            return predict_by_payoff(similarity, self._levels, X)
        labels: Ints = self._rule.of_new(similarity, X)
        if self._levels:
            labels = np.where(predict_by_payoff(similarity, self._levels, X) >= 0, labels, -1)
        return labels


def check_overlap(estimator: DominantSets) -> None:
    """Refuse what clusters that share objects cannot have."""
    for name, usual in (("n_starts", 1), ("checkpoint", None), ("algorithm", "auto")):
        if getattr(estimator, name) != usual:
            raise ValueError(f"overlap={estimator.overlap!r} needs {name}={usual!r}.")
    if estimator.assign in ("mode", "correlation"):
        raise ValueError(
            f"overlap={estimator.overlap!r} goes with assign='refine', 'average' or None, got "
            f"{estimator.assign!r}."
        )


def _say(number: int, cluster: DominantSet) -> None:
    """Log a line, on stderr where the user has not set logging up."""
    line = f"cluster {number}: {cluster!r}"
    if _log.hasHandlers():
        _log.info(line)
    else:
        sys.stderr.write(f"{line}\n")


def _silent(number: int, cluster: DominantSet) -> None:
    """Log nothing."""
