"""Nearest rows on a device, against all distances."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dominantsets.rows import tensor_points  # noqa: E402

CPU = torch.device("cpu")


@pytest.mark.parametrize("d", [2, 40])
@pytest.mark.parametrize(("kind", "offset"), [("float32", 0.0), ("float32", 1e4), ("float64", 1e9)])
@pytest.mark.parametrize("spare", [tensor_points.SPARE, 0])
def test_they_are_the_nearest_and_the_first_of_equal_ones(d, kind, offset, spare, monkeypatch):
    monkeypatch.setattr(tensor_points, "SPARE", spare)
    monkeypatch.setattr(tensor_points, "BLOCK_NUMBERS", {"cpu": 2**15})
    rng = np.random.default_rng(0)
    rows = (offset + rng.normal(size=(700, d))).astype(kind)
    rows[300:330] = rows[5]  # more copies than are asked for
    new = np.vstack([(offset + rng.normal(size=(90, d))).astype(kind), rows[::7], rows[300:302]])
    found, which = tensor_points.Landmarks(rows, 6, CPU).kneighbors(torch.tensor(new))
    away = np.sqrt(np.square(new[:, None].astype(float) - rows.astype(float)).sum(axis=2))
    true = np.argsort(away, axis=1, kind="stable")[:, :6]
    np.testing.assert_allclose(found, np.take_along_axis(away, true, axis=1), rtol=1e-12)
    np.testing.assert_array_equal(which, true)
    assert (found[90:, 0] == 0.0).all()


def test_near_rows_that_products_do_not_tell_apart():
    rng = np.random.default_rng(0)
    rows = np.vstack([1e4 * np.eye(2)[[0]] + 1e-2 * rng.normal(size=(500, 2)), [[-1e4, 0.0]] * 500])
    found = tensor_points.Landmarks(rows, 4, CPU).kneighbors(torch.tensor(rows[:50]))[0]
    away = np.sqrt(np.square(rows[:50, None] - rows).sum(axis=2))
    np.testing.assert_allclose(found, np.sort(away, axis=1)[:, :4])


def test_fewer_rows_than_are_asked_for():
    found, which = tensor_points.Landmarks(np.array([[0.0], [3.0]]), 5, CPU).kneighbors(torch.tensor([[2.0]]))
    assert found.tolist() == [[1.0, 2.0]]
    assert which.tolist() == [[1, 0]]
