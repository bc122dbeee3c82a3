"""How a solver came to its answer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dominantsets.plotting._style import plt


class TraceDisplay:
    """How a solver came to its answer: value, gap and size of the support at every iteration.

    Parameters
    ----------
    trace : Trace
        From ``solve(..., trace=True).trace``.
    label : str, optional
        Name of the run in the legend.

    Attributes
    ----------
    axes_ : tuple of three matplotlib Axes
        Where it was drawn: distance of the value from the last one, gap, support.
    figure_ : matplotlib Figure
        Their figure.
    """

    def __init__(self, trace: Any, label: str | None = None) -> None:
        self.trace = trace
        self.label = label

    @classmethod
    def from_cluster(cls, cluster: Any, *, label: str | None = None, axes: Any = None) -> Self:
        """Draw the trace of a cluster that was found with ``trace=True``.

        Parameters
        ----------
        cluster : DominantSet
            With a trace.
        label : str, optional
            Name of the run; the solver's without it.
        axes : three matplotlib Axes, optional
            Where to draw, for instance beside another run; a new figure without it.

        Returns
        -------
        TraceDisplay
            With ``axes_`` and ``figure_`` set.
        """
        if cluster.trace is None:
            raise ValueError("the cluster has no trace; find it with solve(..., trace=True).")
        return cls(cluster.trace, label or cluster.algorithm).plot(axes=axes)

    def plot(self, *, axes: Any = None) -> Self:
        """Draw, on ``axes`` or on a new figure.

        Parameters
        ----------
        axes : three matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        TraceDisplay
            Itself.
        """
        if axes is None:
            axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")[1]
        steps = np.arange(1, len(self.trace) + 1)
        below = self.trace.value[-1] - self.trace.value if len(self.trace) else self.trace.value
        for ax, values, name in zip(
            axes,
            (np.where(below > 0, below, np.nan), np.where(self.trace.gap > 0, self.trace.gap, np.nan),
             self.trace.support_size),
            ("value below the last", "gap", "support"),
            strict=True,
        ):  # fmt: skip
            ax.plot(steps, values, label=self.label, marker="." if len(steps) < 50 else "")
            ax.set(xscale="log", yscale="log", xlabel="iteration", ylabel=name)
        axes[0].legend(fontsize=8)
        self.axes_, self.figure_ = tuple(axes), axes[0].figure
        return self
