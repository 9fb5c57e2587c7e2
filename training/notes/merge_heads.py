"""Merges the KV heads of a Llama model in its weights (arXiv:2406.07056), so that every runtime keeps a smaller cache.

    training/merge-heads MODEL.gguf OUT.gguf --kv-heads 1

Neighbouring KV heads become one. Its values are the leading singular directions of the heads' values side by side; the
output projection expands them. Its keys are linear in the heads' keys too, and the query projection absorbs the way back.

As in the paper: an SVD of what the heads give on calibration text, not of their weights; neighbours make a group.
Otherwise:
- Keys with RoPE. The paper stores them before RoPE, and a kernel of its own expands and rotates them when they are read.
  Here a pair of channels that RoPE turns is one complex number, and each frequency of the new head is a complex sum of the
  heads' values at that frequency. That commutes with the rotation, so the file is an ordinary GGUF; it has fewer degrees of
  freedom.
- What a head's keys and values cost is weighted by what reads them: its queries' energy, and the output projection.
- Calibration text: the model's own, sampled, which needs neither data nor a tokenizer; or the notes world's.
- Training afterwards is of all weights (training/train --from), not of low-rank parts.
"""

import argparse
import dataclasses
import json
import pathlib
import random
import sys

import numpy as np
import torch

from notes import batches, gguf_file, schedule
from notes.model import Llama, Shape

ROWS = 16  # of text, side by side
RIDGE = 1e-6  # of the mean, so that what nothing reads can be divided by


@dataclasses.dataclass
class Heads:
    """The attention weights of a layer by head, in float64."""

    q: np.ndarray  # [n_heads, head_dim, width]
    k: np.ndarray  # [n_kv_heads, head_dim, width]
    v: np.ndarray  # [n_kv_heads, head_dim, width]
    out: np.ndarray  # [n_heads, width, head_dim]

    @classmethod
    def of(cls, layer, s: Shape) -> "Heads":
        get = lambda name: getattr(layer, name).weight.detach().double().numpy()  # noqa: E731
        by_head = lambda name, n: get(name).reshape(n, s.head_dim, -1)  # noqa: E731
        out = get("attn_output").reshape(-1, s.n_heads, s.head_dim).transpose(1, 0, 2)
        kv = (by_head(name, s.n_kv_heads) for name in ("attn_k", "attn_v"))
        return cls(by_head("attn_q", s.n_heads), *kv, out)

    def tensors(self, index: int) -> dict[str, np.ndarray]:
        flat = {"q": self.q, "k": self.k, "v": self.v}
        made = {f"attn_{name}": of.reshape(-1, of.shape[-1]) for name, of in flat.items()}
        made["attn_output"] = self.out.transpose(1, 0, 2).reshape(self.out.shape[1], -1)
        return {f"blk.{index}.{name}.weight": of.astype(np.float32) for name, of in made.items()}


def pairs(rows: np.ndarray) -> np.ndarray:
    """[..., head_dim, width] -> complex [..., head_dim / 2, width]: what RoPE turns, the pairs (2i, 2i + 1)."""
    return rows[..., 0::2, :] + 1j * rows[..., 1::2, :]


def unpaired(rows: np.ndarray) -> np.ndarray:
    both = np.stack((rows.real, rows.imag), -2)  # [..., head_dim / 2, 2, width]
    return both.reshape(*rows.shape[:-2], -1, rows.shape[-1])


def power(matrix: np.ndarray, exponent: float) -> np.ndarray:
    """Of a symmetric matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, RIDGE * values.mean()) ** exponent) @ vectors.T


def merge_keys(q: np.ndarray, k: np.ndarray, seen: np.ndarray) -> tuple:
    """Of one group: q [heads, head_dim, width], k [g, head_dim, width], seen [width, width] = E[x xᵀ] of their inputs.

    Returns the new q, the new k [head_dim, width], and the share of the energy that it holds.
    """
    q, k = pairs(q), pairs(k)
    g, n_frequencies = k.shape[:2]
    q = q.reshape(g, -1, n_frequencies, q.shape[-1])
    energy = lambda x: np.einsum("...w,...w->...", x @ seen, x.conj()).real  # noqa: E731
    reads = energy(q).sum(1).T  # [frequencies, g]
    weight = np.sqrt(np.maximum(reads, RIDGE * reads.mean()))
    moments = np.einsum("gfw,hfw->fgh", k @ seen, k.conj())
    values, vectors = np.linalg.eigh(weight[:, :, None] * moments * weight[:, None, :])
    top = vectors[..., -1]  # [frequencies, g]
    back = top / weight
    size = np.sqrt((np.abs(back) ** 2).mean(1, keepdims=True))  # so that weights keep their scale
    back, there = back / size, top.conj() * weight * size
    new_k = np.einsum("fg,gfw->fw", there, k)
    new_q = back.T.conj()[:, None, :, None] * q
    return unpaired(new_q.reshape(-1, *q.shape[2:])), unpaired(new_k), shares(values, 1)


def merge_values(v: np.ndarray, out: np.ndarray, seen: np.ndarray) -> tuple:
    """Of one group: v [g, head_dim, width], out [heads, width, head_dim]. Returns the new v, out and share."""
    g, head_dim = v.shape[:2]
    out = out.reshape(g, -1, *out.shape[1:])
    reads = np.einsum("ghwd,ghwe->gde", out, out)
    weight, unweight = ([power(each, e) for each in reads] for e in (0.5, -0.5))
    weighted = np.concatenate([w @ each for w, each in zip(weight, v)])  # [g · head_dim, width]
    values, vectors = np.linalg.eigh(weighted @ seen @ weighted.T)
    top = vectors[:, -head_dim:]
    back = np.stack([u @ rows for u, rows in zip(unweight, top.reshape(g, head_dim, head_dim))])
    size = np.sqrt(np.mean(back**2) * head_dim)
    new_out = np.einsum("ghwd,gde->ghwe", out, back / size)
    new_v = top.T @ weighted * size
    return new_v, new_out.reshape(-1, *out.shape[2:]), shares(values[None], head_dim)


def shares(values: np.ndarray, n: int) -> float:
    return float(values[:, -n:].sum() / values.sum())


def merge(heads: Heads, n_kv: int, seen: np.ndarray) -> tuple[Heads, float, float]:
    """The layer with n_kv heads, and the shares of its keys' and values' energy that are left."""
    split = lambda x: np.split(x, n_kv)  # noqa: E731
    keys = [merge_keys(q, k, seen) for q, k in zip(split(heads.q), split(heads.k))]
    values = [merge_values(v, out, seen) for v, out in zip(split(heads.v), split(heads.out))]
    made = Heads(
        np.concatenate([q for q, _, _ in keys]),
        np.stack([k for _, k, _ in keys]),
        np.stack([v for v, _, _ in values]),
        np.concatenate([out for _, out, _ in values]),
    )
    mean = lambda of: sum(share for _, _, share in of) / n_kv  # noqa: E731
    return made, mean(keys), mean(values)


class Inputs:
    """E[x xᵀ] of what each layer's projections are given, over all text that went through the model."""

    def __init__(self, model: Llama):
        width, self.n = model.shape.width, 0
        self.sums = [torch.zeros(width, width, dtype=torch.float64) for _ in model.blk]
        for i, layer in enumerate(model.blk):
            layer.attn_q.register_forward_pre_hook(self.add(i))

    def add(self, i: int):
        def hook(_module, inputs):
            x = inputs[0].flatten(0, 1).double()
            self.sums[i] += x.T @ x
            self.n += x.shape[0] if i == 0 else 0

        return hook

    def means(self) -> list[np.ndarray]:
        return [(each / self.n).numpy() for each in self.sums]


@torch.no_grad()
def write_text(model: Llama, start: int, n_tokens: int, seed: int) -> None:
    """The model writes by itself: each row begins with the first token of a text and one that is drawn."""
    rng = torch.Generator().manual_seed(seed)
    drawn = torch.randint(0, model.shape.n_vocab, (ROWS, 1), generator=rng)
    ids, past = torch.cat((torch.full((ROWS, 1), start), drawn), 1), []
    for _ in range(n_tokens // ROWS):
        chances = torch.softmax(model.logits(model(ids, past=past)[:, -1]), -1)
        ids = torch.multinomial(chances, 1, generator=rng)


@torch.no_grad()
def read_notes(model: Llama, v, n_tokens: int, seed: int) -> None:
    context, rng = model.shape.context, random.Random(seed)
    for _ in range(-(-n_tokens // context)):
        model(batches.batch(rng, v, 1, context - 1, schedule.LATE)[0])


def arguments() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("model", type=pathlib.Path, help="a GGUF file of a Llama model")
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--kv-heads", type=int, required=True, help="how many a layer is to have")
    ap.add_argument("--notes", action="store_true", help="calibrate on the notes world")
    ap.add_argument("--tokens", type=int, default=8192, help="of calibration text")
    ap.add_argument("--type", choices=gguf_file.PLAIN, default="q8_0", help="of merged weights")
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    if not a.model.is_file():
        ap.error(f"there is no file {a.model}")
    if a.tokens < 16 * ROWS:
        ap.error(f"--tokens: {a.tokens} is less than {16 * ROWS}")
    return ap, a


def main() -> None:
    ap, a = arguments()
    torch.set_num_threads(1)
    try:
        model = gguf_file.read(a.model)
    except gguf_file.Foreign as why:
        ap.error(str(why))
    s = model.shape
    if a.kv_heads < 1 or s.n_kv_heads % a.kv_heads:
        ap.error(f"--kv-heads: {a.model} has {s.n_kv_heads}, which {a.kv_heads} does not divide")
    if not a.notes and a.tokens > ROWS * s.context:
        ap.error(f"--tokens: {a.tokens} is more than {ROWS} rows of the model's context")
    inputs = Inputs(model)
    if a.notes:
        read_notes(model, gguf_file.read_vocabulary(a.model), a.tokens, a.seed)
    else:
        write_text(model, gguf_file.first_token(a.model), a.tokens, a.seed)
    tensors = {}
    for i, (layer, seen) in enumerate(zip(model.blk, inputs.means())):
        made, keys, values = merge(Heads.of(layer, s), a.kv_heads, seen)
        tensors.update(made.tensors(i))
        print(json.dumps({"layer": i, "keys": round(keys, 4), "values": round(values, 4)}))
    if not all(np.isfinite(each).all() for each in tensors.values()):
        sys.exit(f"merge-heads: the weights of {a.model} are not finite")
    gguf_file.rewrite(a.model, a.out, {"attention.head_count_kv": a.kv_heads}, tensors, a.type)


if __name__ == "__main__":
    main()
