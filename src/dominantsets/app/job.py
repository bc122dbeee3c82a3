"""The work of ``dominantsets cluster``: from a table to clusters, and what is said about them."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score, v_measure_score

from dominantsets._checks import memory_available, require_memory
from dominantsets.app.files import FileError, Table
from dominantsets.compiled.threads import N_THREADS
from dominantsets.estimator import DominantSets
from dominantsets.similarity import AFFINITIES, as_similarity
from dominantsets.similarity.factory import PRECOMPUTED
from dominantsets.solvers import DominantSet, solve
from dominantsets.solvers.result import End

SHIFTS = ("auto", "guaranteed", "sufficient")
AFFINITIES_FOR_FEATURES = ("auto", *(name for name in AFFINITIES if name not in PRECOMPUTED))
CONVERSIONS = ("auto", "max", "gaussian", "path")
_EARLY = (End.INTERRUPTED, End.TIME_LIMIT, End.STOPPED)
_EXTRAS = {
    "cli": ("typer", "rich"),
    "plot": ("matplotlib", "skimage"),
    "io": ("pandas", "pyarrow", "networkx"),
    "dask": ("dask", "distributed"),
    "gpu": ("torch",),
}


@dataclass(frozen=True)
class Job:
    """What to do with a table."""

    n_clusters: int | None = None
    affinity: str = "auto"
    matrix: str | None = None  # "similarity", "distance", or None for features
    convert: str = "auto"
    shift: str = "auto"
    assign: str | None = "refine"
    noise: str | float | None = "auto"
    algorithm: str = "auto"
    tol: float = 1e-10
    max_time: float | None = None
    min_cluster_size: int = 1

    def run(self, table: Table, bar: bool = False) -> Result:
        """Cluster; Ctrl-C gives what has been found."""
        X, affinity, params = self._prepared(table)
        model = DominantSets(
            self.n_clusters,
            affinity=affinity,
            affinity_params=params,
            shift=shift_of(self.shift, SHIFTS),
            algorithm=self.algorithm,
            solver_params={"tol": self.tol},
            max_time=self.max_time,
            min_cluster_size=self.min_cluster_size,
            assign=self.assign,
            noise=self.noise,
            verbose=int(bar),
        )
        model.fit(X)
        features = X if affinity not in PRECOMPUTED and not params else None
        return Result(model, table, features)

    def around(self, table: Table, names: list[str]) -> tuple[DominantSet, Any, Any]:
        """The dominant set around objects of a table, by name or number; labels, and weights up to 1."""
        X, affinity, params = self._prepared(table)
        numbers = {name: i for i, name in enumerate(table.ids)} if table.ids is not None else {}
        seeds = [numbers[name] if name in numbers else _number(name, table) for name in names]
        shift = shift_of(self.shift)
        affinity = "sqeuclidean" if affinity == "auto" else affinity  # which compares whole clusterings
        similarity = as_similarity(X, affinity, **(params or {}))
        found = solve(
            similarity,
            seeds=seeds,
            shift=0.0 if isinstance(shift, str) else shift,
            algorithm=self.algorithm,
            tol=self.tol,
            max_time=self.max_time,
        )
        labels, typical = np.full(similarity.n, -1), np.zeros(similarity.n)
        labels[found.members], typical[found.members] = 0, found.weights / found.weights.max()
        return found, labels, typical

    def _prepared(self, table: Table) -> tuple[Any, str, dict[str, Any] | None]:
        """The data, its affinity, and the affinity's parameters."""
        data, matrix = table.data, self.matrix
        if matrix is None and table.graph:
            matrix = "similarity"
        if matrix is None:
            return data, self.affinity, None
        if data.shape[0] != data.shape[1]:
            raise FileError(f"a {matrix} needs as many columns as rows, and the file has {data.shape}.")
        if matrix == "similarity":
            return data, "precomputed", None
        if self.convert == "auto":
            return data, "precomputed_distance", None
        if self.convert == "path":
            return data, "path", {"metric": "precomputed"}
        return distance_to_similarity(data, self.convert), "precomputed", None


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
    features: Any  # None where only pairs are known

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
            if "ari_assigned" in scores:
                line += f" ({scores['ari_assigned']:.3f} of the assigned)"
        return f"partial ({model.end_.value}): {line}" if self.partial and model.end_ else line

    def json(self) -> str:
        """The certificates of all clusters."""
        model = self.model
        ids = self.table.ids

        def finite(value: float) -> float | None:
            return float(value) if np.isfinite(value) else None

        clusters = [
            {
                "size": len(c),
                "exemplar": c.exemplar if ids is None else ids[c.exemplar],
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
            cluster |= {"labelled": row.labelled, "elsewhere": row.elsewhere, "shift": row.shift}
        content = {
            "dominantsets": version("dominantsets"),
            "objects": int(model.labels_.size),
            "clusters_found": model.n_clusters_,
            "share_assigned": model.assignment_rate_,
            "affinity": model.affinity_,
            "affinity_params": model.affinity_params_,
            "choice": None if model.choice_ is None else model.choice_.reason,
            "shift": model.shift_ if model.clusters_ else None,
            "noise": model.selection_.noise,
            "reason": model.selection_.reason,
            "ended": model.end_.value if model.end_ else None,
            "partial": self.partial,
            "scores": self.scores(),
            "clusters": clusters,
        }
        return json.dumps(content, indent=1, allow_nan=False) + "\n"

    def picture(self) -> Any:
        """The clusters in the plane, or the similarity matrix where only pairs are known."""
        from dominantsets.plotting import ClusterDisplay, SimilarityDisplay, plt

        plt.switch_backend("Agg")
        if self.features is None or sp.issparse(self.features):
            return SimilarityDisplay.from_estimator(self.model).figure_
        return ClusterDisplay.from_estimator(self.model, self.features).figure_

    def draw(self, path: Any) -> None:
        """Write the picture to a file."""
        from dominantsets.plotting import plt

        figure = self.picture()
        figure.savefig(path, dpi=130)
        plt.close(figure)

    def page(self, name: str) -> str:
        """The HTML report of the result."""
        from dominantsets.app.report import Report
        from dominantsets.plotting import MembershipDisplay, SimilarityDisplay, plt

        model = self.model
        page = Report(f"Dominant sets of {name}").text(f"{self.line()}.")
        if self.partial:
            page.text("The run was stopped early: what follows is what had been found.", "warning")
        chosen = model.selection_
        for sentence in (
            chosen.reason,
            chosen.runner_up,
            chosen.noise and f"Noise: {chosen.noise}",
            chosen.advice,
        ):
            if sentence:
                page.text(sentence, "note")
        if model.choice_ is not None and model.choice_.n_objects:
            page.section("How the objects are alike")
            page.table(
                ["affinity", "clusters", "separation", "stability", "explains", "noise"],
                [
                    [
                        c.title, c.n_clusters, f"{c.separation:.2f}", f"{c.stability:.2f}",
                        f"{c.explains:+.2f}" if np.isfinite(c.explains) else "", f"{c.noise:.0%}",
                    ]
                    for c in model.choice_.candidates
                ],
            )  # fmt: skip
            page.text(model.choice_.reason, "note")
        if self.scores():
            page.section("Agreement with the classes")
            page.table(["score", "value"], [[k, f"{v:.3f}"] for k, v in self.scores().items()])
        if model.clusters_:
            page.section("Clusters and their certificates")
            head = [
                "cluster",
                "labelled",
                "members",
                "shift",
                "strength",
                "by chance",
                "exemplar",
                "value",
                "gap",
                "margin",
                "strict",
                "status",
            ]
            rows = [
                [
                    k, row.labelled, len(c), f"{row.shift:.5g}", f"{row.persistence:.2f}",
                    f"{row.chance:.1e}",
                    c.exemplar if self.table.ids is None else self.table.ids[c.exemplar],
                    f"{c.value:.6g}", f"{c.gap:.1e}", f"{c.margin:.3g}", c.strict, c.status.value,
                ]
                for k, (c, row) in enumerate(zip(model.clusters_, chosen.rows, strict=True))
            ]  # fmt: skip
            page.table(head, rows)
            page.text(
                "gap: 0 at a stationary point. margin: how far the best outsider stays below what it takes "
                "to join. strict: whether second-order conditions prove a strict local maximum.",
                "note",
            )
            page.section("Pictures")
            pictures = [(self.picture(), "The clusters.")]
            if self.features is not None:
                matrix = SimilarityDisplay.from_estimator(model).figure_
                pictures.append((matrix, "Similarities in the order of the clusters, noise last."))
            profile = MembershipDisplay.from_estimator(model).figure_
            pictures.append((profile, "Weights of the members of each cluster, sorted."))
            for figure, caption in pictures:
                page.figure(figure, caption)
                plt.close(figure)
        return page.html()


def environment() -> list[tuple[str, Any]]:
    """Versions, threads, memory and extras."""
    free = memory_available()
    rows: list[tuple[str, Any]] = [
        ("dominantsets", version("dominantsets")),
        ("python", f"{platform.python_version()} ({platform.machine()}, {platform.system()})"),
    ]
    rows += [(name, version(name)) for name in ("numpy", "scipy", "scikit-learn", "numba", "joblib")]
    rows += [
        ("cores", os.cpu_count()),
        ("threads", N_THREADS),
        ("memory free", "unknown" if free is None else f"{free / 2**30:.1f} GiB"),
        ("NUMBA_CACHE_DIR", os.environ.get("NUMBA_CACHE_DIR", "not set")),
    ]
    for extra, modules in _EXTRAS.items():
        missing = [name for name in modules if find_spec(name) is None]
        found = [f"{name} {_version_of(name)}".strip() for name in modules if name not in missing]
        absent = f'missing {", ".join(missing)}: pip install "dominantsets[{extra}]"' if missing else ""
        rows.append((f"extra {extra}", "; ".join([*found, absent] if absent else found)))
    return rows


def _version_of(module: str) -> str:
    package = {"skimage": "scikit-image"}.get(module, module)
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
