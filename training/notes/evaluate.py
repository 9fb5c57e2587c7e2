"""Asks a model the held-out questions, through Satchel itself, through PyTorch alone, or through both, and compares.

    python3 -m notes.evaluate models/notes-mini-q8_0.gguf models/notes-heldout.jsonl --satchel build/release/bin/satchel

Prints a row for each set and kind of question: how many are answered rightly (the answer contains the value), and how many
answers say that the notes do not say.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from notes.world import NOTED, UNKNOWN

N_ANSWER = 96  # tokens, at most


def ask_satchel(satchel: pathlib.Path, model: pathlib.Path, questions: pathlib.Path, extra: list[str]) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        answers = pathlib.Path(folder) / "answers.jsonl"
        command = [
            str(satchel),
            "eval",
            "--model",
            str(model),
            "--recall",
            str(questions),
            "--recipes",
            "full",
            "--answers",
            str(answers),
            "--quiet",
            *extra,
        ]
        done = subprocess.run(command, stdout=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(f"evaluate: {' '.join(command)} ended with {done.returncode}")
        return [json.loads(line) for line in answers.read_text().splitlines()]


def ask_torch(model_path: pathlib.Path, questions: pathlib.Path, with_notes: bool, only: set[str]) -> list[dict]:
    """The same conversations with the weights in float32 and PyTorch's own attention; shares nothing with Satchel."""
    import torch

    from notes import gguf_file
    from notes.vocabulary import BOS
    from notes.world import Turn

    model, v = gguf_file.read(model_path), gguf_file.read_vocabulary(model_path)

    @torch.no_grad()
    def answer(ids: list[int], past: list) -> list[int]:
        said: list[int] = []
        while len(said) < N_ANSWER:
            best = int(model.logits(model(torch.tensor([ids]), past=past)[:, -1]).argmax())
            if best in (v.end, BOS):
                break
            said.append(best)
            ids = [best]
        return said

    rows = []
    for i, talk in enumerate(json.loads(line) for line in questions.read_text().splitlines()):
        if only and talk["set"] not in only:
            continue
        past: list = []
        waiting = [BOS]
        if with_notes:
            for turn in (Turn("user", talk["notes"]), Turn("assistant", NOTED)):
                waiting += sum(v.message(turn), [])
        for exchange in talk["exchanges"]:
            waiting += sum(v.message(Turn("user", exchange.get("say") or exchange.get("ask"))), []) + v.opening(
                "assistant"
            )
            said = answer(waiting, past)
            waiting = ([said[-1]] if len(said) == N_ANSWER else []) + [v.end, v.line]
            if "ask" in exchange:
                text = v.decode(said)
                rows.append(
                    {
                        "conversation": i,
                        "set": talk["set"],
                        "kind": exchange["kind"],
                        "ask": exchange["ask"],
                        "value": exchange["value"],
                        "answer": text,
                        "right": exchange["value"] in text,
                    }
                )
    return rows


def table(rows: list[dict]) -> dict[tuple[str, str], dict]:
    groups: dict[tuple[str, str], dict] = {}
    for row in rows:
        g = groups.setdefault((row["set"], row["kind"]), {"questions": 0, "right": 0, "not_said": 0})
        g["questions"] += 1
        g["right"] += bool(row["right"])
        g["not_said"] += UNKNOWN in row["answer"]
    return groups


def show(name: str, groups: dict) -> None:
    print(f"{name:<16}{'kind':<16}{'questions':>10}{'right':>9}{'said unknown':>14}")
    for (which, kind), g in groups.items():
        print(
            f"{which:<16}{kind:<16}{g['questions']:>10}{g['right'] / g['questions']:>9.1%}{g['not_said'] / g['questions']:>14.1%}"
        )


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("model", type=pathlib.Path)
    ap.add_argument("questions", type=pathlib.Path)
    ap.add_argument("--satchel", type=pathlib.Path, help="the satchel program; without it PyTorch alone answers")
    ap.add_argument("--no-torch", action="store_true", help="only through Satchel")
    ap.add_argument("--without-notes", action="store_true", help="ask, but don't let the model read the notes")
    ap.add_argument("--sets", default="", help="only these, separated by commas")
    ap.add_argument("--within", type=float, default=0.5, help="points that the two may differ by, over all questions")
    ap.add_argument("--json", type=pathlib.Path, help="write the figures here as well")
    a = ap.parse_args()
    if a.no_torch and not a.satchel:
        ap.error("--no-torch needs --satchel")
    found = {}
    if a.satchel:
        extra = (["--without-notes"] if a.without_notes else []) + (["--sets", a.sets] if a.sets else [])
        found["satchel"] = ask_satchel(a.satchel, a.model, a.questions, extra)
    if not a.no_torch:
        found["torch"] = ask_torch(a.model, a.questions, not a.without_notes, set(filter(None, a.sets.split(","))))
    for name, rows in found.items():
        show(name, table(rows))
    if a.json:
        a.json.write_text(
            json.dumps(
                {
                    name: [{"set": s, "kind": k, **g} for (s, k), g in table(rows).items()]
                    for name, rows in found.items()
                },
                indent=1,
            )
            + "\n"
        )
    if len(found) == 2:
        compare(found["satchel"], found["torch"], a.within)


def compare(ours: list[dict], theirs: list[dict], within: float) -> None:
    share = lambda rows: 100 * sum(r["right"] for r in rows) / len(rows)  # noqa: E731
    same = sum(a["answer"].strip() == b["answer"].strip() for a, b in zip(ours, theirs))
    apart = abs(share(ours) - share(theirs))
    print(
        f"satchel {share(ours):.2f} %, torch {share(theirs):.2f} % right of {len(ours)}: {apart:.2f} points apart; {same} answers the same"
    )
    if len(ours) != len(theirs) or apart > within:
        sys.exit(f"evaluate: more than {within} points apart")


if __name__ == "__main__":
    main()
