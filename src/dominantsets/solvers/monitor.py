"""The one place where a long run checks the clock, the callback and Ctrl-C."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from dominantsets.compiled import interrupts
from dominantsets.solvers.result import Status

CHUNK_SECONDS = 0.05  # how long compiled code may run before Python checks again


@dataclass(frozen=True)
class Progress:
    """What a callback gets.

    Attributes
    ----------
    n_iter : int
        Iterations of the current solve.
    value, gap : float
        Running value and gap of the current solve.
    support_size : int
        Objects with a positive weight.
    n_clusters : int
        Clusters found before this one.
    n_left : int
        Objects not yet in a cluster.
    elapsed : float
        Seconds since the run began.
    """

    n_iter: int
    value: float
    gap: float
    support_size: int
    n_clusters: int
    n_left: int
    elapsed: float


Callback = Callable[[Progress], "bool | None"]


class Monitor:
    """Clock, deadline and callback of a run, shared by all its solves."""

    def __init__(self, max_time: float | None = None, callback: Callback | None = None) -> None:
        self.callback = callback
        self.began = time.perf_counter()
        self.deadline = None if max_time is None else self.began + max_time
        self.n_clusters = 0
        self.n_left = 0
        self._chunk = 64.0
        self._chunk_began = self._looked = self.began
        self._listens = interrupts.is_main()  # Ctrl-C is of the main thread's runs, with all their threads

    def budget(self) -> int:
        """Steps to ask of compiled code so that it comes back in about 50 ms."""
        self._chunk_began = time.perf_counter()
        return max(1, int(self._chunk))

    def calibrate(self, steps: int) -> None:
        """Adapt the next budget to how long the last steps took."""
        taken = time.perf_counter() - self._chunk_began
        if steps and taken > 0:
            self._chunk = min(4.0 * self._chunk, max(1.0, steps * CHUNK_SECONDS / taken))

    def due(self) -> bool:
        """Whether it is time to check again."""
        return time.perf_counter() - self._looked >= CHUNK_SECONDS

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed during the run."""
        return self._listens and interrupts.pressed()

    @property
    def _pending(self) -> bool:
        return self._listens and interrupts.pending()

    def hurry(self, seconds: float = 0.0) -> None:
        """The user wants to see what there is: no more time than this is left for what can be left out."""
        if self._listens:
            interrupts.answer()
        self.deadline = time.perf_counter() + seconds

    def out_of_time(self) -> bool:
        """Whether the budget of time is used up, or Ctrl-C was pressed."""
        return self._pending or (self.deadline is not None and time.perf_counter() >= self.deadline)

    def report(self, n_iter: int, value: float, gap: float, support_size: int) -> Status | None:
        """Tell the callback where the run stands; a status if it has to end here."""
        self._looked = time.perf_counter()
        if self.callback is not None:
            progress = Progress(
                n_iter=n_iter,
                value=value,
                gap=gap,
                support_size=support_size,
                n_clusters=self.n_clusters,
                n_left=self.n_left,
                elapsed=time.perf_counter() - self.began,
            )
            if self.callback(progress):
                return Status.STOPPED
        if self._pending:
            return Status.INTERRUPTED
        return Status.TIME_LIMIT if self.out_of_time() else None


class Stopwatch:
    """Seconds by what they were spent on, and counts, for benchmarks; ``wait`` lets a device finish first."""

    def __init__(self, wanted: bool = False, wait: Callable[[], None] = lambda: None) -> None:
        self.seconds: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        self.wanted = wanted
        self._wait = wait
        self._last = 0.0

    def begin(self) -> None:
        self.add("other")

    def add(self, name: str) -> None:
        """What has passed since the last call was spent on ``name``."""
        if not self.wanted:
            return
        self._wait()
        now = time.perf_counter()
        if self._last:
            self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now
