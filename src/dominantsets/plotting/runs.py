"""How a solver came to its answer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dominantsets.plotting._style import NOISE, axes_or_new, color_of, plt
from dominantsets.solvers.phases import Trajectory

LINES = 300  # objects that are drawn at most, evenly over their order


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


class TrajectoryDisplay:
    """Replicator dynamics with its cuts: the weight of every object at every step.

    Parameters
    ----------
    trajectory : Trajectory
        From :func:`dominantsets.trajectory`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn: objects have the colour of the cut that left them behind.
    figure_ : matplotlib Figure
        The figure of ``ax_``.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import trajectory
    >>> from dominantsets.plotting import TrajectoryDisplay
    >>> A = np.where(np.add.outer(np.arange(9), np.arange(9)) < 8, 0.9, 0.1) * (1 - np.eye(9))
    >>> TrajectoryDisplay(trajectory(A)).plot().ax_.get_ylabel()
    'weight'
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory

    def plot(self, *, ax: Any = None) -> Self:
        """Draw, on ``ax`` or on a new figure.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        TrajectoryDisplay
            Itself.
        """
        run, ax = self.trajectory, axes_or_new(ax)
        steps = [cut.step for cut in run.cuts]
        shown = np.linspace(0, run.phase_times.size - 1, min(LINES, run.phase_times.size)).astype(int)
        for i in shown:
            weights = np.where(run.weights[:, i] > 0.0, run.weights[:, i], np.nan)
            phase = int(run.phase_times[i])
            color = (
                color_of(0) if phase < 0 else color_of(1 + steps.index(phase)) if phase in steps else NOISE
            )
            ax.plot(run.steps, weights, color=color, linewidth=0.6, zorder=2 if phase < 0 else 1)
        for k, cut in enumerate(run.cuts):
            ax.axvline(cut.step, color=color_of(1 + k), linestyle="--", linewidth=1.0)
        ax.axvline(run.n_iter, color="black", linewidth=1.0)
        ax.set(xscale="log", yscale="log", xlabel="step", ylabel="weight")
        held = run.weights[run.weights > 0.0]
        if held.size:
            ax.set_ylim(max(1e-12, float(held.min())), 1.5 * float(held.max()))
        ax.set_title(f"{len(steps)} cuts (dashed), {run.status.value} at step {run.n_iter:,}", fontsize=10)
        self.ax_, self.figure_ = ax, ax.figure
        return self
