"""Trains a model of the notes world, on CPU processes or one CUDA device; can be stopped and gone on with.

    training/train OUT --shape cpu --steps 12000 --processes 2        from nothing
    training/train OUT --from MODEL.gguf --steps 500                  a model that knows the world, on the long rows only

OUT receives vocabulary.model, checkpoint.pt, the optimisers' state and log.jsonl. What is learnt when depends on the
step alone (schedule.py).
"""

import argparse
import dataclasses
import json
import pathlib
import random
import time

import torch
import torch.multiprocessing as mp
import torch.nn.functional as F

from notes import batches, files, gguf_file, schedule, vocabulary, world
from notes.model import SHAPES, Llama, Shape
from notes.optimiser import Adam, Muon


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
    only_long: bool = False  # the rows of the late steps alone

    def told(self) -> dict:
        """What a log or a checkpoint keeps of it."""
        return {k: v for k, v in dataclasses.asdict(self).items() if k not in ("out", "shape")}


def stage_at(plan: Plan, step: int) -> schedule.Stage:
    done = step / plan.steps
    if plan.only_long:
        done = schedule.LONG_FROM + done * (1 - schedule.LONG_FROM)
    return schedule.stage_at(plan.shape.context, done)


def loss_of(model: Llama, ids: torch.Tensor, learn: torch.Tensor, device: str) -> torch.Tensor:
    """Cross entropy, weighted; positions nothing is learnt from don't reach the vocabulary."""
    with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
        states = model(ids[:, :-1])
        wanted = learn[:, 1:] > 0
        logits = model.logits(states[wanted]).float()
    weight = learn[:, 1:][wanted]
    return (
        F.cross_entropy(logits, ids[:, 1:][wanted], reduction="none") * weight
    ).sum() / weight.sum()


@torch.no_grad()
def judge(
    model: Llama, v: vocabulary.Vocabulary, n_tokens: int, n: int, held: world.Held, device: str
) -> dict:
    """Share of answers, by kind, whose every token is the likeliest after the right ones before it."""
    rng, right, asked = random.Random(7), {}, {}
    for _ in range(n):
        talk = world.Conversation(rng, held)
        turns = batches.conversation(talk, batches.Plan(n_tokens), v.encode)
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
        self.barrier = (
            mp.get_context("fork").Barrier(plan.processes) if plan.processes > 1 else None
        )

    def wait(self):
        if self.barrier:
            self.barrier.wait()


class Worker:
    """One process: its rows, and the parameters that it updates for all. The parameters lie in shared memory."""

    def __init__(
        self, plan: Plan, rank: int, model: Llama, v: vocabulary.Vocabulary, shared: Shared
    ):
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
        self.adam = Adam([self.params[i].data for i in self.own_rest])

    def rows(self, step: int):
        plan, stage = self.plan, stage_at(self.plan, step)
        rng = random.Random(f"{plan.seed} {step} {self.rank}")
        n_tokens = max(128, stage.n_tokens // 2) if rng.random() < 0.3 else stage.n_tokens
        n_rows = max(1, plan.tokens // n_tokens)
        of_world = {"share_single": stage.share_single}
        ids, learn = batches.batch(rng, self.v, n_rows, n_tokens, stage.mix, **of_world)
        return ids.to(plan.device), learn.to(plan.device)

    def gradients(self) -> list[torch.Tensor]:
        """Of all parameters, the mean over the processes; the caller may read those it owns."""
        if self.plan.processes == 1:
            return [p.grad for p in self.params]
        mine, ends = self.shared.grads[self.rank], self.offsets[1:] + [None]
        for p, at in zip(self.params, self.offsets):
            mine[at : at + p.numel()] = p.grad.flatten()
        self.shared.wait()
        own = set(self.own_matrices + self.own_rest)
        return [
            self.shared.grads[:, a:b].mean(0).view_as(p) if i in own else None
            for i, (p, a, b) in enumerate(zip(self.params, self.offsets, ends))
        ]

    def update(self, step: int) -> None:
        grads, rate = self.gradients(), schedule.rate_at(step, self.plan.steps)
        rest = [grads[i] for i in self.own_rest]
        self.shared.squares[self.rank] = sum(float(g.pow(2).sum()) for g in rest)
        self.shared.wait()
        # Muon's steps have one size and need no clipping.
        clip = min(1.0, 1.0 / (float(self.shared.squares.sum()) ** 0.5 + 1e-6))
        self.muon.step([grads[i] for i in self.own_matrices], self.plan.muon_rate * rate)
        self.adam.step([g * clip for g in rest], self.plan.adam_rate * rate)
        self.shared.wait()

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
        assert len(state["muon"]) == len(self.muon.state) and len(state["adam"]) == len(
            self.adam.state
        )
        for mine, saved in zip(self.muon.state, state["muon"]):
            mine.copy_(saved)
        for mine, saved in zip(self.adam.state, state["adam"]):
            mine[0].copy_(saved[0])
            mine[1].copy_(saved[1])
        self.adam.n = state["n"]


def save(to: pathlib.Path, what: dict) -> None:
    with files.whole(to) as new:
        torch.save(what, new)


def optimiser_file(plan: Plan, rank: int, step: int) -> pathlib.Path:
    return plan.out / f"optimiser-{rank}-{step}.pt"


def save_all(worker: Worker, step: int) -> None:
    """The checkpoint names the step, and so the optimisers' files: old ones go when it has been replaced."""
    plan, shared = worker.plan, worker.shared
    mine = optimiser_file(plan, worker.rank, step)
    save(mine, worker.state())
    shared.wait()
    if worker.rank == 0:
        state = {"model": worker.model.state_dict(), "step": step, "plan": plan.told()}
        save(plan.out / "checkpoint.pt", {**state, "shape": dataclasses.asdict(plan.shape)})
    shared.wait()
    for old in plan.out.glob(f"optimiser-{worker.rank}-*.pt"):
        if old != mine:
            old.unlink()


def write_log(plan: Plan, line: dict) -> None:
    with open(plan.out / "log.jsonl", "a") as log:
        print(json.dumps(line), file=log)
    print(json.dumps(line), flush=True)


def run(
    rank: int, plan: Plan, model: Llama, v: vocabulary.Vocabulary, shared: Shared, begin: int
) -> None:
    if plan.device == "cpu":
        torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    worker = Worker(plan, rank, model, v, shared)
    if begin:
        worker.load(torch.load(optimiser_file(plan, rank, begin), map_location=plan.device))
    clock, losses = time.time(), []
    for step in range(begin, plan.stop_at):
        losses.append(worker.step(step))
        done, stage = step + 1, stage_at(plan, step)
        if rank == 0 and done % 100 == 0:
            line = {
                "step": done,
                "length": stage.n_tokens,
                "loss": round(sum(losses) / len(losses), 4),
            }
            n_tokens = plan.tokens * plan.processes * len(losses)
            line["tokens_per_s"] = round(n_tokens / (time.time() - clock))
            if done % 500 == 0:
                n, held = max(2, 8192 // stage.n_tokens), world.Held(names=True)
                line["held_out_names"] = judge(model, v, stage.n_tokens, n, held, plan.device)
            write_log(plan, line)
            clock, losses = time.time(), []
        if done % plan.save_every == 0 or done == plan.stop_at:
            save_all(worker, done)


def at_least_one(text: str) -> int:
    n = int(text)
    if n < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return n


def arguments() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("out", type=pathlib.Path)
    ap.add_argument("--shape", choices=SHAPES, help="default: cpu")
    ap.add_argument(
        "--from",
        dest="begin_with",
        type=pathlib.Path,
        metavar="GGUF",
        help="a model of the notes world to go on with, with its own shape and vocabulary",
    )
    ap.add_argument("--steps", type=at_least_one, default=12000)
    ap.add_argument("--processes", type=at_least_one, default=1, help="on a CPU: one thread each")
    ap.add_argument("--tokens", type=at_least_one, default=2048, help="of a process and step")
    ap.add_argument("--muon-rate", type=float, default=0.008)
    ap.add_argument("--adam-rate", type=float, default=0.002)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--save-every", type=at_least_one, default=500)
    ap.add_argument(
        "--stop-at", type=at_least_one, help="stop after this step, to go on with --resume"
    )
    ap.add_argument(
        "--vocabulary", type=pathlib.Path, help="a SentencePiece model, instead of one made anew"
    )
    ap.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    ap.add_argument(
        "--resume",
        action="store_true",
        help="go on from OUT's checkpoint; other steps and rates are logged",
    )
    a = ap.parse_args()
    if a.device == "auto":
        a.device = "cuda" if torch.cuda.is_available() else "cpu"
    if a.device == "cuda" and a.processes > 1:
        ap.error("--processes is for CPUs; a CUDA device takes larger steps: raise --tokens")
    kept = a.out / "checkpoint.pt"
    if a.resume and not kept.exists():
        ap.error(f"--resume: there is no {kept}")
    if kept.exists() and not a.resume:
        ap.error(f"{kept} is there: go on with --resume, or name another folder")
    if a.vocabulary and not a.vocabulary.is_file():
        ap.error(f"--vocabulary: there is no {a.vocabulary}")
    if a.begin_with and not a.begin_with.is_file():
        ap.error(f"--from: there is no {a.begin_with}")
    if a.begin_with and (a.shape or a.vocabulary):
        ap.error("--from: the model has a shape and a vocabulary; name no other")
    return ap, a


def open_vocabulary(
    ap: argparse.ArgumentParser, a: argparse.Namespace, n_vocab: int
) -> vocabulary.Vocabulary:
    """The run's own; the given one or a new one where the run has none yet."""
    own = a.out / "vocabulary.model"
    there = own.exists()
    if a.begin_with:
        data = gguf_file.read_vocabulary(a.begin_with).model
    elif there:
        data = own.read_bytes()
        if a.vocabulary and a.vocabulary.read_bytes() != data:
            ap.error(f"--vocabulary: {own} is there, and is another")
    else:
        data = a.vocabulary.read_bytes() if a.vocabulary else vocabulary.train(n_vocab)
    v = vocabulary.Vocabulary(data)
    if len(v) != n_vocab:
        ap.error(f"the vocabulary has {len(v)} pieces, the shape needs {n_vocab}")
    if not there:
        a.out.mkdir(parents=True, exist_ok=True)
        with files.whole(own) as new:
            new.write_bytes(data)
    return v


def open_checkpoint(ap: argparse.ArgumentParser, plan: Plan, model: Llama) -> int:
    """Loads the run's checkpoint into the model; returns the steps done."""
    state = torch.load(plan.out / "checkpoint.pt", map_location=plan.device)
    if Shape(**state["shape"]) != plan.shape:
        ap.error(f"--resume: the checkpoint has another shape: {state['shape']}")
    if state["plan"]["processes"] != plan.processes:
        ap.error(
            f"--resume: the run has {state['plan']['processes']} processes, which share its optimiser"
        )
    if state["plan"].get("only_long", False) != plan.only_long:
        ap.error("--resume: name the same model with --from as the run began with, or none")
    model.load_state_dict(state["model"])
    return state["step"]


def main() -> None:
    ap, a = arguments()
    if a.device == "cpu":
        torch.set_num_threads(1)
    torch.manual_seed(a.seed)
    try:
        model = gguf_file.read(a.begin_with) if a.begin_with else Llama(SHAPES[a.shape or "cpu"])
    except gguf_file.Foreign as why:
        ap.error(f"--from: {why}")
    model, shape = model.train().to(a.device), model.shape
    v = open_vocabulary(ap, a, shape.n_vocab)
    rates = (a.muon_rate, a.adam_rate, a.seed, a.save_every, a.stop_at or a.steps)
    only_long = a.begin_with is not None
    plan = Plan(a.out, shape, a.steps, a.processes, a.tokens, *rates, a.device, only_long)
    begin = open_checkpoint(ap, plan, model) if a.resume else 0
    if a.device == "cpu":
        for p in model.parameters():
            p.data = p.data.share_memory_()
    n = sum(p.numel() for p in model.parameters())
    write_log(
        plan, {"parameters": n, "from_step": begin, **plan.told(), **dataclasses.asdict(shape)}
    )
    shared = Shared(plan, model)
    if a.processes == 1:
        run(0, plan, model, v, shared, begin)
    else:
        mp.start_processes(
            run, (plan, model, v, shared, begin), nprocs=a.processes, start_method="fork"
        )


if __name__ == "__main__":
    main()
