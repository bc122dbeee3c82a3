"""What all pictures share: colours, axes, and matplotlib itself."""

from __future__ import annotations

from typing import Any

from dominantsets._checks import missing_extra

try:
    import matplotlib.pyplot as plt
    from matplotlib.patches import Circle, Rectangle
except ModuleNotFoundError as error:  # pragma: no cover - depends on the installation
    raise missing_extra("pictures need", "plot", "matplotlib") from error

__all__ = ["NOISE", "PALETTE", "Circle", "Rectangle", "axes_or_new", "color_of", "plt"]

# Okabe and Ito's palette: tells apart in print and for colour-blind readers.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
NOISE = "#BBBBBB"


def axes_or_new(ax: Any, size: tuple[float, float] = (6.0, 4.5)) -> Any:
    """The axes given, or those of a new figure."""
    return ax if ax is not None else plt.subplots(figsize=size, layout="constrained")[1]


def color_of(cluster: int) -> str:
    """The colour of a cluster, the same in every picture."""
    return PALETTE[cluster % len(PALETTE)]
