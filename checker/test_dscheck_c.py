"""The checker in C gives the verdicts of the one in Python, line by line."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import cases
import dscheck
import numpy as np
import pytest

SOURCE = Path(dscheck.__file__).with_suffix(".c")
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
NAMES = [name for name, _, _ in cases.fits(0)]
pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    out = tmp_path_factory.mktemp("checker") / "dscheck"
    command = [COMPILER, "-O2", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", str(out), str(SOURCE), "-lm"]
    subprocess.run(command, check=True)
    return out


def both(program, capsys, *paths):
    """The exit codes and the lines of both; a refusal ends with a sentence of each one's own."""
    code = dscheck.main([str(path) for path in paths])
    lines = capsys.readouterr().out.splitlines()
    run = subprocess.run([program, *map(str, paths)], capture_output=True, text=True, check=False, timeout=60)
    assert not run.stderr
    others = run.stdout.splitlines()
    assert run.returncode == code, (lines, others)
    if code == 2:
        assert others[-1].startswith("refused: "), others
        assert others[-1].endswith("."), others
    else:
        assert others == lines
    return code


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_fits(number, seed, program, tmp_path, capsys):
    _, X, params = list(cases.fits(seed))[number]
    assert both(program, capsys, *cases.written(X, params, tmp_path)) in (0, 3)


@pytest.mark.filterwarnings("ignore")
def test_ties_and_flat_faces(program, tmp_path, capsys):
    for seed in range(105):
        S, X = cases.tied(seed)
        found = cases.solve(S, shift=1.5) if seed % 3 else cases.global_optimum(S, shift=1.5)
        files = cases.certify(S, found, str(tmp_path / "fit.cert"))
        assert both(program, capsys, files[0], files[1] if len(files) > 1 else cases.saved(X, tmp_path)) in (
            0,
            3,
        )


@pytest.mark.parametrize("name", cases.LIES)
def test_lies(name, program, tmp_path, capsys):
    _, lie, data = cases.lied(cases.LIES[name], tmp_path)
    assert both(program, capsys, lie, data) in (1, 2)


@pytest.mark.parametrize("kind", ["f4", "f8", "i1", "i4", "u2", "i8", "b1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_kind(kind, order, program, tmp_path, capsys):
    X = np.rint(4.0 * cases.groups(0)) if kind != "f4" else cases.groups(0)
    X = np.asarray(np.abs(X) if kind[0] in "ub" else X, order=order).astype(kind)
    X[0] = 1  # not all equal
    certificate, _ = cases.written(X, {"affinity": "sqeuclidean", "assign": None}, tmp_path)
    np.save(tmp_path / "given.npy", X)
    assert both(program, capsys, certificate, tmp_path / "given.npy") in (0, 3)


def test_damaged_files(program, tmp_path, capsys):
    certificate, data = cases.written(cases.groups(0), {"affinity": "sqeuclidean"}, tmp_path)
    rng, other = np.random.default_rng(1), tmp_path / "other.cert"
    for source, place in ((certificate, 0), (data, 1)):
        raw = source.read_bytes()
        for _ in range(60):
            changed = bytearray(raw)
            changed[int(rng.integers(len(raw)))] ^= int(rng.integers(1, 256))
            changed = changed[: int(rng.integers(len(raw)))] if rng.random() < 0.3 else changed
            other.write_bytes(bytes(changed))
            paths = (other, data) if place == 0 else (certificate, other)
            if place == 0:
                assert both(program, capsys, *paths) == 2
            else:  # some bytes of a header say nothing about the numbers
                run = subprocess.run(
                    [program, *map(str, paths)], capture_output=True, check=False, timeout=60
                )
                assert run.returncode in (0, 2)


def test_what_follows_the_json_is_not_ignored(program, tmp_path, capsys):
    certificate, data = cases.written(cases.groups(0), {"affinity": "sqeuclidean"}, tmp_path)
    body, other = certificate.read_bytes().partition(b"\n")[2], tmp_path / "other.cert"
    for tail in (b"\0more", b"{}", b" x"):
        digest = hashlib.sha256(body + tail).hexdigest()
        other.write_bytes(f"dominantsets certificate 1 sha256 {digest}\n".encode() + body + tail)
        assert both(program, capsys, other, data) == 2


def test_structures_that_are_damaged(program, tmp_path, capsys):
    certificate, data = cases.written(cases.groups(0), {"affinity": "sqeuclidean"}, tmp_path)
    whole = cases.content_of(certificate)
    damaged = [whole | {key: value} for key in whole for value in (None, 1, "x", [[]], {"a": 1})]
    for key in whole["clusters"][0]:
        for value in (None, "x", [[]], {}, -3, 1e300, [1e9]):
            damaged.append(
                whole | {"clusters": [whole["clusters"][0] | {key: value}, *whole["clusters"][1:]]}
            )
    for content in damaged:
        cases.signed(content, tmp_path / "other.cert")
        paths = [program, tmp_path / "other.cert", data]
        run = subprocess.run(paths, capture_output=True, text=True, check=False, timeout=60)
        assert run.returncode in (0, 1, 2, 3), run
        assert run.stdout.count("\n") >= 1
