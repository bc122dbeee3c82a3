"""What an estimator says of new objects: clusters, soft labels, scores and payoffs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dominantsets._checks import check_real
from dominantsets._explained import Explained
from dominantsets._input import new_objects
from dominantsets._typing import Floats, Ints
from dominantsets.fitting.copies import without_direction
from dominantsets.fitting.placing import Placing, place_rows
from dominantsets.labels.noise import FAR
from dominantsets.labels.soft import alone, as_labelled, as_stable
from dominantsets.rows.foreign import shared
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.similarity.data import is_elsewhere
from dominantsets.similarity.isolation import any_isolation_of, holds_rows
from dominantsets.similarity.search import searched_once
from dominantsets.similarity.source import as_given


class NewObjects(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Explained):  # type: ignore[misc]
    """Labels of new objects, by the rule that labelled those of the fit."""

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
