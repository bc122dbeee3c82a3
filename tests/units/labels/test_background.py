"""The level between groups and background, beside a plain form; places and comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import special_ortho_group

from dominantsets import as_similarity
from dominantsets.labels import background
from dominantsets.labels.background import _alike, _hull, _level, find_background
from dominantsets.labels.noise import larger
from dominantsets.similarity.isolation import isolation_of


def ring_in_noise(d: int, n: int = 300, m: int = 120, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0.0, 2.0 * np.pi, n)
    ring = np.zeros((n, d))
    ring[:, 0] = np.cos(angles)
    ring[:, -1] += np.sin(angles) * (d > 1)
    return np.concatenate([ring + rng.normal(size=(n, d)) * 0.02, rng.uniform(-1.5, 1.5, size=(m, d))])


def test_isolation_is_the_fifth_smallest_distance():
    X = np.random.default_rng(0).normal(size=(40, 3))
    D = np.sort(cdist(X, X), axis=1)
    found = isolation_of(as_similarity(X, "path"))
    np.testing.assert_allclose(found.of_objects(), D[:, 5])  # the first is the object itself
    np.testing.assert_allclose(found.of_new(X), D[:, 5])
    places = X + 0.5
    np.testing.assert_allclose(found.of_places(places), np.sort(cdist(places, X), axis=1)[:, 4])
    assert isolation_of(as_similarity(X, "sqeuclidean")) is None


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_level_has_the_fewest_objects_on_the_wrong_side(d):
    """Every level between two objects, tried one by one."""
    X = ring_in_noise(d)
    n, isolation = len(X), isolation_of(as_similarity(X, "path"))
    r = isolation.of_objects()
    found = _level(X, r, isolation)
    s = np.sort(cdist(found.places, X), axis=1)[:, 4]
    share = min(1.0, 2.0 * (r >= np.median(s)).mean())
    assert found.share == share

    def wrong(level: float) -> float:
        behind = n * share * (s <= level).mean()
        return behind + (r > level).sum() - n * share * (s > level).mean()

    levels = np.unique(r)
    best = min(wrong(level) for level in levels)
    assert n * found.wrong == pytest.approx(best)
    assert (r > found.level).sum() == (r > min(levels, key=wrong)).sum()


def test_the_share_of_pairs():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, 30).astype(float), rng.integers(0, 9, 50).astype(float)
    pairs = (a[:, None] > b).mean() + 0.5 * (a[:, None] == b).mean()
    assert larger(a, b)[0] == pytest.approx(pairs)


def test_places_are_drawn_evenly_from_the_hull_or_with_the_rows_moments():
    rng = np.random.default_rng(0)
    triangle = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    places = _hull(triangle)
    assert ((places >= -1e-9).all(axis=1) & (places.sum(axis=1) <= 1.0 + 1e-9)).all()
    np.testing.assert_allclose(places.mean(axis=0), [1 / 3, 1 / 3], atol=0.03)
    assert _hull(np.column_stack([triangle, triangle.sum(axis=1)])) is None  # they lie in a plane
    assert _hull(rng.normal(size=(50, 3))) is None  # mostly empty corners
    rows = rng.normal(size=(4_000, 6)) @ rng.normal(size=(6, 6))
    places = _alike(rows, np.random.RandomState(0))
    np.testing.assert_allclose(places.mean(axis=0), rows.mean(axis=0), atol=0.4)
    scale = np.sqrt(np.outer(*2 * [rows.var(axis=0)]))
    np.testing.assert_allclose(np.cov(places.T) / scale, np.cov(rows.T) / scale, atol=0.12)


@pytest.mark.parametrize("d", [2, 3, 5, 10])
@pytest.mark.parametrize("turned", [False, True])
def test_a_ring_in_noise(d, turned):
    X = ring_in_noise(d)
    X = X @ special_ortho_group.rvs(d, random_state=0) if turned else X
    found = find_background(as_similarity(X, "path"))
    assert found.objects[:300].mean() < 0.02
    assert found.objects[300:].mean() > 0.75


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda r: r.normal(size=(40, 2)), "too few"),
        (lambda r: r.normal(size=(100, 11)), "features"),
        (lambda r: np.zeros((100, 2)), "copies"),
        (lambda r: r.uniform(size=(600, 2)), "too many for a background"),
        # a dense and a sparse cluster: the sparse one keeps together
        (lambda r: np.concatenate([r.normal(size=(300, 2)) * 0.1, r.uniform(size=(150, 2)) + 6.0]), ""),
        (lambda r: r.normal(size=(1_000, 2)), ""),
    ],
)
def test_what_is_no_background(make, why):
    for seed in range(3):
        found = find_background(as_similarity(make(np.random.default_rng(seed)), "path"))
        assert not found.objects.any()
        assert not found.is_found
        assert found.sentence.startswith("no object is labelled noise: ")
        assert why in found.sentence


def test_hardly_any_set_without_a_background_has_one():
    """Normal, skewed, heavy-tailed and even data, and clusters of unlike sizes; 5 % may have one."""
    false = 0
    for seed in range(40):
        rng = np.random.default_rng([5, seed])
        n, d = int(rng.integers(60, 800)), int(rng.integers(1, 6))
        kinds = (
            rng.normal(size=(n, d)),
            rng.uniform(size=(n, d)),
            rng.standard_t(3, size=(n, d)),
            rng.lognormal(size=(n, d)),
            np.concatenate([rng.normal(size=(n // 3, d)) * w + 9.0 * w for w in (0.3, 1.0, 3.0)]),
        )
        false += sum(find_background(as_similarity(X, "path")).is_found for X in kinds)
    assert false <= 0.05 * 200


def test_fewer_objects_than_a_background_needs(monkeypatch):
    X = ring_in_noise(2)
    monkeypatch.setattr(background, "FEWEST", 150)
    assert "no background was found" in find_background(as_similarity(X, "path")).sentence
