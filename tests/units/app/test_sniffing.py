"""Text files as people have them: any separator, decimal commas, row numbers, comments, edges."""

from __future__ import annotations

import gzip

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from dominantsets.app import files
from dominantsets.app.files import FileError, read
from dominantsets.app.files.sniffing import Layout, layout_of

FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(7, 3)).round(4), columns=list("xyz"))


def told(tmp_path, text, name="a.csv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(str(path), **options)


@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), *((s, d) for s in (";", "\t", "|", " ") for d in (".", ","))]
)
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.csv.gz"])
def test_what_pandas_writes_is_what_we_read(tmp_path, separator, decimal, header, name):
    FRAME.to_csv(tmp_path / name, sep=separator, decimal=decimal, header=header, index=False)
    table = read(str(tmp_path / name))
    np.testing.assert_array_equal(table.data, FRAME)
    assert table.names == (list("xyz") if header else None)
    usual = {"a.csv": ",", "a.tsv": "\t", "a.txt": " ", "a.csv.gz": ","}[name]
    assert bool(table.notes) == (separator != usual or decimal == ",")  # what was guessed is said


@given(
    st.lists(st.lists(st.integers(-9_999, 9_999), min_size=3, max_size=3), min_size=4, max_size=9),
    st.sampled_from([";", "\t", "|"]),
)
def test_decimal_commas_and_points_for_thousands(rows, separator):
    """1.234,5 is one thousand two hundred and thirty-four and a half."""
    shown = [
        separator.join(f"{value / 2:,.1f}".translate({44: ".", 46: ","}) for value in row) for row in rows
    ]
    layout = layout_of(shown, ",")
    assert layout == Layout(separator, decimal_comma=True)
    read = [[float(layout.plain(cell)) for cell in layout.cells(line)] for line in shown]
    np.testing.assert_array_equal(read, np.array(rows) / 2)


def test_text_beside_numbers_does_not_mislead(tmp_path):
    rows = "name,tags,x,y\nNew York,a;b,1.5,2\nLos Angeles,c;d,2.5,3\n"
    table = told(tmp_path, rows, columns=["x", "y"], id_column="name")
    np.testing.assert_array_equal(table.data, [[1.5, 2], [2.5, 3]])
    assert table.ids == ["New York", "Los Angeles"]
    table = told(tmp_path, "5.1,3.5,setosa\n4.9,3.0,setosa\n", label_column="3")  # no line of names
    assert table.data.shape == (2, 2)
    table = told(tmp_path, "sep=;\nx;y\n1;2\n3;4\n")  # as a spreadsheet announces it
    np.testing.assert_array_equal(table.data, [[1, 2], [3, 4]])
    table = told(tmp_path, "a,b,\n1,2,\n3,4,\n")  # a separator too many
    np.testing.assert_array_equal(table.data, [[1, 2], [3, 4]])
    table = told(tmp_path, "#id,x,y\np,1,2\nq,3,4\n", id_column="id")
    assert (table.names, table.ids) == (["x", "y"], ["p", "q"])
    table = told(tmp_path, "# made on a Monday\n% by hand\n1 2\n3 4\n", "a.dat")
    np.testing.assert_array_equal(table.data, [[1, 2], [3, 4]])


@pytest.mark.parametrize("header", [True, False])
def test_the_index_that_pandas_writes_is_no_feature(tmp_path, header):
    frame = load_iris(as_frame=True).frame
    frame.to_csv(tmp_path / "iris.csv", header=header)
    column = "target" if header else "6"
    table = read(str(tmp_path / "iris.csv"), label_column=column)
    np.testing.assert_array_equal(table.data, load_iris().data)
    assert table.ids == [str(k) for k in range(150)]
    assert "row numbers" in table.notes[-1]
    whole = read(str(tmp_path / "iris.csv"), columns=["1-5"])  # asked for, it is one
    np.testing.assert_array_equal(whole.data[:, 0], np.arange(150))


def test_numbers_that_only_look_like_an_index(tmp_path):
    matrix = "0,1,2\n1,0,1\n2,1,0\n"  # distances along a line
    assert told(tmp_path, matrix).data.shape == (3, 3)
    named = "t,x\n0,5\n1,7\n2,9\n3,8\n"  # has a name
    assert told(tmp_path, named).data.shape == (4, 2)
    assert told(tmp_path, "0\n1\n2\n3\n").data.shape == (4, 1)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 4)))
    frame.to_csv(tmp_path / "plain.csv", index=False)  # pandas' own names 0 ... 3
    np.testing.assert_allclose(read(str(tmp_path / "plain.csv")).data, frame)


def test_names_of_rows(tmp_path):
    table = told(tmp_path, '"","mpg","cyl"\n"Mazda RX4",21,6\n"Fiat 128",32.4,4\n')  # R's write.csv
    assert table.ids == ["Mazda RX4", "Fiat 128"]
    np.testing.assert_array_equal(table.data, [[21, 6], [32.4, 4]])
    table = told(tmp_path, '"mpg" "cyl"\n"a" 21 6\n"b" 32.4 4\n', "a.txt")  # R's write.table
    assert (table.ids, table.names) == (["a", "b"], ["mpg", "cyl"])


def test_columns_and_drop(tmp_path):
    FRAME.assign(kind="k", id=range(7)).to_csv(tmp_path / "a.csv", index=False)
    path = str(tmp_path / "a.csv")
    for options in (
        {"columns": ["z", "x"]},
        {"columns": ["3", "1"]},
        {"columns": ["3", "1-2"], "drop": ["y", "kind"]},
    ):
        table = read(path, **options)
        np.testing.assert_array_equal(table.data, FRAME[["z", "x"]])
        assert table.names == ["z", "x"]
    assert read(path, drop=["kind", "id"]).names == list("xyz")
    with pytest.raises(FileError, match="no column 'q'; its columns are: x, y, z, kind, id"):
        read(path, drop=["q"])
    with pytest.raises(FileError, match="no column is left"):
        read(path, columns=["x"], drop=["x"])
    np.save(tmp_path / "a.npy", FRAME.to_numpy())
    np.testing.assert_array_equal(read(str(tmp_path / "a.npy"), drop=["2"]).data, FRAME[["x", "z"]])
    FRAME.assign(kind="k").to_parquet(tmp_path / "a.parquet")
    np.testing.assert_array_equal(read(str(tmp_path / "a.parquet"), drop=["kind"]).data, FRAME)
    with pytest.raises(FileError, match="'kind' holds text, not numbers: leave it out with --drop kind"):
        read(str(tmp_path / "a.parquet"))
    assert files.listed(["a,b", '"c,d"', " e "]) == ("a", "b", "c,d", "e")


@pytest.mark.parametrize(
    "text",
    [
        "source,target\na,b\nb,c\n",
        "Source;Target;Type;Weight\na;b;Undirected;1,0\nb;c;Undirected;1,0\n",
        "from\tto\n1\t2\n2\t3\n",
        "a,b\nb,c\n",
        "a b 1\nb c 1.0\n",
        "# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n1\t2\n2\t3\n",
        "city one,city two,km\na,b,1\nb,c,1\n",
    ],
)
def test_lists_of_edges_are_known_when_they_are_seen(tmp_path, text):
    table = told(tmp_path, text)
    assert table.graph
    np.testing.assert_array_equal(table.data.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert "list of edges" in table.notes[-1]


def test_pairs_of_numbers_are_edges_where_nothing_speaks_against_it(tmp_path):
    graph = nx.karate_club_graph()
    text = "\n".join(f"{u} {v}" for u, v in graph.edges) + "\n"
    table = told(tmp_path, text, "k.txt")
    order = [int(name) for name in table.ids]
    np.testing.assert_array_equal(table.data.toarray(), nx.to_numpy_array(graph, nodelist=order, weight=None))
    for against in (
        "a b\n" + text,  # names of columns
        text + "5 5\n",  # a point on the diagonal
        text + text,  # twice the same
        text + "5 99\n",  # numbers that nobody has
        text + "5 1.5\n",
        "\n".join(f"{i} {3 * i % 7 + 20}" for i in range(9)),  # no number is on both sides
    ):
        assert not told(tmp_path, against, "k.txt").graph
    grid = "\n".join(f"{i} {j}" for i in range(5) for j in range(5))
    assert not told(tmp_path, grid, "k.txt").graph


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_what_spreadsheets_write(tmp_path, encoding):
    frame = FRAME.set_axis(["Größe", "Gewicht (kg)", "Länge °"], axis=1)
    frame.to_csv(tmp_path / "a.csv", sep=";", decimal=",", index=False, encoding=encoding)
    table = read(str(tmp_path / "a.csv"))
    np.testing.assert_array_equal(table.data, FRAME)
    assert table.names == list(frame)
    assert any("no UTF-8" in note for note in table.notes) == (encoding != "utf-8-sig")


def test_features_are_no_edges(tmp_path):
    assert not told(tmp_path, "source,target\n0.5,1.5\n2.5,3\n").graph  # halves are no names
    assert not told(tmp_path, "x,y\n1,2\n2,3\n3,1\n").graph
    assert not told(tmp_path, "source,target\n1,2\n2,3\n", format="csv").graph  # said
    with pytest.raises(FileError, match=r"hold text.*--format edges"):
        told(tmp_path, "name,kind\np,a\nq,b\n")  # no name is on both sides


def test_gexf_and_packed_graphs(tmp_path):
    graph = nx.karate_club_graph()
    nx.write_gexf(graph, tmp_path / "k.gexf")
    np.testing.assert_array_equal(read(str(tmp_path / "k.gexf")).data.toarray(), nx.to_numpy_array(graph))
    (tmp_path / "k.edges.gz").write_bytes(gzip.compress(b"a b 2\nb c 3\n"))
    assert read(str(tmp_path / "k.edges.gz")).data.sum() == 10


def test_what_unpacks_to_more_than_there_is(tmp_path, monkeypatch):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 10**6))
    monkeypatch.setattr("dominantsets._checks.memory_available", lambda: 10**6)
    with pytest.raises(FileError, match="unpacks to needs"):
        read(str(tmp_path / "a.csv.gz"))
