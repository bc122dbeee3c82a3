"""From a similarity to its clusters: the way that suits it, and what comes back.

Points have a tree of modes (:mod:`dominantsets.clusters.scales`), networks a ladder of shifts
(:mod:`dominantsets.clusters.graph_tree`), paths a tree that is cut (:mod:`dominantsets.clusters.tree_cut`);
where the user names a shift, and for what has neither, clusters
are peeled off one after another at one shift.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.clusters.checkpoint import Checkpoint
from dominantsets.clusters.climbs import climb_from_all, typicality
from dominantsets.clusters.elliptic import cores as elliptic_cores
from dominantsets.clusters.elliptic import fitted, label_by_ellipses, metrics
from dominantsets.clusters.graph_tree import graph_groups, graph_partition
from dominantsets.clusters.minimum_size import guaranteed_shift, sufficient_shift
from dominantsets.clusters.multistart import MultiStart, Pass
from dominantsets.clusters.overlapping import search_sets
from dominantsets.clusters.peeling import Peeling, renumbered
from dominantsets.clusters.scales import OwnScales, Scales, chosen, starts_from, starts_of
from dominantsets.clusters.shift import Resolution, choose_shift
from dominantsets.clusters.significance import judge
from dominantsets.clusters.table import Selection, of_ellipses, of_groups, of_pieces, of_scales, of_shift
from dominantsets.clusters.tree_cut import cut_tree
from dominantsets.compiled.interrupts import Interrupted, check
from dominantsets.labels.average import ByGain, Core
from dominantsets.labels.clouds import Start
from dominantsets.labels.mixture import label_by_clouds
from dominantsets.labels.partition import Partition, label_by_fit, label_by_pieces
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.similarity.base import Coordinates
from dominantsets.solvers import DominantSet, Monitor, SolverOptions, make_problem
from dominantsets.solvers.result import HALTS, End

SAMPLED, SOME = 6_000, 40  # objects from which labels are made where a shift was given, and of each cluster

Noise = float | str | None
Keep = Callable[[Similarity, str, dict[str, Any], list[str]], Checkpoint | None]


@dataclass(frozen=True)
class Request:
    """What is asked for, see :class:`DominantSets`.

    Attributes
    ----------
    n_clusters, shift, min_cluster_size, noise, n_starts, n_jobs
        As the estimator has them.
    options : SolverOptions
        The solver's.
    multistart : dict
        Parameters of multi-start.
    keep : callable
        Makes the checkpoint for a similarity, an algorithm, what else the run depends on, and which of the
        estimator's parameters; None for none.
    say : callable
        Told about each cluster: its number and itself.
    modes : bool
        Whether clusters are the modes that climbs from all objects lead to.
    overlap : float or None
        How much of two clusters may be the same (Jaccard), where they are sets of all objects; None where
        each is one of what the others left.
    """

    n_clusters: int | None
    shift: float | str
    options: SolverOptions
    min_cluster_size: int = 1
    noise: Noise = "auto"
    n_starts: int = 1
    n_jobs: int | None = None
    multistart: dict[str, Any] = field(default_factory=dict)
    keep: Keep = lambda *_: None
    say: Callable[[int, DominantSet], None] = lambda *_: None
    modes: bool = False
    overlap: float | None = None


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
    n_passes : int
        Passes of multi-start; else as many as clusters.
    partition : callable
        Gives all objects their labels; another decision about noise may be passed.
    """

    clusters: list[DominantSet]
    cores: Ints
    selection: Selection
    options: SolverOptions
    end: End | None
    n_passes: int
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
        For row sums that are estimated, and for multi-start.
    monitor : Monitor
        Knows the time limit, Ctrl-C and the callback.

    Returns
    -------
    Found
        The clusters; after Ctrl-C or at the time limit, those that were found until then.
    """
    found = _found(similarity, request, random_state, monitor)
    if not monitor.interrupted:
        return found
    monitor.hurry()
    return replace(found, end=End.INTERRUPTED)


def _found(similarity: Any, request: Request, random_state: np.random.RandomState, monitor: Monitor) -> Found:
    """The clusters, in the way that suits the similarity."""
    if request.modes:
        return _by_climbs(similarity, request, random_state, monitor)
    if request.overlap is not None:
        return _overlapping(similarity, request, random_state, monitor)
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
    groups, end = graph_groups(similarity, request.n_clusters, monitor), End.N_CLUSTERS
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
        len(groups),
        partition,
    )


def _of_tree(similarity: Any, request: Request, monitor: Monitor) -> Found:
    """The pieces of a tree, each with its dominant set at a shift of its own."""
    found = cut_tree(similarity, request.n_clusters, request.min_cluster_size, request.options, monitor)
    pieces, labels, end = found.pieces, found.labels, End.N_CLUSTERS
    clusters = [piece.core for piece in pieces]
    cores = np.full(similarity.n, -1, dtype=np.int64)
    for k, cluster in enumerate(clusters):
        cores[cluster.members] = k

    def partition(noise: Noise = request.noise) -> Partition:
        return label_by_pieces(similarity, clusters, labels, noise)

    return Found(
        clusters,
        cores,
        of_pieces(found, request.n_clusters),
        request.options.chosen_for(similarity, clusters[0].shift if clusters else 0.0),
        End.TIME_LIMIT if monitor.out_of_time() else end,
        len(clusters),
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
    clusters = elliptic_cores(similarity, mixture, labels, request.options, monitor)
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
        len(clusters),
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
    check()  # these are only means to an end
    found = find(similarity, request, random_state, monitor)
    if found.end is End.INTERRUPTED:
        raise Interrupted
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
    clusters = _collected(run, request, random_state, keep)
    end = run.end
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
        len(clusters),
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
    """Clusters that share one shift, peeled off one after another or in passes."""
    degrees = similarity.degrees(random_state)
    resolution = _resolution(similarity, degrees, request, monitor)
    shift, many = resolution.shift, request.n_starts > 1
    options = request.options.chosen_for(similarity, shift, 0 if many else request.options.start)
    common: dict[str, Any] = {
        "shift": shift,
        "options": options,
        "min_cluster_size": request.min_cluster_size,
        "monitor": monitor,
        "degrees": degrees,
    }
    run: Peeling | MultiStart
    if many:
        common |= request.multistart
        common |= {"n_starts": request.n_starts, "n_jobs": request.n_jobs, "random_state": random_state}
        run = MultiStart(similarity, request.n_clusters, **common)
    else:
        run = Peeling(similarity, request.n_clusters, **common)
    keep = None
    if resolution.halt is not None:
        run.end = resolution.halt
    else:
        names = ["n_clusters", "n_starts", *(["random_state"] if many else [])]
        keep = request.keep(similarity, options.algorithm, {"shift": shift}, names)
    found = _collected(run, request, random_state, keep)
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
        size = SAMPLED // 6 if monitor.interrupted else SAMPLED  # Ctrl-C is answered at once
        objects = np.unique(np.concatenate([chosen(degrees, size), *few]))
        sample = similarity.coordinates(objects)
        starts = starts_from(sample, objects, clusters)
        return by_clouds(similarity, objects, sample, starts, np.inf, noise, monitor)

    n_passes = run.n_passes if isinstance(run, MultiStart) else len(found)
    return Found(clusters, cores, of_shift(resolution, clusters), options, run.end, n_passes, partition)


def _overlapping(
    similarity: Similarity, request: Request, random_state: np.random.RandomState, monitor: Monitor
) -> Found:
    """Dominant sets of all objects, at one shift: an object may be in several."""
    degrees = similarity.degrees(random_state)
    resolution = _resolution(similarity, degrees, request, monitor)
    assert request.overlap is not None
    every = search_sets(similarity, resolution.shift, "auto", request.overlap, monitor)
    end = resolution.halt or every.end or End.ALL_ASSIGNED
    problem = make_problem(similarity, resolution.shift, degrees)
    clusters = [one for one in every if len(one) >= max(request.min_cluster_size, min(2, similarity.n))]
    if request.n_clusters is not None:
        clusters = clusters[: request.n_clusters]
        end = End.N_CLUSTERS if len(clusters) == request.n_clusters else end
    else:  # those that stand alone; the others are left out
        clusters = [one for one in clusters if judge(problem, one).alone or similarity.n == 1]
        end = end if clusters or every.end else End.NOT_COHERENT
    for k, cluster in enumerate(clusters):
        request.say(k + 1, cluster)
    cores = np.full(similarity.n, -1, dtype=np.int64)
    best = np.zeros(similarity.n)
    for k, cluster in enumerate(clusters):  # an object of several: the one where it weighs most
        share = cluster.weights / cluster.weights.max()
        mine = cluster.members[share > best[cluster.members]]
        best[cluster.members] = np.maximum(best[cluster.members], share)
        cores[mine] = k
    if end in HALTS.values():
        monitor.hurry()
    options = request.options.chosen_for(similarity, resolution.shift, 0)

    def partition(noise: Noise = request.noise) -> Partition:
        return label_by_fit(similarity, clusters, cores, noise, monitor)

    return Found(clusters, cores, of_shift(resolution, clusters), options, end, len(clusters), partition)


def _by_climbs(
    similarity: Similarity, request: Request, random_state: np.random.RandomState, monitor: Monitor
) -> Found:
    """The modes that climbs from all objects lead to, at one shift."""
    degrees = similarity.degrees(random_state)
    resolution = _resolution(similarity, degrees, request, monitor)
    options = request.options.chosen_for(similarity, resolution.shift, 0)
    climbs = climb_from_all(similarity, resolution.shift, degrees, options, monitor, request.n_jobs)
    problem = make_problem(similarity, resolution.shift, degrees)
    kept = [k for k, mode in enumerate(climbs.modes) if len(mode) >= request.min_cluster_size]
    if request.n_clusters is not None:
        kept = kept[: request.n_clusters]
    else:  # those that stand alone; the others are left out
        kept = [k for k in kept if judge(problem, climbs.modes[k]).alone or similarity.n == 1]
    clusters = [climbs.modes[k] for k in kept]
    for k, cluster in enumerate(clusters):
        request.say(k + 1, cluster)
    labels = renumbered(climbs.labels, kept, len(climbs.modes))
    cores = np.full(similarity.n, -1, dtype=np.int64)
    for k in range(len(clusters) - 1, -1, -1):  # an object of two modes: the one that more lead to
        cores[clusters[k].members] = k
    sentence = (
        f"everybody is where a climb from there ends; {(labels < 0).mean():.0%} end in one of the "
        f"{len(climbs.modes) - len(clusters)} modes that are no clusters."
    )

    def partition() -> Partition:
        rule = ByGain([Core.of(similarity, cluster) for cluster in clusters])
        return Partition(labels, typicality(similarity, clusters, labels), rule, sentence)

    end = resolution.halt or climbs.end
    if not clusters and end is End.ALL_ASSIGNED:
        end = End.NOT_COHERENT
    return Found(clusters, cores, of_shift(resolution, clusters), options, end, len(clusters), partition)


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


def _collected(
    run: Any, request: Request, random_state: np.random.RandomState, keep: Checkpoint | None
) -> list[DominantSet]:
    """What a run finds, kept after each cluster where that is asked for."""
    clusters: list[DominantSet] = []
    before = keep.load() if keep is not None else None
    if before is not None:
        clusters += before.clusters
        run.restore(clusters)
        run.end = End(before.end) if before.end is not None else None
        if isinstance(run, MultiStart):
            run.n_passes = before.n_passes
            if before.random_state is not None:
                random_state.set_state(before.random_state)
    try:
        for found in run:
            for cluster in found.clusters if isinstance(found, Pass) else [found]:
                clusters.append(cluster)
                request.say(len(clusters), cluster)
            if keep is not None and run.end not in HALTS.values():  # a halted cluster is not whole
                passes = run.n_passes if isinstance(run, MultiStart) else len(clusters)
                keep.save(clusters, passes, random_state, run.end.value if run.end else None)
    except Interrupted:  # before a solve on Dask workers had made its first pass
        run.end = End.INTERRUPTED
    return clusters
