"""The page that ``dominantsets cluster --report`` writes: what was found, why, and how sure it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from dominantsets.app.job import Result
from dominantsets.app.machine import provenance
from dominantsets.app.report import Report
from dominantsets.plotting import MembershipDisplay, SimilarityDisplay, color_of, plt

MOST_COLUMNS = 12  # of an exemplar's row that are shown
NOTHING = "–"


def page_of(result: Result, name: str, command: str = "") -> Report:
    """The page of a result.

    Parameters
    ----------
    result : Result
        What was found.
    name : str
        What the data are called.
    command : str
        How it was asked for.

    Returns
    -------
    Report
        The page.
    """
    model = result.model
    page = Report(f"Dominant sets of {name}")
    _facts(page, result)
    if result.partial:
        page.text("The run was stopped early: what follows is what had been found.", "warning")
    _why(page, result)
    if model.clusters_:
        _clusters(page, result)
        _exemplars(page, result)
        _certificates(page, result)
        _pictures(page, result)
    _scores(page, result)
    page.made(command, [("objects", f"{model.labels_.size:,}"), *_settings(result), *provenance()])
    return page


def _facts(page: Report, result: Result) -> None:
    model = result.model
    labels = np.asarray(model.labels_)
    affinity = "as given" if result.features is None else str(model.affinity_).replace("_", " ")
    facts = [
        ("clusters", model.n_clusters_),
        ("objects", f"{labels.size:,}"),
        ("with a label", f"{model.assignment_rate_:.0%}"),
        ("in a core", f"{np.mean(np.asarray(model.core_labels_) >= 0):.0%}"),
        ("similarity", affinity),
    ]
    if "ari" in result.scores():
        facts.append(("ARI with the classes", f"{result.scores()['ari']:.3f}"))
    page.facts(facts)
    page.text(f"The search ended because {result.why_it_ended}.")


def _why(page: Report, result: Result) -> None:
    """Why this affinity, these scales, and this noise."""
    model = result.model
    choice, chosen = model.choice_, model.selection_
    page.section("Why these clusters")
    if choice is not None and choice.n_objects:
        head = ["affinity", "clusters", "separation", "stability", "noise", "score", ""]
        rows = [
            [
                c.title, c.n_clusters, f"{c.separation:.2f}", f"{c.stability:.2f}", f"{c.noise:.0%}",
                f"{c.score:.2f}" if np.isfinite(c.score) else NOTHING, "taken" if c is choice.taken else "",
            ]
            for c in choice.candidates
        ]  # fmt: skip
        page.text(f"Why this affinity: {choice.reason}").table(*_told(head, rows))
        page.text(
            "separation: mean logarithm of the share of links that leave a cluster (the lower, the farther "
            "apart). stability: agreement with the clusters of subsamples (at most 1). The candidate with "
            "the highest score is taken.",
            "note",
        )
    elif choice is not None:
        page.text(f"Why this affinity: {choice.reason}")
    for words, sentence in (
        ("Why these scales", chosen.reason),
        ("What else there is", chosen.runner_up.removeprefix("Runner-up: ")),
        ("Why this noise", chosen.noise),
        ("What to try", chosen.advice),
    ):
        if sentence:
            page.text(f"{words}: {sentence}")


def _clusters(page: Report, result: Result) -> None:
    model = result.model
    rows = [
        [
            k, f"{row.labelled:,}", f"{len(c):,}", f"{row.among:,}", result.name_of(c.exemplar),
            _number(row.radius, ".3g"), _number(row.shift, ".5g"), _number(row.persistence, ".2f"),
            _number(row.chance, ".1e"),
        ]
        for k, (c, row) in enumerate(zip(model.clusters_, model.selection_.rows, strict=True))
    ]  # fmt: skip
    head = [
        "cluster",
        "labelled",
        "core",
        "among",
        "exemplar",
        "radius",
        "shift",
        "strength",
        "by chance",
    ]
    page.section("Clusters").table(
        *_told(head, rows),
        colors=[color_of(k) for k in range(len(rows))],
    )
    page.text(
        "labelled: objects with this label. core: members of the dominant set. among: number of objects "
        "among which it is certified, all or those with its label. exemplar: the most typical member. "
        "radius: of the ball that the cluster is, where it is one. shift: the scale at which it was taken. "
        "strength: how long it stays the same as the scale grows. by chance: how many groups like it data "
        "without structure would have.",
        "note",
    )


def _exemplars(page: Report, result: Result) -> None:
    """The rows of the exemplars as they stand in the file."""
    if result.features is None or result.is_sparse:
        return
    data = result.table.data
    width = min(data.shape[1], MOST_COLUMNS)
    names = result.table.names or [f"column {k + 1}" for k in range(data.shape[1])]
    rows = [
        [k, result.name_of(c.exemplar), *(f"{value:.6g}" for value in np.asarray(data[c.exemplar])[:width])]
        for k, c in enumerate(result.model.clusters_)
    ]
    page.section("Exemplars").table(
        ["cluster", "exemplar", *names[:width]], rows, colors=[color_of(k) for k in range(len(rows))]
    )
    if width < data.shape[1]:
        page.text(f"The first {width} of {data.shape[1]:,} columns.", "note")


def _certificates(page: Report, result: Result) -> None:
    rows = [
        [
            k, f"{c.value:.6g}", f"{c.gap:.1e}" if c.gap else "0", _number(c.margin, ".3g"),
            {True: "yes", False: "no", None: "not tested"}[c.strict], c.status.words, f"{c.n_iter:,}",
            c.algorithm,
        ]
        for k, c in enumerate(result.model.clusters_)
    ]  # fmt: skip
    page.section("Certificates").table(
        ["cluster", "value", "gap", "margin", "strict", "ended", "iterations", "solver"],
        rows,
        colors=[color_of(k) for k in range(len(rows))],
    )
    page.text(
        "All recomputed from the answer. value: how alike the members are. gap: what one object could still "
        "gain, 0 at a stationary point. margin: how far the best outsider stays below what it takes to join. "
        "strict: whether second-order conditions prove a strict local maximum.",
        "note",
    )


def _pictures(page: Report, result: Result) -> None:
    model = result.model
    page.section("Pictures")
    pictures = [(result.picture(), "The clusters: the larger the more typical.")]
    if result.features is not None and not result.is_sparse:
        matrix = SimilarityDisplay.from_estimator(model).figure_
        pictures.append((matrix, "Similarities in the order of the clusters, noise last."))
    profile = MembershipDisplay.from_estimator(model).figure_
    pictures.append((profile, "Weights of the members of each core, sorted: a steep end is a clear edge."))
    for figure, caption in pictures:
        page.figure(figure, caption)
        plt.close(figure)


def _scores(page: Report, result: Result) -> None:
    scores = result.scores()
    if not scores:
        return
    page.section("Agreement with the classes").table(
        ["over", "adjusted Rand index", "V-measure"],
        [
            [words, f"{scores[f'ari{end}']:.3f}", f"{scores[f'v_measure{end}']:.3f}"]
            for words, end in (("all objects", ""), ("those with a label", "_assigned"))
            if f"ari{end}" in scores
        ],
    )
    page.text(
        "1 is perfect; 0 is what chance gives (the index may be below). Noise counts as one class.", "note"
    )


def _settings(result: Result) -> list[tuple[str, Any]]:
    """Parameters that are not what they are by default."""
    model = result.model
    usual = type(model)().get_params()
    quiet = ("verbose", "random_state", "callback")
    given = {k: v for k, v in model.get_params().items() if k not in quiet and v != usual[k]}
    given |= {"scale": type(result.scaler).__name__} if result.scaler is not None else {}
    given |= {"affinity_params_": model.affinity_params_} if model.affinity_params_ else {}
    told = ", ".join(f"{k.rstrip('_')}={v!r}" for k, v in given.items())
    return [("settings", told or "all by default")]


def _told(head: list[str], rows: list[list[Any]]) -> tuple[list[str], list[list[Any]]]:
    """A table without the columns that say nothing."""
    kept = [k for k in range(len(head)) if any(row[k] not in (NOTHING, "") for row in rows)]
    return [head[k] for k in kept], [[row[k] for k in kept] for row in rows]


def _number(value: float, form: str) -> str:
    return f"{value:{form}}" if np.isfinite(value) else NOTHING
