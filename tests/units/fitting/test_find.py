"""What a fit does with what it finds: which clusters stay, what is said of noise, and where it goes on."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dominantsets import DominantSets, End, as_similarity, peel
from dominantsets.clusters.checkpoint import Checkpoint
from dominantsets.clusters.shift import Scale
from support import CORNERS

X, Y = make_blobs(160, centers=CORNERS, random_state=0)


def test_of_one_shift_those_that_stand_alone_stay():
    """Where no number is given: the others are left out, and the labels are theirs."""
    rows = np.vstack([X, np.random.default_rng(0).uniform(-8, 20, size=(80, 2))])
    S = as_similarity(rows, "sqeuclidean")
    shift = Scale(S, S.degrees()).shift(0.0075)
    run = peel(S, shift=shift)
    found = list(run)
    alone = [cluster for cluster, said in zip(found, run.judgements, strict=True) if said.significant]
    assert 0 < len(alone) < len(found)
    model = DominantSets(affinity="sqeuclidean", shift=shift, assign=None).fit(rows)
    assert [c.members.tolist() for c in model.clusters_] == [c.members.tolist() for c in alone]
    with pytest.warns(UserWarning, match="there is one object"):
        one = DominantSets(affinity="sqeuclidean", shift=1.0).fit(rows[:1])
    assert one.n_clusters_ == 1  # a single object is a cluster, though it stands beside nobody


def test_a_run_goes_on_from_where_it_was(tmp_path):
    """From what was there when it died, and from the end, where nothing is left to do."""
    options = {"affinity": "rbf", "shift": 2.0}
    path = str(tmp_path / "run.npz")
    plain = DominantSets(4, **options).fit(X)

    with pytest.MonkeyPatch.context() as patch:
        save = Checkpoint.save

        def save_and_die(self, *what):
            save(self, *what)
            raise SystemError("the machine goes down")

        patch.setattr(Checkpoint, "save", save_and_die)
        with pytest.raises(SystemError):
            DominantSets(4, checkpoint=path, **options).fit(X)
    for _ in range(2):  # the second time all of them are there
        again = DominantSets(4, checkpoint=path, **options).fit(X)
        np.testing.assert_array_equal(again.labels_, plain.labels_)
        assert again.end_ is plain.end_ is End.N_CLUSTERS
