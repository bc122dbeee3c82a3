"""Work of fixed shapes as one launch: CUDA graphs where they can be used, plain calls behind them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

# Plain runs before a graph is made, which costs about as much as they do: whoever needs few of them pays for
# none, and whoever needs many pays at most twice.
PLAIN_RUNS = 3
broken = False  # whether a graph could not be made
_log = logging.getLogger(__name__)
_beside: dict[torch.device, Any] = {}  # a stream of each device: libraries keep memory for every stream


class Replayed:
    """Work on tensors that stay where they are, with shapes that never change and no wait for a device."""

    def __init__(self, work: Callable[[], None], device: torch.device) -> None:
        self._work, self._device = work, device
        self._graph: Any = None
        self._runs = 0

    def __call__(self) -> None:
        if self._graph is not None:
            self._graph.replay()
            return
        self._runs += 1
        if self._device.type != "cuda" or broken or self._runs <= PLAIN_RUNS:
            self._work()
        else:
            self._captured()

    def _captured(self) -> None:
        """Run once more, on a stream beside, and record the same there."""
        global broken
        now = torch.cuda.current_stream(self._device)
        if self._device not in _beside:
            _beside[self._device] = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        beside = _beside[self._device]
        beside.wait_stream(now)
        with torch.cuda.stream(beside):
            self._work()  # what it gives counts; and libraries get ready on this stream
            try:
                self._graph = record(self._work)
            except KeyboardInterrupt:
                raise
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
