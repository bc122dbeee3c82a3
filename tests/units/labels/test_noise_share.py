"""``noise=0.2``: the same share, of the same meaning, whatever the similarity."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dominantsets.labels.noise import noise_level


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.floats(0.0, 1.0))
def test_no_other_level_comes_closer_to_the_share(values, share):
    typical = np.array(values, dtype=float)
    wanted = round(share * typical.size)
    found = np.count_nonzero(typical < noise_level(typical, share))
    possible = [np.count_nonzero(typical < level) for level in range(7)]
    assert abs(found - wanted) == min(abs(count - wanted) for count in possible)
