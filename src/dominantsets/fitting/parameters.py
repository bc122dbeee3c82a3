"""The parameters of DominantSets: what they may be, and what goes together."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from dominantsets.fitting.judge import Choice
from dominantsets.similarity import Similarity
from dominantsets.solvers import SolverOptions

SOLVER_PARAMS: dict[str, Any] = {  # what solver_params takes, and the defaults
    "algorithm": "auto",
    "start": "vertex",
    "tol": 1e-10,
    "max_iter": 100_000,
    "cutoff": 2e-12,
    "algorithm_params": None,
}


class Parameters(BaseEstimator):  # type: ignore[misc]
    """Checks the parameters of an estimator."""

    choice_: Choice | None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "affinity": [str, callable, Similarity],
        "affinity_params": [dict, None],
        "shift": [
            Interval(Real, None, None, closed="neither"),
            StrOptions({"auto", "guaranteed", "sufficient"}),
        ],
        "solver_params": [dict, None],
        "min_cluster_size": [Interval(Integral, 1, None, closed="left")],
        "assign": [StrOptions({"refine", "average"}), None],
        "noise": [StrOptions({"auto", "cores"}), Interval(Real, 0, 1, closed="left"), None],
        "random_state": ["random_state"],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "checkpoint": [str, os.PathLike, None],
        "device": "no_validation",
        "callback": [callable, None],
        "verbose": ["verbose"],
    }

    @property
    def _solver_params(self) -> dict[str, Any]:
        """The parameters of the solver: defaults, and what was given."""
        given = self.solver_params or {}
        for name in given:
            if name not in SOLVER_PARAMS:
                raise ValueError(f"solver_params takes no {name!r}; it takes: {', '.join(SOLVER_PARAMS)}.")
        return SOLVER_PARAMS | given

    @property
    def _noise_asked(self) -> Any:
        """What is asked about noise: no object is noise where parts of the data find another background."""
        doubtful = self.choice_ is not None and self.choice_.taken.is_noise_doubtful
        return None if doubtful and self.noise == "auto" else self.noise

    def _checked(self) -> SolverOptions:
        """The solver's options, once all parameters are checked."""
        self._validate_params()
        if self.noise not in (None, "auto") and self.assign != "refine":
            raise ValueError(f"noise={self.noise!r} needs assign='refine', got {self.assign!r}.")
        if isinstance(self.shift, str) and self.shift != "auto" and self.min_cluster_size < 2:
            raise ValueError(
                f"shift={self.shift!r} is about min_cluster_size, which must be at least 2 for it, got "
                f"{self.min_cluster_size}."
            )
        return SolverOptions(**self._solver_params).checked()
