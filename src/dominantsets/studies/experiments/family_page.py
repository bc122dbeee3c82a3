"""What is shown of the family's study: a table for each data set, and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dominantsets.studies.experiments._common import Page, Row, figure, mean_of, pick, save
from dominantsets.studies.experiments.family_advice import DENSE, advice, names_of, shown_seconds

WHO = {
    "fw": "Frank-Wolfe (the paper)",
    "pairwise": "pairwise Frank-Wolfe (the paper)",
    "away": "away-steps Frank-Wolfe (the paper)",
    "inimdyn": "infection and immunisation (Rota Bulò, Pelillo, Bomze 2011), which is away-steps",
    "replicator": "replicator dynamics (Pavan, Pelillo 2007)",
    "exponential-replicator": "exponential replicator dynamics (Pelillo, Torsello 2006)",
    "trajectory": "adaptive trajectories (Haghir Chehreghani 2016), our reconstruction",
    "shrink-expand": "shrink and expand (Liu, Latecki, Yan 2013), our reconstruction",
    "path-following": "capped weights, path-following (Liu et al. 2013), our reconstruction",
    "working-set": "small blocks, ours",
    "pairwise, on (A + Aᵀ)/2": "the dominant set of the symmetrised similarity, to compare",
    "destabilise": "cliques one after another (Torsello, Rota Bulò, Pelillo 2008), our reconstruction",
    "baum-eagon": "replicator dynamics of hypergraphs (Rota Bulò, Pelillo 2009), our reconstruction",
    "dual": "Newton's method in d + 1 unknowns on features, ours",
    "DominantSets": "our estimator, told the number of clusters",
    "DominantSets, equalize": "the same on ranks (after Hou, Gao, Li 2016), our reconstruction",
    "DominantSets, assign=correlation": "the same, labels by local search (after Thiel et al. 2019)",
    "DominantSets, assign=mode": "where the climb from each object ends: graph shift (Liu, Yan 2010)",
    "normalised cut": "relaxed normalised cut (Shi, Malik 2000), a rival",
    "power iteration": "Power Iteration Clustering (Lin, Cohen 2010), a rival",
    "correlation": "correlation clustering (Haghir Chehreghani 2023), a rival, our reconstruction",
}
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#8C6D31", "#7F7F7F")
FLOOR = 1e-13  # below this share of f two values are the same


def tell(rows: list[Row], page: Page, out: Path) -> None:
    missing = {row["data"]: row["missing"] for row in rows if "missing" in row}
    rows = [row for row in rows if "missing" not in row and "skipped" not in row]
    curves, rows = [row for row in rows if "on" in row], [row for row in rows if "on" not in row]
    quick = bool(rows[0]["quick"])
    page.text(
        "The systems that the paper stands on, each under its name and on the same similarities, with the "
        "same certificate: the gap is recomputed from the weights by one function for all of them. One set: "
        "the first dominant set from the method's own start (replicator dynamics: equal weights; others: the "
        "object with the largest row sum, unless the method has a start of its own). Products are how often "
        "all of the matrix was read (for 'dual': passes over the features). All sets: as many as there are "
        "classes, one after another; AR is the share of the objects in a set, ARI is over these, ARI all "
        "after the paper's post-assignment; a time with > was up before all sets were found."
    )
    if quick:
        page.text(
            "Quick: every fourth document and digit, 0.25 s for a set; the figures are about small data.",
            "warning",
        )
    for name, reason in missing.items():
        page.text(f"{name}: {reason}", "warning")
    page.section("Which to use when")
    for sentence in advice(rows):
        page.text(sentence)
    page.table(["method", "what it is"], [[name, WHO.get(name, "")] for name in names_of(rows)], "words")
    for data in dict.fromkeys(row["data"] for row in rows if row["group"] in (*DENSE, "network")):
        _table(pick(rows, data=data), page)
    _directed([row for row in rows if row["group"] == "asymmetric"], page)
    _cliques([row for row in rows if row["group"] == "cliques"], page)
    _hypergraphs([row for row in rows if row["group"] == "hypergraph"], page)
    _curves(curves, page, out)


# tables -------------------------------------------------------------------------------------------------


def _table(rows: list[Row], page: Page) -> None:
    first = rows[0]
    page.section(f"{first['data']}: {first['n']:,} objects")
    best = max(row["value"] for row in rows if "value" in row)
    network = first["group"] == "network"
    head = [
        "method",
        "f",
        "short of best",
        "relative gap",
        "status",
        "members",
        "iterations",
        "products",
        "time",
    ]
    head += ["AR", "ARI", "ARI all", "time, all sets"] + (["complexes"] if network else [])
    table = []
    for row in rows:
        line = [row["method"]]
        if "value" in row:
            short = (best - row["value"]) / best
            line += [
                f"{row['value']:.6g}",
                f"{short:.1g}" if short > FLOOR else "0",
                f"{row['relative_gap']:.1g}",
            ]
            line += [row["status"], f"{row['size']:,}", f"{row['n_iter']:,}", f"{row['products']:.3g}"]
            line += [shown_seconds(row["seconds"])]
        else:
            line += [""] * 8
        line += [f"{row['ar']:.2f}", f"{row['ari']:.2f}"]
        line += [f"{row['ari_post']:.2f}" if row["ari_post"] == row["ari_post"] else ""]
        more = "> " if row.get("stopped") else ""
        line += [f"{more}{shown_seconds(row['all_seconds'])}"] + ([str(row["matched"])] if network else [])
        table.append(line)
    page.table(head, table)


def _mean(rows: list[Row], column: str) -> str:
    known = [row for row in rows if column in row]
    return f"{mean_of(known, column):.3g}" if known else ""


def _cliques(rows: list[Row], page: Page) -> None:
    if not rows:
        return
    methods = names_of(rows)
    page.section("Cliques: the largest from the method's own start / the best of ten starts")
    table = []
    for data in dict.fromkeys(row["data"] for row in rows):
        mine = pick(rows, data=data)
        sizes = [pick(mine, method=m)[0] for m in methods]
        table.append(
            [f"{data}, ω = {mine[0]['omega']}", *(f"{r['clique']} / {r['clique_best']}" for r in sizes)]
        )
    graphs = len(table)
    summary = ["ω is reached"]
    for m in methods:
        mine = pick(rows, method=m)
        own = sum(r["clique"] == r["omega"] for r in mine)
        summary.append(f"{own} / {sum(r['clique_best'] == r['omega'] for r in mine)} of {graphs}")
    times = [
        "time of one set, mean",
        *(shown_seconds(mean_of(pick(rows, method=m), "seconds")) for m in methods),
    ]
    reads = ["products, mean", *(_mean(pick(rows, method=m), "products") for m in methods)]
    worst = [
        max((r["relative_gap"] for r in pick(rows, method=m) if "value" in r), default=0.0) for m in methods
    ]
    gaps = ["largest relative gap", *(f"{gap:.1g}" for gap in worst)]
    page.table(["graph", *methods], [*table, summary, times, reads, gaps]).text(
        "Shift -1/2, so that the strict maxima are the maximal cliques (Bomze 1997). 0: the members are no "
        "clique (of a regular graph equal weights are a fixed point, though no maximum). 'path-following' "
        "has one start; of 'destabilise' the first, and the best of ten.",
        "note",
    )


def _directed(rows: list[Row], page: Page) -> None:
    if not rows:
        return
    page.section("Similarities that are not symmetric")
    head = [
        "data, method",
        "f",
        "relative gap",
        "status",
        "stable",
        "members",
        "of one class",
        "iterations",
        "time",
    ]
    table = [
        [
            f"{r['data']}, {r['method']}", f"{r['value']:.6g}", f"{r['relative_gap']:.1g}", r["status"],
            r["stable"], r["size"], f"{r['purity']:.2f}", f"{r['n_iter']:,}", shown_seconds(r["seconds"]),
        ]
        for r in rows
    ]  # fmt: skip
    page.table(head, table).text(
        "The synthetic similarities with each direction drawn by itself; gap and stability (the test of "
        "evolutionary stability) are those of the similarity as it is. Nothing climbs here, so that a "
        "dynamics may go in circles. The dominant set of (A + Aᵀ)/2 is in general no equilibrium of A.",
        "note",
    )


def _hypergraphs(rows: list[Row], page: Page) -> None:
    if not rows:
        return
    page.section("Hypergraphs: triples instead of pairs")
    head = [
        "data, method",
        "triples",
        "f",
        "relative gap",
        "status",
        "members",
        "iterations",
        "time",
        "AR",
        "ARI",
    ]
    table = []
    for r in rows:
        known = f", ω = {r['omega']}" if "omega" in r else ""
        line = [f"{r['data']}{known}, {r['method']}", f"{r['edges']:,}", f"{r['value']:.6g}"]
        line += [f"{r['relative_gap']:.1g}", r["status"], f"{r['size']:,}", f"{r['n_iter']:,}"]
        line += [shown_seconds(r["seconds"])] + [f"{r[key]:.2f}" if key in r else "" for key in ("ar", "ari")]
        table.append(line)
    page.table(head, table).text(
        "Triples of points near one line (three lines and noise; AR and ARI over the points of lines, after "
        "three sets), and the triangles of graphs (a clique of the graph is one of its triangles).",
        "note",
    )


def _curves(rows: list[Row], page: Page, out: Path) -> None:
    if not rows:
        return
    picture, axes = figure(1, 2, (5.6, 4.2))
    for place, method in enumerate(names_of(rows)):
        mine = pick(rows, method=method)
        seconds = [row["seconds"] for row in mine]
        style: dict[str, Any] = {
            "color": COLORS[place % len(COLORS)], "linestyle": "-" if place < len(COLORS) else "--",
            "marker": ".", "linewidth": 1.2, "label": method,
        }  # fmt: skip
        axes[0, 0].semilogx(seconds, [row["value"] for row in mine], **style)
        axes[0, 1].loglog(seconds, [max(row["gap"] / row["value"], FLOOR) for row in mine], **style)
    axes[0, 0].set(xlabel="seconds", ylabel="f")
    axes[0, 1].set(xlabel="seconds", ylabel="relative gap")
    picture.legend(*axes[0, 0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=6)
    page.section("f against time")
    caption = (
        f"{rows[0]['on']}: f and the relative gap against time, all from equal weights. A point is a run of "
        "its own, of 1, 2, 4, ... iterations. Where lines end at different f they have come to different "
        "local maxima; a line that ends with a large gap would have taken too long. 'trajectory' climbs a "
        "regularised f until it cuts, so that f itself may fall."
    )
    save(page, picture, out, "family", caption)
