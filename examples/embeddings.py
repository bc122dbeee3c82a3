"""
Semantic deduplication of embeddings
====================================

A corpus has many texts that say the same in other words. Their embeddings lie close together, so that
near-duplicates are always in one cluster, and only pairs within clusters have to be looked at. Here the
embeddings are made: topics, statements of each topic, and copies of some statements with small changes; a
fifth are texts of no topic. What is dropped comes with the text that is kept for it and their similarity.

``python embeddings.py 1000000`` does the same with a million embeddings, on a GPU where torch sees one.
"""

# %%
# Made embeddings
# ---------------
import importlib.util
import sys

import matplotlib.pyplot as plt
import numpy as np

from dominantsets import DominantSets

size = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 3_000
n_topics, d = max(6, size // 10_000), 64
rng = np.random.default_rng(0)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


topics = unit(rng.normal(size=(n_topics, d)))
n_statements = size // 2  # of topics; the others are copies of them, and texts of no topic
topic = rng.integers(n_topics, size=n_statements)
statements = unit(topics[topic] + 0.6 * unit(rng.normal(size=(n_statements, d))))
copied = rng.integers(n_statements, size=int(0.3 * size))
copies = unit(statements[copied] + 0.15 * unit(rng.normal(size=(copied.size, d))))
alone = unit(rng.normal(size=(size - n_statements - copied.size, d)))
X = np.concatenate([statements, copies, alone]).astype(np.float32)

# %%
# Clusters, where the rows are
# ----------------------------
# On unit vectors squared distances are cosines. A tensor on a card stays there.
data = X
if importlib.util.find_spec("torch"):
    import torch

    if torch.cuda.is_available():
        data = torch.from_numpy(X).cuda()
model = DominantSets(n_topics, affinity="sqeuclidean").fit(data)
print(f"{model.n_clusters_} clusters, {(model.labels_ < 0).mean():.0%} in none of them.")

# %%
# What is dropped, and why
# ------------------------
# Within a cluster the most typical text comes first; one that is more alike than 0.95 to a text that is kept
# already is dropped for it. The exemplar of a cluster is kept first of all.
LIMIT = 0.95
kept_for = np.arange(len(X))  # itself, for what is kept
for k in range(model.n_clusters_):
    members = np.flatnonzero(model.labels_ == k)
    first = members == model.exemplars_[k]
    members = members[np.lexsort((-model.probabilities_[members], ~first))]
    alike = X[members] @ X[members].T > LIMIT
    taken = np.zeros(members.size, dtype=bool)
    for i in range(members.size):
        if not taken[i]:
            same = alike[i] & ~taken
            kept_for[members[same]] = members[i]
            taken |= same
dropped = np.flatnonzero(kept_for != np.arange(len(X)))
similarity = np.einsum("ij,ij->i", X[dropped], X[kept_for[dropped]])
print(f"{dropped.size:,} of {len(X):,} texts are dropped; for example")
for i in range(0, dropped.size, max(1, dropped.size // 5)):
    print(f"  text {dropped[i]} for text {kept_for[dropped[i]]}: similarity {similarity[i]:.3f}")

# %%
# What was made says how good that is: a copy counts as found where it, its original or another copy of it is
# kept for it, and a drop is wrong where the two come from different statements.
origin = np.concatenate([np.arange(n_statements), copied, n_statements + np.arange(len(alone))])
wrong = origin[dropped] != origin[kept_for[dropped]]
spare = len(X) - np.unique(origin).size
right = np.count_nonzero(~wrong) / spare
print(f"{right:.1%} of the {spare:,} spare texts were dropped, and {wrong.sum()} others.")

# %%
# The limit lies where few pairs are: copies are above it, and what is kept of a cluster is below.
members = np.flatnonzero((model.labels_ == 0) & (kept_for == np.arange(len(X))))[:500]
others = (X[members] @ X[members].T)[np.triu_indices(members.size, k=1)]
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
bins = np.linspace(0.3, 1.0, 71)
ax.hist(similarity, bins, density=True, label="dropped, to what is kept for it")
ax.hist(others, bins, density=True, alpha=0.6, label="kept, to each other within a cluster")
ax.axvline(LIMIT, color="k", linewidth=1)
ax.set(xlabel="similarity", yticks=[])
ax.legend()
figure.savefig("embeddings.png", dpi=90)
