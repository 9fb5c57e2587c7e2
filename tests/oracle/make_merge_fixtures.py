"""Writes tests/golden/selection/merge_ems.txt and merge_kvmerger.txt: lanes of made-up keys and values, and what EMS
(arXiv:2412.08521) and KVMerger (arXiv:2407.08454) leave of them, from the formulas as the project's method notes have them,
in float64, another way than our code goes: classes from a table of all cosines; sets from a threshold that is bisected until
as many tokens are left as the budget says, and cut again while they are too long.

Keys are drawn before RoPE, turned, and rounded to fp16, values as well. A seed is passed over where a decision hangs on less
than 1e-4, so that float32 decides alike.

Format, line by line, of each lane:
    lane TOKENS HEAD_DIM FIRST_POSITION PAIRS BASE {parameters}
    protected N …       tokens that no filter lets go, then
    scores … | sums …   of all tokens: as filtered (EMS), column sums (KVMerger)
    kept N …            tokens
    k …  v …            a line for each token
    counts …            of the kept tokens
    k …  v …            a line for each kept token, merged

    python3 tests/oracle/make_merge_fixtures.py        # needs: pip install numpy
"""
import json
import pathlib

import numpy as np

TO = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/selection"
MARGIN = 1e-4


class PassOver(Exception):
    """A decision of this seed hangs on a rounding, or there is nothing to see."""


def needs(condition):
    if not condition:
        raise PassOver


def sure(difference):
    needs(np.min(np.abs(difference)) >= MARGIN)


class Lane:
    def __init__(self, seed, n, d, first, pairs, base, keys):
        self.rng = np.random.default_rng(seed)
        self.n, self.d, self.first, self.pairs, self.base = n, d, first, pairs, base
        self.before = keys(self.rng, n, d)
        self.k = self.turn(self.before, 1).astype(np.float16).astype(float)
        self.v = self.rng.normal(size=(n, d)).astype(np.float16).astype(float)

    def turn(self, x, sign):
        angles = sign * np.outer(self.first + np.arange(self.n), self.base ** (-np.arange(0, self.d, 2) / self.d))
        pairs = x.reshape(self.n, -1, 2) if self.pairs == "adjacent" else np.stack((x[:, :self.d // 2], x[:, self.d // 2:]), 2)
        turned = pairs[..., 0] + 1j * pairs[..., 1]
        turned = turned * np.exp(1j * angles)
        parts = (turned.real, turned.imag)
        return np.stack(parts, 2).reshape(self.n, -1) if self.pairs == "adjacent" else np.concatenate(parts, 1)

    def text(self, params, protected, named, values, kept, counts, k, v):
        line = lambda name, x: f"{name} " + " ".join(f"{y:.6g}" for y in x)
        rows = lambda name, x: [line(name, row) for row in x]
        return [f"lane {self.n} {self.d} {self.first} {self.pairs} {self.base} {json.dumps(params)}",
                line(f"protected {len(protected)}", protected), line(named, values), line(f"kept {len(kept)}", kept),
                *rows("k", self.k), *rows("v", self.v), line("counts", counts), *rows("k", k), *rows("v", v)]


def cosines(x):
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    return x @ x.T


def clusters(rng, n, d):  # around six directions, near and far
    spread = np.where(rng.random((n, 1)) < 0.7, 0.4, 1.2)
    return rng.normal(size=(6, d))[rng.integers(6, size=n)] + spread * rng.normal(size=(n, d))


def drift(rng, n, d):  # each a little off the one before it
    keys = [rng.normal(size=d)]
    for _ in range(n - 1):
        keys.append(keys[-1] * 0.9 + rng.normal(size=d) * rng.choice((0.15, 0.45, 0.9)))
    return np.array(keys)


def ems(seed, params, budget, protected, **lane):
    lane = Lane(seed, keys=clusters, **lane)
    scores = np.float32(lane.rng.lognormal(size=lane.n)).astype(float)
    sure(np.diff(np.sort(scores)))
    free = sorted(set(range(lane.n)) - set(protected), key=lambda t: -scores[t])
    n_centres = budget - len(protected)
    centres, rest = free[:n_centres], free[n_centres:]
    alike = cosines(lane.turn(lane.k, -1))
    k, v, counts, n_none = lane.k.copy(), lane.v.copy(), np.ones(lane.n), 0
    classes = {c: [] for c in centres}
    for i in rest[:int(params["gamma"] * n_centres)]:
        order = sorted(centres, key=lambda c: -alike[i, c])
        sure([alike[i, order[0]] - alike[i, order[1]], alike[i, order[0]] - params["tau"]])
        if alike[i, order[0]] >= params["tau"]:
            classes[order[0]].append(i)
        else:
            n_none += 1
    for c, members in classes.items():
        all_of = [c] + members
        weights = scores[all_of] / scores[all_of].sum()
        k[c], v[c], counts[c] = weights @ lane.k[all_of], weights @ lane.v[all_of], len(all_of)
    needs(n_none > 3 and max(counts) > 2)
    kept = sorted(centres + list(protected))
    return lane.text(params, protected, "scores", scores, kept, counts[kept], k[kept], v[kept])


def sets_at(epsilon, links, heavy, longest):
    """Runs of tokens whose links are above epsilon, none of a heavy one, cut at the weakest link while they are too long."""
    runs, run = [], [0]
    for t in range(1, len(links) + 1):
        if links[t - 1] > epsilon and t not in heavy and t - 1 not in heavy:
            run.append(t)
        else:
            runs.append(run)
            run = [t]
    runs.append(run)
    short = []
    while runs:
        run = runs.pop()
        if len(run) <= longest:
            short.append(run)
            continue
        cut = 1 + min(range(len(run) - 1), key=lambda i: links[run[i]])
        runs += [run[:cut], run[cut:]]
    return short


def kvmerger(seed, params, budget, protected, **lane):
    lane = Lane(seed, keys=drift, **lane)
    sums = np.float32(lane.rng.lognormal(size=lane.n)).astype(float)
    sure(np.diff(np.sort(sums)))
    alike = cosines(lane.k)
    links = np.array([alike[t, t + 1] for t in range(lane.n - 1)])
    sure(np.diff(np.sort(links)))
    heavy = set(np.argsort(-sums)[:int(params["heavy"] * budget)])

    def left(epsilon):
        return {max(run, key=lambda t: sums[t]) for run in sets_at(epsilon, links, heavy, params["set"])} | set(protected)

    low, high = -1.0, 1.0
    needs(len(left(low)) < budget <= len(left(high)))
    while len(left(high)) != budget:
        middle = (low + high) / 2
        low, high = (middle, high) if len(left(middle)) < budget else (low, middle)
    kept = sorted(left(high))
    carriers = set(kept) - heavy - set(protected)
    sources = {c: [] for c in carriers}
    for t in sorted(set(range(lane.n)) - set(kept)):
        before = max((c for c in kept if c < t), default=None)
        behind = min((c for c in kept if c > t), default=None)
        if before in carriers and behind in carriers:
            weakest = min(range(before, behind), key=lambda i: links[i])
            goes_to = before if t <= weakest else behind
        else:
            goes_to = before if before in carriers else behind
        if goes_to in carriers:
            sources[goes_to].append(t)
    for run in sets_at(high, links, heavy, params["set"]):  # what was merged is what was found
        pivot = max(run, key=lambda t: sums[t])
        if not set(run) & set(protected) and pivot in carriers and len(run) > 1:
            assert set(run) - {pivot} <= set(sources[pivot])
    k, v, counts = lane.k.copy(), lane.v.copy(), np.ones(lane.n)
    for c, members in sources.items():
        all_of = [c] + members
        squares = ((lane.k[all_of] - lane.k[c]) ** 2).sum(1)
        variance = squares.mean() or 1
        weights = np.exp(-squares / (2 * variance))
        weights /= weights.sum()
        k[c], v[c], counts[c] = weights @ lane.k[all_of], weights @ lane.v[all_of], len(all_of)
    needs(max(counts) > 4 and max(map(len, sets_at(high, links, heavy, lane.n))) > params["set"])
    return lane.text({**params, "budget": budget}, protected, "sums", sums, kept, counts[kept], k[kept], v[kept])


def write(name, make, lanes):
    out = []
    for lane in lanes:
        for seed in range(1000):
            try:
                out += make(seed, **lane)
                break
            except PassOver:
                continue
        else:
            raise SystemExit(f"{name}: no seed")
        print(name, "seed", seed)
    (TO / f"merge_{name}.txt").write_text("\n".join(out) + "\n")


def main():
    ends = lambda n, first, last: list(range(first)) + list(range(n - last, n))
    write("ems", ems, [
        {"params": {"gamma": 1, "tau": 0.6}, "budget": 18, "protected": ends(60, 4, 4), "n": 60, "d": 16, "first": 0,
         "pairs": "adjacent", "base": 10000},
        {"params": {"gamma": 2.5, "tau": 0.75}, "budget": 10, "protected": [], "n": 40, "d": 16, "first": 300, "pairs": "halves",
         "base": 500}])
    write("kvmerger", kvmerger, [
        {"params": {"set": 8, "heavy": 0.2}, "budget": 32, "protected": ends(80, 4, 8), "n": 80, "d": 16, "first": 0,
         "pairs": "adjacent", "base": 10000},
        {"params": {"set": 5, "heavy": 0}, "budget": 20, "protected": [], "n": 48, "d": 16, "first": 77, "pairs": "halves",
         "base": 10000}])


if __name__ == "__main__":
    main()
