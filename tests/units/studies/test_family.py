"""The study of the family: its data, its rivals, what is counted, and what is said about it."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from typer.testing import CliRunner

from dominantsets import as_similarity, peel, solve
from dominantsets.app.cli import app
from dominantsets.studies import experiments
from dominantsets.studies.experiments import (
    STUDIES,
    _common,
    family,
    family_advice,
    family_data,
    family_hypergraphs,
    family_page,
)  # fmt: skip
from dominantsets.studies.experiments.rivals import RIVALS, power_iteration
from support import CORNERS, random_similarity

mpl.use("Agg")
# words of DIMACS's description of the graphs: nodes, edges and clique number
FACTS = {
    "hamming6-4": (64, 704, 4), "hamming6-2": (64, 1_824, 32),
    "johnson8-2-4": (28, 210, 4), "johnson8-4-4": (70, 1_855, 14),
}  # fmt: skip


# data and rivals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FACTS)
def test_graphs_of_codes_are_those_of_dimacs(name):
    task = family_data.load(name, True)
    n, edges, omega = FACTS[name]
    assert (len(task.A), task.A.sum(), task.omega) == (n, 2 * edges, omega)
    np.testing.assert_array_equal(task.A, task.A.T)


@pytest.mark.usefixtures("data_folder")
def test_the_protein_network_is_collins():
    """1,622 proteins and 9,074 interactions."""
    task = family_data.load("Collins", False)
    assert task.A.shape == (1622, 1622)
    assert task.A.nnz == 2 * 9_074
    assert min(len(c) for c in task.complexes) >= 3


@pytest.mark.usefixtures("data_folder")
def test_path_following_takes_many_sets_off_the_network():
    """Some lines of it are straight up to rounding, so that steps have no natural length."""
    task = family_data.load("Collins", False)
    found = list(peel(task.A, 120, algorithm="path-following"))
    assert len(found) == 120
    for cluster in found:
        assert np.isfinite(cluster.value)
        assert cluster.relative_gap <= 1e-9


def test_data_that_are_not_here_are_a_line_of_the_table(monkeypatch):
    monkeypatch.delenv("DOMINANTSETS_DATA", raising=False)
    family_data.load.cache_clear()
    (row,) = family.work({"data": "Collins", "method": "pairwise", "quick": 1})
    assert "is not here" in row["missing"]
    assert set(family_data.names(False)) >= set(family_data.CODES)
    family_data.load.cache_clear()


@pytest.mark.parametrize("rival", RIVALS)
def test_rivals_find_clear_groups(rival):
    X, y = make_blobs(200, centers=CORNERS, random_state=0)
    A = as_similarity(X, "rbf", gamma=0.05).toarray()
    assert adjusted_rand_score(y, RIVALS[rival](A, 4)) > 0.85  # one vector for four equal groups is not much


def test_power_iteration_is_a_power():
    """Its vector is W to the t times the degrees: k-means of it has the same groups, for some t."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [30, 20, 10])
    A = np.where(np.equal.outer(y, y), 1.0, 0.01) * (0.5 + 0.5 * rng.random((60, 60)))
    A = np.triu(A, 1) + np.triu(A, 1).T
    assert adjusted_rand_score(y, power_iteration(A, 3)) == 1.0
    W = A / A.sum(axis=1, keepdims=True)
    v = np.linalg.matrix_power(W, 10) @ A.sum(axis=1)
    within = max(np.ptp(v[y == k]) for k in range(3))
    between = np.diff(np.sort([v[y == k].mean() for k in range(3)])).min()
    assert within < between  # as it says: flat inside, and not yet between


# what is counted -----------------------------------------------------------------------------------------


def task_of(A, shift=0.3):
    return family_data.Task("synthetic", A, shift, 2, np.arange(len(A)) % 2)


@pytest.mark.parametrize("method", [m for m in family.SOLVERS if m != family.DUAL])
def test_every_method_has_its_certificate_in_the_table(method):
    A = random_similarity(40, 3)
    row = family.one_set(task_of(A), method, quick=False)
    found = solve(A, algorithm=method, start=family.start_of(method), shift=0.3, tol=family.TOL)
    assert row["value"] == pytest.approx(found.value, rel=1e-6)
    assert row["products"] > 0
    if row["status"] == "converged":
        assert row["relative_gap"] <= family.TOL


def test_a_product_is_all_of_the_matrix_read_once():
    """RD reads it once an iteration, and once for the certificate; a Frank-Wolfe step a column, or two."""
    A = random_similarity(50, 1)
    for method, columns in (("replicator", 50), ("fw", 1), ("pairwise", 2)):
        S = family.counted(A)
        t = 40
        found = solve(S, algorithm=method, start="barycenter", shift=2.0, tol=0.0, max_iter=t, trace=True)
        read = family.products(found, method, S) * 50
        # besides the steps: products at the beginning and for the certificate, and its second derivatives
        assert t * columns <= read <= t * columns + 4 * 50


def test_what_counts_as_a_clique():
    A = np.ones((5, 5)) - np.eye(5)
    A[0, 4] = A[4, 0] = 0.0
    clique = solve(A, shift=-0.5, start=1)
    assert family.clique_size(A, clique) == 4
    spread = replace(clique, members=np.arange(5), weights=np.full(5, 0.2))
    assert family.clique_size(A, spread) == 0
    leaving = replace(clique, members=np.arange(5), weights=np.array([0.25, 0.25, 0.25, 0.25, 1e-9]))
    assert family.clique_size(A, leaving) == 4


def test_cliques_by_destabilising():
    row = family.enumerated(family_data.load("hamming6-4", True), quick=False)
    assert row["clique_best"] == 4
    assert row["relative_gap"] <= 1e-9


def test_asymmetric_similarities_are_judged_by_their_own_payoffs():
    """InImDyn ends at an equilibrium; the dominant set of (A + A')/2 is one of another game."""
    task = family_data.load("asymmetric 0.4", True)
    assert (task.A != task.A.T).any()
    rows = {method: family.directed(task, method) for method in family.DIRECTED}
    assert rows["inimdyn"]["relative_gap"] <= 1e-9
    assert rows["inimdyn"]["stable"] == "yes"
    assert rows[family.SYMMETRISED]["relative_gap"] > 1e-6
    assert rows["inimdyn"]["purity"] == 1.0  # nothing is alike across classes, and the shift is small


def test_triangles_are_those_of_the_graph():
    A = random_similarity(12, 0, zeros=0.5) > 0
    found = family_hypergraphs.triangles(A.astype(float))
    assert len(found) == np.trace(np.linalg.matrix_power(A.astype(int), 3)) / 6
    assert all(A[i, j] and A[j, k] and A[i, k] and i < j < k for i, j, k in found)


def test_hypergraphs_of_the_study():
    """A clique's triangles: f is C(s, 3)/s³ where a clique of s nodes is found, at most that of omega."""
    for method in family_hypergraphs.METHODS:
        row = family_hypergraphs.work("triangles hamming6-4", method, quick=True)
        assert row["value"] <= 4 / 4**3 + 1e-9
    row = family_hypergraphs.work("lines 0", "pairwise", quick=False)
    assert row["ari"] > 0.5
    assert 0 < row["ar"] <= 1


def test_curves_come_from_one_start_and_end_together():
    """All methods begin at the value of equal weights, and the certified ones end at maxima."""
    A, _ = experiments.synthetic.similarity(0.4, 0)
    n, shift = len(A), experiments.synthetic.ASSUMED
    equal = A.sum() / n**2 - shift / n + shift
    for method in ("pairwise", "away", "inimdyn", "shrink-expand"):
        points = family.curve(method, quick=True)
        assert points[0]["value"] >= equal - 1e-12
        assert [p["t"] for p in points] == [2**k for k in range(len(points))]
        assert points[-1]["gap"] <= 1e-10 * points[-1]["value"]
        values = [p["value"] for p in points]
        assert np.diff(values).min(initial=0.0) >= -1e-12


# what is said --------------------------------------------------------------------------------------------


def rows_of(**times):
    """A row for each method on two data sets, all converged but replicator dynamics."""
    return [
        {
            "data": data, "group": "newsgroups", "n": 100, "method": m, "quick": 0, "value": 2.0,
            "seconds": t, "relative_gap": 1e-8, "status": "steady" if m == "replicator" else "converged",
            "ari": 0.5, "ari_post": 0.5, "ar": 1.0,
        }
        for data in ("newsgroups 1", "newsgroups 2")
        for m, t in times.items()
    ]  # fmt: skip


def labels_row(data, method, ari):
    return {"data": data, "group": "newsgroups", "method": method, "ari": ari, "ari_post": ari, "ar": 1.0}


def test_the_advice_follows_the_numbers():
    rows = rows_of(pairwise=0.002, away=0.001, replicator=0.5)
    for name in ("newsgroups 1", "newsgroups 2"):
        rows.append(labels_row(name, "DominantSets", 0.6))
    rows += [
        labels_row("newsgroups 1", "normalised cut", 0.9),
        labels_row("newsgroups 2", "correlation", 0.1),
    ]
    said = " ".join(family_advice.advice(rows))
    assert "the fastest are 'away' 1 ms, 'pairwise' 2 ms" in said
    assert "500 times as long" in said
    assert "reaches it on 0 of 2" in said
    assert "ahead of 'DominantSets' on 1 of them: newsgroups 1 (normalised cut 0.90 against 0.60)" in said
    faster = " ".join(family_advice.advice(rows_of(pairwise=0.001, away=0.004, replicator=0.5) + rows[-2:]))
    assert "the fastest are 'pairwise' 1 ms, 'away' 4 ms" in faster


def test_every_method_says_what_it_is():
    assert set(family_page.WHO) >= {*family.SOLVERS, *family.OURS, *RIVALS}


def refuse(cell):
    raise AssertionError(f"{cell} was done before")


def test_the_page_quickly_and_again(tmp_path, monkeypatch):
    monkeypatch.setattr(family_data, "names", lambda quick: ["synthetic 0.4", "hamming6-4", "Collins"])
    monkeypatch.delenv("DOMINANTSETS_DATA", raising=False)
    family_data.load.cache_clear()
    arguments = ["reproduce", "family", "--quick", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for words in ("Which to use when", "synthetic 0.4: 200 objects", "hamming6-4, ω = 4", "Collins: Collins"):
        assert words in page
    assert (tmp_path / "family.png").exists()
    monkeypatch.setitem(experiments.STUDIES, "family", replace(STUDIES["family"], work=refuse))
    assert CliRunner().invoke(app, arguments).exit_code == 0
    family_data.load.cache_clear()


# verdicts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cases", "word"),
    [
        ({"FW": True, "PFW": True}, "holds"),
        ({"FW": False, "PFW": False}, "does not hold"),
        ({"FW": True, "PFW": False, "AFW": True}, "holds in part: not for PFW"),
    ],
)
def test_a_verdict_looks_at_all_cases(cases, word):
    page = _common.Page("")
    _common.verdict(page, "airplane", cases, "numbers")
    assert page.verdicts["airplane"] == (word, "numbers")
    assert ('class="warning"' in page.html()) == (word != "holds")


@pytest.mark.usefixtures("data_folder")
def test_a_variant_below_rd_is_named(tmp_path):
    """The image's verdict is about every variant, not about the best of them."""
    names = (*_common.METHODS, "exact", "exact, full size")
    rows = [
        {"image": "airplane", "method": m, "quick": 1, "seconds": 1.0, "n_iter": 10, "pixels": 8, "ari": ari,
         "smaller_segment": 0.5, "bits": "x0f", "shape": "2x4"}
        for m, ari in zip(names, (0, 0.9, 0.1, 0.9, 0.9, 0.5, 1, 1), strict=True)
    ]  # fmt: skip
    page = _common.Page("")
    STUDIES["image"].tell(rows, page, tmp_path)
    assert page.verdicts["airplane"][0] == "holds in part: not for FW, PFW-V"
