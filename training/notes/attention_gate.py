"""Teaches Attention-Gate's gates (arXiv:2410.12876) for a model of the notes world: what the recipe `attention-gate` scores with.

    training/attention-gate MODEL.gguf OUT.safetensors --satchel build/release/bin/satchel

For each layer a small attention over the whole text says for each token and KV head whether the gate is open. The
model itself stays as it is. Read by kvcache/profile/selector_weights.h.

As in the paper: the answers' cross entropy with the closed tokens hidden, a straight-through estimator for the flags,
and a loss on the distance of the open share from a target. Otherwise: the text is read whole, and the flags hide its
tokens from what follows; gates see [q k v] before RoPE, not the layer's input; conversations of the notes world.
"""

import json
import random
import time

import torch
from torch import nn

from notes import selector
from notes.model import Llama, Shape

PULL = 4.0  # of the open share to its target, beside the answers' loss


class Gate(nn.Module):
    def __init__(self, s: Shape, dim: int):
        super().__init__()
        n_in, self.n_heads = (s.n_heads + 2 * s.n_kv_heads) * s.head_dim, s.n_kv_heads
        self.q = nn.Linear(n_in, self.n_heads * dim, bias=False)
        self.k = nn.Linear(n_in, self.n_heads * dim, bias=False)
        self.v = nn.Linear(n_in, self.n_heads * dim, bias=False)
        self.out = nn.Linear(self.n_heads * dim, self.n_heads)
        nn.init.constant_(self.out.bias, 1.0)  # open at first

    def forward(self, x):
        """x [n_tokens, n_in] -> how open each gate is, 0 to 1: [n_kv_heads, n_tokens]."""
        heads = lambda y: y.view(x.shape[0], self.n_heads, -1).transpose(0, 1)  # noqa: E731
        q, k, v = heads(self.q(x)), heads(self.k(x)), heads(self.v(x))
        weights = torch.softmax(q @ k.transpose(1, 2) * q.shape[-1] ** -0.5, -1)
        return torch.sigmoid(self.out((weights @ v).transpose(0, 1).flatten(1))).T


def flags(opened: torch.Tensor) -> torch.Tensor:
    """0 or 1, with the gradient of what they come from; both ends of the text stay."""
    hard = (opened > 0.5).float() + opened - opened.detach()
    n = opened.shape[1]
    ends = torch.zeros(n, dtype=torch.bool)
    ends[: selector.SINKS] = ends[max(n - selector.TAIL, 0) :] = True
    return torch.where(ends, torch.ones(()), hard)


def losses(model: Llama, gates: nn.ModuleList, text: selector.Text) -> tuple:
    """The answers' loss, and the share of all lanes' tokens that is open."""
    counts = [flags(gate(x.float())) for gate, x in zip(gates, text.x)]
    held = [selector.Held(k, v, count) for k, v, count in zip(text.k, text.v, counts)]
    return selector.answer_loss(model, text, held), torch.cat(counts).mean()


@torch.no_grad()
def judge(model: Llama, gates: nn.ModuleList, texts: list[selector.Text]) -> tuple:
    """Means over texts: the answers' loss with all of the text, with what is open, and how much that is."""
    whole = [selector.answer_loss(model, t, list(map(selector.Held, t.k, t.v))) for t in texts]
    opened = [losses(model, gates, t) for t in texts]
    mean = lambda values: float(torch.stack(list(values)).mean())  # noqa: E731
    return mean(whole), mean(of[0] for of in opened), mean(of[1] for of in opened)


def main() -> None:
    ap = selector.arguments(__doc__, conversations=60, steps=400, rate=0.002)
    ap.add_argument("--dim", type=int, default=8, help="values of a gate's head")
    ap.add_argument("--open", type=float, default=0.25, help="the share of a text that is to stay")
    a = ap.parse_args()
    clock, model_name = time.time(), selector.fingerprint(a)
    model, v = selector.open_model(a)
    texts = selector.texts(model, v, a.conversations, f"gate {a.seed}")
    print(json.dumps({"gathered": len(texts), "seconds": round(time.time() - clock)}), flush=True)
    gates = nn.ModuleList(Gate(model.shape, a.dim) for _ in range(model.shape.n_layers))

    def loss(rng: random.Random) -> torch.Tensor:
        of_answers, share = losses(model, gates, rng.choice(texts))
        return of_answers + PULL * (share - a.open).abs()

    selector.teach(gates, a, loss)
    others = selector.texts(model, v, max(2, a.conversations // 10), f"gate {a.seed + 1}")
    whole, gated, share = judge(model, gates, others)
    source = (
        f"{a.conversations} conversations of the notes world, {a.steps} steps, {share:.0%} open, "
        f"loss of answers {gated:.2f} (whole text {whole:.2f})"
    )
    selector.write(a, "attention-gate", model_name, source, gates)
    print(json.dumps({"source": source, "seconds": round(time.time() - clock)}))


if __name__ == "__main__":
    main()
