"""Are the labels right? Ours and what users have, on families of data with known groups, nobody tuned.

Run ``python benchmarks/quality.py``; it prints a line a data set, then tables, and writes
results/quality.json. Three sections (``--sections contest,metamorphic,reproductions``):

contest
    Every method with its defaults on every data set of ``families.py``, with the number of clusters (names
    that end in K) and without. Two halves are printed apart: constants may be chosen on the one only.
metamorphic
    Whether ours gives the same answer when units, order, place, direction or number of the objects change.
reproductions
    Failures of former defaults, then and now.

``--quick`` takes a few data sets of each group, ``--only A,B`` those with either in their name, ``--half``
one of the halves (who chooses a constant takes ``--half chosen``), ``--methods a,b`` some of the methods.
What is part of a run writes nothing without ``--out FILE``; with ``--keep`` the file's figures of methods
and sections that are not run stay in it. Each method has a process of its own, 60 s and 6 GB for a fit.
EVoC, Genie and lumbermark are installed for the benchmark only: pip install evoc genieclust lumbermark.
Shapes, newsgroups and the protein network need DOMINANTSETS_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import machine, pin_threads

pin_threads(2)
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # threads that wait must not take the cores from the method at work

import _metamorphic  # noqa: E402 (after the threads are pinned)
import _real  # noqa: E402
import _reproductions  # noqa: E402
from _contest import GIGABYTES, SECONDS  # noqa: E402
from _methods import GRAPH, METHODS, OURS, OURS_TOLD, POINTS, fit, versions, warm_up  # noqa: E402
from _scores import MEASURES, scored  # noqa: E402
from _tables import by_dimension, means, show_means, show_ours, worse_when_told  # noqa: E402
from _worker import Worker  # noqa: E402
from families import CHOSEN, OTHER, QUICK, Data, Setting, settings  # noqa: E402

SECTIONS = ("contest", "metamorphic", "reproductions")
HALF = {"chosen": CHOSEN, "other": OTHER}
PATIENCE = 300.0  # seconds for a reproduction, which is several fits
RESULT = Path(__file__).parent / "results" / "quality.json"

Row = dict[str, Any]


class Workers:
    """A process for each method, started when it is first asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Worker] = {}

    def __call__(self, method: str) -> Worker:
        return self._known.setdefault(method, Worker(warm_up, method))

    def close(self) -> None:
        for worker in self._known.values():
            worker.close()


def fits(data: Data, setting: Setting, methods: list[str], workers: Workers) -> Row:
    """The figures of all methods that can do with such data."""
    out: Row = {}
    for name in methods:
        method = METHODS[name]
        if (GRAPH if data.is_graph else POINTS) not in method.on or (
            method.told and setting.group == "nulls"
        ):
            continue
        outcome = workers(name).call(fit, name, data.X, data.k if method.told else None)
        out[name] = scored(data, setting.group, outcome)
    return out


def said(found: list[float | None] | str) -> str:
    """A fit in a progress line: ARI, clusters."""
    if isinstance(found, str):
        return found.split(":")[0]
    ari, clusters = (found[MEASURES.index(m)] for m in ("ari", "clusters"))
    return f"{ari:.2f} ({clusters:.0f})"


def data_sets(chosen: list[Setting], half: str | None, quick: bool) -> list[tuple[Setting, int, str]]:
    """Settings, seeds and halves; in haste only the first seed of a setting."""
    return [
        (s, seed, h) for s in chosen for seed, h in s.seeds()[: 1 if quick else None] if half in (None, h)
    ]


def contest(todo: list[tuple[Setting, int, str]], methods: list[str], workers: Workers) -> list[Row]:
    """A row for each data set."""
    rows: list[Row] = []
    for number, (setting, seed, h) in enumerate(todo, 1):
        data = setting.load(seed)
        shown = f"{setting.name}, seed {seed}" if setting.generated else setting.name
        found = fits(data, setting, methods, workers)
        rows.append(
            {
                "setting": setting.name,
                "group": setting.group,
                "half": h,
                "seed": seed,
                "n": len(data.labellings[0]),
                "d": None if data.is_graph else data.X.shape[1],
                "k": data.k,
                "noise": setting.noise,
                "fits": found,
            }
        )
        line = "  ".join(f"{name} {said(value)}" for name, value in found.items())
        print(f"[{number}/{len(todo)}] {shown}: K {data.k}: {line}", flush=True)
    return rows


def reproductions(quick: bool) -> list[Row]:
    """What was, and what is; a failure that cannot be tried any more says why."""
    worker, rows = Worker(), []
    print("\nreproductions: before | now")
    for work in _reproductions.QUICK if quick else _reproductions.ALL:
        out = worker.call(work, limit=PATIENCE)
        for what, before, now in out.value or [(work.__name__, "", out.failed)]:
            rows.append({"which": work.__name__[0], "what": what, "before": before, "now": now})
            print(f"  {work.__name__[0]}) {what}: {before or '?'} | {now}", flush=True)
    worker.close()
    return rows


def merged(rows: list[Row], old: list[Row]) -> list[Row]:
    """Rows with what the file has of other methods, and the file's rows of other data sets."""

    def key(row: Row) -> tuple[str, int]:
        return row["setting"], row["seed"]

    known = {key(row): row for row in old}
    out = [row | {"fits": known.pop(key(row), {"fits": {}})["fits"] | row["fits"]} for row in rows]
    order = {s.name: i for i, s in enumerate(settings())}
    out += [row for row in known.values() if row["setting"] in order]
    return sorted(out, key=lambda row: (order[row["setting"]], row["seed"]))


def compact(content: Row) -> str:
    """JSON with one row a line, so that a file of many rows can still be read and compared."""
    parts = []
    for name, value in content.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            inner = ",\n  ".join(json.dumps(row) for row in value)
            parts.append(f' "{name}": [\n  {inner}\n ]')
        else:
            parts.append(f' "{name}": {json.dumps(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def chosen_methods(wanted: str | None) -> list[str]:
    """Those asked for that are installed; the others are named."""
    names = [name.strip() for name in wanted.split(",")] if wanted else list(METHODS)
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise SystemExit(f"--methods: {', '.join(unknown)} is none of {', '.join(METHODS)}.")
    for name in names:
        if not METHODS[name].installed:
            print(f"{name} is left out: the package {METHODS[name].package} is not installed.")
    return [name for name in METHODS if name in names and METHODS[name].installed]


def chosen_settings(quick: bool, only: str | None) -> list[Setting]:
    if not _real.available():
        print("DOMINANTSETS_DATA is not set: shapes, newsgroups and the protein network are left out.")
    parts = (only or "").split(",")
    out = [s for s in settings() if (not quick or s.name in QUICK) and any(part in s.name for part in parts)]
    if not out:
        raise SystemExit(
            f"--only: no setting has {only!r} in its name; python benchmarks/families.py lists them."
        )
    return out


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a few data sets; writes nothing without --out")
    parser.add_argument("--only", metavar="A,B", help="data sets with one of these in their name; as --quick")
    parser.add_argument("--half", choices=HALF, help="one of the halves; as --quick")
    parser.add_argument("--methods", metavar="A,B", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--sections", default=",".join(SECTIONS), help="default: all three")
    parser.add_argument(
        "--keep", action="store_true", help="keep what the file has and this run does not make"
    )
    parser.add_argument("--out", type=Path, help="instead of the file in benchmarks/results")
    return parser.parse_args()


def main() -> None:
    args = options()
    sections = args.sections.split(",")
    if set(sections) - set(SECTIONS):
        raise SystemExit(f"--sections: some of {', '.join(SECTIONS)}.")
    methods = chosen_methods(args.methods)
    chosen = chosen_settings(args.quick, args.only)
    todo = data_sets(chosen, HALF.get(args.half), args.quick)
    partial = bool(args.quick or args.only or args.half)
    partial |= not args.keep and bool(args.methods or set(sections) != set(SECTIONS))
    target = args.out or (None if partial else RESULT)
    old: Row = (
        json.loads(target.read_text(encoding="utf-8")) if args.keep and target and target.exists() else {}
    )
    content: Row = {
        "machine": machine() | versions(),
        "limits": {"seconds": SECONDS, "gigabytes": GIGABYTES},
        "measures": MEASURES,
    }
    workers = Workers()
    try:
        rows = contest(todo, methods, workers) if "contest" in sections else []
        rows = merged(rows, old.get("rows", []))
        if rows:
            content["means"] = means(rows)
            content["worse_when_told"] = worse_when_told(rows)
            content["noise_by_dimension"] = by_dimension(rows)
            show_means(content["means"])
            if any(OURS in row["fits"] or OURS_TOLD in row["fits"] for row in rows):
                show_ours(content)
        if "metamorphic" in sections and not args.only:
            print("\nmetamorphic: ARI with the answer on the data as they are")
            content["metamorphic"] = _metamorphic.metamorphic(workers, args.quick)
            _metamorphic.show(content["metamorphic"])
        if "reproductions" in sections and not args.only:
            content["reproductions"] = reproductions(args.quick)
    finally:
        workers.close()
    for name in SECTIONS[1:]:
        if name not in content and name in old:
            content[name] = old[name]
    if target:
        target.write_text(compact(content | {"rows": rows}), encoding="utf-8")


if __name__ == "__main__":
    main()
