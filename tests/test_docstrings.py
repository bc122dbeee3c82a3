"""Public names have whole numpydoc pages."""

from __future__ import annotations

import dataclasses
import enum
import inspect

import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate

import dominantsets
from dominantsets import plotting

DISPLAYS = [name for name in plotting.__all__ if name.endswith("Display")]
PAGES = [
    *(f"dominantsets.{name}" for name in dominantsets.__all__),
    "dominantsets.DominantSets.fit",
    "dominantsets.DominantSets.predict",
    "dominantsets.DominantSets.transform",
    "dominantsets.DominantSets.partial_fit",
    "dominantsets.DominantSetHierarchy.fit",
    "dominantsets.DominantSetHierarchy.cut",
    "dominantsets.DominantSetHierarchy.groups",
    "dominantsets.DominantSetHierarchy.predict",
    "dominantsets.segmentation.segment",
    "dominantsets.theory.gap_bound",
    "dominantsets.theory.log_gap_bound",
    *(f"dominantsets.plotting.{name}" for name in DISPLAYS),
    "dominantsets.plotting.ClusterDisplay.from_estimator",
    "dominantsets.plotting.HierarchyDisplay.from_estimator",
]
# What a page must not lack: a summary, every parameter described, what is returned.
CODES = {
    *("GL03", "GL05", "GL06", "GL07", "GL08", "SS01", "SS02", "SS03", "SS04"),
    *("PR01", "PR02", "PR04", "PR07", "PR10", "RT01", "RT03", "RT04", "YD01"),
}
RETURNED = {dominantsets.Peeling, dominantsets.MultiStart}  # peel and multistart make them, and have the page


def made_by_users(subject: object) -> bool:
    """Whether its constructor's arguments are anybody's business."""
    is_result = subject in RETURNED or dataclasses.is_dataclass(subject)
    return not is_result and not (inspect.isclass(subject) and issubclass(subject, enum.Enum))


@pytest.mark.parametrize("name", PAGES)
def test_page(name):
    errors = [error for error in validate(name)["errors"] if error[0] in CODES]
    if name == "dominantsets.theory.gap_bound":  # takes log_gap_bound's parameters
        errors = [error for error in errors if error[0] not in ("PR01", "RT01")]
    if not made_by_users(getattr(dominantsets, name.split(".")[1], None)):
        errors = [error for error in errors if error[0] != "PR01"]
    assert not errors, errors


@pytest.mark.parametrize(
    "name", [n for n in dominantsets.__all__ if dataclasses.is_dataclass(getattr(dominantsets, n))]
)
def test_a_result_lists_its_attributes(name):
    """All that its repr shows."""
    result = getattr(dominantsets, name)
    listed = {one for entry in ClassDoc(result)["Attributes"] for one in entry.name.split(", ")}
    shown = {field.name for field in dataclasses.fields(result) if field.repr}
    assert shown <= listed, shown - listed


@pytest.mark.parametrize("name", ["solve", "peel", "as_similarity", "DominantSets"])
def test_entry_points_have_an_example(name):
    assert ">>> " in (inspect.getdoc(getattr(dominantsets, name)) or "")
