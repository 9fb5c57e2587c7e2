"""satchel.h through ctypes.

Constants, structs and functions are read from the header that lies beside this file, with the
library that it was built with: there is no second list of them.
"""

from __future__ import annotations

import ctypes
import json
import pathlib
import re
from typing import Any, NoReturn

FOLDER = pathlib.Path(__file__).resolve().parent

_PLAIN = {
    "char": ctypes.c_char,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}
_CONSTANT = re.compile(r"^#define SATCHEL_(\w+) \(?(-?\d+|UINT32_MAX)\)?\s*$", re.M)
_STRUCT = re.compile(r"typedef struct (\w+) { (.*) } \1")
_OPAQUE = re.compile(r"typedef struct (\w+) \1")
_POINTER_TO_FUNCTION = re.compile(r"(?:typedef )?(.+) \(\*(\w+)\)\((.*)\)")
_FUNCTION = re.compile(r"([^()]+?)(\w+)\((.*)\)")
_NAMED = re.compile(r"(.+?)(\w+)")


class Header:
    """What a header in the style of satchel.h declares; anything else in it is an error."""

    def __init__(self, text: str) -> None:
        self.constants: dict[str, int] = {}  # without their prefix
        self.types: dict[str, Any] = dict(_PLAIN)
        self.functions: dict[str, tuple[Any, list[Any]]] = {}
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        for name, value in _CONSTANT.findall(text):
            self.constants[name] = 0xFFFFFFFF if value == "UINT32_MAX" else int(value)
        text = re.sub(r"^#ifdef __cplusplus.*?^#(else|endif)", "", text, flags=re.S | re.M)
        text = re.sub(r"^#(.*\\\n)*.*$", "", text, flags=re.M)
        for declaration in re.findall(r"[^;{}]+(?:{[^}]*}[^;{}]*)?;", text):
            self._declare(" ".join(declaration[:-1].split()))

    def _declare(self, text: str) -> None:
        if found := _STRUCT.fullmatch(text):
            fields = {"_fields_": self._fields(found[2])}
            self.types[found[1]] = type(found[1], (ctypes.Structure,), fields)
        elif found := _OPAQUE.fullmatch(text):
            self.types[found[1]] = type(found[1], (ctypes.Structure,), {})
        elif found := _POINTER_TO_FUNCTION.fullmatch(text):
            self.types[found[2]] = self._callback(found[1], found[3])
        elif found := _FUNCTION.fullmatch(text):
            self.functions[found[2]] = (self._type(found[1]), self._parameters(found[3]))
        else:
            raise ValueError(f"satchel.h declares what is not understood here: {text}")

    def _fields(self, body: str) -> list[tuple[str, Any]]:
        fields: list[tuple[str, Any]] = []
        for statement in filter(None, (part.strip() for part in body.split(";"))):
            if found := _POINTER_TO_FUNCTION.fullmatch(statement):
                fields.append((found[2], self._callback(found[1], found[3])))
                continue
            first, *others = statement.split(",")
            made, name = self._named(first)
            fields += [(each.strip(), made) for each in (name, *others)]
        # Text with a length ends at no NUL, so ctypes must not look for one.
        if any(name == "size" for name, _ in fields):
            fields = [(n, ctypes.c_void_p if t is ctypes.c_char_p else t) for n, t in fields]
        return fields

    def _callback(self, returned: str, parameters: str) -> Any:
        return ctypes.CFUNCTYPE(self._type(returned), *self._parameters(parameters))

    def _parameters(self, text: str) -> list[Any]:
        return [] if text == "void" else [self._named(each)[0] for each in text.split(",")]

    def _named(self, text: str) -> tuple[Any, str]:
        found = _NAMED.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"satchel.h has a parameter without a name: {text}")
        return self._type(found[1]), found[2]

    def _type(self, text: str) -> Any:
        base = re.sub(r"\bconst\b|\*", "", text).strip()
        n_stars = text.count("*")
        if base == "void":
            return ctypes.c_void_p if n_stars else None
        if base == "char" and n_stars == 1:
            return ctypes.c_char_p
        made = self.types[base]
        for _ in range(n_stars):
            made = ctypes.POINTER(made)
        return made


header = Header((FOLDER / "satchel.h").read_text())
_library = ctypes.CDLL(str(FOLDER / f"libsatchel.so.{header.constants['ABI_VERSION']}"))
for _name, (_returned, _parameters) in header.functions.items():
    _function = getattr(_library, _name)
    _function.restype, _function.argtypes = _returned, _parameters
_library.satchel_buffer_data.restype = ctypes.c_void_p  # a NUL may stand within


class Error(Exception):
    """What the library could not do; str() says it to people.

    code    stable, for programs: "CHAT_NOT_FOUND"
    detail  the message's numbers, for programs: {"least_limit_bytes": 4100096}
    """

    def __init__(self, message: str, code: str, detail: dict[str, int]) -> None:
        super().__init__(message)
        self.code = code
        self.detail = detail


class InvalidError(Error):
    """The request makes no sense."""


class NotFoundError(Error):
    """There is no such file, chat, model or name."""


class CorruptError(Error):
    """Bytes from outside are damaged."""


class UnsupportedError(Error):
    """Well formed, but this library cannot do it."""


class MemoryLimitError(Error):
    """It does not fit the limit, the context or the machine."""


class DeviceLostError(Error):
    """The device failed, or was asked for and is missing."""


class StorageError(Error):
    """The disk is full or read-only, or the store is in use."""


class CancelledError(Error):
    """The call was cancelled."""


class InternalError(Error):
    """A bug of the library."""


class BusyError(Error):
    """Another call runs on this chat, or it is open already."""


CLASSES: dict[str, type[Error]] = {
    "INVALID": InvalidError,
    "NOT_FOUND": NotFoundError,
    "CORRUPT": CorruptError,
    "UNSUPPORTED": UnsupportedError,
    "OUT_OF_MEMORY": MemoryLimitError,
    "DEVICE_LOST": DeviceLostError,
    "STORAGE": StorageError,
    "CANCELLED": CancelledError,
    "INTERNAL": InternalError,
    "BUSY": BusyError,
}


def function(name: str) -> Any:
    return getattr(_library, "satchel_" + name)


def call(name: str, *arguments: Any) -> None:
    """Calls a function whose last parameter is `err`."""
    error = pointer("error")
    status = function(name)(*arguments, ctypes.byref(error))
    if status != 0:
        _raise(status, error)


def _raise(status: int, error: Any) -> NoReturn:
    message, code, detail = (
        function(f"error_{part}")(error).decode("utf-8", "replace")
        for part in ("message", "code", "detail")
    )
    function("error_free")(error)
    kind = next((c for n, c in CLASSES.items() if header.constants[n] == status), Error)
    raise kind(message, code, json.loads(detail))


def pointer(name: str) -> Any:
    """NULL, for a function to set."""
    return ctypes.POINTER(header.types["satchel_" + name])()


def struct(name: str, **values: Any) -> Any:
    """With its size; text and paths are converted, None leaves the default."""
    made = header.types["satchel_" + name]()
    made.struct_size = ctypes.sizeof(made)
    for field, value in values.items():
        if value is not None:
            is_text = isinstance(value, (str, pathlib.PurePath))
            setattr(made, field, text(value) if is_text else value)
    return made


def text(value: Any) -> bytes | None:
    """For a parameter that ends at its NUL."""
    if value is None:
        return None
    encoded = str(value).encode()
    if b"\0" in encoded:
        raise ValueError("names and paths cannot hold a NUL")
    return encoded


def sized(text: str) -> tuple[bytes, int]:
    """For parameters of a text and its length."""
    encoded = text.encode()
    return encoded, len(encoded)


def choice(prefix: str, value: str) -> int:
    """The constant that a word names."""
    number = header.constants.get(prefix + value.upper())
    if number is None:
        raise ValueError(f"{value!r} is none of satchel.h's SATCHEL_{prefix}…")
    return number


def returned_bytes(name: str, *arguments: Any) -> bytes:
    """Calls a function whose last output is a buffer, which is freed."""
    buffer = pointer("buffer")
    call(name, *arguments, ctypes.byref(buffer))
    try:
        size = function("buffer_size")(buffer)
        return ctypes.string_at(function("buffer_data")(buffer), size)
    finally:
        function("buffer_free")(buffer)


def returned(name: str, *arguments: Any) -> str:
    """The same, of text."""
    return returned_bytes(name, *arguments).decode("utf-8", "replace")
