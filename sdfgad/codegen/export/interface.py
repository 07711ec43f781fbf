"""What an exported library takes and gives: all that its header, its wrapper and its examples are written from."""
from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from types import MappingProxyType

import numpy as np

from sdfgad.caches import LINE
from sdfgad.frontend.state.accesses import IndexedAccess
from sdfgad.names import GRAD, fresh, is_reserved

ABI_VERSION = 1
"""Of what is common to all exported libraries: raised when a caller has to be changed."""


@dataclass(frozen=True)
class ElementType:
    """A dtype in other languages. c, cpp: the type of an element. fortran: its declaration. by_value: whether a single
    number is passed as it is: how complex ones are passed differs between languages."""

    c: str
    fortran: str
    cpp: str = ""
    by_value: bool = True

    @property
    def in_cpp(self) -> str:
        return self.cpp or self.c


def _integers(sign: str) -> dict[str, ElementType]:
    # Fortran knows no integers without a sign.
    return {f"{sign}int{n}": ElementType(f"{sign}int{n}_t", f"integer(c_int{n}_t)") for n in (8, 16, 32, 64)}


KINDS: Mapping[str, ElementType] = MappingProxyType({
    "float64": ElementType("double", "real(c_double)"),
    "float32": ElementType("float", "real(c_float)"),
    "complex128": ElementType("double _Complex", "complex(c_double_complex)", "std::complex<double>", by_value=False),
    "complex64": ElementType("float _Complex", "complex(c_float_complex)", "std::complex<float>", by_value=False),
    "bool": ElementType("uint8_t", "integer(c_int8_t)"),
    **_integers(""), **_integers("u"),
})
"""The dtypes that a library can take and give."""


@dataclass(frozen=True)
class Parameter:
    """One argument of the C function. path: what it is of the Python function. array: of the program, None where the
    program does without it. steers: its elements are indices."""

    name: str
    path: str
    shape: tuple[int, ...]
    dtype: np.dtype
    array: str | None
    steers: bool = False

    @property
    def kind(self) -> ElementType:
        return KINDS[self.dtype.name]

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def by_value(self) -> bool:
        return not self.shape and self.kind.by_value

    @property
    def width(self) -> int:
        """Bytes of what the address has to be a multiple of."""
        return self.dtype.itemsize // (2 if self.dtype.kind == "c" else 1)


@dataclass(frozen=True)
class Addend:
    """One number of those that make up the value: an element of an array of the program, taken as `kind`."""

    array: str
    offset: int
    dtype: np.dtype
    kind: np.dtype


@dataclass(frozen=True)
class Objective:
    """The number that was differentiated: the sum of the terms where it is `total`, else the only one of them, or a
    number that does not depend on the arguments."""

    dtype: np.dtype
    terms: tuple[Addend, ...] = ()
    total: bool = False
    number: float = 0.0


@dataclass(frozen=True)
class IndexCheck:
    """An access to look at before each call. arrays: the integer inputs that decide it: name in C, array of the
    program, type of an element, shape."""

    access: IndexedAccess
    arrays: tuple[tuple[str, str, str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Slot:
    """An array of the program in the order of its entry point. written: whether the program changes it."""

    name: str
    bytes: int
    dtype: np.dtype
    written: bool


@dataclass(frozen=True)
class Interface:
    """fixed: what of the call is part of the program, as text. failures: what the function raises, as text. tape_limit:
    bytes that growing tapes may take. grows: whether there are any. predicted: bytes of the plan. threads: the most of
    a call; exact: always so many. place: file and line of the function."""

    name: str
    function: str
    place: str
    inputs: tuple[Parameter, ...]
    gradients: tuple[Parameter, ...]
    value: Objective
    slots: tuple[Slot, ...]
    constants: Mapping[str, np.ndarray]
    checks: tuple[IndexCheck, ...]
    fixed: tuple[tuple[str, str], ...]
    failures: tuple[str, ...]
    room_bytes: int
    tape_limit: int | None
    grows: bool
    limit: int | None
    predicted: int
    threads: int
    exact: bool
    processor: str
    version: str

    @cached_property
    def held(self) -> Mapping[str, int]:
        """Where, in the memory of a handle, the arrays lie that the caller does not see: copies of inputs that the
        program changes, and results."""
        given = {p.array for p in self.inputs} - {s.name for s in self.slots if s.written}
        places, at = {}, 0
        for slot in self.slots:
            if slot.name not in given and slot.name not in self.constants and slot.name not in self.filled:
                places[slot.name] = at
                at += _room(slot.bytes)
        return MappingProxyType(places)

    @cached_property
    def held_bytes(self) -> int:
        return max((at + _room(self.slot(n).bytes) for n, at in self.held.items()), default=0)

    @cached_property
    def filled(self) -> Mapping[str, Parameter]:
        """The arrays that the program writes where the caller wants them: gradients that are no input as well."""
        inputs = {p.array for p in self.inputs}
        return MappingProxyType({p.array: p for p in reversed(self.gradients)
                                 if p.array is not None and p.array not in inputs})

    @cached_property
    def constant_bytes(self) -> int:
        return sum(a.nbytes for a in self.constants.values())

    @property
    def outside_bytes(self) -> int:
        """Bytes of the caller's arrays; the value is counted where the program leaves it."""
        return sum(p.bytes for p in (*self.inputs, *self.gradients) if not p.by_value)

    @property
    def workspace_bytes(self) -> int:
        """Bytes that a handle takes when it is made."""
        return self.room_bytes + self.held_bytes

    def slot(self, name: str) -> Slot:
        return next(s for s in self.slots if s.name == name)




def _room(size: int) -> int:
    """The bytes that an array takes in the memory of a handle. Small ones need no line of the cache of their own."""
    line = LINE if size >= LINE * LINE else ALIGNMENT
    return -(-size // line) * line


ALIGNMENT = 8
"""The least that numbers of any type ask for."""
_FOREIGN = frozenset(
    "handle value code threads linux unix i386 restrict inline implicit complex integer real logical character "
    "function subroutine mod min merge huge cmplx len module program result stdin stdout stderr errno fill argc "
    "argv k most free calloc printf fprintf size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t "
    "uint64_t places status".split())
"""Names that mean something else in C, in Fortran or in the examples."""
_TAKEN = frozenset("pthread timer thrd tss file mtx cnd sem svc clnt std sg dace omp main handle".split())
"""Names whose functions, `timer_create` for one, the C library has, and those of this package."""
LONGEST_NAME = 40


def is_library_name(name: str) -> bool:
    """Whether a library and its C functions can have this name."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) is not None
    return plain and len(name) <= LONGEST_NAME and not is_reserved(name) and name.lower() not in _TAKEN


def parameter_name(path: str, taken: Container[str] = frozenset()) -> str:
    """A name for `path` in C, C++ and Fortran, which knows no capitals: "p['W']" -> "p_W". taken: in small letters."""
    plain = "".join(c if c.isascii() else f"u{ord(c):x}" for c in path)
    base = re.sub(r"\W+", "_", plain, flags=re.ASCII).strip("_") or "argument"
    base = f"v_{base}" if is_reserved(base) or base.lower() in _FOREIGN or not base[0].isalpha() else base
    base = base[:LONGEST_NAME]
    return base + fresh(base.lower(), taken)[len(base):]


def parameter_names(inputs: Sequence[str], gradients: Sequence[str]) -> tuple[list[str], list[str]]:
    """A name for each input, and for the gradient of each of those in `gradients`, all different."""
    taken: set[str] = set()
    names = []
    for path in (*inputs, *(GRAD + path for path in gradients)):
        names.append(parameter_name(path, taken))
        taken.add(names[-1].lower())
    return names[:len(inputs)], names[len(inputs):]
