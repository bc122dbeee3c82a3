"""Soft answers: how much objects have in common with each cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dominantsets._input import new_objects
from dominantsets._typing import Floats
from dominantsets.similarity import Similarity
from dominantsets.similarity.arrivals import arrivals_of
from dominantsets.solvers import DominantSet


class SoftAnswers(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """What an estimator with clusters says beside labels: payoffs of any objects, weights of its own."""

    similarity_: Similarity
    clusters_: list[DominantSet]

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
