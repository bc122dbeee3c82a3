"""The command line and the pictures."""

from __future__ import annotations

import builtins
import runpy
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

from dominantsets import DominantSets, __main__, __version__
from dominantsets.cli import app

mpl.use("Agg")


def test_demo_prints_a_row_for_each_method():
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0, result.output
    for method in ("dual", "pairwise", "away-steps", "Frank-Wolfe", "replicator"):
        assert method in result.output


def test_version_and_help():
    runner = CliRunner()
    assert __version__ in runner.invoke(app, ["--version"]).output
    assert "demo" in runner.invoke(app, ["--help"]).output
    assert runner.invoke(app, ["demonstrate"]).exit_code == 2


def test_module_is_runnable():
    done = subprocess.run(
        [sys.executable, "-m", "dominantsets", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"dominantsets {__version__}"


def test_without_the_extra_one_sentence_and_exit_code_2(monkeypatch, capsys):
    original = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.split(".")[0] == "typer":
            raise ModuleNotFoundError("No module named 'typer'", name="typer")
        return original(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "dominantsets.cli", raising=False)
    monkeypatch.delattr("dominantsets.cli", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(SystemExit) as stop:
        __main__.main()
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert 'pip install "dominantsets[cli]"' in error


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_picture_has_what_it_must_contain(d):
    from dominantsets.plotting import NOISE, ClusterDisplay, plt

    X, _ = make_blobs(120, centers=3, n_features=d, random_state=0)
    model = DominantSets(2).fit(X)
    display = ClusterDisplay.from_estimator(model, X)
    noise, *clusters, exemplars = display.ax_.collections
    assert len(noise.get_offsets()) == (model.labels_ < 0).sum()
    for color in noise.get_facecolor()[:1]:
        assert mpl.colors.to_hex(color).upper() == NOISE
    assert [len(c.get_offsets()) for c in clusters] == [(model.labels_ == k).sum() for k in range(2)]
    np.testing.assert_allclose(exemplars.get_offsets()[0], display.points[model.exemplars_[0]])
    sizes = clusters[0].get_sizes()
    inside = model.memberships_[model.labels_ == 0]
    assert sizes.argmax() == inside.argmax()
    _, ax = plt.subplots()
    assert ClusterDisplay.from_estimator(model, X, ax=ax).ax_ is ax
    with pytest.raises(ValueError, match="X has 7 rows, the estimator was fitted on 120"):
        ClusterDisplay.from_estimator(model, X[:7])
    plt.close("all")


def test_the_readme_example_runs(monkeypatch, tmp_path):
    from pathlib import Path

    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in readme.split("```python\n")[1:]]
    assert len(blocks[0].strip().replace("\n\n", "\n").splitlines()) == 5
    script = tmp_path / "example.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    names = runpy.run_path(str(script))
    assert names["model"].n_clusters_ == 10
