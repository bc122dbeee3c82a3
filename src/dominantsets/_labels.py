"""What an estimator says of the clusters it has found: labels, warnings, and clusters of new objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dominantsets._checks import check_int, check_real, warn
from dominantsets._input import new_objects
from dominantsets._typing import Floats, Ints
from dominantsets.clusters.proof_file import write_certificate
from dominantsets.compiled.interrupts import Interrupted
from dominantsets.compiled.members import silence, sizes_of
from dominantsets.fitting.belonging import belonging
from dominantsets.fitting.copies import without_direction
from dominantsets.fitting.parameters import Parameters
from dominantsets.fitting.placing import Placing, place_rows
from dominantsets.fitting.plan import named
from dominantsets.fitting.selection import Selection
from dominantsets.labels.average import (
    Core,
    assign_by_average,
    average_of,
)
from dominantsets.labels.margins import label_margins
from dominantsets.labels.noise import FAR
from dominantsets.labels.partition import Partition, Renumbered, memberships_of
from dominantsets.labels.soft import alone, as_labelled, as_stable
from dominantsets.labels.stated import stated_scores
from dominantsets.labels.why import Why, why
from dominantsets.rows.foreign import shared
from dominantsets.similarity import Similarity
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.similarity.data import is_elsewhere
from dominantsets.similarity.isolation import any_isolation_of, holds_rows
from dominantsets.similarity.search import searched_once
from dominantsets.similarity.source import as_given
from dominantsets.similarity.stated import stated
from dominantsets.solvers import DominantSet, Monitor, SolverOptions, Status
from dominantsets.solvers.certificate import beyond_rounding
from dominantsets.solvers.result import End

Labelled = tuple[Ints, Floats | None, Any, str]  # a Partition, perhaps without probabilities and a rule
WORTH_A_WARNING = 1e-6  # relative gap of an unconverged cluster


class Labels(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Parameters):  # type: ignore[misc]
    """Clusters, the labels of all objects, and labels and payoffs of new ones."""

    end_: End | None
    selection_: Selection
    similarity_: Similarity
    scale_: Floats | None
    clusters_: list[DominantSet]

    def _set_clusters(self, clusters: list[DominantSet], cores: Ints) -> None:
        """The dominant sets themselves."""
        self.clusters_, self._cores = clusters, cores
        self.n_clusters_ = len(clusters)
        self.exemplars_ = np.array([c.exemplar for c in clusters], dtype=np.int64)
        self.shifts_ = np.array([c.shift for c in clusters])
        self.n_iter_ = sum(c.n_iter for c in clusters)
        self._memberships = memberships_of(clusters, cores)
        self._set_soft(self.similarity_)

    def _set_labels(
        self, partition: Callable[[], Partition], options: SolverOptions, monitor: Monitor, peeled: bool
    ) -> None:
        """Labels of all objects, the dominant sets that belong to them, and what new ones need."""
        similarity, cores, clusters = self.similarity_, self._cores, self.clusters_
        sentence = "the labels are those of the dominant sets: all others are -1."
        made: Labelled = (cores, None, None, sentence)
        among = np.full(len(clusters), similarity.n)
        try:
            if self.assign == "average":
                sentence = "every object is in the cluster with the highest average similarity."
                made = (assign_by_average(similarity, clusters, cores), None, None, sentence)
            elif self.assign == "refine" and clusters:
                made = self._with_objects(partition())
                among = np.full(len(self.clusters_), similarity.n)
                args = similarity, self.clusters_, made[0], options, monitor, peeled
                clusters, among = belonging(*args)
                if (among < similarity.n).any():
                    self._set_clusters(clusters, named(clusters, similarity.n))
                made = self._as_asked(made)
        except Interrupted:  # the cores are there
            monitor.hurry()
        self._keep(made, among)
        if monitor.interrupted:
            self.end_ = End.INTERRUPTED

    def _with_objects(self, found: Partition) -> Partition:
        """Labels of the clusters that have objects; where all of its objects are in others, a set is none."""
        count = len(self.clusters_)
        kept = np.flatnonzero(sizes_of(found.labels, count))
        if kept.size == count:
            return found
        names = np.full(count + 1, -1, dtype=np.int64)  # the last place is for the label -1
        names[kept] = np.arange(kept.size)
        self.selection_ = self.selection_.only(kept)
        self._set_clusters([self.clusters_[k] for k in kept], names[self._cores])
        return found._replace(labels=names[found.labels], rule=Renumbered(found.rule, names))

    def _as_asked(self, found: Partition) -> Partition:
        """Labels after what was asked about noise."""
        if self.noise == "cores":
            sentence = "every object outside the dominant sets is -1, as asked."
            inside = self._cores >= 0
            labels = np.where(inside, found.labels, -1)
            return Partition(labels, np.where(inside, found.probabilities, 0.0), found.rule, sentence)
        if self._noise_asked != self.noise:
            sentence = "no object is labelled noise: other parts of the data find another background."
            return found._replace(sentence=sentence)
        return found

    def _keep(self, made: Labelled, among: Ints) -> None:
        """What has been made, and what ``predict`` needs."""
        similarity, cores, clusters = self.similarity_, self._cores, self.clusters_
        labels, probabilities, self._rule, sentence = made
        self._outlier_scores: Any = None  # made when they are asked for
        self._levels: list[Core] = []
        self._averages: list[Any] = []
        if self.assign == "average":
            self._averages = [average_of(similarity.for_cluster(k), c) for k, c in enumerate(clusters)]
        if self._rule is None or self.noise == "cores":
            self._levels = [Core.of(similarity.for_cluster(k), c) for k, c in enumerate(clusters)]
        self.selection_ = self.selection_.labelled(clusters, among, labels, sentence)
        # as the caller's own data are kept: Dask arrays in the same chunks
        self.labels_ = as_given(similarity, labels.copy() if labels is cores else labels)
        self.core_labels_ = as_given(similarity, cores)
        self.memberships_ = as_given(similarity, self._memberships)
        probabilities = self._memberships.copy() if probabilities is None else probabilities
        self.assignment_rate_ = 1.0 - silence(labels, probabilities) / labels.size
        self.probabilities_ = as_given(similarity, probabilities)
        del self._cores, self._memberships

    def _warn(self, found: int) -> None:
        """Say what the user may not expect; ``found`` clusters there were before labels."""
        if self.end_ in (End.INTERRUPTED, End.TIME_LIMIT, End.STOPPED):
            warn(
                f"fitting ended early ({self.end_.value}): {self.n_clusters_} clusters were found, "
                "the last of which may be incomplete.",
                ConvergenceWarning,
            )
            return
        loose = [c for c in self.clusters_ if c.status is not Status.CONVERGED]
        # copies are a set at every small kappa, which makes any rounding of payoffs a large relative gap
        loose = [c for c in loose if beyond_rounding(c.gap, c.threshold, 0.0, c.shift)]
        loose = [c for c in loose if c.relative_gap > WORTH_A_WARNING]
        dissolved = [c.shift for c in loose if c.status is Status.DISSOLVED]
        if dissolved:
            degree = float(self.similarity_.degrees().mean())
            warn(
                f"the shift of {max(dissolved):.6g} is too large for this graph, whose mean degree is "
                f"{degree:.6g}: every object would gain by joining; lower it.",
                ConvergenceWarning,
            )
        elif loose:
            worst = max(c.relative_gap for c in loose)
            warn(
                f"{len(loose)} of {self.n_clusters_} clusters did not converge (largest relative gap "
                f"{worst:.1g}); raise max_iter in solver_params, or pass algorithm='pairwise' there.",
                ConvergenceWarning,
            )
        if self.n_clusters is not None and found > self.n_clusters_:
            warn(
                f"{found - self.n_clusters_} of {found} clusters are left out: all objects of their dominant "
                "sets belong to other clusters or to noise."
            )
        elif self.n_clusters_ == 0 and self.end_ is End.NOT_COHERENT:
            warn(
                "no cluster was found: no group stands out of the data, which look like noise or like one "
                "group; pass n_clusters, or a shift, to get clusters anyway."
            )
        elif self.n_clusters_ == 0:
            warn("no cluster was found: no two objects have a positive similarity.")
        if 0 < found < (self.n_clusters or 0):
            warn(
                f"{found} of {self.n_clusters} clusters were found, then nothing was left to look "
                f"for{f' ({self.end_.value})' if self.end_ not in (None, End.N_CLUSTERS) else ''}."
            )

    def summary(self) -> str:
        """Five lines: clusters, noise, similarity, what agreement to expect, and what to try next.

        ``print(model)`` prints them.

        Returns
        -------
        str
            The lines.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from dominantsets import DominantSets
        >>> X, _ = make_blobs(300, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
        >>> print(DominantSets().fit(X).summary())  # doctest: +ELLIPSIS
        3 clusters in 300 objects: 100, 100, 100.
        Noise: no object is labelled noise: ...
        Similarity: ...
        Expected agreement with the true groups: 0.9...
        Next: print(model.selection_) for the table, model.why(i) for one object.
        """
        check_is_fitted(self)
        return self.selection_.summary(len(self.labels_), self.affinity_)

    def __str__(self) -> str:
        return self.summary() if hasattr(self, "selection_") else repr(self)

    def label_margins(self) -> Any:
        """How much similarities must change before labels do: see :func:`dominantsets.label_margins`.

        With ``assign="average"`` members count alike: a label outside the dominant sets stays, as long as the
        sets do and no similarity changes by as much as its margin. Else they count by their weights, and the
        margin is negative where the rule of the labels decides otherwise than the averages. It costs one
        product with the similarity for each cluster; ``print(selection_)`` then has the least of each.

        Returns
        -------
        ndarray of shape (n,)
            Margins of the objects of ``labels_``, in the unit of the similarity. nan for noise, for objects
            of weight 0, and where a cluster has no other member. Rows that came in batches need a fit of all
            of them first: ``partial_fit()``.

        Examples
        --------
        >>> import numpy as np
        >>> from dominantsets import DominantSets
        >>> X = np.array([[0.0], [1.0], [2.0], [4.5], [10.0], [11.0], [12.0]])
        >>> model = DominantSets(2, affinity="euclidean", assign="average").fit(X)
        >>> float(model.label_margins()[3])  # mean distances 3.5 and 6.5: half of 3
        1.5
        """
        check_is_fitted(self)
        clusters, similarity = self.clusters_, self.similarity_
        copies, labels = getattr(self, "_copies", None), np.asarray(self.labels_)
        self._require_whole("label_margins", labels.size)
        repeated = labels
        if copies is not None:
            clusters, repeated = [copies.unfold_cluster(c) for c in clusters], labels[copies.objects]
        if self.assign == "average":
            clusters = [replace(c, weights=np.full(len(c), 1.0 / len(c))) for c in clusters]
        margins = label_margins(similarity, repeated, clusters)
        margins = margins if copies is None else copies.fold(margins, np.nan)
        self.selection_ = self.selection_.with_margins(margins, labels)
        return as_given(similarity, margins, self.__dict__.get("_chunks"))

    def why(self, i: int) -> Why:
        """Why an object has its label, which one is next, and how much would have to change for another.

        An object outside the dominant sets whose label comes from these or from averages has the smallest
        change of its similarities; one whose label comes from scores (round clusters), the smallest move of
        its row. Members of sets, and labels of networks, trees and ellipses, have none that can be shown.

        Parameters
        ----------
        i : int
            The number of the object.

        Returns
        -------
        Why
            To be printed.

        Examples
        --------
        >>> import numpy as np
        >>> from dominantsets import DominantSets
        >>> X = np.array([[0.0], [1.0], [2.0], [4.5], [10.0], [11.0], [12.0]])
        >>> model = DominantSets(2, affinity="euclidean", shift=-9.0, assign="average").fit(X)
        >>> print(model.why(3))  # mean distances 3.5 and 6.5: half of 3
        Object 3 has the label 0: its mean similarity to this cluster is the highest one.
        Next is the label 1.
        No change of its similarities by less than 1.5 gives it another label.
        """
        check_is_fitted(self)
        clusters, labels, copies = self.clusters_, np.asarray(self.labels_), getattr(self, "_copies", None)
        if check_int("i", i, at_least=0) >= labels.size:
            raise ValueError(f"there is no object {i}: there are {labels.size}, from 0 to {labels.size - 1}.")
        self._require_whole("why", labels.size)
        place = i
        if copies is not None:
            if not copies.counts[i]:
                why_ = "is not one of those that were fitted" if copies.placed else "has weight 0"
                raise ValueError(f"object {i} {why_}: it has the label that predict gives its row.")
            clusters, labels = [copies.unfold_cluster(c) for c in clusters], labels[copies.objects]
            place = int(copies.copies_of(np.array([i]))[0])
        said = self._stated_labels(clusters, labels)
        made = stated(self.similarity_).made if said["rule"] == "scores" else ""
        scaled = "" if self.scale_ is None else ", each column divided by its standard deviation"
        what = f"its place in the {made}" if made else f"its row{scaled}"
        return replace(why(self.similarity_, clusters, said, place, what), object=i)

    def certify(self, path: str, *, with_data: bool = False) -> list[str]:
        """Write the clusters and their labels to a file that a program without this package checks.

        The program is ``checker/dscheck.py`` (Python and NumPy) or ``checker/dscheck.c``: it reads the file
        and the data, recomputes every claim, and says which holds. See :func:`dominantsets.certify` for
        clusters without labels. With ``sample_weight`` it is about rows repeated as often as they count.

        Parameters
        ----------
        path : str
            The file, for example ``"fit.cert"``.
        with_data : bool, default=False
            Whether to write the data beside it in any case, as ``fit.cert.npy`` (a graph: ``.npz``).

        Returns
        -------
        list of str
            The files that were written. The second one has the data, where they are asked for, or where the
            clusters are those of coordinates, edges or rows that were made from yours.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from dominantsets import DominantSets
        >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
        >>> model = DominantSets(2, affinity="sqeuclidean").fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = model.certify(os.path.join(folder, "fit.cert"))
        >>> [os.path.basename(name) for name in written]
        ['fit.cert']
        """
        check_is_fitted(self)
        clusters, labels = self.clusters_, np.asarray(self.labels_)
        copies = getattr(self, "_copies", None)
        if copies is not None:
            clusters, labels = [copies.unfold_cluster(c) for c in clusters], labels[copies.objects]
        self._require_whole("certify", labels.size)
        said = self._stated_labels(clusters, labels)
        made = "the data as they were clustered" if with_data else ""
        made = made if self.scale_ is None else "rows, each column divided by its standard deviation"
        if copies is not None:
            made = "the rows that were fitted" if copies.placed else "each object as often as it counts"
        return write_certificate(self.similarity_, clusters, said, path, made)

    def _require_whole(self, name: str, count: int) -> None:
        """Refuse where labels are those of a batch."""
        stream = getattr(self, "_stream", None)
        if stream is not None and not (stream.is_fitted and stream.n == count):
            raise ValueError(
                f"{name} needs a fit of all {stream.n} rows of the stream: call partial_fit() first."
            )

    def _stated_labels(self, clusters: list[DominantSet], labels: Ints) -> dict[str, Any]:
        """Labels, their rule in words or numbers, and whether all members have the label of their set."""
        scores = stated_scores(self._rule, self.similarity_)
        rule = "other" if scores is None else "scores"
        if self._rule is None:
            rule = "average" if self.assign == "average" else "members"
        return {
            "rule": rule,
            "assign": self.assign,
            "noise": self.selection_.noise,
            "belong": all(bool((labels[c.members] == k).all()) for k, c in enumerate(clusters)),
            "labels": labels.tolist(),
            "scores": None if scores is None else scores | {"only_members": self.noise == "cores"},
        }

    @property
    def outlier_scores_(self) -> Any:
        """The isolation of each object; see the attributes of the class. Computed when it is first read."""
        check_is_fitted(self)
        self._require_whole("outlier_scores_", len(self.labels_))
        if self._outlier_scores is None:
            isolation, copies = any_isolation_of(self.similarity_), getattr(self, "_copies", None)
            if isolation is None:
                scores = 1.0 - np.asarray(self.probabilities_)
            else:
                scores = isolation.of_objects()
                scores = scores if copies is None else copies.fold(scores, np.nan)
            self._outlier_scores = as_given(self.similarity_, scores, self.__dict__.get("_chunks"))
        return self._outlier_scores

    @property
    def holds_rows_(self) -> bool:
        """Whether a saved model (a pickle) holds the rows or similarities of ``fit``, or of a stream."""
        check_is_fitted(self)
        return holds_rows(self.similarity_) or hasattr(self, "_stream")

    @property
    def soft_labels_(self) -> Floats:
        """How likely each object of ``fit`` is in each cluster, and in none; see ``predict_soft_labels``."""
        check_is_fitted(self)
        labels, copies = np.asarray(self.labels_), getattr(self, "_copies", None)
        self._require_whole("soft_labels_", labels.size)
        if copies is None:
            return self._soft(labels, labels, None)
        known = labels[copies.objects]
        out = alone(labels, self.n_clusters_)
        out[copies.present] = self._soft(known, known, None)[copies.firsts]
        return out

    def predict_soft_labels(self, X: Any) -> Floats:
        """How likely new objects are in each cluster, and in none.

        Round groups and ellipses have the posteriors of the mixture that gives labels. Groups of any shape
        have votes: a half for the object's label, a tenth for that of each of its five nearest neighbors; on
        a network the other half is shared as its edges are. With ``affinity="auto"`` all numbers are drawn to
        the sizes of the clusters as far as subsamples find others. With ``assign=None`` or "average" a label
        has 1.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_new, n_features)
            As for ``predict``.

        Returns
        -------
        ndarray of shape (n_new, K + 1)
            Rows add up to 1; the last column is noise. It has at least a half of what is labelled noise, and
            at most a half of all others.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_blobs
        >>> from dominantsets import DominantSets
        >>> X, _ = make_blobs(300, centers=[(0, 0), (6, 0)], random_state=0)
        >>> model = DominantSets(2, affinity="sqeuclidean").fit(X)
        >>> model.predict_soft_labels([[3.0, 0.0], [6.0, 0.0], [90.0, 0.0]]).max(axis=1) > [0.4, 0.99, 0.99]
        array([ True,  True,  True])
        """
        check_is_fitted(self)
        copies, labels = getattr(self, "_copies", None), self.predict(X)
        known = np.asarray(self.labels_)
        known = known if copies is None else known[copies.objects]
        return self._soft(known, labels, arrivals_of(self.similarity_).arriving(new_objects(self, X)))

    def _soft(self, known: Ints, labels: Ints, new: Any) -> Floats:
        """Soft labels of objects with these labels; those of all objects of the fit are ``known``."""
        if self._rule is None or not self.n_clusters_:
            return alone(labels, self.n_clusters_)
        found = self._rule.soft(self.similarity_, known, self.n_clusters_, labels, new)
        if self.choice_ is not None and self.choice_.expected_agreement is not None:
            found = as_stable(found, known, self.choice_.taken.reproduced)
        return as_labelled(found, labels)

    def score_samples(self, X: Any) -> Floats:
        """How typical new objects are of the data: minus their isolation, see ``outlier_scores_``.

        Objects of ``fit`` have minus their outlier scores, because a copy of an object is no other one. A
        model that was saved without its rows (see ``holds_rows_``) has none to compare with.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_new, n_features)
            As for ``predict``.

        Returns
        -------
        ndarray of shape (n_new,)
            The lower, the more of an outlier.

        Examples
        --------
        >>> import numpy as np
        >>> from dominantsets import DominantSets
        >>> X = np.arange(40.0)[:, None]
        >>> model = DominantSets(1, affinity="sqeuclidean").fit(X)
        >>> model.score_samples([[20.5], [49.0]])  # the 5th nearest are 18 and 23, and 35
        array([ -2.5, -14. ])
        """
        check_is_fitted(self)
        isolation = any_isolation_of(self.similarity_)
        if isolation is None:
            raise ValueError(
                "score_samples needs features or a matrix, and this model was fitted to a graph: use predict."
            )
        return -isolation.of_new(arrivals_of(self.similarity_).arriving(new_objects(self, X)))

    def predict(self, X: Any, *, far: float = FAR) -> Ints:
        r"""The clusters of new objects.

        The rule is the one that made ``labels_``, so that objects of ``fit`` get their labels again. With
        ``assign="refine"`` an object belongs to the cluster whose cloud it lies in, or to the background
        (-1); on a network to the group that its edges tie it to (:mod:`dominantsets.labels.edges`); under
        "path" where the object nearest to it belongs. With ``assign=None`` it joins the first cluster found
        for which :math:`\sum_i x_i a_{ij} > x^T A x - \alpha |x|^2` (it would gain by joining), else -1;
        with "average" that cluster too, else the one with the highest average similarity.

        What is far from all clusters is -1. With a share of noise (``noise=0.1``) new objects that are less
        typical than those which were left out are -1, too.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_new, n_features)
            Rows of features; for ``affinity="precomputed"`` the similarities of the new objects to
            the n objects of ``fit`` (a row of that matrix is its object; its diagonal is ignored).
        far : float, default=2.0
            An object is -1 if it is more than ``far`` times as far from its cluster as the farthest of its
            objects (``far_limits_`` has these distances for the default); ``numpy.inf`` for no limit. With
            ``noise=None``, ``assign=None`` or "average", and on a network, there is none.

        Returns
        -------
        ndarray of shape (n_new,)
            Labels.
        """
        check_is_fitted(self)
        if not check_real("far", far) > 0.0:
            raise ValueError(f"far must be above 0, got {far!r}: it is a factor of a distance.")
        if self.__dict__.get("_came_here") and is_elsewhere(shared(X)):
            return place_rows(self, shared(X), far)
        similarity, empty = self.similarity_, without_direction(X, self.affinity_, self.affinity_params_)
        X = arrivals_of(similarity).arriving(new_objects(self, X))
        with searched_once():
            labels = Placing.of(self, far=far, typical=False).labels(X)
        return labels if empty is None else np.where(empty, -1, labels)

    @property
    def far_limits_(self) -> Floats | None:
        """The distance from each cluster beyond which new objects are -1; see the attributes of the class."""
        check_is_fitted(self)
        return None if self._rule is None else self._rule.limits

    def _set_soft(self, similarity: Similarity) -> None:
        """Keep of each cluster what payoffs need, without the rows: a saved model has none."""
        self._summaries = arrivals_of(similarity).summarise_each(
            [(cluster.members, cluster.weights) for cluster in self.clusters_]
        )

    @property
    def _n_objects(self) -> int:
        """Objects of which ``clusters_`` speak: those with weights are fitted as copies."""
        return self._copies.counts.size if hasattr(self, "_copies") else self.similarity_.n

    @property
    def _n_features_out(self) -> int:
        return len(self.clusters_)

    def transform(self, X: Any) -> Floats:
        r"""The payoff of each object against each cluster.

        :math:`p_{jk} = \sum_i x^{(k)}_i a^{(k)}_{ij}`, the average similarity of object j to the members of
        cluster k by their weights, in the similarity of which k is a dominant set. Who is not in the cluster
        would gain by joining it where this exceeds ``clusters_[k].threshold``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_new, n_features)
            As for ``predict``. Rows that were fitted are objects like any others: features do not say that
            a row and a member are one object, so that its similarity to its own copy counts
            (:math:`\kappa x_i` above the threshold for a member i, with :math:`\kappa` that similarity plus
            the shift).

        Returns
        -------
        ndarray of shape (n_new, n_clusters\_)
            Payoffs; -inf where no path leads to the cluster.

        Examples
        --------
        >>> import numpy as np
        >>> from dominantsets import DominantSets
        >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
        >>> model = DominantSets(2, affinity="sqeuclidean").fit(X)
        >>> model.transform([[0.5], [11.5]]).argmax(axis=1) == model.predict([[0.5], [11.5]])
        array([ True,  True])
        """
        check_is_fitted(self)
        return self._payoffs(new_objects(self, X))

    def _payoffs(self, X: Any) -> Floats:
        """Those of rows that are checked."""
        out = np.empty((X.shape[0], len(self._summaries)))
        for k, summary in enumerate(self._summaries):
            out[:, k] = arrivals_of(self.similarity_.for_cluster(k)).payoff_of(X, summary)
        return out

    @property
    def membership_matrix_(self) -> sp.csr_array:
        """The weights of every dominant set, each 1 for its exemplar; see the attributes of the class."""
        check_is_fitted(self)
        shape = self._n_objects, len(self.clusters_)
        if not self.clusters_:
            return sp.csr_array(shape)
        members = np.concatenate([cluster.members for cluster in self.clusters_])
        weights = np.concatenate([cluster.weights / cluster.weights.max() for cluster in self.clusters_])
        columns = np.repeat(np.arange(shape[1]), [len(cluster) for cluster in self.clusters_])
        return sp.csr_array((weights, (members, columns)), shape=shape)
