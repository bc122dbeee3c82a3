"""Check a certificate of dominant sets against its data: python dscheck.py fit.cert X.npy [--exact]

Needs Python and NumPy, and shares no code with the library that wrote the certificate. README.md has the
claims and the proofs. Exit codes: 0 all claims hold, 1 a claim fails, 2 refused, 3 some are not checked and
none fails. Throughout r = A x - shift x and f = x'r, for weights x that sum to 1.
"""

import hashlib
import json
import math
import sys
from fractions import Fraction

import numpy as np

EPS = 2.0**-52
DENSE, PAIRS, EXACT = 3_000, 6_000, 10**6  # most objects of a face, of minimax distances; rational products
PRODUCTS = ("sqeuclidean", "cosine", "linear")  # a_ij = c u_i.u_j + b_i + b_j + m for different i and j
KERNELS = ("rbf", "laplacian", "euclidean")
WORD = {True: "holds", False: "FAILS", None: "not checked"}


def need(condition, sentence):
    if not condition:
        raise ValueError(sentence)


def digest(head, *arrays):
    parts = (array.astype(f"<{array.dtype.kind}8").tobytes() for array in arrays)
    return hashlib.sha256(head.encode() + b"".join(parts)).hexdigest()


def read(path):
    """What a certificate says; its first line has the format and the digest of the rest."""
    with open(path, "rb") as stream:
        first, _, rest = stream.read().partition(b"\n")
    words = first[:200].decode("latin-1").split(" ")
    need(len(words) == 5 and words[:2] == ["dominantsets", "certificate"], "this file is no certificate.")
    need(words[2:4] == ["1", "sha256"], f"it has format {words[2][:20]}, not 1: get a newer program.")
    need(hashlib.sha256(rest).hexdigest() == words[4], "the certificate was cut or edited.")
    return json.loads(rest, parse_constant=lambda name: need(False, f"the certificate has a number {name}."))


def load(path, form):
    """Rows or a matrix in float64, or a graph as (n, heads, tails, values), and their digest."""
    X = np.load(path, allow_pickle=False)
    need(isinstance(X, np.ndarray) == (form != "graph"), "the data must be .npy, or .npz for a graph.")
    if form == "graph":
        n, tails, values = int(X["shape"][0]), X["indices"].astype(np.int64), X["data"].astype(float)
        heads = np.repeat(np.arange(n), np.diff(X["indptr"]))
        order = np.lexsort((tails, heads))
        order = order[(heads != tails)[order]]
        heads, tails, values = heads[order], tails[order], values[order]
        need(np.isfinite(values).all(), "the graph has NaN or infinite weights.")
        need(np.diff(heads * n + tails).all(), "the graph has an edge twice.")
        starts = np.searchsorted(heads, np.arange(n + 1))
        return (n, heads, tails, values), digest(f"{n} {len(values)}\n", starts, tails, values)
    need(X.ndim == 2 and X.dtype.kind in "fiub", "the data are no rows of numbers.")
    need(np.isfinite(X).all(), "the data have NaN or infinite entries.")
    X = np.array(X, dtype=float, order="C")
    if form == "matrix":
        np.fill_diagonal(X, 0.0)
    return X, digest(f"{X.shape[0]} {X.shape[1]}\n", X if form == "rows" else 0.5 * (X + X.T))


def minimax(data, k):
    """Minimax distances of all pairs, by Prim's algorithm; with k > 1 of mutual reachability."""
    n = data[0] if isinstance(data, tuple) else len(data)
    need(n <= PAIRS, f"minimax distances of {n} objects are too many: {PAIRS} are the most.")
    D, steps = np.zeros((n, n)), np.full((n, n), np.inf)
    if isinstance(data, tuple):
        steps[data[1], data[2]] = data[3]
        steps = np.minimum(steps, steps.T)
    else:
        for i, row in enumerate(data):
            steps[i] = np.sqrt(np.square(data - row).sum(axis=1))
        place = min(k, n) - 1  # an object counts as the nearest to itself
        core = np.partition(steps, place, axis=1)[:, place]
        steps = np.maximum(steps, (steps > 0.0) * np.maximum(core, core[:, None])) if k > 1 else steps
    seen, out, best, source = [0], np.arange(n) > 0, steps[0].copy(), np.zeros(n, dtype=int)
    for _ in range(n - 1):
        i = int(np.flatnonzero(out)[best[out].argmin()])
        D[i, seen] = D[seen, i] = np.maximum(D[source[i], seen], best[i])
        out[i] = False
        seen.append(i)
        source[steps[i] < best] = i
        best = np.minimum(best, steps[i])
    return D


class Similarity:
    """A of a formula and data. ``size`` and ``terms`` say how far rounding may put its weighted means off."""

    def __init__(self, said, data, metric):
        self.m, self.gamma = (float(said.get(key, 0)) for key in ("offset", "gamma"))
        self.kind = said["kind"]
        self.data, self.terms, self.slack, self.c = data, 1, 0.0, 1.0
        apart, m = self.kind in ("sqeuclidean", "rbf"), self.m
        need(self.kind in (*PRODUCTS, *KERNELS, "path", "matrix", "graph"), f"{self.kind} is no kind I know.")
        need((self.gamma > 0.0) == (self.kind in ("rbf", "laplacian")), "gamma is wrong for this kind.")
        if self.kind == "path":
            self.A, self.own, self.size = m - minimax(data, int(said["min_samples"])), m, m
            self.n, self.terms = len(self.A), 1 if isinstance(data, tuple) else data.shape[1]
        elif self.kind == "matrix":
            self.A, self.n, self.slack = 0.5 * (data + data.T), len(data), float(np.abs(data - data.T).max())
            self.own = self.size = float(data.max())
        elif self.kind == "graph":
            self.n, heads, tails, values = data
            back = np.lexsort((heads, tails))
            need((heads == tails[back]).all() and (tails == heads[back]).all(), "the graph is not symmetric.")
            self.slack = float(np.abs(values - values[back]).max(initial=0.0))
            self.own = self.size = float(values.max(initial=0.0))
        else:
            self.n, self.terms = data.shape
            Y = data if self.kind in ("cosine", "linear") else data - data.mean(axis=0)
            lengths = np.sqrt(np.square(Y).sum(axis=1))
            Y = Y / np.where(lengths > 0.0, lengths, 1.0)[:, None] if self.kind == "cosine" else Y
            self.T = np.eye(self.terms) if metric is None else np.array(metric, dtype=float)
            self.stretch = 1.0 if metric is None else float(np.linalg.norm(self.T))
            self.U = Y if metric is None else Y @ self.T
            R = float(lengths.max()) * self.stretch
            squares = np.square(self.U).sum(axis=1)
            self.c, self.b = (2.0, -squares) if apart else (1.0, 0.0 * squares)
            self.own = m + (0.0 if apart else squares) if self.kind in PRODUCTS else m or 1.0
            sizes = {"cosine": 2.0, "linear": m + R * R, "laplacian": 1.0, "euclidean": m + 2.0 * R}
            self.size = sizes.get(self.kind, (m or 1.0) + 4.0 * R * R * (self.gamma or 1.0))

    def error(self, count):
        """How far a mean of so many similarities may be off, here and in the library."""
        return 2.0 * EPS * (count + self.terms + 16) * self.size + self.slack

    def kappa(self, shift):
        return np.broadcast_to(np.asarray(self.own, dtype=float) + shift, (self.n,))

    def block(self, K, J):
        """A[K][:, J]."""
        if self.kind == "graph":
            return np.stack([self.times(np.array([j]), np.ones(1))[K] for j in J], axis=1)
        if self.kind in ("path", "matrix"):
            out = self.A[np.ix_(K, J)]
        elif self.kind in ("laplacian", "euclidean"):
            apart = [np.abs(self.U[K] - self.U[j]) for j in J]
            lengths = (v.sum(axis=1) if self.gamma else np.sqrt((v * v).sum(axis=1)) for v in apart)
            t = np.stack(list(lengths), axis=1)
            out = np.exp(-self.gamma * t) if self.gamma else self.m - t
        else:
            out = self.c * (self.U[K] @ self.U[J].T) + self.b[K][:, None] + self.b[J]
            out = np.exp(self.gamma * out) if self.gamma else out + self.m
        out[K[:, None] == J] = 0.0
        return out

    def times(self, J, x):
        """A x, where x has these weights on J; -inf where no path leads."""
        if self.kind == "graph":
            n, heads, tails, values = self.data
            return np.bincount(heads, values * np.bincount(J, x, n)[tails], n)
        if self.kind in PRODUCTS:
            out = self.c * (self.U @ (x @ self.U[J])) + (self.b + self.m) * x.sum() + x @ self.b[J]
            out[J] -= np.broadcast_to(self.own, (self.n,))[J] * x
            return out
        parts = np.array_split(np.arange(self.n), 1 + self.n * J.size * (1 + self.terms) // 2**23)
        return np.concatenate([self.block(part, J) @ x for part in parts])

    def face(self, R, shift):
        """A proof that f is strictly concave on R (README.md, "Strict"); None where there is none.

        Per unit of error in payoffs it bounds how far weights of the maximum there lie from x, and how much
        payoffs of other objects rise on the way.
        """
        m, kappa = len(R), self.kappa(shift)[R]
        if self.kind in PRODUCTS and kappa.min() > 0.0:
            rows = self.U if self.kind == "cosine" else self.data
            V = math.sqrt(self.c) * (rows - rows[R[0]])  # differences of data: no digits are lost
            lengths, V = np.sqrt(np.square(V).sum(axis=1)) * self.stretch, V[R] @ self.T
            reach, total = float(lengths[R].max()), float((1.0 / kappa).sum())
            W = (V - (V / kappa[:, None]).sum(axis=0) / total) / np.sqrt(kappa)[:, None]
            C = W.T @ W if m > W.shape[1] else W @ W.T
            wide = reach if self.kind == "sqeuclidean" else math.sqrt(self.size)
            slack = 2.0 * EPS * (m + self.terms + 16) * total * reach * wide
            for room in 0.5 ** np.arange(1, 40):
                if factor((1.0 - room) * np.eye(len(C)) - C, slack) is not None:
                    moved = math.sqrt(total) / room
                    return (2.0 + 2.0 * reach * moved) / kappa, 2.0 + (lengths + reach) * moved
        if m > DENSE:
            return None, None
        B = self.block(R, R) - shift * np.eye(m)
        C = -(B[1:, 1:] - B[1:, :1] - B[:1, 1:] + B[0, 0])
        L = factor(C, 4.0 * m * (self.error(1) + EPS * np.abs(B).max()))
        if L is None:
            return None, None
        moved = np.full(m, 2.0 * float(np.square(np.linalg.inv(L)).sum()) * math.sqrt(m))
        moved[0] *= math.sqrt(m)
        return moved, np.full(self.n, self.size * float(moved.sum()))

    def bound(self, boxes, shift, among):
        """The largest bound of f + shift over the boxes of a proof (README.md, "Best")."""
        U, b, kappa = math.sqrt(self.c) * self.U[among], self.b[among], self.kappa(shift)[among]
        stack, top = [(U.min(axis=0), U.max(axis=0))], -math.inf
        for axis, cut in zip(boxes["axis"], boxes["cut"], strict=True):
            low, high = stack.pop()
            if axis >= 0:
                left, right = high.copy(), low.copy()
                left[axis] = right[axis] = cut
                stack += [(right, high), (low, left)]
                continue
            p = 0.5 * (low + high)
            s = U @ p + b
            order = np.argsort(-s)
            tau = float(((np.cumsum((s / kappa)[order]) - 1.0) / np.cumsum(1.0 / kappa[order])).max())
            best = 2.0 * tau + float((np.square(np.maximum(s - tau, 0.0)) / kappa).sum())
            top = max(top, self.m + best - p @ p + float(np.square(0.5 * (high - low)).sum()) + shift)
        need(not stack and kappa.min() > 0.0, "the boxes of a proof are not complete, or no proof here.")
        return top


def factor(C, slack):
    """The Cholesky factor of C less a bound of its error, and of the factor's; None where there is none."""
    slack += (len(C) + 2) * EPS * max(float(np.trace(C)), 1e-300)
    try:
        return np.linalg.cholesky(C - slack * np.eye(len(C)))
    except np.linalg.LinAlgError:
        return None


def rational(sim, J, weights, shift):
    """The payoffs r in rationals, made from the data without any rounding; and x."""
    need(sim.kind in ("sqeuclidean", "linear", "graph", "matrix", "path"), "this formula has no rationals.")
    exact, count = np.vectorize(Fraction, otypes=[object]), sim.n * J.size * (1 + sim.terms)
    need(count <= EXACT, f"{count} products are too many for rationals; {EXACT} are the most.")
    if sim.kind in PRODUCTS:
        V, m = exact(sim.data) @ exact(sim.T), Fraction(sim.m)
        P = m - np.square(V[:, None] - V[J]).sum(axis=2) if sim.kind == "sqeuclidean" else V @ V[J].T + m
    else:
        P = exact(sim.block(np.arange(sim.n), J))
    P[J, np.arange(J.size)] = -Fraction(shift)
    x = exact(weights) / sum(exact(weights))
    return P @ x, x


def check_cluster(c, sim, scopes, where, say, exact):
    """Recompute the claims of one cluster; its members."""
    J, x, shift, n = np.array(c["members"]), np.array(c["weights"], dtype=float), float(c["shift"]), sim.n
    ordered = J.ndim == 1 and J.shape == x.shape and (np.diff(J) > 0).all() and J[0] >= 0 and J[-1] < n
    need(ordered and (x > 0.0).all() and abs(x.sum() - 1.0) < 1e-9, "members or weights are no point.")
    E, weights, x = sim.error(J.size) + 4.0 * EPS * abs(shift) * float(x.max()), x, x / x.sum()
    r = sim.times(J, x)
    need(c["among"] in scopes, "among which objects, is not said.")
    among = scopes[c["among"]] & (r > -np.inf)
    among[np.array(c["apart"], dtype=int)] = False
    r[J] -= shift * x
    f = x @ r[J]
    if exact:
        r, y = rational(sim, J, weights, shift)
        f = y @ r[J]
    others = np.setdiff1d(np.flatnonzero(among), J)
    outside = max(r[others], default=-math.inf)
    gap, margin, value = float(max(*r[J], outside) - f), float(f - outside), float(f) + shift
    print(f"{where}: {len(J)} of {among.sum()} of {n} objects, numbers up to {4.0 * E:.1e}")
    say("members", bool(among[J].all()))
    say("value", abs(value - c["value"]) <= 4.0 * E)
    say("gap", abs(max(gap, 0.0) - c["gap"]) <= 4.0 * E)
    say("margin", not others.size if c["margin"] is None else abs(margin - c["margin"]) <= 4.0 * E)
    r, undecided = r.astype(float), np.array(c["undecided"], dtype=int)
    R, proved, rest = np.union1d(J, undecided), False, np.setdiff1d(others, undecided)
    spread, held = float(r[R].max() - r[J].min()) + 2.0 * E, np.bincount(J, x, n)[R]
    moved, rise = sim.face(R, shift)
    if moved is not None:
        doubtful = held <= spread * moved
        clear = (float(f) - r[rest] > spread * (1.0 + rise[rest])).all()
        proved = bool(clear and np.isin(R[doubtful], undecided).all() and held[doubtful].sum() < 0.5)
    if c["strict"] is not None:
        tie = undecided.size or (margin <= spread and sim.kind in ("path", "matrix", "graph"))
        no = None if len(R) > DENSE or tie else False
        say("strict", (proved or no) if c["strict"] else (False if proved else None))
    if c["global_gap"] is not None:
        bound, count, unit = math.inf, int(among.sum()), float((sim.kappa(shift)[J] * x * x).sum())
        if c["boxes"]:
            bound = sim.bound(c["boxes"], shift, among)
        elif sim.face(np.flatnonzero(among), shift)[0] is not None:
            bound = value + 2.0 * (max(gap, 0.0) + 2.0 * E)  # f is concave: its tangent bounds it
        enough = bool(bound - value <= c["global_gap"] + 8.0 * sim.error(count))
        say("global_gap", enough or (False if c["boxes"] else None))
        say("proven", not c["proven"] or bool(c["global_gap"] <= 1.000001e-6 * unit))
    return J


def check_labels(said, clusters, sims, say):
    """Whether the labels follow the rule that the certificate names, up to 1e-9 of the scores' size."""
    n, labels, rule = sims[0].n, np.array(said["labels"]), said["rule"]
    need(labels.shape == (n,) and labels.dtype.kind == "i" and labels.min() >= -1, "labels are no numbers.")
    cores = np.full(n, -1)
    for k in range(len(clusters) - 1, -1, -1):
        cores[clusters[k]] = k
    if said["belong"]:
        say("belong", all((labels[J] == k).all() for k, J in enumerate(clusters)))
    away, held = np.zeros(n), cores >= 0
    if rule == "members":
        scores, held = np.zeros((n, len(clusters))), held | True
    elif rule == "average":
        means = (sim.times(J, np.full(len(J), 1.0 / len(J))) for sim, J in zip(sims, clusters, strict=True))
        scores = np.stack(list(means), axis=1)
    elif rule == "scores":
        squares, given = np.square(sims[0].U).sum(axis=1)[:, None], said["scores"]

        def score(of):
            constants, rows, rates = (np.array(of[name]) for name in ("constants", "rows", "rates"))
            return constants + sims[0].U @ rows.T - squares * rates

        scores, held = score(given), (cores < 0) & given["only_members"]
        top, best = scores.max(axis=1), scores.argmax(axis=1)
        away = top - np.array(given["least"])[best]  # negative for noise
        if given["background"]:
            top = top + np.array(given["rest"])[best]
            top = score(given["judges"]).max(axis=1) if given["judges"] else top
            away = np.minimum(away, top - score(given["background"])[:, 0])
    else:
        say("labels", None)
        return
    near = 1e-9 * (1.0 + np.abs(scores[np.isfinite(scores)]).max())
    mine = np.take_along_axis(scores, np.maximum(labels, 0)[:, None], axis=1)[:, 0]
    follows = np.where(labels < 0, away <= near, (mine >= scores.max(axis=1) - near) & (away >= -near))
    say("labels", bool(np.where(held, labels == cores, follows).all()))


def main(arguments):
    exact, paths, verdicts = "--exact" in arguments, [word for word in arguments if word != "--exact"], []

    def say(claim, verdict):
        verdicts.append(verdict)
        print(f"{where} {claim}: {WORD[verdict]}")

    try:
        need(len(paths) == 2, "usage: python dscheck.py fit.cert X.npy [--exact]")
        said = read(paths[0])
        data, found = load(paths[1], said["data"]["form"])
        need(found == said["data"]["sha256"], "the data are not those of the certificate: digests differ.")
        sim, left, clusters, sims = None, None, [], []
        for k, c in enumerate(said["clusters"]):
            where = f"cluster {k}"
            if sim is None or c["metric"]:
                sim = Similarity(said["similarity"], data, c["metric"])
            left = np.ones(sim.n, dtype=bool) if left is None else left
            scopes = {"all": np.ones(sim.n, dtype=bool), "left": left}
            if said["labels"]:
                scopes["label"] = np.array(said["labels"]["labels"]) == k
                need(scopes["label"].shape == (sim.n,), "labels are no numbers, one per object.")
            clusters.append(check_cluster(c, sim, scopes, where, say, exact))
            sims.append(sim)
            left[clusters[-1]] = False
        where = "file"
        if said["labels"] and clusters:
            check_labels(said["labels"], clusters, sims, say)
    except Exception as error:
        print(f"refused: {' '.join(str(error).split()) or type(error).__name__}")
        return 2
    held, failed, unknown = (verdicts.count(verdict) for verdict in (True, False, None))
    print(f"{held} claims hold, {failed} fail, {unknown} not checked")
    return 1 if failed else 3 if unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
