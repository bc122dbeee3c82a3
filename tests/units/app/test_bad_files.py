"""Damaged and hostile files: each is refused in one sentence, and nothing in it is run."""

from __future__ import annotations

import io
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bad_files import FORMATS, damaged
from dominantsets.app.files import FileError, read

CORPUS = Path(__file__).parent / "corpus"


def said_of(path, **options):
    """The sentence with which a file is refused, "" where it is read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas
        try:
            assert read(str(path), **options).data.ndim == 2
        except FileError as error:
            return str(error)
    return ""


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_files_that_once_raised_something_else_are_refused_in_a_sentence(path):
    """Found by benchmarks/fuzz.py; their names say what was raised."""
    said = said_of(path)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_ten_thousand_damaged_files(tmp_path, format):
    outcomes = set()
    for number in range(FORMATS.index(format), 10_000, len(FORMATS)):
        made, raw, column = damaged(number)
        assert made == format
        path = tmp_path / f"file.{format}"
        path.write_bytes(raw)
        said = said_of(path, label_column=column)
        assert "\n" not in said, number
        outcomes.add(said == "")
    assert outcomes == {True, False}  # some are read, some refused


BOMB = """<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx"><!ENTITY y "&x;&x;&x;&x;&x;&x;&x;&x;">]>
<graphml><graph><node id="&y;"/><node id="b"/><edge source="&y;" target="b"/></graph></graphml>"""
OUTSIDE = """<!DOCTYPE a [<!ENTITY x SYSTEM "secret.txt">]>
<graphml><graph><node id="&x;"/><node id="b"/><edge source="b" target="b"/></graph></graphml>"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("text", [BOMB, OUTSIDE], ids=["bomb", "outside"])
def test_xml_entities_are_refused(tmp_path, text, encoding):
    path = tmp_path / "a.graphml"
    path.write_bytes(text.encode(encoding))
    assert "document type" in said_of(path)


def test_headers_that_promise_more_than_there_is(tmp_path, monkeypatch):
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (2**44, 3)}
    np.lib.format.write_array_header_1_0(header, shape)
    raw = header.getvalue() + bytes(48)
    (tmp_path / "a.npy").write_bytes(raw)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as out:
        out.writestr("X.npy", raw)
    banner = "%%MatrixMarket matrix array real general\n"
    (tmp_path / "a.mtx").write_text(banner + "9" * 17 + " 2\n1\n", encoding="ascii")
    for name in ("a.npy", "a.npz", "a.mtx"):
        assert said_of(tmp_path / name), name
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert said_of("-", format="npy")
