"""
Topics of documents
===================

The documentation of SciPy as a corpus: what its functions say about themselves, as tf-idf, brought to few
dimensions and clustered, each topic with its words. The last part is the protocol by which BERTopic takes
any clusterer. Writes topics.png.
"""

from __future__ import annotations

import importlib
import inspect
import re

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import Normalizer

from dominantsets import DominantSets
from dominantsets.plotting import plt

ROOMS = ["fft", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "special", "stats"]
documents, rooms = [], []
for room in ROOMS:
    module = importlib.import_module(f"scipy.{room}")
    for name in sorted(module.__all__):
        text = inspect.getdoc(getattr(module, name)) or ""
        if len(text) > 400:
            documents.append(re.sub(r"[^a-zA-Z ]", " ", text.split("Examples")[0]))
            rooms.append(room)
rooms = np.array(rooms)

tfidf = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=4, max_df=0.3)
words = tfidf.fit_transform(documents)
X = Normalizer().fit_transform(TruncatedSVD(20, random_state=0).fit_transform(words))
model = DominantSets(9, affinity="cosine").fit(X)
print(f"{len(documents)} documents, {np.mean(model.labels_ < 0):.0%} in no topic")
print(f"agreement with the rooms of SciPy: ARI {adjusted_rand_score(rooms, model.labels_):.2f}")

# %%
# A topic's words are those that are more frequent in it than elsewhere.

names = tfidf.get_feature_names_out()
overall = np.asarray(words.mean(axis=0)).ravel()
for k in range(model.n_clusters_):
    here = np.asarray(words[model.labels_ == k].mean(axis=0)).ravel()
    best = names[np.argsort(overall - here)[:5]]
    room, count = np.unique(rooms[model.labels_ == k], return_counts=True)
    print(f"{k}: {', '.join(best)} ({np.sum(model.labels_ == k)} documents, most of {room[count.argmax()]})")

table = np.array([[np.sum((rooms == room) & (model.labels_ == k)) for k in range(-1, 9)] for room in ROOMS])
figure, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
ax.imshow(table / table.sum(axis=1, keepdims=True), cmap="Blues", aspect="auto")
ax.set(xticks=range(10), xticklabels=["none", *range(9)], xlabel="topic", yticks=range(9), yticklabels=ROOMS)
ax.set(title="where the documents of each room went")
figure.savefig("topics.png", dpi=90)

# %%
# BERTopic takes it as ``BERTopic(hdbscan_model=DominantSets(...))``: it calls ``fit(X)``, reads ``labels_``
# (-1 is its topic of outliers) and ``probabilities_``, and calls ``predict`` for new documents.

model.fit(X[::2])
print(model.labels_[:5], np.round(model.probabilities_[:5], 2), model.predict(X[1::2])[:5])
