"""Segmentation of images."""

from __future__ import annotations

import numpy as np
import pytest
from skimage import data

from dominantsets.clusters.peeling import Peeling
from dominantsets.segmentation import segment
from support import press_ctrl_c

TWO = np.zeros((20, 30, 3), dtype=np.uint8)
TWO[:, 15:] = (255, 60, 60)


def test_ctrl_c_gives_no_half_of_a_segmentation(monkeypatch):
    """Labels of some segments only would look like those of all."""
    next_set = Peeling._next_set

    def pressed(self):
        press_ctrl_c()
        return next_set(self)

    monkeypatch.setattr(Peeling, "_next_set", pressed)
    with pytest.raises(KeyboardInterrupt):
        segment(data.coffee()[::16, ::16], 3)
