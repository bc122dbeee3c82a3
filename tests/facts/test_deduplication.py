"""Groups of near copies: what is known of made data, and what the certificates claim."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from dominantsets import deduplicate


@pytest.fixture(scope="module")
def made():
    """300 rows in 40 dimensions, and the original of each; the last 60 are changed by a tenth."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 40))
    origin = np.r_[np.arange(240), np.repeat(np.arange(20), 3)]
    return np.vstack([X, X[origin[240:]] + 0.1 * rng.normal(size=(60, 40))]), origin


def groups_of(origin):
    return [np.flatnonzero(origin == k).tolist() for k in range(20)]


@pytest.mark.parametrize(
    ("affinity", "form"),
    [
        ("auto", np.asarray),
        ("auto", np.float32),
        ("auto", sp.csr_array),
        ("cosine", lambda X: 7.0 * X),
        ("euclidean", np.asarray),
        ("precomputed", lambda X: np.clip(normalize(X) @ normalize(X).T, 0.0, 1.0)),
    ],
)
def test_groups_of_copies_are_found(made, affinity, form):
    X, origin = made
    found = deduplicate(form(X), affinity)
    assert [group.tolist() for group in found.groups] == groups_of(origin)
    assert found.kept.size == 240
    assert (origin[found.drops["member"]] == origin[found.drops["keeper"]]).all()


def test_reasons_are_what_they_say(made):
    """Similarities and nearness are computed again from their definition."""
    X, _ = made
    found, unit = deduplicate(X, max_size=50), normalize(X)
    e = 1.0 - unit @ unit.T
    background = np.sort(np.where(np.eye(len(X)), np.inf, e), axis=1)[:, 49]
    near = 1.0 - e / np.minimum(background[:, None], background)
    drops = found.drops
    assert sorted([*found.kept, *drops["member"]]) == list(range(300))
    for member, keeper, similarity, nearness in zip(*drops.values(), strict=True):
        group = found.groups[found.labels[member]]
        others = group[group != member]
        assert keeper == found.keepers[found.labels[member]]
        assert similarity == pytest.approx(1.0 - e[member, keeper])
        assert nearness == pytest.approx(near[member, others].mean())
        assert nearness >= found.boundary
        means = [near[i, group[group != i]].mean() for i in group]
        assert near[keeper, group[group != keeper]].mean() == pytest.approx(max(means))
    least = [background[group].min() for group in found.groups]
    assert found.scales == pytest.approx(1.0 - (1.0 - found.boundary) * np.array(least))
    assert len(found.to_frame()) == 60
    assert str(found).count("\n") == 3


def test_the_start_does_not_matter(made):
    X, origin = made
    for start in (0.2, 0.3, 0.7, 0.8):
        assert [group.tolist() for group in deduplicate(X, start=start).groups] == groups_of(origin)


def test_objects_without_copies_are_kept():
    """All but one in fifty: in few dimensions some are nearer to each other than to anything else."""
    for d in (3, 10, 50):
        found = deduplicate(np.random.default_rng(d).normal(size=(500, d)))
        assert found.kept.size >= 490, d


def test_a_chain_falls_apart():
    """Along an arc each row is near to the next, and the ends are far apart; true copies are beside it."""
    rng = np.random.default_rng(1)
    angle = np.linspace(0.0, np.pi / 2, 12)
    chain = np.zeros((12, 60))
    chain[:, 0], chain[:, 1] = np.cos(angle), np.sin(angle)
    others = np.repeat(normalize(rng.normal(size=(150, 60))), 2, axis=0)
    found = deduplicate(np.vstack([chain, others + 0.02 * rng.normal(size=others.shape)]))
    assert max(group.size for group in found.groups if group[0] < 12) < 12
    assert sum(group[0] >= 12 for group in found.groups) == 150


def test_identical_objects_are_one_group_however_many():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 20))
    found = deduplicate(np.vstack([X, np.repeat(X[:1], 100, axis=0), X[1:3]]))
    assert [group.size for group in found.groups] == [101, 2, 2]
    assert found.keepers.tolist() == [0, 1, 2]  # the first one at a tie
    assert found.drops["similarity"] == pytest.approx(1.0)
    assert (found.drops["nearness"] == 1.0).all()


def test_equal_distances_are_not_cut():
    """Each of 30 rows has two copies at the same angle on opposite sides: neither is left out."""
    Q = np.linalg.qr(np.random.default_rng(3).normal(size=(120, 120)))[0]
    near = 0.1 * Q[60:90]
    found = deduplicate(np.vstack([Q[:60], Q[:30] + near, Q[:30] - near]))
    assert [group.tolist() for group in found.groups] == [[k, 60 + k, 90 + k] for k in range(30)]


def words(rng, count):
    return ["".join(rng.choice(list("abcdefghijklmnop"), 8)) for _ in range(count)]


def test_texts_and_sets():
    rng = np.random.default_rng(4)
    lines = [words(rng, 6) for _ in range(120)]
    lines += [[*line[:5], words(rng, 1)[0]] for line in lines[:15]]
    pairs = [[k, 120 + k] for k in range(15)]
    assert [g.tolist() for g in deduplicate([" ".join(line) for line in lines]).groups] == pairs
    assert [g.tolist() for g in deduplicate([set(line) for line in lines]).groups] == pairs
    found = deduplicate(np.array([" ".join(line) for line in lines], dtype=object))
    assert [g.tolist() for g in found.groups] == pairs


def test_a_graph_and_its_matrix_give_the_same(made):
    X, origin = made
    S = np.clip(normalize(X) @ normalize(X).T, 0.0, 1.0)
    S[S < 0.1] = 0.0
    np.fill_diagonal(S, 0.0)
    one, other = deduplicate(nx.from_numpy_array(S)), deduplicate(sp.csr_array(S), "precomputed")
    assert (one.labels == other.labels).all()
    assert one.drops["nearness"] == pytest.approx(other.drops["nearness"])
    assert [group.tolist() for group in one.groups] == groups_of(origin)


def test_many_rows_are_compared_in_cells():
    """25,000 rows are more than are compared with each other: a few pairs may be missed, none is invented."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((20_000, 24), dtype=np.float32)
    copies = X[:5_000] + np.float32(0.05) * rng.standard_normal((5_000, 24), dtype=np.float32)
    found = deduplicate(np.vstack([X, copies]))
    right = found.drops["member"] % 20_000 == found.drops["keeper"] % 20_000
    assert right.all()
    assert right.sum() >= 4_950


@pytest.mark.parametrize("X", [[[1.0, 2.0]], [[1.0, 2.0], [1.0, 2.1]], np.zeros((4, 2)), ["a b c", "x y z"]])
def test_next_to_nothing(X):
    assert deduplicate(X).kept.size == len(X)


@pytest.mark.parametrize(
    ("X", "options", "sentence"),
    [
        (np.eye(3), {"affinity": "cosin"}, "Did you mean 'cosine'"),
        (np.eye(3), {"start": 1.0}, "start must be between 0 and 1"),
        (np.eye(3), {"start": "low"}, "start must be a finite number"),
        ([], {}, "X is empty"),
        (np.full((2, 3), 1e200), {}, "too large"),
        (np.eye(3), {"max_size": 1}, "max_size must be a whole number"),
        ("one text", {}, "X is one text"),
        (["a text", 3], {}, "mixes texts"),
        ([{"a"}, "a"], {}, "mixes sets"),
        (["", ""], {}, "no text in X has a letter"),
        (np.ones((2, 3)), {"affinity": "precomputed"}, "2 × 3"),
        (3.0 * np.ones((3, 3)), {"affinity": "precomputed"}, "from 0 to 1"),
        (np.triu(np.ones((3, 3))), {"affinity": "precomputed"}, "not symmetric"),
        ([[np.nan, 1.0]], {}, "NaN"),
    ],
)
def test_bad_input_gets_a_sentence(X, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        deduplicate(X, **options)


def test_persons_of_febrl(data_folder):
    for number in (1, 2):
        with np.load(data_folder / "duplicates" / f"febrl_dataset{number}.npz", allow_pickle=False) as data:
            X = sp.csr_array((data["data"], data["indices"], data["indptr"]), shape=tuple(data["shape"]))
            person = data["y"]
        for start in (0.3, 0.5, 0.7):
            labels = deduplicate(X, start=start).labels
            alike = (labels[:, None] == labels) & (labels >= 0)
            same = person[:, None] == person
            np.fill_diagonal(alike, False)
            np.fill_diagonal(same, False)
            assert 2 * (alike & same).sum() >= 0.98 * (alike.sum() + same.sum())


def test_more_copies_than_the_largest_group_are_said():
    """Sixty copies of one object are each other's background, unless groups may be larger."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 50))
    crowd = np.vstack([X, X[0] + 0.05 * rng.normal(size=(60, 50))])
    with pytest.warns(
        UserWarning, match="61 objects have 50 others that are unusually near: if these are copies"
    ):
        assert not deduplicate(crowd).groups
    assert [group.size for group in deduplicate(crowd, max_size=100).groups] == [61]
