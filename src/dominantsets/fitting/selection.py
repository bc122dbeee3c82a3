"""What ``fit`` chose and why: a row for each cluster, and what to try next."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.balls import Ball
from dominantsets.clusters.graph_groups import GraphGroup
from dominantsets.clusters.graph_partition import FALSE
from dominantsets.clusters.scales import Scales
from dominantsets.clusters.shift import Resolution
from dominantsets.clusters.tree_cut import TreeCut
from dominantsets.compiled.members import sizes_of
from dominantsets.fitting.agreement import Agreement
from dominantsets.labels.ellipses import Ellipses
from dominantsets.solvers import DominantSet

SHOWN = 40  # rows that are printed; the others are in ``rows``
LISTED = 10  # sizes of clusters in a summary
CURVED = 1.6  # dimensions of points in a plane or more, below which they look like curves
ALIKE = 0.8  # of the persistence of the groups chosen, from which others are as strong


class Row(NamedTuple):
    """One cluster.

    Attributes
    ----------
    shift_from, shift, shift_to : float
        The shifts at which the group comes up, at which it is taken, and at which it is absorbed; nan where
        the shift was given.
    radius : float
        Of the ball whose objects are the dominant set, in the unit of the features; nan without one.
    members, labelled, among : int
        Objects of the dominant set, objects with its label, and objects among which it is certified: all, or
        those with its label where it would else have others.
    persistence, sharpness : float
        How long it stays the same as the shift rises (a flat density would grow exp of it meanwhile), and how
        sharply it stands out: near 1 where nothing is around it.
    chance : float
        How many groups like it are to be expected in data without structure.
    margin : float
        The least margin of a label, in the unit of the similarity; nan until ``label_margins`` is called.
    """

    shift_from: float
    shift: float
    shift_to: float
    radius: float
    members: int
    labelled: int
    among: int
    persistence: float
    sharpness: float
    chance: float
    margin: float = float("nan")


class Column(NamedTuple):
    """A column of the printed table."""

    title: str
    width: int
    form: str
    name: str

    def is_shown(self, rows: list[Row]) -> bool:
        """Whether a row has a value; ``among`` where it is not all objects for every cluster."""
        if self.name == "among":
            return any(row.among < sum(other.labelled for other in rows) for row in rows)
        return not all(np.isnan(getattr(row, self.name)) for row in rows)

    def cell(self, row: Row) -> str:
        """The value of a row."""
        value = getattr(row, self.name)
        return f" {'' if np.isnan(value) else format(value, self.form):>{self.width}}"


COLUMNS = (
    Column("shift from", 11, ".5g", "shift_from"),
    Column("taken at", 11, ".5g", "shift"),
    Column("to", 11, ".5g", "shift_to"),
    Column("radius", 8, ".3g", "radius"),
    Column("members", 8, "d", "members"),
    Column("labelled", 9, "d", "labelled"),
    Column("among", 9, "d", "among"),
    Column("strength", 8, ".2f", "persistence"),
    Column("sharpness", 9, ".2f", "sharpness"),
    Column("by chance", 10, ".1e", "chance"),
    Column("least margin", 12, ".5g", "margin"),
)


@dataclass(frozen=True, eq=False)
class Selection:
    """How the clusters were chosen; ``selection_`` of :class:`DominantSets`. Print it for the table.

    Attributes
    ----------
    reason : str
        How the scales came about.
    rows : list of Row
        A row for each cluster, in the order of the labels.
    noise : str
        What was decided about noise, and why.
    advice : str
        What to try next, where there is something.
    runner_up : str
        The groups that were not chosen.
    n_objects : int
        Objects on which scales were compared.
    resolution : Resolution or None
        The shifts that were tried, where one was chosen for all clusters.
    choice : str
        The table of the affinities that were compared, where the affinity was not given.
    taken : str
        Which affinity was taken and why, in a sentence.
    expected_agreement : Agreement or None
        The adjusted Rand index with the true groups that is to be expected, with an interval; None for one
        cluster, and where the affinity was given.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from dominantsets import DominantSets
    >>> X, y = make_blobs(300, centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
    >>> selection = DominantSets(affinity="sqeuclidean").fit(X).selection_
    >>> [row.labelled for row in selection.rows]
    [100, 100, 100]
    """

    reason: str
    rows: list[Row] = field(default_factory=list)
    noise: str = ""
    advice: str = ""
    runner_up: str = ""
    n_objects: int = 0
    resolution: Resolution | None = None
    choice: str = ""
    taken: str = ""
    expected_agreement: Agreement | None = None

    def with_choice(self, choice: Any) -> Selection:
        """This selection, with how the affinity was chosen."""
        agreement = choice.expected_agreement
        return replace(self, choice=str(choice), taken=choice.reason, expected_agreement=agreement)

    def __repr__(self) -> str:
        return f"Selection({len(self.rows)} clusters; print it for the table and the reasons)"

    def __str__(self) -> str:
        columns = [column for column in COLUMNS if column.is_shown(self.rows)]
        lines = [" " * 4 + "".join(f" {column.title:>{column.width}}" for column in columns)]
        for k, row in enumerate(self.rows[:SHOWN]):
            lines.append(f"{k:4d}" + "".join(column.cell(row) for column in columns))
        if len(self.rows) > SHOWN:
            lines.append(f"... and {len(self.rows) - SHOWN} more")
        parts = [self.reason, self.runner_up, f"Noise: {self.noise}" if self.noise else "", self.advice]
        if self.resolution is not None and self.resolution.candidates:
            parts.insert(0, str(self.resolution))
        above = [self.choice] if self.choice else []
        return "\n".join([*above, *(lines if self.rows else []), *(part for part in parts if part)])

    def summary(self, labels: Ints, affinity: str) -> str:
        """Five lines: the clusters, noise, similarity, what agreement to expect, and what to try next."""
        n, sizes = labels.size, sizes_of(labels, len(self.rows)).tolist()
        listed = ", ".join(f"{size:,}" for size in sizes[:LISTED])
        if len(sizes) > LISTED:
            listed += (
                f", and {len(sizes) - LISTED:,} more of {min(sizes[LISTED:]):,} to {max(sizes[LISTED:]):,}"
            )
        count = f"{len(sizes):,} cluster{'' if len(sizes) == 1 else 's'} in {n:,} objects"
        out = n - sum(sizes)
        noise = f"{out:,} objects; " if out else ""
        advice = self.advice or "print(model.selection_) for the table, model.why(i) for one object."
        similarity = self.taken or f"{affinity}, as given. {self.reason}"
        agreement = "Expected agreement with the true groups: not estimated "
        agreement += "for one cluster." if self.taken else "where the affinity is given."
        return "\n".join(
            [
                f"{count}{': ' * bool(sizes)}{listed}.",
                f"Noise: {noise}{self.noise}",
                f"Similarity: {similarity}",
                agreement if self.expected_agreement is None else str(self.expected_agreement),
                f"Next: {advice}",
            ]
        )

    def only(self, kept: Ints) -> Selection:
        """The table of some of the clusters."""
        return replace(self, rows=[self.rows[k] for k in kept.tolist()])

    def labelled(self, clusters: list[DominantSet], among: Ints, labels: Ints, noise: str) -> Selection:
        """With what the labels say: how many objects each cluster has, and its dominant set among them."""
        sizes = sizes_of(labels, len(clusters))
        rows = []
        for row, cluster, size, count in zip(self.rows, clusters, sizes, among, strict=True):
            radius = row.radius if cluster.radius is None else cluster.radius
            row = row._replace(members=len(cluster), shift=cluster.shift, radius=radius)
            rows.append(row._replace(labelled=int(size), among=int(count)))
        return replace(self, rows=rows, noise=noise)

    def placed(self, labels: Ints) -> Selection:
        """With how many of all objects each cluster has, where only some were fitted."""
        sizes = sizes_of(labels, len(self.rows))
        pairs = zip(self.rows, sizes, strict=True)
        return replace(self, rows=[row._replace(labelled=int(size)) for row, size in pairs])

    def with_margins(self, margins: Floats, labels: Ints) -> Selection:
        """With the least margin among the labels of each cluster; nan where none has one."""
        least = np.full(1 + max(len(self.rows), int(labels.max())), np.inf)
        known = ~np.isnan(margins)
        np.minimum.at(least, labels[known], margins[known])
        least[np.bincount(labels[known], minlength=least.size) == 0] = np.nan
        rows = [row._replace(margin=float(m)) for row, m in zip(self.rows, least, strict=False)]
        return replace(self, rows=rows)


def of_scales(
    scales: Scales, balls: list[Ball], clusters: list[DominantSet], wanted: int | None
) -> Selection:
    """The table of clusters that each have their own scale."""
    rows = [_row_of_ball(scales, ball, cluster) for ball, cluster in zip(balls, clusters, strict=True)]
    certain = sum(row.chance < 1.0 for row in rows)
    tree, m = scales.tree, scales.objects.size
    if tree is None:
        reason = "All objects are alike, or too few to compare: one group."
    elif scales.is_one:
        reason = f"No group of {m:,} objects stands out more than chance would have it: they are one."
    else:
        reason = (
            f"Each group is taken where it stays the same longest; of {m:,} objects in {tree.dimension:.1f} "
            f"dimensions. For {certain} of {len(rows)} groups, less than one group like it is to be expected "
            "by chance."
        )
    return Selection(
        reason, rows, advice=_advice(scales, rows, wanted), runner_up=_runner_up(scales, balls), n_objects=m
    )


def of_groups(groups: list[GraphGroup]) -> Selection:
    """The table of the groups of a graph."""
    rows = [
        _row(
            group.core,
            shift_from=group.shift_from,
            shift_to=group.shift_to,
            persistence=group.strength,
            chance=float(np.exp(min(group.evidence, 700.0))),
        )
        for group in groups
    ]
    certain = sum(group.significant for group in groups)
    reason = (
        f"A graph: {certain} of {len(groups)} groups are significant: a graph without structure has such a "
        f"group with a chance of at most {FALSE:.0%}."
    )
    advice = "" if groups else "No group stands out: pass n_clusters to get some anyway."
    return Selection(reason, rows, advice=advice)


def of_pieces(found: TreeCut, wanted: int | None) -> Selection:
    """The table of the pieces of a tree."""
    rows = [_row(piece.core, persistence=piece.strength) for piece in found.pieces]
    made = max(0, len(rows) - 1)
    cuts = [s for s in found.strengths[:made] if s > found.least]
    reason = (
        f"A tree: cut where the longest edges leave enough on both sides. {len(cuts)} of {made} cuts are "
        f"stronger than {found.least:.2f}, which chance cuts hardly reach."
    )
    advice = ""
    if len(rows) < 2 and wanted is None:
        advice = "No cut is more than chance: pass n_clusters to get some anyway."
    elif len(cuts) + 1 < len(rows):
        advice = f"{len(rows) - 1 - len(cuts)} of the {len(rows)} only fill up the number that was asked for."
    return Selection(reason, rows, advice=advice)


def of_ellipses(mixture: Ellipses, clusters: list[DominantSet], start: str) -> Selection:
    """The table of clusters that each have their own metric."""
    began = "the best of several starts" if start == "auto" else f"from the groups of {start}"
    return Selection(
        f"Ellipses: {mixture.n_clusters} normal clouds, {began}; every cluster is a dominant set in the "
        "metric of its own covariance.",
        [_row(cluster) for cluster in clusters],
    )


def of_shift(resolution: Resolution, clusters: list[DominantSet]) -> Selection:
    """The table of clusters that share one shift."""
    rows = [_row(cluster) for cluster in clusters]
    return Selection(
        f"Shift: {resolution.reason}", rows, n_objects=resolution.n_objects, resolution=resolution
    )


def _row(cluster: DominantSet, **known: Any) -> Row:
    """The row of a cluster: what is not known of it is nan."""
    nan = float("nan")
    radius = nan if cluster.radius is None else cluster.radius
    return Row(nan, cluster.shift, nan, radius, len(cluster), 0, 0, nan, nan, nan)._replace(**known)


def _row_of_ball(scales: Scales, ball: Ball, cluster: DominantSet) -> Row:
    node = ball.node
    if node is None or scales.tree is None:
        return _row(cluster, persistence=0.0, chance=float("inf"))
    low, high = (scales.shift(kappa) for kappa in scales.tree.span(node))
    return _row(
        cluster,
        shift_from=low,
        shift_to=high,
        persistence=node.persistence,
        sharpness=node.sharpness,
        chance=float(np.exp(min(node.chance, 700.0))),
    )


def _runner_up(scales: Scales, balls: list[Ball]) -> str:
    chosen = {id(ball.node) for ball in balls}
    others = [node for node in scales.groups() if id(node) not in chosen]
    if not others:
        return ""
    best = min(others, key=lambda node: node.chance)
    part = "a group of groups" if best.children else "a group within one"
    return (
        f"Runner-up: {part} of {best.size / scales.objects.size:.0%} of the objects, strength "
        f"{best.persistence:.2f}, {np.exp(min(best.chance, 700.0)):.1e} by chance."
    )


def _advice(scales: Scales, rows: list[Row], wanted: int | None) -> str:
    """One sentence for the user who got nothing, too much, or groups of groups."""
    tree = scales.tree
    if tree is None:
        return ""
    if scales.has_clouds and scales.sample.rows.shape[1] > 1 and tree.dimension < CURVED:
        return "The points look like curves: try affinity='auto', or affinity='path'."
    parents = [node for node in scales.groups() if len(node.children) > 1]
    if wanted is None and rows and parents:
        strength = float(np.median([row.persistence for row in rows]))
        strong = [node for node in parents if node.persistence > ALIKE * strength]
        coarse = len(rows) - sum(len(node.children) - 1 for node in strong)
        if strong and 1 < coarse < len(rows):
            return f"Two scales are about equally strong: n_clusters={coarse} or {len(rows)}."
    if wanted is None and len(rows) == 1:
        return "If there should be more groups, pass n_clusters."
    doubtful = sum(row.chance > 1.0 for row in rows)
    if wanted is not None and doubtful:
        return f"{doubtful} of the {len(rows)} only fill up the number that was asked for."
    return ""
