"""
Topics with BERTopic
====================

BERTopic takes any clusterer as ``hdbscan_model=``. Here it gets the documentation of scikit-learn as its
corpus, as tf-idf brought to few dimensions, so that nothing is downloaded; with sentence embeddings and UMAP
the one line about ``DominantSets`` stays as it is. Needs bertopic; without it the page says so. Writes
topics_bertopic.png.
"""

from __future__ import annotations

import importlib
import inspect
import re
from importlib.util import find_spec

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import Normalizer

from dominantsets import DominantSets
from dominantsets.plotting import plt

ROOMS = [
    "cluster",
    "covariance",
    "datasets",
    "ensemble",
    "linear_model",
    "metrics",
    "neighbors",
    "preprocessing",
]
documents, rooms = [], []
for room in ROOMS:
    module = importlib.import_module(f"sklearn.{room}")
    for name in sorted(module.__all__):
        text = (inspect.getdoc(getattr(module, name)) or "").split("Examples\n---")[0]
        if len(text) > 400:
            documents.append(re.sub(r"[^a-zA-Z ]", " ", text))
            rooms.append(room)
words = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=3, max_df=0.4).fit_transform(
    documents
)
embeddings = Normalizer().fit_transform(TruncatedSVD(20, random_state=0).fit_transform(words))


# %%
# ``noise`` is the dial of BERTopic's topic -1: here the documents that lie farthest out, one in ten. The five
# dimensions come from a PCA; BERTopic's own choice is UMAP.


def topics() -> None:
    """Fit BERTopic, print its topics, place new documents, and draw how sure it is."""
    from bertopic import BERTopic
    from bertopic.backend import BaseEmbedder
    from sklearn.decomposition import PCA

    model = DominantSets(8, affinity="sqeuclidean", noise=0.1)
    topic_model = BERTopic(
        embedding_model=BaseEmbedder(),
        umap_model=PCA(5, random_state=0),
        hdbscan_model=model,
        vectorizer_model=CountVectorizer(stop_words="english", min_df=2),
    )
    found, probabilities = topic_model.fit_transform(documents, embeddings)
    print(topic_model.get_topic_info()[["Topic", "Count", "Name"]].to_string(index=False))
    again, _ = topic_model.transform(documents[:20], embeddings[:20])
    print("the first documents, as new ones:", list(map(int, again)))

    figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    for topic in sorted(set(found)):
        sure = np.sort(probabilities[np.array(found) == topic])[::-1]
        ax.plot(np.arange(1, sure.size + 1), sure, label=f"topic {topic}")
    ax.set(
        xlabel="documents", ylabel="how typical of its topic", title="probabilities_, as BERTopic has them"
    )
    ax.legend(fontsize=7, ncols=2)
    figure.savefig("topics_bertopic.png", dpi=90)


if find_spec("bertopic") is None:
    print("pip install bertopic, and run this page again")
else:
    topics()
