"""The data of the family's study: the paper's own, graphs with known cliques, a network, digits."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits

from dominantsets.similarity import as_similarity
from dominantsets.studies.experiments import newsgroups, synthetic
from dominantsets.studies.experiments._common import StudyError

SMALLEST_COMPLEX = 3
PROTEIN_SETS, FEW_SETS = 150, 30  # that are peeled off the network, and in a quick run
FEWER = 4  # every so many-th object in a quick run

CLASSED = ("synthetic", "newsgroups", "digits", "Collins")  # first words of the names of data with classes
OF_FEATURES = ("newsgroups", "digits")
ONE_WAY = ("asymmetric",)  # similarities that differ in the two directions

# Graphs of codes among DIMACS's, by their definition: words of n bits (of one weight) that differ in at least
# d bits, and the clique number, the size of the largest code (Hasselberg, Pardalos and Vairaktarakis, 1993).
CODES: dict[str, tuple[int, int | None, int, int]] = {
    "hamming6-4": (6, None, 4, 4),
    "hamming6-2": (6, None, 2, 32),
    "johnson8-2-4": (8, 2, 4, 4),
    "johnson8-4-4": (8, 4, 4, 14),
}


class Task(NamedTuple):
    """A data set, and what is asked of it."""

    group: str  # synthetic, newsgroups, digits, cliques, network or asymmetric
    A: Any  # the similarity: dense, or CSR
    shift: float
    k: int  # clusters to be peeled
    y: Any = None  # classes
    features: Any = None  # under cosine, where A is made of them
    omega: int = 0  # the clique number
    complexes: tuple[frozenset[int], ...] = ()


def names(quick: bool) -> list[str]:
    """The data sets of a run; those that cannot be had here say so when they are asked for."""
    graphs = [*CODES] if data_folder() is None else [*_dimacs_facts()]
    if quick:
        return [
            *("synthetic 0.4", "newsgroups 1", "digits", "Collins", "asymmetric 0.4"),
            *("hamming6-2", "johnson8-4-4"),
        ]
    levels = [f"synthetic {p}" for p in (0.2, 0.4, 0.6)]
    real = [*(f"newsgroups {k}" for k in newsgroups.CATEGORIES), "digits", "Collins"]
    return [*levels, *real, *(f"asymmetric {p}" for p in (0.2, 0.4, 0.6)), *graphs]


def data_folder() -> Path | None:
    """Where real data are, if anywhere."""
    folder = os.environ.get("DOMINANTSETS_DATA")
    return Path(folder) if folder else None


@lru_cache(maxsize=2)
def load(name: str, quick: bool) -> Task:
    """A data set by its name; :class:`StudyError` where it is not here."""
    kind, _, which = name.partition(" ")
    loaders: dict[str, Callable[[], Task]] = {
        "synthetic": lambda: _synthetic(float(which)),
        "newsgroups": lambda: _newsgroups(int(which), quick),
        "digits": lambda: _digits(quick),
        "Collins": lambda: _collins(quick),
        "asymmetric": lambda: _asymmetric(float(which)),
    }
    return loaders.get(kind, lambda: _clique(name))()


def _synthetic(p: float) -> Task:
    A, y = synthetic.similarity(p, 0)
    return Task("synthetic", A, synthetic.ASSUMED, synthetic.K, y)


def _asymmetric(p: float) -> Task:
    """The synthetic similarities with each direction drawn by itself."""
    one, y = synthetic.similarity(p, 0)
    rng = np.random.default_rng(1)
    other = rng.random(one.shape) * (rng.random(one.shape) >= p) * np.equal.outer(y, y)
    return Task("asymmetric", np.triu(one, 1) + np.tril(other, -1), synthetic.ASSUMED, synthetic.K, y)


def _newsgroups(k: int, quick: bool) -> Task:
    X, y = newsgroups.features(k, 0)
    return _of_features("newsgroups", X, y, newsgroups.K, quick)


def _digits(quick: bool) -> Task:
    X, y = load_digits(return_X_y=True)
    return _of_features("digits", X, y, 10, quick)


def _of_features(group: str, X: Any, y: Any, k: int, quick: bool) -> Task:
    """Cosine + 1, with the newsgroups' shift: digits are as many, and nothing is tuned on them."""
    shift = newsgroups.SHIFT
    if quick:  # a shift means the same in proportion to n
        X, y, shift = X[::FEWER], y[::FEWER], shift / FEWER
    return Task(group, as_similarity(X, "cosine").toarray(), shift, k, y, X)


def _clique(name: str) -> Task:
    """A 0/1 graph; with shift -1/2 its strict maxima are its maximal cliques (Bomze, 1997)."""
    if name in CODES:
        bits, weight, distance, omega = CODES[name]
        words = np.array(list(product((0, 1), repeat=bits)))
        words = words if weight is None else words[words.sum(axis=1) == weight]
        A = (np.abs(words[:, None] - words).sum(axis=2) >= distance).astype(np.float64)
        return Task("cliques", A, -0.5, 1, omega=omega)
    facts, folder = _dimacs_facts()[name], data_folder()
    assert folder is not None
    n = facts["n"]
    A = np.zeros((n, n))
    with np.load(folder / "cliques" / "dimacs.npz") as file:
        A[np.triu_indices(n, 1)] = np.unpackbits(file[name])[: n * (n - 1) // 2]
    return Task("cliques", A + A.T, -0.5, 1, omega=facts["omega"])


def _dimacs_facts() -> dict[str, dict[str, int]]:
    folder = data_folder()
    path = folder / "cliques" / "dimacs.json" if folder else None
    if path is None or not path.exists():
        return {}
    facts: dict[str, dict[str, int]] = json.loads(path.read_text(encoding="utf-8"))
    return facts


def _collins(quick: bool) -> Task:
    """Collins' network of yeast proteins, at shift 0; a protein's class is its tightest complex."""
    folder = data_folder()
    if folder is None or not (folder / "proteins" / "collins.tsv").exists():
        raise StudyError(
            "Collins' network of proteins is not here (DOMINANTSETS_DATA names no folder with it)."
        )
    lines = (folder / "proteins" / "collins.tsv").read_text(encoding="utf-8").splitlines()
    edges = [line.split("\t") for line in lines]
    number = {name: i for i, name in enumerate(sorted({name for edge in edges for name in edge[:2]}))}
    i, j = (np.array([number[edge[side]] for edge in edges], dtype=np.int32) for side in (0, 1))
    A = sp.csr_array(sp.coo_array(([float(edge[2]) for edge in edges], (i, j)), shape=(len(number),) * 2))
    A = A.maximum(A.T)
    text = (folder / "proteins" / "complexes.txt").read_text(encoding="utf-8")
    known = [[number[p] for p in line.split() if p in number] for line in text.splitlines()]
    known = [c for c in known if len(c) >= SMALLEST_COMPLEX]
    dense, y = A.toarray(), np.full(len(number), -1)
    for k, members in enumerate(
        sorted(known, key=lambda c: -dense[np.ix_(c, c)].sum() / (len(c) * (len(c) - 1)))
    ):
        y[[p for p in members if y[p] < 0]] = k
    k = FEW_SETS if quick else PROTEIN_SETS
    return Task("network", A, 0.0, k, y, complexes=tuple({frozenset(c) for c in known}))
