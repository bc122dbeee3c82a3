"""Readers and writers: what goes in comes out, and whatever is wrong gets one sentence."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import sys
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dominantsets.app import files
from dominantsets.app.files import FileError, read
from support import random_similarity

X = np.random.default_rng(0).normal(size=(6, 3)).round(3)
CLASSES = list("aabbcc")


def write_csv(path, delimiter=",", header=True):
    lines = [delimiter.join([*"xyz", "kind"])] if header else []
    lines += [delimiter.join([*map(str, row), c]) for row, c in zip(X, CLASSES, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize(("name", "delimiter"), [("a.csv", ","), ("a.tsv", "\t"), ("a.tab", "\t")])
@pytest.mark.parametrize("header", [True, False])
def test_text_tables(tmp_path, name, delimiter, header):
    path = tmp_path / name
    write_csv(path, delimiter, header)
    for column in ("kind", "4") if header else ("4",):
        table = read(str(path), label_column=column)
        np.testing.assert_array_equal(table.data, X)
        assert table.classes.tolist() == CLASSES


def test_text_oddities(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(b'\xef\xbb\xbf"x, first",y,name\r\n\r\n1,2e3,"o, 1"\r\n-3,+4,p\r\n')
    table = read(str(path), id_column="name")
    np.testing.assert_array_equal(table.data, [[1, 2000], [-3, 4]])
    assert table.ids == ["o, 1", "p"]
    path.write_text("1_0,2\n3,4\n", encoding="utf-8")  # what float() takes
    np.testing.assert_array_equal(read(str(path)).data, [[10, 2], [3, 4]])


def test_arrays_and_parquet(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "a.npz", X=X, other=np.ones(2))
    np.savez(tmp_path / "one.npz", whatever=X)
    sp.save_npz(tmp_path / "s.npz", sp.csr_array(X))
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.csr_array(X))
    scipy.io.mmwrite(tmp_path / "d.mtx", X)
    A = random_similarity(7, seed=0, zeros=0.4)
    scipy.io.mmwrite(tmp_path / "symmetric.mtx", sp.csr_array(A), symmetry="symmetric")
    scipy.io.mmwrite(tmp_path / "triangle.mtx", A, symmetry="symmetric")
    scipy.io.mmwrite(tmp_path / "pattern.mtx", sp.csr_array(A), field="pattern")
    np.testing.assert_allclose(read(str(tmp_path / "symmetric.mtx")).data.toarray(), A)
    np.testing.assert_allclose(read(str(tmp_path / "triangle.mtx")).data, A)
    np.testing.assert_array_equal(read(str(tmp_path / "pattern.mtx")).data.toarray(), A > 0)
    frame = pd.DataFrame(X, columns=list("xyz")).assign(kind=CLASSES)
    frame.to_parquet(tmp_path / "a.parquet")
    for name in ("a.npy", "a.npz", "one.npz", "s.npz", "a.mtx", "d.mtx"):
        data = read(str(tmp_path / name)).data
        np.testing.assert_allclose(data.toarray() if sp.issparse(data) else data, X)
    table = read(str(tmp_path / "a.parquet"), label_column="kind")
    np.testing.assert_array_equal(table.data, X)
    assert table.classes.tolist() == CLASSES
    assert isinstance(read(str(tmp_path / "a.npy")).data, np.memmap)  # in place


def test_graphs(tmp_path):
    edges = tmp_path / "a.edges"
    edges.write_text("# a comment\nu v weight\nu v 2\nv u 3\nv,w\nw\tw\t9\n\n", encoding="utf-8")
    table = read(str(edges))
    assert table.graph
    assert table.ids == ["u", "v", "w"]
    # given twice: the larger weight, once; no weight: 1; a loop is no edge
    np.testing.assert_array_equal(table.data.toarray(), [[0, 3, 0], [3, 0, 1], [0, 1, 0]])
    graph = nx.karate_club_graph()
    nx.write_graphml(graph, tmp_path / "k.graphml")
    table = read(str(tmp_path / "k.graphml"))
    np.testing.assert_array_equal(table.data.toarray(), nx.to_numpy_array(graph))
    assert table.ids == [str(k) for k in range(34)]


def test_standard_input(monkeypatch):
    class Stream:
        def __init__(self, raw):
            self.buffer = io.BytesIO(raw)

    monkeypatch.setattr(sys, "stdin", Stream(b"1,2\n3,4\n"))
    np.testing.assert_array_equal(read("-").data, [[1, 2], [3, 4]])
    for format, save in (
        ("npy", lambda f: np.save(f, X)),
        ("npz", lambda f: sp.save_npz(f, sp.csr_array(X))),
    ):
        raw = io.BytesIO()
        save(raw)
        monkeypatch.setattr(sys, "stdin", Stream(raw.getvalue()))
        data = read("-", format=format).data
        np.testing.assert_array_equal(data.toarray() if sp.issparse(data) else data, X)


def truncated(save, share=0.6):
    raw = io.BytesIO()
    save(raw)
    return raw.getvalue()[: int(share * len(raw.getvalue()))]


def archive(**members):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as out:
        for name, content in members.items():
            out.writestr(f"{name}.npy", content)
    return raw.getvalue()


class Trap:
    def __reduce__(self):
        return os.system, ("touch trapped",)


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("a.csv", b"", "empty"),
        ("a.csv", b"\n  \n", "empty"),
        ("a.csv", b"a,b\n", "a line of names and no data"),
        ("a.csv", b"a,b\n1,2\n3\n", "line 3 has 1 columns, the first one 2"),
        ("a.csv", b"1,2\n3,4,5\n", "line 2 has 3 columns"),
        ("a.csv", b"a,b\n1,2\n3,x\n", "line 3, column 'b' holds 'x', which is not a number"),
        ("a.csv", b"a,b\n1,\n", "line 2, column 'b' is empty"),
        ("a.csv", b"a,b\n1,2\n\xff\xfe,3\n", "line 3, column 'a' holds 'ÿþ'"),
        ("a.csv", b"a,b\n1,2\n\x8f,3\n", "line 3 is not UTF-8 text; save it as UTF-8"),
        ("a.xlsx", b"PK", "save it as CSV"),
        ("a.csv", b"\x89PNG\0\0", "not a text file"),
        ("a.csv", b",".join([b"1"] * 1_000_000), "1,000,000 columns; are the objects its columns"),
        ("a.tsv", b"x\ty\n1\ta\n2\tb\n", "column 'y' holds text, not numbers: leave it out with --drop y"),
        ("a.csv", b"x,y,z\n1,a,p q\n2,b,r\n", "columns 'y', 'z' hold text, .* with --drop y,z"),
        ("a.csv", b"# nothing\n# else\n", "comments and no data"),
        ("a.csv.gz", b"1,2\n3,4\n", "not a whole .gz file"),
        ("a.csv.gz", gzip.compress(b"1,2\n" * 99, mtime=0)[:-9], "not a whole .gz file"),
        ("a.gexf", b"<gexf", "not a whole GEXF"),
        ("a.npy", b"not numpy at all", "not a whole .npy file"),
        ("a.npy", truncated(lambda f: np.save(f, X)), "not a whole .npy file"),
        ("a.npy", truncated(lambda f: np.save(f, X), 1).replace(b"False", b"#alse"), "not a whole .npy file"),
        ("a.npy", pickle.dumps(Trap()), "not a whole .npy file"),
        ("a.npy", truncated(lambda f: np.save(f, np.array([Trap()], dtype=object)), 1), "not a whole .npy"),
        ("a.npy", truncated(lambda f: np.save(f, np.ones(3)), 1), r"shape \(3,\)"),
        ("a.npy", truncated(lambda f: np.save(f, np.array([["a"]])), 1), "holds <U1, not numbers"),
        ("a.npy", truncated(lambda f: np.savez(f, X), 1), "archive with the ending of an .npy"),
        ("a.npz", b"PK but no archive", "not a whole .npz"),
        ("a.npz", truncated(lambda f: np.savez(f, X)), "not a whole .npz"),
        ("a.npz", archive(X=pickle.dumps(Trap())), "not an array"),
        ("a.npz", archive(), "no arrays"),
        ("a.npz", truncated(lambda f: np.savez(f, p=X, q=X), 1), "which of its arrays"),
        ("a.npz", archive(format=b"\x93NUMPY", data=b""), "(damaged|not a whole)"),
        ("a.mtx", b"nothing of the kind", "line 1 is not '%%MatrixMarket"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n", "a complex general"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate real general\n", "does not give the size"),
        (
            "a.mtx",
            b"%%MatrixMarket matrix coordinate real general\n2 -2 5\n1 1 1\n",
            "does not give the size",
        ),
        (
            "a.mtx",
            b"%%MatrixMarket matrix coordinate real general\n2 2 5\n1 1 1\n",
            "1 entries, .* promise 5",
        ),
        ("a.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", "line 3 is outside"),
        ("a.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 1\n", "line 3 does not hold 3"),
        (
            "a.mtx",
            b"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n",
            "cannot have 2 rows and 3",
        ),
        ("a.mtx", b"%%MatrixMarket matrix array real general\n9999999 9999999\n1\n", "needs .* GB"),
        ("a.parquet", b"PAR1 and no more", "not a Parquet file"),
        ("a.edges", b"u v w x\n", "line 1 has 4 columns"),
        ("a.edges", b"u v 1\nu w heavy\n", "line 2 has the weight 'heavy'"),
        ("a.edges", b"u v nan\n", "NaN or infinite"),
        ("a.edges", b"# nothing\n", "no edges"),
        ("a.graphml", b"<graphml", "not a whole GraphML"),
        ("a.xyz", b"1", "ending .xyz is not known"),
    ],
    ids=lambda part: "" if isinstance(part, bytes) else None,  # archives have the time of day in them
)
def test_malformed_files_get_one_sentence(tmp_path, monkeypatch, name, raw, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(FileError, match=words) as caught:
        read(name)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{name}: ")
    assert not (tmp_path / "trapped").exists()


def test_a_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    """A few kilobytes that unpack to more than there is: refused from the archive's own directory."""
    path = tmp_path / "bomb.npz"
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (2**21, 1)}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("X.npy", header.getvalue() + bytes(8 * 2**21))
    assert path.stat().st_size < 20_000
    monkeypatch.setattr("dominantsets._checks.memory_available", lambda: 10**6)
    with pytest.raises(FileError, match=r"unpacks to needs 0.0 GB"):
        read(str(path))


def test_not_a_file(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        read(str(tmp_path / "none.csv"))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match="a directory"):
        read(str(tmp_path / "folder.csv"))
    write_csv(tmp_path / "a.csv")
    with pytest.raises(FileError, match="no column 'species'; its columns are: x, y, z, kind"):
        read(str(tmp_path / "a.csv"), label_column="species")
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(FileError, match="no named columns"):
        read(str(tmp_path / "a.npy"), label_column="x")


def test_no_permission_is_a_sentence(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    write_csv(path)

    def denied(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", denied)
    with pytest.raises(FileError, match="Permission denied"):
        read(str(path))


FUZZ = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
SEEDS = {
    "csv": b"x,y,kind\n1,2,a\n3,4,b\n",
    "tsv": b"1\t2\n3\t4\n",
    "npy": truncated(lambda f: np.save(f, X), 1),
    "npz": truncated(lambda f: np.savez(f, X=X), 1),
    "mtx": b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n2 1 2.0\n",
    "edges": b"a b 1\nb c 2\n",
    "graphml": b"<graphml><graph><node id='a'/><node id='b'/><edge source='a' target='b'/></graph></graphml>",
    "parquet": truncated(lambda f: pd.DataFrame(X, columns=list("xyz")).to_parquet(f), 1),
}


@pytest.mark.parametrize("format", list(SEEDS))
@FUZZ
@given(data=st.data())
def test_readers_take_anything_or_say_a_sentence(tmp_path, format, data):
    """Random bytes, and whole files with some bytes changed, cut out or put in."""
    raw = bytearray(data.draw(st.one_of(st.binary(max_size=200), st.just(SEEDS[format]))))
    for _ in range(data.draw(st.integers(0, 4))):
        if raw:
            place = data.draw(st.integers(0, len(raw) - 1))
            raw[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = tmp_path / f"fuzz.{format}"
    path.write_bytes(bytes(raw))
    sentence = ""
    try:
        table = read(str(path))
    except FileError as error:
        sentence = str(error)
        table = None
    assert "\n" not in sentence
    assert sentence or table.data.ndim == 2


def test_writing_is_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.txt"
    path.write_text("before", encoding="utf-8")

    def fail():
        with files.replacing(path) as draft:
            Path(draft).write_text("half", encoding="utf-8")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text(encoding="utf-8") == "before"
    assert os.listdir(tmp_path) == ["out.txt"]
    files.write_text(path, "after")
    assert path.read_text(encoding="utf-8") == "after"
    with pytest.raises(FileError, match="a directory"):
        files.write_text(tmp_path, "x")
    with pytest.raises(FileError, match="cannot be written"):
        files.write_text(tmp_path / "none" / "x", "x")


@pytest.mark.parametrize("name", ["l.csv", "l.tsv", "l.parquet"])
def test_labels_come_out(tmp_path, name):
    path = tmp_path / name
    files.write_labels(str(path), ["p", "q,r", "s"], np.array([0, -1, 0]), np.array([1.0, 0, 0.5]), [0])
    if name.endswith("parquet"):
        frame = pd.read_parquet(path)
    else:
        frame = pd.read_csv(path, sep="," if name.endswith("csv") else "\t")
    assert frame["object"].tolist() == ["p", "q,r", "s"]
    assert frame["label"].tolist() == [0, -1, 0]
    assert frame["probability"].tolist() == [1.0, 0.0, 0.5]
    assert frame["exemplar"].astype(int).tolist() == [1, 0, 0]


def test_distances_become_similarities():
    from dominantsets.app.job import distance_to_similarity

    D = 1.0 - random_similarity(8, seed=0)
    np.fill_diagonal(D, 0.0)
    off = ~np.eye(8, dtype=bool)
    largest = distance_to_similarity(D, "max")
    np.testing.assert_allclose(largest[off], (D.max() - D)[off])
    gaussian = distance_to_similarity(D, "gaussian")
    np.testing.assert_allclose(gaussian[off], np.exp(-((D / np.median(D[np.triu_indices(8, 1)])) ** 2))[off])
    assert not largest.diagonal().any()
    assert not gaussian.diagonal().any()
    graph = distance_to_similarity(sp.csr_array(D), "max")
    assert graph.nnz == off.sum()  # the longest edge stays an edge
    with pytest.raises(FileError, match="not negative"):
        distance_to_similarity(-D, "max")
