"""Teaches Locret's retaining heads (arXiv:2410.01805) for a model of the notes world: what the recipe `locret` scores with.

    training/locret MODEL.gguf OUT.safetensors --satchel build/release/bin/satchel

For each layer a small network from what attention makes of a token, [q k v] before RoPE, to a number for each KV head:
the largest logit that any query of the answers gives the token's key there. The model itself stays as it is. Read by
kvcache/profile/selector_weights.h.

As in the paper: SmoothL1 to that logit, 0.0025 times the squared difference of neighbours, AdamW. Otherwise: a smaller
hidden layer, conversations of the notes world, a higher rate for fewer steps, no rise of the rate over two thirds of them.
"""

import argparse
import dataclasses
import json
import pathlib
import random
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

from notes import batches, gguf_file, safetensors, world
from notes.model import Llama, Shape, turn

SMOOTH = 0.0025
TOP = 0.1  # share of the tokens that the agreement is about, as the authors' code measures it
QUESTIONS = 400  # tokens that stay for answers and questions, in the middle
NOTHING_ELSE = world.Mix(unknown=0.0, added=0.0, corrected=0.0, small=0.0, about=0.1)


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


def conversation(rng: random.Random, v, n_tokens: int) -> tuple[list[int], int, list[int]]:
    """Token ids, how many of them are read before the first answer about them, and the places that say answers."""
    talk = world.Conversation(rng, mix=NOTHING_ELSE, fragments=v.fragments)
    size = lambda text: len(v.encode(text))  # noqa: E731
    room = max(n_tokens // 3, n_tokens - rng.randint(QUESTIONS // 2, QUESTIONS * 3 // 2))
    turns = talk.notes(room, rng.choice((0.0, 0.2, 0.4)), size)
    n_context = len(batches.row(turns[:1], v)[0])
    if rng.random() < 0.5:
        turns += talk.recite((n_tokens - n_context) // 2, size)
    ids, learn = batches.row(turns, v)
    while len(ids) < n_tokens:
        more = batches.row(talk.exchange(), v)
        ids, learn = ids + more[0][1:], learn + more[1][1:]  # less another beginning
    ids, learn = ids[:n_tokens], learn[:n_tokens]
    # A query at i chooses token i + 1.
    said = [i for i in range(n_context, len(ids) - 1) if learn[i + 1] == batches.LEARN_ANSWER]
    return ids, n_context, said


class Watch:
    """What the projections of each layer gave when a conversation went through the model."""

    def __init__(self, model: Llama):
        self.seen: dict[tuple[int, str], torch.Tensor] = {}
        for i, layer in enumerate(model.blk):
            for name in ("attn_q", "attn_k", "attn_v"):
                getattr(layer, name).register_forward_hook(self.keep(i, name))

    def keep(self, i: int, name: str):
        def hook(_module, _inputs, output):
            self.seen[i, name] = output[0]

        return hook

    def sample(self, s: Shape, layer: int, n_context: int, said: list[int]) -> Sample:
        q, k, v = (self.seen[layer, name] for name in ("attn_q", "attn_k", "attn_v"))
        x = torch.cat((q, k, v.half().float()), -1)[:n_context]
        rate = s.rope_base ** (-torch.arange(0, s.head_dim, 2).double() / s.head_dim)
        angle = torch.arange(q.shape[0]).double()[:, None] * rate
        phase = torch.polar(torch.ones_like(angle), angle).to(torch.complex64)
        heads = lambda y, n: y.view(-1, n, s.head_dim).transpose(0, 1)  # noqa: E731
        queries = turn(heads(q, s.n_heads), phase)[:, said]
        keys = turn(heads(k, s.n_kv_heads), phase)[:, :n_context]
        group = s.n_heads // s.n_kv_heads
        queries = queries.reshape(s.n_kv_heads, group * len(said), s.head_dim)
        logits = queries @ keys.transpose(1, 2) * s.head_dim**-0.5
        return Sample(x.half(), logits.amax(1).T.contiguous())


@torch.no_grad()
def gather(model: Llama, v, n: int, seed: int) -> list[list[Sample]]:
    """[conversations][layers]; some 4 MB each. A quarter to half of the context long: q and k come without their
    positions, so longer ones teach the same and cost four times as much."""
    watch, out, s = Watch(model), [], model.shape
    for i in range(n):
        rng = random.Random(f"locret {seed} {i}")
        ids, n_context, said = conversation(rng, v, rng.randint(s.context // 4, s.context // 2))
        model(torch.tensor([ids]))
        out.append([watch.sample(s, at, n_context, said) for at in range(s.n_layers)])
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


def teach(s: Shape, samples: list[list[Sample]], a: argparse.Namespace) -> nn.ModuleList:
    torch.manual_seed(a.seed)
    heads = nn.ModuleList(RetainingHead(s, a.hidden) for _ in range(s.n_layers))
    optimiser = torch.optim.AdamW(heads.parameters(), lr=a.rate, betas=(0.9, 0.95))
    rng, losses = random.Random(a.seed), []
    for step in range(a.steps):
        for group in optimiser.param_groups:
            group["lr"] = a.rate * min(1, (step + 1) / 50, (a.steps - step) / a.steps * 1.25)
        of = rng.choice(samples)
        optimiser.zero_grad()
        loss = sum(loss_of(head(x.x.float()), x.wanted) for head, x in zip(heads, of))
        loss.backward()
        nn.utils.clip_grad_value_(heads.parameters(), 0.5)
        optimiser.step()
        losses.append(float(loss.detach()))
        if (step + 1) % 250 == 0:
            print(json.dumps({"step": step + 1, "loss": round(sum(losses) / len(losses), 4)}))
            losses = []
    return heads.eval()


def fingerprint(a: argparse.Namespace) -> str:
    command = [a.satchel, "info", a.model, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"locret: {' '.join(map(str, command))} ended with {done.returncode}")
    return json.loads(done.stdout)["fingerprint"]


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("model", type=pathlib.Path, help="a GGUF file that training/export wrote")
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--satchel", required=True, help="the program: it names the model's file")
    ap.add_argument("--hidden", type=int, default=48)
    ap.add_argument("--conversations", type=int, default=100)
    ap.add_argument("--steps", type=int, default=2500)
    ap.add_argument("--rate", type=float, default=0.005)
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    torch.set_num_threads(1)
    clock, model_name = time.time(), fingerprint(a)
    model, v = gguf_file.read(a.model), gguf_file.read_vocabulary(a.model)
    samples = gather(model, v, a.conversations, a.seed)
    print(json.dumps({"gathered": len(samples), "seconds": round(time.time() - clock)}), flush=True)
    heads = teach(model.shape, samples, a)
    others = gather(model, v, max(2, a.conversations // 20), a.seed + 1)
    agreements = agreement(heads, others)
    mean = sum(map(sum, agreements)) / sum(map(len, agreements))
    print(json.dumps({"agreement": [[round(x, 3) for x in row] for row in agreements]}))
    tensors = {f"layers.{name}": p for name, p in heads.named_parameters()}
    source = (
        f"{a.conversations} conversations of the notes world, {a.steps} steps, "
        f"of the {TOP:.0%} most looked at {mean:.0%} found"
    )
    safetensors.write(
        a.out,
        tensors,
        {
            "format": "satchel-selector",
            "version": "1",
            "method": "locret",
            "model_fingerprint": model_name,
            "source": source,
        },
    )
    print(json.dumps({"source": source, "seconds": round(time.time() - clock)}))


if __name__ == "__main__":
    main()
