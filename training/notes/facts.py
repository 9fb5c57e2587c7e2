"""Facts: their kinds, how each is told, asked for and answered. A new kind is one entry in KINDS."""

import dataclasses
import random
from typing import Callable

from notes import words


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of fact. In the wordings {s} is who or what it is about, {v} its value.

    The last statement and the last question are held out from training where there are three or more.
    """

    name: str
    about: str  # person, thing or room
    value: Callable[[random.Random], str]
    statements: tuple
    questions: tuple
    answer: str
    asked_as: str = "fact"  # what an answer about it counts as where models are judged
    count: str = ""  # of values that list things: a question that asks how many, and its answer
    count_answer: str = ""


@dataclasses.dataclass
class Fact:
    kind: Kind
    subject: str
    value: str
    told: str = ""  # the sentence that told it last

    def say(self, wording: str) -> str:
        return wording.format(s=self.subject, v=self.value)

    @property
    def n_listed(self) -> int:
        return self.value.count(",") + 2 if self.kind.count else 0

    def canonical(self) -> tuple[str, str]:
        """The answer in two: up to the value, and the value with the blank before it and what follows."""
        cut = self.kind.answer.rindex(" ", 0, self.kind.answer.index("{v}"))
        return self.say(self.kind.answer[:cut]), self.say(self.kind.answer[cut:])

    @property
    def judged(self) -> str:
        """What a right answer contains: the value between the word before it and the end.

        The value alone would not do: "1 May" is in "21 May", and "rope and nails" in "salt, rope and nails".
        """
        head, value = self.canonical()
        return head.rsplit(" ", 1)[1] + value


def digits(rng, lengths=(3, 4, 4, 4, 5)):
    return "".join(rng.choice("0123456789") for _ in range(rng.choice(lengths)))


def listing(rng):
    goods = rng.sample(words.GOODS, rng.choice((2, 2, 3, 3, 4)))
    return ", ".join(goods[:-1]) + " and " + goods[-1]


def quote(rng):
    return f"{rng.choice(words.QUOTE_BEGINNINGS)} {rng.choice(words.QUOTE_ENDS)}".capitalize()


def one_of(values):
    return lambda rng: rng.choice(values)


KINDS = [
    Kind(
        "city",
        "person",
        one_of(words.CITIES),
        (
            "{s} lives in {v}.",
            "{s} moved to {v} years ago.",
            "The home of {s} is in {v}.",
            "{s} is at home in {v}.",
            "You find {s} in {v}.",
            "{s} has settled in {v}.",
        ),
        (
            "Where does {s} live?",
            "In which city does {s} live?",
            "Where is the home of {s}?",
            "Which city is home to {s}?",
            "Where can {s} be found?",
            "In which city is {s} at home?",
        ),
        "{s} lives in {v}.",
    ),
    Kind(
        "job",
        "person",
        one_of(words.JOBS),
        (
            "{s} works as a {v}.",
            "{s} is a {v} by trade.",
            "They say {s} is a good {v}.",
            "{s} earns a living as a {v}.",
            "By day {s} is a {v}.",
            "As a {v}, {s} works hard.",
        ),
        (
            "What is the job of {s}?",
            "What does {s} do for work?",
            "What is the trade of {s}?",
            "How does {s} earn a living?",
            "Which work does {s} do?",
            "What does {s} work as?",
        ),
        "{s} is a {v}.",
    ),
    Kind(
        "pet",
        "person",
        one_of(words.PETS),
        (
            "{s} keeps a {v}.",
            "{s} has a {v} at home.",
            "A {v} belongs to {s}.",
            "{s} takes care of a {v}.",
            "{s} never leaves the {v} alone.",
            "At home {s} keeps a {v}.",
        ),
        (
            "Which animal does {s} keep?",
            "What pet does {s} have?",
            "What kind of animal does {s} have?",
            "Which pet does {s} keep?",
            "Which animal belongs to {s}?",
        ),
        "{s} keeps a {v}.",
    ),
    Kind(
        "dish",
        "person",
        one_of(words.DISHES),
        (
            "{s} loves {v}.",
            "The favourite dish of {s} is {v}.",
            "{s} always asks for {v}.",
            "{s} could eat {v} every day.",
            "Nothing pleases {s} like {v}.",
            "{v} is the favourite dish of {s}.",
        ),
        (
            "What does {s} like to eat?",
            "What is the favourite dish of {s}?",
            "What should we cook for {s}?",
            "What does {s} always ask for?",
            "Which dish does {s} love?",
        ),
        "{s} loves {v}.",
    ),
    Kind(
        "instrument",
        "person",
        one_of(words.INSTRUMENTS),
        (
            "{s} plays the {v}.",
            "{s} practises the {v} at night.",
            "{s} owns a {v} and plays it well.",
            "On the {v}, {s} is very good.",
            "At night {s} plays the {v}.",
        ),
        (
            "Which instrument does {s} play?",
            "What does {s} play?",
            "Which instrument is played by {s}?",
            "On what does {s} make music?",
            "What does {s} practise?",
        ),
        "{s} plays the {v}.",
    ),
    Kind(
        "phone",
        "person",
        digits,
        (
            "The number of {s} is {v}.",
            "Call {s} on {v}.",
            "{s} can be reached at {v}.",
            "{s} has the number {v}.",
            "Ring {s} at {v}.",
            "At {v} you can reach {s}.",
        ),
        (
            "What is the number of {s}?",
            "How can I reach {s}?",
            "What number does {s} have?",
            "How do I call {s}?",
            "On which number can I call {s}?",
        ),
        "The number of {s} is {v}.",
    ),
    Kind(
        "visit",
        "person",
        lambda rng: f"{rng.choice(words.DAYS)} at {rng.randrange(7, 20)}",
        (
            "{s} comes on {v}.",
            "The visit of {s} is set for {v}.",
            "Expect {s} on {v}.",
            "{s} will visit us on {v}.",
            "{s} is due on {v}.",
            "On {v} we expect {s}.",
        ),
        (
            "When does {s} come?",
            "When is the visit of {s}?",
            "On which day does {s} come?",
            "When is {s} due?",
            "When do we expect {s}?",
        ),
        "{s} comes on {v}.",
    ),
    Kind(
        "birthday",
        "person",
        lambda rng: f"{rng.randrange(1, 29)} {rng.choice(words.MONTHS)}",
        (
            "{s} was born on {v}.",
            "The birthday of {s} is {v}.",
            "{s} has a birthday on {v}.",
            "{s} celebrates on {v}.",
            "On {v} it is the birthday of {s}.",
        ),
        (
            "When was {s} born?",
            "When is the birthday of {s}?",
            "On which day was {s} born?",
            "When does {s} celebrate?",
            "What is the birthday of {s}?",
        ),
        "{s} was born on {v}.",
    ),
    Kind(
        "list",
        "person",
        listing,
        (
            "{s} bought {v}.",
            "{s} came back with {v}.",
            "The list of {s} says {v}.",
            "{s} went out for {v}.",
            "{s} brought {v}.",
            "On the list of {s} are {v}.",
        ),
        (
            "What did {s} buy?",
            "What is on the list of {s}?",
            "What did {s} bring?",
            "What did {s} go out for?",
            "What did {s} come back with?",
        ),
        "{s} bought {v}.",
        "list",
        "How many things did {s} buy?",
        "{s} bought {n} things.",
    ),
    Kind(
        "quote",
        "person",
        quote,
        (
            '{s} said: "{v}."',
            '"{v}," said {s}.',
            '{s} told us: "{v}."',
            'We heard {s} say: "{v}."',
            'In the words of {s}: "{v}."',
        ),
        (
            "What did {s} say?",
            "Quote {s}.",
            "What did {s} tell us?",
            "What did we hear from {s}?",
            "What are the words of {s}?",
        ),
        '{s} said: "{v}."',
        "quote",
    ),
    Kind(
        "place",
        "thing",
        one_of(words.PLACES),
        (
            "The {s} is in the {v}.",
            "The {s} was left in the {v}.",
            "We put the {s} in the {v}.",
            "You find the {s} in the {v}.",
            "The {s} lies in the {v}.",
            "In the {v} we left the {s}.",
        ),
        (
            "Where is the {s}?",
            "Where did we put the {s}?",
            "In which place is the {s}?",
            "Where can I find the {s}?",
            "Where was the {s} left?",
        ),
        "The {s} is in the {v}.",
    ),
    Kind(
        "code",
        "room",
        digits,
        (
            "The code for the {s} is {v}.",
            "To open the {s}, enter {v}.",
            "The {s} opens with {v}.",
            "Use {v} for the {s}.",
            "The {s} needs the code {v}.",
            "{v} is what opens the {s}.",
        ),
        (
            "What is the code for the {s}?",
            "Which code opens the {s}?",
            "What opens the {s}?",
            "What do I enter at the {s}?",
            "How do I open the {s}?",
        ),
        "The code for the {s} is {v}.",
    ),
]
KINDS_HELD_OUT = [
    Kind(
        "seat",
        "person",
        digits,
        ("{s} sits in seat {v}.", "The seat of {s} is {v}."),
        ("Where does {s} sit?", "What is the seat of {s}?"),
        "{s} sits in seat {v}.",
    ),
    Kind(
        "price",
        "thing",
        digits,
        ("The price of the {s} is {v}.", "We paid {v} for the {s}."),
        ("What is the price of the {s}?", "What did we pay for the {s}?"),
        "The price of the {s} is {v}.",
    ),
]
