"""The pages: whole, escaped, with contents that lead somewhere, and in words."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_iris

from dominantsets.app.files import Table
from dominantsets.app.job import Job
from dominantsets.app.report import Report
from dominantsets.app.result_page import page_of

mpl.use("Agg")
VOID = {"meta", "img", "br"}


class Checked(HTMLParser):
    """Every element is closed where it was opened; ids, links and the words are kept."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.around: dict[str, set[str]] = {}
        self.words: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if tag == "table":
            assert self.open[-1] == "div"  # which scrolls
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)


def test_contents_lead_to_sections_and_tables_scroll():
    page = (
        Report("a < b").facts([("n", 3)]).section("<one>").table(["x", "y"], [[1, "<2>"]], colors=["#000000"])
    )
    page.section("two").table(["claim", "verdict"], [["a", "b"]], "words").made("run <it>", [("numpy", "2")])
    read = Checked(page.html())
    assert [link for link in read.links if link.startswith("#")] == [f"#{name}" for name in read.ids]
    assert len(read.ids) == 3
    words = " ".join(read.words)
    for said in ("a < b", "<one>", "<2>", "run <it>", "How this page was made"):
        assert said in words
    assert re.search(r"\d{4}-\d\d-\d\d", words)  # a date
    assert "prefers-color-scheme: dark" in page.html()


def test_the_page_of_a_result():
    X = load_iris().data
    names = [f"column <{k}>" for k in range(4)]
    table = Table(
        X, classes=load_iris().target.astype(str), names=names, ids=[f"<flower {k}>" for k in range(150)]
    )
    result = Job(n_clusters=3, affinity="sqeuclidean").run(table)
    read = Checked(page_of(result, "<iris>", "dominantsets cluster <iris>").html())
    words = " ".join(read.words)
    model = result.model
    for cluster, row in zip(model.clusters_, model.selection_.rows, strict=True):
        assert f"<flower {cluster.exemplar}>" in words  # whose row is shown
        for value in X[cluster.exemplar]:
            assert f"{value:.6g}" in read.words
        assert {f"{row.labelled:,}", f"{len(cluster):,}"} <= set(read.words)  # label and core
    assert "The search ended because all clusters asked for were found." in words
    assert model.selection_.noise in words
    assert model.selection_.reason in words
    assert "dominantsets cluster <iris>" in words
    assert "n_clusters" not in re.sub(r"n_clusters=3", "", words)  # no codes, but for the settings


def test_a_page_without_clusters_or_features():
    """Distances, and a sparse matrix of features: what is not known is left out."""
    X = load_iris().data
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    words = " ".join(Checked(page_of(Job(matrix="distance").run(Table(D)), "d").html()).words)
    assert "Exemplars" not in words
    assert "as given" in words
