"""What the documentation shows runs, and what it points at is there."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import dominantsets.plotting
from dominantsets import DominantSetHierarchy, DominantSets
from dominantsets.app.cli import app

mpl.use("Agg")
ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
OWN = {
    "README.md",
    "choosing.md",
    "clusters.md",
    "family.md",
    "gpu.md",
    "related-methods.md",
}  # tests of their own
PROMPTED = [page for page in PAGES if "```python\n>>> " in page.read_text(encoding="utf-8")]
CALL = re.compile(
    r"`(DominantSet(?:s|Hierarchy)\((?:[^`()]|\([^`()]*\))*\))"
)  # up to the parenthesis that ends it
NEEDS = re.compile(r"<!-- needs: (\w+) -->\n```python\n(.*?)```", flags=re.S)


def blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [part.split("```")[0] for part in text.split(f"```{language}\n")[1:]]


def test_no_page_with_code_is_forgotten():
    """A page with code has a test of its own, or prompts, or says what its code needs."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if page.name in OWN:
            assert page not in PROMPTED
            assert "```python\n" in text
        else:
            for block in blocks(Path(page), "python"):
                assert block.startswith(">>> ") or block in [code for _, code in NEEDS.findall(text)], block


@pytest.mark.parametrize("page", PROMPTED, ids=lambda page: page.name)
def test_what_prompts_show(page):
    """All blocks of a page, one after another, are one doctest."""
    code = "\n".join(block for block in blocks(page, "python") if block.startswith(">>> "))
    test = doctest.DocTestParser().get_doctest(code, {}, page.name, str(page), 0)
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(
        test, out=said.append
    )
    assert result.attempted
    assert not result.failed, "".join(said)


def test_calls_within_sentences():
    """Parameters that pages name exist."""
    calls = {call for page in PAGES for call in CALL.findall(page.read_text(encoding="utf-8"))}
    assert len(calls) > 10
    known = {"DominantSets": DominantSets, "DominantSetHierarchy": DominantSetHierarchy}
    names = known | {"model": DominantSets().fit([[0.0], [1.0]]), "k": 3}
    for call in calls:
        assert eval(call.replace("\n", " "), names).get_params()


def test_the_readme(capsys):
    """Five lines, and what they are said to print."""
    (code,) = blocks(ROOT / "README.md", "python")
    assert len(code.strip().replace("\n\n", "\n").splitlines()) == 5
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["model"].n_clusters_ == 3
    assert "Noise:" in capsys.readouterr().out


def test_the_commands_of_the_readme(tmp_path, monkeypatch):
    """They make their own file."""
    monkeypatch.chdir(tmp_path)
    lines = [shlex.split(line) for line in "".join(blocks(ROOT / "README.md", "sh")).splitlines()]
    (made,) = [line for line in lines if line[:2] == [".venv/bin/python", "-c"]]
    (clustered,) = [line for line in lines if line[:2] == [".venv/bin/dominantsets", "cluster"]]
    exec(made[2], {})
    result = CliRunner().invoke(app, clustered[1:])
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["iris.csv", "iris.html", "labels.csv"]


def test_the_commands_of_the_pages(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = load_iris(as_frame=True).frame
    frame["species"] = frame.pop("target")
    frame.to_csv("iris.csv", index=False)
    pages = [ROOT / "docs" / "command-line.md", ROOT / "docs" / "start.md"]
    lines = [line for page in pages for block in blocks(page, "sh") for line in block.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("dominantsets cluster")]
    assert commands
    for command in commands:
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
    assert (tmp_path / "labels.csv").exists()
    assert (tmp_path / "iris.html").exists()


def test_the_page_on_choosing(capsys):
    """The code prints the table of the page."""
    page = ROOT / "docs" / "choosing.md"
    (code,) = blocks(page, "python")
    exec(code, {})
    printed = capsys.readouterr().out.strip("\n")
    assert printed.splitlines()[0] in page.read_text(encoding="utf-8")
    taken = [line.split()[0] for line in printed.splitlines() if line.endswith("<- taken")]
    assert taken == ["ellipses"]


def test_the_family():
    (code, *_) = blocks(ROOT / "docs" / "family.md", "python")
    names: dict[str, Any] = {}
    exec(code, names)
    y, found = names["y"], names["clusters"]
    assert [set(y[cluster.members]) for cluster in found] == [{0}, {1}]
    assert (names["labels"][y < 2] == y[y < 2]).all()
    assert (y[names["cuts"][0].members] < 2).all()
    assert names["follows"].stable
    assert sorted(clique.members.tolist() for clique in names["cliques"]) == [
        list(range(5)),
        list(range(5, 12)),
    ]


@pytest.mark.filterwarnings("ignore:no cluster was found")
def test_features_on_a_device():
    """The card is the CPU here, and the data are fewer."""
    pytest.importorskip("torch")
    first, *_ = blocks(ROOT / "docs" / "gpu.md", "python")
    array = np.random.default_rng(0).normal(size=(200, 4))
    names: dict[str, Any] = {"array": array}
    exec(first.replace('"cuda"', '"cpu"').replace("1_000_000", "1_000"), names)
    assert isinstance(names["model"], DominantSets)
    assert names["model"].labels_.shape == (200,)


def test_several_cards_and_files(tmp_path, monkeypatch):
    """The cards are one worker in this process, with CPU tensors; the clusters are three."""
    for name in ("torch", "distributed", "pyarrow"):
        pytest.importorskip(name)
    code = [block.replace("(100, ", "(3, ") for block in blocks(ROOT / "docs" / "gpu.md", "python")]
    _, cards, files = code
    array = np.random.default_rng(0).normal(size=(200, 4)) + 9.0 * np.eye(4)[np.arange(200) % 3]
    names: dict[str, Any] = {"array": array, "DominantSets": DominantSets}
    monkeypatch.setitem(sys.modules, "dask_cuda", MagicMock())
    started = "Client(LocalCUDACluster())"
    assert started in cards
    cards = cards.replace(started, "Client(processes=False, dashboard_address=None, n_workers=1)")
    exec(cards.replace('"cuda"', '"cpu"').replace("1_000_000", "100"), names)
    plain = DominantSets(3, affinity="cosine").fit(array)
    assert plain.n_clusters_ == 3
    with names["client"]:
        np.testing.assert_array_equal(names["model"].labels_, plain.labels_)
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"text": "a", "embedding": list(array)})
    frame.to_parquet("vectors.parquet", row_group_size=70)
    exec(files.replace('"cuda"', '"cpu"'), names)
    assert names["model"].labels_.chunks == ((70, 70, 60),)
    np.testing.assert_array_equal(names["model"].labels_, plain.labels_)


def test_data_in_chunks(monkeypatch):
    """The cluster is in this process, the file an array; the clusters of other people are only called."""
    da = pytest.importorskip("dask.array")
    pytest.importorskip("distributed")
    rows = np.random.default_rng(0).normal(size=(300, 4))
    monkeypatch.setattr(da, "from_zarr", lambda name: da.from_array(rows, chunks=(100, 4)))
    for name in ("dask_jobqueue", "dask_kubernetes", "dask_kubernetes.operator", "coiled"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    first, *others = blocks(ROOT / "docs" / "clusters.md", "python")
    scheduler = '"tcp://scheduler:8786"'
    assert scheduler in first
    names: dict[str, Any] = {}
    exec(first.replace(scheduler, "processes=False, dashboard_address=None, n_workers=1"), names)
    with names["client"]:
        assert names["model"].labels_.chunks == ((100, 100, 100),)
        np.testing.assert_array_equal(names["model"].labels_, DominantSets(20).fit(rows).labels_)
    for code in others:
        exec(code, names)


def test_related_methods(capsys):
    """What the comments say is printed is printed."""
    code = "\n".join(blocks(ROOT / "docs" / "related-methods.md", "python"))
    exec(code, {})
    printed = capsys.readouterr().out.splitlines()
    said = re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.M)
    assert said
    assert printed[: len(said)] == said


def test_every_page_is_in_a_list():
    """A page that no section lists cannot be found on the site, and its build fails."""
    lists = [
        re.findall(r"```{toctree}(.*?)```", page.read_text(encoding="utf-8"), flags=re.S) for page in PAGES
    ]
    listed = {
        re.sub(r".*<(.*)>", r"\1", line) for found in lists for part in found for line in part.split("\n")
    }
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    assert pages - {"index"} <= listed


# A row of the tables of figures: its methods in quality.json and in affinity.json (or neither).
ROWS = {
    "DominantSets()": ("ours", "auto, no K"),
    "HDBSCAN": ("HDBSCAN 5 / HDBSCAN 15", "HDBSCAN, no K"),
    "EVoC": ("EVoC", "EVoC, no K"),
    "DominantSets(k)": ("ours K", "auto, K"),
    "KMeans": ("KMeans K", "KMeans, K"),
    "Gaussian mixture": ("GMM K", "GMM, K"),
    "Genie / lumbermark": ("Genie K / lumbermark K", "Genie, K / lumbermark, K"),
    "lumbermark / Genie": ("lumbermark K / Genie K", "lumbermark, K / Genie, K"),
    "spectral clustering": ("", "spectral, K"),
}
COLUMNS = ["clean", "noisy", "curves, not chosen on", "images, reported", "documents, not chosen on"]


@pytest.mark.parametrize("page", ["README.md", "docs/compared.md"])
def test_figures_are_those_of_the_benchmarks(page):
    """The table of agreements; a cell may be left empty, with a dash."""
    means = {}
    for name, part in (("quality", "not chosen on"), ("affinity", None)):
        path = ROOT / "benchmarks" / "results" / f"{name}.json"
        for row in json.loads(path.read_text(encoding="utf-8"))["means"]:
            if row.get("part") == part:
                means[row["group"], row["method"]] = f"{row['ari']:.2f}".removeprefix("0")
    compared = 0
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        first, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        label = next((name for name in ROWS if re.match(rf"\W*{re.escape(name)}", first)), None)
        if label is None or len(cells) not in (4, 5):
            continue
        for column, cell in zip(COLUMNS, cells, strict=False):
            methods = ROWS[label][column not in ("clean", "noisy")].split(" / ")
            shown = re.sub(r"[*\s¹²³⁴]", "", cell).split("/")
            if shown[0] not in ("–", "-", ""):
                assert shown == [means[column, method] for method in methods], (label, column)
                compared += 1
    assert compared > 20


def result(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def test_figures_of_audits_are_those_of_the_benchmark():
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    shares = result("audit")["shares"]
    for name in next(iter(shares.values())):
        if name != "clusters that are dominant sets":
            assert " | ".join(f"{100.0 * row[name]:.1f}%" for row in shares.values()) in page, name


def guaranteed() -> Iterator[str]:
    """The figures of docs/guarantees.md, made from the result files again."""
    sound, faults, fuzz = result("soundness"), result("faults"), result("fuzz")
    counts = sound["counts"]
    yield f"{counts['solves']:,} solves of {counts['problems']:,} problems"
    yield f"and {counts['degenerate problems']:,} degenerate ones"
    for claim in ("converged", "strict", "not strict", "best", "proven best", "complete", "stable"):
        yield f'{counts.get(f"false {claim}", 0)} false "{claim}" of {counts[claim]:,}'
    apart = [count for name, count in counts.items() if name.startswith("solvers differ")]
    yield f"{sum(apart)} disagreements in {counts['returns']:,} returns"
    for what in ("value", "gap", "margin"):
        worst = max(error for name, (error, _) in sound["worst"].items() if name.startswith(f"{what}:"))
        yield f"{what} {worst:.3g}"
    attacked = result("attack")
    for name, then in attacked["commit e16a6aa"]["claims"].items():
        now = attacked["now"]["claims"].get(name)
        if then["false"] and now and not name.endswith("converged"):
            was, is_now = (f"{row['false']:,} of {row['cases']:,}" for row in (then, now))
            yield f"| {name} | {was} | {is_now} |"
    checked = result("checked")
    counts, lies = checked["counts"], checked["lies"].values()
    yield f"{counts['accepted']:,} of {counts['fits']:,} fits accepted"
    yield f"{counts['damaged files refused']:,} of {counts['damaged files']:,} damaged files"
    yield f"{sum(lie['refused'] for lie in lies):,} of {sum(lie['made'] for lie in lies):,} lies refused"
    yield f"{counts.get('verdicts that differ', 0)} other verdicts in {counts['files read by both']:,} files"
    for name, row in result("same_labels")["settings"].items():
        yield f"{name} {row['other_labels']} of {row['fits']}"
    rows = result("metamorphic")["counts"]
    for name, row in rows.items():
        if not name.startswith(("predict", "as it is")) and not name.endswith("(ties)"):
            yield f"{name} {row.get('another partition', 0)} of {row['fits']:,}"
    told = [row for name, row in rows.items() if name.startswith("predict") and "nearest_n" not in name]
    yield f"{sum(row.get('another partition', 0) for row in told)} of {sum(r['fits'] for r in told):,} fits"
    killed, soak, memory = faults["kills"], faults["soak"], faults["memory"]["mib"]
    yield f"{killed['same answer']} of {killed['runs']} the same answer, {killed['killed']} of them killed"
    same, made = soak["same labels"], soak["fits"]
    yield f"{same:,} of {made:,} fits with the same labels, {soak['killed']} workers killed"
    fits = faults["memory"]["fits"]
    yield f"{memory[1]} MiB after {fits // 5:,} fits, {memory[-1]} after {fits:,}"
    for part in ("fits", "commands", "fresh"):
        cases = faults[part].values()
        wrong = sum(row.get(what, 0) for row in cases for what in FAULTS)
        slowest = max(row["slowest_s"] for row in cases)
        yield f"{wrong} faults in {sum(row['runs'] for row in cases)}, slowest {slowest} s"
    yield from without_memory(faults["allocations"])
    wrong = len(fuzz["faults"])
    yield f"{fuzz['files']:,} files, {wrong} fault{'s' * (wrong != 1)}"
    mutants = result("mutants")
    every = f"{mutants['killed']:,} of {mutants['mutants']:,} in {len(mutants['files'])} files"
    yield f"{every} ({mutants['share']:.0%}); {mutants['equivalent']} of the others change nothing"
    for room, row in mutants["rooms"].items():
        yield f"{room}/ {row['killed']} of {row['mutants']} ({row['share']:.0%})"


def without_memory(parts: dict[str, dict[str, int]]) -> Iterator[str]:
    def counted(what: str, fits: bool) -> int:
        rows = [row for name, row in parts.items() if name.startswith(("fit, ", "limit, ")) is fits]
        return sum(count for row in rows for name, count in row.items() if what in name)

    runs, hung, died, other = (counted(what, False) for what in ("runs", "hung: ", "died: ", "Error: "))
    halves, drafts = counted("half a file", False), counted("drafts", False)
    yield f"{halves} halves and {drafts} drafts in {runs:,} runs, of which {hung:,} hung, {died} died"
    yield f"and {other} ended with another error"
    runs, same, died, hung, other = (
        counted(what, True) for what in ("runs", "same answer", "died: ", "hung: ", "Error: ")
    )
    yield f"{same:,} of {runs:,} with the same answer after it; {died} died, {hung} hung"
    yield f"and {other} had another error"


FAULTS = ("traceback", "lost", "wrong", "slow", "found, and not kept")  # of Ctrl-C


def test_figures_of_the_guarantees():
    text = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    figures = list(guaranteed())
    assert len(figures) > 25
    assert not [figure for figure in figures if figure not in text]


@pytest.mark.subprocess
def test_how_a_fit_goes():
    """The stages of docs/architecture.md and the files that each enters first are those of fits."""
    walk = ROOT / "benchmarks" / "_walk.py"
    if not walk.is_file():
        pytest.skip("benchmarks are in the repository, not in the sdist")
    done = subprocess.run([sys.executable, str(walk)], capture_output=True, text=True, check=True)
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*\w+\*\* \| .+ \| .+ \|$", page, flags=re.M)
    assert len(rows) == 7
    assert rows == done.stdout.splitlines(), "python benchmarks/_walk.py --write puts the walk on the page"


def test_before_and_after_are_those_of_the_result_file(monkeypatch):
    """The last table of docs/architecture.md."""
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("benchmarks are in the repository, not in the sdist")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    house = importlib.import_module("house")
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = house.table(result("house"))
    assert len(rows) == 8
    assert not [row for row in rows if f"| {' | '.join(row)} |" not in page]


def test_the_map_names_every_file():
    """Of the rooms in which a fit goes, and of those that serve all."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    package = ROOT / "src" / "dominantsets"
    files = [path.relative_to(package) for path in package.rglob("*.py") if path.name != "__init__.py"]
    inside = [path for path in files if path.parts[0] not in ("app", "plotting", "studies")]
    assert len(inside) > 50
    assert not [str(path) for path in inside if not re.search(rf"(?<!\w){re.escape(path.name)}\b", page)]
    gone = set(re.findall(r"(?<![\w*])\w+\.py\b", page)) - {path.name for path in files}
    assert gone <= {"__init__.py", "house.py", "_walk.py", "test_house.py", "test_docs.py"}


def test_every_public_name_is_on_the_page_of_the_api():
    listed = set(
        re.findall(r"^   (\w+)$", (ROOT / "docs" / "api.rst").read_text(encoding="utf-8"), flags=re.M)
    )
    public = {getattr(dominantsets, name).__name__ for name in dominantsets.__all__}  # by their first names
    assert public <= listed
    displays = {name for name in dir(dominantsets.plotting) if name.endswith("Display")}
    assert displays <= listed


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_a_page(example):
    """The site runs the examples; without a title, or a picture, one would be no page."""
    tree = ast.parse(example.read_text(encoding="utf-8"))
    title, line, *_ = (ast.get_docstring(tree) or "").splitlines()
    assert line == "=" * len(title)
    assert f'"{example.stem}.png"' in ast.unparse(tree).replace("'", '"')


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_points_at_is_there(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#\s]+)", text)
    links = [link.replace("gallery/index.rst", "../examples/README.rst") for link in links]
    links = [re.sub(r"^gallery/(\w+)\.rst$", r"../examples/\1.py", link) for link in links]
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    named = re.findall(r"\b(?:src|tests|benchmarks|docs|examples)/[\w/.-]+\.(?:py|md|json|png)\b", text)
    missing += [path for path in named if not (ROOT / path).exists()]
    assert not missing, missing


def test_figures_of_noise_are_those_of_the_result_files():
    """The tables of docs/noise.md: means over odd seeds, and how often soft labels are right."""
    page = (ROOT / "docs" / "noise.md").read_text(encoding="utf-8")
    odd, soft = result("noise")["odd seeds"], result("soft")
    shapes, normal = ("moons", "circles", "spirals", "curves"), ("round", "long")
    columns = [
        lambda family, share: share == "0%",
        lambda family, share: share != "0%" and family.split(",")[0] in shapes,
        lambda family, share: share != "0%" and family.split(",")[0] in normal,
        lambda family, share: share != "0%" and family.startswith("t"),
    ]
    for method in ("DominantSets()", "DominantSets(k)", "HDBSCAN 5", "HDBSCAN 15"):
        cells = re.findall(rf"^\| `{re.escape(method)}` \| (.+) \|$", page, flags=re.M)[0].split(" | ")
        for cell, chosen in zip(cells, columns, strict=True):
            values = [
                row[method][0] for f, rows in odd.items() for share, row in rows.items() if chosen(f, share)
            ]
            assert cell == f"{sum(values) / len(values):.2f}"
    rows = re.findall(r"^\| (0\.\d) to \d\.\d \| (.+) \| (.+) \|$", page, flags=re.M)
    assert len(rows) == 6
    for start, *cells in rows:
        for kind, cell in zip(("posteriors", "votes"), cells, strict=True):
            found = next((row for row in soft[kind] if row["from"] == float(start)), None)
            assert cell == ("–" if found is None else f"{found['right']:.2f} ({found['objects']:,})")
