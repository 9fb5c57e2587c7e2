"""Teaches LoCoCo's convolutions (arXiv:2406.05317) for a model of the notes world: what the recipe `lococo` merges with.

    training/lococo MODEL.gguf OUT.safetensors --satchel build/release/bin/satchel

For each layer a convolution over keys and values says how the tokens that are no heavy hitters mix into slots
(kvcache/mergers/lococo.cpp has the formula). The model itself stays as it is. Read by kvcache/profile/selector_weights.h.

As in the paper: the cross entropy of what follows the compressed text, through the frozen model; a trained blend with
heavy hitters, from a half. Otherwise: a text is compressed once, to one of several shares, and answers alone are
learned from; conversations of the notes world; smaller weights at first.
"""

import json
import math
import random
import time

import torch
from torch import nn

from notes import selector
from notes.model import Llama, Shape

KEEPS = (0.5, 0.25, 0.1)  # shares of a text that stay
HEAVY = 0.5  # of these, what stays as it is


class Mixing(nn.Module):
    def __init__(self, s: Shape, channels: int, kernel: int):
        super().__init__()
        self.conv = nn.Conv1d(2 * s.head_dim, channels, kernel, padding=kernel // 2)
        self.normalizer = nn.Parameter(torch.full((1,), 0.5))
        nn.init.normal_(self.conv.weight, std=0.02)

    def forward(self, kv: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        """kv [n, 2 head_dim] of one stretch; slots: which of the n -> [n_slots, 2 head_dim]."""
        logits = torch.relu(self.conv(kv.T[None])[0])  # [channels, n]
        n_channels = self.conv.out_channels
        channel = torch.arange(slots.shape[0]) * n_channels // slots.shape[0]
        weights = torch.softmax(logits[channel], -1)
        return (1 - self.normalizer) * kv[slots] + self.normalizer * (weights @ kv)

    def compress(self, kv: torch.Tensor, scores: torch.Tensor, keep: float) -> torch.Tensor:
        """A lane's [n, 2 head_dim] -> what stays of it, in its order: [n_kept, 2 head_dim]."""
        n = kv.shape[0]
        ranked = scores.clone()
        ranked[: selector.SINKS] = ranked[max(n - selector.TAIL, 0) :] = math.inf
        kept = ranked.topk(max(int(keep * n), selector.SINKS + selector.TAIL)).indices
        best = kept[: math.ceil(HEAVY * kept.shape[0])]  # topk is sorted
        is_kept, is_slot = torch.zeros(n, dtype=torch.bool), torch.zeros(n, dtype=torch.bool)
        is_kept[kept] = is_slot[kept] = True
        is_slot[best] = False
        is_slot &= torch.isfinite(ranked)
        row = torch.nonzero(is_slot | ~is_kept)[:, 0]
        slots = torch.nonzero(is_slot[row])[:, 0]
        out = kv.clone()
        if 0 < slots.shape[0] < row.shape[0]:
            out[row[slots]] = self.stretches(kv[row], slots)
        return out[is_kept]

    def stretches(self, kv: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        """As forward, of a text in as many stretches as its slots need."""
        n, n_slots, mixed = kv.shape[0], slots.shape[0], []
        n_stretches = -(-n_slots // self.conv.out_channels)
        for i in range(n_stretches):
            first, end = i * n_slots // n_stretches, (i + 1) * n_slots // n_stretches
            begin = 0 if i == 0 else int(slots[first])
            stop = n if i + 1 == n_stretches else int(slots[end])
            mixed.append(self(kv[begin:stop], slots[first:end] - begin))
        return torch.cat(mixed)


def loss_of(model: Llama, layers: nn.ModuleList, text: selector.Text, keep: float) -> torch.Tensor:
    held, d = [], model.shape.head_dim
    for layer, k, v, attended in zip(layers, text.k, text.v, text.attended):
        lanes = [layer.compress(*lane, keep) for lane in zip(torch.cat((k, v), -1), attended)]
        kv = torch.stack(lanes)
        held.append(selector.Held(kv[..., :d], kv[..., d:]))
    return selector.answer_loss(model, text, held)


@torch.no_grad()
def judge(model: Llama, layers: nn.ModuleList, texts: list[selector.Text]) -> list[float]:
    """Of each share, the answers' mean loss."""
    return [
        float(torch.stack([loss_of(model, layers, t, keep) for t in texts]).mean())
        for keep in KEEPS
    ]


def main() -> None:
    ap = selector.arguments(__doc__, conversations=60, steps=300, rate=0.002)
    ap.add_argument("--channels", type=int, default=16, help="slots of a stretch")
    ap.add_argument("--kernel", type=int, default=9, help="tokens that a weight is made from; odd")
    a = ap.parse_args()
    clock, model_name = time.time(), selector.fingerprint(a)
    model, v = selector.open_model(a)
    texts = selector.texts(model, v, a.conversations, f"lococo {a.seed}")
    print(json.dumps({"gathered": len(texts), "seconds": round(time.time() - clock)}), flush=True)
    layers = nn.ModuleList(
        Mixing(model.shape, a.channels, a.kernel) for _ in range(model.shape.n_layers)
    )

    def loss(rng: random.Random) -> torch.Tensor:
        with torch.no_grad():
            for layer in layers:
                layer.normalizer.clamp_(0, 1)
        return loss_of(model, layers, rng.choice(texts), rng.choice(KEEPS))

    selector.teach(layers, a, loss)
    others = selector.texts(model, v, max(2, a.conversations // 10), f"lococo {a.seed + 1}")
    blends = [float(layer.normalizer.data.clamp_(0, 1)) for layer in layers]
    learned = judge(model, layers, others)
    kept = [layer.normalizer.data.clone() for layer in layers]
    for layer in layers:
        layer.normalizer.data.zero_()
    alone = judge(model, layers, others)  # heavy hitters alone
    for layer, blend in zip(layers, kept):
        layer.normalizer.data.copy_(blend)
    print(json.dumps({"blend": blends, "loss": learned, "heavy hitters alone": alone}))
    source = (
        f"{a.conversations} conversations of the notes world, {a.steps} steps, loss of answers "
        + ", ".join(f"{x:.2f} at {keep:.0%}" for x, keep in zip(learned, KEEPS))
        + " (heavy hitters alone "
        + ", ".join(f"{x:.2f}" for x in alone)
        + ")"
    )
    selector.write(a, "lococo", model_name, source, layers)
    print(json.dumps({"source": source, "seconds": round(time.time() - clock)}))


if __name__ == "__main__":
    main()
