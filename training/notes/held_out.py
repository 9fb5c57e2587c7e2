"""Writes the questions that models are judged by, one conversation a line.

    training/held-out VOCABULARY.model > models/notes-heldout.jsonl

A line: {"set", "notes", "exchanges"}; an exchange is {"say", "answer"} (told, not judged) or {"ask", "value", "answer",
"kind"}: right is an answer that contains `value`. A conversation of names-1024 fills 1,024 tokens, less a little.
Every name is held out from training; the sets named after wordings, fillers and kinds hold those out as well. No answer
is asked for twice in a conversation.
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


# Tokens of the length that stay free: Satchel wants room for an answer before it begins one.
SPARE = 48


def build(rng: random.Random, s: Set, v: Vocabulary) -> dict:
    """Notes that leave room for the exchanges, then those; drawn again where they don't fit."""
    while True:
        talk = world.Conversation(rng, s.held, s.mix)
        room = s.n_tokens - SPARE - 40 - s.room * s.n_exchanges
        turns = talk.notes(room, 0.35, lambda text: len(v.encode(text)))
        notes, asked = turns[0].text, set()
        exchanges = []
        while len(exchanges) < s.n_exchanges:
            exchange = wanted_exchange(talk, s, asked)
            if not exchange:
                break
            user, answer = exchange
            turns += [user, answer]
            if answer.value is None:
                exchanges.append({"say": user.text, "answer": answer.text})
            else:
                exchanges.append(
                    {
                        "ask": user.text,
                        "value": answer.value,
                        "answer": answer.text,
                        "kind": answer.kind,
                    }
                )
        n_tokens = 1 + sum(len(part) for turn in turns for part in v.message(turn))
        if len(exchanges) == s.n_exchanges and n_tokens <= s.n_tokens - SPARE:
            return {"set": s.name, "notes": notes, "exchanges": exchanges}


def wanted_exchange(talk: world.Conversation, s: Set, asked: set[str]) -> list[world.Turn]:
    """The next exchange that is of the set's kinds and asks for a new answer; nothing if none turns up."""
    for _ in range(500):
        user, answer = talk.exchange()
        if answer.value is None:
            return [user, answer]
        key = user.text if answer.text == world.UNKNOWN else answer.text
        if answer.kind in s.kinds and key not in asked:
            asked.add(key)
            return [user, answer]
    return []


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("vocabulary", type=pathlib.Path)
    ap.add_argument("--only", choices=[s.name for s in SETS], help="one set alone")
    a = ap.parse_args()
    if not a.vocabulary.is_file():
        ap.error(f"there is no {a.vocabulary}")
    v = Vocabulary(a.vocabulary.read_bytes())
    for s in (s for s in SETS if a.only in (None, s.name)):
        rng = random.Random(f"{SEED} {s.name}")
        for _ in range(s.n_conversations):
            print(json.dumps(build(rng, s, v)))


if __name__ == "__main__":
    main()
