"""Rows of token ids to train on, each a conversation that fills a length, and what to learn from them."""

import dataclasses
import random

import torch

from notes import world
from notes.vocabulary import BOS, Vocabulary

RECITALS = 0.7  # share of the rows
# Names and values in the notes can't be known in advance: at full weight they are mostly noise.
LEARN_ANSWER, LEARN_TEXT = 1.0, 0.03
TOKENS_OF_A_FEW_QUESTIONS = 300  # eight or so, with their answers


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a conversation is made of: tokens in all, of them the notes' share, filler among their sentences, and the
    share of what the notes leave that a recital takes."""

    n_tokens: int
    notes: float = 0.6
    filler: float = 0.3
    recital: float = 0.0


def conversation(talk: world.Conversation, plan: Plan, encode) -> list[world.Turn]:
    """A conversation of at most plan.n_tokens, unless they are too few for any. `encode` maps a text to ids."""
    marks = 7  # of a message, its role among them: a little more than exact
    size = lambda text: len(encode(text))  # noqa: E731
    cost = lambda turns: sum(size(t.text) + marks for t in turns)  # noqa: E731
    turns = talk.opening()
    turns += talk.notes(int((plan.n_tokens - cost(turns)) * plan.notes) - 24, plan.filler, size)
    left = plan.n_tokens - cost(turns)
    if plan.recital:
        recital = talk.recite(int(left * plan.recital), size)
        turns += recital
        left -= cost(recital)
    while True:
        exchange = talk.exchange()
        left -= cost(exchange)
        if left < 0:
            return turns
        turns += exchange


def row(turns: list[world.Turn], vocabulary: Vocabulary) -> tuple[list[int], list[float]]:
    """Token ids, and how much to learn of each."""
    ids, learn = [BOS], [0.0]
    for turn in turns:
        opening, rest = vocabulary.message(turn)
        ids += opening + rest
        learn += [0.0] * len(opening) + weights(turn, len(rest) - 1, vocabulary) + [LEARN_TEXT]
    return ids, learn


def weights(turn: world.Turn, n: int, vocabulary: Vocabulary) -> list[float]:
    """How much to learn of the n ids of a message, its end mark among them."""
    if turn.role != "assistant":
        return [LEARN_TEXT] * n
    if not turn.parts:
        return [LEARN_ANSWER] * n
    out = []
    for i, part in enumerate(turn.parts):
        out += [LEARN_ANSWER if i % 2 else LEARN_TEXT] * len(vocabulary.encode(part))
    assert len(out) == n - 1, "a part does not begin with a blank"
    return out + [LEARN_TEXT]


def draw(rng: random.Random, n_tokens: int) -> Plan:
    # Long notes with a few questions after them are what is asked in the end, short ones give more recalls a row.
    longest = max(0.6, 1 - TOKENS_OF_A_FEW_QUESTIONS / n_tokens)
    recital = rng.uniform(0.4, 0.9) if rng.random() < RECITALS else 0.0
    return Plan(n_tokens, rng.uniform(0.3, longest), rng.choice((0.0, 0.2, 0.4)), recital)


def batch(
    rng: random.Random,
    vocabulary: Vocabulary,
    n_rows: int,
    n_tokens: int,
    mix: world.Mix,
    **of_world
):
    """ids [n_rows, n_tokens + 1] and learn of the same shape; 0 after the end of a conversation.

    `of_world` goes to world.World.
    """
    ids = torch.zeros(n_rows, n_tokens + 1, dtype=torch.long)
    learn = torch.zeros(n_rows, n_tokens + 1)
    for r in range(n_rows):
        talk = world.Conversation(rng, mix=mix, fragments=vocabulary.fragments, **of_world)
        i, w = row(conversation(talk, draw(rng, n_tokens), vocabulary.encode), vocabulary)
        i, w = i[: n_tokens + 1], w[: n_tokens + 1]
        ids[r, : len(i)], learn[r, : len(w)] = torch.tensor(i), torch.tensor(w)
    return ids, learn
