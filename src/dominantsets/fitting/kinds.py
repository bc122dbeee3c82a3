"""Which plan is for which data: each structure has one; a given shift means one shift for all clusters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from dominantsets._typing import Ints
from dominantsets.compiled.interrupts import Interrupted, check
from dominantsets.fitting.ellipses import EllipticPlan
from dominantsets.fitting.network import Network
from dominantsets.fitting.one_shift import OneShift
from dominantsets.fitting.plan import Noise, Plan, Request
from dominantsets.fitting.points import Points
from dominantsets.fitting.tree import Tree
from dominantsets.similarity import Similarity
from dominantsets.solvers import Monitor
from dominantsets.solvers.result import End


def plan_of(
    similarity: Similarity, request: Request, random_state: np.random.RandomState, monitor: Monitor
) -> Plan:
    """The plan for a similarity.

    Parameters
    ----------
    similarity : Similarity
        Of any kind.
    request : Request
        What is asked for.
    random_state : RandomState
        For row sums that are estimated.
    monitor : Monitor
        Has the time limit, Ctrl-C and the callback.

    Returns
    -------
    Plan
        The plan; nothing has been done yet.
    """
    own_shifts = request.shift == "auto" and request.options.starts_anywhere
    if similarity.structure == "network" and similarity.n == 1:  # a node without an edge is no group
        own_shifts = False
    plan = PLANS.get(similarity.structure, OneShift) if own_shifts else OneShift
    return plan(similarity, request, random_state, monitor)


def labels_of(
    similarity: Similarity,
    request: Request,
    random_state: np.random.RandomState,
    monitor: Monitor,
    *noises: Noise,
) -> list[Ints]:
    """The labels of all objects, -1 for noise, without anything else, for some decisions about noise."""
    check()  # these are only means to an end
    plan = plan_of(similarity, request, random_state, monitor)
    plan.groups()
    if plan.end is End.INTERRUPTED:
        raise Interrupted
    return [plan.labels(noise).labels if plan.clusters else plan.cores for noise in noises]


PLANS: dict[str, Callable[..., Plan]] = {
    "points": Points,
    "ellipses": partial(EllipticPlan, labels_of),
    "network": Network,
    "tree": Tree,
}
