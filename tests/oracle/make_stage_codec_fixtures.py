"""Writes tests/golden/codec/hadamard_*.bin and gear_*.bin: pages as numpy makes them from the papers' formulas.

Written from the specification of each codec (the heads of kvcache/codecs/hadamard_affine.cpp and gear.cpp, the turn in
kernels/contract/transform.h), not from our encoders; the quantiser and the order of affine codes are make_codec_fixtures.py's.

hadamard, little-endian: u32 head_dim, bits, group, page bytes; fp16 K, V [128, D]; int32 positions [128]; the page;
fp32 decoded K, V of the tokens 0, 1, 77, 127.
gear: u32 operand (0 K, 1 V), head_dim, bits, group, tokens, outliers a row, rank; fp32 x [tokens, D]; then the planes of
a page of 128 tokens in the order of gear.cpp's head; fp32 decoded rows of the tokens 0, 1, 77 and the last.

    python3 tests/oracle/make_stage_codec_fixtures.py        # needs: pip install numpy
"""
import pathlib
import struct

import numpy as np

from make_codec_fixtures import F32, SHOWN, TOKENS, mend, page, quantise, tokens

ROUNDS = 3


def turned(x):
    """The normalised Walsh-Hadamard transform of each row, in blocks; butterflies of fp32 in the order of turn.h."""
    dim = x.shape[1]
    n = dim & -dim
    x = x.astype(F32).reshape(len(x), dim // n, n)
    distance = 1
    while distance < n:
        pairs = x.reshape(len(x), dim // n, n // (2 * distance), 2, distance)
        x = np.stack([pairs[..., 0, :] + pairs[..., 1, :], pairs[..., 0, :] - pairs[..., 1, :]], axis=3)
        x = x.reshape(len(x), dim // n, n)
        distance *= 2
    return (x * F32(1 / np.sqrt(n))).reshape(len(x), dim)


def hadamard_page(k16, v16, positions, bits, group):
    data, k, v = page(turned(mend(k16)), turned(mend(v16)), positions, bits, bits, group, group)
    return data, turned(k), turned(v)


def take_outliers(rows, n):
    """The n/2 largest and n/2 smallest of each row: places, values, and the rows with the mean of the others there."""
    places = np.zeros((len(rows), n), np.uint8)
    values = np.zeros((len(rows), n), np.float16)
    taken = np.zeros(rows.shape, bool)
    rest = rows.copy()
    for r, row in enumerate(rows):
        order = np.lexsort((np.arange(len(row)), -row))
        at = np.sort(np.concatenate([order[: n // 2], order[len(row) - n // 2 :]]))
        places[r], values[r] = at, row[at].astype(np.float16)
        taken[r, at] = True
        rest[r, at] = row[~taken[r]].astype(np.float64).mean()
    return places, values, taken, rest


def start_signs(dim, rank):
    z = (np.arange(dim * rank, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.where(z & np.uint64(1), 1.0, -1.0).reshape(dim, rank)


def orthonormal(m):
    q = np.zeros_like(m)
    for j in range(m.shape[1]):
        column = m[:, j].copy()
        for other in range(j):
            column -= (column @ q[:, other]) * q[:, other]
        q[:, j] = column / np.linalg.norm(column)
    return q


def gear_operand(x, is_k, bits, group, n, rank):
    """Planes of one operand of a page with room for TOKENS tokens, and what they decode to."""
    count, dim = x.shape
    places, values, taken, rest = take_outliers(x.T if is_k else x, n)
    if is_k:
        taken, rest = taken.T, rest.T
    codes = np.zeros((TOKENS, dim), np.uint32)
    ranges = (TOKENS // group, dim) if is_k else (TOKENS, dim // group)
    scale, zero = np.zeros(ranges, np.float16), np.zeros(ranges, np.float16)
    back = np.zeros((count, dim), F32)
    for g in range((count + group - 1) // group if is_k else dim // group):
        cut = (slice(g * group, min(count, (g + 1) * group)), slice(None)) if is_k else \
              (slice(0, count), slice(g * group, (g + 1) * group))
        part = rest[cut].T if is_k else rest[cut]
        c, s, z = quantise(part, bits)
        decoded = c.astype(F32) * s.astype(F32)[:, None] + z.astype(F32)[:, None]
        codes[cut], back[cut] = (c.T, decoded.T) if is_k else (c, decoded)
        if is_k:
            scale[g], zero[g] = s, z
        else:
            scale[:count, g], zero[:count, g] = s, z
    error = np.where(taken, F32(0), rest - back).astype(np.float64)
    channels = start_signs(dim, rank)
    for _ in range(ROUNDS):
        by_token = orthonormal(error @ orthonormal(channels))
        channels = error.T @ by_token
    token_factors = np.zeros((TOKENS, rank), np.float16)
    token_factors[:count] = by_token
    channel_factors = channels.T.astype(np.float16)
    out = back.astype(np.float64) + token_factors[:count].astype(np.float64) @ channel_factors.astype(np.float64)
    lines = out.T if is_k else out
    for r, at in enumerate(places):
        lines[r, at] = values[r]
    per_byte = 8 // bits
    packed = (codes.reshape(-1, per_byte) << (np.arange(per_byte, dtype=np.uint32) * bits)).sum(1).astype(np.uint8)
    if not is_k:  # rows of tokens that are not there stay empty
        full = np.zeros((TOKENS, n))
        places = np.concatenate([places, np.zeros_like(full[count:], np.uint8)])
        values = np.concatenate([values, np.zeros_like(full[count:], np.float16)])
    return [packed, scale, zero, places, values, token_factors, channel_factors], out


def main() -> None:
    folder = pathlib.Path(__file__).resolve().parent.parent / "golden" / "codec"
    assert np.allclose(turned(np.array([[1, 2, 3, 4]], F32)), [[5, -1, -2, 0]])
    rng = np.random.default_rng(20241121)
    for dim, bits, group in [(64, 4, 32), (96, 4, 16)]:
        k, v = tokens(dim, rng)
        positions = np.sort(rng.choice(1000, TOKENS, replace=False))
        data, k_back, v_back = hadamard_page(k, v, positions, bits, group)
        path = folder / f"hadamard_d{dim}_b{bits}_g{group}.bin"
        path.write_bytes(struct.pack("<4I", dim, bits, group, len(data)) + k.tobytes() + v.tobytes()
                         + positions.astype("<i4").tobytes() + data + k_back[SHOWN].tobytes() + v_back[SHOWN].tobytes())
        print(path.name, path.stat().st_size)
    for is_k, dim, bits, group, count in [(True, 64, 4, 64, 128), (False, 64, 4, 64, 128), (True, 96, 2, 32, 100),
                                          (False, 96, 2, 32, 100)]:
        k, v = tokens(dim, rng)
        x = mend((k if is_k else v)[:count])
        n = 2 * int(np.floor(0.02 * (TOKENS if is_k else dim) / 2 + 0.5))
        planes, out = gear_operand(x, is_k, bits, group, n, 4)
        path = folder / f"gear_{'k' if is_k else 'v'}_d{dim}_b{bits}.bin"
        path.write_bytes(struct.pack("<7I", int(not is_k), dim, bits, group, count, n, 4) + x.astype("<f4").tobytes()
                         + b"".join(plane.tobytes() for plane in planes) + out[[0, 1, 77, count - 1]].astype("<f4").tobytes())
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
