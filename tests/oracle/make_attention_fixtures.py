"""Writes tests/golden/attention/<name>.bin: grouped-query causal attention as PyTorch computes it, in float64.

q is fp32, k and v fp16, keys lie at rising positions with holes (evicted tokens); a query sees the keys at its position
and before. Also the log-sum-exp per query and head, and the column sums of the probabilities, averaged over each group.

Layout, little-endian: u32 n_tokens, n_heads, n_kv_heads, head_dim, n_keys; fp32 scale; fp32 q [n_tokens, n_heads, D];
fp16 k, v [n_kv_heads, n_keys, D]; int32 positions of queries, of keys; fp32 out as q; fp32 lse [n_tokens, n_heads];
fp32 column sums [n_kv_heads, n_keys].

    python3 tests/oracle/make_attention_fixtures.py        # needs: pip install torch numpy
"""
import pathlib
import struct

import numpy as np
import torch


def case(n_tokens, n_heads, n_kv_heads, dim, n_keys, first, seed):
    g = torch.Generator().manual_seed(seed)
    q = torch.randn(n_tokens, n_heads, dim, generator=g) * 2
    k = (torch.randn(n_kv_heads, n_keys, dim, generator=g)).half()
    v = torch.randn(n_kv_heads, n_keys, dim, generator=g).half()
    span = first + n_tokens
    key_at = torch.randperm(span, generator=g)[:n_keys].sort().values
    query_at = torch.arange(first, span)
    scale = np.float32(1 / np.sqrt(dim))
    group = n_heads // n_kv_heads
    mask = key_at[None, :] <= query_at[:, None]
    wide = lambda x: x.double().repeat_interleave(group, dim=0)
    out = torch.nn.functional.scaled_dot_product_attention(
        q.double().transpose(0, 1), wide(k), wide(v), attn_mask=mask[None].expand(n_heads, -1, -1),
        scale=float(scale)).transpose(0, 1)
    logits = (q.double().transpose(0, 1) @ wide(k).transpose(1, 2)) * float(scale)
    logits = logits.masked_fill(~mask[None], float("-inf"))
    lse = torch.logsumexp(logits, -1)
    seen = mask.any(1)
    out[~seen] = 0
    p = torch.where(mask[None], torch.exp(logits - lse[..., None]), torch.zeros((), dtype=torch.float64))
    p[:, ~seen] = 0
    sums = p.sum(1).reshape(n_kv_heads, group, n_keys).mean(1)
    ints = lambda x: x.numpy().astype("<i4").tobytes()
    reals = lambda x: x.contiguous().numpy().astype("<f4").tobytes()
    return (struct.pack("<5If", n_tokens, n_heads, n_kv_heads, dim, n_keys, scale) + reals(q) + k.numpy().tobytes()
            + v.numpy().tobytes() + ints(query_at) + ints(key_at) + reals(out) + reals(lse.T) + reals(sums))


def main() -> None:
    folder = pathlib.Path(__file__).resolve().parent.parent / "golden" / "attention"
    for name, shape in {"decode_g3_d64": (1, 3, 1, 64, 200, 250, 1), "prefill_g3_d64": (20, 6, 2, 64, 60, 50, 2),
                        "prefill_g1_d96": (9, 2, 2, 96, 40, 33, 3), "prefill_g4_d128": (5, 8, 2, 128, 30, 40, 4),
                        "first_tokens_g7_d64": (12, 7, 1, 64, 8, 0, 5)}.items():
        path = folder / f"{name}.bin"
        path.write_bytes(case(*shape))
        print(path.name, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
