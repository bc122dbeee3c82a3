"""
The set around a word
=====================

A constrained dominant set has the object that was asked for: here a word, and the words that belong with it
and with each other. With DOMINANTSETS_DATA set to a folder that has ``vectors/glove6b_100d_top50k.npz``
(``X`` and ``words``: 50,000 GloVe vectors) those are used; without it vectors are made here, from what the
functions of SciPy, NumPy and scikit-learn say about themselves. Writes words.png.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer

from dominantsets import as_similarity, solve
from dominantsets.plotting import plt

# %%
# Vectors
# -------
# Without GloVe: words that stand in the same paragraphs are alike. Counts of pairs, compared with what chance
# would give (positive pointwise mutual information), brought to 50 dimensions.

ROOMS = ["fft", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "stats"]
LEARN = ["cluster", "decomposition", "ensemble", "linear_model", "metrics", "neighbors", "svm"]


def paragraphs() -> list[str]:
    rooms = ["numpy", *(f"scipy.{room}" for room in ROOMS), *(f"sklearn.{room}" for room in LEARN)]
    texts = []
    for module in map(importlib.import_module, rooms):
        for name in sorted(module.__all__):
            text = (inspect.getdoc(getattr(module, name, None)) or "").split("Examples")[0]
            texts += [part for part in text.split("\n\n") if len(part) > 60]
    return [re.sub(r"[^a-zA-Z ]", " ", text) for text in dict.fromkeys(texts)]


def vectors() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Vectors, their words, and those to ask for."""
    file = Path(os.environ.get("DOMINANTSETS_DATA", "")) / "vectors" / "glove6b_100d_top50k.npz"
    if file.is_file():
        with np.load(file, allow_pickle=False) as stored:
            return stored["X"].astype(np.float64), stored["words"], ["guitar", "virus", "cheese"]
    counter = CountVectorizer(stop_words="english", min_df=12, binary=True, token_pattern=r"[a-zA-Z]{3,}")
    counts = counter.fit_transform(paragraphs())
    pairs = (counts.T @ counts).toarray().astype(np.float64)
    single = np.diag(pairs).copy()
    chance = np.outer(single, single) / counts.shape[0]
    information = np.log(np.maximum(pairs / chance, 1.0))
    X = TruncatedSVD(50, random_state=0).fit_transform(information)
    return X, counter.get_feature_names_out(), ["eigenvalues", "frequency", "triangulation"]


X, words, queries = vectors()
print(f"{len(words):,} words in {X.shape[1]} dimensions")

# %%
# Sets
# ----
# The others have a larger shift than the word itself, which draws the set to it. ``"auto"`` would guarantee
# the word whatever the start, and makes sets of thousands. With so little as here a word that stands near
# many dense groups (*bank*, *distribution*) is lost to one of them, and a warning says so.

similarity = as_similarity(X, "cosine")
found = {}
for query in queries:
    found[query] = around = solve(similarity, seeds=int(np.flatnonzero(words == query)[0]), seed_shift=4.0)
    heaviest = words[around.members[np.argsort(-around.weights)[:8]]]
    print(f"{query}: {len(around)} words, gap {around.relative_gap:.0e}: {', '.join(heaviest)}")

# %%
# Weights say who is typical of the set; the word itself has the largest, because its own shift is smaller.

figure, axes = plt.subplots(1, len(queries), figsize=(9, 3.4), layout="constrained")
for ax, (query, around) in zip(axes, found.items(), strict=True):
    order = np.argsort(-around.weights)[1:13]
    ax.barh(range(order.size), around.weights[order], color="#0072B2")
    ax.set(yticks=range(order.size), yticklabels=words[around.members[order]], xticks=[])
    ax.set_title(f"around “{query}”", fontsize=10)
    ax.invert_yaxis()
figure.savefig("words.png", dpi=90)
