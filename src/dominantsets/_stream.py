"""Rows that come in batches: ``partial_fit``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.utils.metaestimators import available_if

from dominantsets._input import batch, new_objects
from dominantsets.clusters.choice import Choice, unseen
from dominantsets.clusters.samples import has_words
from dominantsets.clusters.stream import Earlier, Seen, climbed, cores_of, in_order, look, partition, take_in
from dominantsets.clusters.table import of_stream
from dominantsets.similarity import as_similarity
from dominantsets.solvers import Monitor
from dominantsets.solvers.result import HALTS, End

BALLS = ("auto", "sqeuclidean", "cosine")  # under which all objects have one κ

USUAL: dict[str, tuple[Any, ...]] = {
    "shift": ("auto",),
    "n_starts": (1,),
    "checkpoint": (None,),
    "device": (None,),
    "assign": ("refine", "average", None),
}


def can_stream(estimator: Any) -> bool:
    """Whether the parameters are those of a stream; says which are not."""
    affinity = estimator.affinity
    if not isinstance(affinity, str) or affinity not in BALLS:
        raise AttributeError(f"partial_fit needs affinity={' or '.join(map(repr, BALLS))}, got {affinity!r}.")
    if (estimator.affinity_params or {}).get("equalize"):
        raise AttributeError("partial_fit has no ranks of similarities: leave out equalize.")
    for name, values in USUAL.items():
        if getattr(estimator, name) not in values:
            raise AttributeError(f"partial_fit needs {name}={values[0]!r}, got {getattr(estimator, name)!r}.")
    return True


def choice_of_stream(X: Any) -> Choice:
    """What ``affinity="auto"`` means where rows come in batches, by the first of them."""
    return unseen("cosine" if has_words(X) else "sqeuclidean", "Rows come in batches: balls.")


class Streaming:
    """An estimator whose rows may come in batches."""

    end_: End | None

    @available_if(can_stream)  # type: ignore[untyped-decorator]
    def partial_fit(self: Any, X: Any, y: Any = None) -> Any:
        r"""Take a batch of rows in.

        The first batch is fitted. Of later ones, a cluster is touched only where an object has a payoff above
        its threshold: the others keep their weights, and their certificate with a new margin. Those that are
        touched take the objects in and are climbed again over all rows seen. Clusters are looked for anew
        where rows are in other ones than before, or in none, and when the rows have doubled; those that are
        found again keep their labels. Rows are kept: certificates are about all of them.
        A batch that cannot be taken in leaves the model as it was; Ctrl-C and ``max_time`` (of one batch) end
        it early, and the next batch goes on.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_batch, n_features)
            Rows, for affinity "sqeuclidean" or "cosine"; "auto" is one of these, by the first batch. ``fit``
            forgets them.
        y : None
            Not used.

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
        X, before = batch(self, X), dict(self.__dict__)
        try:
            if "_seen" in before:
                return self._take_batch(X)
            self._in_batches = True
            self.fit(X)
            rows = new_objects(self, X).copy()  # the caller may fill the same array with the next batch
            rule = self._rule and Earlier(self._rule, self.similarity_.detached())
            self._seen = Seen(rows, rows.shape[0], self.labels_, self.probabilities_, rule)
        except BaseException:  # the batch is in, or it is not
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self.__dict__.pop("_in_batches", None)
        return self

    def _take_batch(self: Any, X: Any) -> Any:
        options, monitor = self._checked(), Monitor(self.max_time, self.callback)
        old, first = self.similarity_, self._seen.rows.shape[0]
        seen = self._seen.with_batch(X)
        similarity = as_similarity(seen.rows, self.affinity_, **self.affinity_params_)
        payoffs, raised = self._payoffs(X), similarity.offset - old.offset
        arrivals = [
            take_in(cluster, payoffs[:, k], first, raised, old.self_similarity + cluster.shift, options.tol)
            for k, cluster in enumerate(self.clusters_)
        ]
        clusters, end = climbed(similarity, arrivals, options, monitor), End.N_CLUSTERS
        rule = seen.rule if len(clusters) == self.n_clusters_ else None
        if seen.calls_for_a_look(clusters) and not monitor.out_of_time():
            try:
                steady = [arrival.cluster for arrival in arrivals if arrival.start is None]
                wanted, least = self.n_clusters, self.min_cluster_size
                found = look(similarity, clusters, steady, wanted, least, options, monitor)
                clusters, rule = in_order(self.clusters_, found, wanted), None
                if not monitor.out_of_time():
                    seen = replace(seen, looked=similarity.n)
            except KeyboardInterrupt:  # the next batch looks
                monitor.hurry()
                end = End.INTERRUPTED
        self.end_ = next((HALTS[c.status] for c in clusters if c.status in HALTS), end)
        self.similarity_ = similarity
        self._set_clusters(clusters, cores_of(clusters, similarity.n))
        self.n_passes_, self.selection_ = len(clusters), of_stream(clusters, similarity.n)
        if rule is None:
            self._set_labels(lambda: partition(similarity, clusters, self._noise_asked, monitor), monitor)
            rule = self._rule and Earlier(self._rule, similarity.detached())
        else:  # between two looks labels are by one rule
            self._set_labels(lambda: rule.partition(seen.labels, seen.probabilities, X), monitor)
        self._seen = replace(seen, labels=self.labels_, probabilities=self.probabilities_, rule=rule)
        self._of_batch(first)
        self._warn()
        similarity.release()
        return self

    def _of_batch(self: Any, first: int) -> None:
        """Attributes with an entry for each object, of the last batch."""
        for name in ("labels_", "core_labels_", "memberships_", "probabilities_"):
            setattr(self, name, getattr(self, name)[first:])
        self.assignment_rate_ = float((self.labels_ >= 0).mean())
