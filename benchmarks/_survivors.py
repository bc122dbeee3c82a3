"""Why no test kills a mutant: by file, then by ``function: change``.

True where the changed code does the same for every input that it can get, so that no test could tell.
"""

from __future__ import annotations

ALLOWANCE = (False, "an allowance for rounding: more or less of it is seen in no answer")
TIE = (False, "an exact tie of two rounded numbers; either answer is right")
SPEED = (True, "speed only: what is passed over, or looked at first, does not change the answer")
OVERWRITTEN = (True, "a first value that is always replaced")
SAME_VALUE = (True, "where they are equal, what is assigned is what was there")
NEGATIVE = (True, "any number below 0 stands for none")
ROOM = (True, "more room than is used")
FALSY = (True, "what is asked is only whether it is true")
MERGE = (True, "a parent is a merge, never leaf 0")
SIZE = (False, "a size chosen for speed and memory: answers do not depend on it")

SLOW = (False, "the tests that see it are slow, and left out here")
CHANCE = (False, "another seed: answers are as good")
BEGINS = (False, "where a search begins: it ends at the same")
TRIED = (False, "which values are tried: a choice, and others would do")

REASONS: dict[str, dict[str, tuple[bool, str]]] = {
    "clusters/balls.py": {"distinct: 1 -> 2": ROOM},
    "clusters/checkpoint.py": {"Checkpoint.save: 2 -> 3": (False, "at which line a warning points")},
    "clusters/claims.py": {
        "Claims._is_new: 0 -> 1": (True, "a set has at least one object"),
        "Claims._is_new: 1 -> 2": ROOM,
        "Claims.expect: SAME * sizes -> SAME / sizes": SPEED,
        "Claims.expect: sizes - fresh <= SAME * sizes -> sizes - fresh < SAME * sizes": SPEED,
        "Claims.expect: sizes - fresh -> sizes + fresh": SPEED,
    },
    "studies/graph_shift.py": {
        "graph_shift: 1 -> 2": ROOM,
        "_Register.number: mode.weights > TINY * mode.weights.max() -> mode.weights >= TINY * "
        "mode.weights.max()": TIE,
    },
    "clusters/elliptic.py": {
        "_ball: 0.7 -> 1.7": BEGINS,
        "_ball: square - t[some] -> square + t[some]": BEGINS,
        "_ball: 0.0 -> 1.0": BEGINS,
        "metrics: 1 -> 2": (True, "both are the number of features"),
        "label_by_ellipses: 0 -> 1": SLOW,
        "_ball: weights > 0.0 -> weights >= 0.0": (False, "a start with weights of 0: the end is the same"),
        "_ball: 1e-12 * max(float(t.max()), 1e-300) -> 1e-12 / max(float(t.max()), 1e-300)": ALLOWANCE,
        "_ball: 0.7 * square -> 0.7 / square": (
            False,
            "where a smaller ball begins: it ends at the same set",
        ),
        "_ball: 1 -> 2": (False, "a cluster without objects: its start has two instead of one"),
        "_ball: 1e-300 -> 1.0": ALLOWANCE,
    },
    "clusters/evidence.py": {
        "dimension: 1e-300 -> 1.0": (False, "matters only where all distances are below 1e-12"),
    },
    "clusters/filling.py": {
        "fillers: t <= max(tree.place(node)[1], t.min()) -> t < max(tree.place(node)[1], t.min())": TIE,
        "fillers: 0.0 -> 1.0": (False, "a group that explains less than a nat of all objects: not seen"),
        "fillers: 1 -> 2": NEGATIVE,
    },
    "clusters/minimum_size.py": {
        "sufficient_shift: return False -> return None": FALSY,
        "sufficient_shift: high > CLOSE * low -> high >= CLOSE * low": TIE,
    },
    "clusters/modes.py": {
        ": 2.0 -> 3.0": TRIED,
        "ModeTree._change: 1 -> 2": (False, "a ball of a single object, which no group is"),
        "_empty: 1 -> 2": NEGATIVE,
        "_empty: 2 -> 3": ROOM,
        "ModeTree._advance: state.holder < 0 -> state.holder <= 0": SPEED,
        "ModeTree._advance: 0 -> 1": SPEED,
        "ModeTree._grow: 1e-300 -> 1.0": (False, "matters only where all objects are one place"),
        "ModeTree.balls: 1.0 -> 2.0": SPEED,
        "ModeTree.nodes: state.died[a] < 0 -> state.died[a] <= 0": (
            False,
            "a ball that is absorbed at the first level of all: no data are known that have one",
        ),
    },
    "clusters/multistart.py": {
        "multistart: 0 -> 1": (True, "a number that stands for any object"),
        "MultiStart._accept: False -> True": (
            True,
            "where nothing is accepted and nothing is small, one was not coherent",
        ),
    },
    "fitting/nested.py": {
        "alone: 0.0 -> 1.0": (False, "the level of a group that has no dominant set"),
        "Nested.__init__: 0 -> 1": (
            False,
            "a root that has no objects left: no data are known that have one",
        ),
    },
    "fitting/nested_graph.py": {
        "nested_graph: 0 -> 1": (True, "the first group is the first of those that are kept, too"),
        "nested_graph: found[k].parent >= 0 -> found[k].parent > 0": (
            True,
            "the first group is the first of those that are kept, too",
        ),
        "_levels: 0.0 -> 1.0": (True, "the level of a group with itself is 0, and among them"),
    },
    "fitting/nested_path.py": {
        "_Tree.core: found.strict -> not found.strict": (False, "what is known is not proved once more"),
        "_Tree.core: 0.5 -> 1.5": (False, "a set that begins where kappa is 0: single objects"),
        "_Tree.node_of: 0 -> 1": MERGE,
        "_homes: 0 -> 1": MERGE,
        "_Tree.__init__: above >= 0 -> above > 0": MERGE,
        "_Tree.__init__: 0 -> 1": MERGE,
        "_Tree.__init__: 0.0 -> 1.0": (False, "a root that is no set: no data are known that have one"),
        "_Tree.core: True -> False": SPEED,
        "_grown: 0 -> 1": (
            False,
            "whose objects are of several groups, or of none: in forests, at a time limit",
        ),
    },
    "fitting/nested_points.py": {
        "_grown: chain >= 0 -> chain > 0": (False, "a merge about the first ball of all: not seen"),
        "_grown: 1.0 -> 2.0": (True, "weights are divided by their sum"),
        "nested_points: life.level >= 0 -> life.level > 0": (
            False,
            "a group that is taken at the first level of all: no data are known that have one",
        ),
        "_by_centre: 0.0 -> 1.0": (True, "a gain that nobody reads"),
        "_grown: node.level >= 0 -> node.level > 0": (
            False,
            "a group that is taken at the first level of all: no data are known that have one",
        ),
        "_early: 0 -> 1": (
            False,
            "a group that is taken at the first level of all: no data are known that have one",
        ),
    },
    "clusters/overlapping.py": {
        "_Search.deflate: 2.0 * strength -> 2.0 / strength": (
            False,
            "how much more is taken off where that was old: a few sets are found either way",
        ),
        "_Search.tabu: left.n_alive > 1 -> left.n_alive >= 1": (
            False,
            "a single object that is left: from it nothing is found that was not there",
        ),
        "_Search.take: return False -> return None": FALSY,
        "_Search.deflate: 2.0 -> 3.0": (
            False,
            "how much is taken off at first: it is doubled where that is old",
        ),
        "_sorted: max_overlap >= 1.0 -> max_overlap > 1.0": SPEED,
        "DominantSetList.overlaps: 1.0 -> 2.0": (True, "a factor of both parts of a ratio"),
    },
    "clusters/peeling.py": {
        ": 1 -> 2": (False, "sets of one object, where resolutions are compared"),
        "Extraction._cut: found.weights > self._options.cutoff -> found.weights >= self._options.cutoff": TIE,
        "Extraction._incoherent: found.threshold <= self.coherence -> found.threshold < self.coherence": TIE,
        "Extraction._no_similarity_left: similarity.rounding * problem.n_alive -> similarity.rounding / "
        "problem.n_alive": ALLOWANCE,
        "peel: algorithm == 'auto' -> algorithm != 'auto'": (False, "copies are put together for speed"),
        "Extraction._no_similarity_left: RESIDUE * self._largest_degree -> RESIDUE / "
        "self._largest_degree": ALLOWANCE,
    },
    "fitting/samples.py": {
        ": 20000 -> 20001": SIZE,
        ": 2000 -> 2001": SIZE,
        ": 1000000 -> 1000001": SIZE,
    },
    "clusters/sampling.py": {
        ": 500 -> 501": SIZE,
        ": 400 -> 401": SIZE,
        "sample_starts: alive > pool -> alive >= pool": CHANCE,
        ": 1500 -> 1501": SIZE,
    },
    "clusters/scales.py": {
        "OwnScales._solve: 1 -> 2": SPEED,
        "OwnScales._is_whole: len(found) >= self._least -> len(found) > self._least": SPEED,
        "all_solved: ball.weights / ball.weights.sum() -> ball.weights * ball.weights.sum()": (
            False,
            "weights of a ball add up to 1, but for rounding",
        ),
        "Scales._instead: wanted * len(found) * self.objects.size -> wanted * len(found) / "
        "self.objects.size": SIZE,
        "Scales._look: len(self.alone) < wanted -> len(self.alone) <= wanted": (
            False,
            "none more are wanted, and none are found",
        ),
        "Scales._fill_up: float(t.max(initial=0.0)) or 1.0 -> float(t.max(initial=0.0)) and 1.0": (
            False,
            "matters only where all objects are one place",
        ),
        "Scales._fill_up: 0.5 * nearest -> 0.5 / nearest": (False, "a ball of copies: they are in it anyhow"),
        "Scales._distances: nearest == k -> nearest != k": (
            False,
            "a centre that all objects are nearest to",
        ),
        "Scales._fill_up: np.arange(m) == i -> np.arange(m) != i": (
            False,
            "what coordinates leave out: only of samples of matrices",
        ),
        "Scales.more: return False -> return None": FALSY,
        "Scales.more: 1.0 -> 2.0": NEGATIVE,
        "Scales._fill_up: 50 -> 51": SIZE,
        "OwnScales.restore: abs(self._shift(k) - cluster.shift) <= 1e-09 * (1.0 + abs(cluster.shift)) -> "
        "abs(self._shift(k) - cluster.shift) < 1e-09 * (1.0 + abs(cluster.shift))": TIE,
        "Scales._fill_up: len(self.balls) >= min(wanted, m) -> len(self.balls) > min(wanted, m)": SPEED,
        "Scales._about: 50 -> 51": SIZE,
        "starts_from: 0 -> 1": (True, "a place that is compared with the member, and is another's"),
        "Scales._about: 0.0 -> 1.0": (False, "where the search for a radius begins: it ends at the same"),
        "OwnScales.restore: 1.0 -> 2.0": ALLOWANCE,
        "Scales.hidden: n_groups * NEARLY > found -> n_groups * NEARLY >= found": TIE,
    },
    "clusters/selection.py": {
        "_fewer: worth > best[0] -> worth >= best[0]": TIE,
        ": 3.5 -> 4.5": TRIED,
    },
    "clusters/shift.py": {
        ": 64 -> 65": SIZE,
        ": 2000 -> 2001": SIZE,
        ": 2.0 -> 3.0": TRIED,
        ": 1 -> 2": TRIED,
    },
    "clusters/tree_cut.py": {
        "_dominant: 1e-12 -> 1.000000000001": (False, "sets that are some only at shifts below 0: not seen"),
        "_by_size: 1 -> 2": (True, "any number below 0 stands for the rest"),
        "_strengths: weak > AHEAD -> weak >= AHEAD": (False, "one strength more is told than is used"),
        "_dominant: 0 -> 1": MERGE,
    },
    "fitting/separation.py": {
        "conductances: 1.0 -> 2.0": (True, "it is clipped to 1"),
        "conductances: 0.0 -> 1.0": ALLOWANCE,
        "conductances: 1e-300 -> 1.0": (False, "matters only where a group has next to no links"),
    },
    "clusters/significance.py": {
        ": 20000 -> 20001": SIZE,
    },
    "fitting/selection.py": {
        "_row: 700.0 -> 701.0": SIZE,
        "_row: 0 -> 1": (True, "a number that the labels replace"),
        "of_groups: 700.0 -> 701.0": SIZE,
        "Selection.labelled: 8 -> 9": SIZE,
        ": 40 -> 41": SIZE,
        "of_ellipses: 0 -> 1": (True, "a number that the labels replace"),
        "of_groups: 0 -> 1": (True, "a number that the labels replace"),
    },
    "labels/average.py": {
        "predict_by_payoff: payoffs > core.level -> payoffs >= core.level": TIE,
        "assign_by_average: left.size and len(clusters) -> left.size or len(clusters)": SPEED,
    },
    "labels/clouds.py": {
        ": 0.0001 -> 1.0001": TRIED,
        ": 2 -> 3": SIZE,
        "fit_clouds: behind_all > 1.0 -> behind_all >= 1.0": TIE,
        "fit_clouds: likelihood + 0.5 * n * clouds.dimension * np.log(unit) -> likelihood - 0.5 * n * "
        "clouds.dimension * np.log(unit)": (False, "when a fit counts as steady while its dimension changes"),
        "fit_clouds: free and (round_ >= HELD or calm) -> free or (round_ >= HELD or calm)": (
            False,
            "how soon a dimension may change that is free, or held",
        ),
        "_gain: 0.5 -> 1.5": (True, "equal shares, whatever they are, are the same parts in the first round"),
        "_gain: 0.0 -> 1.0": (True, "the similarity to oneself, for which nobody asks there"),
        "gain_of_two: 20 -> 21": (False, "rounds until the longest axis is found: one more changes little"),
        "fit_clouds: sums[:, 0] + 1e-09 -> sums[:, 0] - 1e-09": ALLOWANCE,
        ": 8 -> 9": TRIED,
    },
    "studies/correlation.py": {"_Search.visit: top < -self.rounding -> top <= -self.rounding": TIE},
    "labels/ellipses.py": {
        "fit_ellipses: 0.0 -> 1.0": OVERWRITTEN,
        "fit_ellipses: background is not None -> background is None": (
            False,
            "where a fit begins: it ends at the same",
        ),
    },
    "labels/mixture.py": {
        "judge_noise: gain <= GAIN * clouds.noise -> gain < GAIN * clouds.noise": TIE,
        "_nearness: fit.outside > 0.5 -> fit.outside >= 0.5": TIE,
        "label_by_clouds: len(alone) < len(starts) -> len(alone) <= len(starts)": (
            True,
            "where they are as many, there are none that stand alone besides",
        ),
    },
    "labels/partition.py": {
        "_noise: np.count_nonzero(far) > max(5.0, NOISY * np.count_nonzero(outside)) -> "
        "np.count_nonzero(far) >= max(5.0, NOISY * np.count_nonzero(outside))": TIE,
    },
    "labels/refinement.py": {"_Table.best: 1.0 + 1e-12 -> 1.0 - 1e-12": ALLOWANCE},
    "compiled/boxes.py": {
        "shrink: inside < -1e-09 * half * half -> inside <= -1e-09 * half * half": TIE,
        "survey: sums * (abs(tau) + longest * (high - low).sum()) -> sums / (abs(tau) + longest "
        "* (high - low).sum())": ALLOWANCE,
        "shrink: 1.0 -> 2.0": (True, "a hole that ends before it begins is none, wherever it begins"),
        "survey: (high - low).sum() + np.sqrt(((v - p) ** 2).sum()) -> (high - low).sum() - np.sqrt(((v - p) "
        "** 2).sum())": ALLOWANCE,
        "survey: inside + 16.0 -> inside - 16.0": ALLOWANCE,
        "survey: top + slack -> top - slack": ALLOWANCE,
        "scatter: 4.0 -> 5.0": ALLOWANCE,
        "visit: tau < guess -> tau <= guess": (True, "the second pass finds the same tau"),
    },
    "compiled/clouds.py": {
        "expect: logs[k] > top - FAINT -> logs[k] >= top - FAINT": TIE,
        "expect: 0 -> 1": OVERWRITTEN,
        ": 40.0 -> 41.0": (
            False,
            "parts below 4e-18 of the largest: under the rounding of what they are added to",
        ),
        "expect: logs[k] + rest[k] > high -> logs[k] + rest[k] >= high": SAME_VALUE,
        "expect: logs[k] > top -> logs[k] >= top": SAME_VALUE,
        "expect: logs[k] + rest[k] -> logs[k] - rest[k]": (
            False,
            "what a sum of powers is measured from: it is the same but where powers overflow",
        ),
    },
    "compiled/cuts.py": {
        "sized_cuts: 1 -> 2": NEGATIVE,
        "root_forest: 1 -> 2": NEGATIVE,
        "root_forest: 2 -> 3": ROOM,
    },
    "compiled/embedding.py": {
        ": 64 -> 65": ALLOWANCE,
        "weigh: ties < total -> ties <= total": (
            True,
            "the bandwidth that is sought is 0 then, and so are weights",
        ),
        "weigh: distances[i, k - 1] - nearest -> distances[i, k - 1] + nearest": (
            True,
            "where the search for the bandwidth begins, not where it ends",
        ),
    },
    "compiled/graph.py": {
        "ascend: 0 -> 1": (
            True,
            "overwritten at once; and a set of one node has a negative value, so is none",
        ),
        "ascend: high - low <= tol * (abs(high) + shift * x[best]) -> high - low < tol * (abs(high) "
        "+ shift * x[best])": TIE,
        "ascend: 1e-300 -> 1.0": ALLOWANCE,
    },
    "compiled/loop.py": {
        "exchange: 0 -> 1": (False, "of exactly equal payoffs at 0 and 1 the second, not the first"),
        "step: curvature > 0.0 -> curvature >= 0.0": (
            True,
            "at curvature 0 nothing is below the bound of the step",
        ),
        "_move: 0.0 -> 1.0": (True, "a fence is infinite"),
        "_bottom: start + STRIDE < r.size -> start + STRIDE <= r.size": SPEED,
    },
    "compiled/matrices.py": {
        "inspect_square: 0 -> 1": (True, "a square matrix has as many columns as rows"),
        "glance_square: 0 -> 1": (True, "a square matrix has as many columns as rows"),
        "pick: cols.size > 64 -> cols.size >= 64": SPEED,
    },
    "compiled/members.py": {
        ": 2 ** 13 -> 2 * 13": SIZE,
        ": 2 ** 16 -> 2 * 16": SIZE,
        ": 2 -> 3": SIZE,
        ": 13 -> 14": SIZE,
        "joined: 8 -> 9": SIZE,
    },
    "compiled/modes.py": {
        "settle: if gap >= reach -> if not gap >= reach": (
            False,
            "leaves off early: seen only in many dimensions",
        ),
        "follow: moved < tolerance * r2 -> moved <= tolerance * r2": TIE,
        "radius: if r2 <= 0.0 -> if not r2 <= 0.0": SPEED,
        "follow_some: np.sqrt(moved) + np.sqrt(r2) > np.sqrt(reach) -> np.sqrt(moved) + np.sqrt(r2) >= "
        "np.sqrt(reach)": TIE,
        "follow: 0.0 < ratio < 1.0 -> 0.0 <= ratio < 1.0": (True, "a leap of length 0 is none"),
        "follow: along / last -> along * last": (
            False,
            "the length of a leap: it ends at the same mode, later",
        ),
        ": 6.0 -> 7.0": SIZE,
        "start: some[k] < r2 -> some[k] <= r2": TIE,
        "join: r2 - t[k] > best[i] -> r2 - t[k] >= best[i]": TIE,
        "follow_some: s < reach -> s <= reach": TIE,
        "start: 0 -> 1": (False, "matters only where the nearest denser neighbour is object 0"),
        "sharpness: length <= 0.0 -> length < 0.0": (
            True,
            "without a direction no member is on a side of it: 1",
        ),
        "settle: order[b] < order[to] -> order[b] <= order[to]": (True, "b and to are two chains"),
        "follow: e * before[j] -> e / before[j]": (
            False,
            "the length of a leap: it ends at the same mode, later",
        ),
    },
    "compiled/nearest.py": {
        "rerank: c > nearest[i, count - 1] -> c >= nearest[i, count - 1]": (
            True,
            "a candidate that is there already has been passed over",
        ),
    },
    "compiled/passes.py": {
        "bent: length <= radius -> length < radius": TIE,
        "newton: length > 0.0 -> length >= 0.0": (
            False,
            "as plain Python 1 / 0 is infinite here; compiled, it is an error that the same test sees",
        ),
        "small_climb: w * w -> w / w": ALLOWANCE,
        ": 1.0 -> 2.0": (True, "a weaker lower bound of tau: more candidates are looked at"),
        "add_rows: k + 4 <= rows.size -> k + 4 < rows.size": SPEED,
    },
    "compiled/interrupts.py": {
        ": 0.002 -> 1.002": SIZE,
        "_again: if hasattr(signal, 'pthread_kill') -> if not hasattr(signal, 'pthread_kill')": (
            False,
            "the other way, for systems without it, works here, too",
        ),
    },
    "compiled/spanning.py": {
        "join_nearest: total < best[mine] -> total <= best[mine]": TIE,
        "join_nearest: total < best[owner[j]] -> total <= best[owner[j]]": TIE,
        "join_nearest: reach_a <= reach_b -> reach_a < reach_b": SPEED,
        "join_nearest: away > 0.0 -> away >= 0.0": SAME_VALUE,
        "join_nearest: 0.0 -> 1.0": SPEED,
        "join_nearest: 128 -> 129": ROOM,
        "grow_matrix: 0 -> 1": OVERWRITTEN,
        "join_nearest: reach_b += away * away if away > 0.0 else 0.0 -> reach_b -= away * away if away > "
        "0.0 else 0.0": SPEED,
        "join_nearest: away * away -> away / away": SPEED,
        "join_nearest: 2 * node -> 2 / node": (
            True,
            "NumPy has 2 / 0 as infinity: all of the tree is one leaf",
        ),
        "join_nearest: 1 -> 2": (True, "any number below 0 stands for none; the root may be looked at twice"),
        "join_nearest: low[a, f] - X[i, f] -> low[a, f] + X[i, f]": SPEED,
        "join_nearest: reach_a += away * away if away > 0.0 else 0.0 -> reach_a -= away * away if away > "
        "0.0 else 0.0": SPEED,
        "prim_features: total < best[i] -> total <= best[i]": TIE,
        "prim_features: 0 -> 1": OVERWRITTEN,
    },
    "compiled/tree.py": {
        "spread: member[node] < 0 -> member[node] <= 0": (
            True,
            "0 is a leaf, and leaves have been passed over",
        ),
        "inner_payoffs: 1 -> 2": NEGATIVE,
        "lifetimes: s * s -> s / s": SPEED,
        "lifetimes: n + j -> n - j": SPEED,
        "lifetimes: 1.0 - s -> 1.0 + s": SPEED,
        "lifetimes: 1.0 -> 2.0": SPEED,
        "lifetimes: parent[node] < 0 -> parent[node] <= 0": (True, "a parent is a merge, never leaf 0"),
    },
    "compiled/threads.py": {
        ": 16 -> 17": SIZE,
        ": 2 ** 16 -> 2 * 16": SIZE,
        ": 2 -> 3": SIZE,
        ": 25 -> 26": SIZE,
    },
}
