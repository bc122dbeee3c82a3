"""The parameters of DominantSets: what they may be, their former names, and what goes together."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from dominantsets._checks import warn
from dominantsets.clusters.choice import Choice
from dominantsets.clusters.climbs import check_climbs
from dominantsets.clusters.multistart import check_multistart
from dominantsets.similarity import Similarity
from dominantsets.solvers import ALGORITHMS, SolverOptions

# The former names of parameters, and where they are now.
MOVED = {
    "keep_noise": "noise",
    "start": "solver_params",
    "tol": "solver_params",
    "max_iter": "solver_params",
    "cutoff": "solver_params",
    "sampling": "multistart_params",
    "max_overlap": "multistart_params",
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "solver_params": {
        "start": "vertex",
        "tol": 1e-10,
        "max_iter": 100_000,
        "cutoff": 2e-12,
        "algorithm_params": None,
    },
    "multistart_params": {"sampling": "uniform", "max_overlap": 0.1},
}


class Parameters(BaseEstimator):  # type: ignore[misc]
    """What is asked of an estimator, checked."""

    choice_: Choice | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "affinity": [str, callable, Similarity],
        "affinity_params": [dict, None],
        "shift": [
            Interval(Real, None, None, closed="neither"),
            StrOptions({"auto", "guaranteed", "sufficient"}),
        ],
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "solver_params": [dict, None],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left")],
        "assign": [StrOptions({"refine", "average", "correlation", "mode"}), None],
        "noise": [StrOptions({"auto", "cores", "payoff"}), Interval(Real, 0, 1, closed="both"), None],
        "overlap": ["boolean", Interval(Real, 0, 1, closed="right")],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "multistart_params": [dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "checkpoint": [str, os.PathLike, None],
        "device": "no_validation",
        "callback": [callable, None],
        "verbose": ["verbose"],
        "forget": [Interval(Real, 0, 1, closed="left")],
        **dict.fromkeys(MOVED, "no_validation"),
    }

    def _former(self) -> dict[str, Any]:
        """Parameters that were given under their former names."""
        given = {name: getattr(self, name) for name in MOVED}
        return {k: v for k, v in given.items() if not (isinstance(v, str) and v == "deprecated")}

    def _grouped(self, group: str) -> dict[str, Any]:
        """The parameters of a group: defaults, what was given, and what was given under former names."""
        given = getattr(self, group) or {}
        for name in given:
            if name not in DEFAULTS[group]:
                raise ValueError(f"{group} takes no {name!r}; it takes: {', '.join(DEFAULTS[group])}.")
        former = {k: v for k, v in self._former().items() if MOVED[k] == group}
        return DEFAULTS[group] | given | former

    @property
    def _noise(self) -> Any:
        noise = self._former().get("keep_noise", self.noise)
        return "cores" if noise == "payoff" else noise

    @property
    def _noise_asked(self) -> Any:
        """What is asked about noise: nobody is called so where parts of the data find another background."""
        doubtful = self.choice_ is not None and self.choice_.taken.is_noise_doubtful
        return None if doubtful and self._noise == "auto" else self._noise

    def _checked(self) -> SolverOptions:
        """The solver's options, once all parameters are checked."""
        for name in self._former():
            now = "noise=..." if name == "keep_noise" else f"{MOVED[name]}={{{name!r}: ...}}"
            warn(f"{name} moved: pass {now}; the former name will go in version 0.3.", FutureWarning)
        self._validate_params()
        noise = self._noise
        only = {"noise": self._parameter_constraints["noise"]}
        validate_parameter_constraints(only, {"noise": noise}, type(self).__name__)
        if noise not in (None, "auto") and self.assign != "refine":
            raise ValueError(f"noise={noise!r} needs assign='refine', got {self.assign!r}.")
        if isinstance(self.shift, str) and self.shift != "auto" and self.min_cluster_size < 2:
            raise ValueError(
                f"shift={self.shift!r} is about min_cluster_size, which must be at least 2 for it, got "
                f"{self.min_cluster_size}."
            )
        options = SolverOptions(self.algorithm, **self._grouped("solver_params")).checked()
        if self.assign == "mode":
            check_climbs(options, self.n_starts, self.checkpoint)
        if self.overlap:
            self._check_overlap()
        if self.n_starts > 1:
            check_multistart(self.n_starts, start=options.start, **self._grouped("multistart_params"))
        return options

    def _check_overlap(self) -> None:
        """Refuse what clusters that share objects cannot have."""
        for name, usual in (("n_starts", 1), ("checkpoint", None), ("algorithm", "auto")):
            if getattr(self, name) != usual:
                raise ValueError(f"overlap={self.overlap!r} needs {name}={usual!r}.")
        if self.assign in ("mode", "correlation"):
            raise ValueError(
                f"overlap={self.overlap!r} goes with assign='refine', 'average' or None, got {self.assign!r}."
            )
