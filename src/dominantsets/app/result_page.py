"""The page that ``dominantsets cluster --report`` writes."""

from __future__ import annotations

import numpy as np

from dominantsets.app.job import Result
from dominantsets.app.report import Report
from dominantsets.plotting import MembershipDisplay, SimilarityDisplay, plt


def page_of(self: Result, name: str) -> Report:
    """The HTML report of the result."""

    model = self.model
    page = Report(f"Dominant sets of {name}").text(f"{self.line()}.")
    if self.partial:
        page.text("The run was stopped early: what follows is what had been found.", "warning")
    chosen = model.selection_
    for sentence in (
        chosen.reason,
        chosen.runner_up,
        chosen.noise and f"Noise: {chosen.noise}",
        chosen.advice,
    ):
        if sentence:
            page.text(sentence, "note")
    if model.choice_ is not None and model.choice_.n_objects:
        page.section("How the objects are alike")
        page.table(
            ["affinity", "clusters", "separation", "stability", "explains", "noise"],
            [
                [
                    c.title, c.n_clusters, f"{c.separation:.2f}", f"{c.stability:.2f}",
                    f"{c.explains:+.2f}" if np.isfinite(c.explains) else "", f"{c.noise:.0%}",
                ]
                for c in model.choice_.candidates
            ],
        )  # fmt: skip
        page.text(model.choice_.reason, "note")
    if self.scores():
        page.section("Agreement with the classes")
        page.table(["score", "value"], [[k, f"{v:.3f}"] for k, v in self.scores().items()])
    if model.clusters_:
        page.section("Clusters and their certificates")
        head = [
            "cluster",
            "labelled",
            "members",
            "shift",
            "strength",
            "by chance",
            "exemplar",
            "value",
            "gap",
            "margin",
            "strict",
            "status",
        ]
        rows = [
            [
                k, row.labelled, len(c), f"{row.shift:.5g}", f"{row.persistence:.2f}",
                f"{row.chance:.1e}",
                c.exemplar if self.table.ids is None else self.table.ids[c.exemplar],
                f"{c.value:.6g}", f"{c.gap:.1e}", f"{c.margin:.3g}", c.strict, c.status.value,
            ]
            for k, (c, row) in enumerate(zip(model.clusters_, chosen.rows, strict=True))
        ]  # fmt: skip
        page.table(head, rows)
        page.text(
            "gap: 0 at a stationary point. margin: how far the best outsider stays below what it takes "
            "to join. strict: whether second-order conditions prove a strict local maximum.",
            "note",
        )
        page.section("Pictures")
        pictures = [(self.picture(), "The clusters.")]
        if self.features is not None:
            matrix = SimilarityDisplay.from_estimator(model).figure_
            pictures.append((matrix, "Similarities in the order of the clusters, noise last."))
        profile = MembershipDisplay.from_estimator(model).figure_
        pictures.append((profile, "Weights of the members of each cluster, sorted."))
        for figure, caption in pictures:
            page.figure(figure, caption)
            plt.close(figure)
    return page
