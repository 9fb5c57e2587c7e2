"""Rows of token ids to train on, each a conversation that fills a length, and what to learn from them."""

import random

import torch

from notes import world
from notes.vocabulary import BOS, Vocabulary

RECITALS = 0.7  # share of the rows
LEARN_ANSWER, LEARN_TEXT = 1.0, 0.03  # names and values in the notes can't be known in advance: mostly noise


def conversation(
    rng: random.Random,
    n_tokens: int,
    encode,
    share_notes: float,
    filler: float,
    held: world.Held = world.Held(),
    mix: world.Mix = world.Mix(),
    recital: float = 0.0,
    **of_world,
) -> list[world.Turn]:
    """A conversation of at most n_tokens, whose notes take share_notes of them, and a recital a share of what is left.

    `encode` maps a text to ids.
    """
    talk = world.Conversation(rng, held, mix, **of_world)
    turns = talk.small_talk() if rng.random() < 0.1 else []
    overhead = 7  # marks and role of a message, a little more than exact
    left = n_tokens - sum(len(encode(t.text)) + overhead for t in turns)
    size = lambda text: len(encode(text))  # noqa: E731
    turns += talk.notes(int(left * share_notes) - 24, filler, size)
    left -= sum(size(t.text) + overhead for t in turns[-2:])
    if recital:
        turns += talk.recite(int(left * recital), size)
        left -= sum(size(t.text) + overhead for t in turns[-2:])
    while True:
        exchange = talk.exchange()
        left -= sum(len(encode(t.text)) + overhead for t in exchange)
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


def batch(
    rng: random.Random, vocabulary: Vocabulary, n_rows: int, n_tokens: int, mix: world.Mix = world.Mix(), **of_world
) -> tuple[torch.Tensor, torch.Tensor]:
    """ids [n_rows, n_tokens + 1] and learn of the same shape; 0 after the end of a conversation."""
    ids, learn = torch.zeros(n_rows, n_tokens + 1, dtype=torch.long), torch.zeros(n_rows, n_tokens + 1)
    for r in range(n_rows):
        recital = rng.uniform(0.4, 0.9) if rng.random() < RECITALS else 0.0
        share_notes, filler = rng.uniform(0.3, 0.6), rng.choice((0.0, 0.2, 0.4))
        turns = conversation(
            rng, n_tokens, vocabulary.encode, share_notes, filler, mix=mix, recital=recital, **of_world
        )
        i, w = row(turns, vocabulary)
        i, w = i[: n_tokens + 1], w[: n_tokens + 1]
        ids[r, : len(i)], learn[r, : len(w)] = torch.tensor(i), torch.tensor(w)
    return ids, learn
