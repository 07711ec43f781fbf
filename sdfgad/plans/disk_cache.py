"""Programs that took a while to find are kept beside the compiled ones.

The next process that asks for the same translates the function, which tells what the program depends on, and goes on
from there: no reversal, no plan, no compiler. What is read back is what was written, or nothing.
"""
from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from logging import getLogger
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from sdfgad.codegen.compiling.cache import entry, key_of, publish, withdraw
from sdfgad.codegen.compiling.toolchain import installation
from sdfgad.codegen.targets import chosen, is_own, this_machine
from sdfgad.config import settings, verifying
from sdfgad.errors import ToolchainError
from sdfgad.thresholds import thresholds
from sdfgad.transform.passes import left_out, looked_at

FILE = "found.pickle"
NOT_WRITTEN = (pickle.PicklingError, TypeError, AttributeError, RecursionError, ToolchainError)
NOT_READ = (OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, KeyError, TypeError,
            ValueError, RecursionError)
DIGEST = 32
"""Bytes in front of what is kept that tell whether it is whole."""
Value = TypeVar("Value")
Arrays: TypeAlias = Mapping[str, np.ndarray]
_log = getLogger("sdfgad")


@dataclass(frozen=True)
class Found(Generic[Value]):
    """What a search found. timed: whether it looked at how fast this machine is."""

    value: Value
    timed: bool = False


class Unknown(Exception):
    """Something of which only its own process knows what it is."""


def recalled(what: str, parts: Any, search: Callable[[], Found[Value]], outside: Arrays) -> Value:
    """What a search finds, or has found for equal parts in this or another process. what: names the search.

    All that decides the search has to be in the parts, but for settings, thresholds, this package and the machine.
    outside: arrays that stay the caller's own, whose elements may change from call to call; what is found refers to
    these very arrays.
    Who wants everything verified, or looks at passes, gets it searched for.
    """
    if verifying() or looked_at() or is_own():
        return search().value
    try:
        key = key_of("recalled", what, digest(parts), settings().solver_time_limit, repr(thresholds()),
                     chosen().name, sorted(left_out()), *installation())
    except (Unknown, RecursionError):
        return search().value
    known = _known(key, outside)
    if known is None:
        known = search()
        _keep(key, known, outside, what)
    return known.value


def _known(key: str, outside: Arrays) -> Found[Any] | None:
    found = _read(key, outside)
    if found is not None and found.timed:
        return _read(_timed(key), outside)
    return found


def _keep(key: str, found: Found[Any], outside: Arrays, what: str) -> None:
    try:
        if found.timed:
            _write(_timed(key), found, outside)
        _write(key, Found(None, True) if found.timed else found, outside)
    except NOT_WRITTEN as reason:
        _log.info("the %s is not kept for other processes: %s", what, reason)


def _timed(key: str) -> str:
    """Where the finding of a search lies that looked at the speed of the machine."""
    return key_of("timed", key, repr(this_machine()))


def _write(key: str, value: Found[Any], outside: Arrays) -> None:
    room = io.BytesIO()
    _PlanWriter(room, outside).dump(value)
    data = room.getvalue()

    def build(folder: Path) -> None:
        (folder / FILE).write_bytes(hashlib.sha256(data).digest() + data)
    publish(key, build)


def _read(key: str, outside: Arrays) -> Found[Any] | None:
    """What was written; None when that is nothing, or not as it was. What is damaged goes, so that it is made again."""
    folder = entry(key)
    if folder is None:
        return None
    try:
        data = (folder / FILE).read_bytes()
        if hashlib.sha256(data[DIGEST:]).digest() != data[:DIGEST]:
            withdraw(key)
            return None
        found: Found[Any] = _PlanReader(io.BytesIO(data[DIGEST:]), outside).load()
        return found
    except NOT_READ:
        return None


class _PlanWriter(pickle.Pickler):
    """This package's dataclasses by their fields: what they have found out about themselves since, hashes of texts for
    one, is good in one process only. Classes of the user's may do anything when they are made, so theirs are not."""

    def __init__(self, file: io.BytesIO, outside: Arrays) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._names = {id(array): name for name, array in outside.items()}

    def persistent_id(self, value: Any) -> str | None:
        return self._names.get(id(value)) if isinstance(value, np.ndarray) else None

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, MappingProxyType):
            return _frozen, (dict(value),)
        if is_dataclass(value) and _is_own(value):
            return type(value), tuple(getattr(value, field.name) for field in fields(value))
        return NotImplemented


class _PlanReader(pickle.Unpickler):
    """With the arrays from outside as they are now."""

    def __init__(self, file: io.BytesIO, outside: Arrays) -> None:
        super().__init__(file)
        self._outside = outside

    def persistent_load(self, name: Any) -> np.ndarray:
        return self._outside[name]


def _frozen(items: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType(items)


def _is_own(value: Any) -> bool:
    return type(value).__module__.startswith("sdfgad.")


def _name(form: type) -> str:
    return f"{form.__module__}.{form.__qualname__}"


def digest(value: Any) -> str:
    """A number for the structure of a value, the same in every process; `Unknown` for what has no structure.

    Merkle: A digital signature based on a conventional encryption function (CRYPTO 1987): the number of a whole is made
    of those of its parts, so that parts that are shared are looked at once.
    """
    return _Digests().of(value).hex()


class _Digests:
    """The numbers of what a value is made of, while it is there."""

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}

    def of(self, value: Any) -> bytes:
        known = self._known.get(id(value))
        if known is None:
            made = hashlib.blake2b(_name(type(value)).encode(), digest_size=16)
            for piece in self._pieces(value):
                made.update(len(piece).to_bytes(8, "little"))
                made.update(piece)
            known = made.digest()
            if is_dataclass(value):
                self._known[id(value)] = known
        return known

    def _pieces(self, value: Any) -> Iterator[bytes]:
        if isinstance(value, str):
            yield value.encode(errors="surrogateescape")  # names of files in another encoding
        elif value is None or isinstance(value, (bool, int, float, complex)):
            yield repr(value).encode()
        elif isinstance(value, type):
            yield _name(value).encode()
        elif is_dataclass(value):
            yield from (self.of(getattr(value, field.name)) for field in fields(value))
            if not _is_own(value):  # whatever else its author has put into it
                yield self.of(getattr(value, "__dict__", None))
        elif isinstance(value, (tuple, list)):
            yield from map(self.of, value)
        elif isinstance(value, Mapping):
            yield from (self.of(part) for pair in value.items() for part in pair)
        elif isinstance(value, (set, frozenset)):
            yield from sorted(map(self.of, value))
        elif isinstance(value, np.dtype):
            yield repr(value).encode()
        elif isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
            yield f"{value.dtype.str} {value.shape}".encode()
            yield value.tobytes()
        else:
            raise Unknown(type(value).__qualname__)
