"""The family: all methods that find dominant sets, and the paper's rivals, on one page."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets.clusters.peeling import peel
from dominantsets.estimator import DominantSets
from dominantsets.labels.average import assign_by_average
from dominantsets.similarity import as_similarity
from dominantsets.similarity.dense import Dense
from dominantsets.similarity.graph import Graph
from dominantsets.solvers import ALGORITHMS, DominantSet, End, Step, solve
from dominantsets.solvers.asymmetric import solve_asymmetric
from dominantsets.solvers.options import MULTIPLY
from dominantsets.studies.destabilise import destabilise
from dominantsets.studies.experiments import family_data, family_hypergraphs
from dominantsets.studies.experiments._common import Row, Study, StudyError, scores
from dominantsets.studies.experiments.family_page import tell
from dominantsets.studies.experiments.rivals import RIVALS

DUAL, ENUMERATION = "dual", "destabilise"
FIXED = "path-following"  # begins with equal weights, and nowhere else
SOLVERS = tuple(name for name in ALGORITHMS if name not in ("auto", "exact"))
MODES = "DominantSets, assign=mode"
# our own ways from a similarity to labels, beside the paper's peeling
OURS: dict[str, dict[str, Any]] = {
    "DominantSets": {},
    "DominantSets, equalize": {"affinity_params": {"equalize": True}},
    "DominantSets, assign=correlation": {"assign": "correlation"},
    MODES: {"assign": "mode"},
}
TOL = 1e-10
LIMIT, QUICK_LIMIT = 10.0, 0.25  # seconds for one set
ALL_LIMIT, QUICK_ALL_LIMIT = 30.0, 2.0  # and for all sets of a data set
STEPS, QUICK_STEPS = 4_000, 300  # of replicator dynamics for each set that is peeled
STARTS = 10  # for cliques
CURVE = "f against time"
CURVE_DATA, QUICK_CURVE_DATA = "newsgroups 1", "synthetic 0.4"
READ = {  # columns of the matrix that a step of the compiled loop reads
    Step.TOWARD: 1, Step.RETREAT: 1, Step.JUMP: 1, Step.EXCHANGE: 2, Step.SWAP: 2,
}  # fmt: skip


def cells(quick: bool, literal: bool) -> list[Row]:
    made: list[Row] = []
    for data in family_data.names(quick):
        kind = data.split()[0]
        methods = [*SOLVERS, *([*OURS, *RIVALS] if kind in family_data.CLASSED else [ENUMERATION])]
        if kind in family_data.ONE_WAY:
            methods = [*DIRECTED, DUAL]
        if quick and kind == "Collins":
            methods.remove(MODES)  # a climb from each of 1,622 objects
        if kind not in family_data.OF_FEATURES:
            methods.remove(DUAL)
        made += [{"data": data, "method": method, "quick": int(quick)} for method in methods]
    made += [
        {"data": name, "method": method, "quick": int(quick)}
        for name in family_hypergraphs.names(quick)
        for method in family_hypergraphs.METHODS
    ]
    return made + [{"data": CURVE, "method": method, "quick": int(quick)} for method in SOLVERS]


def work(cell: Row) -> list[Row]:
    quick, method = bool(cell["quick"]), cell["method"]
    try:
        if cell["data"] == CURVE:
            return [{**cell, **point} for point in curve(method, quick)]
        if cell["data"] in family_hypergraphs.names(quick):
            found = family_hypergraphs.work(cell["data"], method, quick)
            return [{**cell, "group": "hypergraph", **found}]
        task = family_data.load(cell["data"], quick)
    except StudyError as error:
        return [{**cell, "missing": str(error)}]
    row = {**cell, "group": task.group, "n": task.A.shape[0], "omega": task.omega}
    if task.group == "asymmetric":
        return [{**row, **directed(task, method)}]
    if method == ENUMERATION:
        return [{**row, **enumerated(task, quick)}]
    if task.group == "cliques":
        return [{**row, **one_set(task, method, quick), **cliques(task, method)}]
    if method in SOLVERS:
        return [{**row, **one_set(task, method, quick), **peeled(task, method, quick)}]
    return [{**row, **other(task, method)}]


# one set ------------------------------------------------------------------------------------------------


class _Counting:
    """What was read of a similarity, in columns, besides what the compiled loop reads in place."""

    n: int
    read = 0.0

    def gradient(self, support: Any, weights: Any) -> Any:
        self.read += len(support)
        return super().gradient(support, weights)  # type: ignore[misc]

    def sparse_gradient(self, support: Any, weights: Any) -> Any:
        self.read += len(support)
        return super().sparse_gradient(support, weights)  # type: ignore[misc]

    def block(self, rows: Any, cols: Any) -> Any:
        self.read += len(rows) * len(cols) / self.n
        return super().block(rows, cols)  # type: ignore[misc]


class CountedDense(_Counting, Dense):
    """A matrix that counts."""


class CountedGraph(_Counting, Graph):
    """A graph that counts."""


def counted(A: Any) -> Any:
    return CountedGraph(A) if sp.issparse(A) else CountedDense(A)


def start_of(method: str) -> str:
    return "barycenter" if method in MULTIPLY else "vertex"


def posed(task: family_data.Task, method: str) -> Any:
    """The similarity for a solver: the matrix, or for the dual the features that it is made of."""
    return as_similarity(task.features, "cosine") if method == DUAL else counted(task.A)


def products(found: DominantSet, method: str, S: Any) -> float:
    """How many times all of the matrix was read; for the dual, passes over the features."""
    if method == DUAL:
        return float(found.n_iter)
    assert found.trace is not None
    steps = np.bincount(found.trace.step, minlength=max(Step) + 1)
    read = dict(READ) | {Step.DROP: 1 if method in ("away", "inimdyn") else 2}
    return float(S.read + sum(columns * int(steps[kind]) for kind, columns in read.items())) / int(S.n)


def one_set(task: family_data.Task, method: str, quick: bool) -> Row:
    """The first dominant set, from the method's own start: value, gap, time, and what it read."""
    S = posed(task, method)
    options: dict[str, Any] = {
        "algorithm": method,
        "start": start_of(method),
        "shift": task.shift,
        "tol": TOL,
    }
    solve(S, **options, max_iter=2, trace=True)  # compiled before the clock starts
    S = posed(task, method)
    began = time.perf_counter()
    found = solve(S, **options, max_time=QUICK_LIMIT if quick else LIMIT, trace=True)
    seconds = time.perf_counter() - began
    return {
        "value": found.value,
        "gap": found.gap,
        "relative_gap": found.relative_gap,
        "status": found.status.value,
        "size": len(found),
        "n_iter": found.n_iter,
        "seconds": seconds,
        "products": products(found, method, S),
    }


def cliques(task: family_data.Task, method: str) -> Row:
    """The largest clique from the method's own start, and from ten starts spread over the nodes."""
    n, sizes = task.A.shape[0], []
    others = np.linspace(0, n - 1, STARTS).astype(int).tolist() if method != FIXED else []
    for place in [None, *others]:
        start: Any = start_of(method) if place is None else place
        if place is not None and method in MULTIPLY:  # half on the node, the rest on all others
            start = np.full(n, 0.5 / (n - 1))
            start[place] = 0.5
        found = solve(
            as_similarity(task.A), algorithm=method, start=start, shift=task.shift, tol=TOL, max_iter=STEPS
        )
        sizes.append(clique_size(task.A, found))
    return {"clique": sizes[0], "clique_best": max(sizes)}


def clique_size(A: Any, found: DominantSet) -> int:
    """How many members there are, if they are a clique; 0 if they are none.

    A clique's weights are equal, so members with less than half of the largest are on their way out.
    """
    members = found.members[found.weights >= 0.5 * found.weights.max()]
    inside = A[np.ix_(members, members)]
    return len(members) if inside.sum() == len(members) * (len(members) - 1) else 0


def enumerated(task: family_data.Task, quick: bool) -> Row:
    """Cliques by destabilising: the first, with its certificate, and the largest of up to ten."""
    destabilise(task.A, 1, max_time=QUICK_LIMIT)  # compiled before the clock starts
    began = time.perf_counter()
    first = destabilise(task.A, 1, max_time=QUICK_LIMIT if quick else LIMIT)
    seconds = time.perf_counter() - began
    found = destabilise(task.A, STARTS, max_time=QUICK_LIMIT if quick else LIMIT) or first
    if not found:
        return {"clique": 0, "clique_best": 0, "seconds": seconds}
    return {
        "value": found[0].value,
        "relative_gap": found[0].relative_gap,
        "status": found[0].status.value,
        "seconds": seconds,
        "clique": clique_size(task.A, found[0]),
        "clique_best": max(clique_size(task.A, clique) for clique in found),
    }


# similarities that are not symmetric ---------------------------------------------------------------------

SYMMETRISED = "pairwise, on (A + Aᵀ)/2"
DIRECTED = ("inimdyn", "replicator", SYMMETRISED)


def directed(task: family_data.Task, method: str) -> Row:
    """One equilibrium of an asymmetric similarity, judged by the payoffs of that similarity itself."""
    A, n, began = task.A, len(task.A), time.perf_counter()
    options: dict[str, Any] = {"shift": task.shift, "tol": TOL}
    stable: bool | None = None
    if method == SYMMETRISED:
        found: Any = solve(0.5 * (A + A.T), **options)
    else:
        found = solve_asymmetric(A, algorithm=method, start=start_of(method), **options)
        stable = found.stable
    seconds = time.perf_counter() - began
    x = np.zeros(n)
    x[found.members] = found.weights
    r = A @ x - task.shift * x
    f = float(x @ r)
    gap = max(0.0, float(r.max()) - f) / (f + task.shift)
    return {
        "value": f + task.shift,
        "relative_gap": gap,
        "status": "no equilibrium" if gap > 1e-6 else found.status.value,
        "stable": {True: "yes", False: "no", None: "not tested"}[stable],
        "size": len(found.members),
        "purity": float(np.bincount(task.y[found.members]).max() / len(found.members)),
        "n_iter": found.n_iter,
        "seconds": seconds,
    }


# all sets -----------------------------------------------------------------------------------------------


def peeled(task: family_data.Task, method: str, quick: bool) -> Row:
    """The paper's peeling by this method, and its post-assignment of the others."""
    S = as_similarity(task.features, "cosine") if method == DUAL else as_similarity(task.A)
    few = QUICK_STEPS if quick else STEPS
    began = time.perf_counter()
    run = peel(
        S, task.k, shift=task.shift, algorithm=method, start=start_of(method), tol=TOL,
        max_iter=few if method in MULTIPLY else 100_000, max_time=QUICK_ALL_LIMIT if quick else ALL_LIMIT,
    )  # fmt: skip
    clusters = list(run)
    seconds = time.perf_counter() - began
    everybody = scores_of(task, assign_by_average(S, clusters, run.labels))
    stopped = int(run.end is End.TIME_LIMIT)
    found = {"all_seconds": seconds, "stopped": stopped, "ari_post": everybody["ari"]}
    return {**scores_of(task, run.labels), **found}


def other(task: family_data.Task, method: str) -> Row:
    """Labels of our estimator, or of a rival."""
    if method in RIVALS:
        began = time.perf_counter()
        labels = RIVALS[method](task.A, task.k)
    else:
        X, affinity = (task.A, "precomputed") if task.features is None else (task.features, "cosine")
        few = X[:200, :200] if affinity == "precomputed" else X[:200]
        DominantSets(2, affinity=affinity, **OURS[method]).fit(few)  # compiled before the clock starts
        began = time.perf_counter()
        labels = DominantSets(task.k, affinity=affinity, **OURS[method]).fit_predict(X)
    seconds = time.perf_counter() - began
    found = scores_of(task, labels)
    return {**found, "all_seconds": seconds, "ari_post": found["ari"] if found["ar"] == 1.0 else float("nan")}


def scores_of(task: family_data.Task, labels: Any) -> Row:
    """Assignment rate and ARI of the assigned; of a network also the complexes that some set matches."""
    if task.group != "network":
        return scores(task.y, labels)
    known = task.y >= 0
    found = scores(task.y[known], labels[known])
    sets = [frozenset(np.flatnonzero(labels == k).tolist()) for k in np.unique(labels[labels >= 0])]
    matched = sum(
        any(len(c & s) ** 2 > 0.25 * len(c) * len(s) for s in sets if len(s) > 1) for c in task.complexes
    )
    return {**found, "ar": float((labels >= 0).mean()), "matched": matched, "complexes": len(task.complexes)}


# f against time -----------------------------------------------------------------------------------------


def curve(method: str, quick: bool) -> list[Row]:
    """Value and time of runs of 1, 2, 4, ... iterations from equal weights, until one takes too long."""
    name = QUICK_CURVE_DATA if quick else CURVE_DATA
    try:
        task = family_data.load(name, quick)
    except StudyError:
        name = QUICK_CURVE_DATA
        task = family_data.load(name, quick)
    if method == DUAL and task.features is None:
        return [{"skipped": 1}]  # a row, so that it counts as done
    S = as_similarity(task.features, "cosine") if method == DUAL else as_similarity(task.A)
    options: dict[str, Any] = {"algorithm": method, "start": "barycenter", "shift": task.shift, "tol": 1e-12}
    solve(S, **options, max_iter=2)
    points: list[Row] = []
    for t in (2**k for k in range(20)):
        took = []
        for _ in range(3):
            began = time.perf_counter()
            found = solve(S, **options, max_iter=t)
            took.append(time.perf_counter() - began)
            if took[-1] > 0.2:
                break
        seconds = min(took)
        points.append({"on": name, "t": t, "seconds": seconds, "value": found.value, "gap": found.gap})
        if found.n_iter < t or seconds > (QUICK_LIMIT if quick else LIMIT) / 2:
            break
    return points


STUDY = Study("family", "The family, and its rivals", cells, work, tell)
