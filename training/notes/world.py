"""The notes world: conversations about small made-up facts, in any amount, each answer known.

A conversation begins with notes (facts in random order, filler between them), which the assistant acknowledges; some
have small talk or a question before them. Then come questions, facts told later ("Also: ..."), corrections, small talk,
and questions the notes don't answer. Plain Python, no dependency: `python3 -m notes.world` prints one.
"""

import dataclasses
import random
from typing import Callable, Sequence

from notes import words
from notes.facts import KINDS, KINDS_HELD_OUT, Fact, Kind

UNKNOWN = "The notes do not say."
NOTED = "Noted."
HEADS = [
    "Here are the notes.",
    "Read these notes.",
    "Notes:",
    "Please remember this.",
    "Remember this.",
    "",
]
ADDED = ["Also: ", "Remember: ", "One more thing. ", "Add this. "]
CORRECTED = ["Correction: ", "That has changed: ", "I was wrong. "]


@dataclasses.dataclass(frozen=True)
class Held:
    """What is drawn from the held-out lists instead of the training ones."""

    names: bool = False
    wordings: bool = False
    fillers: bool = False
    kinds: bool = False


@dataclasses.dataclass
class Turn:
    """One message. `value`: what a right answer must contain, None where nothing is asked; `kind`: what is asked."""

    role: str
    text: str
    value: str | None = None
    kind: str = ""
    parts: (
        tuple
    ) = ()  # of a recital: the text cut into what can't be foreseen and what can, in turns


class World:
    """The people, things and rooms of one conversation; no subject gets two facts of a kind."""

    def __init__(
        self,
        rng: random.Random,
        held: Held = Held(),
        share_made_up: float = 0.65,
        share_known: float = 0.45,
        share_single: float = 0.2,
        share_alike: float = 0.45,
        fragments: Sequence[str] = (),
    ):
        self.rng, self.held = rng, held
        self.share_known, self.share_single = share_known, share_single
        self.share_made_up = 0.0 if held.names else share_made_up
        # The held-out lists are short: their names meet by themselves. Made-up ones never would, and half a name
        # would be enough to find a fact by.
        self.share_alike = 0.0 if held.names else share_alike
        self.fragments = fragments  # word pieces that made-up names are put together from, so that none stays strange
        self.taken: set[tuple[str, str]] = set()
        self.people: list[str] = []

    def fact(self) -> Fact:
        rng = self.rng
        kind = rng.choice(KINDS_HELD_OUT if self.held.kinds and rng.random() < 0.5 else KINDS)
        return Fact(kind, self.subject(kind), kind.value(rng))

    def subject(self, kind: Kind) -> str:
        while True:
            if kind.about == "person":
                known = self.people and self.rng.random() < self.share_known
                subject = self.rng.choice(self.people) if known else self.person()
            else:
                what = self.rng.choice(words.THINGS if kind.about == "thing" else words.PLACES)
                subject = f"{self.rng.choice(words.COLOURS)} {what}"
            if (kind.name, subject) not in self.taken:
                self.taken.add((kind.name, subject))
                return subject

    def person(self) -> str:
        rng = self.rng
        firsts, lasts = words.FIRST, words.LAST
        if self.held.names:
            firsts, lasts = words.FIRST_HELD_OUT, words.LAST_HELD_OUT
        while True:
            single = rng.random() < self.share_single
            first = self.name(firsts) if single else self.borrowed(0) or self.name(firsts)
            bears = [p for p in self.people if p.split(" ")[0] == first]
            if first in bears or (single and bears):  # a first name alone is one person's
                continue
            name = first if single else f"{first} {self.borrowed(1) or self.name(lasts)}"
            if name not in self.people:
                self.people.append(name)
                return name

    def borrowed(self, which: int) -> str:
        """Now and then somebody's first (0) or last (1) name, or nothing."""
        full = [p for p in self.people if " " in p]
        alike = full and self.rng.random() < self.share_alike
        return self.rng.choice(full).split(" ")[which] if alike else ""

    def name(self, names) -> str:
        return (
            words.made_up(self.rng, self.fragments)
            if self.rng.random() < self.share_made_up
            else self.rng.choice(names)
        )

    def filler(self) -> str:
        return self.rng.choice(words.FILLERS_HELD_OUT if self.held.fillers else words.FILLERS)

    def wording(self, wordings) -> str:
        if len(wordings) > 2:
            return wordings[-1] if self.held.wordings else self.rng.choice(wordings[:-1])
        return self.rng.choice(wordings)

    def state(self, fact: Fact) -> str:
        """The sentence that tells a fact; the fact keeps it."""
        sentence = fact.say(self.wording(fact.kind.statements))
        fact.told = sentence[0].upper() + sentence[1:]
        return fact.told

    def ask(self, fact: Fact) -> tuple[Turn, Turn]:
        """A question about a fact, and its right answer."""
        if fact.n_listed and self.rng.random() < 0.25:
            n = words.COUNTS[fact.n_listed]
            answer = fact.kind.count_answer.format(s=fact.subject, n=n)
            return Turn("user", fact.say(fact.kind.count)), Turn(
                "assistant", answer, f"{n} things.", "count"
            )
        question = fact.say(self.wording(fact.kind.questions))
        answer = "".join(fact.canonical())
        return Turn("user", question), Turn("assistant", answer, fact.judged, fact.kind.asked_as)

    def absent(self) -> Fact:
        """A fact that is not told: half the time of somebody the notes do speak of."""
        known, self.share_known = self.share_known, 0.5
        fact = self.fact()
        self.share_known = known
        return fact


@dataclasses.dataclass(frozen=True)
class Mix:
    """What follows the notes, as shares of the exchanges; the rest asks for facts.

    `opening` is a share of the conversations: those that begin with a question, before there is anything to answer it.
    """

    unknown: float = 0.15
    added: float = 0.08
    corrected: float = 0.06
    small: float = 0.04
    about: float = 0.06
    opening: float = 0.0


class Conversation:
    """Builds one conversation, piece by piece, so that the caller can stop at a length."""

    def __init__(self, rng: random.Random, held: Held = Held(), mix: Mix = Mix(), **world):
        self.rng, self.mix, self.world = rng, mix, World(rng, held, **world)
        self.facts: list[Fact] = []  # as they stand now, in the order they were told
        self.late: set[int] = set()  # of them: told after the notes,
        self.fixed: set[int] = set()  # corrected,
        self.asked: set[int] = set()  # asked for already

    def small_talk(self) -> list[Turn]:
        said, answer = self.rng.choice(words.SMALL_TALK)
        return [Turn("user", said), Turn("assistant", answer, None, "small")]

    def opening(self) -> list[Turn]:
        """What comes before the notes, mostly nothing."""
        x = self.rng.random()
        if x < self.mix.opening:
            return self.unanswerable()
        return self.small_talk() if x > 0.9 else []

    def sentence(self, filler: float) -> str:
        """The next sentence of the notes: filler, or a new fact."""
        if self.rng.random() < filler:
            return self.world.filler()
        return self.tell(self.world.fact())

    def tell(self, fact: Fact) -> str:
        self.facts.append(fact)
        return self.world.state(fact)

    def told(self, subject: str) -> list[str]:
        return [fact.told for fact in self.facts if fact.subject == subject]

    def notes(self, room: int, filler: float, size: Callable[[str], int]) -> list[Turn]:
        """The message with the notes, about `room` in size, and its answer."""
        sentences = []
        while room > 0 or not self.facts:
            sentences.append(self.sentence(filler))
            room -= size(sentences[-1])
        self.rng.shuffle(sentences)
        self.facts.sort(key=lambda fact: sentences.index(fact.told))
        head = self.rng.choice(HEADS)
        text = (head + "\n" if head else "") + " ".join(sentences)
        return [Turn("user", text), Turn("assistant", NOTED)]

    def exchange(self) -> list[Turn]:
        """The next thing the user says after the notes, and the answer."""
        x = self.rng.random()
        for share, make in (
            (self.mix.unknown, self.unanswerable),
            (self.mix.added, self.add),
            (self.mix.corrected, self.correct),
            (self.mix.small, self.small_talk),
            (self.mix.about, self.everything),
        ):
            if x < share:
                return make()
            x -= share
        return self.question()

    def unanswerable(self) -> list[Turn]:
        question, _ = self.world.ask(self.world.absent())
        return [question, Turn("assistant", UNKNOWN, UNKNOWN, "unknown")]

    def add(self) -> list[Turn]:
        self.late.add(len(self.facts))
        text = self.rng.choice(ADDED) + self.tell(self.world.fact())
        return [Turn("user", text), Turn("assistant", NOTED)]

    def everything(self) -> list[Turn]:
        """What the notes say about somebody or something, word for word; of three sentences at most."""
        subject = self.rng.choice(self.facts).subject
        told = self.told(subject)
        if len(told) > 3:
            return self.question()
        what = subject if subject in self.world.people else f"the {subject}"
        answer = " ".join(told)
        return [
            Turn("user", f"What do the notes say about {what}?"),
            Turn("assistant", answer, answer, "about"),
        ]

    def recite(self, room: int, size: Callable[[str], int]) -> list[Turn]:
        """All facts told so far in any order, or as many as the room allows; nothing if it allows none.

        For training alone, many recalls in few tokens: which fact comes next can't be foreseen, its value can.
        """
        order = list(range(len(self.facts)))
        self.rng.shuffle(order)
        parts: list[str] = []
        for at in order:
            head, value = self.facts[at].canonical()
            room -= size(head + value)
            if room < 0:
                break
            parts += [" " + head if parts else head, value]
            self.asked.add(at)
        if not parts:
            return []
        return [
            Turn("user", "Say it all again."),
            Turn("assistant", "".join(parts), parts=tuple(parts)),
        ]

    def correct(self) -> list[Turn]:
        at = self.rng.randrange(len(self.facts))
        old = self.facts[at]
        value = old.value
        while value == old.value:
            value = old.kind.value(self.rng)
        self.facts[at] = Fact(old.kind, old.subject, value)
        self.fixed.add(at)
        self.asked.discard(at)
        text = self.rng.choice(CORRECTED) + self.world.state(self.facts[at])
        return [Turn("user", text), Turn("assistant", NOTED)]

    def question(self) -> list[Turn]:
        """About a fact: mostly one not asked before, a little more often one told or corrected late."""
        late = sorted(self.late | self.fixed)
        of = late if late and self.rng.random() < 0.3 else range(len(self.facts))
        fresh = [at for at in of if at not in self.asked]
        at = self.rng.choice(fresh) if fresh else self.rng.randrange(len(self.facts))
        self.asked.add(at)
        question, answer = self.world.ask(self.facts[at])
        if self.facts[at].kind in KINDS_HELD_OUT:
            answer.kind = "held-out kind"
        elif answer.kind == "fact":
            answer.kind = (
                "corrected" if at in self.fixed else "added" if at in self.late else "fact"
            )
        return [question, answer]


def render(turns: list[Turn]) -> str:
    return "".join(f"<|im_start|>{t.role}\n{t.text}<|im_end|>\n" for t in turns)


if __name__ == "__main__":
    talk = Conversation(random.Random(1))
    turns = talk.notes(700, 0.3, len)
    for _ in range(10):
        turns += talk.exchange()
    print(render(turns))
