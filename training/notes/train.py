"""Trains a model of the notes world from nothing, on CPU processes or one CUDA device; can be stopped and gone on with.

    python3 -m notes.train OUT --shape cpu --steps 12000 --processes 2

OUT receives vocabulary.model, checkpoint.pt (weights, optimiser, step) and log.jsonl. The schedule depends on steps alone.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import random
import time

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F

from notes import batches, vocabulary, world
from notes.model import SHAPES, Llama, Shape
from notes.optimiser import AdamW, Muon


@dataclasses.dataclass(frozen=True)
class Stage:
    """From `begin` (share of the steps) on: rows of `length` (share of the context), and what they are made of."""

    begin: float
    length: float
    mix: world.Mix
    share_single: float  # of people that have a first name only


# Recall gets going on short rows with short names, and where "The notes do not say." is no way out.
EASY = world.Mix(unknown=0.03, added=0.04, corrected=0.02, small=0.03, about=0.1)
HALFWAY = world.Mix(unknown=0.07, added=0.05, corrected=0.04, small=0.03, about=0.08)
STAGES = (
    Stage(0.0, 1 / 16, EASY, 0.7),
    Stage(0.10, 1 / 8, EASY, 0.4),
    Stage(0.22, 1 / 8, HALFWAY, 0.3),
    Stage(0.52, 1 / 4, world.Mix(), 0.2),
    Stage(0.70, 1 / 2, world.Mix(), 0.2),
    Stage(0.85, 1.0, world.Mix(), 0.2),
)
WARM_UP, DECAY_FROM, RATE_END = 100, 0.6, 0.03


@dataclasses.dataclass
class Plan:
    out: pathlib.Path
    shape: Shape
    steps: int
    processes: int
    tokens: int  # of a process and step
    muon_rate: float
    adam_rate: float
    seed: int
    save_every: int
    stop_at: int
    device: str


def stage_at(plan: Plan, step: int) -> Stage:
    return [s for s in STAGES if s.begin <= step / plan.steps][-1]


def length_at(plan: Plan, step: int) -> int:
    return max(64, int(plan.shape.context * stage_at(plan, step).length))


def rate_at(plan: Plan, step: int) -> float:
    done = step / plan.steps
    return min(1, (step + 1) / WARM_UP) * (1 if done < DECAY_FROM else max(RATE_END, (1 - done) / (1 - DECAY_FROM)))


def loss_of(model: Llama, ids: torch.Tensor, learn: torch.Tensor, device: str) -> torch.Tensor:
    """Cross entropy, weighted; positions nothing is learnt from don't reach the vocabulary."""
    with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
        states = model(ids[:, :-1])
        wanted = learn[:, 1:] > 0
        logits = model.logits(states[wanted]).float()
    weight = learn[:, 1:][wanted]
    return (F.cross_entropy(logits, ids[:, 1:][wanted], reduction="none") * weight).sum() / weight.sum()


@torch.no_grad()
def judge(model: Llama, v: vocabulary.Vocabulary, n_tokens: int, n: int, held: world.Held, device: str) -> dict:
    """Share of answers, by kind, whose every token is the likeliest after the right ones before it."""
    rng, right, asked = random.Random(7), {}, {}
    for _ in range(n):
        turns = batches.conversation(rng, n_tokens, v.encode, 0.6, 0.3, held)
        ids, learn = batches.row(turns, v)
        best = model.logits(model(torch.tensor([ids], device=device)))[0].argmax(-1).tolist()
        at = 1
        for turn in turns:
            opening, rest = v.message(turn)
            begin = at + len(opening)
            if turn.kind:
                asked[turn.kind] = asked.get(turn.kind, 0) + 1
                ok = all(best[i - 1] == ids[i] for i in range(begin, begin + len(rest) - 1))
                right[turn.kind] = right.get(turn.kind, 0) + ok
            at = begin + len(rest)
    return {k: round(right[k] / asked[k], 3) for k in sorted(asked)}


class Shared:
    """What the processes share: gradients, a norm, a barrier."""

    def __init__(self, plan: Plan, model: Llama):
        n = sum(p.numel() for p in model.parameters())
        self.grads = torch.zeros(plan.processes, n).share_memory_()
        self.squares = torch.zeros(plan.processes).share_memory_()
        self.barrier = mp.get_context("fork").Barrier(plan.processes) if plan.processes > 1 else None

    def wait(self):
        if self.barrier:
            self.barrier.wait()


class Worker:
    """One process: its rows, and the parameters that it updates for all. The parameters lie in shared memory."""

    def __init__(self, plan: Plan, rank: int, model: Llama, v: vocabulary.Vocabulary, shared: Shared):
        self.plan, self.rank, self.model, self.v, self.shared = plan, rank, model, v, shared
        self.params = list(model.parameters())
        names = [n for n, _ in model.named_parameters()]
        offsets, at = [], 0
        for p in self.params:
            offsets.append(at)
            at += p.numel()
        self.offsets = offsets
        matrix = [p.dim() == 2 and "token_embd" not in n for n, p in zip(names, self.params)]
        share = lambda ids: ids[rank :: plan.processes]  # noqa: E731
        self.own_matrices = share([i for i, m in enumerate(matrix) if m])
        self.own_rest = share([i for i, m in enumerate(matrix) if not m])
        self.muon = Muon([self.params[i].data for i in self.own_matrices])
        self.adam = AdamW([self.params[i].data for i in self.own_rest])

    def rows(self, step: int):
        n_tokens, stage = length_at(self.plan, step), stage_at(self.plan, step)
        rng = random.Random(f"{self.plan.seed} {step} {self.rank}")
        if rng.random() < 0.3:
            n_tokens = max(64, n_tokens // 2)
        ids, learn = batches.batch(
            rng, self.v, max(1, self.plan.tokens // n_tokens), n_tokens, stage.mix, share_single=stage.share_single
        )
        return ids.to(self.plan.device), learn.to(self.plan.device)

    def update(self, step: int) -> None:
        shared, rate = self.shared, rate_at(self.plan, step)
        if self.plan.processes > 1:
            mine = shared.grads[self.rank]
            for p, at in zip(self.params, self.offsets):
                mine[at : at + p.numel()] = p.grad.flatten()
            shared.wait()
            mean = (
                lambda i: shared.grads[:, self.offsets[i] : self.offsets[i] + self.params[i].numel()]
                .mean(0)
                .view_as(self.params[i])
            )  # noqa: E731
        else:
            mean = lambda i: self.params[i].grad  # noqa: E731
        matrices, rest = [mean(i) for i in self.own_matrices], [mean(i) for i in self.own_rest]
        shared.squares[self.rank] = sum(float(g.pow(2).sum()) for g in rest)
        shared.wait()
        clip = min(1.0, 1.0 / (float(shared.squares.sum()) ** 0.5 + 1e-6))  # Muon needs none: its steps have one size
        self.muon.step(matrices, self.plan.muon_rate * rate)
        self.adam.step([g * clip for g in rest], self.plan.adam_rate * rate)
        shared.wait()

    def step(self, step: int) -> float:
        ids, learn = self.rows(step)
        for p in self.params:
            p.grad = None
        loss = loss_of(self.model, ids, learn, self.plan.device)
        loss.backward()
        with torch.no_grad():
            self.update(step)
        return float(loss.detach())

    def state(self) -> dict:
        return {"muon": self.muon.state, "adam": self.adam.state, "n": self.adam.n}

    def load(self, state: dict) -> None:
        for mine, saved in zip(self.muon.state, state["muon"]):
            mine.copy_(saved)
        for mine, saved in zip(self.adam.state, state["adam"]):
            mine[0].copy_(saved[0])
            mine[1].copy_(saved[1])
        self.adam.n = state["n"]


def save(to: pathlib.Path, what: dict) -> None:
    """Whole or not at all."""
    torch.save(what, to.with_suffix(".new"))
    os.replace(to.with_suffix(".new"), to)


def run(rank: int, plan: Plan, model: Llama, v: vocabulary.Vocabulary, shared: Shared, begin: int) -> None:
    torch.set_num_threads(1 if plan.device == "cpu" else torch.get_num_threads())
    torch.set_flush_denormal(True)
    worker = Worker(plan, rank, model, v, shared)
    mine = plan.out / f"optimiser-{rank}.pt"
    if begin:
        worker.load(torch.load(mine))
    clock, n_tokens, total, n = time.time(), 0, 0.0, 0
    for step in range(begin, plan.stop_at):
        total += worker.step(step)
        n += 1
        n_tokens += plan.tokens * plan.processes
        done = step + 1
        if rank == 0 and done % 100 == 0:
            line = {
                "step": done,
                "length": length_at(plan, step),
                "loss": round(total / n, 4),
                "rate": round(rate_at(plan, step), 3),
                "tokens_per_s": round(n_tokens / (time.time() - clock)),
            }
            clock, n_tokens, total, n = time.time(), 0, 0.0, 0
            if done % 500 == 0:
                line["held_out_names"] = {
                    t: judge(model, v, t, max(2, 4096 // t), world.Held(names=True), plan.device)
                    for t in (length_at(plan, step),)
                }
                clock = time.time()
            with open(plan.out / "log.jsonl", "a") as log:
                print(json.dumps(line), file=log, flush=True)
            print(json.dumps(line), flush=True)
        if done % plan.save_every == 0 or done == plan.stop_at:
            save(mine, worker.state())
            shared.wait()
            if rank == 0:
                save(
                    plan.out / "checkpoint.pt",
                    {"model": model.state_dict(), "step": done, "shape": dataclasses.asdict(plan.shape)},
                )
            shared.wait()


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--shape", choices=SHAPES, default="cpu")
    ap.add_argument("--steps", type=int, default=12000)
    ap.add_argument("--processes", type=int, default=1, help="on a CPU: one thread each")
    ap.add_argument("--tokens", type=int, default=2048, help="of a process and step")
    ap.add_argument("--muon-rate", type=float, default=0.02)
    ap.add_argument("--adam-rate", type=float, default=0.004)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--save-every", type=int, default=500)
    ap.add_argument("--stop-at", type=int, help="stop after this step, to go on with --resume")
    ap.add_argument("--vocabulary", type=pathlib.Path, help="a SentencePiece model, instead of one made anew")
    ap.add_argument("--resume", action="store_true")
    a = ap.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and a.processes > 1:
        ap.error("--processes is for CPUs; a CUDA device takes larger steps: raise --tokens")
    kept = a.out / "checkpoint.pt"
    if a.resume and not kept.exists():
        ap.error(f"--resume: there is no {kept}")
    if kept.exists() and not a.resume:
        ap.error(f"{kept} is there: go on with --resume, or name another folder")
    a.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1 if device == "cpu" else torch.get_num_threads())
    plan = Plan(
        a.out,
        SHAPES[a.shape],
        a.steps,
        a.processes,
        a.tokens,
        a.muon_rate,
        a.adam_rate,
        a.seed,
        a.save_every,
        a.stop_at or a.steps,
        device,
    )
    words = a.out / "vocabulary.model"
    if not words.exists():
        words.write_bytes(a.vocabulary.read_bytes() if a.vocabulary else vocabulary.train(plan.shape.n_vocab))
    v = vocabulary.Vocabulary(words.read_bytes())
    if len(v) != plan.shape.n_vocab:
        ap.error(f"{words} has {len(v)} pieces, the shape {a.shape} needs {plan.shape.n_vocab}")
    torch.manual_seed(a.seed)
    model, begin = Llama(plan.shape).to(device), 0
    if a.resume:
        state = torch.load(kept, map_location=device)
        if Shape(**state["shape"]) != plan.shape:
            ap.error(f"{kept} has another shape than {a.shape}: {state['shape']}")
        model.load_state_dict(state["model"])
        begin = state["step"]
    for p in model.parameters():
        p.data = p.data.share_memory_() if device == "cpu" else p.data
    print(
        json.dumps(
            {
                "parameters": sum(p.numel() for p in model.parameters()),
                "device": device,
                **dataclasses.asdict(plan.shape),
            }
        ),
        flush=True,
    )
    shared = Shared(plan, model)
    if a.processes == 1:
        run(0, plan, model, v, shared, begin)
        return
    mp.start_processes(run, (plan, model, v, shared, begin), nprocs=a.processes, start_method="fork")


if __name__ == "__main__":
    main()
