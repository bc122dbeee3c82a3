"""The pages: whole, escaped, with contents that lead somewhere, and in words."""

from __future__ import annotations

import matplotlib as mpl
import pytest

from dominantsets import End, Status

mpl.use("Agg")


@pytest.mark.parametrize("kind", [Status, End])
def test_every_outcome_has_words(kind):
    assert len({one.words for one in kind}) == len(kind)
    assert not any("_" in one.words.replace("min_cluster_size", "") for one in kind)
