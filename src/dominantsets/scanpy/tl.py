"""Tools that write what they find into an AnnData; neither scanpy nor anndata is imported."""

from __future__ import annotations

from typing import Any

from dominantsets._checks import missing_extra
from dominantsets.estimator import DominantSets


def dominant_sets(
    adata: Any,
    n_clusters: int | None = None,
    *,
    use_rep: str = "X_pca",
    neighbors_key: str | None = None,
    key_added: str = "dominant_sets",
    **params: Any,
) -> None:
    """Cluster the cells of an AnnData.

    Parameters
    ----------
    adata : AnnData
        The cells. ``obs[key_added]`` gets the clusters as a categorical, missing for noise;
        ``obs[key_added + "_probability"]`` the probability of each label; ``uns[key_added]`` the parameters
        and the text that explains the choice of clusters.
    n_clusters : int, optional
        The number of clusters; estimated if None.
    use_rep : str, default="X_pca"
        The matrix of ``obsm`` to cluster; "X" for ``adata.X``.
    neighbors_key : str, optional
        Cluster a graph of neighbors instead, such as "neighbors" after ``scanpy.pp.neighbors(adata)``.
    key_added : str, default="dominant_sets"
        The name of what is written.
    **params
        Further parameters of :class:`~dominantsets.DominantSets`.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> import pandas as pd
    >>> from dominantsets.scanpy import tl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 5)) + 20.0 * np.repeat(np.eye(5)[:3], 30, axis=0)
    >>> obs = pd.DataFrame(index=[f"cell {k}" for k in range(90)])
    >>> adata = SimpleNamespace(obs=obs, obsm={"X_pca": X}, uns={})   # stands for an AnnData
    >>> tl.dominant_sets(adata, affinity="sqeuclidean")
    >>> adata.obs["dominant_sets"].value_counts().tolist()
    [30, 30, 30]
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise missing_extra("tl.dominant_sets needs", "scanpy", "pandas") from error
    if neighbors_key is not None:
        X, params = _neighbors(adata, neighbors_key), {**params, "affinity": "precomputed"}
    elif use_rep == "X":
        X = adata.X
    elif use_rep in adata.obsm:
        X = adata.obsm[use_rep]
    else:
        known = ", ".join(adata.obsm) or "nothing"
        raise ValueError(f"adata.obsm has no {use_rep!r}, it has {known}; call scanpy.pp.pca(adata) first.")
    model = DominantSets(n_clusters, **params).fit(X)
    names = [str(k) for k in range(model.n_clusters_)]
    adata.obs[key_added] = pd.Categorical.from_codes(model.labels_, names)
    adata.obs[f"{key_added}_probability"] = model.probabilities_
    source = {"use_rep": use_rep} if neighbors_key is None else {"neighbors_key": neighbors_key}
    given = {"n_clusters": n_clusters, **source, **params}
    adata.uns[key_added] = {
        "params": {name: value for name, value in given.items() if value is not None},  # h5ad has no None
        "selection": str(model.selection_),
    }


def _neighbors(adata: Any, key: str) -> Any:
    """The graph of neighbors that scanpy has made."""
    if key not in adata.uns:
        raise ValueError(f"adata.uns has no {key!r}; call scanpy.pp.neighbors(adata) first.")
    return adata.obsp[adata.uns[key].get("connectivities_key", "connectivities")]
