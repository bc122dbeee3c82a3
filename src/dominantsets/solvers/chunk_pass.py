"""A pass of the dual over one piece: sums above a band, the rows within it, a histogram.

These functions run where the piece is. What they remember (values of s, members) can be worked out again from
the d + 1 numbers that each question brings along. See :mod:`dominantsets.solvers.chunk_dual`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dominantsets._typing import Floats, Ints
from dominantsets.rows.base import Piece
from dominantsets.similarity.low_rank import LowRank
from dominantsets.similarity.sharded import Recipe, local

FEATURES_LIMIT = 512  # features up to which Newton's matrix is sent; beyond, safe steps are extrapolated
VALUES_BYTES = 2**28  # values of s that a piece remembers from one round to the next
NOWHERE = np.empty(0)


class Look(NamedTuple):
    """What is asked of a pass: sums above ``high``, rows from ``low`` to there, a histogram.

    No edges: only where tau may lie. ``low`` is NaN where no rows are wanted; a piece that has more of them
    than ``limit`` sends none.
    """

    w: Floats
    edges: Floats
    low: float = np.nan
    high: float = np.nan
    limit: float = np.inf


class Band(NamedTuple):
    """Objects of a band: s, 1 / kappa, bias, rows of U."""

    s: Floats
    shares: Floats
    bias: Floats
    rows: Floats

    @classmethod
    def joined(cls, parts: Sequence[Band]) -> Band:
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class Above(NamedTuple):
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

    def __add__(self, other: Any) -> Above:
        return Above(*(a + b for a, b in zip(self, other, strict=True)))


class Sight(NamedTuple):
    """A piece's answer to a look."""

    largest: float
    lower: float
    upper: float
    bins: Floats
    above: Above | None
    band: Band | None


class Facts(NamedTuple):
    """What pieces must know of the problem."""

    recipe: Recipe
    shift: float
    n_alive: int


class Described(NamedTuple):
    """A point of the simplex in a few numbers: weights max(0, s - tau) / kappa, those above a floor."""

    w: Floats
    tau: float
    floor: float


def _shares(here: LowRank, shift: float) -> Floats:
    """1 / kappa; one number where all objects have the same."""
    with np.errstate(divide="ignore"):  # objects that are gone do not matter
        return 1.0 / np.maximum(here.diagonal + shift, 0.0)


def _root(here: LowRank) -> float:
    return float(np.sqrt(here.factor))


def _named(w: Floats) -> str:
    """Under which name the values of a w are remembered."""
    return f"s {hashlib.blake2b(w.tobytes(), digest_size=12).hexdigest()}"


def _values(piece: Piece, here: LowRank, w: Floats, remember: bool, out: Floats | None = None) -> Floats:
    """s of every object, -inf for those that are gone."""

    def make() -> Floats:
        form = here.form(w, factor=_root(here))
        return here.rows.products(w, form, piece.alive, out)

    return piece.recall(_named(w), piece.token, make) if remember else make()


def look(piece: Piece, facts: Facts, looks: list[Look]) -> list[Sight]:
    """The answers of one piece to the looks of all starts."""
    here = local(piece, facts.recipe)
    shares = _shares(here, facts.shift)
    remember = 8 * piece.size * len(looks) <= VALUES_BYTES
    # arrays that are done with are used again: the pages of new ones cost more than a product
    spare = piece.forget("s ", {_named(asked.w) for asked in looks} if remember else set())
    return [_sight(piece, here, shares, facts, asked, remember, spare) for asked in looks]


def _sight(
    piece: Piece,
    here: LowRank,
    shares: Floats,
    facts: Facts,
    asked: Look,
    remember: bool,
    spare: list[Floats],
) -> Sight:
    new = remember and not piece.remembers(_named(asked.w))
    s = _values(piece, here, asked.w, remember, spare.pop() if spare and new else None)
    largest = float(s.max())
    if not asked.edges.size:
        return Sight(largest, *_own_tau(piece, s, shares, facts.n_alive), NOWHERE, None, None)
    bins = _rows.histogram(s, shares, asked.edges)
    above = band = None
    if asked.low <= asked.high:
        within = np.flatnonzero((s > asked.low) & (s <= asked.high))
        if within.size <= asked.limit:
            above = _above(here, shares, s, asked.w, asked.high)
            band = _band(here, shares, s, within)
    return Sight(largest, -np.inf, np.inf, bins, above, band)


def _own_tau(piece: Piece, s: Floats, shares: Floats, n_alive: int) -> tuple[float, float]:
    """Bounds of tau by this piece alone: where its weights sum to its share of the objects."""
    mine = piece.n_alive
    if mine == 0:
        return np.inf, -np.inf
    keep = np.empty(piece.size, dtype=np.int64)
    unit = mine / n_alive
    count = _rows.sweep(s, shares, -np.inf, 0, s.size, keep, unit)
    tau, _ = _rows.narrow(s, shares, keep, count, unit)
    return tau, tau


def _of(values: Floats, members: Ints) -> Floats:
    return values[members] if values.size > 1 else np.full(members.size, values[0])


def _above(here: LowRank, shares: Floats, s: Floats, w: Floats, high: float) -> Above:
    members, d, root = np.flatnonzero(s > high), here.rows.d, _root(here)
    form = here.form(w, factor=root)
    weights, scaled = np.empty(members.size), np.empty(members.size)
    lift, square, lean, reach = _rows.weigh(s, high, form, shares, members, weights, scaled)
    center = np.zeros(d) if here.rows.pending is None else here.rows.pending
    image = root * (here.rows.plain_mix(members, scaled) - reach * center)
    own, bias = _of(shares, members), here.bias_of(members)
    tilt = 0.0 if bias is None else float(bias @ own)
    if d <= FEATURES_LIMIT:
        first, second = np.zeros(d), np.zeros((d, d))
        mass = _rows.moments(here.rows.plain, members, form, center, w, shares, first, second)
        second = second[np.tril_indices(d)]
    else:
        mass = float(own.sum())
        first, second = root * here.rows.mix(members, own) - mass * w, NOWHERE
    return Above(float(members.size), mass, lift, square, tilt, lean, image, first, second)


def _band(here: LowRank, shares: Floats, s: Floats, within: Ints) -> Band:
    bias = here.bias_of(within)
    rows = _root(here) * here.rows.take(within)
    return Band(s[within], _of(shares, within), np.zeros(within.size) if bias is None else bias, rows)


def _weights(piece: Piece, here: LowRank, shares: Floats, x: Described) -> tuple[Ints, Floats]:
    """Places and weights of a piece's members, before they are made to sum to 1."""
    name = f"x {_named(x.w)}"
    return piece.recall(name, (piece.token, x.tau, x.floor), lambda: _weigh(piece, here, shares, x))


def _weigh(piece: Piece, here: LowRank, shares: Floats, x: Described) -> tuple[Ints, Floats]:
    s = _values(piece, here, x.w, remember=piece.remembers(_named(x.w)))
    places = np.flatnonzero(s > x.tau)
    weights = (s[places] - x.tau) * _of(shares, places)
    keep = weights > x.floor
    return (places, weights) if keep.all() else (places[keep], weights[keep])


class Gathered(NamedTuple):
    """Members of a piece, their weights, and the weighted sums of their rows (of X, not U) and biases."""

    members: Ints
    weights: Floats
    mixed: Floats
    lean: float


def gather(piece: Piece, facts: Facts, points: list[Described]) -> list[Gathered]:
    """Who is in x, with what weight."""
    here = local(piece, facts.recipe)
    shares = _shares(here, facts.shift)
    out = []
    for x in points:
        places, weights = _weights(piece, here, shares, x)
        bias = here.bias_of(places)
        lean = 0.0 if bias is None else float(bias @ weights)
        out.append(Gathered(piece.begin + places, weights, here.rows.mix(places, weights), lean))
    return out


def extremes(
    piece: Piece, facts: Facts, points: list[tuple[Described, float, Floats, float]]
) -> list[tuple[float, float, float, float]]:
    """Smallest and largest payoff inside x, the largest outside, and the piece's part of f.

    The payoffs are recomputed from the weights themselves: each point comes with the sum of its members'
    weights, and their weighted sums of rows and biases.
    """
    here = local(piece, facts.recipe)
    shares = _shares(here, facts.shift)
    out = []
    for x, total, mixed, lean in points:
        places, weights = _weights(piece, here, shares, x)
        weights = weights / total
        form = here.form(mixed, added=facts.recipe.offset + lean)
        r = here.rows.products(mixed, form, piece.alive)
        r[places] -= weights * (_of(here.diagonal, places) + facts.shift)
        inside = r[places]
        r[places] = -np.inf
        out.append((
            float(inside.min(initial=np.inf)), float(inside.max(initial=-np.inf)), float(r.max()),
            float(inside @ weights),
        ))  # fmt: skip
    piece.forget("x ", set())  # it was remembered for this
    return out
