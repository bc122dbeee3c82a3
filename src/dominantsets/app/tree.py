"""What ``dominantsets hierarchy`` says about a tree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from dominantsets.app.files import Table
from dominantsets.hierarchy import DominantSetHierarchy
from dominantsets.solvers.result import End


@dataclass(frozen=True, eq=False)
class Grown:
    """A fitted hierarchy beside the table it came from."""

    model: DominantSetHierarchy
    table: Table

    @property
    def interrupted(self) -> bool:
        return self.model.end_ is End.INTERRUPTED

    @property
    def partial(self) -> bool:
        return self.model.end_ is not None

    def cuts(self, numbers: list[int]) -> dict[str, Any]:
        """A column of labels for each number of groups; without one, the significant ones."""
        if not numbers:
            return {"label": self.model.labels_}
        most = self.model.n_leaves_ if self.partial else max(numbers)  # of a partial tree, what there is
        return {f"groups_{k}": self.model.cut(min(k, most)) for k in dict.fromkeys(numbers)}

    def line(self) -> str:
        """What came out, in one line."""
        alone, leaves = self.model.n_groups_, self.model.n_leaves_
        noun = "group stands" if alone == 1 else "groups stand"
        return f"{alone} {noun} alone, {leaves:,} in all, of {self.model.labels_.size:,} objects"

    def json(self) -> str:
        """Every group of the tree, parents before their children."""
        numbers = {group: k for k, group in enumerate(self.model.root_.walk())}
        parents = {child: numbers[group] for group in numbers for child in group.children}
        ids = self.table.ids

        def finite(value: float) -> float | None:
            return float(value) if np.isfinite(value) else None

        def named(objects: Any) -> list[Any]:
            return objects.tolist() if ids is None else [ids[i] for i in objects]

        groups = [
            {
                "group": k,
                "parent": parents.get(group),
                "size": int(group.objects.size),
                "shift_from": finite(group.birth),
                "shift_to": finite(group.death),
                "exemplar": None if group.core is None else named(np.array([group.core.exemplar]))[0],
                "objects": None if group.children else named(group.objects),
            }
            for group, k in numbers.items()
        ]
        content = {"objects": int(self.model.labels_.size), "stand_alone": self.model.n_groups_}
        return json.dumps(content | {"groups": groups}, indent=1, allow_nan=False) + "\n"

    def draw(self, path: Any, n_clusters: int | None) -> None:
        """Write the picture of the tree."""
        from dominantsets.plotting import HierarchyDisplay, plt

        plt.switch_backend("Agg")
        figure = HierarchyDisplay.from_estimator(self.model, n_clusters=n_clusters).figure_
        figure.savefig(path, dpi=130)
        plt.close(figure)
