"""Writes tests/golden/codec/planes_<codec>.bin: one operand of 20 tokens in a page of 32, by each codec with loops of its own.

Written from the papers' formulas as the heads of kvcache/codecs/*.cpp state them, not from our encoders; the quantiser with
a minimum is make_codec_fixtures.py's, the Hadamard transform make_stage_codec_fixtures.py's.

Layout, little-endian: u32 operand (0 K, 1 V), head_dim, tokens, planes; fp32 x [tokens, D], as the codec sees it (turned
already, where a backend turns); then for each plane u32 bytes and the bytes, in the order of the codec's head; fp32 decoded
[tokens, D].

    python3 tests/oracle/make_plane_codec_fixtures.py        # needs: pip install numpy
"""
import pathlib
import struct

import numpy as np

from make_codec_fixtures import F32, half_up, quantise
from make_stage_codec_fixtures import orthonormal, start_signs, turned

COUNT, ROOM = 20, 32
F16 = np.float16


def packed(codes, room_shape, bits):
    """Codes [tokens, …] in a plane with room for more tokens, one after the other, low bits first."""
    full = np.zeros(room_shape, np.uint32)
    full[: len(codes)] = codes
    by_bit = (full.reshape(-1, 1) >> np.arange(bits, dtype=np.uint32)) & 1
    return np.packbits(by_bit.astype(np.uint8).reshape(-1), bitorder="little")


def room(values, shape, dtype=F16):
    full = np.zeros(shape, dtype)
    full[: len(values)] = values
    return full


def decoded(codes, scale, zero):
    return codes.astype(F32) * scale.astype(F32)[..., None] + zero.astype(F32)[..., None]


def fp8(x):
    scale = half_up(np.abs(x).max()[None] / F32(448))
    y = x / scale.astype(F32)
    size = np.minimum(np.abs(y), F32(448)).astype(np.float64)
    values = np.array([(m if e == 0 else (8 + m) * 2.0 ** (e - 1)) * 2.0**-9 for e in range(16) for m in range(8)][:127])
    above = np.clip(np.searchsorted(values, size), 1, 126)  # values[above - 1] < size <= values[above]
    low, high = size - values[above - 1], values[above] - size
    code = np.where((low < high) | ((low == high) & (above % 2 == 1)), above - 1, above)
    back = np.where(np.signbit(y), -1, 1) * values[code]
    plane = code | np.where(np.signbit(y), 128, 0)
    return [packed(plane, (ROOM, x.shape[1]), 8), scale], back.astype(F32) * scale.astype(F32)


def int_token_symmetric(x, bits):
    scale = half_up(np.abs(x).max(1) / F32(2 ** (bits - 1) - 1))
    codes = np.rint(x / scale.astype(F32)[:, None])
    return ([packed((codes + 2 ** (bits - 1)).astype(np.uint32), (ROOM, x.shape[1]), bits), room(scale, ROOM)],
            codes * scale.astype(F32)[:, None])


def block32_refit(x, bits, block):
    y = x.reshape(COUNT, -1, block)
    longest = np.take_along_axis(y, np.abs(y).argmax(-1)[..., None], -1)
    inverse = F32(1) / (longest / F32(-(2 ** (bits - 1))))
    codes = np.minimum(np.trunc(y * inverse + F32(2 ** (bits - 1) + 0.5)), 2**bits - 1)
    q, y64 = codes.astype(np.float64) - 2 ** (bits - 1), y.astype(np.float64)
    scale = ((y64**3 * q).sum(-1) / (y64**2 * q**2).sum(-1)).astype(F16)
    back = q.astype(F32) * scale.astype(F32)[..., None]
    return ([packed(codes.reshape(x.shape).astype(np.uint32), (ROOM, x.shape[1]), bits),
             room(scale, (ROOM, x.shape[1] // block))], back.reshape(x.shape))


LEVELS_3 = np.array([-2.1520, -1.3439, -0.7560, -0.2451, 0.2451, 0.7560, 1.3439, 2.1520])


def spread(x, dim):
    """The reflection of all blocks of the transform about their mean."""
    n = dim & -dim
    blocks = x.reshape(-1, dim // n, n).copy()
    total = np.zeros_like(blocks[:, 0])
    for b in range(dim // n):
        total = total + blocks[:, b]
    return (blocks - (F32(2) * total / F32(dim // n))[:, None]).reshape(x.shape)


def turboquant_3(x):
    dim = x.shape[1]
    signs = start_signs(dim, 1).reshape(dim).astype(F32)
    y = spread(turned(x * signs), dim).astype(np.float64)
    unit = y / np.linalg.norm(y, axis=1)[:, None] * np.sqrt(dim)
    codes = np.abs(unit[..., None] - LEVELS_3).argmin(-1)
    factor = (np.linalg.norm(y, axis=1) / np.linalg.norm(LEVELS_3[codes], axis=1)).astype(F16)
    back = LEVELS_3[codes].astype(F32) * factor.astype(F32)[:, None]
    return ([packed(codes.astype(np.uint32), (ROOM, dim), 3), room(factor, ROOM)],
            turned(spread(back, dim)) * signs)


def kitty_k(x, n):
    dim = x.shape[1]
    boosted = np.sort(np.argsort(-np.abs(x.astype(np.float64)).mean(0), kind="stable")[:n])
    codes, scale, zero = quantise(x.T, 2)
    codes4, scale4, zero4 = quantise(x.T[boosted], 4)
    back = decoded(codes, scale, zero)
    back[boosted] = decoded(codes4, scale4, zero4)
    codes[boosted], scale[boosted], zero[boosted] = codes4 // 4, scale4, zero4
    return ([packed(codes.T, (ROOM, dim), 2), scale, zero, boosted.astype(np.uint8),
             packed((codes4 % 4).T, (ROOM, n), 2)], back.T)


def loudest(x):
    return np.argsort(-(x.astype(np.float64) ** 2).sum(0), kind="stable")


def bfp_k(x, bits, block):
    order = loudest(x)
    y = x[:, order].reshape(COUNT, -1, block)
    exponent = np.floor(np.log2(np.abs(y).max(-1).astype(np.float64)))
    step = 2.0 ** (exponent - bits + 2)[..., None]
    mantissa = np.clip(np.rint(y / step), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    back = np.zeros(x.shape, F32)
    back[:, order] = (mantissa * step).reshape(x.shape)
    codes = (mantissa + 2 ** (bits - 1)).astype(np.uint32).reshape(x.shape)
    return ([packed(codes, (ROOM, x.shape[1]), bits), room(exponent + 127, (ROOM, x.shape[1] // block), np.uint8),
             order.astype(np.uint8)], back)


def zipcache_v(x, bits):
    factor = np.sqrt(np.abs(x).max(0)).astype(F16)
    codes, scale, zero = quantise(x / factor.astype(F32), bits)
    return ([packed(codes, (ROOM, x.shape[1]), bits), room(scale, ROOM), room(zero, ROOM), factor],
            decoded(codes, scale, zero) * factor.astype(F32))


def rotatekv_k(x, bits, group):
    order = loudest(x)
    codes, scale, zero = quantise(x[:, order].reshape(COUNT, -1, group), bits)
    back = np.zeros(x.shape, F32)
    back[:, order] = decoded(codes, scale, zero).reshape(x.shape)
    ranges = (ROOM, x.shape[1] // group)
    return ([packed(codes.reshape(x.shape), (ROOM, x.shape[1]), bits), room(scale, ranges), room(zero, ranges),
             order.astype(np.uint8)], back)


def think_k(x, bits, n):
    kept = np.sort(loudest(x)[:n])
    codes, scale, zero = quantise(x.T[kept], bits)
    back = np.zeros(x.shape, F32)
    back[:, kept] = decoded(codes, scale, zero).T
    return [kept.astype(np.uint8), packed(codes.T, (ROOM, n), bits), scale, zero], back


def oscar_v(x, clip):
    limit = np.sort(np.abs(x), 1)[:, int(clip * x.shape[1])][:, None]
    codes, scale, zero = quantise(np.clip(x, -limit, limit), 2)
    return [packed(codes, (ROOM, x.shape[1]), 2), room(scale, ROOM), room(zero, ROOM)], decoded(codes, scale, zero)


def qhitter_k(x):
    codes, scale, zero = quantise(x, 4)
    return [packed(codes, (ROOM, x.shape[1]), 4), room(scale, ROOM), room(zero, ROOM)], decoded(codes, scale, zero)


def mikv_k(x, bits, group):
    largest = np.abs(x).max(0).astype(np.float64)
    factor = (2.0 ** np.clip(np.rint(np.log2(largest) / 2), -8, 8)).astype(F16)
    codes, scale, zero = quantise((x / factor.astype(F32)).reshape(COUNT, -1, group), bits)
    ranges = (ROOM, x.shape[1] // group)
    return ([packed(codes.reshape(x.shape), (ROOM, x.shape[1]), bits), room(scale, ranges), room(zero, ranges), factor],
            decoded(codes, scale, zero).reshape(x.shape) * factor.astype(F32))


def line_means(x, k):
    """k-means on a line, from quantiles; a value halfway belongs to the lower."""
    x = np.sort(x)
    means = x[(2 * np.arange(k) + 1) * len(x) // (2 * k)]
    for _ in range(40):
        nearest = np.searchsorted((means[1:] + means[:-1]) / 2, x)
        new = np.array([x[nearest == i].mean() if (nearest == i).any() else means[i] for i in range(k)])
        if np.allclose(new, means, rtol=0, atol=1e-15):
            break
        means = new
    return means


def kvquant_k(x, bits, part):
    x64 = x.astype(np.float64)
    off = (x64 - x64.mean(0)) ** 2
    far = off / off.sum(0) * COUNT
    n = round(part * ROOM * x.shape[1])
    taken = np.sort(np.argsort(-far.reshape(-1), kind="stable")[:n])
    rest = np.ma.masked_array(x, np.isin(np.arange(x.size), taken).reshape(x.shape))
    low, high = rest.min(0).filled(0), rest.max(0).filled(0)
    zero = (low / F32(2) + high / F32(2)).astype(F16)
    scale = half_up(np.maximum(high - zero.astype(F32), zero.astype(F32) - low))
    levels = (x64 - zero.astype(np.float64)) / scale.astype(np.float64)
    book = line_means(levels[~rest.mask], 2**bits).astype(F16)
    fine = book.astype(np.float64)
    codes = np.searchsorted((fine[1:] + fine[:-1]) / 2, levels).astype(np.uint32)
    codes[rest.mask] = 0
    back = book.astype(F32)[codes] * scale.astype(F32) + zero.astype(F32)
    back.reshape(-1)[taken] = x.reshape(-1)[taken]
    return ([packed(codes, (ROOM, x.shape[1]), bits), scale, zero, book, taken.astype(np.uint16),
             x.reshape(-1)[taken].astype(F16)], back)


def shadowkv_k(x, rank):
    x64 = x.astype(np.float64)
    channels = start_signs(x.shape[1], rank).reshape(x.shape[1], rank).astype(np.float64)
    for _ in range(8):
        tokens = orthonormal(x64 @ orthonormal(channels))
        channels = x64.T @ tokens
    root = np.sqrt(np.linalg.norm(channels, axis=0))
    tokens, channels = (tokens * root).astype(F32).astype(F16), (channels / root).T.astype(F32).astype(F16)
    return [room(tokens, (ROOM, rank)), channels], (tokens.astype(np.float64) @ channels.astype(np.float64)).astype(F32)


def a2ats_k(x, bits, width):
    stretches = x.shape[1] // width
    book = np.zeros((stretches, 2**bits, width), F16)
    codes = np.zeros((COUNT, stretches), np.uint32)
    for s in range(stretches):
        points = x[:, s * width:(s + 1) * width].astype(np.float64)
        words = points[(2 * np.arange(2**bits) + 1) * COUNT // (2 * 2**bits)]
        near = lambda to: ((points[:, None] - to[None]) ** 2).sum(-1).argmin(1)
        for _ in range(12):
            nearest = near(words)
            words = np.array([points[nearest == w].mean(0) if (nearest == w).any() else words[w]
                              for w in range(2**bits)])
        book[s] = words.astype(F32).astype(F16)
        codes[:, s] = near(book[s].astype(np.float64))
    back = book.astype(F32)[np.arange(stretches), codes].reshape(x.shape)
    return [packed(codes, (ROOM, stretches), bits), book], back


def cskv_k(x, rank, bits):
    mean = x[:, rank:].astype(np.float64).mean(0).astype(F32).astype(F16)
    codes, scale, zero = quantise(x[:, :rank].T, bits)  # 20 tokens are less than a group of 32
    back = np.broadcast_to(mean.astype(F32), (COUNT, len(mean)))
    return ([packed(codes.T, (ROOM, rank), bits), scale, zero, mean],
            np.hstack([decoded(codes, scale, zero).T, back]))


def main() -> None:
    folder = pathlib.Path(__file__).resolve().parent.parent / "golden" / "codec"
    rng = np.random.default_rng(20261122)

    def values(dim):
        x = rng.standard_normal((COUNT, dim)) + rng.standard_normal(dim)
        x[:, rng.choice(dim, dim // 16, replace=False)] *= 10
        return x.astype(F16).astype(F32)

    for name, operand, dim, make in [
            ("fp8", 0, 48, fp8), ("int_token", 1, 48, lambda x: int_token_symmetric(x, 4)),
            ("block32", 0, 48, lambda x: block32_refit(x, 5, 16)), ("turboquant", 1, 96, turboquant_3),
            ("kitty", 0, 48, lambda x: kitty_k(x, 6)), ("bfp", 0, 64, lambda x: bfp_k(x, 4, 32)),
            ("zipcache", 1, 48, lambda x: zipcache_v(x, 4)), ("rotatekv", 0, 48, lambda x: rotatekv_k(x, 3, 16)),
            ("think", 0, 48, lambda x: think_k(x, 4, 24)), ("oscar", 1, 64, lambda x: oscar_v(x, 0.92)),
            ("qhitter", 0, 48, qhitter_k), ("mikv", 0, 64, lambda x: mikv_k(x, 3, 32)),
            ("kvquant", 0, 48, lambda x: kvquant_k(x, 3, 0.01)), ("shadowkv", 0, 64, lambda x: shadowkv_k(x, 10)),
            ("a2ats", 0, 48, lambda x: a2ats_k(x, 4, 4)), ("cskv", 0, 64, lambda x: cskv_k(x, 16, 4))]:
        x = values(dim)
        planes, back = make(x)
        path = folder / f"planes_{name}.bin"
        data = b"".join(struct.pack("<I", p.nbytes) + np.ascontiguousarray(p).tobytes() for p in planes)
        path.write_bytes(struct.pack("<4I", operand, dim, COUNT, len(planes)) + x.astype("<f4").tobytes() + data
                         + back.astype("<f4").tobytes())
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
