"""The model: Llama as Touvron et al. 2023 (arXiv 2302.13971) describe it, with grouped queries and tied embeddings.

RMSNorm before each block, rotary positions, SwiGLU, no biases. Weights hold the rotary pairs as GGUF's Llama convention
does, (2i, 2i + 1), so that files need no reordering.
"""

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes of a model. head_dim is 64, whatever the width: the codecs work on lanes of 64 and 128."""

    n_vocab: int = 2048
    width: int = 192
    n_layers: int = 6
    n_heads: int = 4
    n_kv_heads: int = 2
    head_dim: int = 64
    ffn: int = 384
    context: int = 2048
    rope_base: float = 100000.0
    epsilon: float = 1e-5


SHAPES = {
    "tiny": Shape(
        n_vocab=1024, width=64, n_layers=2, n_heads=2, n_kv_heads=1, ffn=128, context=512
    ),
    "cpu": Shape(),
    "mini": Shape(
        n_vocab=2048,
        width=384,
        n_layers=8,
        n_heads=8,
        n_kv_heads=4,
        ffn=1024,
        context=8192,
        rope_base=500000.0,
    ),
    "small": Shape(
        n_vocab=4096,
        width=512,
        n_layers=12,
        n_heads=8,
        n_kv_heads=4,
        ffn=1536,
        context=16384,
        rope_base=1000000.0,
    ),
}


class Norm(nn.Module):
    def __init__(self, width: int, epsilon: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.epsilon)).to(
            x.dtype
        ) * self.weight


def turn(x, phase):
    """Rotary positions. x [..., tokens, head_dim]; phase [tokens, head_dim / 2], complex numbers of size one."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * phase).flatten(-2).to(x.dtype)


def attend(q, k, v):
    """q [rows, heads, new, head_dim], k and v [rows, heads, all, head_dim]; the new tokens are the last of all."""
    new, total = q.shape[2], k.shape[2]
    mask = (
        None
        if new == total
        else torch.ones(new, total, dtype=torch.bool, device=q.device).tril(total - new)
    )
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
    if mask is None:  # PyTorch 1.13, as Debian 12 has it
        mask = torch.ones(new, total, dtype=torch.bool, device=q.device).tril()
    scores = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, -1) @ v


class Layer(nn.Module):
    def __init__(self, s: Shape):
        super().__init__()
        self.s = s
        q, kv = s.n_heads * s.head_dim, s.n_kv_heads * s.head_dim
        self.attn_norm, self.ffn_norm = Norm(s.width, s.epsilon), Norm(s.width, s.epsilon)
        self.attn_q = nn.Linear(s.width, q, bias=False)
        self.attn_k = nn.Linear(s.width, kv, bias=False)
        self.attn_v = nn.Linear(s.width, kv, bias=False)
        self.attn_output = nn.Linear(q, s.width, bias=False)
        self.ffn_gate = nn.Linear(s.width, s.ffn, bias=False)
        self.ffn_up = nn.Linear(s.width, s.ffn, bias=False)
        self.ffn_down = nn.Linear(s.ffn, s.width, bias=False)

    def heads(self, x, n):
        return x.reshape(*x.shape[:-1], n, self.s.head_dim).transpose(1, 2)

    def forward(self, x, phase, past=None):
        """x [rows, tokens, width] -> the same. `past` holds (k, v) of earlier tokens, and then of these as well."""
        s, y = self.s, self.attn_norm(x)
        q = turn(self.heads(self.attn_q(y), s.n_heads), phase)
        k = turn(self.heads(self.attn_k(y), s.n_kv_heads), phase)
        v = self.heads(self.attn_v(y), s.n_kv_heads)
        if past is not None:
            if past:
                k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
            past[:] = [k, v]
        group = s.n_heads // s.n_kv_heads
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        a = attend(q, k, v)
        x = x + self.attn_output(a.transpose(1, 2).flatten(2))
        y = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(y)) * self.ffn_up(y))


class Llama(nn.Module):
    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.token_embd = nn.Embedding(shape.n_vocab, shape.width)
        self.blk = nn.ModuleList(Layer(shape) for _ in range(shape.n_layers))
        self.output_norm = Norm(shape.width, shape.epsilon)
        nn.init.normal_(self.token_embd.weight, std=0.04)
        for layer in self.blk:
            for name, linear in layer.named_children():
                if isinstance(linear, nn.Linear):
                    last = name in (
                        "attn_output",
                        "ffn_down",
                    )  # what adds to the residual stream starts small
                    nn.init.normal_(
                        linear.weight, std=linear.in_features**-0.5 * (0.3 if last else 1)
                    )

    def forward(self, ids, positions=None, past=None):
        """ids [rows, tokens] -> final states [rows, tokens, width]; `logits` makes scores of them.

        positions [tokens] default to 0, 1, ...; past: a list, empty at first, that carries keys and values on.
        """
        if past is not None and not past:
            past.extend([] for _ in self.blk)
        if positions is None:
            begin = past[0][0].shape[2] if past and past[0] else 0
            positions = torch.arange(begin, begin + ids.shape[1], device=ids.device)
        rate = self.shape.rope_base ** (
            -torch.arange(0, self.shape.head_dim, 2, device=ids.device).double()
            / self.shape.head_dim
        )
        angle = positions.double()[:, None] * rate
        phase = torch.polar(torch.ones_like(angle), angle).to(torch.complex64)
        x = self.token_embd(ids)
        for i, layer in enumerate(self.blk):
            x = layer(x, phase, past[i] if past is not None else None)
        return self.output_norm(x)

    def logits(self, states):
        return states @ self.token_embd.weight.T
