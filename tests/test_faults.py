"""Whatever fails on the way to a file: it is the old one or the new one, and one sentence says why."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import product

import numpy as np
import pytest

from bad_files import WHOLE
from dominantsets import DominantSets, _checks
from dominantsets.app.files import FileError, read, write_label_map, write_labels, write_text
from dominantsets.clusters.checkpoint import Checkpoint
from dominantsets.studies.experiments._common import Store
from faulty import ERRORS, OPERATIONS, every_fault
from no_memory import WHY, outcome, total
from support import features

OLD = b"what was there before"
WRITERS = {
    "labels.csv": lambda path: write_labels(str(path), None, np.arange(40), np.ones(40), [0]),
    "page.html": lambda path: write_text(path, "<p>new</p>\n" * 20),
    "map.npy": lambda path: write_label_map(path, np.arange(40).reshape(8, 5)),
    "map.png": lambda path: write_label_map(path, np.arange(40).reshape(8, 5)),
}


def checkpoint_at(path):
    keep = Checkpoint(path, {"data": "of this test"})
    return keep, DominantSets(3, affinity="rbf", shift=1.0).fit(features(40)).clusters_


def kept(path):
    keep, clusters = checkpoint_at(path)
    random_state = np.random.RandomState(0)
    return lambda: keep.save(clusters, 3, random_state, None)


def taken_up(path):
    kept(path)()
    keep, _ = checkpoint_at(path)
    return keep.load


def study(path):
    """Rows of a study, from which a stopped one goes on."""
    store = Store(path)

    def add():
        store.rows = []
        store.add({"a": 1}, [{"x": 0.5 * k, "y": "z"} for k in range(10)])

    return add


MEMORY_CASES = {  # a path -> what to do where memory runs out
    **{name: partial(partial, writer) for name, writer in WRITERS.items()},
    "rows.csv": study,
    "run.npz": kept,
    "read": taken_up,
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


def is_as_it_should(found):
    """NumPy and PIL have faults of their own where memory is missing."""
    return found.kind in ("passed", "done", "MemoryError", "FileError") or "numpy/" in found.place


@pytest.mark.skipif(bool(WHY), reason=WHY)
@pytest.mark.parametrize(
    ("name", "forever"),
    [
        *product(MEMORY_CASES, (False,)),
        # of the others, some of Python's zipfile and of PIL is never left: benchmarks/faults.py counts it
        *product(("labels.csv", "page.html", "map.npy", "rows.csv"), (True,)),
    ],
)
def test_whichever_allocation_fails_a_file_is_the_old_one_or_the_new_one(tmp_path, name, forever):
    """One alone, or all from it on, in forks: ``benchmarks/faults.py allocations`` takes every one."""
    path, said = tmp_path / "out" / name, tmp_path / "said"
    path.parent.mkdir()
    work = MEMORY_CASES[name](path)
    work()
    new = path.read_bytes()
    old = new if name == "read" else OLD
    path.write_bytes(old)
    ends = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a checkpoint is not written, and forks
        last = total(work, said)
        for n in np.linspace(0, last - 1, 12).astype(int).tolist():
            found = outcome(work, n, forever, said)
            assert is_as_it_should(found), found.said
            assert [file.name for file in path.parent.iterdir()] == [name]
            assert path.read_bytes() in (old, new)
            if name not in ("run.npz", "read") and found.kind in ("passed", "done"):
                assert path.read_bytes() == new
            path.write_bytes(old)
            ends.append(found.kind)
        assert outcome(work, last + 100, True, said).kind == "passed"
    assert path.read_bytes() == new
    if name == "run.npz":  # without its copy, a run goes on
        assert set(ends) == {"passed"}
    else:
        assert ends.count("MemoryError") > 5


def caused_by_memory():
    error = SystemError("<class 'zip'> returned a result with an exception set")
    error.__cause__ = MemoryError()
    return error


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't allocate lock"),
        SystemError("<ufunc 'subtract'> returned NULL without setting an exception"),
        caused_by_memory(),
    ],
)
def test_a_lack_of_memory_is_a_sentence(monkeypatch, tmp_path, error):
    """Python's MemoryError says nothing, and Python and NumPy make other errors of it."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr("dominantsets.estimator.find", fail)
    with pytest.raises(MemoryError, match="there is not enough memory; free some"):
        DominantSets(3).fit(features(40))
    monkeypatch.undo()
    path = tmp_path / "run.npz"
    fitted(path)
    monkeypatch.setattr("dominantsets.clusters.checkpoint.np.load", fail)
    with pytest.raises(MemoryError, match="there is no memory for it"):  # and not that it is damaged
        fitted(path)


def test_other_errors_are_not_called_a_lack_of_memory():
    with pytest.raises(MemoryError, match="this array"), _checks.memory_explained("no"):
        raise MemoryError("this array")
    for error in (SystemError("the machine goes down"), RuntimeError("other"), KeyError("x")):
        with pytest.raises(type(error)), _checks.memory_explained("no"):
            raise error
