"""Check a certificate of dominant sets against its data: python dscheck.py fit.cert X.npy [--exact]

Needs Python and NumPy, and shares no code with the library that wrote the certificate. README.md has the claims
and the proofs. Exit codes: 0 all claims hold, 1 a claim fails, 2 refused, 3 none fails but some are not checked.
Throughout r = A x - shift x and f = x'r, for weights x that sum to 1.
"""

import hashlib
import json
import math
import sys
from fractions import Fraction

import numpy as np

EPS = 2.0**-52
DENSE, PAIRS, EXACT = (
    1_500,
    6_000,
    10**6,
)  # most objects of a face, of minimax distances; products in rationals
PRODUCTS = ("sqeuclidean", "cosine", "linear")  # a_ij = c u_i.u_j + b_i + b_j + m for different i and j
KERNELS = ("rbf", "laplacian", "euclidean")
WORD = {True: "holds", False: "FAILS", None: "not checked"}


def need(condition, sentence):
    if not condition:
        raise ValueError(sentence)


def digest(head, *arrays):
    kinds = ("<f8" if array.dtype.kind == "f" else "<i8" for array in arrays)
    parts = (array.astype(kind).tobytes() for array, kind in zip(arrays, kinds, strict=True))
    return hashlib.sha256(head.encode() + b"".join(parts)).hexdigest()


def read(path):
    """What a certificate says; its first line has the format and the digest of the rest."""
    with open(path, "rb") as stream:
        first, _, rest = stream.read().partition(b"\n")
    words = first[:200].decode("latin-1").split(" ")
    need(words[:2] == ["dominantsets", "certificate"] and len(words) == 5, "this file is no certificate.")
    need(words[2] == "1", f"the certificate has format {words[2][:20]}, and this program reads format 1.")
    need(
        hashlib.sha256(rest).hexdigest() == words[4], "the certificate was cut or edited: its digest differs."
    )
    return json.loads(rest, parse_constant=lambda name: need(False, f"the certificate has a number {name}."))


def load(path, form):
    """Rows or a matrix in float64, or a graph as (n, heads, tails, values), and their digest."""
    X = np.load(path, allow_pickle=False)
    need(
        isinstance(X, np.ndarray) == (form != "graph"),
        f"the data must be a {form}: .npy, or .npz for a graph.",
    )
    if form == "graph":
        n, tails, values = int(X["shape"][0]), X["indices"].astype(np.int64), X["data"].astype(float)
        heads = np.repeat(np.arange(n), np.diff(X["indptr"]))
        order = np.lexsort((tails, heads))
        order = order[(heads != tails)[order]]
        heads, tails, values = heads[order], tails[order], values[order]
        need(
            np.isfinite(values).all() and np.diff(heads * n + tails).all(),
            "the graph has NaN or an edge twice.",
        )
        starts = np.searchsorted(heads, np.arange(n + 1))
        return (n, heads, tails, values), digest(f"{n} {len(values)}\n", starts, tails, values)
    need(
        X.ndim == 2 and X.dtype.kind in "fiub" and np.isfinite(X).all(),
        "the data are no rows of finite numbers.",
    )
    X = np.array(X, dtype=float, order="C")
    if form == "matrix":
        np.fill_diagonal(X, 0.0)
    return X, digest(f"{X.shape[0]} {X.shape[1]}\n", X if form == "rows" else 0.5 * (X + X.T))


def minimax(data, k):
    """Minimax distances of all pairs, by Prim's algorithm; with k > 1 of mutual reachability."""
    n = data[0] if isinstance(data, tuple) else len(data)
    need(n <= PAIRS, f"{n} objects are too many for all minimax distances here; {PAIRS} are the most.")
    D, steps = np.zeros((n, n)), np.full((n, n), np.inf)
    if isinstance(data, tuple):
        steps[data[1], data[2]] = data[3]
        steps = np.minimum(steps, steps.T)
    else:
        for i, row in enumerate(data):
            steps[i] = np.sqrt(np.square(data - row).sum(axis=1))
        core = np.partition(steps, k - 1, axis=1)[:, k - 1]  # an object counts as the nearest to itself
        steps = np.maximum(steps, np.maximum(core, core[:, None])) if k > 1 else steps
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
        self.kind, self.m, self.gamma = (
            said["kind"],
            float(said.get("offset", 0)),
            float(said.get("gamma", 0)),
        )
        self.data, self.terms, self.slack, self.c = data, 1, 0.0, 1.0
        self.apart, m = self.kind == "sqeuclidean", self.m
        need(
            self.kind in (*PRODUCTS, *KERNELS, "path", "matrix", "graph"),
            f"the kind {self.kind!r} is not known.",
        )
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
            self.U, R = Y if metric is None else Y @ self.T, float(lengths.max()) * self.stretch
            squares = np.square(self.U).sum(axis=1)
            self.c, self.b = (2.0, -squares) if self.apart else (1.0, 0.0 * squares)
            self.own = m + (0.0 if self.apart else squares) if self.kind in PRODUCTS else m or 1.0
            sizes = {"cosine": 2.0, "linear": m + R * R, "laplacian": 1.0, "euclidean": m + 2.0 * R}
            self.size = sizes.get(self.kind, (m or 1.0) + 4.0 * R * R * (self.gamma or 1.0))

    def error(self, count):
        """How far a mean of so many similarities may be off, here and in the library."""
        return 2.0 * EPS * (count + self.terms + 16) * self.size + self.slack

    def kappa(self, shift):
        return np.broadcast_to(np.asarray(self.own, dtype=float) + shift, (self.n,))

    def block(self, I, J):
        """A[I][:, J]."""
        if self.kind == "graph":
            return np.stack([self.times(np.array([j]), np.ones(1))[I] for j in J], axis=1)
        if self.kind in ("path", "matrix"):
            out = self.A[np.ix_(I, J)]
        elif self.kind in ("cosine", "linear"):
            out = self.U[I] @ self.U[J].T + self.m
        else:
            apart = self.U[I][:, None] - self.U[J]
            t = (np.abs(apart) if self.kind == "laplacian" else np.square(apart)).sum(axis=2)
            out = np.exp(-self.gamma * t) if self.gamma else self.m - (t if self.apart else np.sqrt(t))
        out[I[:, None] == J] = 0.0
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

    def faces(self, R, shift):
        """Proofs that f is strictly concave on R, by products and by the matrix (README.md, "Strict").

        Per unit of error in payoffs they bound how far weights of its maximum lie from x, and how much payoffs
        of other objects rise on the way there.
        """
        kappa, m = self.kappa(shift)[R], len(R)
        if self.kind in PRODUCTS and kappa.min() > 0.0:
            rows = self.U if self.kind == "cosine" else self.data
            V = math.sqrt(self.c) * (rows - rows[R[0]])  # differences of data: no digits are lost
            lengths, V = np.sqrt(np.square(V).sum(axis=1)) * self.stretch, V[R] @ self.T
            reach, total = float(lengths[R].max()), float((1.0 / kappa).sum())
            W = (V - (V / kappa[:, None]).sum(axis=0) / total) / np.sqrt(kappa)[:, None]
            C = W.T @ W if m > W.shape[1] else W @ W.T
            wide = reach if self.apart else math.sqrt(self.size)
            slack = 2.0 * EPS * (m + self.terms + 16) * total * reach * wide
            for room in 0.5 ** np.arange(1, 40):
                if factor((1.0 - room - slack) * np.eye(len(C)) - C) is not None:
                    moved = math.sqrt(total) / room
                    yield (2.0 + 2.0 * reach * moved) / kappa, 2.0 + (lengths + reach) * moved
                    break
        if m <= DENSE:
            B = self.block(R, R) - shift * np.eye(m)
            C = -(B[1:, 1:] - B[1:, :1] - B[:1, 1:] + B[0, 0])
            L = factor(C - 4.0 * m * (self.error(1) + EPS * np.abs(B).max()) * np.eye(m - 1))
            if L is not None:
                norm = float(np.square(np.linalg.inv(L)).sum()) if m > 1 else 0.0
                moved = np.full(m, 2.0 * norm * math.sqrt(m))
                moved[0] *= math.sqrt(m)
                yield moved, np.full(self.n, self.size * float(moved.sum()))

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


def factor(C):
    """The Cholesky factor of C less what rounding may hide of its eigenvalues; None where there is none."""
    try:
        return np.linalg.cholesky(C - (len(C) + 2) * EPS * max(float(np.trace(C)), 1e-300) * np.eye(len(C)))
    except np.linalg.LinAlgError:
        return None


def rational(sim, J, weights, shift):
    """The payoffs r in rationals, made from the data without any rounding; and x."""
    need(sim.kind in ("sqeuclidean", "linear", "graph", "matrix", "path"), "this formula has no rationals.")
    exact, count = np.vectorize(Fraction, otypes=[object]), sim.n * J.size * (1 + sim.terms)
    need(count <= EXACT, f"{count} products are too many for rationals; {EXACT} are the most.")
    if sim.kind in PRODUCTS:
        V, m = exact(sim.data) @ exact(sim.T), Fraction(sim.m)
        P = m - np.square(V[:, None] - V[J]).sum(axis=2) if sim.apart else V @ V[J].T + m
    else:
        P = exact(sim.block(np.arange(sim.n), J))
    P[J, np.arange(J.size)] = -Fraction(shift)
    x = exact(weights) / sum(exact(weights))
    return P @ x, x


def check_cluster(c, sim, left, say, exact):
    """Recompute the claims of one cluster; its members."""
    J, x, shift, n = np.array(c["members"]), np.array(c["weights"], dtype=float), float(c["shift"]), sim.n
    ordered = J.ndim == 1 and J.shape == x.shape and (np.diff(J) > 0).all() and 0 <= J[0] and J[-1] < n
    need(ordered and (x > 0.0).all() and abs(x.sum() - 1.0) < 1e-9, "members or weights are no point.")
    E, weights, x = sim.error(J.size) + 4.0 * EPS * abs(shift) * float(x.max()), x, x / x.sum()
    r = sim.times(J, x)
    among = (left if c["among"] == "left" else np.ones(n, dtype=bool)) & (r > -np.inf)
    among[np.array(c["apart"], dtype=int)] = False
    r[J] -= shift * x
    f = x @ r[J]
    if exact:
        r, y = rational(sim, J, weights, shift)
        f = y @ r[J]
    others = np.setdiff1d(np.flatnonzero(among), J)
    outside = max(r[others], default=-math.inf)
    gap, margin, value = float(max(*r[J], outside) - f), float(f - outside), float(f) + shift
    say("members", bool(among[J].all()))
    say("value", abs(value - c["value"]) <= 4.0 * E)
    say("gap", gap <= c["gap"] + 4.0 * E)
    say("margin", not others.size if c["margin"] is None else margin >= c["margin"] - 4.0 * E)
    r, undecided = r.astype(float), np.array(c["undecided"], dtype=int)
    R, proved, rest = np.union1d(J, undecided), False, np.setdiff1d(others, undecided)
    spread, held = float(r[R].max() - r[J].min()) + 2.0 * E, np.bincount(J, x, n)[R]
    for moved, rise in sim.faces(R, shift):
        doubtful = held <= spread * moved
        clear = (float(f) - r[rest] > spread * (1.0 + rise[rest])).all()
        proved |= bool(clear and np.isin(R[doubtful], undecided).all() and held[doubtful].sum() < 0.5)
    if c["strict"] is not None:
        unclear = None if len(R) > DENSE or undecided.size or margin <= spread else False
        say("strict", (proved or unclear) if c["strict"] else (False if proved else None))
    if c["global_gap"] is not None:
        bound, count, unit = math.inf, int(among.sum()), float((sim.kappa(shift)[J] * x * x).sum())
        if c["boxes"]:
            bound = sim.bound(c["boxes"], shift, among)
        elif any(sim.faces(np.flatnonzero(among), shift)):
            bound = value + 2.0 * (max(gap, 0.0) + 2.0 * E)  # f is concave: its tangent bounds it
        enough = bool(bound - value <= c["global_gap"] + 8.0 * sim.error(count))
        say("global_gap", enough if bound < math.inf else None)
        say("proven", not c["proven"] or bool(c["global_gap"] <= 1.000001e-6 * unit))
    return J


def check_labels(said, clusters, sims, say):
    """Whether the labels follow the rule that the certificate names, up to 1e-9 of the scores' size."""
    n, labels, rule = sims[0].n, np.array(said["labels"]), said["rule"]
    need(labels.shape == (n,) and labels.dtype.kind == "i" and labels.min() >= -1, "labels are no numbers.")
    cores = np.full(n, -1)
    for k in range(len(clusters) - 1, -1, -1):
        cores[clusters[k]] = k
    say("elsewhere", said["elsewhere"] == [int((labels[J] != k).sum()) for k, J in enumerate(clusters)])
    if rule not in ("average", "scores"):
        return say("labels", bool((labels == cores).all()) if rule == "members" else None)
    away, held = np.zeros(n), cores >= 0
    if rule == "average":
        pairs = zip(sims, clusters, strict=True)
        scores = np.stack([sim.times(J, np.full(len(J), 1.0 / len(J))) for sim, J in pairs], axis=1)
    else:
        squares, given = np.square(sims[0].U).sum(axis=1)[:, None], said["scores"]

        def score(of):
            return (
                np.array(of["constants"])
                + sims[0].U @ np.array(of["rows"]).T
                - squares * np.array(of["rates"])
            )

        scores, held = score(given), (cores < 0) & given["only_members"]
        top, best = scores.max(axis=1), scores.argmax(axis=1)
        away = top - np.array(given["least"])[best]  # negative for noise
        if given["background"]:
            judged = (
                score(given["judges"]).max(axis=1) if given["judges"] else top + np.array(given["rest"])[best]
            )
            away = np.minimum(away, judged - score(given["background"])[:, 0])
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
        need(
            found == said["data"]["sha256"],
            "the data are others than those of the certificate: digests differ.",
        )
        sim, left, clusters, sims = None, None, [], []
        for k, c in enumerate(said["clusters"]):
            where = f"cluster {k}"
            if sim is None or c["metric"]:
                sim = Similarity(said["similarity"], data, c["metric"])
            left = np.ones(sim.n, dtype=bool) if left is None else left
            clusters.append(check_cluster(c, sim, left, say, exact))
            sims.append(sim)
            left[clusters[-1]] = False
        where = "file"
        if said["labels"] and clusters:
            check_labels(said["labels"], clusters, sims, say)
    except Exception as error:
        print(f"refused: {' '.join(str(error).split()) or type(error).__name__}")
        return 2
    print(
        f"{verdicts.count(True)} claims hold, {verdicts.count(False)} fail, {verdicts.count(None)} not checked"
    )
    return 1 if False in verdicts else 3 if None in verdicts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
