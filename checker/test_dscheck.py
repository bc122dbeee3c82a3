"""The checker in Python accepts what the library writes, and refuses lies and damaged files."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path

import cases
import dscheck
import numpy as np
import pytest

from dominantsets.similarity import AFFINITIES

CHECKER = Path(dscheck.__file__)
NAMES = [name for name, _, _ in cases.fits(0)]


def check(*paths, exact=False):
    return dscheck.main([*(str(path) for path in paths), *(["--exact"] if exact else [])])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_every_fit_is_accepted(number, seed, tmp_path, capsys):
    _, X, params = list(cases.fits(seed))[number]
    certificate, data = cases.written(X, params, tmp_path)
    code, text = check(certificate, data), capsys.readouterr().out
    assert code in (0, 3), text
    assert "FAILS" not in text, text
    unchecked = [line for line in text.splitlines() if line.endswith("not checked") and "labels" not in line]
    assert all("global_gap" in line for line in unchecked[:-1]), text


def test_every_affinity_is_among_the_fits():
    named = {params["affinity"] for _, _, params in cases.fits(0)}
    assert set(AFFINITIES) == named


@pytest.mark.filterwarnings("ignore")
def test_ties_and_flat_faces_are_accepted(tmp_path, capsys):
    """What rounding hides there is not checked; no claim of the library fails."""
    whole = 0
    for seed in range(210):
        S, X = cases.tied(seed)
        shift = 0.5 * float(np.random.default_rng(seed).integers(0, 10))
        found = cases.solve(S, shift=shift) if seed % 3 else cases.global_optimum(S, shift=shift)
        files = cases.certify(S, found, str(tmp_path / "fit.cert"))
        data = files[1] if len(files) > 1 else cases.saved(X, tmp_path)
        code, text = check(files[0], data), capsys.readouterr().out
        assert code in (0, 3), (seed, text)
        whole += code == 0
    assert whole > 150


@pytest.mark.parametrize("name", cases.LIES)
def test_every_lie_is_refused(name, tmp_path, capsys):
    honest, lie, data = cases.lied(cases.LIES[name], tmp_path)
    if honest.read_bytes() != lie.read_bytes() and name != "a local optimum called the best":
        assert check(honest, data) in (0, 3), capsys.readouterr().out
    assert check(lie, data) in (1, 2), capsys.readouterr().out


def test_the_boxes_of_a_proof_are_checked(tmp_path, capsys):
    certificate, data = cases._best(tmp_path)
    assert cases.content_of(certificate)["clusters"][0]["proven"]
    assert check(certificate, data) == 0
    assert "global_gap: holds" in capsys.readouterr().out


@pytest.mark.parametrize("affinity", ["sqeuclidean", "linear", "precomputed", "graph"])
def test_rationals_agree(affinity, tmp_path, capsys):
    X = cases.data_of(2, affinity)
    params = {"affinity": "precomputed" if affinity == "graph" else affinity, "assign": None}
    certificate, data = cases.written(X, params, tmp_path)
    assert check(certificate, data, exact=True) == 0, capsys.readouterr().out


def test_rationals_of_a_transcendental_formula_are_refused(tmp_path, capsys):
    certificate, data = cases.written(cases.groups(0), {"affinity": "rbf"}, tmp_path)
    assert check(certificate, data, exact=True) == 2
    assert "no rationals" in capsys.readouterr().out


def test_copies_are_checked_as_repeated_rows(tmp_path, capsys):
    X = cases.groups(4)
    weights = np.arange(len(X)) % 3
    model = cases.DominantSets(affinity="sqeuclidean").fit(X, sample_weight=weights)
    certificate, data = model.certify(str(tmp_path / "fit.cert"))
    assert np.load(data).shape == (weights.sum(), X.shape[1])
    assert check(certificate, data) == 0, capsys.readouterr().out


def sentence(path, data, capsys):
    """What is said of a file that is refused: one line, from a process that ends well."""
    assert check(path, data) == 2
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("refused: "), lines
    assert lines[0].endswith("."), lines
    return lines[0]


def test_files_that_are_no_certificates_are_refused_in_a_sentence(tmp_path, capsys):
    certificate, data = cases.written(cases.groups(0), {"affinity": "sqeuclidean"}, tmp_path)
    raw, other = certificate.read_bytes(), tmp_path / "other.cert"
    for content, words in [
        (b"", "no certificate"),
        (b"a,b\n1,2\n", "no certificate"),
        (data.read_bytes(), "no certificate"),
        (raw[: len(raw) // 2], "cut or edited"),
        (raw.replace(b'"gap"', b'"gab"', 1), "cut or edited"),
        (raw.replace(b"certificate 1 ", b"certificate 2 ", 1), "has format 2, not 1"),
    ]:
        other.write_bytes(content)
        assert words in sentence(other, data, capsys)
    np.save(tmp_path / "other.npy", np.load(data) + 1e-12)
    assert "not those" in sentence(certificate, tmp_path / "other.npy", capsys)
    cases.signed(cases.content_of(certificate) | {"clusters": 3}, other)
    assert check(other, data) == 2
    assert check(tmp_path / "missing.cert", data) == 2
    assert check(certificate, tmp_path / "missing.npy") == 2


def test_mutated_bytes_are_refused(tmp_path, capsys):
    certificate, data = cases.written(cases.groups(0), {"affinity": "sqeuclidean"}, tmp_path)
    raw, rng, other = certificate.read_bytes(), np.random.default_rng(0), tmp_path / "other.cert"
    for _ in range(300):
        changed = bytearray(raw)
        place = int(rng.integers(len(raw)))
        changed[place] ^= int(rng.integers(1, 256))
        other.write_bytes(bytes(changed))
        assert check(other, data) == 2
        assert capsys.readouterr().out.count("\n") == 1


def test_structures_that_are_damaged_are_refused(tmp_path, capsys):
    """A correct digest over a JSON that is not the format's."""
    certificate, data = cases.written(cases.groups(0), {"affinity": "sqeuclidean"}, tmp_path)
    whole = cases.content_of(certificate)
    for key in ("similarity", "data", "clusters"):
        for value in (None, 1, "x", [], [[]], {}):
            cases.signed(whole | {key: value}, tmp_path / "other.cert")
            code = check(tmp_path / "other.cert", data)
            assert code == 2 or (key == "clusters" and value in ([], {})), (key, value)
    for key in whole["clusters"][0]:
        for value in (None, "x", [[]], {}, -3):
            content = json.loads(json.dumps(whole))
            content["clusters"][0][key] = value
            cases.signed(content, tmp_path / "other.cert")
            assert check(tmp_path / "other.cert", data) in (0, 1, 2, 3), (key, value)
    capsys.readouterr()


def test_the_checker_stands_alone(tmp_path):
    source = CHECKER.read_text()
    imported = {line.split()[1] for line in source.splitlines() if line.startswith(("import ", "from "))}
    assert imported <= {"hashlib", "json", "math", "sys", "fractions", "numpy"}
    certificate, data = cases.written(cases.groups(0), {"affinity": "sqeuclidean"}, tmp_path)
    command = [sys.executable, "-I", str(CHECKER), str(certificate), str(data)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert " 0 fail" in run.stdout


def test_a_stopped_fit_has_a_certificate_too(tmp_path, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        params = {
            "affinity": "sqeuclidean",
            "shift": 20.0,
            "solver_params": {"algorithm": "fw", "max_iter": 4},
        }
        certificate, data = cases.written(cases.groups(1), params, tmp_path)
    assert max(c["gap"] for c in cases.content_of(certificate)["clusters"]) > 1e-6
    assert check(certificate, data) in (0, 3), capsys.readouterr().out
