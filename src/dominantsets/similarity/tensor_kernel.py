"""Gaussian and Laplacian similarity of features on a device, in float64, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch import Tensor

from dominantsets._checks import check_real
from dominantsets._typing import Floats, Ints
from dominantsets.rows.tensors import Features, allowed, host, load, roomy
from dominantsets.similarity.base import Similarity
from dominantsets.similarity.kernel import MEDIAN_SAMPLE, SAMPLE, SAMPLED_ABOVE
from dominantsets.similarity.tensor_low_rank import BLOCK_NUMBERS
from dominantsets.solvers.tiles import Tiles


class TensorKernel(Similarity):
    r"""``kind`` is "rbf", :math:`\exp(-\gamma |x_i - x_j|^2)`, or "laplacian", with the city-block distance.

    Both are positive semidefinite with ones on the diagonal, which the safe step needs.
    """

    on_device = True
    self_similarity = 1.0
    bounded_by_self_similarity = True

    def __init__(self, features: Features, kind: str, gamma: float | None = None) -> None:
        self.features, self.kind = features, kind
        self.n, self.n_features = features.n, features.d
        self.device = features.device
        self.center = self._mean()
        if gamma is None:
            rows = self.rows(self._representatives())
            distances = self._distances(rows, rows)
            upper = distances[tuple(torch.triu_indices(len(rows), len(rows), 1))]
            positive = host(upper[upper > 0])
            self.gamma = 1.0 / float(np.median(positive)) if positive.size else 1.0
        else:
            self.gamma = check_real("gamma", gamma)
            if self.gamma <= 0:
                raise ValueError(f"gamma must be positive, got {gamma!r}.")

    def height(self, columns: int) -> int:
        """Rows of a block with so many float64 numbers each."""
        return max(1, allowed(BLOCK_NUMBERS, self.device) // max(1, columns))

    def rows(self, objects: Tensor) -> Tensor:
        """Centred rows in float64."""
        return self.features.take(objects).double() - self.center

    def between(self, P: Tensor, Q: Tensor) -> Tensor:
        """Similarities of the rows of P to those of Q."""
        return self._distances(P, Q).mul_(-self.gamma).exp_()

    def _distances(self, P: Tensor, Q: Tensor) -> Tensor:
        if self.kind == "laplacian":
            return torch.cdist(P, Q, p=1.0)
        squares: Tensor = torch.linalg.vecdot(P, P)[:, None] + torch.linalg.vecdot(Q, Q)[None, :]
        return squares.sub_(P @ Q.T, alpha=2.0).clamp_min_(0.0)

    def blocks(self, width: int) -> Iterator[tuple[int, Tensor]]:
        """All centred rows, so many that a block of that width fits."""
        for begin, raw in self.features.blocks(self.height(width + 3 * self.n_features)):
            yield begin, raw.double() - self.center

    # payoffs of many points ------------------------------------------------------------------------------

    def inside(self, tiles: Tiles, weights: Tensor, shift: float) -> Tensor:
        """r of the members, as the tiles are."""
        shares = weights[tiles.valid]
        parts, at = [], 0
        members = tiles.flat
        for count in tiles.counts.tolist():
            rows, x = self.rows(members[at : at + count]), shares[at : at + count]
            parts.append(self.between(rows, rows) @ x - (1.0 + shift) * x)
            at += count
        out = torch.zeros_like(weights)
        out[tiles.valid] = torch.cat(parts)
        return out

    def all_values(
        self, tiles: Tiles, weights: Tensor, alive: Tensor, height: int, mixtures: None = None
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Sums of weights times similarity (1 to itself), the dead at -inf: as of low-rank features."""
        members, whose = tiles.flat, tiles.whose()
        shares = torch.zeros((tiles.s, len(members)), dtype=torch.float64, device=self.device)
        shares[whose, torch.arange(len(members), device=self.device)] = weights[tiles.valid]
        columns = self.rows(members)
        nothing = torch.zeros(tiles.s, dtype=torch.float64, device=self.device)
        for begin, rows in self.blocks(2 * len(members)):
            values = shares @ self.between(columns, rows)
            yield begin, values.masked_fill_(~alive[begin : begin + len(rows)], -torch.inf), nothing

    # the questions of a similarity ----------------------------------------------------------------------

    def _tensor(self, x: Any) -> Tensor:
        return torch.as_tensor(np.asarray(x), device=self.device)

    def block(self, rows: Ints, cols: Ints) -> Floats:
        P, Q = self._tensor(rows), self._tensor(cols)
        out = self.between(self.rows(P), self.rows(Q))
        out[P[:, None] == Q[None, :]] = 0.0
        return np.asarray(host(out))

    def gradient(self, support: Ints, weights: Floats) -> Floats:
        return np.asarray(host(self.gradient_of(self._tensor(support), self._tensor(weights))))

    def gradient_of(self, objects: Tensor, weights: Tensor) -> Tensor:
        """A x, on the device."""
        out = self.summed(objects, weights)
        out[objects] -= weights
        return out

    def summed(self, objects: Tensor, shares: Tensor) -> Tensor:
        """A x with ones on the diagonal."""
        out = torch.zeros(self.n, dtype=torch.float64, device=self.device)
        step = 4096
        for first in range(0, len(objects), step):
            columns = self.rows(objects[first : first + step])
            for begin, rows in self.blocks(2 * len(columns)):
                out[begin : begin + len(rows)] += self.between(rows, columns) @ shares[first : first + step]
        return out

    def degrees_of(self, alive: Tensor | None = None, random_state: Any = 0) -> Tensor:
        """Sums of similarity to the living; estimated from a sample above 20,000 of them."""
        living = torch.arange(self.n, device=self.device)
        if alive is not None:
            living = living[alive]
        count = len(living)
        chosen = living
        if count > SAMPLED_ABOVE:
            drawn = np.sort(check_random_state(random_state).choice(count, SAMPLE, replace=False))
            chosen = living[self._tensor(drawn)]
        out = self.summed(chosen, torch.ones(len(chosen), dtype=torch.float64, device=self.device))
        out[chosen] -= 1.0
        return out * (count / len(chosen))

    def degrees(self, random_state: int | np.random.RandomState | None = 0) -> Floats:
        return np.asarray(host(self.degrees_of(None, random_state)))

    def cross(self, new: Any, cols: Ints) -> Floats:
        rows = new if isinstance(new, Tensor) else torch.from_numpy(np.ascontiguousarray(new))
        P = rows.to(self.device).double() - self.center
        return np.asarray(host(self.between(P, self.rows(self._tensor(cols)))))

    def _mean(self) -> Tensor:
        total = torch.zeros(self.n_features, dtype=torch.float64, device=self.device)
        for _, raw in self.features.blocks(self.height(2 * self.n_features)):
            total += raw.sum(0, dtype=torch.float64)
        if not bool(torch.isfinite(total).all()):
            raise ValueError("the features have NaN or infinite entries; impute or drop those rows first.")
        return total / self.n

    def _representatives(self) -> Tensor:
        """As kernel.representatives: spread evenly along a fixed direction."""
        if self.n <= MEDIAN_SAMPLE:
            return torch.arange(self.n, device=self.device)
        direction = self._tensor(np.random.RandomState(0).normal(size=self.n_features))
        along = torch.cat([rows @ direction for _, rows in self.blocks(1)])
        places = self._tensor(np.linspace(0, self.n - 1, MEDIAN_SAMPLE).astype(np.int64))
        return torch.sort(torch.argsort(along, stable=True)[places]).values


def tensor_kernel(X: Any, kind: str, device: Any, **params: Any) -> TensorKernel:
    """From a tensor, or an array and a device."""
    with roomy("the similarity"):
        return TensorKernel(load(X, device), kind, **params)
