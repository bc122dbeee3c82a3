"""What is said about all fits together: means by family, what telling the number costs, and who is noise.

A row of the contest is a data set: its setting, group, half, seed, dimension, share of noise, and under
"fits" the figures of each method in the order of MEASURES, or a sentence that says why there are none. A
fit that fails, or takes longer than it may, counts as an ARI of 0, and the tables say how many did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from _methods import METHODS, OURS, OURS_TOLD
from _scores import MEASURES
from families import CHOSEN, GROUPS, OTHER, SEED_OTHER, SYNTHETIC

Row = dict[str, Any]
ALL_SYNTHETIC = "synthetic"  # clean and noisy together
COLUMNS = (*SYNTHETIC, ALL_SYNTHETIC, "nulls", "graphs", "shapes", "real")
NEW = "of these, new settings"  # the others are settings that were chosen on, with another seed
LOWER = 0.01  # of ARI, from which on telling the number counts as harm
PARTS: dict[str, Callable[[Row], bool]] = {
    CHOSEN: lambda row: row["half"] == CHOSEN,
    OTHER: lambda row: row["half"] == OTHER,
    NEW: lambda row: row["half"] == OTHER and row["seed"] == SEED_OTHER,
}


def value(row: Row, method: str, measure: str) -> float | None:
    """One figure; 0 for the ARI of a fit that failed, None where there is none."""
    found = row["fits"].get(method)
    if isinstance(found, str):
        return 0.0 if measure in ("ari", "planted") else None
    return None if found is None else found[MEASURES.index(measure)]


def mean(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return round(float(np.mean(known)), 3) if known else None


def methods_of(rows: list[Row]) -> list[str]:
    return [m for m in METHODS if any(m in row["fits"] for row in rows)]


def means(rows: list[Row]) -> list[Row]:
    """Mean figures by part, group and method."""
    out: list[Row] = []
    for part, inside in PARTS.items():
        for group in (*GROUPS, ALL_SYNTHETIC):
            names = SYNTHETIC if group == ALL_SYNTHETIC else (group,)
            here = [row for row in rows if inside(row) and row["group"] in names]
            for method in methods_of(here):
                mine = [row for row in here if method in row["fits"]]
                found: Row = {m: mean(value(row, method, m) for row in mine) for m in MEASURES}
                del found["clusters"]  # a mean over data with 3 and with 300 says nothing
                failed = sum(isinstance(row["fits"][method], str) for row in mine)
                key = {"part": part, "group": group, "method": method, "sets": len(mine), "failed": failed}
                out.append(key | found)
    return out


def worse_when_told(rows: list[Row]) -> list[Row]:
    """Where our ARI is lower by more than LOWER with the number of clusters than without."""
    out = []
    for row in rows:
        without, told = (value(row, name, "ari") for name in (OURS, OURS_TOLD))
        if without is not None and told is not None and told < without - LOWER:
            key = {name: row[name] for name in ("setting", "seed", "half")}
            out.append(key | {"without": without, "told": told})
    return out


def by_dimension(rows: list[Row]) -> list[Row]:
    """Whom ours calls noise, by dimension and by the share that is noise."""
    out = []
    for part, inside in PARTS.items():
        noisy = [row for row in rows if inside(row) and row["group"] == "noisy"]
        for dimensions, fits in (("2, 5", lambda d: d <= 5), ("10 and more", lambda d: d >= 10)):
            for share in sorted({row["noise"] for row in noisy}):
                here = [row for row in noisy if row["noise"] == share and fits(row["d"])]
                for method in (OURS, OURS_TOLD):
                    mine = [row for row in here if method in row["fits"]]
                    if mine:
                        figures = {
                            m: mean(value(row, method, m) for row in mine)
                            for m in ("precision", "recall", "called", "ari")
                        }
                        key = {"part": part, "d": dimensions, "noise": share, "method": method}
                        out.append(key | {"sets": len(mine)} | figures)
    return out


def text(number: float | None) -> str:
    return "" if number is None else f"{number:.3f}"


def cell(row: Row | None, measure: str, sets: int) -> str:
    """A mean, and over how many data sets where others have more."""
    if row is None:
        return ""
    return text(row[measure]) + (f" ({row['sets']})" if row["sets"] < sets else "")


def show_means(found: list[Row]) -> None:
    """ARI with noise as a class, ARI over what is not noise in truth, what is called noise, and time."""
    for measure, title, parts in (
        ("ari", "mean ARI, noise being a class (nulls: share with no cluster or one)", tuple(PARTS)),
        ("planted", "mean ARI over the objects that are not noise in truth", (CHOSEN, OTHER)),
        ("called", "mean share called noise (clean: wrongly)", (CHOSEN, OTHER)),
        ("seconds", "mean seconds of the fits that did not fail", (CHOSEN, OTHER)),
    ):
        print(f"\n{title}")
        for part in parts:
            here = {(r["group"], r["method"]): r for r in found if r["part"] == part}
            if not here:
                continue
            counts = {
                g: max((r["sets"] for r in here.values() if r["group"] == g), default=0) for g in COLUMNS
            }
            groups = [g for g in COLUMNS if counts[g]]
            heads = "".join(f"{f'{g} ({counts[g]})':>16}" for g in groups)
            print(f"{part:24}{heads}{'failed':>8}")
            for method in dict.fromkeys(m for _, m in here):
                cells = "".join(f"{cell(here.get((g, method)), measure, counts[g]):>16}" for g in groups)
                failed = sum(here.get((g, method), {}).get("failed", 0) for g in groups if g != ALL_SYNTHETIC)
                print(f"  {method:22}{cells}{failed or '':>8}")


def show_ours(found: Row) -> None:
    """What the other tables are about: ours with the number and without."""
    lower = found["worse_when_told"]
    print(f"\ntelling the number lowers our ARI by more than {LOWER} on {len(lower)} data sets")
    for row in lower:
        told = f"{row['without']:.3f} -> {row['told']:.3f}"
        print(f"  {row['half']:14} {row['setting']:32} seed {row['seed']}  {told}")
    print("\nnoise by ours: precision, recall, share called noise, ARI")
    for row in found["noise_by_dimension"]:
        figures = " ".join(f"{text(row[m]):>6}" for m in ("precision", "recall", "called", "ari"))
        where = f"{row['part']:24} d {row['d']:12} {row['noise']:4.0%} noise  {row['method']:8}"
        print(f"  {where} ({row['sets']:2d}) {figures}")
