"""Writes tests/golden/codec/layer_merge.bin (MiniCache, arXiv:2405.14366, equations 2 and 3) and cskv_values.bin (values of
CSKV, arXiv:2409.10593, in the principal components of made-up data).

Written from the papers' formulas as the heads of kvcache/comparison/layer_merge.h and codecs/cskv.cpp state them, not from
our code.

layer_merge.bin, little-endian: u32 rows, head_dim; fp64 t, retained share; fp32 x, y [rows, D]; u32 retained; fp32 x', y'.
Row 3 of x is zero, rows 5 are one direction, rows 7 opposite ones.
cskv_values.bin: u32 tokens, head_dim, rank; fp32 components [D, D]; fp32 x, decoded [tokens, D]: rank numbers of a token as
fp16, the mean of the others.

    python3 tests/oracle/make_layer_merge_fixtures.py        # needs: pip install numpy
"""
import pathlib
import struct

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden" / "codec"


def half(x):
    return np.asarray(x, np.float32).astype(np.float16).astype(np.float64)


def f32(*arrays):
    return b"".join(np.ascontiguousarray(a, "<f4").tobytes() for a in arrays)


def slerp(u, v, t):
    angle = np.arccos(np.clip(u @ v, -1, 1))
    if np.sin(angle) < 1e-4:
        return (1 - t) * u + t * v, angle
    return (np.sin((1 - t) * angle) * u + np.sin(t * angle) * v) / np.sin(angle), angle


def layer_merge(rng):
    rows, dim, t, share = 24, 48, 0.6, 0.1
    x = rng.standard_normal((rows, dim))
    y = x + 0.8 * rng.standard_normal((rows, dim)) * rng.uniform(0.2, 2, (rows, 1))
    x[3], y[5], y[7] = 0, 2.5 * x[5], -0.5 * x[7]
    x, y = half(x), half(y)
    out_x, out_y, angles = x.copy(), y.copy(), np.zeros(rows)
    for i in range(rows):
        a, b = np.linalg.norm(x[i]), np.linalg.norm(y[i])
        if a == 0 or b == 0:
            e = y[i] / b if a == 0 else x[i] / a
        else:
            e, angles[i] = slerp(x[i] / a, y[i] / b, t)
        out_x[i], out_y[i] = half(a) * half(e), half(b) * half(e)
    retained = np.argsort(-angles, kind="stable")[: round(share * rows)]
    out_x[retained], out_y[retained] = x[retained], y[retained]
    return struct.pack("<2I2d", rows, dim, t, share) + f32(x, y) + struct.pack("<I", len(retained)) + f32(out_x, out_y)


def cskv_values(rng):
    tokens, dim, rank = 100, 64, 13
    data = rng.standard_normal((500, dim)) * np.exp2(-np.arange(dim) / 8) @ np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    components = half(np.linalg.svd(data - data.mean(0), full_matrices=False)[2].T)
    x = half(data[:tokens] + rng.standard_normal(dim))
    inside = x @ components
    kept = np.hstack([half(inside[:, :rank]), np.broadcast_to(half(inside[:, rank:].mean(0)), (tokens, dim - rank))])
    return struct.pack("<3I", tokens, dim, rank) + f32(components, x, kept @ components.T)


def main() -> None:
    for name, make, seed in [("layer_merge", layer_merge, 1), ("cskv_values", cskv_values, 2)]:
        (FOLDER / f"{name}.bin").write_bytes(make(np.random.default_rng(seed)))


if __name__ == "__main__":
    main()
