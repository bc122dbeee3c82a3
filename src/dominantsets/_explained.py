"""Why an estimator has these clusters and labels: a summary, margins, reasons, and a file to check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dominantsets._checks import check_int
from dominantsets._labels import Labels
from dominantsets._typing import Ints
from dominantsets.clusters.proof_file import write_certificate
from dominantsets.labels.margins import label_margins
from dominantsets.labels.stated import stated_scores
from dominantsets.labels.why import Why, why
from dominantsets.similarity.source import as_given
from dominantsets.similarity.stated import stated
from dominantsets.solvers import DominantSet


class Explained(Labels):
    """Labels, and what is said of them."""

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
        return self.selection_.summary(np.asarray(self.labels_), self.affinity_)

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
