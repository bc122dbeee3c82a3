"""
Evidence for a question: relevant, and not the same thing twice
===============================================================

The passages that are most like a question are often like each other. A constrained dominant set around the
question, in which passages are alike where they *differ*, is relevant and diverse at once; nothing is
trained. The passages are paragraphs of SciPy's documentation. Writes evidence.png.
"""

from __future__ import annotations

import importlib
import inspect

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from dominantsets import as_similarity, solve
from dominantsets.plotting import plt

QUESTION = "How is a minimum of a function found when there are bounds or constraints on the variables?"
NEAR = 80  # passages that are looked at: the nearest to the question

# %%
# Passages
# --------

passages = []
for room in ("optimize", "stats", "linalg", "signal", "interpolate", "integrate"):
    module = importlib.import_module(f"scipy.{room}")
    for name in sorted(module.__all__):
        text = (inspect.getdoc(getattr(module, name)) or "").split("Examples\n---")[0]
        passages += [" ".join(part.split()) for part in text.split("\n\n") if 120 < len(part) < 900]
passages = list(dict.fromkeys(passages))
tfidf = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit(passages)
rows, asked = tfidf.transform(passages), tfidf.transform([QUESTION])
relevance = (rows @ asked.T).toarray().ravel()
near = np.argsort(-relevance, kind="stable")[:NEAR]
print(f"{len(passages):,} passages; the {NEAR} nearest to the question are looked at")

# %%
# One problem for both wishes
# ---------------------------
# The question is object 0. It is alike to a passage by relevance; two passages are alike where they have
# little in common. The set around the question then has passages with a high payoff: relevant, and unlike the
# others.

between = (rows[near] @ rows[near].T).toarray()
A = np.zeros((NEAR + 1, NEAR + 1))
A[1:, 1:] = np.outer(relevance[near], relevance[near]) / relevance.max() ** 2 * (1.0 - between)
A[0, 1:] = A[1:, 0] = relevance[near] / relevance.max()
np.fill_diagonal(A, 0.0)
A = np.maximum(A, 0.0)
chosen = solve(as_similarity(A), seeds=0, seed_shift=0.2)
order = np.argsort(-chosen.weights)
picked = near[chosen.members[order][chosen.members[order] > 0] - 1][:8]
plain = near[: picked.size]
print(f"{len(chosen) - 1} passages in the set, gap {chosen.relative_gap:.0e}; the heaviest:")
for i in picked[:5]:
    print(f"- {passages[i][:110]} ...")

# %%
# What is gained, and what it costs
# ---------------------------------


def described(some: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Mean relevance, mean similarity of two different passages, and all similarities."""
    common = (rows[some] @ rows[some].T).toarray()
    off = common[np.triu_indices_from(common, 1)]
    return float(relevance[some].mean()), float(off.mean()), common


figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for ax, some, title in ((axes[0], plain, "nearest to the question"), (axes[1], picked, "the set around it")):
    relevant, alike, common = described(some)
    print(f"{title}: mean relevance {relevant:.2f}, mean similarity of two {alike:.2f}")
    ax.imshow(common, vmin=0.0, vmax=1.0, cmap="Blues")
    ax.set_title(f"{title}\nrelevance {relevant:.2f}, alike {alike:.2f}", fontsize=10)
    ax.set(xticks=[], yticks=[])
figure.savefig("evidence.png", dpi=90)
