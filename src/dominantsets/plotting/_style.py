"""What all pictures share: colours, axes, and matplotlib itself."""

from __future__ import annotations

from colorsys import hls_to_rgb
from typing import Any

from dominantsets._checks import missing_extra

try:
    import matplotlib.pyplot as plt
    from matplotlib.patches import Circle, Rectangle
    from matplotlib.patheffects import withStroke
except ModuleNotFoundError as error:  # pragma: no cover - depends on the installation
    raise missing_extra("pictures need", "plot", "matplotlib") from error

__all__ = ["HALO", "NOISE", "PALETTE", "Circle", "Rectangle", "axes_or_new", "color_of", "plt"]

# Okabe and Ito's palette: tells apart in print and for colour-blind readers.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
NOISE = "#BBBBBB"
HALO = [withStroke(linewidth=2.5, foreground="white")]  # numbers that are read over any colour
GOLDEN = (5**0.5 - 1) / 2


def axes_or_new(ax: Any, size: tuple[float, float] = (6.0, 4.5)) -> Any:
    """The axes given, or those of a new figure."""
    return ax if ax is not None else plt.subplots(figsize=size, layout="constrained")[1]


def color_of(cluster: int) -> str:
    """The colour of a cluster, the same in every picture.

    Beyond the palette hues go round by the golden section, so that no two of them are ever the same and
    neighbours in number are far apart, in three lightnesses.
    """
    if cluster < len(PALETTE):
        return PALETTE[cluster]
    red, green, blue = hls_to_rgb(cluster * GOLDEN % 1.0, (0.36, 0.62, 0.48)[cluster % 3], 0.62)
    return f"#{round(255 * red):02X}{round(255 * green):02X}{round(255 * blue):02X}"
