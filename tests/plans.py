"""Plans of a fit, for tests of their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from dominantsets.fitting.kinds import plan_of
from dominantsets.fitting.plan import Request


def nested_of(S: Any, least: int, options: Any, monitor: Any) -> Any:
    """The hierarchy of a similarity, as its plan makes it."""
    plan = plan_of(S, Request(None, "auto", options, least, None), np.random.RandomState(0), monitor)
    plan.groups()
    return plan.nested()
