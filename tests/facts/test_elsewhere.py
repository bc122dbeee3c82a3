"""At home elsewhere: networkx, BERTopic, scikit-learn's callbacks, output and configuration."""

from __future__ import annotations

import runpy
from importlib.util import find_spec
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dominantsets import DominantSetHierarchy, DominantSets, End, as_similarity, solve

CENTERS = [(9 * i, 9 * j) for i in range(2) for j in range(3)]
X, Y = make_blobs(300, centers=CENTERS, random_state=0)


class TestNetworkx:
    def test_a_graph_is_its_matrix(self):
        graph = nx.les_miserables_graph()
        A = nx.to_scipy_sparse_array(graph, format="csr", dtype=float)
        for given in (graph, nx.relabel_nodes(graph, {name: k for k, name in enumerate(graph)})):
            model = DominantSets(4).fit(given)
            expected = DominantSets(4, affinity="precomputed").fit(A)
            np.testing.assert_array_equal(model.labels_, expected.labels_)
            assert model.affinity_ == "precomputed"
            np.testing.assert_array_equal(model.predict(A[:5]), expected.predict(A[:5]))
        assert solve(graph).members.tolist() == solve(A).members.tolist()
        tree = DominantSetHierarchy(affinity="precomputed").fit(graph)
        assert tree.labels_.size == len(graph)

    def test_edges_without_weights_and_edges_that_are_many(self):
        np.testing.assert_array_equal(
            as_similarity(nx.complete_graph(4)).toarray(), np.ones((4, 4)) - np.eye(4)
        )
        many = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
        assert as_similarity(many).toarray().tolist() == [[0, 2, 0], [2, 0, 1], [0, 1, 0]]

    def test_lengths_are_distances(self):
        graph = nx.Graph()
        graph.add_weighted_edges_from(
            (i, j, 1.0 + (i // 5 != j // 5) * 9) for i in range(10) for j in range(i)
        )
        model = DominantSets(2, affinity="precomputed_distance").fit(graph)
        assert len(set(model.labels_[:5])) == len(set(model.labels_[5:])) == 1
        assert model.labels_[0] != model.labels_[9]

    @pytest.mark.parametrize(
        ("graph", "options", "words"),
        [
            (nx.DiGraph([(0, 1)]), {"affinity": "precomputed_distance"}, "directed"),
            (nx.Graph(), {}, "no nodes"),
            (nx.path_graph(4), {"affinity": "rbf"}, "affinity='rbf' is for features"),
        ],
    )
    def test_what_it_is_not(self, graph, options, words):
        with pytest.raises(ValueError, match=words):
            DominantSets(**options).fit(graph)


class StandIn:
    """What BERTopic 0.17 does with ``hdbscan_model=``, call by call (bertopic/_bertopic.py)."""

    def __init__(self, hdbscan_model):
        self.hdbscan_model = hdbscan_model

    def fit_transform(self, embeddings, y=None):
        try:
            self.hdbscan_model.fit(embeddings, y=y)
        except TypeError:
            self.hdbscan_model.fit(embeddings)
        try:
            labels = self.hdbscan_model.labels_
        except AttributeError:
            labels = y
        probabilities = None
        if hasattr(self.hdbscan_model, "probabilities_"):
            probabilities = self.hdbscan_model.probabilities_
        frame = pd.DataFrame({"Document": range(len(embeddings))})
        frame["Topic"] = labels  # a column of whole numbers, -1 for outliers
        return frame["Topic"].tolist(), probabilities

    def transform(self, embeddings):
        return self.hdbscan_model.predict(embeddings), None

    def partial_fit(self, embeddings):
        self.hdbscan_model = self.hdbscan_model.partial_fit(embeddings)
        return self.hdbscan_model.labels_


class TestBertopic:
    embeddings = np.random.default_rng(0).normal(size=(200, 5)).astype(np.float32)
    embeddings[:100] += 9

    def test_fit_and_transform(self):
        model = DominantSets()
        before = self.embeddings.copy()
        topics, probabilities = StandIn(model).fit_transform(self.embeddings)
        assert {type(topic) for topic in topics} == {int}
        assert set(topics) - {-1} == set(range(model.n_clusters_))
        assert len({*topics[:100]} & {*topics[100:]} - {-1}) == 0
        assert probabilities.shape == (200,)
        assert probabilities.min() >= 0
        assert probabilities.max() <= 1
        assert (probabilities[np.array(topics) == -1] == 0).all()
        predicted, _ = StandIn(model).transform(self.embeddings[:7])
        assert predicted.tolist() == topics[:7]
        np.testing.assert_array_equal(self.embeddings, before)

    def test_topics_that_are_known(self):
        """Semi-supervised runs pass y, which has no effect."""
        topics, _ = StandIn(DominantSets()).fit_transform(self.embeddings, y=np.repeat([0, -1], 100))
        assert topics == StandIn(DominantSets()).fit_transform(self.embeddings)[0]

    def test_bertopic_itself(self, tmp_path, monkeypatch, capsys):
        """The example, where BERTopic is installed; without it, a sentence."""
        monkeypatch.chdir(tmp_path)
        runpy.run_path(str(Path(__file__).parents[2] / "examples" / "topics_bertopic.py"))
        said, pictures = capsys.readouterr().out, list(tmp_path.iterdir())
        if find_spec("bertopic") is None:
            assert (said.strip(), pictures) == ("pip install bertopic, and run this page again", [])
        else:
            assert "as new ones" in said
            assert [path.name for path in pictures] == ["topics_bertopic.png"]

    def test_batches(self):
        order = np.random.default_rng(1).permutation(200)
        topic_model = StandIn(DominantSets())
        for batch in np.array_split(order, 4):
            labels = topic_model.partial_fit(self.embeddings[batch])
            assert labels.shape == (50,)
        predicted, _ = topic_model.transform(self.embeddings)
        assert len(set(predicted[:100]) & set(predicted[100:]) - {-1}) == 0


class Recorder:
    """A callback in scikit-learn's protocol."""

    def __init__(self, stop_at=None):
        self.told = []
        self.stop_at = stop_at
        self.fitted = None

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.told.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
        self.told.append(("end", context.task_name, context.task_id))
        self.fitted = fitted_estimator
        return context.task_name == "cluster" and context.task_id == self.stop_at


class TestCallbacks:
    @pytest.fixture(autouse=True)
    def _needs_them(self):
        pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has no callbacks")

    def test_every_cluster_is_a_task_of_the_fit(self):
        for options in ({}, {"affinity": "path"}, {"affinity": "rbf", "shift": 1.0}):
            recorder = Recorder()
            model = DominantSets(6, **options).set_callbacks(recorder).fit(X)
            clusters = [(hook, "cluster", k) for k in range(model.n_clusters_) for hook in ("begin", "end")]
            assert recorder.told == ["setup", ("begin", "fit", 0), *clusters, ("end", "fit", 0), "teardown"]
            np.testing.assert_array_equal(recorder.fitted.predict(X), model.predict(X))
            np.testing.assert_array_equal(model.labels_, DominantSets(6, **options).fit(X).labels_)

    @pytest.mark.filterwarnings("ignore:fitting ended early")
    def test_one_may_stop_the_fit(self):
        recorder = Recorder(stop_at=1)
        model = DominantSets(6, affinity="sqeuclidean").set_callbacks(recorder).fit(X)
        assert model.end_ is End.STOPPED
        assert 2 <= model.n_clusters_ < 6
        assert recorder.told[-1] == "teardown"

    def test_a_fit_with_weights_ends_when_its_copies_are_one_again(self):
        recorder = Recorder()
        weights = np.random.default_rng(0).integers(1, 4, size=len(X))
        model = DominantSets(6, affinity="sqeuclidean").set_callbacks(recorder).fit(X, sample_weight=weights)
        assert recorder.told.count(("end", "cluster", 5)) == recorder.told.count(("end", "fit", 0)) == 1
        assert recorder.fitted.labels_.shape == (len(X),)
        np.testing.assert_array_equal(recorder.fitted.labels_, model.labels_)

    def test_all_three_kinds_at_once(self):
        """The bar is no terminal's here; the user's callback and scikit-learn's are both told."""
        recorder, told = Recorder(), []
        DominantSets(
            6, affinity="sqeuclidean", callback=lambda p: told.append(p.n_clusters), verbose=1
        ).set_callbacks(recorder).fit(X)
        assert told
        assert ("end", "cluster", 5) in recorder.told

    def test_what_goes_wrong_is_torn_down(self):
        recorder = Recorder()
        model = DominantSets(6).set_callbacks(recorder)
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.full((9, 2), np.nan))

        def fail(progress):
            raise RuntimeError("of the user")

        model = DominantSets(6, affinity="sqeuclidean", callback=fail).set_callbacks(recorder)
        with pytest.raises(RuntimeError, match="of the user"):
            model.fit(X)
        assert recorder.told[-1] == "teardown"

    def test_in_a_pipeline(self, capsys):
        pytest.importorskip("rich")
        from sklearn.callback import ProgressBar

        pipeline = make_pipeline(StandardScaler(), DominantSets(6)).set_callbacks(ProgressBar())
        pipeline.fit(X)
        assert "DominantSets - fit" in capsys.readouterr().out
        assert not hasattr(clone(pipeline[-1]), "labels_")

    def test_scores_at_the_end(self):
        from sklearn.callback import ScoringMonitor

        monitor = ScoringMonitor(scoring="adjusted_rand_score")
        DominantSets(6, affinity="sqeuclidean").set_callbacks(monitor).fit(X, Y)
        assert monitor.get_logs() is not None

    def test_warnings_are_those_of_the_callers_line(self):
        with pytest.warns(UserWarning, match="one object") as caught:
            DominantSets(1).fit([[0.0]])
        assert caught[0].filename == __file__


class TestOutput:
    def test_frames_come_out_of_transform(self):
        frame = pd.DataFrame(X, columns=["a", "b"], index=range(1000, 1300))
        model = DominantSets(6, affinity="sqeuclidean").set_output(transform="pandas").fit(frame)
        out = model.transform(frame)
        assert (
            list(out.columns) == [f"dominantsets{k}" for k in range(6)] == list(model.get_feature_names_out())
        )
        assert out.index.tolist() == list(range(1000, 1300))
        np.testing.assert_allclose(out, DominantSets(6, affinity="sqeuclidean").fit(X).transform(X))
        with sklearn.config_context(transform_output="pandas"):
            assert isinstance(
                make_pipeline(StandardScaler(), DominantSets(2)).fit_transform(frame), pd.DataFrame
            )

    @pytest.mark.skipif("sparse_interface" not in sklearn.get_config(), reason="scikit-learn before 1.9")
    @pytest.mark.parametrize("interface", ["sparray", "spmatrix"])
    @pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
    def test_either_kind_of_sparse_matrix(self, interface, kind):
        with sklearn.config_context(sparse_interface=interface):
            A = kind(nx.to_scipy_sparse_array(nx.les_miserables_graph(), format="csr", dtype=float))
            graph = DominantSets(3, affinity="precomputed").fit(A)
            rows = DominantSets(3, affinity="cosine").fit(kind(np.abs(X)))
            for model, data in ((graph, A), (rows, kind(np.abs(X)))):
                assert model.predict(data).shape == (data.shape[0],)
                assert isinstance(model.membership_matrix_, sp.sparray)
        plain = DominantSets(3, affinity="precomputed").fit(sp.csr_array(A))
        np.testing.assert_array_equal(graph.labels_, plain.labels_)
