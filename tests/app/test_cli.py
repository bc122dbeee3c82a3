"""The command line."""

from __future__ import annotations

import builtins
import json
import os
import signal
import subprocess
import sys
import time
from typing import get_args

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs
from typer.testing import CliRunner

from dominantsets import DominantSetHierarchy, DominantSets, __main__, __version__
from dominantsets.app import files, job
from dominantsets.app.cli import app
from dominantsets.app.commands import _common
from dominantsets.app.demo import Story
from dominantsets.fitting import points, tree
from dominantsets.solvers import ALGORITHMS
from support import features, press_ctrl_c

mpl.use("Agg")


def run(*arguments, **options):
    return CliRunner().invoke(app, [str(a) for a in arguments], **options)


@pytest.fixture
def iris(tmp_path):
    data = load_iris(as_frame=True).frame
    path = tmp_path / "iris.csv"
    data.to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_the_demo_tells_its_stories(tmp_path, monkeypatch):
    monkeypatch.setattr("dominantsets.app.demo.MILLION", 20_000)
    monkeypatch.setattr("dominantsets.app.demo.million.__defaults__", (20_000,))
    result = run("demo", "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    for words in (
        "DominantSets(10)",
        "KMeans(10)",
        "HDBSCAN()",
        "pairwise",
        "away-steps",
        "Frank-Wolfe",
        "dual",
    ):
        assert words in result.output
    page = (tmp_path / "out" / "demo.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 7
    assert "://" not in page  # nothing is loaded from elsewhere (a picture's letters may spell "http")
    assert len(list((tmp_path / "out").glob("*.png"))) == 7


def test_version_and_help():
    assert __version__ in run("--version").output
    assert run("demonstrate").exit_code == 2
    pages = {
        name: run(name, "--help").output
        for name in ("demo", "cluster", "predict", "hierarchy", "segment", "info")
    }
    for name, page in pages.items():
        assert name in run("--help").output
        assert "Example: dominantsets" in " ".join(page.split())


def test_choices_are_the_librarys():
    assert get_args(_common.Format) == files.FORMATS
    assert get_args(_common.Affinity) == job.AFFINITIES_FOR_FEATURES
    assert get_args(_common.Conversion) == job.CONVERSIONS
    assert get_args(_common.Scale) == tuple(job.SCALES)
    assert get_args(_common.Algorithm) == ALGORITHMS


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


def test_columns_scale_and_parameters(tmp_path):
    """Each option is the library's own."""
    rng = np.random.default_rng(0)
    X = np.concatenate([c + rng.normal(size=(40, 2)) for c in ((0, 0), (9, 0))]) * (1, 1000)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(name="n", other=0.0)
    frame.to_csv(tmp_path / "x.csv", index=False)
    arguments = ["cluster", tmp_path / "x.csv", "-k", 2, "-q", "--affinity", "rbf", "--affinity-param"]
    result = run(*arguments, "gamma=0.5", "--columns", "a,b", "--scale", "standard")
    assert result.exit_code == 0, result.output
    labels = [int(line.split(",")[1]) for line in result.stdout.splitlines()[1:]]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    model = DominantSets(2, affinity="rbf", affinity_params={"gamma": 0.5}, random_state=0).fit(scaled)
    assert labels == model.labels_.tolist()
    result = run(*arguments, "gamma=0.5", "--drop", "name,other", "--scale", "standard")
    assert [int(line.split(",")[1]) for line in result.stdout.splitlines()[1:]] == labels
    for wrong, words in (
        (["gamma"], "not of the form name=value"),
        (["gamma=0.5", "--columns", "c"], "no column 'c'; its columns are: a, b, name, other"),
    ):
        result = run(*arguments, *wrong)
        assert result.exit_code == 2
        assert words in result.stderr
    assert _common.params_of(["a=1", "b=0.5", "c=true", "d=none", "e=word"]) == {
        "a": 1, "b": 0.5, "c": True, "d": None, "e": "word",
    }  # fmt: skip


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


def test_hierarchy(iris, tmp_path):
    out, tree, picture = (tmp_path / name for name in ("g.csv", "t.json", "t.png"))
    result = run(
        "hierarchy", iris, "--drop", "target", "-k", 2, "-k", 3, "-o", out, "--tree", tree, "--plot", picture
    )
    assert result.exit_code == 0, result.output
    model = DominantSetHierarchy().fit(load_iris().data)
    frame = pd.read_csv(out)
    for k in (2, 3):
        assert frame[f"groups_{k}"].tolist() == model.cut(k).tolist()
    groups = json.loads(tree.read_text(encoding="utf-8"))["groups"]
    leaves = [group for group in groups if group["objects"] is not None]
    assert sorted(i for leaf in leaves for i in leaf["objects"]) == list(range(150))  # every object, once
    for group in groups[1:]:
        parent = groups[group["parent"]]
        assert parent["size"] > group["size"]
        assert group["shift_to"] == parent["shift_from"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    result = run("hierarchy", iris, "--drop", "target", "-k", 150)
    assert result.exit_code == 2
    assert "more than the" in result.stderr


def test_the_first_fit_says_that_it_compiles(tmp_path):
    from numba import njit

    from dominantsets.compiled.jit import telling

    said = []
    function = njit(lambda x: x + 1)
    with telling(lambda: said.append("compiling")):
        function(1)
        function(1.0)  # another version: said already
    assert said == ["compiling"]
    with telling(lambda: said.append("again")):
        function(1)
    assert said == ["compiling"]


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


PRESSED = """
import atexit, os, signal, sys
when, *sys.argv[1:] = sys.argv[1:]
def press(*_):
    os.kill(os.getpid(), signal.SIGINT)
class Importing:
    def find_spec(self, name, path=None, target=None):
        if name == when:
            press()
if when == "at the end":
    atexit.register(press)
sys.meta_path.insert(0, Importing())
from dominantsets.__main__ import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""


@pytest.mark.subprocess
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as POSIX does")
@pytest.mark.parametrize("when", ["typer", "numpy._core.multiarray", "at the end"])
def test_ctrl_c_while_python_imports_or_ends(when):
    """The process dies of the signal itself and says nothing; an import would make another error of it."""
    command = [sys.executable, "-c", PRESSED, when, "info"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == -signal.SIGINT
    assert done.stderr == ""
    assert ("python" in done.stdout) == (when == "at the end")


def pressed(*_, **__):
    raise KeyboardInterrupt


def pressed_before(function):
    """Ctrl-C, and then the function, which sees it."""

    def work(*arguments):
        press_ctrl_c()
        return function(*arguments)

    return work


def test_ctrl_c_before_and_after_the_labels(iris, tmp_path, monkeypatch):
    """The sentence says what is written."""
    out, page = tmp_path / "l.csv", tmp_path / "r.html"
    command = ("cluster", iris, "-k", 3, "-o", out, "--report", page, "-q")
    with monkeypatch.context() as patch:
        patch.setattr("dominantsets.app.result_page.page_of", pressed)
        result = run(*command)
    assert result.exit_code == 130
    assert result.stderr == f"dominantsets: interrupted; {out} written, nothing else.\n"
    assert len(pd.read_csv(out)) == 150
    out.unlink()
    monkeypatch.setattr("dominantsets.app.job.Job.run", pressed)
    result = run(*command)
    assert result.exit_code == 130
    assert result.stderr == "dominantsets: interrupted; nothing is written.\n"
    assert not out.exists()
    assert not page.exists()


def test_ctrl_c_in_a_fit_leaves_pictures_out(iris, tmp_path, monkeypatch):
    """Labels at once; a page would take longer than one waits."""
    out, page = tmp_path / "l.csv", tmp_path / "r.html"
    monkeypatch.setattr(tree, "cut_tree", pressed_before(tree.cut_tree))
    result = run("cluster", iris, "-o", out, "--report", page, "--affinity", "path")
    assert result.exit_code == 130
    assert "pictures are left out" in result.stderr
    assert len(pd.read_csv(out)) == 150
    assert not page.exists()


def test_ctrl_c_while_a_tree_grows_cuts_what_there_is(iris, tmp_path, monkeypatch):
    monkeypatch.setattr(points, "nested_points", pressed_before(points.nested_points))
    out, picture = tmp_path / "g.csv", tmp_path / "t.png"
    result = run("hierarchy", iris, "-k", 3, "--affinity", "sqeuclidean", "-o", out, "--plot", picture)
    assert result.exit_code == 130
    assert len(pd.read_csv(out)["groups_3"]) == 150
    assert "interrupted" in result.stderr
    assert not picture.exists()


def absorbed():
    """A fit that would answer Ctrl-C with what it has."""
    DominantSets(3, affinity="rbf", shift=1.0, callback=press_ctrl_c).fit(features(100))


def test_ctrl_c_in_a_fit_of_the_demo_ends_it(tmp_path, monkeypatch):
    """The story of a fit that was interrupted is not told."""

    def stories():
        yield Story("The first", "is told.")
        absorbed()
        yield Story("The second", "is not.")

    monkeypatch.setattr("dominantsets.app.demo.stories", stories)
    result = run("demo", "--out", tmp_path)
    assert result.exit_code == 130
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert "The first" in page
    assert "The second" not in page
    assert "partial" in page


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


def test_segment(tmp_path):
    """The map has the size of the picture, its colours are labels; the figure is another file."""
    from PIL import Image
    from skimage.data import coffee
    from skimage.io import imsave

    imsave(tmp_path / "c.png", coffee()[::8, ::8])
    for name in ("s.png", "s.npy"):
        result = run(
            "segment", tmp_path / "c.png", "-k", 3, "-o", tmp_path / name, "--figure", tmp_path / "f.png"
        )
        assert result.exit_code == 0, result.output
        assert "segments:" in result.output
    labels = np.load(tmp_path / "s.npy")
    assert labels.shape == (50, 75)
    with Image.open(tmp_path / "s.png") as image:
        np.testing.assert_array_equal(np.asarray(image), labels)
        shown = np.asarray(image.convert("RGB")).reshape(-1, 3)
        assert len(np.unique(shown, axis=0)) == len(np.unique(labels))  # a colour each
    with Image.open(tmp_path / "f.png") as image:
        assert image.size != (75, 50)
    (tmp_path / "bad.png").write_bytes(b"no picture")
    result = run("segment", tmp_path / "bad.png", "-o", tmp_path / "x.png")
    assert result.exit_code == 2
    assert "not a picture" in result.stderr
    assert not (tmp_path / "x.png").exists()
    with pytest.raises(files.FileError, match=r"300 segments; use \.npy"):
        files.write_label_map(tmp_path / "many.png", np.arange(300).reshape(20, 15))


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


@pytest.mark.subprocess
def test_ctrl_c_while_segmenting(tmp_path):
    """Whenever it comes: one sentence or nothing, no traceback, no file."""
    from skimage.data import astronaut
    from skimage.io import imsave

    imsave(tmp_path / "a.png", astronaut())
    ready = (  # Python itself answers before, with a traceback
        "import dominantsets.app.cli, dominantsets.segmentation; from dominantsets.__main__ import main; "
        "print('ready', flush=True); main()"
    )
    for delay in (0.1, 1.0):
        command = [sys.executable, "-c", ready, "segment", str(tmp_path / "a.png"), "-k", "4"]
        command += ["-o", str(tmp_path / "s.npy")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        # while Python imports, or ends with everything written, the signal itself ends the process
        assert process.returncode in (0, 130, -signal.SIGINT), error
        assert "Traceback" not in error
        if process.returncode != -signal.SIGINT:
            assert (process.returncode == 0) == (tmp_path / "s.npy").exists()
        (tmp_path / "s.npy").unlink(missing_ok=True)


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


@pytest.mark.subprocess
@pytest.mark.parametrize("argument", ["--version", "--help", "cluster --help"])
def test_help_waits_for_no_library(argument):
    """Numba and scikit-learn take seconds to load; a page of help needs none of them."""
    code = (
        "import sys; from dominantsets.__main__ import main\n"
        f"sys.argv = ['dominantsets', *{argument.split()!r}]\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(*({name.split('.')[0] for name in sys.modules} & {'numpy', 'numba', 'scipy', 'sklearn'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


def test_without_the_extra_one_sentence_and_exit_code_2(monkeypatch, capsys):
    original = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.split(".")[0] == "typer":
            raise ModuleNotFoundError("No module named 'typer'", name="typer")
        return original(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "dominantsets.app.cli", raising=False)
    monkeypatch.delattr("dominantsets.app.cli", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(SystemExit) as stop:
        __main__.main()
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert 'pip install "dominantsets[cli]"' in error


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


def test_seeds_by_name(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target,weight\na,b,1\nb,c,1\na,c,1\nd,e,1\n")
    result = run("cluster", tmp_path / "edges.csv", "--format", "edges", "--seed", "d", "-q")
    assert result.exit_code == 0, result.output
    labels = dict(line.split(",")[:2] for line in result.stdout.splitlines()[1:])
    assert labels["d"] == labels["e"] == "0"
    assert labels["a"] == "-1"
