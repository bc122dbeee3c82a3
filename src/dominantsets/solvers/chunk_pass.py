"""A pass of the dual over one block: sums above a band, the rows within it, a histogram.

These functions run where the block is; :mod:`dominantsets.solvers.tensor_pass` has them in torch. What they
remember (values of s, members) can be worked out again from the d + 1 numbers that each question brings
along. See :mod:`dominantsets.solvers.chunk_dual`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.compiled import passes
from dominantsets.compiled import rows as compiled_rows
from dominantsets.rows.arrays import FormulaRows, local
from dominantsets.rows.base import Block, Mixture, Recipe, torch_form_in

FEATURES_LIMIT = 512  # features up to which Newton's matrix is sent; beyond, safe steps are extrapolated
VALUES_BYTES = 2**28  # values of s that a block remembers from one round to the next
NOWHERE = np.empty(0)
NOTHING = np.zeros(1)  # besides the shift, on the diagonal


class PassRequest(NamedTuple):
    """What is asked of a pass: sums above ``high``, rows from ``low`` to there, a histogram.

    No edges: only where tau may lie. ``low`` is NaN where no rows are wanted; a block that has more of them
    than ``limit`` sends none.
    """

    w: Floats
    edges: Floats
    low: float = np.nan
    high: float = np.nan
    limit: float = np.inf


class Boundary(NamedTuple):
    """Objects of a band: s, 1 / kappa, bias, rows of U."""

    s: Floats
    shares: Floats
    bias: Floats
    rows: Floats

    @classmethod
    def joined(cls, parts: Sequence[Boundary]) -> Boundary:
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class SupportSums(NamedTuple):
    """Sums over the objects above a level h, with y = s - h.

    Of 1, 1/kappa, y/kappa, y²/kappa, bias/kappa, bias y/kappa, y u/kappa, and of (u - w)/kappa and
    (u - w)(u - w)'/kappa (its lower triangle).
    """

    objects: float
    mass: float
    lift: float
    square: float
    tilt: float
    lean: float
    image: Floats
    first: Floats
    second: Floats

    def __add__(self, other: Any) -> SupportSums:
        return SupportSums(*(a + b for a, b in zip(self, other, strict=True)))


class PassReply(NamedTuple):
    """A block's answer to a request."""

    largest: float
    lower: float
    upper: float
    bins: Floats
    above: SupportSums | None
    band: Boundary | None


class ProblemSpec(NamedTuple):
    """What blocks must know of the problem."""

    recipe: Recipe
    shift: float
    n_alive: int


class PointSpec(NamedTuple):
    """A point of the simplex in a few numbers: weights max(0, s - tau) / kappa, those above a floor."""

    w: Floats
    tau: float
    floor: float


def _inv_kappa(here: FormulaRows, shift: float, extra: Floats) -> Floats:
    """1 / kappa; one number where all objects have the same."""
    with np.errstate(divide="ignore"):  # removed objects do not matter
        return 1.0 / np.maximum(here.diagonal + shift + extra, 0.0)


def named(w: Floats) -> str:
    """Under which name the values of a w are remembered."""
    return f"s {hashlib.blake2b(w.tobytes(), digest_size=12).hexdigest()}"


def _values(block: Block, here: FormulaRows, w: Floats, remember: bool, out: Floats | None = None) -> Floats:
    """s of every object, -inf for removed objects."""

    def make() -> Floats:
        form = here.form(w, factor=here.formula.root)
        return here.rows.products(w, form, block.alive, out)

    return block.recall(named(w), block.token, make) if remember else make()


@torch_form_in("dominantsets.solvers.tensor_pass")
def look(
    block: Block, spec: ProblemSpec, requests: list[PassRequest], extra: Floats = NOTHING
) -> list[PassReply]:
    """The answers of one block to the requests of all starts."""
    here = local(block, spec.recipe)
    shares = _inv_kappa(here, spec.shift, extra)
    remember = 8 * block.size * len(requests) <= VALUES_BYTES
    # arrays that are done with are used again: the pages of new ones cost more than a product
    spare = block.forget("s ", {named(asked.w) for asked in requests} if remember else set())
    return [_reply(block, here, shares, spec, asked, remember, spare) for asked in requests]


def _reply(
    block: Block,
    here: FormulaRows,
    shares: Floats,
    spec: ProblemSpec,
    asked: PassRequest,
    remember: bool,
    spare: list[Floats],
) -> PassReply:
    new = remember and not block.remembers(named(asked.w))
    s = _values(block, here, asked.w, remember, spare.pop() if spare and new else None)
    largest = float(s.max())
    if not asked.edges.size:
        return PassReply(largest, *_own_tau(block, s, shares, spec.n_alive), NOWHERE, None, None)
    bins = compiled_rows.histogram(s, shares, asked.edges)
    above = band = None
    if asked.low <= asked.high:
        within = np.flatnonzero((s > asked.low) & (s <= asked.high))
        if within.size <= asked.limit:
            above = _support_sums(here, shares, s, asked.w, asked.high)
            band = _boundary(here, shares, s, within)
    return PassReply(largest, -np.inf, np.inf, bins, above, band)


def _own_tau(block: Block, s: Floats, shares: Floats, n_alive: int) -> tuple[float, float]:
    """Bounds of tau by this block alone: where its weights sum to its share of the objects."""
    mine = block.n_alive
    if mine == 0:
        return np.inf, -np.inf
    keep = np.empty(block.size, dtype=np.int64)
    unit = mine / n_alive
    count = passes.sweep(s, shares, -np.inf, 0, s.size, keep, unit)
    tau, _ = passes.narrow(s, shares, keep, count, unit)
    return tau, tau


def _of(values: Floats, members: Ints) -> Floats:
    return values[members] if values.size > 1 else np.full(members.size, values[0])


def _support_sums(here: FormulaRows, shares: Floats, s: Floats, w: Floats, high: float) -> SupportSums:
    members, d, root = np.flatnonzero(s > high), here.rows.d, here.formula.root
    form = here.form(w, factor=root)
    weights, scaled = np.empty(members.size), np.empty(members.size)
    lift, square, lean, reach = passes.weigh(s, high, form, shares, members, weights, scaled)
    center = np.zeros(d) if here.rows.pending is None else here.rows.pending
    image = root * (here.rows.plain_mix(members, scaled) - reach * center)
    own, bias = _of(shares, members), here.bias_of(members)
    tilt = 0.0 if bias is None else float(bias @ own)
    if d <= FEATURES_LIMIT:
        first, second = np.zeros(d), np.zeros((d, d))
        mass = passes.moments(here.rows.plain, members, form, center, w, shares, first, second)
        second = second[np.tril_indices(d)]
    else:
        mass = float(own.sum())
        first, second = root * here.rows.mix(members, own) - mass * w, NOWHERE
    return SupportSums(float(members.size), mass, lift, square, tilt, lean, image, first, second)


def _boundary(here: FormulaRows, shares: Floats, s: Floats, within: Ints) -> Boundary:
    bias = here.bias_of(within)
    rows = here.formula.root * here.rows.take(within)
    return Boundary(s[within], _of(shares, within), np.zeros(within.size) if bias is None else bias, rows)


def _weights(block: Block, here: FormulaRows, shares: Floats, x: PointSpec) -> tuple[Ints, Floats]:
    """Places and weights of a block's members, before they are made to sum to 1."""
    name = f"x {named(x.w)}"
    return block.recall(name, (block.token, x.tau, x.floor), lambda: _weigh(block, here, shares, x))


def _weigh(block: Block, here: FormulaRows, shares: Floats, x: PointSpec) -> tuple[Ints, Floats]:
    s = _values(block, here, x.w, remember=block.remembers(named(x.w)))
    places = np.flatnonzero(s > x.tau)
    weights = (s[places] - x.tau) * _of(shares, places)
    keep = weights > x.floor
    return (places, weights) if keep.all() else (places[keep], weights[keep])


class Members(NamedTuple):
    """Members of a block, their weights, and the mixture of both."""

    members: Ints
    weights: Floats
    mixture: Mixture

    def __add__(self, other: Any) -> Members:
        return Members(
            np.concatenate([self.members, other.members]),
            np.concatenate([self.weights, other.weights]),
            self.mixture + other.mixture,
        )


@torch_form_in("dominantsets.solvers.tensor_pass")
def gather(
    block: Block, spec: ProblemSpec, points: list[PointSpec], extra: Floats = NOTHING
) -> list[Members]:
    """The members of x in this block, and their weights."""
    here = local(block, spec.recipe)
    shares = _inv_kappa(here, spec.shift, extra)
    out = []
    for x in points:
        places, weights = _weights(block, here, shares, x)
        bias = here.bias_of(places)
        bias_sum = 0.0 if bias is None else float(bias @ weights)
        mixture = Mixture(here.rows.mix(places, weights), bias_sum, float(weights.sum()))
        out.append(Members(block.begin + places, weights, mixture))
    return out


@torch_form_in("dominantsets.solvers.tensor_pass")
def extremes(
    block: Block, spec: ProblemSpec, points: list[tuple[PointSpec, Mixture]], extra: Floats = NOTHING
) -> list[tuple[float, float, float, float]]:
    """Smallest and largest payoff inside x, the largest outside, and the block's part of f.

    The payoffs are recomputed from the weights themselves: each point comes with the mixture of its members.
    """
    here = local(block, spec.recipe)
    shares = _inv_kappa(here, spec.shift, extra)
    out = []
    for x, mixture in points:
        places, weights = _weights(block, here, shares, x)
        weights = weights / mixture.total
        mixed = mixture.rows / mixture.total
        added = spec.recipe.formula.offset + mixture.bias_sum / mixture.total
        r = here.rows.products(mixed, here.form(mixed, added=added), block.alive)
        r[places] -= weights * (_of(here.diagonal, places) + spec.shift + _of(extra, places))
        inside = r[places]
        r[places] = -np.inf
        out.append((
            float(inside.min(initial=np.inf)), float(inside.max(initial=-np.inf)), float(r.max()),
            float(inside @ weights),
        ))  # fmt: skip
    block.forget("x ", set())  # it was remembered for this
    return out
