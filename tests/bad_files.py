"""Whole small files of every format, and a seeded generator of damaged ones."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp

X = np.random.default_rng(0).normal(size=(6, 3)).round(3)
ODD = [
    b"0", b"-1", b"1e999", b"nan", b"99999999999999999999", b"9" * 5000, b'"', b"'", b"\0", b"\n", b"\r",
    b"\t", b",", b"\x1c", b"\x85", b"(", b"{", b"<", b"&lol;", b"%s", b"\xff\xfe", b"\xf0\x9f", b"True",
    b"__import__", b"O", b"|O", b"\x00\x00\x00\x80", b"\xff\xff\xff\xff", b"#", b"1_0", b";", b"]]>", b"<!DOCTYPE a>",
]  # fmt: skip


def _bytes(write: Callable[[Any], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


FRAME = pd.DataFrame(X, columns=list("xyz")).assign(kind=list("aabbcc"))
WHOLE: dict[str, list[bytes]] = {
    "csv": [FRAME.to_csv(index=False).encode(), b'"x, 1",y\n1,2\n"3",4\n'],
    "tsv": [FRAME.to_csv(index=False, sep="\t").encode(), b"1\t2\n3\t4\n"],
    "npy": [_bytes(lambda f: np.save(f, X)), _bytes(lambda f: np.save(f, X.astype("f4").T))],
    "npz": [
        _bytes(lambda f: np.savez(f, X=X)),
        _bytes(lambda f: np.savez_compressed(f, a=X)),
        _bytes(lambda f: sp.save_npz(f, sp.csr_array(X))),
    ],
    "mtx": [
        b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 1 2.0\n",
        b"%%MatrixMarket matrix array real symmetric\n2 2\n0\n1.5\n0\n",
    ],
    "edges": [b"a b 1\nb c 2\n", b"source,target,weight\na,b,1\nb,c,0.5\n"],
    "graphml": [_bytes(lambda f: nx.write_graphml(nx.path_graph(4), f))],
    "parquet": [
        _bytes(lambda f: FRAME.drop(columns="kind").to_parquet(f)),
        _bytes(lambda f: FRAME.to_parquet(f, index=False)),
    ],
}
FORMATS = tuple(WHOLE)
COLUMNS = {"csv": "kind", "tsv": "kind", "parquet": "kind"}  # asked for in half of the files


def damaged(number: int) -> tuple[str, bytes, str | None]:
    """A format, the bytes of a file, and a column to ask for; the same for the same number."""
    rng = random.Random(number)
    format = FORMATS[number % len(FORMATS)]
    raw = bytearray(rng.choice(WHOLE[format]))
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(raw) + 1)
        how = rng.randrange(7)
        if how == 0:  # one bit
            raw[at : at + 1] = bytes(b ^ (1 << rng.randrange(8)) for b in raw[at : at + 1])
        elif how == 1:
            raw[at : at + rng.randint(1, 4)] = rng.randbytes(rng.randint(0, 4))
        elif how == 2:
            raw[at:at] = rng.choice(ODD)
        elif how == 3:
            raw[at : at + rng.randint(1, 8)] = rng.choice(ODD)
        elif how == 4:  # cut off
            del raw[at:]
        elif how == 5:  # a piece twice
            raw[at:at] = raw[at : at + rng.randint(1, 64)]
        else:  # a piece of another file
            other = rng.choice(WHOLE[rng.choice(FORMATS)])
            start = rng.randrange(len(other))
            raw[at:at] = other[start : start + rng.randint(1, 40)]
        if not raw:
            break
    return format, bytes(raw), COLUMNS.get(format) if rng.random() < 0.5 else None
