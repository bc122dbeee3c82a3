"""How a solver came to its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dominantsets._checks import check_choice
from dominantsets.plotting._style import NOISE, axes_or_new, color_of, plt

if TYPE_CHECKING:
    from dominantsets.studies.phases import Trajectory

LINES = 300  # objects that are drawn at most, evenly over their order


class TraceDisplay:
    """How solvers came to their answers: value, gap and size of the support over time.

    Parameters
    ----------
    traces : dict of str to Trace
        Runs by name, from ``solve(..., trace=True).trace``.
    best : float, optional
        The value that all of them are compared with; the highest one that any of them reached without it.

    Attributes
    ----------
    axes_ : tuple of three matplotlib Axes
        Where it was drawn: how far values are below the best one, gap, support.
    figure_ : matplotlib Figure
        Their figure.

    Examples
    --------
    >>> import numpy as np
    >>> from dominantsets import solve
    >>> from dominantsets.plotting import TraceDisplay
    >>> A = np.triu(np.random.default_rng(0).uniform(size=(60, 60)), 1)
    >>> runs = [solve(A + A.T, algorithm=name, trace=True) for name in ("pairwise", "away")]
    >>> TraceDisplay.from_clusters(runs).axes_[0].get_xlabel()
    'seconds'
    """

    def __init__(self, traces: dict[str, Any], best: float | None = None) -> None:
        self.traces = traces
        self.best = best

    @classmethod
    def from_clusters(
        cls, clusters: Any, *, labels: Any = None, against: str = "seconds", axes: Any = None
    ) -> Self:
        """Draw the traces of clusters of one problem, found by several solvers with ``trace=True``.

        Parameters
        ----------
        clusters : list of DominantSet
            Each with a trace.
        labels : list of str, optional
            Names of the runs; the solvers' without them.
        against : {"seconds", "iteration"}, default="seconds"
            What the horizontal axes are.
        axes : three matplotlib Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        TraceDisplay
            With ``axes_`` and ``figure_`` set.
        """
        if any(cluster.trace is None for cluster in clusters):
            raise ValueError("a cluster has no trace; find it with solve(..., trace=True).")
        names = [cluster.algorithm for cluster in clusters] if labels is None else list(labels)
        best = max((cluster.value for cluster in clusters), default=None)
        traces = {name: cluster.trace for name, cluster in zip(names, clusters, strict=True)}
        return cls(traces, best).plot(against=against, axes=axes)

    @classmethod
    def from_cluster(
        cls, cluster: Any, *, label: str | None = None, against: str = "seconds", axes: Any = None
    ) -> Self:
        """Draw the trace of one cluster that was found with ``trace=True``.

        Parameters
        ----------
        cluster : DominantSet
            With a trace.
        label : str, optional
            Name of the run; the solver's without it.
        against : {"seconds", "iteration"}, default="seconds"
            What the horizontal axes are.
        axes : three matplotlib Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        TraceDisplay
            With ``axes_`` and ``figure_`` set.
        """
        names = None if label is None else [label]
        return cls.from_clusters([cluster], labels=names, against=against, axes=axes)

    def plot(self, *, against: str = "seconds", axes: Any = None) -> Self:
        """Draw, on ``axes`` or on a new figure.

        Parameters
        ----------
        against : {"seconds", "iteration"}, default="seconds"
            What the horizontal axes are.
        axes : three matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        TraceDisplay
            Itself.
        """
        check_choice("against", against, ("seconds", "iteration"))
        own = axes is None
        if own:
            axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")[1]
        reached = [float(trace.value.max()) for trace in self.traces.values() if len(trace)]
        best = max(reached, default=0.0) if self.best is None else max([self.best, *reached])
        for place, (name, trace) in enumerate(self.traces.items()):
            steps = trace.seconds if against == "seconds" else np.arange(1, len(trace) + 1)
            below = best - trace.value
            for ax, values in zip(
                axes,
                (np.where(below > 0, below, np.nan), np.where(trace.gap > 0, trace.gap, np.nan),
                 trace.support_size),
                strict=True,
            ):  # fmt: skip
                marker = "." if len(steps) < 50 else ""
                ax.plot(steps, values, label=name, color=color_of(place), marker=marker)
        for ax, name in zip(axes, ("value below the best", "gap", "support"), strict=True):
            ax.set(xscale="log", yscale="log", xlabel=against, ylabel=name)
        self.axes_, self.figure_ = tuple(axes), axes[0].figure
        if own:  # lines go everywhere: beside them, where there is room
            names, lines = list(self.traces), axes[0].lines
            self.figure_.legend(
                lines, names, loc="outside upper center", ncols=max(1, len(names)), fontsize=8
            )
        else:
            axes[0].legend(fontsize=8)
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
