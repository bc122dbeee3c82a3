"""From a similarity to its clusters: the way that suits it, and what comes back.

Points have a tree of modes (:mod:`dominantsets.clusters.scales`), networks a ladder of shifts
(:mod:`dominantsets.clusters.graph_tree`), paths a tree that is cut (:mod:`dominantsets.clusters.tree_cut`);
where the user names a shift, and for what has neither, clusters
are peeled off one after another at one shift.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.checkpoint import Checkpoint
from dominantsets.clusters.elliptic import cores as elliptic_cores
from dominantsets.clusters.elliptic import fitted, label_by_ellipses, metrics
from dominantsets.clusters.graph_tree import graph_groups, graph_partition
from dominantsets.clusters.minimum_size import guaranteed_shift, sufficient_shift
from dominantsets.clusters.peeling import Peeling, renumbered
from dominantsets.clusters.scales import OwnScales, Scales, chosen, starts_from, starts_of
from dominantsets.clusters.shift import Resolution, choose_shift
from dominantsets.clusters.table import Selection, of_ellipses, of_groups, of_pieces, of_scales, of_shift
from dominantsets.clusters.tree_cut import cut_tree
from dominantsets.labels.clouds import Start
from dominantsets.labels.mixture import label_by_clouds
from dominantsets.labels.partition import Partition, label_by_fit, label_by_pieces
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.similarity.base import Coordinates
from dominantsets.solvers import DominantSet, Monitor, SolverOptions
from dominantsets.solvers.result import HALTS, End, Status

SAMPLED, SOME = 6_000, 40  # objects from which labels are made where a shift was given, and of each cluster

Noise = float | str | None
Keep = Callable[[Similarity, str, dict[str, Any], list[str]], Checkpoint | None]


@dataclass(frozen=True)
class Request:
    """What is asked for, see :class:`DominantSets`.

    Attributes
    ----------
    n_clusters, shift, min_cluster_size, noise
        As the estimator has them.
    options : SolverOptions
        The solver's.
    keep : callable
        Makes the checkpoint for a similarity, an algorithm, what else the run depends on, and which of the
        estimator's parameters; None for none.
    say : callable
        Told about each cluster: its number and itself.
    """

    n_clusters: int | None
    shift: float | str
    options: SolverOptions
    min_cluster_size: int = 1
    noise: Noise = "auto"
    keep: Keep = lambda *_: None
    say: Callable[[int, DominantSet], None] = lambda *_: None


@dataclass(eq=False)
class Found:
    """Clusters, before anybody else has a label.

    Attributes
    ----------
    clusters : list of DominantSet
        The dominant sets.
    cores : ndarray of int
        Their labels, -1 outside them.
    selection : Selection
        How they were chosen.
    options : SolverOptions
        The solver's options, with the algorithm that "auto" meant.
    end : End or None
        Why there are no more.
    partition : callable
        Gives all objects their labels; another decision about noise may be passed.
    """

    clusters: list[DominantSet]
    cores: Ints
    selection: Selection
    options: SolverOptions
    end: End | None
    partition: Callable[..., Partition]


def find(
    similarity: Similarity, request: Request, random_state: np.random.RandomState, monitor: Monitor
) -> Found:
    """Find the clusters of a similarity.

    Parameters
    ----------
    similarity : Similarity
        Of any kind.
    request : Request
        What is asked for.
    random_state : RandomState
        For row sums that are estimated.
    monitor : Monitor
        Knows the time limit, Ctrl-C and the callback.

    Returns
    -------
    Found
        The clusters; after Ctrl-C or at the time limit, those that were found until then.
    """
    found = _found(similarity, request, random_state, monitor)
    if any(cluster.status is Status.INTERRUPTED for cluster in found.clusters):  # by a solve that returned
        return replace(found, end=End.INTERRUPTED)
    return found


def _found(similarity: Any, request: Request, random_state: np.random.RandomState, monitor: Monitor) -> Found:
    """The clusters, in the way that suits the similarity."""
    if request.shift == "auto" and request.options.starts_anywhere:
        if similarity.is_elliptic:
            return _of_ellipses(similarity, request, random_state, monitor)
        if similarity.is_geometric:
            return _each_at_its_scale(similarity, request, random_state, monitor)
        if similarity.is_network and similarity.n > 1:
            return _of_network(similarity, request, monitor)
        if similarity.is_tree:
            return _of_tree(similarity, request, monitor)
    return _at_one_shift(similarity, request, random_state, monitor)


def _of_network(similarity: Any, request: Request, monitor: Monitor) -> Found:
    """The groups of a graph, each at its own shift."""
    try:
        groups, end = graph_groups(similarity, request.n_clusters, monitor), End.N_CLUSTERS
    except KeyboardInterrupt:
        groups, end = [], End.INTERRUPTED
    groups = [group for group in groups if len(group.core) >= request.min_cluster_size]
    clusters = [group.core for group in groups]
    cores = np.full(similarity.n, -1, dtype=np.int64)
    for k in range(len(clusters) - 1, -1, -1):  # of overlapping ones, the most certain
        cores[clusters[k].members] = k

    def partition(noise: Noise = request.noise) -> Partition:
        return graph_partition(similarity, groups, noise)

    return Found(
        clusters,
        cores,
        of_groups(groups),
        request.options.chosen_for(similarity, clusters[0].shift if clusters else 0.0, 0),
        End.TIME_LIMIT if monitor.out_of_time() else end,
        partition,
    )


def _of_tree(similarity: Any, request: Request, monitor: Monitor) -> Found:
    """The pieces of a tree, each with its dominant set at a shift of its own."""
    try:
        found = cut_tree(similarity, request.n_clusters, request.min_cluster_size, request.options, monitor)
        pieces, labels, end = found.pieces, found.labels, End.N_CLUSTERS
    except KeyboardInterrupt:
        found, pieces, end = None, [], End.INTERRUPTED
        labels = np.full(similarity.n, -1, dtype=np.int64)
    clusters = [piece.core for piece in pieces]
    cores = np.full(similarity.n, -1, dtype=np.int64)
    for k, cluster in enumerate(clusters):
        cores[cluster.members] = k

    def partition(noise: Noise = request.noise) -> Partition:
        return label_by_pieces(similarity, clusters, labels, noise)

    return Found(
        clusters,
        cores,
        Selection("ended early.") if found is None else of_pieces(found, request.n_clusters),
        request.options.chosen_for(similarity, clusters[0].shift if clusters else 0.0),
        End.TIME_LIMIT if monitor.out_of_time() else end,
        partition,
    )


def _of_ellipses(
    similarity: Any, request: Request, random_state: np.random.RandomState, monitor: Monitor
) -> Found:
    """Clusters that each have their own metric, from the groups of other affinities."""
    noise = "auto" if request.noise in ("auto", "cores") else None

    def groups(rows: Floats, affinity: str) -> Ints:
        params: dict[str, dict[str, Any]] = {
            "path": {"min_samples": min(5, len(rows))},
            "diffusion": {"n_components": request.n_clusters},
        }
        some = as_similarity(rows, affinity, **params.get(affinity, {}))
        quiet = replace(request, keep=lambda *_: None, say=lambda *_: None)
        return labels_of(some, quiet, random_state, monitor, noise)[0]

    size = max(SAMPLED, SOME * (request.n_clusters or 0))
    mixture = fitted(similarity, chosen(similarity.degrees(), size), groups, monitor)
    if mixture is None:  # too few objects for a metric: everybody's
        return _each_at_its_scale(similarity, request, random_state, monitor)
    similarity.settle(metrics(mixture))
    labels, _ = mixture.label(np.asarray(similarity.features, dtype=np.float64))
    end = End.N_CLUSTERS
    try:
        clusters = elliptic_cores(similarity, mixture, labels, request.options, monitor)
    except KeyboardInterrupt:  # outside a solve, which returns on its own
        clusters, end = [], End.INTERRUPTED
    cores = np.full(similarity.n, -1, dtype=np.int64)
    for k, cluster in enumerate(clusters):
        request.say(k + 1, cluster)
        mine = cluster.members[labels[cluster.members] == k]
        cores[mine] = k
    return Found(
        clusters,
        cores,
        of_ellipses(mixture, clusters, similarity.start),
        request.options.chosen_for(similarity, clusters[0].shift if clusters else 0.0, 0),
        End.TIME_LIMIT if monitor.out_of_time() else end,
        lambda noise=request.noise: label_by_ellipses(similarity, mixture, noise, len(clusters)),
    )


def labels_of(
    similarity: Similarity,
    request: Request,
    random_state: np.random.RandomState,
    monitor: Monitor,
    *noises: Noise,
) -> list[Ints]:
    """The labels of all objects, -1 for noise, without anything else, for some decisions about noise."""
    found = find(similarity, request, random_state, monitor)
    if found.end is End.INTERRUPTED:  # these are only means to an end
        raise KeyboardInterrupt
    return [found.partition(noise).labels if found.clusters else found.cores for noise in noises]


def _each_at_its_scale(
    similarity: Similarity, request: Request, random_state: np.random.RandomState, monitor: Monitor
) -> Found:
    """Clusters that each have their own scale."""
    spread = similarity.spread(random_state)
    wanted = similarity.n_groups if request.n_clusters is None else request.n_clusters
    scales = Scales(similarity, spread, wanted, request.min_cluster_size, monitor)
    run = OwnScales(similarity, scales, request.options, monitor, request.min_cluster_size)
    keep = request.keep(similarity, request.options.algorithm, {"shift": "auto"}, ["n_clusters"])
    clusters = _collected(run, request, keep)
    end = End.INTERRUPTED if scales.interrupted else run.end
    if end in HALTS.values():
        monitor.hurry()

    def partition(noise: Noise = request.noise) -> Partition:
        judged = noise == "auto" and similarity.has_clouds  # directions have no noise to be judged
        why = scales.hidden(len(run.balls)) if judged else ""
        starts, alone = starts_of(scales, run.balls), starts_of(scales, scales.alone)
        dimension = 1.0 if scales.tree is None else scales.tree.dimension
        return by_clouds(
            similarity, scales.objects, scales.sample, starts, dimension, noise, monitor, why, alone
        )

    return Found(
        clusters,
        run.labels,
        of_scales(scales, run.balls, clusters, request.n_clusters),
        request.options.chosen_for(similarity, scales.shift(scales.balls[0].kappa), 0),
        end,
        partition,
    )


def by_clouds(
    similarity: Similarity,
    objects: Ints,
    sample: Coordinates,
    starts: list[Start],
    dimension: float,
    noise: Noise,
    monitor: Monitor,
    hidden: str = "",
    alone: list[Start] | None = None,
) -> Partition:
    """Labels by clouds; ``hidden`` says why nobody can be noise."""
    nobody = noise == "cores" or bool(hidden)
    noise = None if nobody else noise
    rule = label_by_clouds(similarity, objects, sample, starts, dimension, noise, monitor, alone)
    sentence = f"nobody is called noise: {hidden}." if hidden else rule.verdict.sentence
    return Partition(*rule.of(similarity), rule, sentence)


def _at_one_shift(
    similarity: Similarity, request: Request, random_state: np.random.RandomState, monitor: Monitor
) -> Found:
    """Clusters that share one shift, peeled off one after another."""
    degrees = similarity.degrees(random_state)
    resolution = _resolution(similarity, degrees, request, monitor)
    shift = resolution.shift
    options = request.options.chosen_for(similarity, shift)
    run = Peeling(
        similarity,
        request.n_clusters,
        shift=shift,
        options=options,
        min_cluster_size=request.min_cluster_size,
        monitor=monitor,
        degrees=degrees,
    )
    keep = None
    if resolution.halt is not None:
        run.end = resolution.halt
    else:
        keep = request.keep(similarity, options.algorithm, {"shift": shift}, ["n_clusters"])
    found = _collected(run, request, keep)
    if run.end in HALTS.values():
        monitor.hurry()  # one round of refinement, so that Ctrl-C is answered at once
    kept = list(range(len(found)))
    if request.n_clusters is None:  # those that stand alone; the others are left out
        kept = [k for k in kept if run.judgements[k].alone or len(run.labels) == 1]
    clusters, cores = [found[k] for k in kept], renumbered(run.labels, kept, len(found))

    def partition(noise: Noise = request.noise) -> Partition:
        if not similarity.is_geometric:
            return label_by_fit(similarity, clusters, cores, noise, monitor)
        few = [cluster.members[:: max(1, len(cluster) // SOME)] for cluster in clusters]
        objects = np.unique(np.concatenate([chosen(degrees, SAMPLED), *few]))
        sample = similarity.coordinates(objects)
        starts = starts_from(sample, objects, clusters)
        return by_clouds(similarity, objects, sample, starts, np.inf, noise, monitor)

    return Found(clusters, cores, of_shift(resolution, clusters), options, run.end, partition)


def _resolution(similarity: Similarity, degrees: Floats, request: Request, monitor: Monitor) -> Resolution:
    """The shift: given, chosen, or such that no cluster is small."""
    size, cutoff = request.min_cluster_size, request.options.cutoff
    if request.shift == "guaranteed":
        shift = guaranteed_shift(similarity, size)
        return Resolution(shift, f"no cluster can have fewer than {size} members.")
    if request.shift == "sufficient":
        shift = sufficient_shift(
            similarity, size, request.n_clusters, degrees=degrees, monitor=monitor, cutoff=cutoff
        )
        return Resolution(shift, f"found by search: no cluster has fewer than {size} members.")
    if not isinstance(request.shift, str):
        return Resolution(float(request.shift), "given.")
    return choose_shift(similarity, degrees, request.n_clusters, monitor=monitor)


def _collected(run: Any, request: Request, keep: Checkpoint | None) -> list[DominantSet]:
    """What a run finds, kept after each cluster where that is asked for."""
    clusters: list[DominantSet] = []
    before = keep.load() if keep is not None else None
    if before is not None:
        clusters += before.clusters
        run.restore(clusters)
        run.end = End(before.end) if before.end is not None else None
    try:
        for cluster in run:
            clusters.append(cluster)
            request.say(len(clusters), cluster)
            if keep is not None and run.end not in HALTS.values():  # a halted cluster is not whole
                keep.save(clusters, run.end.value if run.end else None)
    except KeyboardInterrupt:  # outside a solve, which returns on its own
        run.end = End.INTERRUPTED
    return clusters
