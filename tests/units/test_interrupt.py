"""Ctrl-C, the clock and the callback are seen between chunks, and work is not lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dominantsets import DominantSets, End, _labels
from dominantsets.fitting import samples, tree
from support import features, press_ctrl_c


@pytest.mark.subprocess
@pytest.mark.skipif(sys.platform == "win32", reason="signals are ignored as POSIX does")
def test_these_tests_end_where_ctrl_c_is_ignored():
    """As in the background of a script: what is ignored there is inherited."""
    command = [sys.executable, "-m", "pytest", "-q", "-k", "ctrl_c and not these", __file__]
    done = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout


def test_ctrl_c_while_affinities_are_compared_gives_balls_at_once(monkeypatch):
    """The signal comes in the middle of the second candidate."""
    tried = []
    made = samples.as_similarity

    def pressed(X, name, **params):
        tried.append(name)
        if tried.count("sqeuclidean") == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return made(X, name, **params)

    monkeypatch.setattr(samples, "as_similarity", pressed)
    model = DominantSets(3)
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(features(400))
    assert model.end_ is End.INTERRUPTED
    assert model.affinity_ == "sqeuclidean"
    assert model.choice_.interrupted
    assert model.labels_.shape == (400,)


def test_ctrl_c_while_a_tree_is_cut(monkeypatch):
    cut_tree = tree.cut_tree

    def pressed(*arguments):
        press_ctrl_c()
        return cut_tree(*arguments)

    monkeypatch.setattr(tree, "cut_tree", pressed)
    with pytest.warns(UserWarning, match="ended early"):
        model = DominantSets(affinity="path").fit(np.random.default_rng(0).normal(size=(50, 2)))
    assert model.end_ is End.INTERRUPTED


@pytest.mark.parametrize("assign", ["refine", "average", None])
@pytest.mark.parametrize("where", ["memberships_of", "_keep"])
def test_ctrl_c_while_a_result_is_kept_loses_nothing(where, assign, monkeypatch):
    """Members of the clusters that were found are there, and the model can predict."""
    X = 50.0 * np.eye(3)[np.arange(100) % 3] + features(100, 3) / 10.0  # labels leave all members alone
    whole = DominantSets(3, affinity="sqeuclidean", assign=assign).fit(X)
    owner = DominantSets if where == "_keep" else _labels
    kept_before, presses = getattr(owner, where), [press_ctrl_c]

    def pressed(*arguments):
        while presses:  # once
            presses.pop()()
        return kept_before(*arguments)

    monkeypatch.setattr(owner, where, pressed)
    with pytest.warns(UserWarning, match="interrupted"):
        model = DominantSets(3, affinity="sqeuclidean", assign=assign).fit(X)
    assert model.end_ is End.INTERRUPTED
    assert model.n_clusters_ == 3
    np.testing.assert_array_equal(model.core_labels_, whole.core_labels_)
    assert model.predict(X).shape == (100,)
