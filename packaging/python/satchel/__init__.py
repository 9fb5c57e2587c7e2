"""Satchel: chats that keep long conversations in a fixed amount of memory.

    import satchel

    with satchel.Model() as model:
        chat = model.chat(recipe="compact")
        chat.add_document("notes.txt", text)
        for delta in chat.send("Which pet does Matteo Thorsen keep?"):
            print(delta, end="", flush=True)
"""

from __future__ import annotations

import json
import os
from typing import Any

from . import _api
from ._api import (
    BusyError,
    CancelledError,
    CorruptError,
    DeviceLostError,
    Error,
    InternalError,
    InvalidError,
    MemoryLimitError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from ._chat import Chat, Stream
from ._model import BUNDLED_MODEL, Model, estimate_model
from ._types import (
    OFF,
    Answer,
    Delta,
    Estimate,
    Fidelity,
    Finish,
    MemoryChange,
    Message,
    ModelInfo,
    Outcome,
    Phase,
    PrefillReport,
    Recipe,
    ResumeReport,
    Sampling,
    SavedChat,
    ShelvedDocument,
    Stats,
)

__version__: str = _api.function("version")().decode()


def recipes() -> list[Recipe]:
    """Presets, then built-in recipes."""
    return [Recipe(**each) for each in json.loads(_api.returned("recipes"))]


def check_recipe(recipe: str) -> str:
    """Its canonical JSON; InvalidError says where it is wrong."""
    return _api.returned("recipe_check", _api.text(recipe))


def reason_text(reason: str) -> str:
    """Why tokens were prefilled again, for people; of a report's reason."""
    return (_api.function("reason_text")(_api.text(reason)) or b"").decode()


def inspect_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a GGUF file says of its model, without loading it."""
    made: dict[str, Any] = json.loads(_api.returned("model_inspect", _api.text(path)))
    return made


__all__ = [
    "BUNDLED_MODEL",
    "OFF",
    "Answer",
    "BusyError",
    "CancelledError",
    "Chat",
    "CorruptError",
    "Delta",
    "DeviceLostError",
    "Error",
    "Estimate",
    "Fidelity",
    "Finish",
    "InternalError",
    "InvalidError",
    "MemoryChange",
    "MemoryLimitError",
    "Message",
    "Model",
    "ModelInfo",
    "NotFoundError",
    "Outcome",
    "Phase",
    "PrefillReport",
    "Recipe",
    "ResumeReport",
    "Sampling",
    "SavedChat",
    "ShelvedDocument",
    "Stats",
    "StorageError",
    "Stream",
    "UnsupportedError",
    "check_recipe",
    "estimate_model",
    "inspect_model",
    "reason_text",
    "recipes",
]
