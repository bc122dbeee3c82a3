"""Fits of every kind for the tests of the checkers, and lies about them.

A lie is a function that changes the content of a certificate; ``signed`` gives the changed content a correct
digest, so that only the claims can give it away.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from dominantsets import DominantSets, as_similarity, certify, global_optimum, solve

Content = dict[str, Any]
ROWS = ("sqeuclidean", "cosine", "rbf", "laplacian", "euclidean", "path", "diffusion", "embedding")


def groups(seed: int, n: int = 60, d: int = 2) -> Any:
    """Some groups of different sizes and widths, and a few objects between them."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 5))
    places = rng.normal(size=(count, d)) * rng.uniform(3.0, 9.0)
    sizes = rng.multinomial(n - 5, rng.dirichlet(np.full(count, 4.0)))
    parts = [p + rng.normal(size=(m, d)) * rng.uniform(0.3, 1.2) for p, m in zip(places, sizes, strict=True)]
    return np.vstack([*parts, rng.uniform(-12.0, 12.0, size=(5, d))])


def distances(X: Any) -> Any:
    """Euclidean distances of all rows."""
    return np.sqrt(np.square(X[:, None] - X[None]).sum(axis=2))


def tied(seed: int) -> tuple[Any, Any]:
    """A similarity of a few whole numbers, with ties and flat faces, and its data."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 14)), int(rng.integers(1, 3))
    kind = ("sqeuclidean", "path", "linear", "precomputed", "euclidean", "graph", "cosine")[seed % 7]
    X: Any = rng.integers(0, 5, (n, d)).astype(float) + float(kind == "cosine")
    if kind in ("precomputed", "graph"):
        A = np.triu(rng.integers(0, 3, (n, n)), 1).astype(float)
        A[0, 1] = 1.0
        X, kind = sp.csr_array(A + A.T) if kind == "graph" else A + A.T, "precomputed"
    return as_similarity(X, kind), X


def data_of(seed: int, affinity: str) -> Any:
    """Data for an affinity: rows, a matrix, or a graph."""
    X = groups(seed, d=2 + seed % 3)
    if affinity == "precomputed":
        A = np.exp(-np.square(distances(X)) / 4.0)
        np.fill_diagonal(A, 0.0)
        return A
    if affinity == "precomputed_distance":
        return distances(X)
    if affinity == "graph":
        G = kneighbors_graph(X, 6)
        return sp.csr_array(G.maximum(G.T)) * float(1 + seed % 2)
    return np.abs(X) if affinity == "linear" else X


def fits(seed: int) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Names, data, and parameters of ``DominantSets``: every affinity, and every way of labels and scales."""
    for affinity in (*ROWS, "linear", "nearest_neighbors", "ellipses", "precomputed", "precomputed_distance"):
        yield affinity, data_of(seed, affinity), {"affinity": affinity}
    yield "graph", data_of(seed, "graph"), {"affinity": "precomputed"}
    X = data_of(seed, "sqeuclidean")
    for assign in ("average", None):
        yield f"assign {assign}", X, {"affinity": "sqeuclidean", "assign": assign}
    for noise in ("cores", 0.1, None):
        yield f"noise {noise}", X, {"affinity": "cosine", "noise": noise}
    yield "shift", X, {"affinity": "sqeuclidean", "shift": 0.0}
    yield "kernel shift", X, {"affinity": "rbf", "shift": 0.5, "min_cluster_size": 4, "assign": None}
    yield "graph shift", data_of(seed, "graph"), {"affinity": "precomputed", "shift": 0.5}
    yield "path shift", X, {"affinity": "path", "shift": 2.0}
    yield "path 5", X, {"affinity": "path", "affinity_params": {"min_samples": 5}, "n_clusters": 3}
    copies = np.vstack([X, X[::3]])
    yield (
        "path 5, copies",
        copies,
        {"affinity": "path", "affinity_params": {"min_samples": 5}, "n_clusters": 3},
    )
    for then in ("path", "sqeuclidean", "rbf"):
        params = {"affinity": "precomputed_distance", "affinity_params": {"then": then}}
        yield f"distance {then}", distances(X), params
    yield "ranks", X, {"affinity": "rbf", "affinity_params": {"equalize": True}}
    yield "float32", X.astype(np.float32), {"affinity": "sqeuclidean"}
    yield "pairwise", X, {"affinity": "sqeuclidean", "shift": 1.0, "solver_params": {"algorithm": "pairwise"}}
    start = {"shift": 5.0, "solver_params": {"start": "global"}}
    yield "global", X, {"affinity": "sqeuclidean", **start}
    yield "concave", X, {"affinity": "linear", "affinity_params": {"offset": "bound"}, "shift": 1e5}


def saved(X: Any, folder: Path) -> Path:
    """The data in a file that the checkers read."""
    if sp.issparse(X):
        sp.save_npz(folder / "X.npz", X, compressed=False)
        return folder / "X.npz"
    np.save(folder / "X.npy", X)
    return folder / "X.npy"


def written(X: Any, params: dict[str, Any], folder: Path) -> tuple[Path, Path]:
    """A certificate of a fit, and its data."""
    files = DominantSets(**params).fit(X).certify(str(folder / "fit.cert"))
    return Path(files[0]), Path(files[1]) if len(files) > 1 else saved(X, folder)


def content_of(path: Path) -> Content:
    """What a certificate says."""
    content: Content = json.loads(path.read_bytes().partition(b"\n")[2])
    return content


def signed(content: Content, path: Path, version: str = "1") -> Path:
    """A certificate of any content, with a correct digest."""
    body = json.dumps(content).encode()
    path.write_bytes(
        f"dominantsets certificate {version} sha256 {hashlib.sha256(body).hexdigest()}\n".encode() + body
    )
    return path


def _peeled(folder: Path, **params: Any) -> tuple[Path, Path]:
    return written(groups(3), {"affinity": "sqeuclidean", "shift": 0.0, **params}, folder)


def _network(folder: Path) -> tuple[Path, Path]:
    return written(data_of(1, "graph"), {"affinity": "precomputed", "shift": 0.5}, folder)


def _of_rule(assign: str | None) -> Callable[[Path], tuple[Path, Path]]:
    return lambda folder: written(groups(1), {"affinity": "sqeuclidean", "assign": assign}, folder)


def _of(affinity: str) -> Callable[[Path], tuple[Path, Path]]:
    return lambda folder: written(data_of(1, affinity), {"affinity": affinity}, folder)


def _solved(X: Any, folder: Path, affinity: str = "sqeuclidean", **params: Any) -> tuple[Path, Path]:
    offset = {"offset": params.pop("offset")} if "offset" in params else {}
    S = as_similarity(X, affinity, **offset)
    return Path(certify(S, solve(S, **params), str(folder / "fit.cert"))[0]), saved(X, folder)


def _early(folder: Path) -> tuple[Path, Path]:
    return _solved(groups(1), folder, shift=20.0, algorithm="fw", max_iter=3)


def _flat(folder: Path) -> tuple[Path, Path]:
    """Two copies of one object, and none else alike: any split of their weight is as good."""
    A = np.zeros((4, 4))
    A[0, 1] = A[1, 0] = A[0, 2] = A[2, 0] = 1.0
    return _solved(A, folder, "precomputed", start=[0.5, 0.25, 0.25, 0.0])


def _on_the_edge(folder: Path) -> tuple[Path, Path]:
    return _solved(np.array([[-1.0], [0.0], [0.0], [1.0], [2.0]]), folder, shift=4.0, offset=10.0)


def _best(folder: Path) -> tuple[Path, Path]:
    X = groups(5, 40)
    S = as_similarity(X, "sqeuclidean")
    return Path(certify(S, global_optimum(S), str(folder / "fit.cert"))[0]), saved(X, folder)


def _local(folder: Path) -> tuple[Path, Path]:
    """The set on the left, which is not the best one."""
    X = np.array([[2.0], [3.0], [7.0], [8.0], [13.0], [14.0], [15.0]])
    best, data = _best_of(X, folder)
    content, S = content_of(best), as_similarity(X, "sqeuclidean")
    other = content_of(Path(certify(S, solve(S), str(folder / "other.cert"))[0]))
    kept = {key: content["clusters"][0][key] for key in ("global_gap", "proven", "boxes")}
    content["clusters"] = [other["clusters"][0] | kept]
    return signed(content, best), data


def _best_of(X: Any, folder: Path) -> tuple[Path, Path]:
    S = as_similarity(X, "sqeuclidean")
    return Path(certify(S, global_optimum(S), str(folder / "fit.cert"))[0]), saved(X, folder)


def _drop_member(content: Content) -> None:
    c = content["clusters"][0]
    c["members"], c["weights"] = c["members"][1:], [w / sum(c["weights"][1:]) for w in c["weights"][1:]]


def _add_member(content: Content) -> None:
    c = content["clusters"][0]
    new = next(i for i in range(len(content["labels"]["labels"])) if i not in c["members"])
    pairs = sorted([*zip(c["members"], c["weights"], strict=True), (new, 0.01)])
    c["members"], c["weights"] = [i for i, _ in pairs], [w / 1.01 for _, w in pairs]


def _change_weight(content: Content) -> None:
    weights = content["clusters"][0]["weights"]
    moved = 0.1 * min(weights)
    weights[0], weights[1] = weights[0] + moved, weights[1] - moved


def _move_label(content: Content) -> None:
    labels = content["labels"]["labels"]
    core = {i for c in content["clusters"] for i in c["members"]}
    i = next((i for i in range(len(labels)) if i not in core and labels[i] >= 0), 0)
    labels[i] = (labels[i] + 1) % len(content["clusters"])


def _move_core_label(content: Content) -> None:
    i = content["clusters"][0]["members"][0]
    content["labels"]["labels"][i] = 1


def _hide_noise(content: Content) -> None:
    labels = content["labels"]["labels"]
    labels[labels.index(-1)] = 0


def _set(name: str, value: Any, cluster: int = 0) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        content["clusters"][cluster][name] = value

    return change


def _add(name: str, value: float, cluster: int = 0) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        content["clusters"][cluster][name] += value

    return change


def _formula(name: str, value: Any) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        old = content["similarity"][name]
        content["similarity"][name] = old * value if isinstance(value, float) else value

    return change


def _all_of_them(content: Content) -> None:
    for c in content["clusters"]:
        c["among"] = "all"


def _fewer_boxes(content: Content) -> None:
    """One look at the whole instead of all boxes."""
    content["clusters"][0]["boxes"] = {"axis": [-1], "cut": [0.0]}


def _lost_box(content: Content) -> None:
    boxes = content["clusters"][0]["boxes"]
    boxes["axis"], boxes["cut"] = boxes["axis"][:-1], boxes["cut"][:-1]


def _stretch(content: Content) -> None:
    for c in content["clusters"]:
        c["metric"] = [[1.5 * t for t in row] for row in c["metric"]]


def _swap(content: Content) -> None:
    members = content["clusters"][0]["members"]
    members[0], members[1] = members[1], members[0]


def _stray(content: Content) -> None:
    """A member of a cluster with no label, and the claim that all members have theirs."""
    content["labels"] |= {"belong": True, "rule": "other"}
    content["labels"]["labels"][content["clusters"][0]["members"][0]] = -1


def _other_data(content: Content) -> None:
    content["data"]["sha256"] = "0" * 64


def _negative(content: Content) -> None:
    weights = content["clusters"][0]["weights"]
    weights[0], weights[1] = weights[0] + 2.0 * weights[1], -weights[1]


Lie = tuple[Callable[[Path], tuple[Path, Path]], Callable[[Content], None]]
LIES: dict[str, Lie] = {
    "a member dropped": (_peeled, _drop_member),
    "a member added": (_peeled, _add_member),
    "a weight changed": (_peeled, _change_weight),
    "a negative weight": (_peeled, _negative),
    "members out of order": (_peeled, _swap),
    "another shift": (_peeled, _add("shift", 0.01)),
    "a value too high": (_peeled, _add("value", 1e-6)),
    "a gap too small": (_early, _set("gap", 0.0)),
    "a margin too large": (_peeled, _add("margin", 1e-6)),
    "no object outside": (_peeled, _set("margin", None)),
    "strict on a flat face": (_flat, _set("strict", True)),
    "not strict": (_peeled, _set("strict", False)),
    "an undecided object decided": (_on_the_edge, _set("undecided", [])),
    "among all, not among those left": (_network, _all_of_them),
    "a label of an average moved": (_of_rule("average"), _move_label),
    "a label of a score moved": (_of_rule("refine"), _move_label),
    "a label of a member moved": (_of("path"), _move_core_label),
    "noise hidden": (_of_rule(None), _hide_noise),
    "a member with another label": (_of("path"), _stray),
    "other data": (_peeled, _other_data),
    "another constant of the formula": (_peeled, _formula("offset", 1.001)),
    "another width of a kernel": (_of("rbf"), _formula("gamma", 1.001)),
    "another formula": (_peeled, _formula("kind", "euclidean")),
    "another reachability": (_of("path"), _formula("min_samples", 4)),
    "another metric": (_of("ellipses"), _stretch),
    "a local optimum called the best": (_local, lambda content: None),
    "a global gap too small": (_best, _set("global_gap", -1.0)),
    "proven beyond its gap": (_best, _set("global_gap", 1.0)),
    "boxes too wide": (_best, _fewer_boxes),
    "a box missing": (_best, _lost_box),
}


def lied(lie: Lie, folder: Path) -> tuple[Path, Path, Path]:
    """A certificate as it was, the lie about it, and the data."""
    make, change = lie
    honest, data = make(folder)
    content = copy.deepcopy(content_of(honest))
    change(content)
    return honest, signed(content, folder / "lie.cert"), data
