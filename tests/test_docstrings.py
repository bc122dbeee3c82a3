"""Public names have whole numpydoc pages."""

from __future__ import annotations

import inspect

import pytest
from numpydoc.validate import validate

import dominantsets

PAGES = [
    *(f"dominantsets.{name}" for name in dominantsets.__all__),
    "dominantsets.DominantSets.fit",
    "dominantsets.DominantSets.predict",
    "dominantsets.theory.gap_bound",
    "dominantsets.theory.log_gap_bound",
    "dominantsets.plotting.ClusterDisplay",
    "dominantsets.plotting.ClusterDisplay.from_estimator",
]
# What a page must not lack: a summary, every parameter described, what is returned.
CODES = {
    *("GL03", "GL05", "GL06", "GL07", "GL08", "SS01", "SS02", "SS03", "SS04"),
    *("PR01", "PR02", "PR04", "PR07", "PR10", "RT01", "RT03", "RT04", "YD01"),
}


@pytest.mark.parametrize("name", PAGES)
def test_page(name):
    errors = [error for error in validate(name)["errors"] if error[0] in CODES]
    short_by_design = name in ("dominantsets.theory.gap_bound",)  # takes log_gap_bound's parameters
    if short_by_design:
        errors = [error for error in errors if error[0] not in ("PR01", "RT01")]
    # an enumeration or a plain result lists its attributes, not the constructor's arguments
    subject = getattr(dominantsets, name.split(".")[1], None)
    if inspect.isclass(subject) and subject is not dominantsets.DominantSets:
        errors = [error for error in errors if error[0] != "PR01"]
    assert not errors, errors


@pytest.mark.parametrize("name", ["solve", "peel", "as_similarity", "DominantSets"])
def test_entry_points_have_an_example(name):
    assert ">>> " in (inspect.getdoc(getattr(dominantsets, name)) or "")
