"""Certificates as files, for programs without this package: ``checker/README.md`` has the format.

The first line names the format, its version and the SHA-256 of the rest, which is JSON. What is claimed is
computed here again, of the clusters as they are; a set that is no solution of the similarity is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp

from dominantsets._typing import Flags, Floats
from dominantsets.clusters.replacing import replacing
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.similarity.bounds import bounds_of
from dominantsets.similarity.faces import EPS
from dominantsets.similarity.stated import PRODUCTS, stated
from dominantsets.solvers import DominantSet, GlobalOptimum
from dominantsets.solvers.box_proof import prove
from dominantsets.solvers.result import PROVEN

FORMAT = 1
SAFE = 0.9  # of the largest gap of a proven set: what is left is for rounding


def certify(S: Any, clusters: DominantSet | GlobalOptimum | Sequence[DominantSet], path: str) -> list[str]:
    """Write dominant sets and what is claimed of them to a file that a program without this package checks.

    The program is ``checker/dscheck.py`` (Python and NumPy) or ``checker/dscheck.c``: it reads the file and
    the data, recomputes every claim, and says which holds.

    Parameters
    ----------
    S : array, CSR matrix or Similarity
        A precomputed similarity, or what :func:`as_similarity` returned.
    clusters : DominantSet, GlobalOptimum or sequence of DominantSet
        Sets of this similarity, among all objects, or each among those that the earlier ones left.
    path : str
        The file, for example ``"fit.cert"``.

    Returns
    -------
    list of str
        The files that were written. The second one has the data, where the similarity is one of coordinates
        or edges that were made from yours (neighbors, diffusion, embeddings, ranks, functions).

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from dominantsets import as_similarity, certify, global_optimum
    >>> X = np.array([[2.0], [3.0], [7.0], [8.0], [13.0], [14.0], [15.0]])
    >>> S = as_similarity(X, "sqeuclidean")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = certify(S, global_optimum(S), os.path.join(folder, "best.cert"))
    ...     with open(written[0]) as stream:
    ...         print(stream.readline()[:33])
    dominantsets certificate 1 sha256
    """
    if isinstance(clusters, GlobalOptimum):
        clusters = [clusters.cluster]
    elif isinstance(clusters, DominantSet):
        clusters = [clusters]
    return write_certificate(as_similarity(S), list(clusters), None, path)


def write_certificate(
    similarity: Similarity,
    clusters: list[DominantSet],
    labels: dict[str, Any] | None,
    path: str,
    made: str = "",
) -> list[str]:
    """The same with labels; ``made`` says how the data came about, if they are to be written too."""
    path = os.fspath(path)
    one = stated(similarity)
    one = one._replace(made=one.made or made)
    content: dict[str, Any] = {
        "made_by": {"dominantsets": version("dominantsets"), "numpy": np.__version__}
        | {"scipy": version("scipy"), "python": platform.python_version()},
        "similarity": {"kind": one.kind, "words": one.words, **one.numbers},
        "data": {"form": one.form, "sha256": one.digest(), "made": one.made, "objects": similarity.n},
        "clusters": _claims(similarity, clusters, labels, one.kind in PRODUCTS),
        "labels": labels,
    }
    lines = ",\n".join(f" {json.dumps(name)}: {_written(value)}" for name, value in content.items())
    body = f"{{\n{lines}\n}}\n".encode()
    head = f"dominantsets certificate {FORMAT} sha256 {hashlib.sha256(body).hexdigest()}\n".encode()
    _write(path, head + body)
    if not one.made:
        return [path]
    data = io.BytesIO()
    if one.form == "graph":
        sp.save_npz(data, one.saved(), compressed=False)
    else:
        np.save(data, one.saved())
    beside = path + (".npz" if one.form == "graph" else ".npy")
    _write(beside, data.getbuffer())
    return [path, beside]


def _written(value: Any) -> str:
    """JSON; a list of clusters has a line for each."""
    if isinstance(value, list):
        return "[\n  " + ",\n  ".join(json.dumps(item, allow_nan=False) for item in value) + "\n ]"
    return json.dumps(value, allow_nan=False)


def _write(path: str, content: Any) -> None:
    with replacing(path) as draft, open(draft, "wb") as stream:
        stream.write(content)


def _claims(
    similarity: Similarity, clusters: list[DominantSet], labels: dict[str, Any] | None, boxed: bool
) -> list[dict[str, Any]]:
    left = np.ones(similarity.n, dtype=bool)
    claims = []
    for k, cluster in enumerate(clusters):
        scopes = {"all": np.ones(similarity.n, dtype=bool), "left": left}
        if labels is not None and labels["assign"] == "refine":  # other labels come from the sets alone
            scopes["label"] = np.asarray(labels["labels"]) == k
        claims.append(_claim(k, similarity.for_cluster(k), cluster, scopes, boxed))
        left[cluster.members] = False
    return claims


def _claim(
    k: int, similarity: Any, cluster: DominantSet, scopes: dict[str, Flags], boxed: bool
) -> dict[str, Any]:
    """What is claimed of one cluster, after a look whether it is so."""
    members, weights, shift = cluster.members, cluster.weights, cluster.shift
    r = np.asarray(similarity.gradient(members, weights), dtype=np.float64)
    r[members] -= shift * weights
    f = float(weights @ r[members])
    near = (
        8.0 * (bounds_of(similarity).rounding_of(members.size) + 4.0 * EPS * abs(shift)) + 1e-9 * cluster.unit
    )
    if not (abs(f + shift - cluster.value) <= near and r[members].max() - f <= cluster.gap + near):
        raise ValueError(
            f"cluster {k} is no set of this similarity: its value is {cluster.value:.9g}, and "
            f"{f + shift:.9g} with these similarities; pass the similarity that it was found with. Sets "
            "around seeds, of weighted objects and of at least min_members objects have no certificate."
        )
    outside = np.ones(similarity.n, dtype=bool)
    outside[members] = False
    if similarity.components is not None:
        outside &= similarity.components == similarity.components[members[0]]
    level = f - cluster.margin + near
    above = outside & (r > level)
    among = next((name for name, scope in scopes.items() if not (above & scope).any()), "left")
    outside &= scopes[among]
    # sets that were too small to be clusters are set aside by peeling
    apart = np.flatnonzero(outside & (r > level))
    outside[apart] = False
    margin = float(f - r[outside].max()) if outside.any() else None
    gap = max(float(r[members].max()) - f, -np.inf if margin is None else -margin, 0.0)
    inside = outside.copy()
    inside[members] = True
    gap_of_all, boxes = cluster.global_gap, None
    if gap_of_all is not None and boxed:
        gap_of_all, boxes = _best(similarity, cluster, inside, f, gap_of_all)
    metric = getattr(similarity, "transform", None)
    return {
        "members": members.tolist(),
        "weights": weights.tolist(),
        "shift": float(shift),
        "value": f + float(shift),
        "gap": gap,
        "margin": margin,
        "strict": cluster.strict,
        "undecided": cluster.undecided.tolist(),
        "among": among,
        "apart": apart.tolist(),
        "global_gap": gap_of_all,
        "proven": cluster.proven,
        "boxes": boxes,
        "metric": None if metric is None else metric.tolist(),
        "status": cluster.status.value,
        "algorithm": cluster.algorithm,
    }


def _best(
    similarity: Any, cluster: DominantSet, inside: Flags, f: float, gap: float
) -> tuple[float, dict[str, Any] | None]:
    """The bound of what other sets may have more, and boxes that prove it."""
    objects = np.flatnonzero(inside)
    rows: Floats = similarity.rows_of(objects)
    squares = np.square(rows).sum(axis=1)
    kappa = np.broadcast_to(similarity.formula.diagonal(squares) + cluster.shift, objects.size)
    if float(kappa.min()) <= 0.0:
        return gap, None
    bias = similarity.formula.bias(squares)
    bias = np.zeros(objects.size) if bias is None else bias
    shown = max(gap, SAFE * PROVEN * cluster.unit) if cluster.proven else gap
    boxes = prove(similarity.formula.root * rows, bias, kappa, similarity.formula.offset, f + shown)
    return (gap, None) if boxes is None else (shown, boxes._asdict())
