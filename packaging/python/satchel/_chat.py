"""Chats, and answers as they are made."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import weakref
from collections.abc import Iterable
from typing import Any, Callable, Literal, TypeVar

from . import _api
from ._call import Call, Handle, Owner
from ._types import (
    Answer,
    Delta,
    Fidelity,
    MemoryChange,
    Message,
    Phase,
    PrefillReport,
    ResumeReport,
    Sampling,
    Stats,
    read,
)

T = TypeVar("T")
Progress = Callable[[Phase, int, int], None]
Role = Literal["system", "user", "assistant"]


def hear(progress: Progress | None) -> Callable[[tuple[int, int, int]], None]:
    """For the events of Call.listener()."""

    def heard(event: tuple[int, int, int]) -> None:
        if progress is not None:
            progress(Phase(event[0]), event[1], event[2])

    return heard


class Stream:
    """An answer as it is made: an iterator of deltas, which begins at once.

    close(), the end of `with` or the collector stop the answer. Ctrl-C while it is waited for does
    so too. The chat keeps what was said by then.
    """

    def __init__(self, call: Call, thoughts: bool) -> None:
        self._call = call
        self._yields_thoughts = thoughts
        self._thoughts: list[Delta] = []
        self._answer: Answer | None = None
        self._is_closed = False

    def _take(self) -> Delta | None:
        """None: it has ended."""
        if self._answer is not None:
            return None
        try:
            what, value = self._call.take()
        except BaseException:
            self.close()
            raise
        if what == "returned":
            self._answer = dataclasses.replace(value, thoughts="".join(self._thoughts))
            return None
        delta: Delta = value
        if delta.is_thought:
            self._thoughts.append(delta)
        return delta

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Delta:
        while not self._is_closed and (delta := self._take()) is not None:
            if self._yields_thoughts or not delta.is_thought:
                return delta
        raise StopIteration

    @property
    def answer(self) -> Answer:
        """All of it, when it has ended: what was not taken from the iterator is skipped."""
        while self._take() is not None:
            pass
        assert self._answer is not None
        return self._answer

    def close(self) -> None:
        self._is_closed = True
        self._call.stop()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class Chat(Owner):
    """One conversation. One call at a time: a second one raises BusyError at once.

    cancel(), stats and fidelity may be used from any thread, at any time.
    """

    def __init__(
        self, session: Any, chats: weakref.WeakSet[Chat], resume: ResumeReport | None
    ) -> None:
        self._handle = Handle("session", session)
        self._chats = chats  # of the model
        self._chats.add(self)
        self.resume = resume  # None: it is new

    def send(
        self, message: str, *, sampling: Sampling = Sampling(), thoughts: bool = False
    ) -> Stream:
        """Sends a message; the answer streams. thoughts: what is thought before is told, too."""
        return self._stream("send", sampling, thoughts, message)

    def ask(self, message: str, *, sampling: Sampling = Sampling()) -> Answer:
        """Sends a message and waits for the answer."""
        return self.send(message, sampling=sampling).answer

    def answer(self, *, sampling: Sampling = Sampling(), thoughts: bool = False) -> Stream:
        """Answers the last message, which has no answer yet."""
        return self._stream("answer", sampling, thoughts)

    def ask_all(
        self, question: str, *, sampling: Sampling = Sampling(), thoughts: bool = False
    ) -> Stream:
        """About all of a chat longer than the context: each part is asked first."""
        return self._stream("ask_all", sampling, thoughts, question)

    def use_cpu(self, *, sampling: Sampling = Sampling(), thoughts: bool = False) -> Stream:
        """Where a call raised DeviceLostError: the model goes on with the CPU, this chat as it was
        saved. The last message is answered if it has no answer; else the stream is empty."""
        return self._stream("use_cpu", sampling, thoughts, reports=(None,))

    def _stream(
        self,
        name: str,
        sampling: Sampling,
        thoughts: bool,
        *texts: str,
        reports: tuple[Any, ...] = (),
    ) -> Stream:
        said = [part for text in texts for part in _api.sized(text)]
        how = _api.struct("sampling", **dataclasses.asdict(sampling))

        def body(call: Call) -> Answer:
            def delta(_: Any, told: Any) -> int:
                at = told.contents
                made = Delta(ctypes.string_at(at.text, at.size).decode("utf-8", "replace"))
                made.is_thought = bool(at.is_thought)
                return call.tell(made)

            result = _api.struct("result")
            heard = call.listener(
                progress=None, delta=_api.header.types["satchel_delta_fn"](delta)
            )
            with self._handle as session:
                text = _api.returned(name, session, *said, how, heard, *reports, result)
            return read(Answer, result, text=text, thoughts="")

        return Stream(Call(body, self._handle.cancel), thoughts)

    def _report(
        self, name: str, cls: type[T], struct: str, progress: Progress | None, *given: Any
    ) -> T:
        """A call that tells its progress and fills a report."""

        def body(call: Call) -> T:
            report = _api.struct(struct)
            with self._handle as session:
                _api.call(name, session, *given, call.listener(), report)
            return read(cls, report)

        made: T = Call(body, self._handle.cancel).result(hear(progress))
        return made

    def add_document(
        self, title: str, text: str, *, progress: Progress | None = None
    ) -> PrefillReport:
        """Adds a document and prefills it."""
        return self._prefilled("append_document", progress, _api.text(title), *_api.sized(text))

    def prefill(self, *, progress: Progress | None = None) -> PrefillReport:
        """Prefills what was added, so that the next answer begins at once."""
        return self._prefilled("prefill", progress)

    def _prefilled(self, name: str, progress: Progress | None, *given: Any) -> PrefillReport:
        return self._report(name, PrefillReport, "prefill_report", progress, *given)

    def append(self, messages: Iterable[tuple[Role, str]]) -> list[int]:
        """Messages of a conversation had elsewhere, the user's first. Nothing is prefilled yet."""
        given = list(messages)
        made = (_api.header.types["satchel_message"] * len(given))()
        kept = [_api.sized(text) for _, text in given]
        for message, (role, _), (text, size) in zip(made, given, kept):
            message.struct_size = ctypes.sizeof(message)
            message.role = _api.choice("", role)
            message.text, message.size = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p), size
        ids = (ctypes.c_int64 * len(given))()
        with self._handle as session:
            _api.call("append", session, made, len(given), ids)
        return list(ids)

    @property
    def messages(self) -> list[Message]:
        with self._handle as session:
            return [Message(**each) for each in json.loads(_api.returned("messages", session))]

    def snapshot(self) -> bytes:
        """The chat as it is now, messages and compressed cache, for Model.load_snapshot()."""
        with self._handle as session:
            return _api.returned_bytes("snapshot_save", session)

    def fork(self) -> Chat:
        """A second chat that goes on from here; memory is shared until they differ."""
        made = _api.pointer("session")
        with self._handle as session:
            _api.call("session_fork", session, ctypes.byref(made))
        return Chat(made, self._chats, self.resume)

    def truncate(self, last: int) -> None:
        """Makes `last` the last message; 0: the chat is empty."""
        self._change("truncate", last)

    def versions(self, message: int) -> list[int]:
        """What stood or stands in its place, oldest first, itself among them."""
        n = ctypes.c_size_t()
        with self._handle as session:
            _api.call("versions", session, message, None, 0, ctypes.byref(n))
            ids = (ctypes.c_int64 * n.value)()
            _api.call("versions", session, message, ids, n.value, ctypes.byref(n))
        return list(ids)

    def switch_to(self, version: int) -> None:
        """Goes on with it in the place of another, and prefills nothing again that was saved."""
        self._change("switch_to", version)

    def pin(self, message: int) -> None:
        """Never compressed from now on."""
        self._change("pin", message)

    def forget(self, message: int) -> None:
        """The model forgets it; the store keeps its words."""
        self._change("forget", message)

    def _change(self, name: str, message: int) -> None:
        with self._handle as session:
            _api.call(name, session, message)

    @property
    def stats(self) -> Stats:
        return self._look("cache_stats", Stats, "stats")

    @property
    def fidelity(self) -> Fidelity:
        return self._look("fidelity_stats", Fidelity, "fidelity")

    def _look(self, name: str, cls: type[T], struct: str, *given: Any) -> T:
        out = _api.struct(struct)
        with self._handle as session:
            _api.call(name, session, *given, out)
        return read(cls, out)

    def preview(
        self, limit_bytes: int = 0, recipe: str | None = None, keep: float = 0
    ) -> MemoryChange:
        """What another limit, recipe or share would do; 0 and None: as it is. Nothing changes."""
        request = _api.struct("memory_request", limit_bytes=limit_bytes, recipe=recipe, keep=keep)
        return self._look("memory_change_preview", MemoryChange, "memory_change", request)

    def set_limit(self, limit_bytes: int, *, progress: Progress | None = None) -> MemoryChange:
        """Of memory for all chats of the model. An error with code LIMIT says the least."""
        return self._set(progress, limit_bytes=limit_bytes)

    def set_recipe(
        self, recipe: str | None = None, *, keep: float = 0, progress: Progress | None = None
    ) -> MemoryChange:
        """keep: share of a prompt's tokens to keep; recipe None: the chat's own."""
        return self._set(progress, recipe=recipe, keep=keep)

    def _set(self, progress: Progress | None, **wanted: Any) -> MemoryChange:
        request = _api.struct("memory_request", **wanted)
        name = "memory_change_apply"
        return self._report(name, MemoryChange, "memory_change", progress, request)

    def idle(self, *, progress: Progress | None = None) -> None:
        """Does what may wait until then: compresses, measures, prefills what was left."""

        def body(call: Call) -> None:
            finished = ctypes.c_int32()
            with self._handle as session:
                while not finished:
                    _api.call("idle", session, call.listener(), ctypes.byref(finished))

        Call(body, self._handle.cancel).result(hear(progress))

    def cancel(self) -> None:
        """The call that runs ends soon."""
        self._handle.cancel()
