"""Made records of persons, some several times with errors; made embeddings, some changed a little."""

from __future__ import annotations

from typing import Any

import numpy as np

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _damaged(text: str, edits: int, rng: Any) -> str:
    """A text with letters replaced, put in, left out, or exchanged with the next."""
    for _ in range(edits):
        i, letter = int(rng.integers(len(text))), LETTERS[rng.integers(26)]
        text = [
            text[:i] + letter + text[i + 1 :],
            text[:i] + letter + text[i:],
            (text[:i] + text[i + 1 :]) or letter,
            text[:i] + text[i + 1 : i + 2] + text[i] + text[i + 2 :],
        ][rng.integers(4)]
    return text


def records(n: int, share: float, most: int, edits: int, words: int, seed: int) -> tuple[list[str], Any]:
    """At least n records and the person of each.

    A share of the persons has 1 to ``most`` further records: of those a field in twelve is missing, in one of
    ten the names are exchanged, and 1 to ``edits`` letters are wrong. There are ``words`` first names, with
    frequencies that fall, as many last names, and fewer streets and towns.
    """
    rng = np.random.default_rng(seed)
    syllables = [
        a + b + c for a in "bcdfghklmnprstvw" for b in "aeiou" for c in ("", "n", "r") if rng.random() < 0.25
    ]
    pools, chances = [], []
    for size in (words, words, words // 2, words // 3):
        pools.append(["".join(rng.choice(syllables, int(rng.integers(2, 4)))) for _ in range(size)])
        weights = (1.0 + np.arange(size)) ** -0.7
        chances.append(weights / weights.sum())
    texts, persons, person = [], [], 0
    while len(texts) < n:
        first, last, street, town = (
            str(rng.choice(pool, p=chance)) for pool, chance in zip(pools, chances, strict=True)
        )
        house, post, born = rng.integers([1, 1_000, 19_300_101], [200, 9_999, 20_101_231])
        fields = [first, last, str(house), f"{street} street", town, str(post), str(born)]
        texts.append(" ".join(fields))
        for _ in range(rng.integers(1, most + 1) if rng.random() < share else 0):
            changed = [field if rng.random() > 1 / 12 else "" for field in fields]
            if rng.random() < 0.1:
                changed[0], changed[1] = changed[1], changed[0]
            text = " ".join(filter(None, changed)) or first
            texts.append(_damaged(text, int(rng.integers(1, edits + 1)), rng))
        persons += [person] * (len(texts) - len(persons))
        person += 1
    order = rng.permutation(len(texts))
    return [texts[i] for i in order], np.array(persons)[order]


def embeddings(size: int, dimensions: int, seed: int = 0) -> tuple[Any, Any]:
    """Unit vectors and the original of each: half are about topics, a third are changed copies of any."""
    rng = np.random.default_rng(seed)

    def unit(rows: Any) -> Any:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    def drawn(count: int) -> Any:
        return unit(rng.standard_normal((count, dimensions), dtype=np.float32))

    about, copies = size // 2, size // 3
    originals = size - copies
    topics = drawn(max(6, size // 10_000))
    X = np.empty((size, dimensions), dtype=np.float32)
    X[:about] = unit(topics[rng.integers(len(topics), size=about)] + np.float32(0.6) * drawn(about))
    X[about:originals] = drawn(originals - about)
    origin = np.concatenate([np.arange(originals), rng.integers(originals, size=copies)])
    change = rng.uniform(0.0, 0.4, size=(copies, 1)).astype(np.float32)
    X[originals:] = unit(X[origin[originals:]] + change * drawn(copies))
    return X, origin
