"""The scikit-learn estimator."""

from __future__ import annotations

import logging
import sys
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from dominantsets._checks import check_choice, check_int, check_real, warn
from dominantsets._typing import Floats, Ints
from dominantsets.clusters.checkpoint import Checkpoint, signature
from dominantsets.clusters.minimum_size import guaranteed_shift, sufficient_shift
from dominantsets.clusters.multistart import MultiStart, Pass, check_multistart
from dominantsets.clusters.peeling import HALTS, End, Peeling, check_peeling
from dominantsets.clusters.shift import Resolution, choose_shift
from dominantsets.labels.average import assign_by_average, predict_by_average, predict_by_payoff
from dominantsets.labels.partition import Partition, partition, predict_by_fit
from dominantsets.rows.chunks import is_dask
from dominantsets.similarity import AFFINITIES, Sharded, Similarity, as_similarity
from dominantsets.similarity.factory import is_tensor
from dominantsets.solvers import Callback, DominantSet, Monitor, Status
from dominantsets.solvers.api import check_options, choose
from dominantsets.solvers.progress import progress_bar
from dominantsets.solvers.starts import check_start

_log = logging.getLogger(__name__)

WORTH_A_WARNING = 1e-6  # relative gap of an unconverged cluster
ASSIGNMENTS = ("average", "refine")


class DominantSets(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    r"""Dominant set clustering.

    A dominant set is a group of objects that are more similar to each other than to anything
    outside: a strict local maximum of :math:`x^T (A - \alpha I) x` over the simplex, where A is a
    similarity with a zero diagonal and :math:`\alpha` the shift. Its support is the cluster, x itself
    says how strongly each object belongs. Clusters are found one after another, each among the
    objects that the earlier ones left; objects in no cluster get the label -1.

    Parameters
    ----------
    n_clusters : int, optional
        Largest number of clusters. Without it, those that stand alone: sharper than noise is, and not the
        shell of another one (:mod:`dominantsets.clusters.significance`); there may be none.
    affinity : str, callable or Similarity, default="sqeuclidean"
        How similarity comes from X: ``"sqeuclidean"`` (M - D²), ``"cosine"`` (cos + 1),
        ``"linear"``, ``"rbf"``, ``"laplacian"``, ``"euclidean"`` (M - D), ``"path"`` (minimax distances),
        ``"nearest_neighbors"``, ``"diffusion"`` (random walks on their graph; for images and other data whose
        groups are not round), ``"precomputed"`` (X is the similarity; sparse: a graph) or a callable of two
        sets of rows.
        See :func:`as_similarity`.
    affinity_params : dict, optional
        Parameters of the affinity, such as ``{"gamma": 0.5}``.
    shift : float, "auto", "guaranteed" or "sufficient", default="auto"
        The resolution :math:`\alpha`: the larger, the larger the clusters. "auto" tries four, in proportion
        to n so that clusters keep their extent as more objects are drawn from one distribution, and takes
        the one whose clusters stand out most (:mod:`dominantsets.clusters.shift`; ``resolution_`` has
        the reason); for a graph, 0.9 of its mean degree, or less where that many clusters take less. It may
        be negative, where a constant in the
        similarity is larger than needed. "guaranteed" is the least shift for which it is proved that no
        cluster has fewer than ``min_cluster_size`` members; "sufficient" searches for a smaller one that is
        enough on these data (about ten times the work).
    algorithm : str, default="auto"
        "auto", "fw", "pairwise", "away", "replicator", "working-set", "dual" or "exact".
        The solver, see :func:`solve`.
    start : {"vertex", "barycenter"}, int or array, default="vertex"
        Where the solver starts, see :func:`solve`.
    tol : float, default=1e-10
        Relative gap at which a cluster counts as converged.
    max_iter : int, default=100_000
        Largest number of iterations for a cluster.
    max_time : float, optional
        Seconds after which fitting stops, with what has been found.
    cutoff : float, default=2e-12
        Members have a weight above this.
    min_cluster_size : int, default=1
        Fitting ends before a cluster with fewer members; see ``shift`` for how to have none.
    assign : {"refine", "average", None}, default="refine"
        What becomes of objects in no core. "refine": all objects, those of the cores too, move to the
        cluster that they fit best until nothing moves, see :mod:`dominantsets.labels.refinement`; "average": those
        in no core join the cluster with which they have the highest average similarity (the paper's
        post-assignment); None: they stay -1, and the labels are the cores'.
    keep_noise : float, "auto", "payoff" or None, default="auto"
        With ``assign="refine"``, what stays out (-1): "auto", what lies far outside every core, or all that
        lies outside where much lies far (:func:`dominantsets.labels.partition.noise_of`); a quantile q, objects
        that fit their cluster less well than the q-quantile of its core; "payoff", all that are in no core;
        None, nobody.
    n_starts : int, default=1
        1 peels clusters one after another from their vertex. More: multi-start, in passes that solve from
        so many sampled objects at once, see :func:`multistart`.
    sampling : {"uniform", "dpp"}, default="uniform"
        How multi-start samples them: all alike, or by a determinantal point process, which avoids objects
        that are alike.
    max_overlap : float, default=0.1
        Largest share of a cluster's members that may be in better clusters of the same pass.
    n_jobs : int, optional
        Threads for the starts of a pass; the result is the same for every number.
    random_state : int, RandomState or None, default=None
        Used for the sampling, and where row sums of a kernel are estimated from a sample (above 20,000
        objects).
    checkpoint : str, optional
        A file in which clusters are kept after each of them (each pass of multi-start). A new fit of the same
        data with the same parameters goes on from there; one that belongs to others is refused. It stays
        when fitting is done.
    device : str or torch.device, optional
        Where to work on features under sqeuclidean, cosine, linear, rbf or laplacian, such as ``"cuda"``
        (extra "gpu"). A torch tensor is worked on where it is, without this. Results are NumPy arrays.
    callback : callable, optional
        Called about every 50 ms with a :class:`Progress`; return True to stop. Dropped by pickling.
    verbose : int, default=0
        1 shows a bar where stderr is a terminal (and rich is installed), and logs a line for each cluster
        (on stderr where logging is not set up).

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster of each object in the order found, or -1.
    clusters_ : list of DominantSet
        Members, weights and certificate of each cluster.
    n_clusters_ : int
        Number of clusters found.
    exemplars_ : ndarray of shape (n_clusters_,)
        The object with the largest weight of each cluster.
    cores_ : ndarray of shape (n,)
        The labels before ``assign``: members of the dominant sets themselves.
    memberships_ : ndarray of shape (n,)
        The weight of each object in its cluster, 1 for the exemplar; 0 outside the clusters' cores.
    assignment_rate_ : float
        Share of the objects with a label other than -1.
    n_iter_ : int
        Iterations of all clusters together.
    n_passes_ : int
        Passes of multi-start; without it, as many as clusters.
    shift_ : float
        The shift used.
    resolution_ : Resolution
        How it was chosen: the candidates, their scores, and the reason.
    end_ : End
        Why no more clusters were looked for.
    similarity_ : Similarity
        The similarity that was clustered.
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

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        affinity: Any = "sqeuclidean",
        affinity_params: dict[str, Any] | None = None,
        shift: float | str = "auto",
        algorithm: str = "auto",
        start: Any = "vertex",
        tol: float = 1e-10,
        max_iter: int = 100_000,
        max_time: float | None = None,
        cutoff: float = 2e-12,
        min_cluster_size: int = 1,
        assign: str | None = "refine",
        keep_noise: float | str | None = "auto",
        n_starts: int = 1,
        sampling: str = "uniform",
        max_overlap: float = 0.1,
        n_jobs: int | None = None,
        random_state: Any = None,
        checkpoint: str | None = None,
        device: Any = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.affinity_params = affinity_params
        self.shift = shift
        self.algorithm = algorithm
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cutoff = cutoff
        self.min_cluster_size = min_cluster_size
        self.assign = assign
        self.keep_noise = keep_noise
        self.n_starts = n_starts
        self.sampling = sampling
        self.max_overlap = max_overlap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.checkpoint = checkpoint
        self.device = device
        self.callback = callback
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.affinity not in ("laplacian", "euclidean") and not callable(
            self.affinity
        )
        precomputed = isinstance(self.affinity, str) and self.affinity == "precomputed"
        tags.input_tags.pairwise = precomputed
        tags.input_tags.positive_only = precomputed
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if state.get("callback") is not None:
            warn("the callback of DominantSets is not pickled; set it again after loading.")
            state["callback"] = None
        return state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of X.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, Dask array, tensor of shape (n, n_features), or Similarity
            Rows of features; an n × n similarity for ``affinity="precomputed"``. Rows of a Dask array stay
            in their chunks, on the workers of the current ``distributed.Client`` where there is one; labels
            are then Dask arrays with the same chunks.
        y : None
            Not used.

        Returns
        -------
        DominantSets
            The fitted estimator. Ctrl-C keeps the clusters found so far and warns.
        """
        self._check_parameters()
        similarity = self._similarity(X)
        check_peeling(similarity.n, self.n_clusters, self.cutoff, self.min_cluster_size)
        if similarity.n == 1:
            warn("one object is one cluster of one.")
        # a start is refused before the row sums are made; which solver "auto" means needs the shift
        early = 0.0 if isinstance(self.shift, str) else float(self.shift)
        vertex = isinstance(self.start, str) and (self.start == "vertex" or self.algorithm == "exact")
        start = 0 if self.n_starts > 1 and vertex else self.start
        check_start(start, choose(self.algorithm, similarity, early, start), similarity.n)
        bar = progress_bar(self.callback, self.n_clusters, similarity.n)
        with bar if self.verbose else nullcontext(self.callback) as callback:
            self._find(similarity, Monitor(self.max_time, callback))
        self._warn()
        return self

    def _find(self, similarity: Similarity, monitor: Monitor) -> None:
        random_state = check_random_state(self.random_state)
        if self.random_state is None:  # a generator of our own: a checkpoint must not rewind NumPy's
            random_state = np.random.RandomState(random_state.randint(2**31 - 1))
        degrees = similarity.degrees(random_state)
        self.similarity_ = similarity
        self.resolution_ = self._resolution(similarity, degrees, monitor)
        self.shift_ = self.resolution_.shift
        many = self.n_starts > 1
        options: dict[str, Any] = {
            "shift": self.shift_,
            "algorithm": choose(self.algorithm, similarity, self.shift_, 0 if many else self.start),
            "start": self.start,
            "tol": float(self.tol),
            "max_iter": int(self.max_iter),
            "cutoff": float(self.cutoff),
            "min_cluster_size": int(self.min_cluster_size),
            "monitor": monitor,
            "degrees": degrees,
        }
        run: Peeling | MultiStart
        if many:
            run = MultiStart(
                similarity,
                self.n_clusters,
                n_starts=int(self.n_starts),
                sampling=self.sampling,
                max_overlap=float(self.max_overlap),
                n_jobs=self.n_jobs,
                random_state=random_state,
                **options,
            )
        else:
            plain = isinstance(self.start, str) and self.start == "vertex" and options["algorithm"] == "dual"
            run = Peeling(
                similarity, self.n_clusters, warm=self.resolution_.rough if plain else (), **options
            )
        keep = None
        if self.checkpoint is not None and self.resolution_.halt is None:
            names = ["n_clusters", "affinity", "affinity_params", "n_starts", "sampling", "max_overlap"]
            names += ["random_state"] if many else []
            depends = {name: getattr(self, name) for name in names} | {
                name: value for name, value in options.items() if name not in ("monitor", "degrees")
            }
            keep = Checkpoint(self.checkpoint, signature(similarity, depends))
        if self.resolution_.halt is not None:
            run.end = self.resolution_.halt
        clusters = self._collect(run, random_state, keep)
        self.end_ = run.end
        self.n_passes_ = run.n_passes if isinstance(run, MultiStart) else len(clusters)
        self._set_results(clusters, run, monitor)

    def _resolution(self, similarity: Similarity, degrees: Floats, monitor: Monitor) -> Resolution:
        """The shift: given, chosen, or such that no cluster is small."""
        size = int(self.min_cluster_size)
        if self.shift == "guaranteed":
            shift = guaranteed_shift(similarity, size)
            return Resolution(shift, f"no cluster can have fewer than {size} members.")
        if self.shift == "sufficient":
            shift = sufficient_shift(
                similarity, size, self.n_clusters, degrees=degrees, monitor=monitor, cutoff=self.cutoff
            )
            return Resolution(shift, f"found by search: no cluster has fewer than {size} members.")
        if not isinstance(self.shift, str):
            return Resolution(float(self.shift), "given.")
        refined = self.assign == "refine"
        return choose_shift(similarity, degrees, self.n_clusters, refined=refined, monitor=monitor)

    def _check_parameters(self) -> None:
        if isinstance(self.affinity, str):
            check_choice("affinity", self.affinity, AFFINITIES)
        elif not callable(self.affinity) and not isinstance(self.affinity, Similarity):
            raise ValueError(f"affinity={self.affinity!r} is neither a name, a callable nor a Similarity.")
        if isinstance(self.shift, str):
            check_choice("shift", self.shift, ("auto", "guaranteed", "sufficient"))
            if self.shift != "auto" and check_int("min_cluster_size", self.min_cluster_size, at_least=1) < 2:
                raise ValueError(
                    f"shift={self.shift!r} is about min_cluster_size, which must be at least 2 for it, got "
                    f"{self.min_cluster_size}."
                )
        shift = 0.0 if isinstance(self.shift, str) else self.shift
        check_options(self.algorithm, shift, self.tol, self.max_iter, self.max_time)
        if self.assign is not None:
            check_choice("assign", self.assign, ASSIGNMENTS)
        if isinstance(self.keep_noise, str):
            check_choice("keep_noise", self.keep_noise, ("auto", "payoff"))
        elif self.keep_noise is not None and not 0.0 <= check_real("keep_noise", self.keep_noise) <= 1.0:
            raise ValueError(
                f"keep_noise={self.keep_noise!r} is not a quantile between 0 and 1, 'auto', 'payoff' or None."
            )
        if self.keep_noise not in (None, "auto") and self.assign != "refine":
            raise ValueError(f"keep_noise={self.keep_noise!r} needs assign='refine', got {self.assign!r}.")
        check_real("verbose", self.verbose)
        check_int("n_starts", self.n_starts, at_least=1)
        if self.n_starts > 1:
            check_multistart(self.n_starts, self.sampling, self.max_overlap, self.start)

    def _similarity(self, X: Any) -> Similarity:
        if isinstance(X, Similarity):
            self.n_features_in_ = X.n_features
            return X
        half = self.device is not None and getattr(X, "dtype", None) == np.float16
        mapped = isinstance(X, np.memmap) and X.dtype in (np.float32, np.float64)
        if is_dask(X) or ((is_tensor(X) or half or mapped) and X.ndim == 2):
            # scikit-learn's checks would read all of it, convert it, or fetch it from where it is
            self.n_features_in_ = X.shape[-1]
        elif not is_tensor(X):  # a tensor of another shape is refused by as_similarity
            X = validate_data(self, X, **self._accepted())
        if isinstance(self.affinity, Similarity):
            if X.shape[0] != self.affinity.n:
                raise ValueError(f"X has {X.shape[0]} rows and the similarity {self.affinity.n} objects.")
            return self.affinity
        return as_similarity(X, self.affinity, device=self.device, **(self.affinity_params or {}))

    def _accepted(self) -> dict[str, Any]:
        return {
            "accept_sparse": "csr",
            "dtype": [np.float64, np.float32],
            "ensure_min_samples": 1,
            "order": None,
        }

    def _collect(
        self, run: Peeling | MultiStart, random_state: np.random.RandomState, keep: Checkpoint | None
    ) -> list[DominantSet]:
        clusters: list[DominantSet] = []
        before = keep.load() if keep is not None else None
        if before is not None:
            clusters += before.clusters
            run.restore(clusters)
            run.end = End(before.end) if before.end is not None else None
            if isinstance(run, MultiStart):
                run.n_passes = before.n_passes
                if before.random_state is not None:
                    random_state.set_state(before.random_state)
        try:
            for found in run:
                for cluster in found.clusters if isinstance(found, Pass) else [found]:
                    clusters.append(cluster)
                    if self.verbose:
                        _say(f"cluster {len(clusters)}: {cluster!r}")
                if keep is not None and run.end not in HALTS.values():  # a halted cluster is not whole
                    passes = run.n_passes if isinstance(run, MultiStart) else len(clusters)
                    keep.save(clusters, passes, random_state, run.end.value if run.end else None)
        except KeyboardInterrupt:  # outside a solve, which returns on its own
            run.end = End.INTERRUPTED
        return clusters

    def _set_results(self, clusters: list[DominantSet], run: Peeling | MultiStart, monitor: Monitor) -> None:
        kept = list(range(len(clusters)))
        if self.n_clusters is None:  # those that stand alone; the others were only in the way
            kept = [k for k in kept if run.judgements[k].alone or len(run.labels) == 1]
        numbers = np.full(len(clusters) + 1, -1, dtype=np.int64)  # the last place is for the label -1
        numbers[kept] = np.arange(len(kept))
        self.clusters_ = [clusters[k] for k in kept]
        self.cores_: Ints = numbers[run.labels]
        memberships = np.zeros(self.cores_.size)
        for k, cluster in enumerate(self.clusters_):
            mine = self.cores_[cluster.members] == k  # all of them, unless clusters of one pass overlap
            memberships[cluster.members[mine]] = (cluster.weights / cluster.weights.max())[mine]
        labels = self.cores_.copy()
        self._partition: Partition | None = None
        if self.assign == "average":
            labels = assign_by_average(self.similarity_, self.clusters_, labels)
        elif self.assign == "refine" and self.clusters_:
            try:
                self._partition = partition(
                    self.similarity_, self.clusters_, labels, self.keep_noise, self.resolution_.seeds, monitor
                )
                labels = self._partition.labels
            except KeyboardInterrupt:  # the cores are there
                self.end_ = End.INTERRUPTED
        self.labels_ = labels
        self.memberships_: Floats = memberships
        self.n_clusters_ = len(self.clusters_)
        self.exemplars_ = np.array([c.exemplar for c in self.clusters_], dtype=np.int64)
        self.assignment_rate_ = float((labels >= 0).mean())
        self.n_iter_ = sum(c.n_iter for c in self.clusters_)
        if isinstance(self.similarity_, Sharded):  # as the caller's own array is: in chunks
            for name in ("labels_", "cores_", "memberships_"):
                setattr(self, name, self.similarity_.present(getattr(self, name)))

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
                f"{worst:.1g}); raise max_iter={self.max_iter} or use algorithm='pairwise'.",
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
                f"{self.n_clusters_} of {self.n_clusters} clusters were found; peeling ended because "
                f"of {self.end_.value if self.end_ else 'nothing'}."
            )

    def predict(self, X: Any) -> Ints:
        r"""The clusters of new objects.

        A new object j joins the first cluster found for which
        :math:`\sum_i x_i a_{ij} > x^T A x - \alpha |x|^2` (it would gain by joining), else -1; with
        ``assign="average"`` the cluster with the highest average similarity, with "refine" the one it fits
        best, or -1 where ``keep_noise`` says that it is noise.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_new, n_features)
            Rows of features; for ``affinity="precomputed"`` the similarities of the new objects to
            the n objects of ``fit``.

        Returns
        -------
        ndarray of shape (n_new,)
            Labels.
        """
        check_is_fitted(self)
        if is_tensor(X):
            self._check_tensor(X)
        else:
            X = validate_data(self, X, reset=False, **self._accepted())
        if sp.issparse(X):
            X = sp.csr_array(X)
        if self.assign == "refine" and self._partition is not None:
            return predict_by_fit(self.similarity_, self.clusters_, self._partition, X)
        rule = predict_by_average if self.assign == "average" else predict_by_payoff
        return rule(self.similarity_, self.clusters_, X)

    def _check_tensor(self, X: Any) -> None:
        """A tensor goes to what was fitted on the same device."""
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has the shape {tuple(X.shape)}, but DominantSets was fitted with {self.n_features_in_} "
                "features."
            )
        here = getattr(self.similarity_, "device", None)
        if here != X.device:
            fitted = "NumPy arrays" if here is None else f"features on {here}"
            raise ValueError(f"X is a tensor on {X.device}, but DominantSets was fitted with {fitted}.")


def _say(line: str) -> None:
    """Log a line, on stderr where the user has not set logging up."""
    if _log.hasHandlers():
        _log.info(line)
    else:
        sys.stderr.write(f"{line}\n")
