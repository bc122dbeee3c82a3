"""Generated documents: words from a topic, from what is common to all, and from texts that are quoted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

LENGTH, VOCABULARY = 60, 3_000
# number of topics, share of a document that is its topic's own, and how many words a topic has
SETTINGS = (
    (5, 0.3, 0.05),
    (5, 0.5, 0.05),
    (10, 0.4, 0.05),
    (20, 0.5, 0.05),
    (5, 0.25, 0.02),
    (10, 0.3, 0.02),
)


def topics(
    seed: int, k: int, own: float, spread: float, n: int = 1_200, quoted: float = 0.0
) -> tuple[sp.csr_array, np.ndarray]:
    """Counts of words and the topic of each document; ``quoted`` of them quote a text that others quote."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(1, VOCABULARY + 1) ** 1.05
    common /= common.sum()
    words = rng.dirichlet(common * VOCABULARY * spread, size=k)
    y = rng.integers(0, k, n)
    counts = np.empty((n, VOCABULARY), dtype=np.int64)
    for i in range(n):
        share = rng.beta(4 * own + 0.5, 4 * (1 - own) + 0.5)
        chances = share * words[y[i]] + (1 - share) * (0.7 * common + 0.3 * words[rng.integers(0, k)])
        counts[i] = rng.multinomial(rng.poisson(LENGTH) + 5, chances / chances.sum())
    done = 0
    while done < quoted * n:
        some, text = rng.choice(n, rng.integers(4, 12), replace=False), counts[rng.integers(n)].copy()
        counts[some] = counts[some] // 3 + 3 * text
        done += some.size
    return sp.csr_array(counts), y


def documents(seed: int) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Name, weighted words (sparse) or 20 directions of them, and topics."""
    for k, own, spread in SETTINGS:
        for quoted in (0.0, 0.04):
            counts, y = topics(seed, k, own, spread, quoted=quoted)
            X = sp.csr_array(TfidfTransformer().fit_transform(counts))
            name = f"{k} topics, {own:.0%} own, {spread:g}{', quotes' if quoted else ''}"
            yield f"{name}: words", X, y
            short = TruncatedSVD(20, random_state=0).fit_transform(X)
            yield f"{name}: directions", normalize(short), y
