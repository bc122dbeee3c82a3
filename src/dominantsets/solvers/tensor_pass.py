"""A pass of the dual over one block on a device: :mod:`dominantsets.solvers.chunk_pass`, in torch.

All starts share one sweep over the block's rows, which gives s of every object for each of them, in float64.
The rest is sums over those above a level, in parts that fit, and in an order that never changes: a histogram
is a product with zeros and ones, because atomic additions come in any order. What is sent back is small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dominantsets._typing import Floats
from dominantsets.rows.base import Mixture
from dominantsets.rows.tensor_block import DeviceBlock
from dominantsets.rows.tensor_formulas import Exact, local
from dominantsets.solvers.chunk_pass import (
    FEATURES_LIMIT,
    NOTHING,
    NOWHERE,
    VALUES_BYTES,
    Boundary,
    Members,
    PassReply,
    PassRequest,
    PointSpec,
    ProblemSpec,
    SupportSums,
    named,
)


class _Pass:
    """What all starts share: the rows under the formula, and kappa of all objects."""

    def __init__(self, rows: DeviceBlock, spec: ProblemSpec, extra: Floats) -> None:
        self.rows, self.here = rows, local(rows, spec.recipe)
        self.numbers: dict[str, Any] = {"dtype": torch.float64, "device": rows.device}
        self.kappa = self.here.own() + spec.shift + rows.send(extra)
        self.shares = 1.0 / self.kappa.clamp_min(0.0)

    def values(self, W: Sequence[Floats]) -> Iterator[Tensor]:
        """s of every object for each w, -inf for removed objects; remembered where all of them fit."""
        size = max(1, VALUES_BYTES // (8 * self.rows.n))
        for begin in range(0, len(W), size):
            yield from self._values(W[begin : begin + size], remember=len(W) <= size)

    def _values(self, W: Sequence[Floats], remember: bool) -> list[Tensor]:
        """Those of as many w as fit: one sweep for all that are new."""
        rows, names = self.rows, [named(w) for w in W]
        new = [k for k, name in enumerate(names) if not rows.remembers(name)]
        swept = dict(zip(new, self.sweep([W[k] for k in new]), strict=True)) if new else {}

        def make(k: int) -> Tensor:
            return swept[k] if k in swept else self.sweep([W[k]])[0]

        if not remember:
            return [make(k) for k in range(len(W))]
        return [rows.recall(name, rows.token, partial(make, k)) for k, name in enumerate(names)]

    def sweep(self, W: Sequence[Floats]) -> Tensor:
        """u · w + b of every object for each w, -inf for removed objects."""
        here, alive = self.here, self.rows.living()
        sent, out = self.rows.send(np.array(W)), torch.empty((len(W), self.rows.n), **self.numbers)
        for begin, raw in here.features.blocks(here.height(3 * here.d + len(W))):
            u, place = here.lift(raw), slice(begin, begin + len(raw))
            bias = here.bias(u)
            out[:, place] = sent @ u.T if bias is None else torch.addmm(bias, sent, u.T)
        return out if alive is None else out.masked_fill_(~alive, -torch.inf)

    def parts(self, objects: Tensor) -> Iterator[tuple[Tensor, Exact]]:
        """Some objects and their rows, a part at a time."""
        height = self.here.height(4 * self.here.d)
        for begin in range(0, len(objects), height):
            part = objects[begin : begin + height]
            yield part, self.here.chosen(part)


def look(
    rows: DeviceBlock, spec: ProblemSpec, requests: list[PassRequest], extra: Floats = NOTHING
) -> list[PassReply]:
    W = [asked.w for asked in requests]
    rows.forget("s ", {named(w) for w in W} if 8 * rows.n * len(W) <= VALUES_BYTES else set())
    here = _Pass(rows, spec, extra)
    return [_reply(here, spec, asked, s) for asked, s in zip(requests, here.values(W), strict=True)]


def _reply(here: _Pass, spec: ProblemSpec, asked: PassRequest, s: Tensor) -> PassReply:
    largest = float(s.max())
    if not asked.edges.size:
        return PassReply(largest, *_own_tau(here, s, spec.n_alive), NOWHERE, None, None)
    bins = _histogram(here, s, asked.edges)
    above = band = None
    if asked.low <= asked.high:
        within = torch.nonzero((s > asked.low) & (s <= asked.high))[:, 0]
        if len(within) <= asked.limit:
            above = _support_sums(here, s, asked.w, asked.high)
            band = _boundary(here, s, within)
    return PassReply(largest, -np.inf, np.inf, bins, above, band)


def _own_tau(here: _Pass, s: Tensor, n_alive: int) -> tuple[float, float]:
    """Bounds of tau by this block alone: where its weights sum to its share of the objects."""
    mine = here.rows.n_alive
    if mine == 0:
        return np.inf, -np.inf
    there = s > -torch.inf
    s, shares, unit = s[there], here.shares[there], mine / n_alive
    while True:  # the level rises until no object is below it
        tau = ((s * shares).sum() - unit) / shares.sum()
        keep = s > tau
        left = int(keep.sum())
        if left in (0, len(s)):  # in floating point nobody may exceed it
            return float(tau), float(tau)
        s, shares = s[keep], shares[keep]


def _histogram(here: _Pass, s: Tensor, edges: Floats) -> Floats:
    """Sums of 1, 1/kappa and (s - edges[0])/kappa: from edges[k] to edges[k + 1], the last bin open."""
    out = torch.zeros((3, len(edges)), **here.numbers)
    limits, bins = here.rows.send(edges), torch.arange(len(edges), device=s.device)
    objects, height = torch.nonzero(s > edges[0])[:, 0], here.here.height(2 * len(edges))
    for begin in range(0, len(objects), height):
        part = objects[begin : begin + height]
        values, shares = s[part], here.shares[part]
        inside = ((torch.bucketize(values, limits) - 1)[:, None] == bins).double()
        out += torch.stack([torch.ones_like(values), shares, (values - edges[0]) * shares]) @ inside
    return here.rows.host(out)


def _support_sums(here: _Pass, s: Tensor, w: Floats, high: float) -> SupportSums:
    rows, d = here.rows, len(w)
    members, about, second = torch.nonzero(s > high)[:, 0], rows.send(w), d <= FEATURES_LIMIT
    numbers = torch.zeros(5, **here.numbers)
    image, first = torch.zeros_like(about), torch.zeros_like(about)
    moments = torch.zeros((d, d) if second else (0, 0), **here.numbers)
    for part, exact in here.parts(members):
        shares, y = here.shares[part], s[part] - high
        x, off = y * shares, exact.u - about
        numbers += torch.stack([shares.sum(), x.sum(), y @ x, exact.bias @ shares, exact.bias @ x])
        image += x @ exact.u
        first += shares @ off
        if second:
            moments += (off * shares[:, None]).T @ off
    mass, lift, square, tilt, lean = numbers.tolist()
    triangle = rows.host(moments)[np.tril_indices(d)] if second else NOWHERE
    return SupportSums(
        float(len(members)), mass, lift, square, tilt, lean, rows.host(image), rows.host(first), triangle
    )


def _boundary(here: _Pass, s: Tensor, within: Tensor) -> Boundary:
    exact = here.here.chosen(within)
    return Boundary(*map(here.rows.host, (s[within], here.shares[within], exact.bias, exact.u)))


def _members(here: _Pass, points: list[PointSpec]) -> list[tuple[Tensor, Tensor]]:
    """Places and weights of the block's members of each point, before they are made to sum to 1."""
    out = []
    for x, s in zip(points, here.values([x.w for x in points]), strict=True):
        places = torch.nonzero(s > x.tau)[:, 0]
        weights = (s[places] - x.tau) * here.shares[places]
        keep = weights > x.floor
        out.append((places[keep], weights[keep]))
    return out


def gather(
    rows: DeviceBlock, spec: ProblemSpec, points: list[PointSpec], extra: Floats = NOTHING
) -> list[Members]:
    here, out = _Pass(rows, spec, extra), []
    for places, weights in _members(here, points):
        mixed, bias_sum = here.here.mixture(places, weights)
        mixture = Mixture(rows.host(mixed) / here.here.root, float(bias_sum), float(weights.sum()))
        out.append(Members(rows.begin + rows.host(places), rows.host(weights), mixture))
    return out


def extremes(
    rows: DeviceBlock, spec: ProblemSpec, points: list[tuple[PointSpec, Mixture]], extra: Floats = NOTHING
) -> list[tuple[float, float, float, float]]:
    here, root = _Pass(rows, spec, extra), spec.recipe.formula.root
    members = _members(here, [x for x, _ in points])
    rows.forget("s ", set())  # what follows is asked once
    out = []
    means = [root * mixture.rows / mixture.total for _, mixture in points]
    for (_, mixture), (places, weights), r in zip(points, members, here.values(means), strict=True):
        weights = weights / mixture.total
        r = r + (spec.recipe.formula.offset + mixture.bias_sum / mixture.total)
        inside = r[places] - weights * here.kappa[places]
        r[places] = -torch.inf
        low, high = (inside.min(), inside.max()) if len(inside) else (np.inf, -np.inf)
        out.append((float(low), float(high), float(r.max()), float(inside @ weights)))
    rows.forget("s ", set())
    return out
