"""The reference semantics of a program: plain Python over NumPy arrays, one element at a time. Slow and obvious."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.errors import damaged
from sdfgad.ir.atoms import Strayed
from sdfgad.ir.called import PYTHON, PythonCall
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, Local
from sdfgad.ir.index import FloorDiv, Ix, Mod
from sdfgad.ir.layout import Packing
from sdfgad.ir.primal import ACCUMULATE, PRIMALS
from sdfgad.ir.program import (
    Block,
    If,
    Let,
    Lib,
    Loop,
    Map,
    Pop,
    Program,
    Push,
    Raising,
    Range,
    Stmt,
    View,
    While,
    strayed,
)
from sdfgad.trees import contents, mapped


def run(program: Program, arguments: Mapping[str, np.ndarray], keep: dict[str, np.ndarray] | None = None,
        room: Mapping[str, np.ndarray] = MappingProxyType({}), machine: type[_Machine] | None = None) -> Any:
    """Execute `program` on the given argument arrays (changed in place) and return its value.

    Transients start as NaN (or a poison integer), so reading one before writing it shows; those in `room` lie there and
    hold what they hold. `keep` receives every array. machine: one that runs statements in another way.
    """
    memory = {} if keep is None else keep
    for array in program.arrays.values():
        if array.name in arguments:
            memory[array.name] = np.asarray(arguments[array.name]).view()
        elif array.name in program.constants:
            memory[array.name] = np.asarray(program.constants[array.name], dtype=array.dtype)
        elif array.name in room:
            memory[array.name] = room[array.name]
        else:
            memory[array.name] = np.full(array.shape, _poison(array.dtype), array.dtype)
    packings = {n: a.packing for n, a in program.arrays.items() if a.packing}
    with np.errstate(all="ignore"), looking(program):
        (machine or _Machine)(memory, packings, program.failures).block(program.body)
    return returned(program.returns, memory)


@contextmanager
def looking(program: Program) -> Iterator[None]:
    """OutOfBoundsError where an index that the run looks at leaves its array."""
    try:
        yield
    except Strayed as found:
        raise strayed(program.lookups, found.index, found.extent) from None


def returned(tree: Any, memory: Mapping[str, np.ndarray]) -> Any:
    """Fill a `Program.returns` tree with the values of its views."""
    if isinstance(tree, View):
        shape = tuple(n.evaluate({}) for n in tree.shape)
        out = np.empty(shape, tree.dtype)
        if shape and all(map(_of_arrays, tree.index)):
            every: Any = {f"_{k}": axis for k, axis in enumerate(np.ogrid[tuple(slice(n) for n in shape)])}
            index: Any = tuple(i.evaluate(every) for i in tree.index)
            out[...] = memory[tree.array][index]
            return out
        for position in np.ndindex(shape):
            here = {f"_{k}": p for k, p in enumerate(position)}
            out[position] = memory[tree.array][tuple(i.evaluate(here) for i in tree.index)]
        return out if shape else out[()]
    return tree if contents(tree) is None else mapped(lambda t: returned(t, memory), tree)


def execute(block: Block, memory: dict[str, np.ndarray]) -> None:
    """Run statements on arrays that lie in memory; KeyError where one of them is not there."""
    with np.errstate(all="ignore"):
        _Machine(memory).block(block)


def number(e: Expr, memory: dict[str, np.ndarray]) -> Any:
    """What an expression outside of all loops is."""
    with np.errstate(all="ignore"):
        return _Machine(memory).whole(e)


def put(view: View, values: np.ndarray, memory: dict[str, np.ndarray]) -> None:
    """Let the part of an array that a view shows hold these values."""
    _Machine(memory).write(view, values)


def _of_arrays(index: Ix) -> bool:
    """Whether an index can be computed for all positions at once."""
    return all(isinstance(a, str) or isinstance(a, (FloorDiv, Mod)) and all(map(_of_arrays, a.parts))
               for a in index.atoms)


def _poison(dtype: np.dtype) -> Any:
    return np.nan if dtype.kind in "fc" else dtype.type(77)


class _Machine:
    def __init__(self, memory: dict[str, np.ndarray], packings: Mapping[str, Packing] = MappingProxyType({}),
                 failures: Sequence[Raising] = ()) -> None:
        self.memory = memory
        self.failures = failures
        self.packings = packings
        self.symbols: dict[str, int] = {}
        self.locals: dict[str, Any] = {}
        self.done: dict[Expr, Any] = {}
        self.tapes: dict[str, list[np.ndarray]] = {}

    def block(self, block: Block) -> None:
        for stmt in block:
            _STATEMENTS[type(stmt)](self, stmt)

    def index(self, i: Ix) -> int:
        return i.evaluate(self.symbols, self.element)

    def element(self, array: str, at: tuple[int, ...]) -> Any:
        return self.memory[array][self.inside(array, at)]

    def inside(self, array: str, at: tuple[int, ...]) -> tuple[int, ...]:
        """The place `at`, if it is in an array and its storage."""
        shape, packing = self.memory[array].shape, self.packings.get(array)
        within = len(at) == len(shape)
        for p, n in zip(at, shape, strict=False):
            within = within and 0 <= p < n
        if not within:
            raise IndexError(f"{array}{list(at)} is outside shape {shape}")
        if packing is not None and not packing.holds(at):
            raise IndexError(f"{array}{list(at)} has no room in {packing}")
        return at

    def at(self, array: str, index: tuple[Ix, ...]) -> tuple[int, ...]:
        return self.inside(array, tuple([self.index(i) for i in index]))

    def whole(self, e: Expr) -> Any:
        """The value of an expression that a statement asks for: what stands in it in several places is computed once,
        as nothing is stored meanwhile."""
        self.done.clear()
        return self.value(e)

    def value(self, e: Expr) -> Any:
        return _VALUES[type(e)](self, e)

    def const(self, e: Const) -> Any:
        return e.dtype.type(e.value)

    def integer(self, e: Index) -> Any:
        return np.int64((self.index(e.ix) + 2 ** 63) % 2 ** 64 - 2 ** 63).astype(e.dtype)

    def load(self, e: Load) -> Any:
        return self.memory[e.array][self.at(e.array, e.index)]

    def local(self, e: Local) -> Any:
        return self.locals[e.name]

    def call(self, e: Call) -> Any:
        found = self.done.get(e)
        if found is None:
            found = self.done[e] = self.choice(e) if e.fn == "select" else self.applied(e)
        return found

    def choice(self, e: Call) -> Any:
        """The branch that is taken, and nothing of the other one."""
        return self.value(e.args[1] if self.value(e.args[0]) else e.args[2])

    def applied(self, e: Call) -> Any:
        args = [self.value(a) for a in e.args]
        result = args[0] if e.fn == "cast" else PRIMALS[e.fn](*args)
        return result if type(result) is e.dtype.type else np.asarray(result).astype(e.dtype)[()]

    def points(self, domain: tuple[Range, ...], body: Callable[[], None]) -> None:
        if not domain:
            body()
            return
        first, rest = domain[0], domain[1:]
        outer = self.symbols.get(first.var)
        for p in range(self.index(first.start), self.index(first.stop), first.step):
            self.symbols[first.var] = p
            self.points(rest, body)
        self.end_of(first.var, outer)

    def end_of(self, variable: str, outer: int | None) -> None:
        """Behind its loop a variable is what it was before, which is mostly nothing: nobody may ask for it."""
        if outer is None:
            self.symbols.pop(variable, None)
        else:
            self.symbols[variable] = outer

    def map(self, stmt: Map) -> None:
        def body() -> None:
            for part in stmt.body:
                value = self.whole(part.expr)
                if isinstance(part, Let):
                    self.locals[part.name] = value
                    continue
                at = self.at(part.array, part.index)
                target = self.memory[part.array]
                target[at] = value if part.op is None else ACCUMULATE[part.op](target[at], value)

        self.points(stmt.domain, body)

    def loop(self, stmt: Loop) -> None:
        r = stmt.range
        outer = self.symbols.get(r.var)
        for p in range(self.index(r.start), self.index(r.stop), r.step):
            if stmt.until is not None and self.memory[stmt.until][()]:
                break
            self.symbols[r.var] = p
            for name in stmt.private:
                self.memory[name][...] = _poison(self.memory[name].dtype)
            self.block(stmt.body)
        self.end_of(r.var, outer)

    def while_(self, stmt: While) -> None:
        while self.memory[stmt.flag][()]:
            self.block(stmt.body)

    def if_(self, stmt: If) -> None:
        self.block(stmt.then if self.whole(stmt.cond) else stmt.orelse)

    def read(self, view: View) -> np.ndarray:
        out = np.empty(tuple(self.index(n) for n in view.shape), view.dtype)
        for position in np.ndindex(out.shape):
            self.symbols.update({f"_{k}": p for k, p in enumerate(position)})
            out[position] = self.memory[view.array][self.at(view.array, view.index)]
        return out

    def write(self, view: View, value: np.ndarray, add: bool = False) -> None:
        for position in np.ndindex(value.shape):
            self.symbols.update({f"_{k}": p for k, p in enumerate(position)})
            at = self.at(view.array, view.index)
            # Nothing is added to a copy: that would change bits, those of -0.0 for one.
            self.memory[view.array][at] = value[position] + self.memory[view.array][at] if add else value[position]

    def lib(self, stmt: Lib) -> None:
        if stmt.op == "fail":
            raise self.failures[stmt.attrs["which"]].error()
        if stmt.op == PYTHON:
            self.python(stmt)
            return
        result = LIBRARY[stmt.op](*(self.read(v) for v in stmt.ins), **stmt.attrs)
        results = result if isinstance(result, tuple) else (result,)
        for view, value in zip(stmt.outs, results, strict=True):
            of_kind = np.real(value) if view.dtype.kind == "f" else value
            self.write(view, np.asarray(of_kind), bool(stmt.attrs.get("accumulate")))

    def python(self, stmt: Lib) -> None:
        outs = [np.empty(tuple(self.index(n) for n in v.shape), v.dtype) for v in stmt.outs[:-1]]
        call = self.failures[stmt.attrs["which"]]
        assert isinstance(call, PythonCall)
        call.on([self.read(v) for v in stmt.ins[1:-1]], outs)
        for view, value in zip(stmt.outs, outs, strict=False):
            self.write(view, value)

    def push(self, stmt: Push) -> None:
        entry = self.memory[stmt.tape]
        self.memory[stmt.tape] = np.full_like(entry, _poison(entry.dtype))
        self.tapes.setdefault(stmt.tape, []).append(self.memory[stmt.tape])

    def pop(self, stmt: Pop) -> None:
        self.memory[stmt.tape] = self.tapes[stmt.tape].pop()


_STATEMENTS: Mapping[type[Stmt], Callable[[_Machine, Any], None]] = MappingProxyType({
    Map: _Machine.map, Lib: _Machine.lib, Loop: _Machine.loop, While: _Machine.while_, If: _Machine.if_,
    Push: _Machine.push, Pop: _Machine.pop})
_VALUES: Mapping[type[Expr], Callable[[_Machine, Any], Any]] = MappingProxyType({
    Const: _Machine.const, Index: _Machine.integer, Load: _Machine.load, Local: _Machine.local, Call: _Machine.call})


def _matmul(a: np.ndarray, b: np.ndarray, *scale: np.ndarray, conj_a: bool = False, conj_b: bool = False,
            factor: complex = 1, accumulate: bool = False, touched: Expr | None = None) -> np.ndarray:
    product = (np.conj(a) if conj_a else a) @ (np.conj(b) if conj_b else b)
    return product * factor * scale[0] if scale else product * factor


def _lu(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nothing but `solve` and determinants look at factors: here a matrix stands for its own."""
    return a, np.arange(len(a), dtype=np.int32)


def _solve(factors: np.ndarray, pivots: np.ndarray, b: np.ndarray, adjoint: bool = False) -> np.ndarray:
    return np.linalg.solve(np.conj(factors).T if adjoint else factors, b)


def _det(factors: np.ndarray, pivots: np.ndarray) -> np.ndarray:
    return np.linalg.det(factors)[None]


def _logdet(factors: np.ndarray, pivots: np.ndarray) -> np.ndarray:
    return np.linalg.slogdet(factors)[1][None]


def _detsign(factors: np.ndarray, pivots: np.ndarray) -> np.ndarray:
    return np.linalg.slogdet(factors)[0][None]


def _trsolve(t: np.ndarray, b: np.ndarray, lower: bool, unit: bool = False) -> np.ndarray:
    triangle = np.tril(t) if lower else np.triu(t)
    if unit:
        np.fill_diagonal(triangle, 1)
    return np.linalg.solve(triangle, b)


def _cholesky(a: np.ndarray) -> np.ndarray:
    low = np.tril(a)
    return np.linalg.cholesky(low + np.conj(np.tril(a, -1)).T)


def _definite(a: np.ndarray) -> np.ndarray:
    try:
        _cholesky(a)
    except np.linalg.LinAlgError:
        return np.array([False])
    return np.array([True])


def _eigh(a: np.ndarray, vectors: bool = True) -> np.ndarray:
    values, found = np.linalg.eigh(a)
    return np.vstack([found, values[None]])


def _eig(a: np.ndarray, real: bool, vectors: bool = True) -> np.ndarray:
    values, found = np.linalg.eig(a.real if real else a)
    whole = np.linalg.matrix_rank(found) == len(found)
    return np.vstack([found, np.linalg.inv(found) if whole else np.full_like(a, np.nan), values[None]]).astype(a.dtype)


def _svd(a: np.ndarray, vectors: bool = True) -> np.ndarray:
    left, values, right = np.linalg.svd(a, full_matrices=False)
    return np.vstack([left, np.conj(right).T, values[None]])


def _qr(a: np.ndarray) -> np.ndarray:
    return np.vstack(np.linalg.qr(a))


def _cholesky_tangent(factor: np.ndarray, change: np.ndarray) -> np.ndarray:
    low = np.tril(change)
    inner = np.linalg.solve(factor, np.linalg.solve(factor, low + np.tril(low, -1).T).T)
    return factor @ (np.tril(inner) - np.diag(np.diag(inner)) / 2)


def _cholesky_adjoint(factor: np.ndarray, cotangent: np.ndarray) -> np.ndarray:
    """Back through the factorisation row by row: below and left of an element is all that its cotangent reaches."""
    x = np.tril(cotangent)
    for k in reversed(range(len(x))):
        x[k + 1:, k] /= factor[k, k]
        x[k, k] = (x[k, k] - factor[k + 1:, k] @ x[k + 1:, k]) / factor[k, k]
        x[k, :k] -= x[k:, k] @ factor[k:, :k]
        x[k + 1:, :k] -= np.outer(x[k + 1:, k], factor[k, :k])
        x[k, k] /= 2
    return x


def _fft(a: np.ndarray, inverse: bool, scaled: bool, accumulate: bool = False) -> np.ndarray:
    transform = np.fft.ifft if inverse else np.fft.fft
    return transform(a) if inverse is scaled else transform(a, norm="forward")


def _seal(state: np.ndarray) -> tuple[np.ndarray, np.uint64]:
    return state, np.frombuffer(blake2b(state.tobytes(), digest_size=8).digest(), np.uint64)[0]


def _unseal(saved: np.ndarray, seal: np.ndarray, what: str) -> np.ndarray:
    if _seal(saved)[1] != seal:
        raise damaged(what)
    return saved


LIBRARY: Mapping[str, Callable[..., Any]] = MappingProxyType({
    "matmul": _matmul, "lu": _lu, "solve": _solve, "inv": np.linalg.inv, "cholesky": _cholesky, "trsolve": _trsolve,
    "definite": _definite,
    "eigh": _eigh, "eig": _eig, "svd": _svd, "qr": _qr, "pinv": lambda a, rcond: np.linalg.pinv(a, rcond),
    "own": lambda value, *read, rule: value,
    "cholesky_tangent": _cholesky_tangent, "cholesky_adjoint": _cholesky_adjoint,
    "det": _det, "logdet": _logdet, "detsign": _detsign,
    "argsort": lambda a: np.argsort(a, kind="stable"), "fft": _fft, "seal": _seal, "unseal": _unseal})
