"""What is learnt when: lengths and contents of the rows, and the rate, by the share of the steps that is done."""

import dataclasses

from notes import world


@dataclasses.dataclass(frozen=True)
class Stage:
    """From `begin` (share of the steps) on: rows of n_tokens, and what they are made of."""

    begin: float
    n_tokens: int
    mix: world.Mix
    share_single: float  # of people that have a first name only


# Recall starts on short rows with short names, where "The notes do not say." is no way out.
EASY = world.Mix(unknown=0.03, added=0.04, corrected=0.02, small=0.03, about=0.1)
HALFWAY = world.Mix(unknown=0.1, added=0.05, corrected=0.04, small=0.03, about=0.08)
LATE = world.Mix(unknown=0.12, corrected=0.08, opening=0.1)
SHORT = (Stage(0.0, 128, EASY, 0.7), Stage(0.08, 256, EASY, 0.4), Stage(0.18, 256, HALFWAY, 0.3))
LONG_FROM = 0.45  # from here on the length doubles, in equal steps, up to the context
WARM_UP, DECAY_FROM, RATE_END = 100, 0.45, 0.02


def stages(context: int) -> list[Stage]:
    lengths = []
    while SHORT[-1].n_tokens << len(lengths) < context:
        lengths.append(min(context, SHORT[-1].n_tokens << (len(lengths) + 1)))
    spread = (1 - LONG_FROM) / max(1, len(lengths))
    return [*SHORT, *(Stage(LONG_FROM + i * spread, n, LATE, 0.2) for i, n in enumerate(lengths))]


def stage_at(context: int, done: float) -> Stage:
    """The stage when this share of the steps is done."""
    return [s for s in stages(context) if s.begin <= done][-1]


def rate_at(step: int, steps: int) -> float:
    """Of the learning rate: a warm-up of steps, then all of it, then down along a line."""
    done = step / steps
    late = 1 if done < DECAY_FROM else max(RATE_END, (1 - done) / (1 - DECAY_FROM))
    return min(1, (step + 1) / WARM_UP) * late
