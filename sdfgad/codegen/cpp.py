"""C++ text of names, types, literals and integer indices.

Prefixes keep every generated name apart from C++ keywords, macros and each other: `v_` containers, `p_` pointers to
them, `r_` zero-dimensional containers held in a local, `s_` symbols, `l_` locals of a map body.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from sdfgad.analysis.elements.access import range_bounds
from sdfgad.analysis.elements.region import region_of
from sdfgad.ir.index import Atom, Bounds, Elem, FloorDiv, Ix, Max, Min, Mod, Subscript, ix
from sdfgad.ir.layout import axis
from sdfgad.ir.program import Array, Range

TAPES = "sg_tapes"
"""The tapes of the program, in generated code."""
PLACE = "sg::place("
"""What looks at an index that data decide."""
CTYPES: Mapping[str, str] = MappingProxyType({
    "float64": "double", "float32": "float", "complex128": "dace::complex128", "complex64": "dace::complex64",
    "int64": "int64_t", "int32": "int32_t", "int16": "int16_t", "int8": "int8_t",
    "uint64": "uint64_t", "uint32": "uint32_t", "uint16": "uint16_t", "uint8": "uint8_t", "bool": "bool"})


@dataclass(frozen=True)
class Frame:
    """What the text of an expression depends on: the containers, the intervals of the symbols in scope, which
    zero-dimensional containers live in a C++ local, the loops around, arrays that are written past the cache by copies
    that turn (`past.py`) and by nests (`streamed.py`), the locals that hold places which data decide (`places.py`),
    where in which thread's room private arrays lie that a stack does not hold, and whether an interrupt may end the
    call.
    """

    arrays: Mapping[str, Array]
    bounds: Mapping[str, Bounds] = field(default_factory=lambda: MappingProxyType({}))
    registers: frozenset[str] = frozenset()
    past: frozenset[str] = frozenset()
    streamed: frozenset[str] = frozenset()
    ranges: Mapping[str, Range] = field(default_factory=lambda: MappingProxyType({}))
    places: Mapping[Atom, str] = field(default_factory=lambda: MappingProxyType({}))
    rooms: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    heeds: bool = False

    def inside(self, ranges: Iterable[Range]) -> Frame:
        """The frame inside loops over `ranges`, outer ones first."""
        bounds, known = dict(self.bounds), dict(self.ranges)
        for r in ranges:
            # A range that counts from a variable of the same name knew another one.
            for v in [v for v, k in known.items() if r.var in (v, *k.start.symbols, *k.stop.symbols)]:
                del known[v]
            bounds[r.var] = range_bounds(r, bounds)
            if not (r.start.elems or r.stop.elems or r.var in r.start.symbols | r.stop.symbols):
                known[r.var] = r
        return replace(self, bounds=bounds, ranges=known)

    def around(self, index: Ix) -> list[Range]:
        """The loops that an index depends on, by their bounds too."""
        found: dict[str, Range] = {}
        left = set(index.symbols)
        while left:
            r = self.ranges.get(var := left.pop())
            if r is not None and var not in found:
                found[var] = r
                left |= r.start.symbols | r.stop.symbols
        return list(found.values())


def least_trips(r: Range, env: Mapping[str, Bounds]) -> int:
    """A lower bound of the number of iterations wherever `env` holds."""
    low, _ = (r.stop - r.start if r.step > 0 else r.start - r.stop).bounds(env)
    return 0 if low is None else max(0, -(-low // abs(r.step)))


def surely_runs(r: Range, env: Mapping[str, Bounds]) -> bool:
    """Whether the range has at least one iteration wherever `env` holds."""
    return least_trips(r, env) > 0


def identifier(name: str) -> str:
    """`name` as the tail of a C++ identifier."""
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"u{ord(c):x}_" for c in name)


def container(name: str) -> str:
    return "v_" + identifier(name)


def pointer(name: str) -> str:
    return "p_" + identifier(name)


def register(name: str) -> str:
    return "r_" + identifier(name)


def symbol(name: str) -> str:
    return "s_" + identifier(name)


def local(name: str) -> str:
    return "l_" + identifier(name)


def tape_number(tape: str) -> str:
    """The constant that numbers a growable tape."""
    return "tape_" + identifier(tape)


def ctype(dtype: np.dtype) -> str:
    """The C++ type of one element."""
    return CTYPES[dtype.name]


def literal(value: bool | int | float | complex, dtype: np.dtype) -> str:
    """A constant of the given type, exactly."""
    kind = dtype.kind
    if kind == "b":
        return "true" if value else "false"
    if kind in "iu":
        return _integer(int(value.real), dtype)
    part = np.dtype({"complex128": "float64", "complex64": "float32"}.get(dtype.name, dtype.name))
    if kind == "c":
        number = complex(value)
        return f"{ctype(dtype)}({_real(number.real, part)}, {_real(number.imag, part)})"
    return _real(float(value.real), part)


def _integer(value: int, dtype: np.dtype) -> str:
    if value == -(2**63):
        return "(-9223372036854775807L - 1)"
    text = f"{value}{'UL' if dtype.name == 'uint64' else 'L' if dtype.itemsize == 8 else ''}"
    if dtype.itemsize < 4 or dtype.kind == "u":
        return f"({ctype(dtype)})({text})"
    return f"({text})" if value < 0 else text


def _real(value: float, dtype: np.dtype) -> str:
    suffix = "f" if dtype.itemsize == 4 else ""
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"(-__builtin_inf{suffix}())" if value < 0 else f"__builtin_inf{suffix}()"
    if suffix:
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
        if math.isinf(value):
            return _real(value, dtype)
    text = repr(float(value))
    text += "" if "." in text or "e" in text else ".0"
    return f"({text}{suffix})" if value < 0 or text.startswith("-") else text + suffix


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Distance in elements between neighbours along each dimension, C order."""
    out: list[int] = []
    step = 1
    for n in reversed(shape):
        out.append(step)
        step *= n
    return tuple(reversed(out))


def flat(array: Array, index: tuple[Ix, ...]) -> Ix:
    """The offset of one element in its array."""
    return array.packing.place(index) if array.packing is not None else _row_major(array.shape, index)


@lru_cache(maxsize=1 << 13)
def _row_major(shape: tuple[int, ...], index: tuple[Ix, ...]) -> Ix:
    """Passes and plans ask for the same few places again and again."""
    total = ix(0)
    for i, step in zip(index, strides(shape), strict=True):
        total = total + i * step
    return total


def access(frame: Frame, name: str, index: tuple[Ix, ...]) -> str:
    """One element of a container, as an lvalue."""
    if name in frame.registers:
        return register(name)
    array = frame.arrays[name]
    return f"{pointer(array.name)}[{index_text(frame, flat(array, index))}]"


def access_anywhere(frame: Frame, name: str, index: tuple[Ix, ...]) -> str | None:
    """A load that is safe whatever the symbols are: forced inside the array unless their ranges show that it is.

    None when no safe form exists: an empty array, or an index read from a place that may not exist.
    """
    array = frame.arrays[name]
    if array.size == 0 or not all(inside(frame, frame.arrays[e.array], e.parts) for i in index for e in i.elems):
        return None
    if inside(frame, array, index):
        return access(frame, name, index)
    offset = index_text(frame, flat(array, index))
    return f"{pointer(array.name)}[sg::greatest(0L, sg::least({array.size - 1}L, {offset}))]"


def inside(frame: Frame, array: Array, index: tuple[Ix, ...]) -> bool:
    """Whether the loops around show that an index is within the shape, or the part that has room."""
    bounds = [(ix(0), ix(n)) for n in array.shape]
    if array.packing is not None:
        here = {axis(k): i for k, i in enumerate(index)}
        bounds = [(low.subs(here), high.subs(here)) for low, high in array.packing.bounds]
    gaps = (gap for i, (first, end) in zip(index, bounds, strict=True) for gap in (i - first, end - 1 - i))
    return all(_is_nonnegative(frame, gap) for gap in gaps)


def _is_nonnegative(frame: Frame, gap: Ix) -> bool:
    """By the intervals of its symbols, or by how they depend on each other."""
    low = gap.bounds(frame.bounds)[0]
    if low is not None and low >= 0:
        return True
    if gap.affine is None:
        return False
    region = region_of((), frame.around(gap))
    return region is not None and region.implies(gap.affine)


def index_text(frame: Frame, index: Ix) -> str:
    """An index expression, as a sum without outer parentheses."""
    index = index.simplify(frame.bounds)
    text = ""
    for atoms, factor in index.terms:
        parts = [_atom(frame, a) for a in atoms]
        if abs(factor) != 1 or not atoms:
            parts.insert(0, str(abs(factor)))
        text += (" - " if factor < 0 else " + ") + "*".join(parts)
    return (text[3:] if text.startswith(" + ") else "-" + text[3:]) if text else "0"


def _atom(frame: Frame, atom: Atom) -> str:
    if isinstance(atom, str):
        return symbol(atom)
    if atom in frame.places:
        return frame.places[atom]
    if isinstance(atom, Elem):
        return f"int64_t({access(frame, atom.array, atom.parts)})"
    a, b = (index_text(frame, p) for p in atom.parts)
    if isinstance(atom, (Min, Max)):
        return f"sg::{'least' if isinstance(atom, Min) else 'greatest'}({a}, {b})"
    low, divisor_low = atom.parts[0].bounds(frame.bounds)[0], atom.parts[1].bounds(frame.bounds)[0]
    plain = low is not None and low >= 0 and divisor_low is not None and divisor_low > 0
    divisor = atom.parts[1].const
    if isinstance(atom, FloorDiv) and divisor and divisor & (divisor - 1) == 0 and divisor > 0:
        return f"(int64_t({a}) >> {divisor.bit_length() - 1})"
    if isinstance(atom, FloorDiv):
        return f"(int64_t({a}) / ({b}))" if plain else f"sg::floordiv(int64_t({a}), int64_t({b}))"
    if not isinstance(atom, Mod):
        raise TypeError(f"unknown index atom {atom!r}")
    if isinstance(atom, Subscript):
        return f"{PLACE}int64_t({a}), int64_t({b}))"
    return f"(int64_t({a}) % ({b}))" if plain else f"sg::wrap(int64_t({a}), int64_t({b}))"


class Writer:
    """Lines of code with indentation, and names for temporaries."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 0
        self._count = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    def open(self, head: str = "") -> None:
        """Begin a block behind `head`."""
        self.line(f"{head} {{" if head else "{")
        self._depth += 1

    def close(self) -> None:
        self._depth -= 1
        self.line("}")

    def otherwise(self) -> None:
        """End a block and begin the one for the other case."""
        self._depth -= 1
        self.line("} else {")
        self._depth += 1

    def fresh(self, stem: str = "t") -> str:
        """A name not used before in this piece of code."""
        self._count += 1
        return f"{stem}{self._count}"

    @property
    def text(self) -> str:
        return "\n".join(self.lines)
