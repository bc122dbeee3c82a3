"""Where X comes in: arrays, data frames, memmaps, CSR matrices, Dask arrays, tensors and similarities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from dominantsets._checks import warn
from dominantsets._typing import Floats, Ints
from dominantsets.rows.base import not_finite
from dominantsets.rows.foreign import is_tensor, shared
from dominantsets.similarity import Similarity, as_similarity
from dominantsets.similarity.data import Data, divided, in_memory
from dominantsets.similarity.dense import checked_distances
from dominantsets.similarity.factory import (
    ANYWHERE,
    DENSE_ONLY,
    NUMBERED,
    PRECOMPUTED,
    in_process,
    is_dask,
    is_graph,
    is_small,
    matrix_of_graph,
    refuse_anndata,
)
from dominantsets.tables import is_frame, refusal, row_numbers


class Chosen(NamedTuple):
    """What was found out: an affinity, its parameters, what columns are divided by, which objects to fit."""

    affinity: str
    params: dict[str, Any]
    scale: Floats | None = None
    fitted: Ints | None = None


class Made(NamedTuple):
    """A similarity; where it is one of rows that were taken from others, those, and which were taken."""

    similarity: Similarity
    data: Data | None = None
    fitted: Ints | None = None


Choose = Callable[[Any, bool], Chosen]
_ACCEPTED: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "ensure_min_samples": 1,
    "order": None,
}


def similarity_of(estimator: Any, X: Any, choose: Choose, device: Any = None, *, whole: bool = False) -> Made:
    """The similarity of what ``fit`` was given; sets ``n_features_in_`` and ``scale_``.

    ``choose`` is asked for an affinity, where it is to be found out. It is given the data, and whether they
    are distances. A similarity that is there for rows in this process only is made of rows that come here:
    of some where there are many, unless the fit is to be ``whole``.
    """
    affinity, estimator.scale_ = estimator.affinity, None
    if isinstance(X, Similarity):
        estimator.n_features_in_ = X.n_features
        return Made(X)
    refuse_anndata(X)
    if is_graph(X):
        affinity = "precomputed" if isinstance(affinity, str) and affinity == "auto" else affinity
        X = matrix_of_graph(X, affinity)
        estimator.affinity_ = affinity
    X = shared(X)
    half = device is not None and is_small(X) and not sp.issparse(X)
    mapped = isinstance(X, np.memmap) and X.dtype in (np.float32, np.float64)
    if is_dask(X) or ((is_tensor(X) or half or mapped) and X.ndim == 2):
        # scikit-learn's checks would read all of it, convert it, or fetch it from where it is
        estimator.n_features_in_ = X.shape[-1]
    elif not is_tensor(X):  # a tensor of another shape is refused by as_similarity
        X = _validated(estimator, X)
    if isinstance(affinity, Similarity):
        if X.shape[0] != affinity.n:
            raise ValueError(f"X has {X.shape[0]} rows and the similarity {affinity.n} objects.")
        return Made(affinity)
    params = dict(estimator.affinity_params or {})
    if isinstance(affinity, str) and affinity == "auto":
        if params:
            raise ValueError(f"affinity='auto' takes no parameters, got {', '.join(params)}.")
        data = Data(X, device, whole=whole)
        return _chosen(data, choose(data, False), estimator)
    if isinstance(affinity, str) and affinity in NUMBERED:
        params.setdefault(NUMBERED[affinity], getattr(estimator, "n_clusters", None))
    elif isinstance(affinity, str) and affinity == "precomputed_distance" and not (params or sp.issparse(X)):
        affinity, params, _, _ = choose(checked_distances(X), True)
    if isinstance(affinity, str) and affinity == "precomputed" and is_network(X):
        X = sp.csr_array(X)
    return Made(as_similarity(X, affinity, device=device, **params))


def _chosen(data: Data, found: Chosen, estimator: Any) -> Made:
    """The similarity that was chosen for rows, which may be anywhere."""
    estimator.scale_ = found.scale
    here = data if found.scale is None else data.divided(found.scale)
    if found.affinity in ANYWHERE:
        return Made(here.similarity(found.affinity))
    fitted, far = found.fitted, here.is_elsewhere
    if fitted is None and not far:
        return Made(as_similarity(here.X, found.affinity, **found.params))
    rows = here.take(np.arange(here.n) if fitted is None else fitted)
    return Made(as_similarity(rows, found.affinity, **found.params), data, fitted)


def is_network(X: Any) -> bool:
    """Whether an array of similarities is a network: most pairs are 0, or all of them 0 or 1.

    Points are similar to most others, more or less. So the form in which a network comes does not matter.
    """
    if not isinstance(X, np.ndarray) or isinstance(X, np.memmap) or X.ndim != 2 or X.shape[0] != X.shape[1]:
        return False
    n, linked = len(X), np.count_nonzero(X) - np.count_nonzero(X.diagonal())
    if not 0 < linked < n * (n - 1):
        return False
    return bool(2 * linked < n * (n - 1) or ((X == 0) | (X == 1)).all())


def _validated(estimator: Any, X: Any, **options: Any) -> Any:
    """What scikit-learn makes of X; missing numbers in our own words, because its advise a classifier."""
    try:
        made = validate_data(estimator, X, **_ACCEPTED, **options)
    except (ValueError, TypeError) as error:
        if is_frame(X):
            raise refusal(X, error) from None
        if "contains NaN" not in str(error) and "contains infinity" not in str(error):
            raise
        affinity = estimator.affinity
        precomputed = isinstance(affinity, str) and affinity in PRECOMPUTED
        raise not_finite("similarities" if precomputed else "features") from None
    if is_frame(X) and (numbering := row_numbers(X)):
        warn(f"{', '.join(numbering)} numbers the rows and counts as a feature: drop it, or rename it.")
    return made


def is_given(estimator: Any, X: Any) -> bool:
    """Whether the similarity is the caller's, who may use it again."""
    return isinstance(X, Similarity) or isinstance(estimator.affinity, Similarity)


def new_objects(estimator: Any, X: Any) -> Any:
    """Rows of new objects, checked against what was fitted."""
    X = shared(X)
    X = in_memory(X) if is_tensor(X) and estimator.__dict__.get("_came_here") else X
    if not is_tensor(X):
        X = _validated(estimator, in_process(X) if is_dask(X) else X, reset=False)
        X = sp.csr_array(X) if sp.issparse(X) else X
        X = estimator._copies.columns(X) if hasattr(estimator, "_copies") else X
        return X if estimator.scale_ is None else X / estimator.scale_
    name = type(estimator).__name__
    if X.ndim != 2 or X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has the shape {tuple(X.shape)}, but {name} was fitted with {estimator.n_features_in_} "
            "features."
        )
    device = estimator._device
    if device != X.device:
        fitted = "NumPy or Dask arrays" if device is None else f"features on {device}"
        raise ValueError(f"X is a tensor on {X.device}, but {name} was fitted with {fitted}.")
    return X if estimator.scale_ is None else divided(X, estimator.scale_)


def batch(estimator: Any, X: Any, first: bool) -> Any:
    """The rows of a batch of ``partial_fit``; the first says which features there are."""
    X = shared(X)
    if isinstance(X, Similarity) or is_tensor(X) or is_dask(X):
        raise ValueError(f"partial_fit takes rows in memory, got a {type(X).__name__}; use fit.")
    X = _validated(estimator, X, reset=first)
    return sp.csr_array(X) if sp.issparse(X) else X


def set_tags(tags: Any, affinity: Any) -> Any:
    """The scikit-learn tags of the input that an affinity takes."""
    precomputed = isinstance(affinity, str) and affinity in PRECOMPUTED
    refuses = isinstance(affinity, str) and affinity in DENSE_ONLY
    tags.input_tags.sparse = not (refuses or callable(affinity))
    tags.input_tags.pairwise = tags.input_tags.positive_only = precomputed
    return tags
