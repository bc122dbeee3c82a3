r"""Linear, cosine and squared Euclidean similarity of features on a device.

In the form of the dual (docs/theory-dual.md), :math:`a_{ij} = u_i \cdot u_j + b_i + b_j + m` off the
diagonal. Rows stay as they are stored. What is exact is made of a few of them in float64; what looks at all
of them for many starts makes products in float32 (TF32 where the device has it), and knows how wrong they may
be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dominantsets._checks import check_real
from dominantsets._typing import Floats, Ints
from dominantsets.rows.tensors import Features, allowed, host, load, roomy
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.low_rank import EXACT_LIMIT, LowRank, cosine, linear, sqeuclidean
from dominantsets.solvers.tiles import Sums, Tiles

BLOCK_NUMBERS = {"cuda": 2**28, "cpu": 2**21}  # float64 numbers of one temporary
FAR = 4.0  # lengths of the mean, in lengths of the longest centred row, beyond which rows are centred first
LARGEST = 1e140
Mixtures = tuple[Tensor, Tensor]  # the sums of weights times u (starts × features), and of weights times b


class Exact(NamedTuple):
    """Rows u in float64, their b, and what the formula has on the diagonal."""

    u: Tensor
    bias: Tensor
    own: Tensor


class TensorLowRank(Similarity):
    """See the module; ``kind`` is "sqeuclidean", "cosine" or "linear".

    Examples
    --------
    >>> import torch
    >>> from dominantsets import as_similarity
    >>> S = as_similarity(torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]), affinity="cosine")
    >>> S.column(0)
    array([0., 1., 2.])
    """

    on_device = True
    offset: float

    def __init__(self, features: Features, kind: str, offset: str | float | None = None) -> None:
        self.features, self.kind = features, kind
        self.n, self.n_features = features.n, features.d
        self.device = features.device
        self.root = float(np.sqrt(2.0)) if kind == "sqeuclidean" else 1.0
        self.work = torch.float64 if features.dtype == torch.float64 else torch.float32
        self.center = self._mean()
        self._turned = -self.root * self.center
        # what `products` subtracts
        self.subtracted = self.center if kind == "sqeuclidean" else torch.zeros_like(self.center)
        norms, plain = self._norms()
        square = float(norms.max())
        self._check_numbers(square)
        self.static: Tensor | None = None  # b of all objects, rounded
        self.scale: Tensor | None = None  # one over each row's length, rounded
        if kind == "cosine":
            self.scale = torch.where(norms > 0, norms.rsqrt(), 0.0).to(self.work)
            self.longest, self.offset = 1.0, 1.0
            self.self_similarity = 1.0 + float((norms > 0).double().mean())
            self.least_own = 2.0 if float(norms.min()) > 0 else 1.0
        elif kind == "sqeuclidean":
            self.static = -norms.to(self.work)
            self.longest = float(np.sqrt(square))
            self.offset = self._distance_offset(offset, square)
            self.self_similarity = self.least_own = self.offset
        else:
            self.longest = float(np.sqrt(square))
            self.offset = self._linear_offset(offset, square)
            self.self_similarity = float(norms.mean()) + self.offset
            self.least_own = float(norms.min()) + self.offset
        # the centre is a correction of the products, unless it would leave them only rounding
        self.centred_first = kind == "sqeuclidean" and plain > FAR * self.longest
        self._stored_length = plain if kind == "sqeuclidean" and not self.centred_first else self.longest

    # what a sweep over all objects asks -----------------------------------------------------------------

    def height(self, columns: int) -> int:
        """Rows of a block with so many float64 numbers each."""
        return max(1, allowed(BLOCK_NUMBERS, self.device) // max(1, columns))

    def rough(self, begin: int, block: Tensor) -> Tensor:
        """Stored rows as a sweep multiplies them."""
        if self.scale is not None:
            return block * self.scale[begin : begin + len(block), None]
        block = block.to(self.work)
        return block - self.center.to(self.work) if self.centred_first else block

    def rough_weights(self, W: Tensor) -> tuple[Tensor, Tensor]:
        """What rough rows are multiplied with, and what is to be subtracted then."""
        scaled = self.root * W
        constant = torch.zeros(len(W), dtype=torch.float64, device=W.device)
        if self.kind == "sqeuclidean" and not self.centred_first:
            constant = scaled @ self.center
        return scaled.to(self.work), constant

    def rounding_of(self, W: Tensor) -> Tensor:
        """How far a rough value u·w + b may be off, for each row of W."""
        d = self.n_features
        relative = d * 2.0**-50 if self.work == torch.float64 else 2.0**-9 + d * 2.0**-22
        bias = self.longest**2 if self.static is not None else 0.0
        ulp = 2.0**-50 if self.work == torch.float64 else 2.0**-21
        sizes: Tensor = W.norm(dim=1) * ((relative + ulp) * self.root * self._stored_length)
        return sizes + ulp * bias

    # what is exact --------------------------------------------------------------------------------------

    def lift(self, raw: Tensor) -> Tensor:
        """u of stored rows, in float64."""
        if self.kind == "sqeuclidean":
            return torch.add(self._turned, raw, alpha=self.root)  # one sweep over the rows: root (x - mean)
        rows = raw.double()
        if self.kind == "cosine":
            rows = rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True).clamp_min_(1.0 / LARGEST)
        return rows

    def bias(self, u: Tensor) -> Tensor | None:
        """b of rows u, where it is not 0."""
        if self.kind != "sqeuclidean":
            return None
        out: Tensor = torch.linalg.vector_norm(u, dim=-1).square_().mul_(-0.5)
        return out

    def exact(self, raw: Tensor) -> Exact:
        """Of stored rows, in float64."""
        u = self.lift(raw)
        bias, own = self.bias(u), self.own_of_rows(u)
        return Exact(u, torch.zeros_like(own) if bias is None else bias, own)

    def products(self, objects: Tensor, owner: Tensor, W: Tensor) -> tuple[Tensor, Tensor]:
        """(x - center)·w and |x - center|² in float64 (the centre is 0 but for sqeuclidean), for tiles."""
        raw = self.features.take(objects.view(-1))
        rows = (raw.double() if self.kind != "sqeuclidean" else raw - self.center).view(*objects.shape, -1)
        return torch.bmm(rows, W[owner, :, None])[..., 0], torch.linalg.vector_norm(rows, dim=2).square_()

    def from_products(
        self, products: Tensor, squares: Tensor
    ) -> tuple[Tensor, Tensor | None, Tensor | float]:
        """u·w of what ``products`` gives; b, where it is not 0; and what is on the diagonal."""
        if self.kind == "sqeuclidean":
            return products * self.root, -squares, self.offset
        if self.kind == "cosine":
            there = squares > 0
            return torch.where(there, products * squares.rsqrt(), 0.0), None, there.double() + 1.0
        return products, None, squares + self.offset

    def rows(self, objects: Tensor) -> Tensor:
        """u of these objects, in float64."""
        return self.lift(self.features.take(objects))

    def chosen(self, objects: Tensor) -> Exact:
        """Of these objects."""
        return self.exact(self.features.take(objects))

    def mixture(self, objects: Tensor, weights: Tensor) -> tuple[Tensor, float]:
        """The sums of weights times u, and of weights times b."""
        mixed = torch.zeros(self.n_features, dtype=torch.float64, device=self.device)
        lean = torch.zeros((), dtype=torch.float64, device=self.device)
        height = self.height(3 * self.n_features)
        for begin in range(0, len(objects), height):
            part = slice(begin, begin + height)
            u = self.rows(objects[part])
            bias = self.bias(u)
            mixed += weights[part] @ u
            if bias is not None:
                lean += weights[part] @ bias
        return mixed, float(lean)

    # payoffs of many points ------------------------------------------------------------------------------

    def mixtures(self, tiles: Tiles, weights: Tensor) -> Mixtures:
        """The sums of weights times u, and of weights times b, of every start."""
        d = self.n_features
        mixed, lean = Sums(tiles.s), Sums(tiles.s)
        for part, starts, add in tiles.parts(self.height(3 * d * tiles.width)):
            chosen, shares = tiles.objects[part], weights[part]
            u = self.rows(chosen.view(-1)).view(*chosen.shape, d)
            mixed.add(starts, add(torch.bmm(shares[:, None, :], u)[:, 0]))
            bias = self.bias(u)
            if bias is not None:
                lean.add(starts, add((shares * bias).sum(1, keepdim=True)))
        if self.kind == "sqeuclidean":
            return mixed.all, lean.all[:, 0]
        return mixed.all, torch.zeros(tiles.s, dtype=torch.float64, device=self.device)

    def inside(
        self, tiles: Tiles, weights: Tensor, shift: float, lean: Tensor, products: tuple[Tensor, Tensor]
    ) -> Tensor:
        """r of the members, as the tiles are, from what ``products`` gives for the mixtures."""
        values, bias, own = self.from_products(*products)
        out = values - (own + shift) * weights
        if bias is not None:
            out += bias
        return out.add_((lean + self.offset)[tiles.owner, None])

    def balls(self, mixtures: Mixtures, f: Tensor) -> list[tuple[Floats, float]] | None:
        """As ``ball``, of every start."""
        if self.kind != "sqeuclidean":
            return None
        mean = mixtures[0] / self.root
        squares = self.offset + mixtures[1] + torch.linalg.vecdot(mean, mean) - f
        table = host(torch.cat([mean + self.center, squares.clamp_min(0.0).sqrt()[:, None]], 1))
        return [(row[:-1].copy(), float(row[-1])) for row in table]

    def all_values(
        self, tiles: Tiles, weights: Tensor, alive: Tensor, height: int, mixtures: Mixtures
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """r of all objects as if none had a weight, the dead at -inf, in blocks.

        Each is the number of its first object, starts × rows, and what is to be added for each start.
        """
        mixed, lean = mixtures
        constant = lean + self.offset
        for begin, raw in self.features.blocks(height):
            u = self.lift(raw)
            bias, there = self.bias(u), alive[begin : begin + len(raw)]
            below = torch.where(there, 0.0 if bias is None else bias, -torch.inf)
            yield begin, (mixed @ u.T).add_(below), constant

    # the questions of a similarity ----------------------------------------------------------------------

    def _tensor(self, x: Any) -> Tensor:
        return torch.as_tensor(np.asarray(x), device=self.device)

    def largest(self) -> float:
        if self.kind == "sqeuclidean":
            return self.offset
        return self.longest**2 + self.offset

    def self_similarities(self, objects: Ints) -> Floats:
        return np.asarray(host(self.chosen_own(self._tensor(objects))))

    def self_similarities_of_new(self, new: Any) -> Floats:
        return np.asarray(host(self.exact(self._arrivals(new)).own))

    def own_of_rows(self, u: Tensor) -> Tensor:
        """What the formula has on the diagonal, for rows u."""
        if self.kind == "sqeuclidean":
            return torch.full((len(u),), self.offset, dtype=torch.float64, device=self.device)
        norms: Tensor = torch.linalg.vector_norm(u, dim=1).square_()
        return (norms > 0).double() + 1.0 if self.kind == "cosine" else norms + self.offset

    def scatter(self, objects: Ints, scale: Floats) -> Floats:
        """As of features on a CPU."""
        rows, shares = self.rows(self._tensor(objects)), self._tensor(scale)
        rows = (rows - (shares @ rows) / shares.sum()) * shares.sqrt()[:, None]
        return np.asarray(host(rows.T @ rows if len(rows) >= rows.shape[1] else rows @ rows.T))

    def brought(self, objects: Ints) -> LowRank:
        """The similarity of some objects, on the host."""
        rows = host(self.features.take(self._tensor(objects)).double())
        if self.kind == "linear":
            return linear(rows, offset=self.offset)
        return cosine(rows) if self.kind == "cosine" else sqeuclidean(rows)

    def block(self, rows: Ints, cols: Ints) -> Floats:
        P, Q = self._tensor(rows), self._tensor(cols)
        out = self._between(self.chosen(P), self.chosen(Q))
        out[P[:, None] == Q[None, :]] = 0.0
        return np.asarray(host(out))

    def _between(self, one: Exact, other: Exact) -> Tensor:
        return one.u @ other.u.T + (one.bias[:, None] + other.bias[None, :] + self.offset)

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        return np.asarray(host(self.gradient_of(self._tensor(support), self._tensor(weights))))

    def gradient_of(self, objects: Tensor, weights: Tensor) -> Tensor:
        """A x, on the device."""
        out = self.summed(objects, weights)
        out[objects] -= self.chosen_own(objects) * weights
        return out

    def summed(self, objects: Tensor, weights: Tensor) -> Tensor:
        """A x with what the formula has on the diagonal."""
        mixed, lean = self.mixture(objects, weights)
        return self._swept(mixed, float(weights.sum()), lean)

    def chosen_own(self, objects: Tensor) -> Tensor:
        """What the formula has on the diagonal, for these objects."""
        if self.kind == "sqeuclidean":
            return torch.full((len(objects),), self.offset, dtype=torch.float64, device=self.device)
        height = self.height(3 * self.n_features)
        parts = [self.chosen(objects[b : b + height]).own for b in range(0, len(objects), height)]
        return torch.cat(parts)

    def _swept(self, mixed: Tensor, total: float, lean: float) -> Tensor:
        """u·mixed + (b + m) total + lean of all objects, in float64."""
        out = torch.empty(self.n, dtype=torch.float64, device=self.device)
        for begin, raw in self.features.blocks(self.height(3 * self.n_features)):
            u = self.lift(raw)
            bias, here = self.bias(u), out[begin : begin + len(raw)]
            torch.mv(u, mixed, out=here)
            if bias is not None:
                here.add_(bias, alpha=total)
        return out.add_(self.offset * total + lean)

    def degrees_of(self, alive: Tensor | None = None) -> Tensor:
        """Sums of similarity to the objects that are alive, on the device."""
        mixed = torch.zeros(self.n_features, dtype=torch.float64, device=self.device)
        lean, count = torch.zeros_like(mixed[0]), self.n if alive is None else int(alive.sum())
        for begin, raw in self.features.blocks(self.height(3 * self.n_features)):
            u = self.lift(raw)
            bias = self.bias(u)
            if alive is None:
                mixed += u.sum(0)
                lean += 0.0 if bias is None else bias.sum()
            else:
                here = alive[begin : begin + len(raw)].double()
                mixed += here @ u
                lean += 0.0 if bias is None else here @ bias
        out = self._swept(mixed, float(count), float(lean))
        if self.kind == "sqeuclidean":
            return out.sub_(self.offset if alive is None else self.offset * alive.double())
        for begin, raw in self.features.blocks(self.height(3 * self.n_features)):
            own = self.exact(raw).own
            place = slice(begin, begin + len(raw))
            out[place] -= own if alive is None else own * alive[place]
        return out

    def degrees(self, random_state: int | np.random.RandomState | None = 0) -> Floats:
        return np.asarray(host(self.degrees_of()))

    def _arrivals(self, new: Any) -> Tensor:
        rows = new if isinstance(new, Tensor) else torch.from_numpy(np.ascontiguousarray(new))
        return rows.to(self.device)

    def cross(self, new: Any, cols: Ints) -> Floats:
        return np.asarray(
            host(self._between(self.exact(self._arrivals(new)), self.chosen(self._tensor(cols))))
        )

    def payoff(self, new: Any, support: Ints, weights: Floats) -> Floats:
        shares = self._tensor(weights)
        mixed, lean = self.mixture(self._tensor(support), shares)
        total, out = float(shares.sum()), np.empty(new.shape[0])
        height = self.height(3 * self.n_features)
        for begin in range(0, new.shape[0], height):
            u, bias, _ = self.exact(self._arrivals(new[begin : begin + height]))
            out[begin : begin + height] = host(u @ mixed + (bias + self.offset) * total + lean)
        return out

    def ball(self, support: Ints, weights: Floats, f: float) -> tuple[Floats, float] | None:
        if self.kind != "sqeuclidean":
            return None
        mixed, lean = self.mixture(self._tensor(support), self._tensor(weights))
        mean = mixed / self.root
        square = self.offset - (-lean - float(mean @ mean)) - f
        return host(mean + self.center), float(np.sqrt(max(0.0, square)))

    # how it is made -------------------------------------------------------------------------------------

    def _mean(self) -> Tensor:
        total = torch.zeros(self.n_features, dtype=torch.float64, device=self.device)
        for _, raw in self.features.blocks(self.height(2 * self.n_features)):
            total += raw.sum(0, dtype=torch.float64)
        if not bool(torch.isfinite(total).all()):
            raise ValueError("the features have NaN or infinite entries; impute or drop those rows first.")
        return total / self.n

    def _norms(self) -> tuple[Tensor, float]:
        """Squared lengths (of the centred rows for sqeuclidean), and the length of the longest stored row."""
        out = torch.empty(self.n, dtype=torch.float64, device=self.device)
        longest = 0.0
        for begin, raw in self.features.blocks(self.height(3 * self.n_features)):
            rows = raw.double()
            if self.kind == "sqeuclidean":
                longest = max(longest, float(torch.linalg.vector_norm(rows, dim=1).max()))
                rows = rows - self.center
            out[begin : begin + len(raw)] = torch.linalg.vector_norm(rows, dim=1).square_()
        return out, longest

    def _check_numbers(self, square: float) -> None:
        largest = float(np.sqrt(square))
        if not np.isfinite(largest) or largest > LARGEST or 0.0 < largest < 1.0 / LARGEST:
            raise ValueError(
                f"the largest row is {largest:.3g} long, and its square leaves the range of floating point; "
                "divide the features by that."
            )

    def _distance_offset(self, offset: str | float | None, square: float) -> float:
        bound = 4.0 * square
        if offset is None or offset == "bound":
            return bound or 1.0
        if offset == "exact":
            return self._extreme(largest_square=True) or 1.0
        if isinstance(offset, str):
            raise ValueError(f"offset={offset!r} is not known; choose 'bound', 'exact' or a number.")
        M = check_real("offset", offset, at_least=0.0)
        largest = bound if self.n > EXACT_LIMIT or bound <= M else self._extreme(largest_square=True)
        if largest * (1.0 - 1e-12) > M:
            raise ValueError(
                f"offset={M:g} is below {largest:g}, so that similarities could be negative; use "
                "offset='bound' or 'exact'."
            )
        return M

    def _linear_offset(self, offset: str | float | None, bound: float) -> float:
        if offset == "bound":
            return bound
        added = 0.0 if offset is None else check_real("offset", offset, at_least=0.0)
        least = min(float(raw.min()) for _, raw in self.features.blocks(self.height(self.n_features)))
        if added >= bound or self.n == 1 or least >= 0.0:
            return added
        remedy = f"pass offset='bound' (adds {bound:.6g}), or affinity='cosine'"
        if self.n > EXACT_LIMIT:
            raise ValueError(
                f"features of both signs may have negative inner products, and {self.n:,} objects are too "
                f"many to look at every pair; {remedy}."
            )
        smallest = self._extreme(largest_square=False) + added
        if smallest < 0:
            raise ValueError(
                f"the smallest linear similarity of two objects is {smallest:.6g}, but similarities must not "
                f"be negative; {remedy}."
            )
        return added

    def _extreme(self, *, largest_square: bool) -> float:
        """The largest squared distance of two rows, or the smallest product: every pair is visited."""
        best = 0.0 if largest_square else float("inf")
        height = self.height(3 * self.n_features + 4096)
        for _, raw in self.features.blocks(height):
            P = raw.double() - self.center
            if not largest_square:
                P = raw.double()
            for _, other in self.features.blocks(4096):
                Q = other.double() - self.center if largest_square else other.double()
                products = P @ Q.T
                if largest_square:
                    norms = torch.linalg.vecdot(P, P)[:, None] + torch.linalg.vecdot(Q, Q)[None, :]
                    best = max(best, float((norms - 2.0 * products).max()))
                else:
                    best = min(best, float(products.min()))
        return best


def tensor_low_rank(X: Any, kind: str, device: Any, **params: Any) -> TensorLowRank:
    """From a tensor, or an array and a device."""
    with roomy("the similarity"):
        return TensorLowRank(load(X, device), kind, **params)
