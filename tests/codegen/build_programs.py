"""Short ways to write programs by hand, and the comparison of native code with the reference interpreter."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sdfgad.codegen.program import Executable, compile_program
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, call, const
from sdfgad.ir.index import Ix, Like, ix
from sdfgad.ir.program import Array, Let, Map, Program, Range, Store
from tests.support.oracle import sample
from tests.support.point_loops import run
from tests.support.vectors import run as whole

F8, F4, C16, C8 = (np.dtype(n) for n in ("f8", "f4", "c16", "c8"))
I8, I4, B1 = (np.dtype(n) for n in ("i8", "i4", "?"))


def at(*index: Like) -> tuple[Ix, ...]:
    return tuple(ix(i) for i in index)


def load(array: str, *index: Like, dtype: np.dtype = F8) -> Load:
    return Load(array, at(*index), dtype)


def num(value: complex, dtype: np.dtype = F8) -> Const:
    return const(value, dtype)


def index(value: Like, dtype: np.dtype = I8) -> Index:
    return Index(ix(value), dtype)


def add(first: Expr, *rest: Expr) -> Expr:
    for value in rest:
        first = call("add", first, value)
    return first


def mul(a: Expr, b: Expr) -> Call:
    return call("mul", a, b)


def compare(fn: str, a: Expr, b: Expr) -> Call:
    return call(fn, a, b, dtype=B1)


def span(var: str, *limits: Like, step: int = 1) -> Range:
    """`span("i", 5)` or `span("i", 1, "n")`."""
    start, stop = (0, limits[0]) if len(limits) == 1 else limits
    return Range(var, ix(start), ix(stop), step)


def store(array: str, where: Sequence[Like], value: Expr, op: str | None = None) -> Store:
    return Store(array, at(*where), value, op)


def mapped(domain: Iterable[Range], *body: Let | Store) -> Map:
    return Map(tuple(domain), tuple(body))


def program(body: Sequence[object], arguments: Mapping[str, tuple[tuple[int, ...], np.dtype]],
            transients: Mapping[str, tuple[tuple[int, ...], np.dtype]] | None = None,
            constants: Mapping[str, np.ndarray] | None = None,
            tapes: Mapping[str, tuple[tuple[int, ...], np.dtype]] | None = None) -> Program:
    """A program from its statements and its containers as name: (shape, dtype)."""
    arrays = {n: Array(n, s, d, "argument") for n, (s, d) in arguments.items()}
    arrays |= {n: Array(n, s, d) for n, (s, d) in (transients or {}).items()}
    arrays |= {n: Array(n, s, d, "tape") for n, (s, d) in (tapes or {}).items()}
    arrays |= {n: Array(n, c.shape, c.dtype) for n, c in (constants or {}).items()}
    return Program("sample", arrays, tuple(arguments), tuple(body), constants=constants or {})  # type: ignore[arg-type]


def agree(made: Program, values: Mapping[str, np.ndarray] | None = None, calls: int = 2,
          threads: Sequence[int] = (1, 2), tolerance: float = 1e-12) -> Executable:
    """Compile and check against the interpreter, repeatedly and at several thread counts."""
    executable = compile_program(made)
    for turn in range(calls):
        arguments = {n: (values or {}).get(n, sample(made.arrays[n], 7 * turn + k))
                     for k, n in enumerate(made.arguments)}
        found = {}
        for count in threads:
            executable.threads = count
            found[count] = {n: np.array(v, order="C") for n, v in arguments.items()}
            executable(found[count])
        # Whole maps at a time tell in no time what most programs should give; point by point is what decides.
        quick = whole(made, arguments)
        if all(close(made, name, actual[name], quick[name], tolerance)
               for actual in found.values() for name in made.arguments):
            continue
        expected = {n: np.array(v, order="C") for n, v in arguments.items()}
        run(made, expected)
        for count, actual in found.items():
            for name in made.arguments:
                assert close(made, name, actual[name], expected[name], tolerance), (
                    f"{name} at {count} threads, call {turn}:\n{actual[name]}\nand not\n{expected[name]}")
    return executable


def close(made: Program, name: str, actual: np.ndarray, expected: np.ndarray, tolerance: float) -> bool:
    """Equal to a tolerance that is of double precision."""
    dtype = made.arrays[name].dtype
    tolerance *= 1e8 if dtype.itemsize == 4 and dtype.kind == "f" else 1
    return np.allclose(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
