"""
Semantic deduplication of embeddings
====================================

A corpus has many texts that say the same in other words. Their embeddings lie close together, so that
near-duplicates are in one cluster, and only pairs within clusters have to be looked at. Here the embeddings
are made: topics, statements of each topic, copies of some of them with small and with larger changes, and
texts of no topic. What is dropped comes with the text that is kept for it and their similarity.

``python embeddings.py 1000000`` does the same with a million embeddings, on a GPU where torch sees one.
"""

# %%
# Made embeddings
# ---------------
# A third are copies. How much a copy is changed is drawn, too: from hardly to so much that it says something
# else.
import importlib.util
import sys
import time

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from dominantsets import DominantSets

size = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 10_000
n_topics, d = max(6, size // 10_000), 64
rng = np.random.default_rng(0)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


n_statements, n_copies = size // 2, size // 3
topics = unit(rng.normal(size=(n_topics, d)))
about = topics[rng.integers(n_topics, size=n_statements)]
originals = np.concatenate([
    unit(about + 0.6 * unit(rng.normal(size=about.shape))),
    unit(rng.normal(size=(size - n_statements - n_copies, d))),  # of no topic
])  # fmt: skip
origin = np.concatenate([np.arange(len(originals)), rng.integers(len(originals), size=n_copies)])
changes = rng.uniform(0.0, 0.4, size=(n_copies, 1)) * unit(rng.normal(size=(n_copies, d)))
X = np.concatenate([originals, unit(originals[origin[len(originals) :]] + changes)]).astype(np.float32)

# %%
# Clusters, where the rows are
# ----------------------------
# On unit vectors squared distances are cosines. A tensor on a card stays there.
data = X
if importlib.util.find_spec("torch"):
    import torch

    if torch.cuda.is_available():
        data = torch.from_numpy(X).cuda()
began = time.perf_counter()
model = DominantSets(n_topics, affinity="sqeuclidean").fit(data)
seconds_to_fit = time.perf_counter() - began
print(
    f"{model.n_clusters_} clusters, {(model.labels_ < 0).mean():.0%} in none of them: {seconds_to_fit:.1f} s."
)

# %%
# Pairs that are nearly the same
# ------------------------------
# Only texts of one cluster are compared; those of no cluster go with the clusters of the three exemplars that
# they are most alike.
LIMIT = 0.95
began = time.perf_counter()
outside = np.flatnonzero(model.labels_ < 0)
nearest = np.argsort(-X[outside] @ X[model.exemplars_].T, axis=1)[:, :3]
first, second = [], []
for k in range(model.n_clusters_):
    group = np.concatenate([np.flatnonzero(model.labels_ == k), outside[(nearest == k).any(axis=1)]])
    for begin in range(0, group.size, 2_000):
        i, j = np.nonzero(X[group[begin : begin + 2_000]] @ X[group].T > LIMIT)
        first.append(group[begin + i])
        second.append(group[j])
first, second = np.concatenate(first), np.concatenate(second)
alike = sp.csr_array((np.ones(first.size, dtype=bool), (first, second)), shape=(size, size))

# %%
# What is dropped, and why
# ------------------------
# The exemplars of the clusters come first, then the most typical texts. Each is kept, unless one that is kept
# already is nearly the same: then it is dropped for that one.
exemplar = np.zeros(size, dtype=bool)
exemplar[model.exemplars_] = True
kept_for = np.full(size, -1)
for text in np.lexsort((-model.probabilities_, ~exemplar)):
    if kept_for[text] < 0:
        same = alike.indices[alike.indptr[text] : alike.indptr[text + 1]]
        kept_for[same[kept_for[same] < 0]] = text
        kept_for[text] = text
seconds_to_drop = time.perf_counter() - began
dropped = np.flatnonzero(kept_for != np.arange(size))
similarity = np.einsum("ij,ij->i", X[dropped], X[kept_for[dropped]])
print(f"{dropped.size:,} of {size:,} texts are dropped ({seconds_to_drop:.1f} s); for example")
for i in range(0, dropped.size, max(1, dropped.size // 5)):
    print(f"  text {dropped[i]} for text {kept_for[dropped[i]]}: similarity {similarity[i]:.3f}")

# %%
# How good that is, what was made says: a drop is wrong where the two texts come from different originals, and
# a copy that is nearly the same as its original was missed where both are kept.
copies = np.arange(len(originals), size)
near = copies[np.einsum("ij,ij->i", X[copies], X[origin[copies]]) > LIMIT]
keeps = kept_for == np.arange(size)
missed = keeps[near] & keeps[origin[near]]
wrong = origin[dropped] != origin[kept_for[dropped]]
print(f"{near.size:,} copies are nearly the same as their original; both are kept of {missed.sum():,}.")
print(f"{wrong.sum():,} texts were dropped for one that says something else.")

# %%
# The limit parts what is dropped from what is kept within a cluster.
members = np.flatnonzero((model.labels_ == 0) & keeps)[:500]
others = (X[members] @ X[members].T)[np.triu_indices(members.size, k=1)]
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
bins = np.linspace(0.3, 1.0, 71)
ax.hist(similarity, bins, density=True, label="dropped, to what is kept for it")
ax.hist(others, bins, density=True, alpha=0.6, label="kept, to each other within a cluster")
ax.axvline(LIMIT, color="k", linewidth=1)
ax.set(xlabel="similarity", yticks=[])
ax.legend()
figure.savefig("embeddings.png", dpi=90)
