"""Whatever fails on the way to a file: it is the old one or the new one, and one sentence says why."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest

from bad_files import WHOLE
from dominantsets import DominantSets
from dominantsets.app.files import FileError, read, write_label_map, write_labels, write_text
from faulty import ERRORS, OPERATIONS, every_fault
from support import features

OLD = b"what was there before"
WRITERS = {
    "labels.csv": lambda path: write_labels(str(path), None, np.arange(40), np.ones(40), [0]),
    "page.html": lambda path: write_text(path, "<p>new</p>\n" * 20),
    "map.npy": lambda path: write_label_map(path, np.arange(40).reshape(8, 5)),
    "map.png": lambda path: write_label_map(path, np.arange(40).reshape(8, 5)),
}
WRITING = [operation for operation in OPERATIONS if operation != "read"]


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("operation", WRITING)
@pytest.mark.parametrize("name", WRITERS)
def test_an_output_is_the_old_file_or_the_new_one(tmp_path, name, operation, error):
    path, outside = tmp_path / "out" / name, tmp_path / name
    path.parent.mkdir()
    WRITERS[name](outside)
    new = outside.read_bytes()
    outside.write_bytes(OLD)
    failed = 0
    for fault in every_fault(path.parent, operation, error):
        path.unlink(missing_ok=True)
        path.hardlink_to(outside)  # the old file, not opened here
        said = ""
        try:
            WRITERS[name](path)
        except (FileError, MemoryError) as raised:
            said = str(raised)
        assert [file.name for file in path.parent.iterdir()] == [name]  # no draft is left
        assert path.samefile(outside) is fault.happened
        assert bool(said) is fault.happened
        assert "\n" not in said
        failed += fault.happened
    assert failed > 0
    assert path.read_bytes() == new
    assert outside.read_bytes() == OLD


@pytest.mark.parametrize("operation", ["open", "read"])
@pytest.mark.parametrize("format", [name for name in WHOLE if name != "parquet"])  # Arrow reads by itself
def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path, format, operation):
    path = tmp_path / f"a.{format}"
    path.write_bytes(WHOLE[format][0])
    column = {"label_column": "kind"} if format in ("csv", "tsv") else {}
    failed = 0
    for fault in every_fault(tmp_path, operation, "EIO"):
        said = ""
        try:
            read(str(path), **column)
        except FileError as raised:
            said = str(raised)
        assert bool(said) is fault.happened
        assert "\n" not in said
        failed += fault.happened
    assert failed > 0


def fitted(path=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checkpoint = None if path is None else str(path)
        options = {"affinity": "rbf", "shift": 1.0, "checkpoint": checkpoint}
        model = DominantSets(3, **options).fit(features(40))
    return model.labels_, [str(warning.message) for warning in caught if "checkpoint" in str(warning.message)]


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        ("write", "ENOSPC"),  # there are many
        *product(("open", "fsync", "rename"), ERRORS),
    ],
)
def test_a_run_goes_on_where_its_checkpoint_cannot_be_written(tmp_path, operation, error):
    """And whatever the file then holds, a second run takes it up and has the same answer."""
    plain, _ = fitted()
    path = tmp_path / "run.npz"
    failed = 0
    for fault in every_fault(tmp_path, operation, error):
        path.unlink(missing_ok=True)
        labels, said = fitted(path)
        np.testing.assert_array_equal(labels, plain)
        assert len(said) == fault.happened
        assert {file.name for file in tmp_path.iterdir()} <= {path.name}
        failed += fault.happened
    assert failed > 0
    np.testing.assert_array_equal(fitted(path)[0], plain)


def test_a_checkpoint_that_cannot_be_read_is_not_called_damaged(tmp_path):
    path = tmp_path / "run.npz"
    fitted(path)
    for fault in every_fault(tmp_path, "read", "EIO", limit=3):
        with pytest.raises(ValueError, match=r"cannot be read \(Input/output error\)"):
            fitted(path)
        assert fault.happened
        break
    raw = path.read_bytes()
    for end in range(1, len(raw), 97):
        path.write_bytes(raw[:end])
        with pytest.raises(ValueError, match="is damaged; delete it"):
            fitted(path)
