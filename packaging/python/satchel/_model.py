"""Models: loaded from a GGUF file, with a store for their chats."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import weakref
from contextlib import closing
from typing import Any, Literal, Union

from . import _api
from ._call import Call, Handle, Owner
from ._chat import Chat, Progress, hear
from ._types import Estimate, ModelInfo, ResumeReport, SavedChat, ShelvedDocument, read

Path = Union[str, "os.PathLike[str]"]
Thinking = Literal["auto", "on", "off"]
Beyond = Literal["auto", "ends", "goes_on"]

BUNDLED_MODEL = _api.FOLDER / "notes-mini-q8_0.gguf"


class Model(Owner):
    """A loaded model. Any thread may use it; its chats decode together.

    path            of a GGUF file; None: the small one that comes with the package
    store           folder of chats and their saved caches, made if missing; None: nothing is kept
    cache_folder    for the caches alone, which may be deleted; None: the store's
    quota_bytes     of saved caches; 0: 8 GiB
    key             a passphrase that encrypts the store; None: it is not encrypted
    thin_after_days caches of chats unused for so long become smaller; 0: never
    backend         "auto", "cpu", "cuda" or "reference"
    backend_folder  of libsatchel-cuda.so, absolute; None: no GPU
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        store: Path | None = None,
        cache_folder: Path | None = None,
        quota_bytes: int = 0,
        key: str | None = None,
        thin_after_days: int = 0,
        backend: str = "auto",
        backend_folder: Path | None = None,
        n_threads: int = 0,
        cpu_level: str | None = None,
        chat_template: str | None = None,
        activation_bits: int = 0,
        progress: Progress | None = None,
    ) -> None:
        file = _api.text(BUNDLED_MODEL if path is None else path)
        caches = store if cache_folder is None else cache_folder
        runtime_options = _api.struct(
            "runtime_options",
            backend_folder=backend_folder,
            profile_folder=None if caches is None else pathlib.Path(caches) / "lane-tables",
        )
        store_options = _api.struct(
            "store_options",
            folder=store,
            cache_folder=cache_folder,
            quota_bytes=quota_bytes,
            key=key,
            thin_after_days=thin_after_days,
        )
        options = _api.struct(
            "model_options",
            n_threads=n_threads,
            backend=backend,
            cpu_level=cpu_level,
            chat_template=chat_template,
            activation_bits=activation_bits,
        )

        def load(call: Call) -> Handle:
            made = closing(_made("runtime", "runtime_create", runtime_options))
            with made as runtime, runtime as at:
                if store is None:
                    return _made("model", "model_load", at, file, options, call.listener())
                with closing(_made("store", "store_open", at, store_options)) as opened:
                    with opened as options.store:
                        return _made("model", "model_load", at, file, options, call.listener())

        self._handle: Handle = Call(load).result(hear(progress))
        self._chats: weakref.WeakSet[Chat] = weakref.WeakSet()

    def close(self) -> None:
        """Closes its chats, too, so that another may use the store."""
        for chat in list(self._chats):
            chat.close()
        super().close()

    @property
    def info(self) -> ModelInfo:
        out = _api.struct("model_info")
        with self._handle as model:
            _api.call("model_describe", model, out)
        return read(ModelInfo, out)

    @property
    def device(self) -> str:
        """For people; says why it is not the GPU."""
        with self._handle as model:
            said: bytes = _api.function("model_device")(model)
        return said.decode("utf-8", "replace")

    def estimate(
        self, recipe: str = "full", *, n_tokens: int = 0, limit_bytes: int = 0
    ) -> Estimate:
        """Memory of a chat of n_tokens (0: the context) under a limit (0: the default)."""
        out = _api.struct("estimate")
        with self._handle as model:
            _api.call("estimate_memory", model, _api.text(recipe), n_tokens, limit_bytes, out)
        return read(Estimate, out)

    def count_tokens(self, text: str) -> int:
        return self._tokenize(text, None, 0)

    def tokenize(self, text: str) -> list[int]:
        ids = (ctypes.c_int32 * self.count_tokens(text))()
        self._tokenize(text, ids, len(ids))
        return list(ids)

    def _tokenize(self, text: str, ids: Any, capacity: int) -> int:
        n = ctypes.c_size_t()
        with self._handle as model:
            _api.call("tokenize", model, *_api.sized(text), ids, capacity, ctypes.byref(n))
        return n.value

    def detokenize(self, ids: list[int]) -> str:
        with self._handle as model:
            given = (ctypes.c_int32 * len(ids))(*ids)
            return _api.returned("detokenize", model, given, len(ids))

    def chats(self) -> list[SavedChat]:
        """Of the store, the one used last first."""
        with self._handle as model:
            return [SavedChat(**each) for each in json.loads(_api.returned("chats", model))]

    def remove(self, name: str) -> None:
        """It is hidden at once, and gone for good after 30 days. It must not be open."""
        with self._handle as model:
            _api.call("chat_remove", model, _api.text(name))

    def documents(self) -> list[ShelvedDocument]:
        """The shelf of the store: what chats that begin with it need not prefill."""
        with self._handle as model:
            shelf = json.loads(_api.returned("documents", model))
        return [ShelvedDocument(**each) for each in shelf]

    def keep_document(self, title: str, text: str) -> str:
        """Its id. It stays on the shelf when the chats that have it go."""
        with self._handle as model:
            return _api.returned("document_keep", model, _api.text(title), *_api.sized(text))

    def document_text(self, id: str) -> str:
        with self._handle as model:
            return _api.returned("document_text", model, _api.text(id))

    def remove_document(self, id: str) -> None:
        """At once and for good; chats that have it keep it."""
        with self._handle as model:
            _api.call("document_remove", model, _api.text(id))

    def chat(
        self,
        name: str | None = None,
        *,
        recipe: str | None = None,
        keep: float = 0,
        limit_bytes: int = 0,
        system: str | None = None,
        thinking: Thinking = "auto",
        beyond: Beyond = "auto",
        progress: Progress | None = None,
    ) -> Chat:
        """The saved chat of that name, or a new one: `chat.resume` tells.

        name         by which it is found again; None: made of its first message in a store
        recipe       a preset ("full", "balanced", "compact", "extreme"), a recipe's name or JSON;
                     None: "full", or what the chat was saved with
        keep         share of a prompt's tokens to keep; 0: the recipe's own
        limit_bytes  of memory for all chats of the model; 0: as it is, or the default
        system       of a new chat; None: the template's own
        beyond       whether the chat goes on beyond the context; "ends" is for a new chat
        """
        options = _options(recipe, keep, limit_bytes, thinking, beyond)
        if name is not None:
            goes_on: Beyond = "goes_on" if beyond == "goes_on" else "auto"
            try:
                saved = _options(recipe, keep, limit_bytes, thinking, goes_on)
                return self._open(name, saved, progress)
            except _api.NotFoundError:
                pass
        options.system = _api.text(system)
        made = _api.pointer("session")
        with self._handle as model:
            _api.call("session_create", model, _api.text(name), options, ctypes.byref(made))
        return Chat(made, self._chats, None)

    def open(
        self,
        name: str,
        *,
        recipe: str | None = None,
        keep: float = 0,
        limit_bytes: int = 0,
        thinking: Thinking = "auto",
        beyond: Beyond = "auto",
        progress: Progress | None = None,
    ) -> Chat:
        """A saved chat; NotFoundError where there is none. What is left out is as it was saved."""
        return self._open(name, _options(recipe, keep, limit_bytes, thinking, beyond), progress)

    def load_snapshot(
        self,
        snapshot: bytes,
        name: str | None = None,
        *,
        recipe: str | None = None,
        keep: float = 0,
        limit_bytes: int = 0,
        thinking: Thinking = "auto",
        beyond: Beyond = "auto",
        progress: Progress | None = None,
    ) -> Chat:
        """A chat of its own, from what Chat.snapshot() gave with the same model file.

        name  by which a store has it; None: made of its first message. The rest as of open().
        CorruptError: the bytes are not what was saved. InvalidError, code CHAT_MODEL: they are of
        another model.
        """
        options = _options(recipe, keep, limit_bytes, thinking, beyond)
        given = (snapshot, len(snapshot), _api.text(name), options)
        return self._resumed("snapshot_load", given, progress)

    def _open(self, name: str, options: Any, progress: Progress | None) -> Chat:
        return self._resumed("session_open", (_api.text(name), options), progress)

    def _resumed(self, function: str, given: tuple[Any, ...], progress: Progress | None) -> Chat:
        def body(call: Call) -> Chat:
            made, resume = _api.pointer("session"), _api.struct("resume_report")
            with self._handle as model:
                all_given = (model, *given, call.listener(), resume)
                _api.call(function, *all_given, ctypes.byref(made))
            return Chat(made, self._chats, read(ResumeReport, resume))

        opened: Chat = Call(body).result(hear(progress))
        return opened


def _made(kind: str, function: str, *given: Any) -> Handle:
    made = _api.pointer(kind)
    _api.call(function, *given, ctypes.byref(made))
    return Handle(kind, made)


def estimate_model(
    path: Path | None = None,
    recipe: str = "full",
    *,
    n_tokens: int = 0,
    limit_bytes: int = 0,
    backend: str = "auto",
    backend_folder: Path | None = None,
) -> Estimate:
    """As Model.estimate, of a file that is not loaded."""
    file = _api.text(BUNDLED_MODEL if path is None else path)
    out = _api.struct("estimate")
    options = _api.struct("model_options", backend=backend)
    runtime_options = _api.struct("runtime_options", backend_folder=backend_folder)
    with closing(_made("runtime", "runtime_create", runtime_options)) as runtime, runtime as at:
        asked = (_api.text(recipe), n_tokens, limit_bytes, out)
        _api.call("model_estimate", at, file, options, *asked)
    return read(Estimate, out)


def _options(
    recipe: str | None, keep: float, limit_bytes: int, thinking: Thinking, beyond: Beyond
) -> Any:
    return _api.struct(
        "session_options",
        recipe=recipe,
        keep=keep,
        limit_bytes=limit_bytes,
        thinking=_api.choice("THINKING_", thinking),
        beyond=_api.choice("BEYOND_", beyond),
    )
