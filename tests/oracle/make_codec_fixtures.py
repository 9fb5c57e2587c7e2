"""Writes tests/golden/codec/<name>.bin: 128 tokens of K and V, the packed page of layout id 1, some decoded rows.

Written from the specification (methods/codecs.md 0.1 and 8.2; byte planes as kernels/contract/page_layout.h lists them)
and not from our encoder: the order of codes is spelled out there per thread, word and bit, and so it is here.

Layout, little-endian: u32 head_dim, k_bits, v_bits, k_group, v_group, page bytes, NaN count, infinity count;
fp16 K [128, D], fp16 V [128, D], int32 positions [128], the page; fp32 decoded K and V of the tokens 0, 1, 77, 127.

    python3 tests/oracle/make_codec_fixtures.py        # needs: pip install numpy
"""
import pathlib
import struct

import numpy as np

TOKENS = 128
SHOWN = [0, 1, 77, 127]
F32 = np.float32


def half_down(x):
    h = x.astype(np.float16)
    return np.where(h.astype(F32) > x, np.nextafter(h, np.float16(-np.inf)), h)


def half_up(x):
    h = x.astype(np.float16)
    return np.where(h.astype(F32) < x, np.nextafter(h, np.float16(np.inf)), h)


def quantise(x, bits):
    """U(bits) over the last axis; x is fp32 and mended. Returns codes, scale and zero as fp16."""
    top = F32(2**bits - 1)
    low, high = x.min(-1) + F32(0), x.max(-1)
    zero = half_down(low)
    scale = half_up((high - zero.astype(F32)) / top)
    flat = ~(scale > 0)
    s = np.where(flat, F32(1), scale.astype(F32))
    codes = np.clip(np.rint((x - zero.astype(F32)[..., None]) / s[..., None]), 0, top)
    codes[flat] = 0
    return codes.astype(np.uint32), np.where(flat, np.float16(0), scale), zero


def words_of_row(codes, bits):
    """u32 words [t][j] of one block of up to 128 codes, as methods/codecs.md 8.2 lists them."""
    n = len(codes)
    words = []
    for t in range(4):
        if bits == 4:
            for j in range(n // 32):
                first = [32 * j + 2 * t, 32 * j + 2 * t + 8, 32 * j + 16 + 2 * t, 32 * j + 24 + 2 * t]
                words.append(sum((int(codes[f]) << 4 * i) | (int(codes[f + 1]) << (4 * i + 16))
                                 for i, f in enumerate(first)))
        elif bits == 2:
            for j in range(n // 64):
                word = 0
                for s in range(4):
                    for k, f in enumerate([64 * j + 16 * s + 2 * t, 64 * j + 16 * s + 2 * t + 8]):
                        i = 2 * s + k
                        word |= (int(codes[f]) << 2 * i) | (int(codes[f + 1]) << (2 * i + 16))
                words.append(word)
        else:
            for j in range(n // 16):
                f = 16 * j + 2 * t
                words.append(sum(int(codes[f + d]) << 8 * i for i, d in enumerate([0, 1, 8, 9])))
    return words


def row_bytes(codes, bits):
    out = b""
    for first in range(0, len(codes), 128):
        words = words_of_row(codes[first : first + 128], bits)
        out += struct.pack(f"<{len(words)}I", *words)
    return out


def permuted(row):
    """A row of scales in the order of the codes: all of thread 0, then thread 1 …"""
    out = []
    for first in range(0, len(row), 128):
        block = row[first : first + 128]
        for t in range(4):
            for m in range(len(block) // 8):
                out += [block[8 * m + 2 * t], block[8 * m + 2 * t + 1]]
    return np.array(out, dtype=np.float16)


def mend(x):
    x = x.astype(F32)
    return np.clip(np.where(np.isnan(x), F32(0), x), F32(-60000), F32(60000))


def page(k16, v16, positions, k_bits, v_bits, k_group, v_group):
    dim = k16.shape[1]
    k = mend(k16).reshape(TOKENS // k_group, k_group, dim).transpose(0, 2, 1)  # [group, channel, token]
    k_codes, k_scale, k_zero = quantise(k, k_bits)
    v = mend(v16).reshape(TOKENS, dim // v_group, v_group)  # [token, group, channel]
    v_codes, v_scale, v_zero = quantise(v, v_bits)
    out = positions.astype("<i4").tobytes()
    for plane in (k_scale, k_zero, v_scale.T, v_zero.T):
        out += b"".join(permuted(row).tobytes() for row in plane)
    k_rows = k_codes.transpose(0, 2, 1).reshape(TOKENS, dim)
    v_rows = v_codes.transpose(1, 2, 0).reshape(dim, TOKENS)
    out += b"".join(row_bytes(row, k_bits) for row in k_rows)
    out += b"".join(row_bytes(row, v_bits) for row in v_rows)
    out += bytes(-len(out) % 256)
    k_back = k_codes.astype(F32) * k_scale.astype(F32)[..., None] + k_zero.astype(F32)[..., None]
    v_back = v_codes.astype(F32) * v_scale.astype(F32)[..., None] + v_zero.astype(F32)[..., None]
    return out, k_back.transpose(0, 2, 1).reshape(TOKENS, dim), v_back.reshape(TOKENS, dim)


def tokens(dim, rng):
    """Keys with a bias and loud channels, as models have them; constant groups; the quantiser's edges."""
    k = rng.standard_normal((TOKENS, dim)) + rng.standard_normal(dim) * 2
    k[:, rng.choice(dim, dim // 16, replace=False)] *= 20
    v = rng.standard_normal((TOKENS, dim))
    k[:32, 3] = 5.0
    v[9, :] = -0.25
    v[10, :] = 0.0
    v[11, ::2] = -0.0
    v[11, 1::2] = 0.0
    k[40, 7], k[41, 7], v[100, 5] = np.nan, np.inf, -np.inf
    k[:, 12] *= 1e-6
    return k.astype(np.float16), v.astype(np.float16)


def main() -> None:
    folder = pathlib.Path(__file__).resolve().parent.parent / "golden" / "codec"
    assert words_of_row([i % 16 for i in range(128)], 4)[0] == 0x91918080
    rng = np.random.default_rng(20240612)
    for dim, bits, group in [(64, 2, 16), (64, 2, 32), (128, 2, 16), (128, 4, 32), (96, 8, 32)]:
        k, v = tokens(dim, rng)
        positions = np.sort(rng.choice(1000, TOKENS, replace=False))
        data, k_back, v_back = page(k, v, positions, bits, bits, group, group)
        both = np.concatenate([k.ravel(), v.ravel()])
        head = (dim, bits, bits, group, group, len(data), np.isnan(both).sum(), np.isinf(both).sum())
        path = folder / f"d{dim}_b{bits}_g{group}.bin"
        path.write_bytes(struct.pack("<8I", *head) + k.tobytes() + v.tobytes() + positions.astype("<i4").tobytes() + data
                         + k_back[SHOWN].astype("<f4").tobytes() + v_back[SHOWN].astype("<f4").tobytes())
        print(path.name, len(data), "bytes of page,", path.stat().st_size, "bytes of file")


if __name__ == "__main__":
    main()
