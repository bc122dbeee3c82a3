"""What one extra alone must be able to do: ``python tests/alone.py cli`` ("" is the package without any)."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

import numpy as np

from dominantsets import DominantSets

X = np.array([[0.0, 0.1], [0.1, 0.0], [0.1, 0.1], [9.0, 9.1], [9.1, 9.0], [9.1, 9.1]])


def fit(rows: object = X) -> DominantSets:
    model = DominantSets(2, affinity="sqeuclidean").fit(rows)
    labels = np.asarray(model.labels_)
    first, second = labels[:3], labels[3:]
    assert len(set(first)) == len(set(second)) == 1, labels
    assert first[0] != second[0]
    return model


def plot() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from dominantsets.plotting import ClusterDisplay
    from dominantsets.segmentation import segment

    ClusterDisplay.from_estimator(fit(), X)
    image = np.zeros((8, 8))
    image[:, 4:] = 1.0
    assert segment(image, n_segments=2).labels.shape == (8, 8)


def cli() -> None:
    from dominantsets.__main__ import main

    with tempfile.TemporaryDirectory() as folder:
        table, labels = Path(folder) / "x.csv", Path(folder) / "labels.csv"
        np.savetxt(table, X, delimiter=",")
        sys.argv = [
            "dominantsets",
            "cluster",
            str(table),
            "-k",
            "2",
            "-o",
            str(labels),
            "--affinity",
            "sqeuclidean",
        ]
        with contextlib.suppress(SystemExit):  # the file says whether it went well
            main()
        assert len(labels.read_text(encoding="utf-8").splitlines()) == len(X) + 1


def io() -> None:
    import networkx as nx
    import pandas as pd

    from dominantsets.app.files import read

    with tempfile.TemporaryDirectory() as folder:
        frame = pd.DataFrame(X, columns=["a", "b"])
        frame.to_parquet(Path(folder) / "x.parquet")
        np.testing.assert_array_equal(read(str(Path(folder) / "x.parquet")).data, X)
        nx.write_graphml(nx.path_graph(3), Path(folder) / "g.graphml")
        assert read(str(Path(folder) / "g.graphml")).data.nnz == 4
        fit(frame)


def dask() -> None:
    import dask.array as da

    fit(da.from_array(X, chunks=(3, 2)))


def gpu() -> None:
    import torch

    fit(torch.tensor(X))


def tables() -> None:
    from dominantsets import TablePreparer

    said = ""
    try:
        TablePreparer().fit(X)  # a frame comes with a library of its own
    except ValueError as error:
        said = str(error)
    assert "a data frame is needed, got a ndarray" in said


EXTRAS = {"": fit, "plot": plot, "cli": cli, "io": io, "dask": dask, "gpu": gpu, "tables": tables}

if __name__ == "__main__":
    EXTRAS[sys.argv[1]]()
