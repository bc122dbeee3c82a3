"""The data on which a default is judged, in two halves: what constants may be chosen on, and the rest.

*Chosen on* are half of the generated settings with seed 0, and the shapes. *Not chosen on* are the settings
of the other half, and those of the first with another seed. A setting says itself which half it is of;
nobody should move one after having seen its figures. ``python benchmarks/families.py`` lists them.

scikit-learn's four sets stand with what was chosen on, not because constants may be fitted to them but
because everybody has seen them: no figure on them is one of unseen data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

import _real
from _generators import blobs, ellipses, graph, null, sphere, tiles

CHOSEN, OTHER = "chosen on", "not chosen on"
GROUPS = ("clean", "noisy", "nulls", "graphs", "shapes", "real")
SYNTHETIC = ("clean", "noisy")
SEED_CHOSEN, SEED_AGAIN, SEED_OTHER = 0, 1, 2
DIMENSIONS = (2, 5, 10, 30, 100)


@dataclass(frozen=True)
class Data:
    """Objects and what is known about them.

    Attributes
    ----------
    X : ndarray or csr_array
        Points, or the similarities of a graph.
    labellings : list of ndarray
        Equally good ones; -1 is noise, -2 is not counted.
    """

    X: Any
    labellings: list[np.ndarray]

    @property
    def is_graph(self) -> bool:
        return sp.issparse(self.X)

    @property
    def k(self) -> int:
        """The number of clusters that is told: the groups of the first labelling."""
        y = self.labellings[0]
        return int(np.unique(y[y >= 0]).size)


@dataclass(frozen=True)
class Setting:
    """A family of data with all its options; generated ones have a seed to be drawn with."""

    name: str
    group: str
    half: str
    make: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)
    generated: bool = True

    @property
    def dimension(self) -> int | None:
        return self.options.get("d")

    @property
    def noise(self) -> float:
        return self.options.get("noise", 0.0)

    def load(self, seed: int, **changes: Any) -> Data:
        """The data; the seed means nothing where they are not generated."""
        if not self.generated:
            return Data(*self.make(**self.options))
        X, y = self.make(seed, **{**self.options, **changes})
        return Data(X, [y])

    def seeds(self) -> list[tuple[int, str]]:
        """Seeds, and the half that the data of each count for."""
        if not self.generated:
            return [(0, self.half)]
        return [(SEED_CHOSEN, CHOSEN), (SEED_AGAIN, OTHER)] if self.half == CHOSEN else [(SEED_OTHER, OTHER)]


# Options of blobs that are tried in each of the five dimensions.
BLOBS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    CHOSEN: [
        ("K3", {"k": 3}),
        ("K10 zipf", {"k": 10, "zipf": True}),
        ("K10 wide", {"k": 10, "wide": True}),
        ("K10 20% uniform", {"k": 10, "noise": 0.2}),
        ("K10 wide 20% gauss", {"k": 10, "wide": True, "noise": 0.2, "kind": "gauss"}),
        ("K10 zipf 50% uniform", {"k": 10, "zipf": True, "noise": 0.5}),
        ("K3 50% gauss", {"k": 3, "noise": 0.5, "kind": "gauss", "n": 2_000}),
        ("K50", {"k": 50}),
        ("K50 20% uniform", {"k": 50, "noise": 0.2}),
        ("K10 80% uniform", {"k": 10, "noise": 0.8, "n": 4_000}),
    ],
    OTHER: [
        ("K3 zipf wide", {"k": 3, "zipf": True, "wide": True}),
        ("K10", {"k": 10}),
        ("K50 zipf", {"k": 50, "zipf": True}),
        ("K50 wide", {"k": 50, "wide": True}),
        ("K3 wide 20% uniform", {"k": 3, "wide": True, "noise": 0.2}),
        ("K10 50% gauss", {"k": 10, "noise": 0.5, "kind": "gauss"}),
        ("K50 zipf 20% gauss", {"k": 50, "zipf": True, "noise": 0.2, "kind": "gauss"}),
        ("K50 50% uniform", {"k": 50, "noise": 0.5}),
        ("K3 zipf 80% gauss", {"k": 3, "zipf": True, "noise": 0.8, "kind": "gauss", "n": 4_000}),
    ],
}
# Settings that are tried once: the generator, its options, what the name adds to them.
SINGLE: dict[str, list[tuple[str, Callable[..., Any], dict[str, Any]]]] = {
    CHOSEN: [
        ("blobs d10 K300", blobs, {"d": 10, "k": 300}),
        ("blobs d2 K300", blobs, {"d": 2, "k": 300}),
        ("blobs d30 K300 20% uniform", blobs, {"d": 30, "k": 300, "noise": 0.2}),
        ("discs K4", tiles, {"shape": "disc", "k": 4}),
        ("squares K4", tiles, {"shape": "square", "k": 4}),
        ("discs K9", tiles, {"shape": "disc", "k": 9}),
        ("squares K9 tight", tiles, {"shape": "square", "k": 9, "gap": 0.1}),
        ("ellipses d2 K4", ellipses, {"d": 2, "k": 4}),
        ("ellipses d5 K6", ellipses, {"d": 5, "k": 6}),
        ("ellipses d20 K8", ellipses, {"d": 20, "k": 8}),
    ],
    OTHER: [
        ("blobs d5 K300", blobs, {"d": 5, "k": 300}),
        ("blobs d10 K300 zipf wide", blobs, {"d": 10, "k": 300, "zipf": True, "wide": True}),
        ("blobs d100 K300 20% gauss", blobs, {"d": 100, "k": 300, "noise": 0.2, "kind": "gauss"}),
        ("discs K2 tight", tiles, {"shape": "disc", "k": 2, "gap": 0.1}),
        ("squares K3", tiles, {"shape": "square", "k": 3}),
        ("discs K16", tiles, {"shape": "disc", "k": 16, "n": 4_000}),
        ("squares K6 tight", tiles, {"shape": "square", "k": 6, "gap": 0.15}),
        ("ellipses d2 K8", ellipses, {"d": 2, "k": 8}),
        ("ellipses d10 K5", ellipses, {"d": 10, "k": 5}),
        ("ellipses d30 K10", ellipses, {"d": 30, "k": 10}),
    ],
}
SPHERES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    CHOSEN: [
        ("K10", {"k": 10}),
        ("K20 30%", {"k": 20, "noise": 0.3}),
        ("K20 60%", {"k": 20, "noise": 0.6, "n": 3_000}),
    ],
    OTHER: [("K20", {"k": 20}), ("K50 50%", {"k": 50, "noise": 0.5, "n": 4_000})],
}
# Dimension and number of objects in which there is nothing to find, for a Gaussian and a box each.
NULLS = {
    CHOSEN: [(1, 1_500), (2, 1_500), (5, 1_500), (10, 1_500), (50, 1_500)],
    OTHER: [(1, 400), (2, 6_000), (3, 800), (20, 3_000), (50, 500)],
}
GRAPHS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    CHOSEN: [
        ("K8", {"k": 8}),
        ("K20 weighted", {"k": 20, "weighted": True}),
        ("K20 30%", {"k": 20, "noise": 0.3}),
    ],
    OTHER: [
        ("K40", {"k": 40}),
        ("K8 dense", {"k": 8, "inside": 30.0, "outside": 15.0}),
        ("K20 weighted 30%", {"k": 20, "weighted": True, "noise": 0.3}),
    ],
}


def generated(half: str) -> Iterator[Setting]:
    """The settings of one half that are drawn at random."""

    def of(name: str, make: Callable[..., Any], options: dict[str, Any]) -> Setting:
        return Setting(name, "noisy" if options.get("noise") else "clean", half, make, options)

    for d in DIMENSIONS:
        for name, options in BLOBS[half]:
            yield of(f"blobs d{d} {name}", blobs, {"d": d, **options})
    for name, make, options in SINGLE[half]:
        yield of(name, make, options)
    for d in (16, 64, 384):
        for name, options in SPHERES[half]:
            yield of(f"sphere d{d} {name}", sphere, {"d": d, **options})
    for d, n in NULLS[half]:
        for kind in ("gauss", "uniform"):
            yield Setting(f"null {kind} d{d} n{n}", "nulls", half, null, {"kind": kind, "d": d, "n": n})
    for name, options in GRAPHS[half]:
        yield Setting(f"graph {name}", "graphs", half, graph, options)


def found() -> Iterator[Setting]:
    """The settings that nobody generated, those of the folder only where there is one."""

    def of(title: str, group: str, half: str, make: Callable[..., Any], **options: Any) -> Setting:
        return Setting(title, group, half, make, options, generated=False)

    for name in _real.BUNCHES:
        for scaled in (False, True):
            title = f"{name.replace('_', ' ')}{' scaled' if scaled else ''}"
            yield of(title, "real", CHOSEN, _real.bunch, name=name, scaled=scaled)
    if not _real.available():
        return
    for name in _real.shape_names():
        yield of(f"shapes {name}", "shapes", CHOSEN, _real.shape, name=name)
    for number in range(1, 5):
        yield of(f"newsgroups {number}", "real", OTHER, _real.documents, number=number)
    yield of("collins", "graphs", OTHER, _real.collins)


def settings() -> list[Setting]:
    """All of them, in a fixed order."""
    return [*generated(CHOSEN), *generated(OTHER), *found()]


QUICK = (
    "blobs d2 K3", "blobs d10 K10 20% uniform", "blobs d5 K10 50% gauss", "sphere d64 K20 30%", "discs K4",
    "squares K3", "null gauss d2 n1500", "null uniform d3 n800", "graph K8", "iris", "shapes hepta",
    "shapes zigzag_noisy",
)  # fmt: skip


def main() -> None:
    count: Counter[tuple[str, str]] = Counter()
    for setting in settings():
        for seed, half in setting.seeds():
            count[half, setting.group] += 1
            print(f"{half:14} {setting.group:7} {setting.name:32} seed {seed}")
    for (half, group), number in sorted(count.items()):
        print(f"{half:14} {group:7} {number:4d}")
    if not _real.available():
        print("DOMINANTSETS_DATA is not set: no shapes, no newsgroups, no protein network.")


if __name__ == "__main__":
    main()
