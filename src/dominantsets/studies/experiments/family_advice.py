"""Which method to use when: sentences that the rows of the family's study give."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dominantsets.studies.experiments._common import Row, pick
from dominantsets.studies.experiments.rivals import RIVALS

DEFAULT = "DominantSets"
ROUGH = 1e-6  # a gap that is small enough for many
DENSE = ("synthetic", "newsgroups", "digits")  # groups of data whose similarity is a dense matrix


def names_of(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows))


def counted(sets: int) -> str:
    return f"{sets} data set{'s' if sets > 1 else ''}"


def shown_seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{1e3 * value:.3g} ms"


def advice(rows: list[Row]) -> list[str]:
    """Sentences about who is better when, from the rows alone."""
    said = [_fastest([r for r in rows if r["group"] in DENSE], "On a dense matrix")]
    said.append(_fastest([r for r in rows if r["group"] == "network"], "On a sparse network"))
    said += [_highest([r for r in rows if "value" in r and r["group"] in (*DENSE, "network")])]
    said += [_best_at_cliques([r for r in rows if r["group"] == "cliques"])]
    said += [_labels([r for r in rows if r["group"] in DENSE])]
    said += [_triples([r for r in rows if r["group"] == "hypergraph"])]
    said += [_complexes([r for r in rows if r["group"] == "network"])]
    return [sentence for sentence in said if sentence]


def _times(rows: list[Row]) -> dict[str, float]:
    """The geometric mean of the seconds of one set, by method."""
    solved = [row for row in rows if "value" in row]
    return {m: _geometric([r["seconds"] for r in pick(solved, method=m)]) for m in names_of(solved)}


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
        return f"{where} ({counted(sets)}) no method reached the tolerance every time."
    shown = ", ".join(f"'{m}' {shown_seconds(times[m])}" for m in sure[:3])
    rd, runs = times["replicator"], len(pick(rows, method="replicator"))
    rough = sum(row["relative_gap"] <= ROUGH for row in pick(rows, method="replicator"))
    said = (
        f"{where} ({counted(sets)}): of the methods that reach the tolerance every time the fastest are "
        f"{shown} a set (geometric means). 'replicator' takes {shown_seconds(rd)}, {rd / times[sure[0]]:.0f} "
        f"times as long as the first, and reaches it on {_certain(rows, 'replicator')} of {runs} (a relative "
        f"gap of {ROUGH:g} on {rough})."
    )
    never = [m for m in everywhere if not _certain(rows, m) and m != "replicator"]
    said += f" Never within the time: {', '.join(never)}." if never else ""
    if "dual" in times:
        there = {row["data"] for row in pick(rows, method="dual")}
        best = min(
            _geometric([r["seconds"] for r in pick(rows, method=m) if r["data"] in there]) for m in sure
        )
        said += f" Where the matrix is made of features, 'dual' takes {shown_seconds(times['dual'])}"
        said += f", the best of these on the matrix {shown_seconds(best)}."
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
        for m in names_of(rows)
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
    for m in names_of(rows):
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
        rivals = [row for row in mine if row["method"] in RIVALS]
        default = pick(mine, method=DEFAULT)
        if rivals and default:
            best = max(rivals, key=_all)
            if _all(best) > _all(default[0]) + 0.005:
                ahead.append(f"{data} ({best['method']} {_all(best):.2f} against {_all(default[0]):.2f})")
    if ahead:
        return f"{said} A rival is ahead of '{DEFAULT}' on {len(ahead)} of them: {', '.join(ahead)}."
    return f"{said} No rival is ahead of '{DEFAULT}' on any of them."


def _all(row: Row) -> float:
    return float(row["ari_post"] if row["ari_post"] == row["ari_post"] else row["ari"])


def _triples(rows: list[Row]) -> str:
    if not rows:
        return ""
    sets = len({row["data"] for row in rows})
    shown = ", ".join(
        f"'{m}' {shown_seconds(time)} ({_certain(rows, m)} of {sets})" for m, time in _times(rows).items()
    )
    return f"On hypergraphs, time of a set and how often the gap is within tolerance: {shown}."


def _complexes(rows: list[Row]) -> str:
    if not rows:
        return ""
    ranked = sorted(rows, key=lambda r: -r["matched"])
    shown = ", ".join(f"{r['method']} {r['matched']}" for r in ranked)
    return f"Protein complexes that some cluster matches, of {rows[0]['complexes']}: {shown}."
