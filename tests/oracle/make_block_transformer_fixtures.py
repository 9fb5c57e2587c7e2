"""Writes tests/golden/model/block_transformer.bin: logits of a tiny Block Transformer (arXiv:2406.02657) in PyTorch.

Written from the paper and from the head of app/eval/block_transformer/block_transformer.h, not from our code: every block
is read at once, each attention is one full matrix over its own sequence, and the token decoder runs over the blocks one by
one. Weights are those that layer_stack.h defines by the tensors' names.

Little-endian: u32 tokens, vocabulary; i32 ids [tokens]; fp32 logits [tokens - 3, vocabulary] after tokens 3, 4, … (blocks of 4).

    python3 tests/oracle/make_block_transformer_fixtures.py        # needs: pip install torch numpy
"""
import pathlib
import struct

import numpy as np
import torch

PATH = pathlib.Path(__file__).resolve().parent.parent / "golden" / "model" / "block_transformer.bin"
VOCABULARY, BLOCK, PREFIX, EPSILON = 48, 4, 2, 1e-5
BLOCKS = dict(name="block.", layers=2, heads=4, kv_heads=2, dim=32, ffn=96, width=128)
TOKENS = dict(name="token.", layers=2, heads=2, kv_heads=2, dim=32, ffn=64, width=64)


def made(name, *shape, scale=None):
    n = int(np.prod(shape))
    first = 2166136261
    for c in name.encode():
        first = ((first ^ c) * 16777619) & 0xFFFFFFFF
    x = (first + np.arange(n, dtype=np.uint64) * 2654435761) & 0xFFFFFFFF
    x ^= x >> 15
    x = (x * 0x2C1B3C6D) & 0xFFFFFFFF
    x ^= x >> 12
    scale = (3 / shape[-1]) ** 0.5 if scale is None else scale
    return torch.tensor((scale * (x.astype(np.float64) * 2.0 ** -31 - 1)).astype(np.float32)).view(*shape)


def norm(x, name):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * (1 + made(name, x.shape[-1], scale=0.25))


def rope(x):  # [positions, heads, dim], pairs (2i, 2i + 1)
    dim = x.shape[-1]
    turn = 10000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    phase = torch.arange(x.shape[0], dtype=torch.float64)[:, None] * turn
    cos, sin = phase.cos().float()[:, None], phase.sin().float()[:, None]
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


def decoder(x, of):  # [positions, width], causal
    n, heads, kv_heads, dim, width, ffn = len(x), of["heads"], of["kv_heads"], of["dim"], of["width"], of["ffn"]
    mask = torch.full((n, n), float("-inf")).triu(1)
    for i in range(of["layers"]):
        at = f"{of['name']}blk.{i}."
        y = norm(x, at + "attn_norm.weight")
        q = rope((y @ made(at + "attn_q.weight", heads * dim, width).T).view(n, heads, dim))
        k = rope((y @ made(at + "attn_k.weight", kv_heads * dim, width).T).view(n, kv_heads, dim)).half().float()
        v = (y @ made(at + "attn_v.weight", kv_heads * dim, width).T).view(n, kv_heads, dim).half().float()
        k, v = (t.repeat_interleave(heads // kv_heads, 1) for t in (k, v))
        p = torch.softmax(torch.einsum("qhd,khd->hqk", q, k) / dim ** 0.5 + mask, -1)
        x = x + torch.einsum("hqk,khd->qhd", p, v).reshape(n, -1) @ made(at + "attn_output.weight", width, heads * dim).T
        y = norm(x, at + "ffn_norm.weight")
        gate = torch.nn.functional.silu(y @ made(at + "ffn_gate.weight", ffn, width).T)
        x = x + (gate * (y @ made(at + "ffn_up.weight", ffn, width).T)) @ made(at + "ffn_down.weight", width, ffn).T
    return norm(x, of["name"] + "output_norm.weight")


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    ids = torch.tensor((np.arange(27) ** 2 * 7 + 3) % VOCABULARY)
    table = made("embedder", VOCABULARY, BLOCKS["width"] // BLOCK)
    embedding = made("token.token_embd.weight", VOCABULARY, TOKENS["width"])
    n_blocks = len(ids) // BLOCK
    context = decoder(table[ids[:n_blocks * BLOCK]].view(n_blocks, -1), BLOCKS)
    expand = made("expand", PREFIX * TOKENS["width"], BLOCKS["width"])
    prefixes = (context @ expand.T + made("expand.bias", PREFIX * TOKENS["width"], scale=0.25)).view(n_blocks, PREFIX, -1)
    logits = []
    for i in range(n_blocks):
        tokens = embedding[ids[(i + 1) * BLOCK:(i + 2) * BLOCK - 1]]  # the block's last token is read by the embedder only
        logits.append(decoder(torch.cat((prefixes[i], tokens)), TOKENS)[PREFIX - 1:] @ embedding.T)
    logits = torch.cat(logits)
    assert len(logits) == len(ids) - BLOCK + 1
    PATH.write_bytes(struct.pack("<2I", len(ids), VOCABULARY) + ids.numpy().astype("<i4").tobytes()
                     + logits.numpy().astype("<f4").tobytes())
    print(logits.std(), logits[0][:4])


if __name__ == "__main__":
    main()
