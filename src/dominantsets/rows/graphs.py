"""Work of fixed shapes as one launch: CUDA graphs where they can be used, plain calls behind them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

PLAIN_RUNS = 1  # before a graph is made: it costs as much as three of them, and a climb takes about four
broken = False  # whether a graph could not be made
_log = logging.getLogger(__name__)
_beside: dict[torch.device, Any] = {}  # a stream of each device: libraries keep memory for every stream


class Replays:
    """Work, by its name, on tensors that stay where they are: the same shapes each time, and no waits.

    The work itself is not kept: its owner keeps this, and goes, with all memory, when it is not needed.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.graphs: dict[str, Any] = {}
        self._runs: Counter[str] = Counter()

    def __call__(self, work: Callable[[], None]) -> None:
        name = work.__name__
        if name in self.graphs:
            self.graphs[name].replay()
            return
        self._runs[name] += 1
        if self._device.type != "cuda" or broken or self._runs[name] <= PLAIN_RUNS:
            work()
        else:
            self._recorded(work)

    def _recorded(self, work: Callable[[], None]) -> None:
        """Run once more, on a stream beside, and record the same there."""
        global broken
        now = torch.cuda.current_stream(self._device)
        if self._device not in _beside:
            _beside[self._device] = torch.cuda.Stream(self._device)
        beside = _beside[self._device]
        beside.wait_stream(now)
        with torch.cuda.stream(beside):
            work()  # what it gives counts; and libraries get ready on this stream
            try:
                self.graphs[work.__name__] = record(work)
            except Exception as error:  # whatever a driver may say, memory that ran out among it
                broken = True
                _log.warning("CUDA graphs are not used: %s: %s", type(error).__name__, str(error)[:500])
        now.wait_stream(beside)


def record(work: Callable[[], None]) -> Any:
    """A graph of what the work asks of the current stream; nothing is run."""
    # torch.cuda.graph would empty all caches first, which takes longer than many runs
    graph = torch.cuda.CUDAGraph()
    graph.capture_begin(capture_error_mode="thread_local")
    try:
        work()
    except BaseException:
        with suppress(Exception):
            graph.capture_end()
        raise
    graph.capture_end()
    return graph
