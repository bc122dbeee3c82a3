"""Labelled data that nobody planted: scikit-learn's sets, newsgroups, a protein network, shapes in the plane.

Each loader gives the objects and a list of labellings that are equally good; -1 is the reference's own noise,
-2 what it says nothing about. All but scikit-learn's sets are read from the folder DOMINANTSETS_DATA.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from _contest import folder, newsgroups

Loaded = tuple[Any, list[np.ndarray]]
BUNCHES = ("iris", "wine", "breast_cancer", "digits")
SMALLEST_COMPLEX = 3  # two proteins are an edge, not a group


def available() -> bool:
    return "DOMINANTSETS_DATA" in os.environ


def bunch(name: str, scaled: bool) -> Loaded:
    """A set of scikit-learn's, as it is or with each feature in units of its deviation."""
    from sklearn import datasets
    from sklearn.preprocessing import StandardScaler

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return (StandardScaler().fit_transform(X) if scaled else X), [y]


def documents(number: int) -> Loaded:
    """Five newsgroups as unit vectors of 20 dimensions."""
    X, y = newsgroups(number)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300), [y]


def shape_names() -> list[str]:
    """The sets of the folder ``shapes``."""
    return sorted(path.name.removesuffix(".data.gz") for path in (folder() / "shapes").glob("*.data.gz"))


def shape(name: str) -> Loaded:
    """One of them; its labels count from 1, and 0 is noise."""
    where: Path = folder() / "shapes"
    X = np.loadtxt(where / f"{name}.data.gz", ndmin=2)
    files = sorted(where.glob(f"{name}.labels*.gz"))
    return X, [np.loadtxt(file).astype(int) - 1 for file in files]


def network() -> tuple[Any, list[list[int]]]:
    """Collins' weighted network of yeast proteins, and the reference complexes, as numbers of its nodes."""
    lines = (folder() / "proteins" / "collins.tsv").read_text(encoding="utf-8").splitlines()
    edges = [line.split("\t") for line in lines]
    number = {name: i for i, name in enumerate(sorted({n for e in edges for n in e[:2]}))}
    i, j = (np.array([number[e[side]] for e in edges], dtype=np.int32) for side in (0, 1))
    A = sp.csr_array(sp.coo_array(([float(e[2]) for e in edges], (i, j)), shape=(len(number),) * 2))
    text = (folder() / "proteins" / "complexes.txt").read_text(encoding="utf-8")
    complexes = [[number[p] for p in line.split() if p in number] for line in text.splitlines()]
    return A.maximum(A.T), [c for c in complexes if len(c) >= SMALLEST_COMPLEX]


def collins() -> Loaded:
    """The network; complexes overlap, so the class of a protein is the tightest complex that it is in."""
    A, complexes = network()
    dense, y = A.toarray(), np.full(A.shape[0], -2)
    complexes.sort(key=lambda c: -dense[np.ix_(c, c)].sum() / (len(c) * (len(c) - 1)))
    for k, members in enumerate(complexes):
        y[[p for p in members if y[p] == -2]] = k
    return A, [y]
