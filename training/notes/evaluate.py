"""Asks a model the held-out questions, through Satchel itself, through PyTorch alone, or through both, and compares.

    training/evaluate models/notes-mini-q8_0.gguf models/notes-heldout.jsonl --satchel build/release/bin/satchel

Prints a row for each set and kind of question: how many are answered rightly (the answer contains the value), and
how many answers say that the notes do not say.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from notes.vocabulary import BOS
from notes.world import NOTED, UNKNOWN, Turn

# As Satchel's `eval` has them (app/eval/commands/recall_chat.h): tokens of an answer at most, and left in the context at least.
N_ANSWER, N_SPARE, N_LAST = 96, 16, 4


def ask_satchel(a: argparse.Namespace) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        answers = pathlib.Path(folder) / "answers.jsonl"
        command = [
            a.satchel,
            "eval",
            "recall",
            a.questions,
            "--model",
            a.model,
            "--recipes",
            "full",
            "--quiet",
        ]
        command += ["--answers", answers, *(["--without-notes"] if a.without_notes else [])]
        command += ["--sets", a.sets] if a.sets else []
        done = subprocess.run(command, stdout=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(f"evaluate: {' '.join(map(str, command))} ended with {done.returncode}")
        return [json.loads(line) for line in answers.read_text().split("\n") if line]


class Reader:
    """A conversation through PyTorch: weights in float32, attention of its own; nothing of it is Satchel's."""

    def __init__(self, model, v, torch):
        self.model, self.v, self.torch = model, v, torch
        self.past: list = []
        self.waiting = [BOS]
        self.n_read = 0

    def add(self, role: str, text: str) -> None:
        for part in self.v.message(Turn(role, text)):
            self.waiting += part

    def answer(self) -> tuple[str, bool]:
        """What it says, and whether the context was too short for the question or for the whole answer."""
        context = self.model.shape.context
        ids = self.waiting + self.v.opening("assistant")
        if self.n_read + len(ids) + N_SPARE > context:
            return "", True
        said: list[int] = []
        with self.torch.no_grad():
            while len(said) < N_ANSWER:
                states = self.model(self.torch.tensor([ids]), past=self.past)
                self.n_read += len(ids)
                best = int(self.model.logits(states[:, -1]).argmax())
                if best in (self.v.end, BOS):
                    break
                said.append(best)
                ids = [best]
                if self.n_read + N_LAST > context:
                    return self.v.decode(said), True
        unread = ids if said and len(said) == N_ANSWER else []
        self.waiting = [*unread, self.v.end, self.v.line]
        return self.v.decode(said), False


def ask_torch(a: argparse.Namespace) -> list[dict]:
    import torch

    from notes import gguf_file

    model, v = gguf_file.read(a.model), gguf_file.read_vocabulary(a.model)
    only, rows = set(filter(None, a.sets.split(","))), []
    for i, line in enumerate(filter(None, a.questions.read_text().split("\n"))):
        talk = json.loads(line)
        if only and talk["set"] not in only:
            continue
        reader, cut = Reader(model, v, torch), False
        if not a.without_notes:
            reader.add("user", talk["notes"])
            reader.add("assistant", NOTED)
        for exchange in talk["exchanges"]:
            reader.add("user", exchange.get("say") or exchange["ask"])
            text, cut = ("", True) if cut else reader.answer()
            if "ask" in exchange:
                row = {
                    "conversation": i,
                    "set": talk["set"],
                    "kind": exchange["kind"],
                    "answer": text,
                }
                rows.append({**row, "right": exchange["value"] in row["answer"]})
    return rows


def table(rows: list[dict]) -> dict[tuple[str, str], dict]:
    groups: dict[tuple[str, str], dict] = {}
    for row in rows:
        g = groups.setdefault(
            (row["set"], row["kind"]), {"questions": 0, "right": 0, "not_said": 0}
        )
        g["questions"] += 1
        g["right"] += bool(row["right"])
        g["not_said"] += UNKNOWN in row["answer"]
    return groups


def show(name: str, groups: dict) -> None:
    print(f"{name:<16}{'kind':<16}{'questions':>10}{'right':>9}{'said unknown':>14}")
    for (which, kind), g in groups.items():
        print(
            f"{which:<16}{kind:<16}{g['questions']:>10}"
            f"{g['right'] / g['questions']:>9.1%}{g['not_said'] / g['questions']:>14.1%}"
        )


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("model", type=pathlib.Path)
    ap.add_argument("questions", type=pathlib.Path)
    ap.add_argument(
        "--satchel", type=pathlib.Path, help="the satchel program; without it PyTorch alone answers"
    )
    ap.add_argument("--no-torch", action="store_true", help="only through Satchel")
    ap.add_argument(
        "--without-notes", action="store_true", help="ask, but don't let the model read the notes"
    )
    ap.add_argument("--sets", default="", help="only these, separated by commas")
    ap.add_argument(
        "--within",
        type=float,
        default=0.5,
        help="points that the two may differ by, over all questions",
    )
    ap.add_argument("--json", type=pathlib.Path, help="write the figures here as well")
    a = ap.parse_args()
    if a.no_torch and not a.satchel:
        ap.error("--no-torch needs --satchel")
    for path in (a.model, a.questions, a.satchel):
        if path and not path.is_file():
            ap.error(f"there is no file {path}")
    found = {}
    if a.satchel:
        found["satchel"] = ask_satchel(a)
    if not a.no_torch:
        found["torch"] = ask_torch(a)
    if not all(found.values()):
        sys.exit(f"evaluate: no question of {a.questions} is of these sets")
    for name, rows in found.items():
        show(name, table(rows))
    if a.json:
        figures = {
            n: [{"set": s, "kind": k, **g} for (s, k), g in table(r).items()]
            for n, r in found.items()
        }
        a.json.write_text(json.dumps(figures, indent=1) + "\n")
    if len(found) == 2:
        compare(found["satchel"], found["torch"], a.within)


def compare(ours: list[dict], theirs: list[dict], within: float) -> None:
    share = lambda rows: 100 * sum(r["right"] for r in rows) / len(rows)  # noqa: E731
    same = sum(a["answer"].strip() == b["answer"].strip() for a, b in zip(ours, theirs))
    apart = abs(share(ours) - share(theirs))
    print(
        f"satchel {share(ours):.2f} %, torch {share(theirs):.2f} % right of {len(ours)}: {apart:.2f} points apart; ",
        end="",
    )
    print(f"{same} answers the same")
    if len(ours) != len(theirs) or apart > within:
        sys.exit(f"evaluate: more than {within} points apart")


if __name__ == "__main__":
    main()
