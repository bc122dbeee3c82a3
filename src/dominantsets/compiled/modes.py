"""The compiled part of the tree of modes: balls that are followed as kappa grows.

A ball has a centre c and the squared radius that solves sum max(0, r2 - t_i) = kappa, where t_i is the
squared distance of object i from c; its weights are u_i = max(0, r2 - t_i) / kappa, and at a mode c is the
mean of the objects under them. ``extra`` holds, for each object, the square of what its coordinates leave
out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dominantsets.compiled.jit import reassociated

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POWER = 10  # steps towards the direction of the largest scatter
CHAINS, DEATHS = 0, 1  # places in State.counters
REACH = 6.0  # squared radii within which objects may come into a ball at the next level
STRIDE, LEAP = 4, 10.0  # steps between two leaps, and the longest one in steps
STRETCH = 16  # coordinates after which a distance is looked at
PASSES = 100  # over the distances, to find a radius: a bound that is never reached


class State(NamedTuple):
    """The objects, and every chain of modes so far; a chain is one mode followed over the levels."""

    X: Floats
    extra: Floats
    birth: Floats  # kappa at which a ball about an object holds as many objects as a group must have
    order: Ints  # objects by rising birth
    near: Ints  # the nearest objects of each, itself first
    holder: Ints  # the chain that has each object, through those that died into it; -1 for none
    first: Ints  # the chain that held it first
    joined: Ints  # the level at which
    centre: Floats
    radius: Floats  # squared
    size: Ints  # objects held
    alive: NDArray[np.bool_]
    born: Ints
    died: Ints
    into: Ints  # the chain that a dead one was absorbed by
    sequence: Ints  # which death it was: several may fall on one level
    counters: Ints
    own: Ints  # chain x level: objects of the ball that the chain holds
    mass: Ints  # objects of the ball
    share: Floats  # weight on its own objects
    sharpness: Floats
    radii: Floats


class Lists(NamedTuple):
    """For each of many balls, the objects that can be in it; those with ``begin`` below 0 have all."""

    begin: Ints
    end: Ints
    objects: Ints
    everybody: Ints


class Leanings(NamedTuple):
    """On whose objects the weight of balls lies: for each of some balls a list, one after the other."""

    end: Ints  # of each ball's list
    holder: Ints
    weight: Floats
    objects: Ints  # how many
    total: Floats  # the weight of each ball, nobody's objects too


@reassociated
def count_within(products: Floats, lengths: Floats, cut: Floats, counts: Ints) -> None:
    """How many objects of each row have lengths - 2 products below its cut."""
    for k in range(products.shape[0]):
        count = 0
        for i in range(lengths.size):
            count += lengths[i] - 2.0 * products[k, i] < cut[k]
        counts[k] = count


@reassociated
def list_within(products: Floats, lengths: Floats, cut: Floats, begin: Ints, objects: Ints) -> None:
    """These objects, each row from its place on; rows with a place below 0 are left out."""
    for k in range(products.shape[0]):
        at = begin[k]
        if at < 0:
            continue
        for i in range(lengths.size):
            if lengths[i] - 2.0 * products[k, i] < cut[k]:
                objects[at] = i
                at += 1


@reassociated
def near(lists: Lists, a: int) -> Ints:
    """The objects that can be in ball a, in their order."""
    if lists.begin[a] < 0:
        return lists.everybody
    return lists.objects[lists.begin[a] : lists.end[a]]


@reassociated
def ball_among(X: Floats, extra: Floats, some: Ints, c: Floats, kappa: float, r2: float, t: Floats) -> float:
    """The same as :func:`ball`, of some of the objects."""
    for k in range(some.size):
        row, s = X[some[k]], extra[some[k]]
        for j in range(X.shape[1]):
            e = row[j] - c[j]
            s += e * e
        t[k] = s
    return radius(t[: some.size], kappa, r2)


@reassociated
def ball(X: Floats, extra: Floats, c: Floats, kappa: float, r2: float, t: Floats) -> float:
    """Fill t with the squared distances from c; the squared radius, sought from r2 on."""
    m, d = X.shape
    for i in range(m):
        row, s = X[i], extra[i]
        for j in range(d):
            e = row[j] - c[j]
            s += e * e
        t[i] = s
    return radius(t, kappa, r2)


@reassociated
def radius(t: Floats, kappa: float, r2: float) -> float:
    """The squared radius at which sum max(0, r2 - t) is kappa, sought from r2 on."""
    m = t.size
    if r2 <= 0.0:
        r2 = np.inf
    last = -1
    for _ in range(PASSES):
        count, total = 0, 0.0
        for i in range(m):
            if t[i] < r2:
                count += 1
                total += t[i]
        if count == 0:
            r2 = t.min() + kappa
            continue
        if count == last:
            break
        last = count
        r2 = (kappa + total) / count
    return r2


@reassociated
def follow(
    X: Floats, extra: Floats, c: Floats, kappa: float, r2: float, t: Floats, steps: int, tolerance: float
) -> float:
    """Move c to a mode, in place; t and the squared radius are those of where it ends."""
    m, d = X.shape
    new, before = np.empty(d), np.zeros(d)
    for step in range(steps):
        r2 = ball(X, extra, c, kappa, r2, t)
        new[:] = 0.0
        for i in range(m):
            if t[i] < r2:
                u, row = (r2 - t[i]) / kappa, X[i]
                for j in range(d):
                    new[j] += u * row[j]
        moved, along, last = 0.0, 0.0, 0.0
        for j in range(d):
            e = new[j] - c[j]
            moved += e * e
            along += e * before[j]
            last += before[j] * before[j]
            before[j] = e
            c[j] = new[j]
        if moved < tolerance * r2:
            break
        # where density is nearly flat the steps shrink slowly, by a constant ratio: their sum is known
        if step % STRIDE == STRIDE - 1 and last > 0.0:
            ratio = along / last
            if 0.0 < ratio < 1.0:
                for j in range(d):
                    c[j] += min(ratio / (1.0 - ratio), LEAP) * before[j]
    return ball(X, extra, c, kappa, r2, t)


@reassociated
def sharpness(X: Floats, members: Ints, c: Floats, kappa: float, farthest: int) -> float:
    """1 minus the largest scatter of a ball's members on one side of its centre, in units of flat density.

    Along a direction v of length 1 it is 4 / kappa times the sum of (v y)² over members y with v y > 0. In a
    region of constant density it is 1 for every v; beside an edge of the data it is still 1 on the inner
    side.
    """
    d = X.shape[1]
    v, w = X[farthest] - c, np.empty(d)
    length = np.sqrt((v * v).sum())
    if length <= 0.0:
        return 1.0
    v /= length
    top = 0.0
    for side in range(2):
        if side == 1:
            v = -v
        scatter = 0.0
        for _ in range(POWER):
            w[:] = 0.0
            for i in members:
                row, s = X[i], 0.0
                for j in range(d):
                    s += (row[j] - c[j]) * v[j]
                if s > 0.0:
                    for j in range(d):
                        w[j] += s * (row[j] - c[j])
            scatter = np.sqrt((w * w).sum())
            if scatter <= 0.0:
                break
            for j in range(d):
                v[j] = w[j] / scatter
        top = max(top, scatter)
    return 1.0 - 4.0 * top / kappa


@reassociated
def follow_some(
    X: Floats, extra: Floats, centres: Floats, radii: Floats, chosen: Ints, lists: Lists, kappa: Floats,
    steps: int, tolerance: float,
) -> None:  # fmt: skip
    """Follow some balls to their kappa, in place, among the objects within reach of where they are.

    Where a ball has moved so far that others could be in it, it is followed again among all.
    """
    m = X.shape[0]
    t, few, left = np.empty(m), np.empty_like(X), np.empty(m)
    for a in chosen:
        c, reach = centres[a], REACH * radii[a]
        before, count = c.copy(), 0
        for i in near(lists, a):
            row, s = X[i], extra[i]
            for j in range(X.shape[1]):
                e = row[j] - c[j]
                s += e * e
            if s < reach:
                few[count], left[count] = row, extra[i]
                count += 1
        r2, moved = np.inf, 0.0
        if count:
            r2 = follow(few[:count], left[:count], c, kappa[a], radii[a], t[:count], steps, tolerance)
            for j in range(c.size):
                moved += (c[j] - before[j]) ** 2
        if np.sqrt(moved) + np.sqrt(r2) > np.sqrt(reach):
            r2 = follow(X, extra, c, kappa[a], radii[a], t, steps, tolerance)
        radii[a] = r2


@reassociated
def join(state: State, chains: Ints, lists: Lists, kappa: float, level: int) -> None:
    """Objects in no ball join the ball with the largest weight on them."""
    m = state.X.shape[0]
    t, best, to = np.empty(m), np.zeros(m), np.full(m, -1)
    for a in chains:
        some = near(lists, a)
        r2 = ball_among(state.X, state.extra, some, state.centre[a], kappa, state.radius[a], t)
        for k in range(some.size):
            i = some[k]
            if state.holder[i] < 0 and r2 - t[k] > best[i]:
                best[i], to[i] = r2 - t[k], a
    for i in range(m):
        if to[i] >= 0:
            hold(state, i, to[i], level)


@reassociated
def hold(state: State, i: int, a: int, level: int) -> None:
    """Object i belongs to chain a from this level on."""
    state.holder[i], state.first[i], state.joined[i] = a, a, level
    state.size[a] += 1


@reassociated
def start(state: State, kappa: float, level: int, least: int, steps: int, tolerance: float) -> None:
    """Objects about which a ball is now large enough, and that are in no ball, start chains: densest first.

    Only those that lie denser than all of the nearest ones do; others go where a denser neighbour is. A new
    ball is small, so it is followed among the nearest objects only, unless it comes to hold them all.
    """
    X, near = state.X, state.near
    m, count = X.shape[0], near.shape[1]
    t, few, extra = np.empty(m), np.empty((count, X.shape[1])), np.empty(count)
    for i in state.order:
        if state.birth[i] > kappa:
            break
        if state.holder[i] >= 0:
            continue
        denser = -1
        for k in range(1, least):  # the nearest first; all that are denser are held by now
            j = near[i, k]
            if denser < 0 and state.holder[j] >= 0 and state.birth[j] < state.birth[i]:
                denser = j
        if denser >= 0:
            hold(state, i, state.holder[denser], level)
            continue
        a = state.counters[CHAINS]
        state.counters[CHAINS] += 1
        state.centre[a] = X[i]
        state.alive[a], state.born[a] = True, level
        for k in range(count):
            few[k], extra[k] = X[near[i, k]], state.extra[near[i, k]]
        some = t[:count]
        r2 = follow(few, extra, state.centre[a], kappa, 0.0, some, steps, tolerance)
        if some.max() < r2:
            state.centre[a] = X[i]
            r2 = follow(X, state.extra, state.centre[a], kappa, 0.0, t, steps, tolerance)
            for j in range(m):
                if state.holder[j] < 0 and t[j] < r2:
                    hold(state, j, a, level)
        else:
            for k in range(count):
                if state.holder[near[i, k]] < 0 and some[k] < r2:
                    hold(state, near[i, k], a, level)
        state.radius[a] = r2
        if state.holder[i] < 0:
            hold(state, i, a, level)


@reassociated
def lean(state: State, chains: Ints, lists: Lists, kappa: float, level: int) -> Leanings:
    """What some balls hold and on whose objects their weight lies; balls do not need each other for that."""
    X, m, known = state.X, state.X.shape[0], state.counters[CHAINS]
    t, on, held = np.empty(m), np.zeros(known), np.zeros(known, np.int64)
    end, places = np.zeros(chains.size, np.int64), 0
    holder, weight = np.empty(chains.size + known, np.int64), np.empty(chains.size + known)
    objects, total = np.empty(chains.size + known, np.int64), np.zeros(chains.size)
    for k in range(chains.size):
        a, first = chains[k], places
        if first + known > holder.size:  # there is room for whatever the next one leans on
            more = holder.size + known
            holder = np.concatenate((holder, np.empty(more, np.int64)))
            objects = np.concatenate((objects, np.empty(more, np.int64)))
            weight = np.concatenate((weight, np.empty(more)))
        some = near(lists, a)
        r2 = ball_among(X, state.extra, some, state.centre[a], kappa, state.radius[a], t)
        count = 0
        for i in range(some.size):
            if t[i] < r2:
                count += 1
                total[k] += r2 - t[i]
                h = state.holder[some[i]]
                if h >= 0:
                    if on[h] == 0.0:
                        holder[places] = h
                        places += 1
                    on[h] += r2 - t[i]
                    held[h] += 1
        for i in range(first, places):
            weight[i], objects[i] = on[holder[i]], held[holder[i]]
            on[holder[i]], held[holder[i]] = 0.0, 0
        end[k] = places
        state.mass[a, level], state.radii[a, level] = count, r2
    return Leanings(end, holder[:places], weight[:places], objects[:places], total)


@reassociated
def settle(
    state: State, chains: Ints, leanings: Leanings, kappa: float, level: int, least: int, meet: float
) -> None:
    """Note what each ball holds; one that leans on another's objects, or has met it, dies into it.

    ``chains`` come by rising size, so that the smaller dies into the larger. Objects of one that has just
    died are those of the one it died into.
    """
    X, known, alive, size, into = state.X, state.counters[CHAINS], state.alive, state.size, state.into
    on, order, leant = np.zeros(known), np.empty(known, np.int64), np.empty(known, np.int64)
    for k in range(chains.size):
        order[chains[k]] = k
    for k in range(chains.size):
        a, own, n_leant = chains[k], 0, 0
        for i in range(leanings.end[k - 1] if k else 0, leanings.end[k]):
            b = survivor(alive, into, leanings.holder[i])
            if on[b] == 0.0:
                leant[n_leant] = b
                n_leant += 1
            on[b] += leanings.weight[i]
            if b == a:
                own += leanings.objects[i]
        total = max(leanings.total[k], 1e-300)
        mine, count, r2 = on[a] / total, state.mass[a, level], state.radii[a, level]
        state.own[a, level], state.share[a, level] = own, mine
        # how sharp it is, of those that can be groups, is asked afterwards: that can be done side by side
        state.sharpness[a, level] = np.inf if own >= least and mine >= 0.5 else -np.inf
        # the curvature of the ball's top, as a variance: centres much nearer than it are one mode
        h2 = kappa / (max(1, count) * r2)
        reach = meet * r2 * h2 / (2.0 * (1.0 + h2))
        to, top = -1, mine
        for i in range(n_leant):  # of equals, the first of the chains
            b = leant[i]
            share = on[b] / total
            on[b] = 0.0
            better = share > top or (share == top and to >= 0 and order[b] < order[to])
            if better and outranks(alive, size, b, a):
                top, to = share, b
        if to < 0:
            for b in chains:
                if (to < 0 or size[b] > size[to]) and outranks(alive, size, b, a):
                    gap, one, other = 0.0, state.centre[a], state.centre[b]
                    for first in range(0, X.shape[1], STRETCH):  # most are far in the first coordinates
                        for j in range(first, min(first + STRETCH, X.shape[1])):
                            gap += (one[j] - other[j]) ** 2
                        if gap >= reach:
                            break
                    if gap < reach:
                        to = b
        if to >= 0:
            alive[a], state.died[a], into[a] = False, level, to
            state.sequence[a] = state.counters[DEATHS]
            state.counters[DEATHS] += 1
            size[to] += size[a]
    for i in range(X.shape[0]):
        if state.holder[i] >= 0:
            state.holder[i] = survivor(alive, into, state.holder[i])


@reassociated
def survivor(alive: NDArray[np.bool_], into: Ints, a: int) -> int:
    """The chain that is alive, of those that a chain has died into."""
    while not alive[a]:
        a = into[a]
    return a


@reassociated
def sharpen(state: State, chains: Ints, lists: Lists, kappa: float, level: int) -> None:
    """How sharply those of some balls stand out that can be groups."""
    X, t = state.X, np.empty(state.X.shape[0])
    members = np.empty(state.X.shape[0], np.int64)
    for a in chains:
        if state.sharpness[a, level] < np.inf:
            continue
        some, c, count, far = near(lists, a), state.centre[a], 0, 0
        r2 = ball_among(X, state.extra, some, c, kappa, state.radius[a], t)
        for k in range(some.size):
            if t[k] < r2:
                if count == 0 or t[k] > t[far]:
                    far = k
                members[count] = some[k]
                count += 1
        state.sharpness[a, level] = sharpness(X, members[:count], c, kappa, some[far])


@reassociated
def outranks(alive: NDArray[np.bool_], size: Ints, b: int, a: int) -> bool:
    """Whether chain b is alive and larger than a; of equals, the older.

    It takes the two arrays: to count the references to all those of a state takes longer than the question.
    """
    if b == a or not alive[b]:
        return False
    return size[b] > size[a] or (size[b] == size[a] and b < a)
