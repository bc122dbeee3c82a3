"""The command line."""

from __future__ import annotations

import builtins
import json
import signal
import subprocess
import sys
import time
from typing import get_args

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from dominantsets import DominantSetHierarchy, DominantSets, __main__
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


def test_choices_are_the_librarys():
    assert get_args(_common.Format) == files.FORMATS
    assert get_args(_common.Affinity) == job.AFFINITIES_FOR_FEATURES
    assert get_args(_common.Conversion) == job.CONVERSIONS
    assert get_args(_common.Scale) == tuple(job.SCALES)
    assert get_args(_common.Algorithm) == ALGORITHMS


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
