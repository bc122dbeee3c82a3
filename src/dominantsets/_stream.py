"""Rows that come in batches: ``partial_fit``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from dominantsets._checks import check_real
from dominantsets._input import batch, new_objects
from dominantsets.compiled.interrupts import listening
from dominantsets.fitting.contest import Choice, unseen
from dominantsets.fitting.samples import has_words
from dominantsets.fitting.selection import of_stream
from dominantsets.fitting.stream import (
    FORGOTTEN,
    Arrival,
    Earlier,
    Seen,
    climbed,
    cores_of,
    counted,
    in_order,
    look,
    partition,
    take_in,
)
from dominantsets.similarity import as_similarity
from dominantsets.similarity.arrivals import detached
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.source import release
from dominantsets.solvers import Monitor
from dominantsets.solvers.result import HALTS, End

BALLS = ("auto", "sqeuclidean", "cosine")  # under which all objects have one κ

# What is about all rows: made when somebody asks, if batches have come since.
ABOUT_ALL = (
    "clusters_",
    "n_clusters_",
    "exemplars_",
    "shifts_",
    "n_iter_",
    "end_",
    "selection_",
    "similarity_",
    "core_labels_",
    "memberships_",
    "_summaries",
)
USUAL: dict[str, Any] = {"shift": "auto", "checkpoint": None, "device": None}


def can_stream(estimator: Any) -> bool:
    """Whether the parameters are those of a stream; says which are not."""
    affinity = estimator.affinity
    if not isinstance(affinity, str) or affinity not in BALLS:
        raise AttributeError(f"partial_fit needs affinity={' or '.join(map(repr, BALLS))}, got {affinity!r}.")
    if (estimator.affinity_params or {}).get("equalize"):
        raise AttributeError("partial_fit has no ranks of similarities: leave out equalize.")
    for name, usual in USUAL.items():
        if getattr(estimator, name) != usual:
            raise AttributeError(f"partial_fit needs {name}={usual!r}, got {getattr(estimator, name)!r}.")
    return True


def choice_of_stream(X: Any) -> Choice:
    """What ``affinity="auto"`` means where rows come in batches, by the first of them."""
    return unseen("cosine" if has_words(X) else "sqeuclidean", "Rows come in batches: balls.")


class Streaming:
    """An estimator whose rows may come in batches."""

    end_: End | None

    if not TYPE_CHECKING:  # it would hide names that are nowhere

        def __getattr__(self, name: str) -> Any:
            """What is about all rows, when batches have come since it was made."""
            if name in ABOUT_ALL and "_before" in self.__dict__:
                self._safely(self._catch_up)
            return object.__getattribute__(self, name)  # or the error of before

    @available_if(can_stream)  # type: ignore[untyped-decorator]
    def partial_fit(self: Any, X: Any, y: Any = None, *, forget: float = 0.0) -> Any:
        r"""Take a batch of rows in.

        The first batch is fitted. Later ones are labelled by what is known, and wait: ``clusters_``, and all
        that is about all rows, is brought up to date when it is asked for, and when clusters are looked for
        anew. Then a cluster is touched only where an object has a payoff above its threshold: the others
        keep their weights, and their certificate with a new margin. Those that are touched take the objects
        in and are climbed again over all rows. Clusters are looked for anew where rows are in other ones than
        before, or in none, and when there are many more rows (docs/streams.md); those that are found again
        keep their labels. Rows are kept: certificates are about all of them, unless ``forget`` makes them
        worth less with every batch.
        A batch that cannot be taken in leaves the model as it was; Ctrl-C and ``max_time`` (of one batch) end
        it early, and the next batch goes on.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_batch, n_features)
            Rows, for affinity "sqeuclidean" or "cosine"; "auto" is one of these, by the first batch. ``fit``
            forgets them.
        y : None
            Not used.
        forget : float, default=0.0
            Share of its weight that each row of the earlier batches loses with this one; at least 0 and
            below 1.

        Returns
        -------
        DominantSets
            The estimator. Attributes with an entry for each object are about the batch; members of
            ``clusters_``, and ``membership_matrix_``, are about all rows seen.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from dominantsets import DominantSets
        >>> X, y = make_blobs(600, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
        >>> model = DominantSets()
        >>> for batch in (X[:200], X[200:400], X[400:]):
        ...     model = model.partial_fit(batch)
        >>> model.labels_.shape, model.membership_matrix_.shape
        ((200,), (600, 3))
        """
        if not 0.0 <= check_real("forget", forget) < 1.0:
            raise ValueError(f"forget must be at least 0 and below 1, got {forget!r}.")
        X = batch(self, X)
        self._safely(lambda: self._take_batch(X, forget) if "_seen" in self.__dict__ else self._take_first(X))
        return self

    @available_if(can_stream)  # type: ignore[untyped-decorator]
    def partial_unfit(self: Any, rows: Any) -> Any:
        """Take rows out again that came in batches.

        A cluster that has none of them as members stays as it is, and its certificate holds. The others
        begin as the same ball without them, and are climbed again over all rows that are left; those of
        which nobody is left are gone.

        Parameters
        ----------
        rows : array of int
            Numbers of rows, in the order in which they came. Those that are left are then numbered anew,
            in the same order.

        Returns
        -------
        DominantSets
            The estimator. Attributes with an entry for each object are about what is left of the last batch.

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
        if "_seen" not in self.__dict__:
            raise ValueError("partial_unfit takes rows out that came with partial_fit; there are none.")
        self._safely(lambda: self._take_out(rows))
        return self

    def _safely(self: Any, work: Any) -> None:
        """Do all of it, or leave everything as it was."""
        before = dict(self.__dict__)
        try:
            work()
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _take_first(self: Any, X: Any) -> None:
        self._in_batches = True
        self.fit(X)
        rows = new_objects(self, X).copy()  # the caller may fill the same array with the next batch
        rule, n = self._rule and Earlier(self._rule, detached(self.similarity_)), rows.shape[0]
        self._seen = Seen(
            rows,
            np.zeros(n, dtype=np.int64),
            self.labels_,
            self.probabilities_,
            rule,
            n,
            counted(self.clusters_, n, n),
        )
        del self._in_batches

    def _take_batch(self: Any, X: Any, forget: float) -> None:
        """Labels of a batch, which waits unless it calls for more."""
        self.__dict__.update(self.__dict__.pop("_before", {}))
        thresholds = np.array([cluster.threshold for cluster in self.clusters_])
        seen = self._seen = self._seen.with_batch(X, forget, self._payoffs(X), thresholds)
        called = seen.calls_for_a_look()
        if called or seen.rule is None or self._levels:  # nothing says labels without the clusters
            self._catch_up(called)
            return
        self.labels_, self.probabilities_ = seen.rule.place(X)
        self._seen = replace(
            seen,
            labels=np.concatenate([seen.labels, self.labels_]),
            probabilities=np.concatenate([seen.probabilities, self.probabilities_]),
        )
        self.assignment_rate_ = float((self.labels_ >= 0).mean())
        self.similarity_ = detached(self.similarity_)  # only its sums are needed: the rows are in _seen
        self._before = {name: self.__dict__.pop(name) for name in ABOUT_ALL if name in self.__dict__}

    def _catch_up(self: Any, called: bool = False) -> None:
        """The clusters with all that waits."""
        self.__dict__.update(self.__dict__.pop("_before", {}))
        options, old, first = self._checked(), self.similarity_, self._seen.rows.shape[0]
        decay = self._seen.decay
        seen, X = self._seen.joined()
        if seen.rule is not None and seen.labels.size < seen.n:  # the batch that called for a look
            labels, likely = seen.rule.place(X[seen.labels.size - first :])
            seen = replace(
                seen,
                labels=np.concatenate([seen.labels, labels]),
                probabilities=np.concatenate([seen.probabilities, likely]),
            )
        weights = seen.weights()
        keep = np.ones(seen.n, dtype=bool) if weights is None else weights >= FORGOTTEN
        similarity = as_similarity(seen.rows[keep], self.affinity_, **self.affinity_params_)
        payoffs, raised = self._payoffs(X), similarity.offset - old.offset
        arrivals = [
            take_in(
                cluster,
                payoffs[:, k],
                first,
                raised,
                old.self_similarity + cluster.shift,
                options.tol,
                decay,
                None if weights is None else weights[first:],
                bounds_of(old).rounding,
            )
            for k, cluster in enumerate(self.clusters_)
        ]
        self._renew(seen, similarity, arrivals, keep, called)

    def _take_out(self: Any, rows: Any) -> None:
        """The clusters without some rows."""
        if "_before" in self.__dict__:
            self._catch_up()
        seen, old = self._seen, self.similarity_
        keep = ~checked_rows(rows, seen.n)
        similarity = as_similarity(seen.rows[keep], self.affinity_, **self.affinity_params_)
        nobody, raised, tol = np.empty(0), similarity.offset - old.offset, self._checked().tol
        own, rounding = old.self_similarity, bounds_of(old).rounding
        arrivals = [
            take_in(cluster, nobody, seen.n, raised, own + cluster.shift, tol, rounding=rounding)
            for cluster in self.clusters_
        ]
        self._renew(seen, similarity, arrivals, keep, False)

    @listening()
    def _renew(
        self: Any, seen: Seen, similarity: Any, arrivals: Sequence[Arrival], keep: Any, called: bool
    ) -> None:
        """Clusters and labels of the rows that are kept, from where the clusters are to be climbed."""
        options, monitor = self._checked(), Monitor(self.max_time, self.callback)
        if not keep.all():
            own = similarity.self_similarity
            left = [arrival.without(keep, own + arrival.cluster.shift) for arrival in arrivals]
            arrivals, seen = [arrival for arrival in left if arrival is not None], seen.kept(keep)
            called = called or len(arrivals) < len(left)
        weights, end = seen.weights(), End.N_CLUSTERS
        clusters, rule = None, seen.rule
        if called and not monitor.out_of_time():
            wanted, least = self.n_clusters, self.min_cluster_size
            found = look(similarity, arrivals, weights, wanted, least, options, monitor)
            if found is not None:  # else the next batch looks
                clusters, rule = in_order([a.cluster for a in arrivals], found, wanted), None
                if not monitor.out_of_time():
                    seen = replace(seen, looked=similarity.n)
        if clusters is None:
            clusters = climbed(similarity, arrivals, weights, options, monitor)
        rule = rule if len(clusters) == self.n_clusters_ else None
        self.end_ = next((HALTS[c.status] for c in clusters if c.status in HALTS), end)
        self.similarity_ = similarity
        self._set_clusters(clusters, cores_of(clusters, similarity.n))
        self.selection_ = of_stream(clusters, similarity.n)
        if rule is None:
            self._set_labels(lambda: partition(similarity, clusters, self._noise_asked, monitor), monitor)
            rule = self._rule and Earlier(self._rule, detached(similarity))
        else:  # between two looks labels are by one rule
            self._set_labels(lambda: rule.partition(seen.labels, seen.probabilities), monitor)
        self._seen = replace(
            seen,
            labels=self.labels_,
            probabilities=self.probabilities_,
            rule=rule,
            counts=counted(clusters, similarity.n, seen.looked),
        )
        self._of_batch(int(np.searchsorted(seen.born, seen.n_batches - 1)))
        self._warn()
        release(similarity)

    def _of_batch(self: Any, first: int) -> None:
        """Attributes with an entry for each object, of the last batch."""
        for name in ("labels_", "core_labels_", "memberships_", "probabilities_"):
            setattr(self, name, getattr(self, name)[first:])
        self.assignment_rate_ = float((self.labels_ >= 0).mean()) if self.labels_.size else 0.0


def checked_rows(rows: Any, n: int) -> Any:
    """Which of the rows are to be taken out, if they are there and some are left."""
    given = np.asarray(rows)
    if given.ndim > 1 or not (given.size and np.issubdtype(given.dtype, np.integer)):
        raise ValueError(f"rows must be numbers of rows, at least one, got {rows!r}.")
    if given.min() < 0 or given.max() >= n:
        wrong = given.min() if given.min() < 0 else given.max()
        raise ValueError(f"row {wrong} is not one of the rows 0 to {n - 1} of the stream.")
    gone = np.zeros(n, dtype=bool)
    gone[given] = True
    if gone.all():
        raise ValueError(f"no row would be left of {n}; make a new estimator instead.")
    return gone
