"""How a dominant set is solved for: one set of options, checked once, and where a solver starts."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dominantsets._checks import check_choice, check_int, check_real, warn
from dominantsets._typing import Floats
from dominantsets.similarity import Similarity
from dominantsets.solvers.problem import Point, Problem

STARTS = ("vertex", "barycenter")
GLOBAL = "global"  # also a start: wherever the best dominant set is
ALGORITHMS = (
    "auto", "fw", "pairwise", "away", "inimdyn", "replicator", "exponential-replicator", "trajectory",
    "shrink-expand", "path-following", "working-set", "dual", "exact",
)  # fmt: skip
MULTIPLY = ("replicator", "exponential-replicator", "trajectory")  # weights: one of 0 stays 0
STARTLESS = ("exact", "path-following")
FROM_EVERYBODY = ("trajectory", "path-following")  # by their definition; "vertex" is no start of theirs
# What a solver has parameters for, and their defaults.
PARAMETERS: dict[str, dict[str, Any]] = {
    "exponential-replicator": {"rate": 1.0},
    "trajectory": {"patience": 5, "regularization": 1.0},
    "path-following": {"growth": 2.0},
}


@dataclass(frozen=True)
class SolverOptions:
    """The options of every solver; see :func:`dominantsets.solve` for what they mean.

    ``cutoff`` is the weight up to which an object is no member; only code that takes clusters out uses it.
    """

    algorithm: str = "auto"
    start: Any = "vertex"
    tol: float = 1e-10
    max_iter: int = 100_000
    cutoff: float = 0.0
    trace: bool = False
    algorithm_params: Mapping[str, Any] | None = None

    def checked(self) -> SolverOptions:
        """The options, if a solver can use them."""
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        tol = check_real("tol", self.tol, at_least=0.0)
        if not 0.0 <= check_real("cutoff", self.cutoff) < 1.0:
            raise ValueError(f"cutoff must be at least 0 and below 1, got {self.cutoff!r}.")
        max_iter = check_int("max_iter", self.max_iter, at_least=1)
        params = check_parameters(self.algorithm, self.algorithm_params)
        return replace(self, tol=tol, max_iter=max_iter, cutoff=float(self.cutoff), algorithm_params=params)

    def parameter(self, name: str) -> Any:
        """A parameter of the algorithm: what was given, or its default."""
        return (PARAMETERS[self.algorithm] | dict(self.algorithm_params or {}))[name]

    def begin(self, start: Any) -> Any:
        """Where the solver begins: by its definition, where it has a start of its own and none was given."""
        named = isinstance(start, str)
        return "barycenter" if named and self.algorithm in FROM_EVERYBODY else start

    def chosen_for(self, similarity: Similarity, shift: float, start: Any = None) -> SolverOptions:
        """The options with the solver that "auto" means for a similarity; ``start`` overrides theirs."""
        start = self.start if start is None else start
        return replace(self, algorithm=similarity.solver(self.algorithm, shift, start))

    @property
    def starts_anywhere(self) -> bool:
        """Whether the solver may begin where a sample has a cluster: it can take in objects and drop them."""
        plain = isinstance(self.start, str) and self.start == "vertex"
        return plain and self.algorithm not in ("fw", "exact", *MULTIPLY, *FROM_EVERYBODY)

    def check_start(self, n: int, start: Any = None) -> None:
        """Refuse a start that cannot be meant, or that the algorithm cannot use."""
        check_start(self.begin(self.start if start is None else start), self.algorithm, n)


def check_parameters(algorithm: str, params: Any) -> dict[str, Any] | None:
    """The parameters of an algorithm, refused where it has none of these, or cannot use them."""
    if not params:
        return None
    known = PARAMETERS.get(algorithm, {})
    for name in params:
        if name not in known:
            takes = f"it takes: {', '.join(known)}" if known else "it takes none"
            raise ValueError(f"algorithm={algorithm!r} has no parameter {name!r}; {takes}.")
    checked = dict(params)
    if "patience" in params:
        checked["patience"] = check_int("patience", params["patience"], at_least=1)
    if "regularization" in params:
        share = check_real("regularization", params["regularization"])
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"regularization must lie between 0 and 1, got {share!r}.")
    for name, least in (("rate", 0.0), ("growth", 1.0)):
        if name in params and check_real(name, params[name]) <= least:
            raise ValueError(f"{name} must be above {least:g}, got {params[name]!r}.")
    return checked


def check_run(shift: Any, max_time: Any) -> None:
    """Refuse a shift or a time limit that cannot be meant."""
    check_real("shift", shift)
    if max_time is not None:
        check_real("max_time", max_time, at_least=0.0)


def check_start(start: Any, algorithm: str, n: int) -> None:
    """Refuse a start that cannot be meant, or that the algorithm cannot use, before any long work."""
    if isinstance(start, str):
        vertex = check_choice("start", start, (*STARTS, GLOBAL)) != "barycenter"
    elif isinstance(start, numbers.Integral) and not isinstance(start, bool):
        if not 0 <= int(start) < n:
            raise ValueError(f"start={start} is not an object of 0 to {n - 1}.")
        vertex = True
    else:
        vertex = np.count_nonzero(weights_of(start, n)) == 1
    if algorithm == "exact" and not isinstance(start, str):
        raise ValueError("algorithm='exact' finds every dominant set and takes no start; leave it out.")
    if algorithm == "path-following" and not isinstance(start, str):
        raise ValueError(
            "algorithm='path-following' begins with equal weights, the only ones of at most 1/n, and takes "
            "no start; leave it out."
        )
    if algorithm in MULTIPLY and vertex and n > 1:
        raise ValueError(
            f"algorithm={algorithm!r} cannot start at a vertex: with all mass on one object every other "
            "weight is 0 and stays 0 (a fixed point); use start='barycenter' or positive weights."
        )
    if algorithm == "fw" and isinstance(start, str) and start == "barycenter":
        warn(
            "algorithm='fw' never takes an object out of the support, so that from "
            "start='barycenter' every object stays in the cluster; use start='vertex', or "
            "algorithm='pairwise' or 'away'."
        )


def weights_of(start: Any, n: int) -> Floats:
    try:
        weights = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"start={start!r} is neither 'vertex', 'barycenter', an object's number nor weights."
        ) from None
    if weights.shape != (n,):
        raise ValueError(f"a start of weights needs one for each of {n} objects, got shape {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError("a start of weights must be finite, not negative and not all 0.")
    return weights


def starting_point(problem: Problem, start: Any) -> Point:
    """The point x0 of the simplex that ``start`` means.

    ``"vertex"`` is the paper's V: all mass on the object with the largest sum of similarities, ties to
    the lowest index. ``"barycenter"`` is its B: equal weights. An int is all mass on that object, an
    array is taken as weights. Taken as checked.
    """
    if isinstance(start, str) and start == "vertex":
        return Point(np.array([problem.vertex()]), np.ones(1))
    if isinstance(start, str):
        living = problem.living()
        copies = problem.copies_of(living)
        return Point(living, copies / copies.sum())
    if isinstance(start, numbers.Integral):
        return Point(np.array([int(start)]), np.ones(1))
    weights, living = weights_of(start, problem.n), problem.living()
    return Point.of(np.bincount(living, weights[living], problem.n).astype(np.float64))
