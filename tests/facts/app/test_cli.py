"""The command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import dscheck
import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs
from typer.testing import CliRunner

from dominantsets import DominantSets, __version__
from dominantsets.app.cli import app

mpl.use("Agg")


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(a) for a in arguments], **options)


@pytest.fixture
def iris(tmp_path):
    data = load_iris(as_frame=True).frame
    path = tmp_path / "iris.csv"
    data.to_csv(path, index=False)
    return path


def test_version_and_help():
    assert __version__ in run("--version").output
    assert run("demonstrate").exit_code == 2
    pages = {
        name: run(name, "--help").output
        for name in ("demo", "cluster", "predict", "hierarchy", "audit", "deduplicate", "segment", "info")
    }
    for name, page in pages.items():
        assert name in run("--help").output
        assert "Example: dominantsets" in " ".join(page.split())


def test_cluster_writes_everything(iris, tmp_path):
    out, summary, plot, page = (tmp_path / name for name in ("l.csv", "s.json", "p.png", "r.html"))
    result = run(
        "cluster", iris, "-k", 3, "--label-column", "target", "-o", out, "--summary", summary, "--plot", plot,
        "--report", page, "--assign", "average",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    labels = pd.read_csv(out)
    X, _ = load_iris(return_X_y=True)
    model = DominantSets(3, assign="average").fit(X)
    assert labels["label"].tolist() == model.labels_.tolist()
    np.testing.assert_allclose(labels["probability"], model.probabilities_, atol=1e-8)
    assert np.flatnonzero(labels["exemplar"]).tolist() == sorted(model.exemplars_.tolist())
    content = json.loads(summary.read_text(encoding="utf-8"))
    assert content["clusters_found"] == 3
    assert not content["partial"]
    for found, cluster in zip(content["clusters"], model.clusters_, strict=True):
        assert found["value"] == cluster.value
        assert found["gap"] == cluster.gap
        assert found["status"] == "converged"
        assert found["strict"] == cluster.strict
        assert found["size"] == len(cluster)
    assert content["scores"]["ari"] > 0.5
    assert plot.read_bytes().startswith(b"\x89PNG")
    html = page.read_text(encoding="utf-8")
    assert html.count("<img") == 3
    assert "iris.csv" in html
    assert "ARI" in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["iris.csv", "l.csv", "p.png", "r.html", "s.json"]


@pytest.mark.subprocess
def test_pipes(iris):
    command = [
        sys.executable,
        "-m",
        "dominantsets",
        "cluster",
        "-",
        "--label-column",
        "target",
        "-k",
        "3",
        "-q",
    ]
    done = subprocess.run(command, input=iris.read_bytes(), capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "object,label,probability,exemplar"
    assert len(lines) == 151
    assert done.stderr == b""
    cut = subprocess.run(
        f"{' '.join(command[:4])} {iris} --label-column target -q | head -1",
        shell=True, capture_output=True, check=True,
    )  # fmt: skip
    assert cut.stdout.decode().strip() == lines[0]
    assert cut.stderr == b""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.csv"], "none.csv: there is no such file"),
        (["a.csv", "--shift", "much"], "--shift much is neither a number nor auto"),
        (["a.csv", "--similarity", "--distance"], "exclude each other"),
        (["a.csv", "--similarity"], "as many columns as rows"),
        (["a.csv", "-k", "9"], "n_clusters=9 is more than the number of objects, which is 4"),
        (["nan.csv"], "NaN"),
        (["a.csv", "-o", "none/labels.csv"], "cannot be written"),
        (["a.csv", "--affinity", "linear"], "similarities must not be negative"),
        (["a.csv", "-o", "a.csv"], "a.csv: is the input"),
        (["a.csv", "-o", "labels.xlsx"], "the ending must be .csv or .tsv"),
        (["a.csv", "-o", "l.csv", "--report", "none/r.html"], "cannot be written"),
        (["a.csv", "-o", "l.csv", "--plot", "p.jpeg2"], "the ending must be .png"),
        (["."], "this is a directory"),
    ],
)
def test_mistakes_get_one_sentence_and_exit_code_2(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("1,2,3\n-1,-2,-4\n1,2,3.5\n0,1,1\n", encoding="utf-8")
    (tmp_path / "nan.csv").write_text("1,nan\n2,3\n", encoding="utf-8")
    before = sorted(os.listdir(tmp_path))
    result = run("cluster", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("dominantsets: ")
    assert sorted(os.listdir(tmp_path)) == before


def test_graphs_and_distances(tmp_path):
    nx.write_graphml(nx.karate_club_graph(), tmp_path / "k.graphml")
    result = run(
        "cluster", tmp_path / "k.graphml", "-k", 2, "--plot", tmp_path / "k.png", "-o", tmp_path / "k.csv"
    )
    assert result.exit_code == 0, result.output
    assert (tmp_path / "k.png").stat().st_size > 0
    X, _ = make_blobs(40, centers=[(0, 0), (20, 0)], random_state=0)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.save(tmp_path / "d.npy", D)
    for how in ("max", "gaussian", "path"):
        out = tmp_path / f"{how}.csv"
        result = run("cluster", tmp_path / "d.npy", "--distance", "--convert", how, "-k", 2, "-o", out)
        assert result.exit_code == 0, result.output
        labels = pd.read_csv(out)["label"].to_numpy()
        first, second = set(labels[X[:, 0] < 10]) - {-1}, set(labels[X[:, 0] > 10]) - {-1}
        assert first
        assert second
        assert not first & second


@pytest.mark.parametrize("name", ["out.graphml", "out.gexf"])
def test_graphs_come_out_with_their_clusters(tmp_path, name):
    graph = nx.karate_club_graph()
    nx.write_graphml(graph, tmp_path / "k.graphml")
    nx.to_pandas_edgelist(graph)[["source", "target", "weight"]].to_csv(tmp_path / "k.csv", index=False)
    for source in ("k.graphml", "k.csv"):
        for out in (name, "labels.csv"):
            result = run("cluster", tmp_path / source, "-k", 2, "-o", tmp_path / out)
            assert result.exit_code == 0, result.output
        found = (nx.read_gexf if name.endswith("gexf") else nx.read_graphml)(tmp_path / name)
        table = pd.read_csv(tmp_path / "labels.csv", dtype={"object": str}).set_index("object")
        assert dict(found.nodes(data="cluster")) == table["label"].to_dict()
        assert nx.utils.graphs_equal(
            nx.Graph([(int(u), int(v)) for u, v in found.edges]), nx.Graph(graph.edges())
        )
    assert found.nodes["0"]["probability"] >= 0
    assert "club" in nx.read_graphml(tmp_path / "k.graphml").nodes["0"]  # what the file said is kept
    np.save(tmp_path / "x.npy", np.eye(5))
    result = run("cluster", tmp_path / "x.npy", "-o", tmp_path / name)
    assert result.exit_code == 2
    assert "a graph comes out where one goes in" in result.stderr


def test_the_solver(tmp_path):
    X, _ = make_blobs(80, centers=[(0, 0), (20, 0)], random_state=0)
    np.save(tmp_path / "x.npy", X)
    arguments = ["--affinity", "rbf", "--affinity-param", "gamma=0.5", "--shift", 1, "-k", 2, "-q"]
    result = run("cluster", tmp_path / "x.npy", *arguments, "--algorithm", "pairwise", "--tol", 1e-6)
    assert result.exit_code == 0, result.output
    params = {"affinity": "rbf", "affinity_params": {"gamma": 0.5}, "shift": 1.0}
    model = DominantSets(2, solver_params={"algorithm": "pairwise", "tol": 1e-6}, **params).fit(X)
    labels = [int(line.split(",")[1]) for line in result.stdout.splitlines()[1:]]
    assert labels == model.labels_.tolist()


def test_predict(tmp_path):
    """New objects get the labels that the model gives them; their columns are found by name."""
    X, _ = make_blobs(90, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(kind="k")
    frame.iloc[:80].to_csv(tmp_path / "known.csv", index=False)
    frame.iloc[80:][["b", "a"]].to_csv(tmp_path / "new.csv", index=False, sep=";")
    arguments = [tmp_path / "known.csv", tmp_path / "new.csv", "-k", 3, "--label-column", "kind"]
    result = run("predict", *arguments, "-o", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    expected = DominantSets(3, random_state=0).fit(X[:80]).predict(X[80:])
    assert pd.read_csv(tmp_path / "p.csv")["label"].tolist() == expected.tolist()
    np.save(tmp_path / "known.npy", X[:80])
    np.save(tmp_path / "new.npy", X[80:, :1])
    result = run("predict", tmp_path / "known.npy", tmp_path / "new.npy")
    assert result.exit_code == 2
    assert "has 1 features, and the objects that are known have 2" in result.stderr
    (tmp_path / "g.edges").write_text("a b\nb c\n")
    assert "this is a graph" in run("predict", tmp_path / "g.edges", tmp_path / "g.edges").stderr


def test_a_time_limit_gives_partial_results_and_exit_code_3(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(4_000, 30)))
    result = run(
        "cluster", tmp_path / "x.npy", "--affinity", "laplacian", "-k", 50, "--max-time", 0.2,
        "-o", tmp_path / "l.csv", "--summary", tmp_path / "s.json",
    )  # fmt: skip
    assert result.exit_code == 3, result.output
    assert "partial" in result.stderr
    assert json.loads((tmp_path / "s.json").read_text(encoding="utf-8"))["partial"]
    assert len(pd.read_csv(tmp_path / "l.csv")) == 4_000


@pytest.mark.subprocess
def test_ctrl_c_writes_what_was_found(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(12_000, 40)))
    out = tmp_path / "l.csv"
    command = [
        sys.executable, "-m", "dominantsets", "cluster", str(tmp_path / "x.npy"), "--affinity", "laplacian",
        "--shift", "1", "-k", "4000", "-o", str(out), "--log-level", "info",
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    if "compiling" in line:  # where nobody has run it before
        line = process.stderr.readline()
    assert "cluster 1:" in line
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130, line + rest
    assert "interrupted" in line + rest
    assert (pd.read_csv(out)["label"] >= 0).any()


def test_segment_with_scribbles(tmp_path):
    """Red strokes on the left half, white ones on the right: colours are labels in increasing order."""
    from skimage.io import imsave

    picture = np.full((20, 30, 3), 40, dtype=np.uint8)
    picture[:, 15:] = (250, 200, 90)
    strokes = np.zeros((20, 30, 4), dtype=np.uint8)
    strokes[5:15, 4] = (255, 0, 0, 255)
    strokes[5:15, 25] = (255, 255, 255, 255)
    imsave(tmp_path / "p.png", picture)
    imsave(tmp_path / "s.png", strokes)
    np.save(tmp_path / "s.npy", np.where(strokes[..., 1] > 0, 2, 1) * (strokes[..., 3] > 0))
    for name in ("s.png", "s.npy"):
        command = ("segment", tmp_path / "p.png", "--scribbles", tmp_path / name, "--smooth", 0)
        result = run(*command, "-o", tmp_path / "out.npy")
        assert result.exit_code == 0, result.output
        assert "2 segments: 50.0%, 50.0%" in result.output
        assert (np.load(tmp_path / "out.npy") == np.where(np.arange(30) < 15, 1, 2)).all()
    imsave(tmp_path / "small.png", strokes[:10])
    imsave(tmp_path / "photo.png", np.arange(600, dtype=np.uint8).reshape(20, 30))
    for name, words in (("small.png", "shape (20, 30) of the image"), ("photo.png", "more than 100 labels")):
        result = run("segment", tmp_path / "p.png", "--scribbles", tmp_path / name, "-o", tmp_path / "x.npy")
        assert result.exit_code == 2
        assert words in " ".join(result.stderr.split())
        assert not (tmp_path / "x.npy").exists()
    result = run("segment", tmp_path / "p.png", "--scribbles", tmp_path / "s.png", "-o", tmp_path / "s.png")
    assert result.exit_code == 2


def test_info_says_what_a_bug_report_needs():
    output = run("info").output
    for name in (
        "dominantsets",
        "python",
        "numpy",
        "numba",
        "threads",
        "memory free",
        "extra plot",
        "extra gpu",
    ):
        assert name in output


@pytest.mark.subprocess
def test_module_is_runnable():
    done = subprocess.run(
        [sys.executable, "-m", "dominantsets", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"dominantsets {__version__}"


def test_the_set_around_a_seed(iris, tmp_path):
    out = tmp_path / "labels.csv"
    result = run(
        "cluster", iris, "--label-column", "target", "--affinity", "sqeuclidean", "--seed", "7", "-o", out
    )
    assert result.exit_code == 0, result.output
    rows = [line.split(",") for line in out.read_text().splitlines()[1:]]
    assert rows[7][1] == "0"
    assert {row[1] for row in rows} == {"0", "-1"}
    for arguments, words in (
        (["--seed", "150"], "no object of the file"),
        (["--seed", "setosa"], "no object of the file"),
        (["--seed", "7", "--summary", tmp_path / "s.json"], "leave out --summary"),
    ):
        wrong = run("cluster", iris, "--label-column", "target", *arguments)
        assert wrong.exit_code == 2
        assert words in wrong.output


@pytest.mark.parametrize("options", [(), ("--scale", "standard"), ("--affinity", "diffusion")])
def test_a_certificate_of_a_table(options, iris, tmp_path, capsys):
    certificate = tmp_path / "fit.cert"
    result = run(
        "cluster", iris, "--label-column", "target", *options, "-o", tmp_path / "l.csv",
        "--certificate", certificate,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert dscheck.main([str(certificate), f"{certificate}.npy"]) in (0, 3), capsys.readouterr().out
    wrong = run("cluster", iris, "--label-column", "target", "--seed", "7", "--certificate", certificate)
    assert wrong.exit_code == 2
    assert "leave out" in wrong.output


def test_an_audit_of_a_column(iris, tmp_path):
    moves, page = tmp_path / "moves.csv", tmp_path / "audit.html"
    result = run(
        "audit",
        iris,
        "--labels",
        "target",
        "--scale",
        "standard",
        "--draws",
        3,
        "-o",
        moves,
        "--report",
        page,
    )
    assert result.exit_code == 0, result.output
    assert "Score 0." in result.stdout
    table = pd.read_csv(moves)
    assert list(table.columns) == ["object", "label", "suggested", "urgency"]
    assert (table["urgency"] > 0).sum() == (table["label"] != table["suggested"]).sum()
    html = page.read_text(encoding="utf-8")
    assert "iris.csv" in html
    assert html.count("<table") == 3
    assert run("audit", iris, "--labels", "nothing").exit_code == 2
    assert run("audit", iris).exit_code == 2


def test_an_audit_of_names_and_of_similarities(tmp_path):
    (tmp_path / "names.csv").write_text("x,name\n0,a\n1,a\n2,b\n9,b\n10,b\n11,b\n12,b\n")
    result = run("audit", tmp_path / "names.csv", "--labels", "name", "--draws", 0, "-o", "-")
    assert result.exit_code == 0, result.output
    assert "2,b,a," in result.stdout


def test_near_copies_among_the_records_of_a_file(tmp_path):
    rng = np.random.default_rng(0)
    letters = list("abcdefghijklmnopqrst")
    names = [" ".join("".join(rng.choice(letters, 8)) for _ in range(4)) for _ in range(100)]
    names += [f"{name[:-1]}z" for name in names[:5]]
    table = pd.DataFrame({"number": range(105), "name": names, "place": [f"a, {name[:3]}" for name in names]})
    people, kept, drops = (tmp_path / f"{name}.csv" for name in ("people", "kept", "drops"))
    table.to_csv(people, index=False)
    done = run("deduplicate", people, "--text", "name,place", "-o", kept, "--drops", drops)
    assert done.exit_code == 0, done.output
    assert "5 groups, 100 of 105 objects kept" in done.stderr
    pd.testing.assert_frame_equal(pd.read_csv(kept), table.iloc[:100])  # of two, the first one stays
    reasons = pd.read_csv(drops)
    assert reasons["object"].tolist() == list(range(101, 106))
    assert reasons["keeper"].tolist() == list(range(1, 6))
    assert reasons["keeper text"].tolist() == [f"{n} a, {n[:3]}" for n in names[:5]]
    assert run("deduplicate", people, "--text", "2", "-q", "-o", "-").stdout.count("\n") == 101
    assert "no column 'nam'" in run("deduplicate", people, "--text", "nam", "-o", kept).stderr
    assert run("deduplicate", people, "--text", "name", "-o", people).exit_code == 2
    people.write_text("a,b\n1,2\n3\n")
    assert "record 2 has 1 cells" in run("deduplicate", people, "--text", "a", "-o", kept).stderr
    people.write_text("a,b\n")
    assert "no record below it" in run("deduplicate", people, "--text", "a", "-o", kept).stderr


def test_a_certificate_of_a_network(tmp_path, capsys):
    (tmp_path / "edges.csv").write_text("source,target,weight\na,b,1\nb,c,1\na,c,1\nd,e,1\ne,f,1\nd,f,1\n")
    result = run(
        "cluster", tmp_path / "edges.csv", "--format", "edges", "-q", "--certificate", tmp_path / "fit.cert"
    )
    assert result.exit_code == 0, result.output
    assert dscheck.main([str(tmp_path / "fit.cert"), str(tmp_path / "fit.cert.npz")]) in (0, 3)
    assert "0 fail" in capsys.readouterr().out


def test_seeds_by_name(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,weight\na,b,1\nb,c,1\na,c,1\nd,e,1\n")
    result = run("cluster", tmp_path / "edges.csv", "--format", "edges", "--seed", "d", "-q")
    assert result.exit_code == 0, result.output
    labels = dict(line.split(",")[:2] for line in result.stdout.splitlines()[1:])
    assert labels["d"] == labels["e"] == "0"
    assert labels["a"] == "-1"
