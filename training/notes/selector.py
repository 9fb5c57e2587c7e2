"""What trainers of selectors share: conversations of the notes world as a finished model reads them, and the file of the weights
that kvcache/profile/selector_weights.h reads.

The model itself stays as it is. A text is read whole; what a selector makes of its keys and values is judged by the
answers that follow.
"""

import argparse
import dataclasses
import json
import pathlib
import random
import subprocess
import sys

import torch
import torch.nn.functional as F
from torch import nn

from notes import batches, gguf_file, safetensors, world
from notes.model import Llama, Shape, turn

QUESTIONS = 400  # tokens that stay for answers and questions, in the middle
NOTHING_ELSE = world.Mix(unknown=0.0, added=0.0, corrected=0.0, small=0.0, about=0.1)
# As the recipes with selectors have it: what of a text always stays, and the shortest that is compressed.
SINKS, TAIL, LEAST = 4, 16, 256


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


@dataclasses.dataclass
class Seen:
    """Of one layer and all tokens of a conversation, q and k before RoPE and after it."""

    x: torch.Tensor  # [n_tokens, n_in], [q k v] before RoPE, v as the cache keeps it
    q: torch.Tensor  # [n_heads, n_tokens, head_dim], after RoPE
    k: torch.Tensor  # [n_kv_heads, n_tokens, head_dim], after RoPE
    v: torch.Tensor  # [n_kv_heads, n_tokens, head_dim]


class Watch:
    """What the projections of each layer gave when a conversation went through the model."""

    def __init__(self, model: Llama):
        self.shape = model.shape
        self.given: dict[tuple[int, str], torch.Tensor] = {}
        self.hooks = [
            getattr(layer, name).register_forward_hook(self.keep(i, name))
            for i, layer in enumerate(model.blk)
            for name in ("attn_q", "attn_k", "attn_v")
        ]

    def close(self) -> None:
        for hook in self.hooks:
            hook.remove()

    def keep(self, i: int, name: str):
        def hook(_module, _inputs, output):
            self.given[i, name] = output[0]

        return hook

    def seen(self, layer: int) -> Seen:
        s = self.shape
        q, k, v = (self.given[layer, name] for name in ("attn_q", "attn_k", "attn_v"))
        phase = rotation(s, torch.arange(q.shape[0]))
        heads = lambda y, n: y.view(-1, n, s.head_dim).transpose(0, 1)  # noqa: E731
        return Seen(
            torch.cat((q, k, v.half().float()), -1),
            turn(heads(q, s.n_heads), phase),
            turn(heads(k, s.n_kv_heads), phase),
            heads(v, s.n_kv_heads),
        )


def rotation(s: Shape, positions: torch.Tensor) -> torch.Tensor:
    """[n, head_dim / 2], as `turn` takes it."""
    rate = s.rope_base ** (-torch.arange(0, s.head_dim, 2).double() / s.head_dim)
    angle = positions.double()[:, None] * rate
    return torch.polar(torch.ones_like(angle), angle).to(torch.complex64)


@dataclasses.dataclass
class Text:
    """Notes that were read whole, layer by layer, and what the conversation says after them."""

    x: list[torch.Tensor]  # [layers] of [n_context, n_in], half
    k: list[torch.Tensor]  # [layers] of [n_kv_heads, n_context, head_dim], after RoPE
    v: list[torch.Tensor]
    attended: list[torch.Tensor]  # [layers] of [n_kv_heads, n_context]: attention of the notes' own queries
    ids: torch.Tensor  # of the tokens behind the notes
    said: torch.Tensor  # which of these choose a token of an answer

    @property
    def n_context(self) -> int:
        return self.k[0].shape[1]


def attention_sums(s: Shape, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """What each key gets of its text's queries, the mean of a lane's heads: [n_kv_heads, n_tokens]."""
    n = k.shape[1]
    logits = q.reshape(s.n_kv_heads, -1, n, s.head_dim) @ k[:, None].transpose(-1, -2)
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    weights = torch.softmax((logits * s.head_dim**-0.5).masked_fill(later, float("-inf")), -1)
    return weights.sum(2).mean(1)


@torch.no_grad()
def texts(model: Llama, v, n: int, seed: str) -> list[Text]:
    """Conversations of a quarter to half of the context, read by the model."""
    watch, out, s, rng = Watch(model), [], model.shape, random.Random(seed)
    while len(out) < n:
        ids, n_context, said = conversation(rng, v, rng.randint(s.context // 4, s.context // 2))
        if n_context < LEAST:
            continue
        model(torch.tensor([ids]))
        layers = [watch.seen(at) for at in range(s.n_layers)]
        out.append(
            Text(
                [of.x[:n_context].half() for of in layers],
                [of.k[:, :n_context] for of in layers],
                [of.v[:, :n_context] for of in layers],
                [attention_sums(s, of.q[:, :n_context], of.k[:, :n_context]) for of in layers],
                torch.tensor(ids[n_context:]),
                torch.tensor([i - n_context for i in said]),
            )
        )
    watch.close()
    return out


@dataclasses.dataclass
class Held:
    """What a layer still has of a text."""

    k: torch.Tensor  # [n_kv_heads, n, head_dim]
    v: torch.Tensor
    count: torch.Tensor | None = None  # [n_kv_heads, n], how much each token counts; None: 1


def answer_loss(model: Llama, text: Text, held: list[Held]) -> torch.Tensor:
    """Of the answers' tokens where each layer holds only that of the text: mean cross entropy."""
    s, n = model.shape, text.ids.shape[0]
    phase = rotation(s, torch.arange(text.n_context, text.n_context + n))
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    x = model.token_embd(text.ids)[None]
    for layer, of in zip(model.blk, held):
        y = layer.attn_norm(x)
        q = turn(layer.heads(layer.attn_q(y), s.n_heads), phase)[0]
        k = turn(layer.heads(layer.attn_k(y), s.n_kv_heads), phase)[0]
        v = layer.heads(layer.attn_v(y), s.n_kv_heads)[0]
        q = q.reshape(s.n_kv_heads, -1, n, s.head_dim) * s.head_dim**-0.5
        own = (q @ k[:, None].transpose(-1, -2)).masked_fill(later, float("-inf"))
        logits = torch.cat((q @ of.k[:, None].transpose(-1, -2), own), -1)
        weights = torch.exp(logits - logits.detach().amax(-1, keepdim=True))
        if of.count is not None:
            ones = torch.ones(s.n_kv_heads, n)
            weights = weights * torch.cat((of.count, ones), -1)[:, None, None]
        values = torch.cat((of.v, v), 1)[:, None]
        a = (weights @ values) / weights.sum(-1, keepdim=True)
        x = x + layer.attn_output(a.reshape(s.n_heads, n, -1).transpose(0, 1).flatten(1))
        y = layer.ffn_norm(x)
        x = x + layer.ffn_down(F.silu(layer.ffn_gate(y)) * layer.ffn_up(y))
    states = model.output_norm(x)[0, text.said]
    return F.cross_entropy(model.logits(states), text.ids[text.said + 1])


def fingerprint(a: argparse.Namespace) -> str:
    command = [a.satchel, "info", a.model, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}")
    return json.loads(done.stdout)["fingerprint"]


def arguments(about: str, conversations: int, steps: int, rate: float) -> argparse.ArgumentParser:
    """Of every trainer of a selector, with these defaults."""
    ap = argparse.ArgumentParser(description=about.splitlines()[0])
    ap.add_argument("model", type=pathlib.Path, help="a GGUF file that training/export wrote")
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--satchel", required=True, help="the program: it names the model's file")
    ap.add_argument("--conversations", type=int, default=conversations)
    ap.add_argument("--steps", type=int, default=steps)
    ap.add_argument("--rate", type=float, default=rate)
    ap.add_argument("--seed", type=int, default=1)
    return ap


def open_model(a: argparse.Namespace) -> tuple[Llama, object]:
    """The model, which learns nothing, and its vocabulary. One core is used."""
    torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    model = gguf_file.read(a.model)
    model.requires_grad_(False)
    return model, gguf_file.read_vocabulary(a.model)


def teach(layers: nn.ModuleList, a: argparse.Namespace, loss_of) -> None:
    """AdamW on loss_of(rng), one conversation a step. The rate rises for 50 steps and falls over the last fifth."""
    optimiser = torch.optim.AdamW(layers.parameters(), lr=a.rate, betas=(0.9, 0.95))
    rng, losses = random.Random(a.seed), []
    for step in range(a.steps):
        for group in optimiser.param_groups:
            group["lr"] = a.rate * min(1, (step + 1) / 50, (a.steps - step) / a.steps * 1.25)
        optimiser.zero_grad()
        loss = loss_of(rng)
        loss.backward()
        nn.utils.clip_grad_value_(layers.parameters(), 0.5)
        optimiser.step()
        losses.append(float(loss.detach()))
        if (step + 1) % 50 == 0:
            mean = round(sum(losses[-50:]) / 50, 4)
            print(json.dumps({"step": step + 1, "loss": mean}), flush=True)
    layers.eval()


def write(a: argparse.Namespace, method: str, model: str, source: str, layers: nn.Module) -> None:
    safetensors.write(
        a.out,
        {f"layers.{name}": p for name, p in layers.named_parameters()},
        {
            "format": "satchel-selector",
            "version": "1",
            "method": method,
            "model_fingerprint": model,
            "source": source,
        },
    )
