"""Every claim of a certificate, computed again without the library, on random problems through every solver.

Run ``nice python benchmarks/soundness.py --n 100000``; it prints a table and writes results/soundness.json. A
run that was stopped goes on where it was; ``--afresh`` counts from nothing.

Three problems of four are a similarity (dense, CSR graph, every affinity; float32, ties, copies, whole
numbers, scales from 1e-140 to 1e140) and a shift of either sign, through every solver. Of each answer x the
value, gap, margin and unit are computed again in extended precision from the definition of the affinity.
Counted are

* false "converged": the gap is above tol times the unit, by more than rounding (SLACK eps, relative to the
  largest number of the problem);
* false "strict": no strict maximum has these members, up to undecided ones, as worked out in rationals
  (_exact.py); false "not strict": one has just these;
* false "best": another solver found a value above one that says by ``global_gap`` that there is none;
* the error of value, gap, margin and unit, in eps times the largest number of the problem;
* disagreements between solvers: where f is concave all must have the same value; elsewhere a strict answer is
  given to the others (dual, working set, pairwise, and pairwise on the plain matrix) as their start, a little
  moved, and they must come back to it;
* the running value and gap of the first STEPS steps of fw, pairwise and away against 50 digits.

Every fourth problem is degenerate (_degenerate.py): evenly spaced rows with a flat face, outsiders exactly at
the threshold, nearly null faces, far objects, constants that move to the shift, hypergraphs, caps, seeds,
weights, games, paths. All that is claimed of it is held against all supports in rationals.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _machine import pin_threads

pin_threads(1)

import numpy as np  # noqa: E402 (after the threads are pinned)

from _claims import strictness  # noqa: E402
from _degenerate import KINDS as DEGENERATE  # noqa: E402
from _degenerate import claims  # noqa: E402
from _digits import Steps  # noqa: E402
from _exact import Form, rational  # noqa: E402
from _problems import LOW_RANK, Case, draw  # noqa: E402
from _resumed import go_on  # noqa: E402
from dominantsets import DominantSet, Status, solve  # noqa: E402

EPS = float(np.finfo(np.float64).eps)
TOL = 1e-10
SLACK = 64.0
EXACT = 60  # members up to which strictness is worked out in rationals
STEPS = 20
FEW, MANY = 300, 20_000  # iterations of solvers that may go on for ever, and of the others
SAVED_EVERY = 2_000
KEPT = 10  # examples of each kind of fault that the file keeps
ALWAYS = ("auto", "working-set")
IN_TURN = (
    "fw", "away", "inimdyn", "replicator", "exponential-replicator", "trajectory", "shrink-expand",
    "path-following",
)  # fmt: skip
APART = ("solvers differ where f is concave", "solvers differ near an answer")
RESULTS = Path(__file__).parent / "results" / "soundness.json"


class Tally:
    """Counts that add up, the largest of what was measured, and where it was."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.counts: dict[str, int] = known.get("counts", {})
        self.worst: dict[str, list[float]] = known.get("worst", {})
        self.found: list[dict[str, Any]] = known.get("found", [])

    def count(self, *names: str) -> None:
        for name in names:
            self.counts[name] = self.counts.get(name, 0) + 1

    def measure(self, name: str, value: float, seed: int) -> None:
        if value > self.worst.get(name, [-1.0])[0]:
            self.worst[name] = [float(f"{value:.3g}"), seed]

    def false(self, what: str, seed: int, **details: Any) -> None:
        self.count(what)
        if sum(one["what"] == what for one in self.found) < KEPT:
            self.found.append({"what": what, "problem": seed, **details})

    def made(self) -> int:
        return sum(self.counts.get(name, 0) for name in ("problems", "degenerate problems", "refused"))

    def failed(self, number: int, error: Exception) -> None:
        self.false("errors", number, error=repr(error)[:200])

    def add(self, content: dict[str, Any]) -> None:
        for name, count in content["counts"].items():
            self.counts[name] = self.counts.get(name, 0) + count
        for name, (value, seed) in content["worst"].items():
            self.measure(name, value, seed)
        for one in content["found"]:
            if sum(other["what"] == one["what"] for other in self.found) < KEPT:
                self.found.append(one)

    def content(self) -> dict[str, Any]:
        return {"counts": dict(sorted(self.counts.items())), "worst": self.worst, "found": self.found}

    def show(self) -> None:
        counts = self.counts
        print(f"{counts.get('problems', 0):,} problems, {counts.get('solves', 0):,} solves")
        for name in sorted(counts):
            if f"false {name}" in counts or not name.startswith(("false ", "solves")):
                false = counts.get(f"false {name}")
                print(f"  {name}: {counts[name]:,}" + (f", {false:,} of them false" if false else ""))
        for name in APART:
            print(f"  {name}: {counts.get(name, 0)}")
        print("largest error, in eps times the largest number of the problem (and the problem's number)")
        for name, (value, seed) in sorted(self.worst.items()):
            print(f"  {name:30} {value:10.3g}   {seed}")
        for one in self.found:
            print("  ", one)


def solved(case: Case, given: Any, algorithm: str, **options: Any) -> DominantSet | None:
    """The answer of one solver; None where it says that it is not for this problem."""
    if algorithm in ("replicator", "exponential-replicator"):
        options.setdefault("start", "barycenter")
    slow = algorithm in ("fw", "replicator", "exponential-replicator")
    try:
        found = solve(
            given, algorithm=algorithm, shift=case.shift, tol=TOL, max_iter=FEW if slow else MANY, **options
        )
    except ValueError:
        return None
    if found.status is Status.INTERRUPTED:  # Ctrl-C ends a solver without an error
        raise KeyboardInterrupt
    return found


def again(case: Case, found: DominantSet, own: np.ndarray) -> tuple[float, float, float, float]:
    """Value, gap, margin and unit from the weights alone, in extended precision."""
    A, members = case.A, found.members
    x = found.weights.astype(np.longdouble)
    r = A[:, members] @ x
    r[members] -= np.longdouble(case.shift) * x
    f = x @ r[members]
    outside = np.delete(r, members)
    gap = max(np.longdouble(0), r.max() - f)
    margin = f - outside.max() if outside.size else np.inf
    unit = max(np.longdouble(0), (own[members] + np.longdouble(case.shift)) @ np.square(x))
    return float(f + np.longdouble(case.shift)), float(gap), float(margin), float(unit)


def face_top(A: np.ndarray, shift: float, members: np.ndarray) -> float:
    """The largest eigenvalue of A - shift I on the directions that sum to 0; -inf where there are none."""
    m = len(members)
    if m < 2:
        return -np.inf
    B = A[np.ix_(members, members)].astype(float) - shift * np.eye(m)
    unit = float(np.abs(B).max())
    basis = np.linalg.qr(np.column_stack([np.ones(m), np.eye(m)[:, 1:]]))[0][:, 1:]
    return unit * float(np.linalg.eigvalsh(basis.T @ (B / unit) @ basis)[-1])


class Checked:
    """All answers to one problem."""

    def __init__(self, tally: Tally, seed: int, case: Case) -> None:
        self.tally, self.seed, self.case = tally, seed, case
        self.slack = SLACK * EPS * case.unit
        self._form: Form | None = None
        self.answers: list[DominantSet] = []

    def check(self, name: str, found: DominantSet, own: np.ndarray) -> None:
        """Compare what is claimed with what is so; ``own`` are the similarities of objects to themselves."""
        tally, case, seed = self.tally, self.case, self.seed
        value, gap, margin, unit = again(case, found, own)
        tally.count("solves", f"solves: {name}")
        eps = EPS * case.unit
        tally.measure(f"value: {case.kind}", abs(found.value - value) / eps, seed)
        tally.measure(f"gap: {case.kind}", abs(found.gap - gap) / eps, seed)
        tally.measure(f"unit: {case.kind}", abs(found.unit - unit) / eps, seed)
        if np.isfinite(margin):
            tally.measure(f"margin: {case.kind}", abs(found.margin - margin) / eps, seed)
        elif np.isfinite(found.margin):
            tally.false("false margin", seed, solver=name)
        if found.status is Status.CONVERGED:
            tally.count("converged")
            if gap > TOL * unit + self.slack:
                tally.false("false converged", seed, solver=name, gap=gap, claimed=found.gap)
        if len(found) <= EXACT:
            for claim, holds in strictness(found, self.is_strict):
                tally.count(claim)
                if not holds:
                    tally.false(f"false {claim}", seed, solver=name, kind=case.kind, margin=margin)
        self.answers.append(found)

    def is_strict(self, support: tuple[int, ...]) -> bool:
        """Whether a strict maximum has just these members, in rationals."""
        if self._form is None:
            self._form = Form.of(self.case.A, [-rational(self.case.shift)] * len(self.case.A))
        self.tally.count("supports in rationals")
        return self._form.strict(support)

    def compare(self) -> None:
        """No value above one that is said to be the best; one value where f is concave."""
        case, tally = self.case, self.tally
        best = max(one.value for one in self.answers)
        for one in self.answers:
            if one.global_gap is not None:
                tally.count("best")
                if best > one.value + one.global_gap + self.slack:
                    tally.false("false best", self.seed, solver=one.algorithm, value=one.value, other=best)
        converged = [one for one in self.answers if one.status is Status.CONVERGED]
        everybody = np.arange(len(case.A))
        if len(converged) > 1 and face_top(case.A, case.shift, everybody) < -1e-6 * case.unit:
            tally.count("concave problems")
            values = [one.value for one in converged]
            allowed = 2.0 * max(one.gap for one in converged) + self.slack
            if max(values) - min(values) > allowed:
                tally.false("solvers differ where f is concave", self.seed, by=max(values) - min(values))

    def return_to(self, found: DominantSet, plain: Any) -> None:
        """Every other way of solving comes back to a strict answer from near it."""
        case, tally, n = self.case, self.tally, len(self.case.A)
        clear = 1e-3 * case.unit
        top = face_top(case.A, case.shift, found.members)
        if not found.strict or found.margin < clear or top > -clear or found.weights.min() < 1e-3:
            return
        tally.count("starts near an answer")
        near = np.full(n, 1e-6 / n)
        near[found.members] += (1.0 - 1e-6) * found.weights
        ways = [("pairwise", case.given), ("working-set", case.given), ("pairwise", plain)]
        ways += [("dual", case.given)] if case.kind in LOW_RANK else []
        for algorithm, given in ways:
            other = solved(case, given, algorithm, start=near)
            if other is None:
                continue
            tally.count("returns")
            same = np.array_equal(other.members[other.weights > 1e-9], found.members)
            if not same or abs(other.value - found.value) > 2.0 * max(found.gap, other.gap) + self.slack:
                tally.false("solvers differ near an answer", self.seed, solver=algorithm, kind=case.kind)

    def steps(self) -> None:
        """The running numbers of the first steps against 50 digits."""
        case, rule = self.case, ("fw", "pairwise", "away")[self.seed // 20 % 3]
        A = case.A.astype(float)  # the matrix as it is given: so only the steps are compared
        start = int(A.sum(axis=1).argmax())
        found = solved(case, A, rule, start=start, trace=True)
        if found is None or found.trace is None or (case.shift == 0.0 and not A[start].any()):
            return
        exact, unit = Steps(A, case.shift, rule, start), EPS * max(float(np.abs(A).max()), abs(case.shift))
        self.tally.count("step sequences")
        for k in range(min(STEPS, len(found.trace))):
            value = float(abs(exact.f + case.shift - found.trace.value[k])) / unit
            gap = float(abs(max(exact.gap, 0) - max(found.trace.gap[k], 0.0))) / unit
            self.tally.measure("steps: value", value, self.seed)
            self.tally.measure("steps: gap", gap, self.seed)
            self.tally.count("steps")
            if not exact.step():
                break


def one_problem(tally: Tally, seed: int) -> None:
    """Problem number ``seed``, through all solvers that take it."""
    if seed % 4 == 3:
        degenerate(tally, seed)
        return
    case = draw(seed)
    if case is None:
        tally.count("refused")
        return
    tally.count("problems", f"problems: {case.kind}")
    checked = Checked(tally, seed, case)
    names = [*ALWAYS, IN_TURN[seed % len(IN_TURN)]]
    names += ["pairwise"] * (case.kind in (*LOW_RANK, "path", "graph"))  # where "auto" is another one
    for name in names:
        found = solved(case, case.given, name)
        if found is not None:
            checked.check(found.algorithm, found, case.own)
    plain = np.ascontiguousarray(case.A, dtype=float)
    found = solved(case, plain, "pairwise")
    if found is not None:
        checked.check("pairwise on the plain matrix", found, np.full(len(plain), case.A.max()))
    checked.compare()
    if seed % 4 == 0:
        checked.return_to(checked.answers[0], plain)
    if seed % 20 == 0 and len(plain) <= 12:
        checked.steps()


def degenerate(tally: Tally, seed: int) -> None:
    """Problem number ``seed``, of one of the degenerate kinds in turn."""
    kind = list(DEGENERATE)[seed // 4 % len(DEGENERATE)]
    tally.count("degenerate problems", f"degenerate problems: {kind}")
    for claim, holds in claims(kind, seed):
        tally.count(claim)
        if not holds:
            tally.false(f"false {claim}", seed, kind=kind)


if __name__ == "__main__":
    go_on(__doc__, RESULTS, Tally, one_problem, n=100_000, every=SAVED_EVERY)
