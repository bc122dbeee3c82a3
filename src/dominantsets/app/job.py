"""The work of ``dominantsets cluster``: from a table to clusters, and what is said about them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score, v_measure_score
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from dominantsets._checks import require_memory
from dominantsets.app.audited import Audited, clusters_of
from dominantsets.app.files import FileError, Table
from dominantsets.app.tree import Grown
from dominantsets.auditing import audit
from dominantsets.estimator import DominantSets
from dominantsets.fitting.copies import counts_of
from dominantsets.hierarchy import DominantSetHierarchy
from dominantsets.similarity import AFFINITIES, as_similarity
from dominantsets.similarity.factory import PRECOMPUTED
from dominantsets.solvers import DominantSet, solve
from dominantsets.solvers.result import End

TOL = 1e-10  # the estimator's own
SHIFTS = ("auto", "guaranteed", "sufficient")
AFFINITIES_FOR_FEATURES = ("auto", *(name for name in AFFINITIES if name not in PRECOMPUTED))
CONVERSIONS = ("auto", "max", "gaussian", "path")
_EARLY = (End.INTERRUPTED, End.TIME_LIMIT, End.STOPPED)
SCALES: dict[str, Any] = {
    "none": None,
    "standard": StandardScaler,
    "robust": RobustScaler,
    "range": MinMaxScaler,
}


@dataclass(frozen=True)
class Job:
    """What to do with a table."""

    n_clusters: int | None = None
    affinity: str = "auto"
    affinity_params: dict[str, Any] = field(default_factory=dict)
    scale: str = "none"
    matrix: str | None = None  # "similarity", "distance", or None for features
    convert: str = "auto"
    shift: str = "auto"
    assign: str | None = "refine"
    noise: str | float | None = "auto"
    algorithm: str = "auto"
    tol: float = TOL
    max_time: float | None = None
    min_cluster_size: int = 1
    random_state: int = 0

    def run(self, table: Table, bar: bool = False) -> Result:
        """Cluster; Ctrl-C gives what has been found."""
        X, affinity, params = self._prepared(table)
        scaler = self._scaler(X, affinity)
        X = X if scaler is None else _fitted(scaler, X, table.weights).transform(X)
        model = DominantSets(
            self.n_clusters,
            affinity=affinity,
            affinity_params=params or None,
            shift=shift_of(self.shift, SHIFTS),
            solver_params=self._solver_params(),
            max_time=self.max_time,
            min_cluster_size=self.min_cluster_size,
            assign=self.assign,
            noise=self.noise,
            random_state=self.random_state,
            verbose=int(bar),
        )
        model.fit(X, sample_weight=table.weights)
        pairs = affinity in PRECOMPUTED or self.matrix is not None
        return Result(model, table, None if pairs else X, scaler)

    def _solver_params(self) -> dict[str, Any] | None:
        """What was asked of the solver, where it was asked; None for nothing."""
        given = {"algorithm": (self.algorithm, "auto"), "tol": (self.tol, TOL)}
        return {name: value for name, (value, usual) in given.items() if value != usual} or None

    def grow(self, table: Table) -> Grown:
        """The tree of groups of a table."""
        X, affinity, params = self._prepared(table)
        scaler = self._scaler(X, affinity)
        model = DominantSetHierarchy(
            affinity=affinity,
            affinity_params=params or None,
            min_cluster_size=self.min_cluster_size,
            max_time=self.max_time,
        )
        X = X if scaler is None else _fitted(scaler, X, table.weights).transform(X)
        return Grown(model.fit(X, sample_weight=table.weights), table)

    def audit(self, table: Table, draws: int) -> Audited:
        """Judge the clusters of the column of classes."""
        X, affinity, params = self._prepared(table)
        given = clusters_of(table, X.shape[0])
        scaler = self._scaler(X, affinity)
        X = X if scaler is None else _fitted(scaler, X, None).transform(X)
        result = audit(X, given, affinity=affinity, affinity_params=params or None, n_draws=draws)
        return Audited(result, table, given)

    def _scaler(self, X: Any, affinity: str) -> Any:
        """What brings columns of different units to one scale."""
        if SCALES[self.scale] is None:
            return None
        if sp.issparse(X) or affinity in PRECOMPUTED:
            raise FileError("--scale is for tables of features, not for sparse ones and matrices of pairs.")
        return SCALES[self.scale]()

    def around(self, table: Table, names: list[str]) -> tuple[DominantSet, Any, Any]:
        """The dominant set around objects of a table, by name or number; labels, and weights up to 1."""
        X, affinity, params = self._prepared(table)
        numbers = {name: i for i, name in enumerate(table.ids)} if table.ids is not None else {}
        seeds = [numbers[name] if name in numbers else _number(name, table) for name in names]
        shift = shift_of(self.shift)
        scaler = self._scaler(X, affinity)
        X = X if scaler is None else _fitted(scaler, X, table.weights).transform(X)
        affinity = "sqeuclidean" if affinity == "auto" else affinity  # which compares whole clusterings
        similarity = as_similarity(X, affinity, **params)
        found = solve(
            similarity,
            seeds=seeds,
            shift=0.0 if isinstance(shift, str) else shift,
            algorithm=self.algorithm,
            tol=self.tol,
            max_time=self.max_time,
            sample_weight=table.weights,
        )
        labels, typical = np.full(similarity.n, -1), np.zeros(similarity.n)
        labels[found.members], typical[found.members] = 0, found.weights / found.weights.max()
        return found, labels, typical

    def _prepared(self, table: Table) -> tuple[Any, str, dict[str, Any]]:
        """The data, its affinity, and the affinity's parameters."""
        data, matrix = table.data, self.matrix
        if matrix is None and table.graph:
            matrix = "similarity"
        if matrix is None:
            return data, self.affinity, dict(self.affinity_params)
        if self.affinity != "auto":
            held = "graph" if table.graph else matrix
            raise FileError(f"--affinity {self.affinity} is for features, and the file holds a {held}.")
        if data.shape[0] != data.shape[1]:
            raise FileError(f"a {matrix} needs as many columns as rows, and the file has {data.shape}.")
        given = dict(self.affinity_params)
        if matrix == "similarity":
            return data, "precomputed", given
        if self.convert == "auto":
            return data, "precomputed_distance", given
        if self.convert == "path":
            return data, "path", {"metric": "precomputed"} | given
        return distance_to_similarity(data, self.convert), "precomputed", given


def _fitted(scaler: Any, X: Any, weights: Any) -> Any:
    """A scaler of the rows, each as often as it counts."""
    return scaler.fit(X if weights is None else np.repeat(X, counts_of(weights), axis=0))


def _number(name: str, table: Table) -> int:
    """The number of an object that has no name."""
    if table.ids is None and name.isdecimal() and int(name) < table.data.shape[0]:
        return int(name)
    raise FileError(f"--seed {name} is no object of the file, which has {table.data.shape[0]:,} of them.")


def shift_of(text: str, words: tuple[str, ...] = ("auto",)) -> float | str:
    """A number, or one of the given words."""
    if text in words:
        return text
    try:
        return float(text)
    except ValueError:
        raise FileError(f"--shift {text} is neither a number nor {' or '.join(words)}.") from None


def distance_to_similarity(D: Any, how: str) -> Any:
    """max(D) - D, or exp(-D² / median²), off the diagonal; of a graph, on its edges.

    On a graph "max" takes 1.001 max(D) - D, so that its longest edges stay edges.
    """
    values = D.data if sp.issparse(D) else np.asarray(D)
    if not np.isfinite(values).all() or (values < 0).any():
        raise FileError("distances must be finite and not negative.")
    if sp.issparse(D):
        out = D.astype(np.float64)
        largest = float(out.data.max(initial=0.0))
        middle = float(np.median(out.data)) if out.nnz else 1.0
        lengths = out.data
        out.data = 1.001 * largest - lengths if how == "max" else np.exp(-((lengths / (middle or 1.0)) ** 2))
        return out
    require_memory(8 * D.shape[0] ** 2, "a similarity beside the matrix of distances", "use --convert path")
    largest = float(values.max(initial=0.0))
    if how == "max":
        out = largest - values.astype(np.float64)
    else:
        apart = values[np.triu_indices(len(values), 1)]
        middle = float(np.median(apart)) if apart.size else 1.0
        out = np.exp(-((values / (middle or 1.0)) ** 2))
    np.fill_diagonal(out, 0.0)
    return out


@dataclass(frozen=True, eq=False)
class Result:
    """A fitted model beside the table it came from."""

    model: DominantSets
    table: Table
    features: Any  # as they were clustered; None where only pairs are known
    scaler: Any = None

    @property
    def is_sparse(self) -> bool:
        return bool(sp.issparse(self.features))

    @property
    def why_it_ended(self) -> str:
        """Why no more clusters were looked for, in words."""
        end = self.model.end_
        if end is None or (end is End.N_CLUSTERS and self.model.n_clusters is None):
            return "all significant groups were found"
        return end.words

    def name_of(self, i: int) -> Any:
        """What an object is called."""
        return i if self.table.ids is None else self.table.ids[i]

    def predict(self, others: Table) -> Any:
        """The labels of other objects with the same features."""
        X = others.data if self.scaler is None else self.scaler.transform(others.data)
        return self.model.predict(X)

    @property
    def interrupted(self) -> bool:
        return self.model.end_ is End.INTERRUPTED

    @property
    def partial(self) -> bool:
        return self.model.end_ in _EARLY

    def scores(self) -> dict[str, float]:
        """Agreement with the column of classes, over all objects and over the assigned ones."""
        classes, labels = self.table.classes, self.model.labels_
        if classes is None:
            return {}
        inside = labels >= 0
        scores = {"ari": adjusted_rand_score(classes, labels), "v_measure": v_measure_score(classes, labels)}
        if inside.any():
            scores["ari_assigned"] = adjusted_rand_score(classes[inside], labels[inside])
            scores["v_measure_assigned"] = v_measure_score(classes[inside], labels[inside])
        return {name: round(float(score), 6) for name, score in scores.items()}

    def line(self) -> str:
        """What came out, in one line."""
        model = self.model
        noun = "cluster" if model.n_clusters_ == 1 else "clusters"
        line = f"{model.n_clusters_} {noun}, {model.assignment_rate_:.0%} of {model.labels_.size:,} objects"
        if model.choice_ is not None:
            line += f", by {model.choice_.taken.title}"
        if model.clusters_:
            line += f", largest relative gap {max(c.relative_gap for c in model.clusters_):.0e}"
        scores = self.scores()
        if scores:
            line += f", ARI {scores['ari']:.3f}"
            if scores.get("ari_assigned", scores["ari"]) != scores["ari"]:
                line += f" ({scores['ari_assigned']:.3f} of the assigned)"
        return f"partial ({self.why_it_ended}): {line}" if self.partial else line

    def json(self) -> str:
        """The certificates of all clusters."""
        model = self.model

        def finite(value: float) -> float | None:
            return float(value) if np.isfinite(value) else None

        clusters = [
            {
                "size": len(c),
                "exemplar": self.name_of(c.exemplar),
                "value": c.value,
                "gap": c.gap,
                "relative_gap": finite(c.relative_gap),
                "margin": finite(c.margin),
                "strict": c.strict,
                "status": c.status.value,
                "iterations": c.n_iter,
                "algorithm": c.algorithm,
                "center": None if c.center is None else c.center.tolist(),
                "radius": c.radius,
            }
            for c in model.clusters_
        ]
        for cluster, row in zip(clusters, model.selection_.rows, strict=True):
            cluster |= {"labelled": row.labelled, "among": row.among, "shift": row.shift}
        content = {
            "dominantsets": version("dominantsets"),
            "objects": int(model.labels_.size),
            "clusters_found": model.n_clusters_,
            "share_assigned": model.assignment_rate_,
            "affinity": model.affinity_,
            "affinity_params": model.affinity_params_,
            "choice": None if model.choice_ is None else model.choice_.reason,
            "noise": model.selection_.noise,
            "reason": model.selection_.reason,
            "ended": model.end_.value if model.end_ else None,
            "partial": self.partial,
            "scores": self.scores(),
            "clusters": clusters,
        }
        return json.dumps(content, indent=1, allow_nan=False) + "\n"

    def certify(self, path: Any) -> list[str]:
        """Write the certificate and the data as they were clustered: the two files of a checker."""
        try:
            return self.model.certify(str(path), with_data=True)
        except OSError as error:
            raise FileError(f"{path}: cannot be written ({error.strerror or error}).") from error

    def picture(self) -> Any:
        """The clusters in the plane, or the similarity matrix where only pairs are known."""
        from dominantsets.plotting import ClusterDisplay, SimilarityDisplay, plt

        plt.switch_backend("Agg")
        if self.features is None or self.is_sparse:
            return SimilarityDisplay.from_estimator(self.model).figure_
        return ClusterDisplay.from_estimator(self.model, self.features, names=self.table.names).figure_

    def draw(self, path: Any) -> None:
        """Write the picture to a file."""
        from dominantsets.plotting import plt

        figure = self.picture()
        figure.savefig(path, dpi=130)
        plt.close(figure)
