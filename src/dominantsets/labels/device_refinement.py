r"""Refinement of partitions of features on a device: refinement.py's sums, a block of objects at a time.

With :math:`m_k` the sum of a cluster's rows u, :math:`n_k` their number and :math:`\beta_k` the sum of their
biases, :math:`S_{ik} = u_i \cdot m_k + n_k (b_i + m) + \beta_k`. A round is one sweep, two products of a
block with K rows; nothing of size n × K is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dominantsets._typing import Floats, Ints
from dominantsets.rows.tensors import host
from dominantsets.similarity.tensor_low_rank import TensorLowRank
from dominantsets.solvers import DominantSet


def _blocks(similarity: TensorLowRank, columns: int) -> Iterator[tuple[slice, Tensor, Tensor | None]]:
    """Rows u and their b, so many that a few arrays of so many columns fit."""
    for begin, raw in similarity.features.blocks(similarity.height(4 * columns + 3 * similarity.n_features)):
        u = similarity.lift(raw)
        yield slice(begin, begin + len(raw)), u, similarity.bias(u)


class DeviceSums:
    """As ``refinement._Sums``; labels and fits are NumPy arrays, the rows stay on the device."""

    def __init__(
        self, similarity: TensorLowRank, labels: Ints, n_clusters: int, outside: NDArray[np.bool_] | None
    ) -> None:
        self.similarity, self.n_clusters = similarity, n_clusters
        self._outside = None if outside is None else self._send(outside)
        self._every = torch.arange(n_clusters, device=similarity.device)
        self._next: tuple[Ints, Tensor] | None = None
        self._fit: Floats = np.empty(0)
        self.count(labels)

    def _send(self, x: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(x).to(self.similarity.device)

    def count(self, labels: Ints) -> None:
        """The sums of a partition; those that ``best`` has made on the way are not made again."""
        self.labels = labels
        if self._next is not None and self._next[0] is labels:
            self._read(self._next[1])
            return
        there, sums = self._send(labels), self._nothing()
        for part, u, bias in _blocks(self.similarity, self.n_clusters):
            self._add(sums, there[part], u, bias)
        self._read(sums)

    def _nothing(self) -> Tensor:
        shape = (self.n_clusters, self.similarity.n_features + 2)
        return torch.zeros(shape, dtype=torch.float64, device=self.similarity.device)

    def _add(self, sums: Tensor, labels: Tensor, u: Tensor, bias: Tensor | None) -> None:
        """By a product, whose order of summation never changes."""
        inside = (self._every[:, None] == labels).double()
        d = u.shape[1]
        sums[:, :d] += inside @ u
        if bias is not None:
            sums[:, d] += inside @ bias
        sums[:, d + 1] += inside.sum(1)

    def _read(self, sums: Tensor) -> None:
        d, offset = self.similarity.n_features, self.similarity.offset
        mixed, leans, sizes = sums[:, :d], sums[:, d], sums[:, d + 1]
        W = torch.linalg.vecdot(mixed, mixed) + offset * sizes**2 + 2.0 * sizes * leans
        roots = W.clamp_min(1e-300).sqrt()
        self.W: Floats = host(W)
        self._V = mixed / roots[:, None]
        self._slopes, self._constants = sizes / roots, (offset * sizes + leans) / roots

    @property
    def objective(self) -> float:
        """The sum of the roots of W."""
        return float(np.sqrt(np.maximum(self.W, 0.0)).sum())

    def best(self) -> Ints:
        """The best cluster of every object; notes the sums of what it finds, and how well each fits."""
        labels, sums = self._send(self.labels), self._nothing()
        best, fit = torch.empty_like(labels), torch.empty_like(labels, dtype=torch.float64)
        for part, u, bias in _blocks(self.similarity, self.n_clusters):
            values = (u @ self._V.T).add_(self._constants)
            if bias is not None:
                values.add_(bias[:, None] * self._slopes)
            mine = labels[part]
            here = values.gather(1, mine.clamp_min(0)[:, None])[:, 0].masked_fill_(mine < 0, -torch.inf)
            top, at = values.max(1)
            stays = (top <= 0.0) | ((mine >= 0) & (top <= here * (1.0 + 1e-12)))
            top, at = torch.where(stays, here, top), torch.where(stays, mine, at)
            if self._outside is not None:
                out = self._outside[part]
                top, at = top.masked_fill_(out, -torch.inf), at.masked_fill_(out, -1)
            best[part], fit[part] = at, top
            self._add(sums, at, u, bias)
        found: Ints = host(best)
        self._fit = host(fit)
        self._next = found, sums
        while (empty := np.setdiff1d(self.labels[self.labels >= 0], found)).size:
            for k in empty:  # no cluster loses its last one
                mine_here = np.flatnonzero(self.labels == k)
                u = self.similarity.rows(self._send(mine_here))
                bias = self.similarity.bias(u)
                values = u @ self._V[k] + (0.0 if bias is None else self._slopes[k] * bias)
                found[mine_here[int(values.argmax())]] = k
            self._next = None
        return found

    def fit_here(self) -> Floats:
        """How well each object fits where it is: known from the last round, which moved nothing."""
        self.best()
        return self._fit


def near_objects(
    similarity: TensorLowRank, clusters: Sequence[DominantSet], inside: Floats, reach: Floats
) -> NDArray[np.bool_]:
    """Objects within reach of the centre of some core, for all cores in one sweep."""
    device = similarity.device
    points = [
        similarity.mixture(torch.from_numpy(c.members).to(device), torch.from_numpy(c.weights).to(device))
        for c in clusters
    ]
    M = torch.stack([mixed for mixed, _ in points])
    # own - 2 (u·m + b + lean + offset) + inside <= reach
    least = torch.from_numpy(
        inside - reach - 2.0 * np.array([lean + similarity.offset for _, lean in points])
    )
    least = least.to(device)
    near = torch.empty(similarity.n, dtype=torch.bool, device=device)
    for part, u, bias in _blocks(similarity, len(clusters)):
        own = similarity.own_of_rows(u)
        if bias is not None:
            own = own - 2.0 * bias
        near[part] = (own[:, None] + least <= 2.0 * (u @ M.T)).any(1)
    out: NDArray[np.bool_] = host(near)
    return out
