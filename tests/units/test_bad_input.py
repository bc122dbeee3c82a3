"""Bad input gets one clear sentence, before any long work."""

from __future__ import annotations

import pytest

from dominantsets import _checks, as_similarity
from support import random_similarity

GOOD = random_similarity(6, seed=0)


def test_a_conversion_that_cannot_fit(monkeypatch):
    monkeypatch.setattr(_checks, "memory_available", lambda: 100)
    with pytest.raises(MemoryError, match=r"float64 copy of the 6 × 6 similarity.*used in place"):
        as_similarity((GOOD > 0.5).astype(int))
    as_similarity(GOOD)  # used in place, nothing to copy
