"""Writes the questions that models are judged by, one conversation a line.

    python3 -m notes.held_out VOCABULARY.model > models/notes-heldout.jsonl

A line: {"set", "notes", "exchanges"}; an exchange is {"say", "answer"} (told, not judged) or {"ask", "value", "answer", "kind"}:
right is an answer that contains `value`. A conversation of the set names-1024 fills 1,024 tokens, its questions last.
Every name is held out from training; the sets named after wordings, fillers and kinds hold those out as well.
"""

import argparse
import dataclasses
import json
import pathlib
import random

from notes import world
from notes.vocabulary import Vocabulary

SEED = 20261121
NAMES = world.Held(names=True)
NO_ANSWER = world.Mix(unknown=1.0)
CHANGED = world.Mix(unknown=0.0, added=0.35, corrected=0.35, small=0.0, about=0.0)
FACTS = world.Mix(unknown=0.0, added=0.0, corrected=0.0, small=0.0, about=0.0)
DEEP = world.Mix(unknown=0.0, added=0.0, corrected=0.0, small=0.0, about=1.0)


@dataclasses.dataclass(frozen=True)
class Set:
    name: str
    n_conversations: int
    n_tokens: int
    n_exchanges: int
    room: int  # tokens an exchange may take
    held: world.Held
    mix: world.Mix
    kinds: tuple = ("fact",)  # of answers that are asked for; others are asked again


SETS = [
    Set("names-512", 60, 512, 5, 36, NAMES, FACTS),
    Set("names-1024", 60, 1024, 5, 36, NAMES, FACTS),
    Set("names-2048", 60, 2048, 5, 36, NAMES, FACTS),
    Set("unknown-512", 24, 512, 5, 36, NAMES, NO_ANSWER, ("unknown",)),
    Set("unknown-1024", 24, 1024, 5, 36, NAMES, NO_ANSWER, ("unknown",)),
    Set("unknown-2048", 24, 2048, 5, 36, NAMES, NO_ANSWER, ("unknown",)),
    Set("changed-1024", 40, 1024, 12, 42, NAMES, CHANGED, ("fact", "added", "corrected")),
    Set("lists-1024", 40, 1024, 5, 46, NAMES, FACTS, ("list", "count", "quote")),
    Set("about-1024", 20, 1024, 5, 100, NAMES, DEEP, ("about",)),
    Set("wordings-512", 30, 512, 5, 36, world.Held(names=True, wordings=True), FACTS),
    Set("fillers-512", 30, 512, 5, 36, world.Held(names=True, fillers=True), FACTS),
    Set("kinds-512", 30, 512, 5, 36, world.Held(names=True, kinds=True), FACTS, ("held-out kind",)),
]


def build(rng: random.Random, s: Set, v: Vocabulary) -> dict:
    """Notes that leave room for the exchanges, then those; drawn again where they don't fit."""
    size = lambda turn: sum(map(len, v.message(turn)))  # noqa: E731
    talk = world.Conversation(rng, s.held, s.mix)
    notes = talk.notes(s.n_tokens - 40 - s.room * s.n_exchanges, 0.35, lambda text: len(v.encode(text)))
    exchanges, n = [], size(notes[0]) + size(notes[1])
    while len(exchanges) < s.n_exchanges:
        user, answer = wanted_exchange(talk, s)
        n += size(user) + size(answer)
        if answer.value is None:
            exchanges.append({"say": user.text, "answer": answer.text})
        else:
            exchanges.append({"ask": user.text, "value": answer.value, "answer": answer.text, "kind": answer.kind})
    if n > s.n_tokens:
        return build(rng, s, v)
    return {"set": s.name, "notes": notes[0].text, "exchanges": exchanges}


def wanted_exchange(talk: world.Conversation, s: Set) -> list[world.Turn]:
    while True:
        user, answer = talk.exchange()
        if answer.value is None or answer.kind in s.kinds:
            return [user, answer]


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("vocabulary", type=pathlib.Path)
    ap.add_argument("--only", help="one set alone")
    a = ap.parse_args()
    v = Vocabulary(a.vocabulary.read_bytes())
    rng = random.Random(SEED)
    for s in (s for s in SETS if a.only in (None, s.name)):
        for _ in range(s.n_conversations):
            print(json.dumps(build(rng, s, v)))


if __name__ == "__main__":
    main()
