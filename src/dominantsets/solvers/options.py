"""How a dominant set is solved for: one set of options, checked once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dominantsets._checks import check_choice, check_int, check_real
from dominantsets.similarity import Similarity
from dominantsets.solvers.starts import check_start

ALGORITHMS = ("auto", "fw", "pairwise", "away", "replicator", "working-set", "dual", "exact")


@dataclass(frozen=True)
class SolverOptions:
    """What every solver is told; see :func:`dominantsets.solve` for what the options mean.

    ``cutoff`` is the weight up to which an object is no member; only those who take clusters out use it.
    """

    algorithm: str = "auto"
    start: Any = "vertex"
    tol: float = 1e-10
    max_iter: int = 100_000
    cutoff: float = 0.0
    trace: bool = False

    def checked(self) -> SolverOptions:
        """The options, if a solver can use them."""
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        tol = check_real("tol", self.tol, at_least=0.0)
        if not 0.0 <= check_real("cutoff", self.cutoff) < 1.0:
            raise ValueError(f"cutoff must be at least 0 and below 1, got {self.cutoff!r}.")
        max_iter = check_int("max_iter", self.max_iter, at_least=1)
        return replace(self, tol=tol, max_iter=max_iter, cutoff=float(self.cutoff))

    def chosen_for(self, similarity: Similarity, shift: float, start: Any = None) -> SolverOptions:
        """With the solver that "auto" means for a similarity; ``start`` where it is another one."""
        start = self.start if start is None else start
        return replace(self, algorithm=similarity.solver(self.algorithm, shift, start))

    def check_start(self, n: int, start: Any = None) -> None:
        """Refuse a start that cannot be meant, or that the algorithm cannot use."""
        check_start(self.start if start is None else start, self.algorithm, n)


def check_run(shift: Any, max_time: Any) -> None:
    """Refuse a shift or a time limit that cannot be meant."""
    check_real("shift", shift)
    if max_time is not None:
        check_real("max_time", max_time, at_least=0.0)
