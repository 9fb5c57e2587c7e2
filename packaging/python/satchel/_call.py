"""Handles that no call loses, and calls that do not block the thread that waits for them."""

from __future__ import annotations

import os
import queue
import threading
import weakref
from typing import Any, Callable, TypeVar

from . import _api

T = TypeVar("T")

_AGAIN_S = 0.05  # a call that has not begun yet does not hear of being cancelled
_HEARS_S = 0.5  # a signal that comes just before a thread begins to wait does not wake it

_running: set[Call] = set()
_left: queue.SimpleQueue[tuple[int, str, Any]] = queue.SimpleQueue()  # by the collector, to free


def _free(process: int, kind: str, pointer: Any) -> None:
    if os.getpid() == process:  # in a child the library's threads are gone: waiting never ends
        _api.function(f"{kind}_free")(pointer)


def _collected(*owned: Any) -> None:
    """The collector runs anywhere, also while a call runs, for whose end freeing would wait, and
    within a callback, where the library does not free. Then the call that ends frees."""
    _left.put(owned)
    if not _running:
        _free_left()


def _free_left() -> None:
    try:
        while True:
            _free(*_left.get_nowait())
    except queue.Empty:
        return


class Handle:
    """Owns a pointer of the library. `with handle as pointer` keeps it alive for a call."""

    def __init__(self, kind: str, pointer: Any) -> None:
        self._kind = kind
        self._pointer = pointer
        self._idle = threading.Condition()
        self._n_calls = 0
        self._is_closed = False
        self._finalizer = weakref.finalize(self, _collected, os.getpid(), kind, pointer)

    def __enter__(self) -> Any:
        with self._idle:
            if self._is_closed:
                raise ValueError("this chat or model is closed")
            self._n_calls += 1
        return self._pointer

    def __exit__(self, *_: object) -> None:
        with self._idle:
            self._n_calls -= 1
            self._idle.notify_all()

    def cancel(self) -> None:
        with self._idle:
            if not self._is_closed:
                self._cancel()

    def _cancel(self) -> None:
        if self._kind == "session":
            _api.function("cancel")(self._pointer)

    def close(self) -> None:
        """Cancels the call that runs, waits for its end and frees; a second time does nothing."""
        with self._idle:
            self._is_closed = True
            while self._n_calls > 0:
                self._cancel()
                self._idle.wait(_AGAIN_S)
        left = self._finalizer.detach()
        if left is not None:
            _free(*left[2])


class Owner:
    """A context manager that closes its handle. The collector does so, too."""

    _handle: Handle

    def close(self) -> None:
        self._handle.close()

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Call:
    """A call of the library on a thread of its own.

    The thread that waits stays in Python, so Ctrl-C reaches it at once. What the library tells by
    callbacks comes out of `take()`, in order, on the thread that asks.
    """

    def __init__(
        self, body: Callable[[Call], Any], cancel: Callable[[], None] = lambda: None
    ) -> None:
        self._told: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self._cancel = cancel
        self._is_stopped = False
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(body,), name="satchel")
        self._thread.start()

    def _run(self, body: Callable[[Call], Any]) -> None:
        _running.add(self)
        try:
            self._told.put(("returned", body(self)))
        except BaseException as error:
            self._told.put(("raised", error))
        _running.discard(self)
        self._has_ended.set()
        _free_left()

    def tell(self, event: Any) -> int:
        """From a callback: not 0 stops the call, as does the end of the program."""
        self._told.put(("told", event))
        return int(self._is_stopped or not threading.main_thread().is_alive())

    def listener(self, **others: Any) -> Any:
        """Tells progress; others: fields of satchel_listener."""
        progress = _api.header.types["satchel_progress_fn"](
            lambda _, phase, done, total: self.tell((phase, done, total))
        )
        return _api.struct("listener", **{"progress": progress, **others})

    def take(self) -> tuple[str, Any]:
        """("told", event), or at the end ("returned", result); raises what the body raised."""
        what, value = self._next()
        if what != "told":
            self._told.put((what, value))  # the end stays the end
        if what == "raised":
            raise value
        return what, value

    def _next(self) -> tuple[str, Any]:
        while True:
            try:
                return self._told.get(timeout=_HEARS_S)
            except queue.Empty:
                pass

    def stop(self) -> None:
        """Until it has ended."""
        self._is_stopped = True
        while not self._has_ended.is_set() and threading.current_thread() is not self._thread:
            self._cancel()
            self._has_ended.wait(_AGAIN_S)

    def result(self, hear: Callable[[Any], None]) -> Any:
        """Gives each event to `hear`. What that raises, Ctrl-C too, stops the call."""
        try:
            while True:
                what, value = self.take()
                if what == "returned":
                    return value
                hear(value)
        except BaseException:
            self.stop()
            raise
