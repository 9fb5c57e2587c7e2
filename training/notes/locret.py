"""Teaches Locret's retaining heads (arXiv:2410.01805) for a model of the notes world: what the recipe `locret` scores with.

    training/locret MODEL.gguf OUT.safetensors --satchel build/release/bin/satchel

For each layer a small network from what attention makes of a token, [q k v] before RoPE, to a number for each KV head:
the largest logit that any query of the answers gives the token's key there. The model itself stays as it is. Read by
kvcache/profile/selector_weights.h.

As in the paper: SmoothL1 to that logit, 0.0025 times the squared difference of neighbours, AdamW. Otherwise: a smaller
hidden layer, conversations of the notes world, a higher rate for fewer steps, no rise of the rate over two thirds of them.
"""

import dataclasses
import json
import random
import time

import torch
import torch.nn.functional as F
from torch import nn

from notes import selector
from notes.model import Llama, Shape

SMOOTH = 0.0025
TOP = 0.1  # share of the tokens that the agreement is about, as the authors' code measures it


class RetainingHead(nn.Module):
    def __init__(self, s: Shape, hidden: int):
        super().__init__()
        n_in = (s.n_heads + 2 * s.n_kv_heads) * s.head_dim
        self.fc1 = nn.Linear(n_in, hidden, bias=False)
        self.fc2 = nn.Linear(hidden, s.n_kv_heads, bias=False)

    def forward(self, x):
        return self.fc2(F.silu(self.fc1(x)))


@dataclasses.dataclass
class Sample:
    """Of one layer and conversation: inputs of the notes' tokens, and what each is to be."""

    x: torch.Tensor  # [n_tokens, n_in], half
    wanted: torch.Tensor  # [n_tokens, n_kv_heads]


def sample(s: Shape, seen: selector.Seen, n_context: int, said: list[int]) -> Sample:
    group = s.n_heads // s.n_kv_heads
    queries = seen.q[:, said].reshape(s.n_kv_heads, group * len(said), s.head_dim)
    logits = queries @ seen.k[:, :n_context].transpose(1, 2) * s.head_dim**-0.5
    return Sample(seen.x[:n_context].half(), logits.amax(1).T.contiguous())


@torch.no_grad()
def gather(model: Llama, v, n: int, seed: int) -> list[list[Sample]]:
    """[conversations][layers]; some 4 MB each. A quarter to half of the context long: q and k come without their
    positions, so longer ones teach the same and cost four times as much."""
    watch, out, s = selector.Watch(model), [], model.shape
    for i in range(n):
        rng = random.Random(f"locret {seed} {i}")
        n_tokens = rng.randint(s.context // 4, s.context // 2)
        ids, n_context, said = selector.conversation(rng, v, n_tokens)
        model(torch.tensor([ids]))
        out.append([sample(s, watch.seen(at), n_context, said) for at in range(s.n_layers)])
    return out


def loss_of(scores: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return F.smooth_l1_loss(scores, wanted) + SMOOTH * F.mse_loss(scores[:-1], scores[1:])


@torch.no_grad()
def agreement(heads: nn.ModuleList, samples: list[list[Sample]]) -> list[list[float]]:
    """Of the tokens that are looked at most, the share that scores most too: [layers][KV heads]."""
    rows = []
    for at, head in enumerate(heads):
        shares = []
        for sample in (of[at] for of in samples):
            k = int(TOP * sample.x.shape[0])
            scores = head(sample.x.float())
            best = scores.topk(k, 0).indices.T.tolist()
            true = sample.wanted.topk(k, 0).indices.T.tolist()
            shares.append([len(set(a) & set(b)) / k for a, b in zip(best, true)])
        rows.append([sum(of) / len(shares) for of in zip(*shares)])
    return rows


def main() -> None:
    ap = selector.arguments(__doc__, conversations=100, steps=2500, rate=0.005)
    ap.add_argument("--hidden", type=int, default=48)
    a = ap.parse_args()
    clock, model_name = time.time(), selector.fingerprint(a)
    model, v = selector.open_model(a)
    samples = gather(model, v, a.conversations, a.seed)
    print(json.dumps({"gathered": len(samples), "seconds": round(time.time() - clock)}), flush=True)
    torch.manual_seed(a.seed)
    heads = nn.ModuleList(RetainingHead(model.shape, a.hidden) for _ in range(model.shape.n_layers))

    def loss(rng: random.Random) -> torch.Tensor:
        of = rng.choice(samples)
        return sum(loss_of(head(x.x.float()), x.wanted) for head, x in zip(heads, of))

    selector.teach(heads, a, loss)
    others = gather(model, v, max(2, a.conversations // 20), a.seed + 1)
    agreements = agreement(heads, others)
    mean = sum(map(sum, agreements)) / sum(map(len, agreements))
    print(json.dumps({"agreement": [[round(x, 3) for x in row] for row in agreements]}))
    source = (
        f"{a.conversations} conversations of the notes world, {a.steps} steps, "
        f"of the {TOP:.0%} most looked at {mean:.0%} found"
    )
    selector.write(a, "locret", model_name, source, heads)
    print(json.dumps({"source": source, "seconds": round(time.time() - clock)}))


if __name__ == "__main__":
    main()
