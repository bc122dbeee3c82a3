"""Clusters kept in a file while a long run goes on, so that a new run can take them up.

The file is an .npz of plain arrays (never unpickled), written beside and renamed after every cluster.
It carries a signature of the data and of the parameters: one that belongs to others is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dominantsets._checks import is_lack_of_memory, memory_explained
from dominantsets.clusters.replacing import replacing
from dominantsets.similarity import Similarity
from dominantsets.solvers import DominantSet, Status

_NUMBERS = (
    "value", "gap", "margin", "n_iter", "shift", "algorithm", "radius", "global_gap", "unit", "rounding",
)  # fmt: skip


class Snapshot(NamedTuple):
    """What a checkpoint file holds."""

    clusters: list[DominantSet]
    end: str | None


def signature(similarity: Similarity, parameters: dict[str, Any]) -> dict[str, str]:
    """What a run depends on: the data themselves, and the parameters."""
    shown = {name: _plain(value) for name, value in parameters.items()}
    return {"data": f"{type(similarity).__name__} {similarity.n} {similarity.fingerprint()}", **shown}


def _plain(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, Similarity):
        return type(value).__name__
    return f"{value:.17g}" if isinstance(value, float) else str(value)


class Checkpoint:
    """A file of clusters that belong to one signature."""

    def __init__(self, path: str | Path, signature: dict[str, str]) -> None:
        self._path = str(path)
        self._signature = signature
        if os.path.isdir(self._path) or not Path(path).parent.is_dir():
            raise ValueError(
                f"checkpoint={self._path!r} cannot be written: it is a folder, or its folder is missing."
            )

    def load(self) -> Snapshot | None:
        """What an earlier run left, None where there is no file."""
        if not os.path.exists(self._path):
            return None
        with memory_explained(f"checkpoint={self._path!r} cannot be read: there is no memory for it."):
            before, found = self._parsed(self._read())
        other = [name for name in self._signature if before.get(name) != self._signature[name]]
        if other:
            names = [name for name in other if name != "data"]
            same = "data" not in other or "affinity" in other  # another affinity makes other data too
            what = f"other parameters ({', '.join(names)})" if same else "other data"
            raise ValueError(f"checkpoint={self._path!r} belongs to {what}; delete it or name another file.")
        return found

    def _read(self) -> bytes:
        try:
            with open(self._path, "rb") as stream:
                return stream.read()
        except OSError as error:
            why = error.strerror or error
            raise ValueError(f"checkpoint={self._path!r} cannot be read ({why}).") from error

    def _parsed(self, raw: bytes) -> tuple[dict[str, str], Snapshot]:
        try:
            return _parsed(raw)
        except Exception as error:  # zip, zlib, NumPy's headers, and numbers that are not there
            if is_lack_of_memory(error):
                raise
            raise ValueError(
                f"checkpoint={self._path!r} is not a checkpoint, or it is damaged; delete it or name "
                "another file."
            ) from error

    def save(self, clusters: list[DominantSet], end: str | None) -> None:
        """Write all clusters found so far, whole or not at all.

        Whatever fails, also for a lack of memory, of which libraries make many kinds of errors: what has been
        found is worth more than its copy, and the run goes on.
        """
        try:
            whole = io.BytesIO()  # before there is a draft: short of memory, zipfile may hang
            np.savez(whole, **self._arrays(clusters, end))
            self._write(whole.getbuffer())
        except Exception as error:
            why = getattr(error, "strerror", None) or str(error) or "there is no memory left for it"
            warnings.warn(
                f"checkpoint={self._path!r} cannot be written ({why}); the run goes on, and the file stays "
                "as it was.",
                stacklevel=2,
            )

    def _write(self, content: memoryview) -> None:
        with replacing(self._path) as draft, open(draft, "wb") as stream:
            stream.write(content)

    def _arrays(self, clusters: list[DominantSet], end: str | None) -> dict[str, Any]:
        """What the file holds."""
        about: dict[str, Any] = {"signature": self._signature, "end": end, "clusters": []}
        arrays: dict[str, Any] = {}
        for k, cluster in enumerate(clusters):
            row: dict[str, Any] = {name: getattr(cluster, name) for name in _NUMBERS}
            row |= {"strict": cluster.strict, "status": cluster.status.value}
            row["margin"] = None if np.isinf(cluster.margin) else cluster.margin
            about["clusters"].append(row)
            arrays[f"members_{k}"], arrays[f"weights_{k}"] = cluster.members, cluster.weights
            arrays[f"undecided_{k}"] = cluster.undecided
            if cluster.center is not None:
                arrays[f"center_{k}"] = cluster.center
        arrays["about"] = np.frombuffer(json.dumps(about).encode("utf-8"), dtype=np.uint8)
        return arrays


def _parsed(raw: bytes) -> tuple[dict[str, str], Snapshot]:
    """The signature and what belongs to it."""
    with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
        content = {name: arrays[name] for name in arrays.files}
    about = json.loads(bytes(content["about"]).decode("utf-8"))
    return about["signature"], _snapshot(content, about)


def _snapshot(content: dict[str, Any], about: dict[str, Any]) -> Snapshot:
    clusters = []
    for k, row in enumerate(about["clusters"]):
        status, margin = Status(row.pop("status")), row.pop("margin")
        clusters.append(
            DominantSet(
                members=content[f"members_{k}"],
                weights=content[f"weights_{k}"],
                margin=np.inf if margin is None else margin,
                status=status,
                center=content.get(f"center_{k}"),
                undecided=content[f"undecided_{k}"],
                **row,
            )
        )
    return Snapshot(clusters, about["end"])
