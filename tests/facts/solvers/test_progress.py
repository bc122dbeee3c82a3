"""The bar: there on a terminal, nowhere else."""

from __future__ import annotations

import logging

from sklearn.datasets import make_blobs

from dominantsets import DominantSets


def test_the_estimator_logs_a_line_for_each_cluster(caplog, capsys):
    X, _ = make_blobs(90, centers=3, random_state=0)
    with caplog.at_level(logging.INFO, logger="dominantsets"):
        model = DominantSets(3, verbose=1, affinity="sqeuclidean").fit(X)
    lines = [record.getMessage() for record in caplog.records if "cluster" in record.getMessage()]
    assert len(lines) == model.n_clusters_
    caplog.clear()
    DominantSets(3, affinity="sqeuclidean").fit(X)
    assert not caplog.records
    assert capsys.readouterr().out == ""  # never on standard output
