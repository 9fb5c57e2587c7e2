"""What calls take and return. Fields bear the names of satchel.h, where they are explained."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, TypeVar

T = TypeVar("T")

OFF = 0xFFFFFFFF  # Sampling: top_k, n_tokens_max


class Finish(enum.IntEnum):
    """Why an answer ended."""

    END_OF_TURN = 0
    TOKENS_MAX = 1
    REPEATS = 2
    STOPPED = 3
    CONTEXT_FULL = 4
    CACHE_FULL = 5


class Outcome(enum.IntEnum):
    """Of a resume: what became of the saved cache."""

    RESTORED = 0
    PARTLY = 1
    NOTHING_SAVED = 2
    OTHER_MODEL = 3
    OTHER_RECIPE = 4
    OTHER_TOKENS = 5
    OTHER_FORMAT = 6
    DAMAGED = 7


class Phase(enum.IntEnum):
    """What progress is of."""

    LOAD = 0
    PREFILL = 1
    MEASURE = 2
    PACK = 3
    PROFILE = 4
    PARTS = 5


class Delta(str):
    """A stretch of an answer, in whole characters."""

    is_thought: bool = False


@dataclasses.dataclass(frozen=True)
class Sampling:
    """Greedy unless `temperature` says otherwise. None: the library's default."""

    temperature: float = 0
    top_k: int | None = None  # OFF: all
    top_p: float | None = None
    min_p: float | None = None  # below 0: off
    repetition_penalty: float | None = None  # 1: off
    seed: int = 0
    n_tokens_max: int | None = None  # OFF: up to the context
    allow_loops: bool = False
    grammar: str | None = None  # GBNF; what the answer must be
    json_schema: str | None = None  # likewise; json.dumps() of a schema


@dataclasses.dataclass(frozen=True)
class Answer:
    text: str
    thoughts: str
    finish: Finish
    answer_id: int  # 0: there was no room for one
    n_prompt: int  # tokens before the answer
    n_reused: int  # of them, held already
    n_prefilled: int  # of them, prefilled now
    n_thought: int
    n_answer: int
    prefill_ms: float
    decode_ms: float
    resume_outcome: Outcome
    n_parts: int
    n_parts_unread: int
    n_recomputed: int  # tokens prefilled again, since the last report
    reason: str  # why; see reason_text(). "": none were


@dataclasses.dataclass(frozen=True)
class PrefillReport:
    """Of a document, or of what was added."""

    compressed: bool
    n_tokens: int
    n_unread: int  # left, as another call came
    n_evicted: int
    ms: float
    n_recomputed: int  # tokens prefilled again, since the last report
    reason: str
    n_shelf: int  # taken from a chat that began with the same document, not prefilled


@dataclasses.dataclass(frozen=True)
class ResumeReport:
    """What opening a saved chat took."""

    outcome: Outcome
    n_tokens: int
    n_reused: int
    n_recomputed: int
    bytes_read: int
    ms: float
    too_long: bool
    reason: str  # "": all came from the saved cache


@dataclasses.dataclass(frozen=True)
class ModelInfo:
    on_gpu: bool
    weight_bytes: int
    n_layers: int
    n_context: int
    n_vocabulary: int
    has_chat_template: bool
    has_thinking_switch: bool
    default_limit_bytes: int


@dataclasses.dataclass(frozen=True)
class Estimate:
    fits: bool
    weight_bytes: int
    cache_bytes: int
    expected_bytes: int
    workspace_bytes: int
    limit_bytes: int
    least_limit_bytes: int
    fp16_bytes: int
    n_tokens_fit: int
    n_tokens_most: int
    available_bytes: int


@dataclasses.dataclass(frozen=True)
class Stats:
    n_tiers: int
    n_tokens: int
    n_prefilled: int
    n_context: int
    n_in_reach: int
    bytes: int
    fp16_bytes: int
    n_retained: int
    n_evicted: int
    n_resting: int
    limit_bytes: int
    used_bytes: int
    peak_bytes: int
    n_unread: int


@dataclasses.dataclass(frozen=True)
class Fidelity:
    is_measured: bool
    agreement: float
    kl: float
    attention_retained: float
    n_compared: int
    measured_at: int
    measured_ms: int
    n_facts_asked: int
    n_facts_recalled: int


@dataclasses.dataclass(frozen=True)
class MemoryChange:
    fits: bool
    bytes_before: int
    bytes_after: int
    n_lowered: int
    n_evicted: int
    n_recomputed: int
    least_limit_bytes: int
    reason: str


@dataclasses.dataclass(frozen=True)
class Message:
    id: int
    role: str
    kind: str  # "text" or "document"
    state: str  # "complete", "streaming", "interrupted" or "damaged"
    tokens: int
    title: str | None = None  # of a document
    text: str = ""


@dataclasses.dataclass(frozen=True)
class SavedChat:
    name: str
    title: str
    messages: int
    tokens: int
    used_ms: int  # since 1970, UTC


@dataclasses.dataclass(frozen=True)
class ShelvedDocument:
    id: str
    title: str
    kept: bool  # it stays when its chat goes
    used_ms: int  # since 1970, UTC
    readings: list[dict[str, Any]]  # "model", "recipe", "tokens", "bytes"


@dataclasses.dataclass(frozen=True)
class Recipe:
    name: str
    source: str
    keep: float


_KINDS: dict[str, Any] = {
    "bool": bool,
    "Finish": Finish,
    "Outcome": Outcome,
    "str": lambda text: (text or b"").decode(),
}


def read(cls: type[T], struct: Any, **others: Any) -> T:
    """An object with the fields of the struct that it names, and others."""
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        if field.name not in others:
            value = getattr(struct, field.name)
            others[field.name] = _KINDS.get(str(field.type), lambda same: same)(value)
    return cls(**others)
