"""What is said about the family's study: one table a data set, a figure, and advice that the numbers give."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from dominantsets.app.experiments._common import Page, Row, figure, mean_of, pick, save
from dominantsets.app.experiments.rivals import RIVALS

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
    "destabilise": "cliques one after another (Torsello, Rota Bulò, Pelillo 2008), our reconstruction",
    "dual": "Newton's method in d + 1 unknowns on features, ours",
    "DominantSets": "our estimator, told the number of clusters",
    "DominantSets, equalize": "the same on ranks (after Hou, Gao, Li 2016), our reconstruction",
    "DominantSets, assign=correlation": "the same, labels by local search (after Thiel et al. 2019)",
    "DominantSets, assign=mode": "where the climb from each object ends: graph shift (Liu, Yan 2010)",
    "normalised cut": "relaxed normalised cut (Shi, Malik 2000), a rival",
    "power iteration": "Power Iteration Clustering (Lin, Cohen 2010), a rival",
    "correlation": "correlation clustering (Haghir Chehreghani 2023), a rival, our reconstruction",
}
DENSE = ("synthetic", "newsgroups", "digits")
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
    page.table(["method", "what it is"], [[name, WHO.get(name, "")] for name in _names(rows)], "words")
    for data in dict.fromkeys(row["data"] for row in rows if row["group"] not in ("cliques", "asymmetric")):
        _table(pick(rows, data=data), page)
    _directed([row for row in rows if row["group"] == "asymmetric"], page)
    _cliques([row for row in rows if row["group"] == "cliques"], page)
    _curves(curves, page, out)


def _names(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows))


# advice -------------------------------------------------------------------------------------------------


def advice(rows: list[Row]) -> list[str]:
    """Sentences about who is better when, from the rows alone."""
    said = [_fastest([r for r in rows if r["group"] in DENSE], "On a dense matrix")]
    said.append(_fastest([r for r in rows if r["group"] == "network"], "On a sparse network"))
    said += [_highest([r for r in rows if "value" in r and r["group"] in (*DENSE, "network")])]
    said += [_best_at_cliques([r for r in rows if r["group"] == "cliques"])]
    said += [_labels([r for r in rows if r["group"] in DENSE])]
    said += [_complexes([r for r in rows if r["group"] == "network"])]
    return [sentence for sentence in said if sentence]


def _times(rows: list[Row]) -> dict[str, float]:
    """The geometric mean of the seconds of one set, by method."""
    solved = [row for row in rows if "value" in row]
    return {m: _geometric([r["seconds"] for r in pick(solved, method=m)]) for m in _names(solved)}


def _geometric(values: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(np.maximum(list(values), 1e-9)))))


def _certain(rows: list[Row], method: str) -> int:
    """Data sets on which a method ended with a gap within tolerance."""
    return sum(row["status"] == "converged" for row in pick(rows, method=method))


def _fastest(rows: list[Row], where: str) -> str:
    """Who is first among those that always reach the tolerance, and where replicator dynamics stands."""
    rows = [row for row in rows if "value" in row]
    if not rows:
        return ""
    sets, times = len({row["data"] for row in rows}), _times(rows)
    everywhere = [m for m in times if len(pick(rows, method=m)) == sets]
    sure = sorted((m for m in everywhere if _certain(rows, m) == sets), key=times.__getitem__)
    if not sure:
        return f"{where} ({sets} data sets) no method reached the tolerance every time."
    shown = ", ".join(f"'{m}' {_seconds(times[m])}" for m in sure[:3])
    rd, runs = times["replicator"], len(pick(rows, method="replicator"))
    said = (
        f"{where} ({sets} data sets): of the methods that reach the tolerance every time the fastest are "
        f"{shown} a set (geometric means). 'replicator' takes {_seconds(rd)}, {rd / times[sure[0]]:.0f} "
        f"times as long as the first, and reaches it on {_certain(rows, 'replicator')} of {runs}."
    )
    never = [m for m in everywhere if not _certain(rows, m) and m != "replicator"]
    said += f" Never within the time: {', '.join(never)}." if never else ""
    if "dual" in times:
        there = {row["data"] for row in pick(rows, method="dual")}
        best = min(
            _geometric([r["seconds"] for r in pick(rows, method=m) if r["data"] in there]) for m in sure
        )
        said += f" Where the matrix is made of features, 'dual' takes {_seconds(times['dual'])}"
        said += f", the best of these on the matrix {_seconds(best)}."
    return said


def _highest(rows: list[Row]) -> str:
    """Who ends at the highest of the values that were reached."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    if not sets:
        return ""
    wins: dict[str, int] = {}
    for data in sets:
        mine = pick(rows, data=data)
        best = max(row["value"] for row in mine)
        for row in mine:
            wins[row["method"]] = wins.get(row["method"], 0) + (row["value"] >= best * (1 - 1e-6))
    top = max(wins.values())
    first = ", ".join(f"'{m}'" for m, count in wins.items() if count == top)
    return (
        f"The highest value of all methods is reached most often by {first} ({top} of {len(sets)} data "
        f"sets); 'replicator' reaches it on {wins.get('replicator', 0)}. All of them climb to a local "
        "maximum: another start may end at another."
    )


def _best_at_cliques(rows: list[Row]) -> str:
    if not rows:
        return ""
    graphs, times = len({row["data"] for row in rows}), _times(rows)
    found = {
        m: (
            sum(r["clique"] == r["omega"] for r in pick(rows, method=m)),
            sum(r["clique_best"] == r["omega"] for r in pick(rows, method=m)),
        )
        for m in _names(rows)
    }
    ranked = sorted(found, key=lambda m: (-found[m][1], -found[m][0], times[m]))
    shown = ", ".join(f"'{m}' {found[m][0]} and {found[m][1]}" for m in ranked[:3])
    rd = found["replicator"]
    return (
        f"Cliques ({graphs} graphs): a largest one is found from one start and from the best of ten by "
        f"{shown}; 'replicator' {rd[0]} and {rd[1]}."
    )


def _labels(rows: list[Row]) -> str:
    """Mean ARI of all objects, and the data sets on which a rival is ahead of all of ours."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    if not sets:
        return ""
    means = {}
    for m in _names(rows):
        mine = [
            row["ari_post"] if row["ari_post"] == row["ari_post"] else row["ari"]
            for row in pick(rows, method=m)
        ]
        if len(mine) == len(sets):
            means[m] = float(np.mean(mine))
    ranked = sorted(means, key=lambda m: -means[m])
    said = "Labels, mean ARI over " + f"{len(sets)} data sets with all objects assigned where a method can: "
    said += ", ".join(f"{m} {means[m]:.2f}" for m in ranked) + "."
    ahead = []
    for data in sets:
        mine = pick(rows, data=data)
        rival = max((r for r in mine if r["method"] in RIVALS), key=lambda r: r["ari"])
        ours = max((r for r in mine if r["method"] not in RIVALS), key=lambda r: _all(r))
        if rival["ari"] > _all(ours) + 0.005:
            ahead.append(
                f"{data} ({rival['method']} {rival['ari']:.2f} against {ours['method']} {_all(ours):.2f})"
            )
    if ahead:
        return f"{said} A rival is ahead of every way of dominant sets on {', '.join(ahead)}."
    return f"{said} No rival is ahead of the best way of dominant sets on any of them."


def _all(row: Row) -> float:
    return float(row["ari_post"] if row["ari_post"] == row["ari_post"] else row["ari"])


def _complexes(rows: list[Row]) -> str:
    if not rows:
        return ""
    ranked = sorted(rows, key=lambda r: -r["matched"])
    shown = ", ".join(f"{r['method']} {r['matched']}" for r in ranked)
    return f"Protein complexes that some cluster matches, of {rows[0]['complexes']}: {shown}."


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
            line += [_seconds(row["seconds"])]
        else:
            line += [""] * 8
        line += [f"{row['ar']:.2f}", f"{row['ari']:.2f}"]
        line += [f"{row['ari_post']:.2f}" if row["ari_post"] == row["ari_post"] else ""]
        more = "> " if row.get("stopped") else ""
        line += [f"{more}{_seconds(row['all_seconds'])}"] + ([str(row["matched"])] if network else [])
        table.append(line)
    page.table(head, table)


def _seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{1e3 * value:.3g} ms"


def _mean(rows: list[Row], column: str) -> str:
    known = [row for row in rows if column in row]
    return f"{mean_of(known, column):.3g}" if known else ""


def _cliques(rows: list[Row], page: Page) -> None:
    if not rows:
        return
    methods = _names(rows)
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
    times = ["time of one set, mean", *(_seconds(mean_of(pick(rows, method=m), "seconds")) for m in methods)]
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
            r["stable"], r["size"], f"{r['purity']:.2f}", f"{r['n_iter']:,}", _seconds(r["seconds"]),
        ]
        for r in rows
    ]  # fmt: skip
    page.table(head, table).text(
        "The synthetic similarities with each direction drawn by itself; gap and stability (the test of "
        "evolutionary stability) are those of the similarity as it is. Nothing climbs here, so that a "
        "dynamics may go in circles. The dominant set of (A + Aᵀ)/2 is in general no equilibrium of A.",
        "note",
    )


def _curves(rows: list[Row], page: Page, out: Path) -> None:
    if not rows:
        return
    best = max(row["value"] for row in rows)
    picture, axes = figure(1, 1, (8.0, 4.6))
    ax = axes[0, 0]
    for place, method in enumerate(_names(rows)):
        mine = pick(rows, method=method)
        short = np.maximum([(best - row["value"]) / best for row in mine], FLOOR)
        style = "-" if place < len(COLORS) else "--"
        ax.loglog(
            [row["seconds"] for row in mine], short, color=COLORS[place % len(COLORS)], linestyle=style,
            marker=".", linewidth=1.2, label=method,
        )  # fmt: skip
    ax.set(xlabel="seconds", ylabel="(best f - f) / best f")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    page.section("f against time")
    save(
        page,
        picture,
        out,
        "family",
        f"{rows[0]['on']}: how far f is from the best that any method reached, against time, all from equal "
        "weights. A point is a run of its own, of 1, 2, 4, ... iterations. A line that ends high has "
        "converged to another local maximum, or its next run would have taken too long.",
    )
