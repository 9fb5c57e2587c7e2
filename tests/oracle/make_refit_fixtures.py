"""Writes tests/golden/selection/refit.txt: lanes of made-up keys, values and queries, and what the refit leaves of them
(kvcache/mergers/refit.cpp has the formula), in float64, another way than our code goes: every fit is a least-squares problem
with the ridge as rows of its own, solved by numpy.linalg.lstsq. Keys are not rotated, so queries stay where they were.

Format, line by line, of each lane:
    lane TOKENS HEAD_DIM QUERIES SINKS TAIL SOFT_CAP {parameters}
    kept N …                tokens
    k …  v …  q …           a line for each token, token, query
    lse …                   of the queries
    counts …                of the kept tokens
    v …                     a line for each kept token, refitted

    python3 tests/oracle/make_refit_fixtures.py        # needs: pip install numpy
"""
import json
import pathlib

import numpy as np

TO = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/selection/refit.txt"


def row(name, x):
    return f"{name} " + " ".join(f"{y:.8g}" for y in x)


def ridge_fit(x, r, ridge):
    """The b of least |r - x b|² + ridge · mean column norm² · |b|²."""
    root = np.sqrt(ridge * np.mean(np.sum(x * x, axis=0)))
    more = np.vstack([x, root * np.eye(x.shape[1])])
    return np.linalg.lstsq(more, np.vstack([r, np.zeros((x.shape[1], r.shape[1]))]), rcond=None)[0]


def lane(seed, n, d, n_q, n_kept, n_sinks, n_tail, soft_cap, ridge, bound, alike=False):
    rng = np.random.default_rng(seed)
    half = lambda *shape: rng.normal(size=shape).astype(np.float16).astype(float)
    k, v, q = half(n, d), half(n, d), 1.5 * half(n_q, d)
    if alike:
        k[:] = k[0]
    lse = rng.normal(size=n_q) + 2
    scale, end = d ** -0.5, n - n_tail
    kept = sorted({*range(n_sinks), *range(end, n), *rng.choice(np.arange(n_sinks, end), n_kept, replace=False)})
    fitted = [t for t in kept if t < end]
    z = q @ k[:end].T * scale
    if soft_cap:
        z = soft_cap * np.tanh(z / soft_cap)
    whole = np.log(np.sum(np.exp(z), axis=1))
    share = np.exp(z - whole[:, None])
    y, x = share @ v[:end], share[:, fitted]
    w = 1 / (1 + np.exp(lse - whole))
    counts = np.ones(len(fitted))
    free = x[:, n_sinks:] * w[:, None]
    counts[n_sinks:] += ridge_fit(free, (w * (1 - x.sum(1)))[:, None], ridge)[:, 0]
    counts = np.clip(counts, np.exp(-bound), np.exp(bound))
    a = x * counts
    mass = a.sum(1, keepdims=True)
    a /= mass
    u = w[:, None] * np.minimum(1, mass / np.float32(1e-3))
    after = v.copy()
    after[fitted] += ridge_fit(a * u, u * (y - a @ v[fitted]), ridge)
    of = dict(zip(fitted, counts))
    params = json.dumps({"queries": n_q, "held": 0, "ridge": ridge, "bound": bound})
    lines = [f"lane {n} {d} {n_q} {n_sinks} {n_tail} {soft_cap} {params}", f"kept {len(kept)} " + " ".join(map(str, kept))]
    lines += [row(name, x) for name, rows in (("k", k), ("v", v), ("q", q)) for x in rows] + [row("lse", lse)]
    return lines + [row("counts", [of.get(t, 1) for t in kept])] + [row("v", after[t]) for t in kept]


def main():
    lines = []
    for number, (n, d, n_q, n_kept, n_sinks, n_tail, cap, ridge, bound, alike) in enumerate([
            (40, 8, 16, 20, 0, 0, 0, 0.1, 3, False),    # fewer queries than keys
            (40, 8, 64, 20, 0, 0, 0, 0.1, 3, False),    # more
            (60, 16, 32, 12, 4, 9, 0, 0.1, 3, False),   # sinks and a tail
            (60, 16, 48, 12, 4, 9, 2, 0.01, 1, False),  # soft cap, a weak ridge, a narrow bound
            (33, 8, 16, 1, 0, 0, 0, 0.1, 3, False),     # one token stays
            (33, 8, 16, 5, 0, 0, 0, 0.1, 3, True)]):    # all keys are alike
        lines += lane(number, n, d, n_q, n_kept, n_sinks, n_tail, cap, ridge, bound, alike)
    TO.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
