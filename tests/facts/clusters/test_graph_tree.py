"""Groups of a graph, each at its own shift: certificates, planted groups, graphs without structure."""

from __future__ import annotations

import pytest
import scipy.sparse as sp

from dominantsets import as_similarity


def test_a_graph_without_edges_is_refused():
    with pytest.raises(ValueError, match="all similarities are zero"):
        as_similarity(sp.csr_array((5, 5)))
