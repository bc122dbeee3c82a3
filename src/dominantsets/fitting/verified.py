"""``DOMINANTSETS_VERIFY=1``: every fit of ``DominantSets`` is checked by plain means, for reports of bugs.

The similarities of all pairs are made again from their formula, with NumPy alone. From them come the value,
the gap and the margin of every cluster, and the labels where their rule is one of averages or scores. The fit
is made again by one thread, from a copy of the data in float64 (sparse rows: dense ones), and must give the
same partition. ``predict`` of the training rows must give their labels.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._typing import Flags, Floats, Ints
from dominantsets.compiled.threads import blas, single_threaded
from dominantsets.fitting.copies import Copies
from dominantsets.similarity import Similarity
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.data import is_elsewhere
from dominantsets.similarity.faces import EPS
from dominantsets.similarity.stated import PRODUCTS, Stated, stated
from dominantsets.solvers import DominantSet
from dominantsets.solvers.result import HALTS

VARIABLE = "DOMINANTSETS_VERIFY"
MOST = 2_000  # objects, whose similarities of all pairs take 32 MB and some seconds of NumPy
OFF = 8.0  # largest difference of two numbers that should agree, in bounds of the rounding of one payoff
NEAR = 1e-9  # largest difference of two scores that count as tied, relative to the largest score

_log = logging.getLogger(__name__)


def verify(model: Any, X: Any, copies: Copies | None) -> None:
    """Check a fit by plain means if the environment variable asks for it; RuntimeError if a check fails.

    Parameters
    ----------
    model : DominantSets
        A fitted one.
    X : array, sparse matrix or other data
        What was fitted. A fit of more than 2,000 objects, of data that are not in memory, or one that ended
        early is not checked, and a line of the log says so.
    copies : Copies or None
        Copies of the objects, if they have weights.
    """
    if os.environ.get(VARIABLE, "0") in ("", "0"):
        return
    unfit = _unfit(model, X)
    if unfit:
        _log.warning("%s: this fit is not checked, because %s.", VARIABLE, unfit)
        return
    clusters, labels = model.clusters_, np.asarray(model.labels_)
    if copies is not None:
        clusters, labels = [copies.unfold_cluster(c) for c in clusters], labels[copies.objects]
    similarity = model.similarity_
    matrices = _Matrices(similarity)
    # the results do not say which sets peeling has set aside, nor labels before noise="cores" took some away
    loose = model.assign != "refine" or model.noise == "cores"
    for k, cluster in enumerate(clusters):
        scopes = _scopes(similarity, clusters, labels, k, loose)
        slack = bounds_of(similarity.for_cluster(k)).rounding_of(len(cluster)) + 4.0 * EPS * abs(
            cluster.shift
        )
        # copies have equal weights only as far as the solver went, which is what the gap says
        slack = OFF * slack + (0.0 if copies is None else OFF * cluster.gap)
        if copies is not None and (similarity.is_sparse or matrices.stated.made or cluster.margin <= slack):
            continue  # copies may be in different sets, and weights that were added up do not part again
        _check_cluster(k, cluster, matrices.of(k), scopes, slack)
        strays = cluster.members[labels[cluster.members] != k]
        if model.assign == "refine" and strays.size:
            _fail(f"object {strays[0]} is a member of cluster {k} and has the label {labels[strays[0]]}")
    if clusters:
        _check_rule(model, matrices, clusters, labels)
    _check_predict(model, X)
    _check_again(model, X, copies)
    _log.info("%s: a fit of %d objects is as it should be.", VARIABLE, similarity.n)


def _fail(what: str) -> None:
    raise RuntimeError(
        f"{VARIABLE}: {what}. Please report this as a bug of dominantsets {version('dominantsets')}, with "
        "the data and the parameters of the fit."
    )


def _unfit(model: Any, X: Any) -> str:
    """Why a fit cannot be checked; nothing if it can."""
    if model.end_ in HALTS.values():
        return "it ended early"
    elsewhere = model._device is not None or is_elsewhere(X)
    if not model.similarity_.in_memory or elsewhere:
        return "its data are not in the memory of this process"
    if model.similarity_.n > MOST:
        return f"it has {model.similarity_.n:,} objects, and {MOST:,} are the most"
    if model.choice_ is not None and model.choice_.fitted is not None:
        return "only some of its objects were fitted"
    if not (isinstance(X, Similarity) or sp.issparse(X) or hasattr(X, "__array__") or isinstance(X, list)):
        return f"a {type(X).__name__} is no array"
    return ""


# Similarities of all pairs -------------------------------------------------------------------------------


class _Matrices:
    """The similarities of all pairs in the metric of each cluster, and the rows that scores are made of."""

    def __init__(self, similarity: Similarity) -> None:
        self.similarity, self.stated = similarity, stated(similarity)
        X = self.stated.saved()
        self.data = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
        self.made: Floats | None = None

    def of(self, k: int) -> Floats:
        """That of one cluster."""
        metric = getattr(self.similarity.for_cluster(k), "transform", None)
        if metric is not None:
            return _dense(self.stated, self.data @ metric)
        self.made = _dense(self.stated, self.data) if self.made is None else self.made
        return self.made

    @property
    def rows(self) -> Floats:
        """Centered or of length 1, as the formula sees them."""
        return _ROWS[self.stated.kind](self.data)


def _dense(one: Stated, data: Floats) -> Floats:
    A = _FORMULAS[one.kind](data, one)
    np.fill_diagonal(A, 0.0)
    return A


def _squares(X: Floats) -> Floats:
    return np.stack([np.square(X - row).sum(axis=1) for row in X])


def _unit(X: Floats) -> Floats:
    lengths = np.sqrt(np.square(X).sum(axis=1, keepdims=True))
    return np.asarray(X / np.where(lengths > 0.0, lengths, 1.0))


def _blocks(X: Floats) -> Floats:
    return np.stack([np.abs(X - row).sum(axis=1) for row in X])


def _minimax(data: Floats, one: Stated) -> Floats:
    """M less the minimax distances, by Prim's algorithm; with ``min_samples``, of mutual reachability."""
    n, k = len(data), min(one.numbers["min_samples"], len(data))
    steps = np.where(data > 0.0, data, np.inf) if one.form == "graph" else np.sqrt(_squares(data))
    if k > 1:
        core = np.partition(steps, k - 1, axis=1)[:, k - 1]
        steps = np.maximum(steps, (steps > 0.0) * np.maximum.outer(core, core))
    D, seen, left = np.zeros((n, n)), [0], np.arange(n) > 0
    best, source = steps[0].copy(), np.zeros(n, dtype=np.int64)
    for _ in range(n - 1):
        i = int(np.flatnonzero(left)[best[left].argmin()])
        D[i, seen] = D[seen, i] = np.maximum(D[source[i], seen], best[i])
        left[i] = False
        seen.append(i)
        source[steps[i] < best] = i
        best = np.minimum(best, steps[i])
    return np.asarray(one.numbers["offset"] - D)


_FORMULAS: dict[str, Callable[[Floats, Stated], Floats]] = {
    "sqeuclidean": lambda X, one: np.asarray(one.numbers["offset"] - _squares(X)),
    "euclidean": lambda X, one: np.asarray(one.numbers["offset"] - np.sqrt(_squares(X))),
    "rbf": lambda X, one: np.exp(-one.numbers["gamma"] * _squares(X)),
    "laplacian": lambda X, one: np.exp(-one.numbers["gamma"] * _blocks(X)),
    "cosine": lambda X, _: 1.0 + np.einsum("ik,jk->ij", _unit(X), _unit(X)),
    "linear": lambda X, one: np.einsum("ik,jk->ij", X, X) + one.numbers["offset"],
    "path": _minimax,
    "matrix": lambda A, _: 0.5 * (A + A.T),
    "graph": lambda A, _: 0.5 * (A + A.T),
}
_ROWS: dict[str, Callable[[Floats], Floats]] = {
    "sqeuclidean": lambda X: X - X.mean(axis=0),
    "cosine": _unit,
    "linear": lambda X: X,
}


# The checks ----------------------------------------------------------------------------------------------


def _scopes(
    similarity: Similarity, clusters: list[DominantSet], labels: Ints, k: int, loose: bool
) -> list[Flags]:
    """The sets of objects among which a cluster may be a dominant set; the margin must be that of one.

    If the results do not say which objects earlier sets left, any outsider may be the one that counts.
    """
    every = np.ones(similarity.n, dtype=bool)
    left = every.copy()
    for earlier in clusters[:k]:
        left[earlier.members] = False
    home = every
    if similarity.components is not None:
        home = similarity.components == similarity.components[clusters[k].members[0]]
    scopes = [every & home, left & home, (labels == k) & home]
    if loose:
        scopes += [np.arange(similarity.n) == i for i in np.flatnonzero(left & home)]
    return scopes


def _check_cluster(k: int, cluster: DominantSet, A: Floats, scopes: list[Flags], slack: float) -> None:
    """Value, gap and margin, up to what rounding may make of them."""
    members, shift = cluster.members, cluster.shift
    x = cluster.weights / cluster.weights.sum()
    if not (x > 0.0).all() or (np.diff(members) <= 0).any():
        _fail(f"the members or weights of cluster {k} are no point of the simplex")
    r = np.asarray((A[:, members] * x).sum(axis=1))
    r[members] -= shift * x
    f = float((x * r[members]).sum())
    outside = [scope & ~np.isin(np.arange(len(A)), members) for scope in scopes]
    margins = np.array([f - r[others].max() if others.any() else np.inf for others in outside])
    gap = max(float(r[members].max()) - f, -cluster.margin, 0.0)
    # inf - inf is nan, and stands for two margins of a cluster without outsiders
    with np.errstate(invalid="ignore"):
        best = margins[np.argmin(np.nan_to_num(np.abs(margins - cluster.margin), nan=0.0, posinf=1e300))]
    for name, claimed, found in (
        ("value", cluster.value, f + shift),
        ("margin", cluster.margin, float(best)),
        ("gap", cluster.gap, gap),
    ):
        if claimed != found and not abs(claimed - found) <= slack:
            _fail(
                f"the {name} of cluster {k} is {claimed:.9g}, and {found:.9g} as computed from the "
                f"similarities of all pairs, which is off by {slack:.1g} at most"
            )


def _check_rule(model: Any, matrices: _Matrices, clusters: list[DominantSet], labels: Ints) -> None:
    """Whether labels are those of averages or scores; other rules have no plain form here."""
    said, n = model._stated_labels(clusters, labels), len(labels)
    cores = np.full(n, -1)
    for k in reversed(range(len(clusters))):
        cores[clusters[k].members] = k
    held, away = cores >= 0, np.zeros(n)
    if said["rule"] == "members":
        held, scores = np.ones(n, dtype=bool), np.zeros((n, len(clusters)))
    elif said["rule"] == "average":
        scores = np.column_stack([matrices.of(k)[:, c.members].mean(axis=1) for k, c in enumerate(clusters)])
    elif said["rule"] == "scores":
        rule, rows = said["scores"], matrices.rows
        scores, held = _scores(rule, rows), (cores < 0) & rule["only_members"]
        top, best = scores.max(axis=1), scores.argmax(axis=1)
        away = top - np.array(rule["least"])[best]
        if rule["background"]:
            own = top + np.array(rule["rest"])[best]
            own = _scores(rule["judges"], rows).max(axis=1) if rule["judges"] else own
            away = np.minimum(away, own - _scores(rule["background"], rows)[:, 0])
    else:
        return
    near = NEAR * (1.0 + float(np.abs(scores[np.isfinite(scores)]).max(initial=0.0)))
    mine = scores[np.arange(n), np.maximum(labels, 0)]
    follows = np.where(labels < 0, away <= near, (mine >= scores.max(axis=1) - near) & (away >= -near))
    wrong = np.flatnonzero(~np.where(held, labels == cores, follows))
    if wrong.size:
        _fail(
            f"{wrong.size} of {n} labels do not follow from the rule {said['rule']!r}; the first is that of "
            f"object {wrong[0]}, {labels[wrong[0]]}"
        )


def _scores(of: dict[str, Any], rows: Floats) -> Floats:
    squares = np.square(rows).sum(axis=1, keepdims=True)
    products = np.einsum("ik,jk->ij", rows, np.array(of["rows"]))
    return np.asarray(np.array(of["constants"]) + products - squares * np.array(of["rates"]))


def _check_predict(model: Any, X: Any) -> None:
    """Whether ``predict`` gives the training rows their labels.

    Not where averages may be tied, where a copy of a member need not join its set (noise="cores"), where a
    node is known by its edges alone, or where a matrix is not symmetric. Equal rows that have several labels
    cannot be told apart.
    """
    X = X if isinstance(X, Similarity) or sp.issparse(X) else np.asarray(X)
    skewed = model.affinity_ == "precomputed" and not isinstance(X, Similarity) and abs(X - X.T).max() > 0.0
    given = isinstance(X, Similarity) or len(model.labels_) < 2 or model.similarity_.structure == "network"
    if given or skewed or model.assign != "refine" or model.noise == "cores":
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted, labels = np.asarray(model.predict(X)), np.asarray(model.labels_)
    wrong = predicted != labels
    if wrong.any():
        rows = np.asarray(X.toarray() if sp.issparse(X) else X)
        equal = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
        several = [name for name in np.unique(equal) if np.unique(labels[equal == name]).size > 1]
        wrong &= ~np.isin(equal, several)
    if wrong.any():
        wrong = np.flatnonzero(wrong)
        i = wrong[0]
        _fail(
            f"predict gives other labels than fit to {wrong.size} of {labels.size} training rows; the first "
            f"is object {i}, with {predicted[i]} in place of {labels[i]}"
        )


def _check_again(model: Any, X: Any, copies: Copies | None) -> None:
    """Whether a fit by one thread, from another copy of the data, gives the same partition."""
    params = model.get_params(deep=False) | {"max_time": None, "checkpoint": None, "callback": None}
    params["verbose"] = 0
    again = type(model)(**params)
    if not isinstance(X, Similarity):
        sparse = sp.issparse(X) and model.affinity_ in PRODUCTS
        if sparse:  # for which "auto" means another affinity
            again.affinity, again.affinity_params = model.affinity_, model.affinity_params_
        X = X.toarray() if sparse else X
        # the same order of sums, which decides between objects that are tied
        X = sp.csr_array(X, copy=True) if sp.issparse(X) else np.array(X, dtype=np.float64, order="C")
    given = X if copies is None else copies.rows(X, model.affinity)
    with warnings.catch_warnings(), single_threaded(), blas().limit(limits=1):
        warnings.simplefilter("ignore")
        again._fit(given, lambda told: told)
        if copies is not None:
            again._fold(copies, X)
    if again.end_ in HALTS.values():
        return
    one, two = np.asarray(model.labels_), np.asarray(again.labels_)
    wrong = np.flatnonzero((_renamed(one, two) != two) | (_renamed(two, one) != one))
    if wrong.size:
        _fail(
            f"another fit of the same data, by one thread, gives another label to {wrong.size} of {one.size} "
            f"objects; the first is object {wrong[0]} ({model.n_clusters_} clusters, then "
            f"{again.n_clusters_})"
        )


def _renamed(labels: Ints, like: Ints) -> Ints:
    """Labels with the names that most of their objects have in other labels; noise stays noise."""
    out = np.full(labels.size, -1)
    for name in np.unique(labels[labels >= 0]):
        here = labels == name
        names, counts = np.unique(like[here], return_counts=True)
        out[here] = names[counts.argmax()]
    return out
