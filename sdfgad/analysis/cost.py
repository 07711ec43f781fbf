"""How long a block takes: the rough work of each statement, by what sets its pace, for the planner's estimates.

Operations are counted as the generated code does them: what an expression contains twice is computed once, and loads
and stores count. `checkpoint/roofline` turns work into seconds.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import prod
from operator import add, attrgetter
from types import MappingProxyType

from sdfgad.analysis.chances import chance
from sdfgad.analysis.sectors import atomic_sums, sector_bytes
from sdfgad.caches import CACHE_BYTES, NEAR_BYTES
from sdfgad.ir.expr import Call, Expr, Load, walk
from sdfgad.ir.messages import EXCHANGE, is_finish, is_message, received, sent
from sdfgad.ir.program import Array, Block, If, Lib, Loop, Map, Range, Stmt, Store, View, While
from sdfgad.ir.special import SPECIAL
from sdfgad.ir.walk import children, reads, writes
from sdfgad.thresholds import thresholds

UNKNOWN_TRIPS = 100
"""Iterations a loop of unknown length is taken to have; one that may end early, at most."""
FEW_POINTS = 8
"""A map over fewer points has nothing to do at once."""
WEIGHTS: Mapping[str, int] = MappingProxyType({
    **dict.fromkeys(("exp", "exp2", "log", "log2", "log10"), 30),
    **dict.fromkeys(("expm1", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan",
                     "arcsinh", "arccosh", "arctanh", "erf", "arctan2", "cbrt", "pow"), 60),
    **dict.fromkeys(SPECIAL, 150), "hypot": 20, "div": 10, "sqrt": 12, "floordiv": 12, "mod": 12, "select": 2})
"""Elementary operations of a function; of any other, one."""
HANDED_ON = 4
"""Operations that writing a value and reading it again count for."""
COPIES = frozenset(("seal", "unseal"))
"""Library operations that copy their first operand."""
MESSAGE_OPERATIONS = 4000
"""Operations in the time that a message is on its way, however short it is."""
_PRODUCTS_PER_OPERATION = 4
"""Multiplications a matrix product does in the time of one ordinary operation."""


@dataclass(frozen=True)
class Work:
    """Elementary operations: `shared` by all threads, `vector` on one thread, `scalar` one after the other.

    moved: bytes read from and written to memory; near: to the shared cache. statements: begun. forks: parallel
    regions. sectors: bytes that a graphics processor moves; atomics: sums into elements that data name.
    """

    shared: float = 0.0
    vector: float = 0.0
    scalar: float = 0.0
    moved: float = 0.0
    near: float = 0.0
    statements: float = 0.0
    forks: float = 0.0
    sectors: float = 0.0
    atomics: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(*map(add, _parts(self), _parts(other)))

    def times(self, count: float) -> Work:
        return Work(*(a * count for a in _parts(self)))

    @property
    def operations(self) -> float:
        return self.shared + self.vector + self.scalar

    def on_all_threads(self) -> Work:
        """The same inside one parallel region."""
        return replace(self, shared=self.shared + self.vector, vector=0.0, forks=1.0)


_parts = attrgetter(*(f.name for f in fields(Work)))

Clock = Callable[[Work], float]
"""Seconds of some work that is done at once."""


def operations_of(exprs: Iterable[Expr]) -> int:
    """Elementary operations of expressions, which share what they have in common."""
    return sum(WEIGHTS.get(n.fn, 1) for n in {n for e in exprs for n in walk(e)} if isinstance(n, Call))


def seconds_of(block: Block, arrays: Mapping[str, Array], clock: Clock, path: tuple[Range, ...] = ()) -> float:
    """The time of one run of a block inside the loops of `path`, statement by statement."""
    total = 0.0
    warm: set[str] = set()
    for stmt in block:
        if isinstance(stmt, Loop) and not _shared(stmt, arrays, path):
            trips = _trips((stmt.range,), path)
            total += seconds_of(stmt.body, arrays, clock, (*path, stmt.range)) * \
                (min(trips, UNKNOWN_TRIPS) if stmt.until else trips)
        elif isinstance(stmt, While):
            total += seconds_of(stmt.body, arrays, clock, path) * UNKNOWN_TRIPS
        elif isinstance(stmt, If):
            total += _of_one([seconds_of(b, arrays, clock, path) for b in children(stmt)], _chance(stmt, path))
        else:
            total += clock(_work_of((stmt,), arrays, path, frozenset(warm)))
        warm |= reads(stmt) | writes(stmt)
    return total


def _shared(loop: Loop, arrays: Mapping[str, Array], path: tuple[Range, ...]) -> bool:
    """Whether the threads share its iterations."""
    return loop.parallel and _work_of((loop,), arrays, path).operations >= thresholds().parallel_work


def _work_of(block: Block, arrays: Mapping[str, Array], path: tuple[Range, ...],
             warm: frozenset[str] = frozenset()) -> Work:
    """The work of a block that runs as one piece. warm: arrays that statements before it have touched."""
    total = Work()
    for stmt in block:
        if isinstance(stmt, Loop):
            inside = _work_of(stmt.body, arrays, (*path, stmt.range), warm).times(_trips((stmt.range,), path))
            total += inside.on_all_threads() if stmt.parallel else inside
        elif children(stmt):
            blocks = [_work_of(b, arrays, path, warm) for b in children(stmt)]
            often = _chance(stmt, path) if isinstance(stmt, If) else None
            total += max(blocks, key=lambda w: w.operations) if often is None else \
                blocks[0].times(often) + blocks[1].times(1 - often)
        else:
            total += _statement(stmt, arrays, path, warm)
    return total


def work_of(block: Block, arrays: Mapping[str, Array], path: tuple[Range, ...] = ()) -> Work:
    """The work of one run of a block inside the loops of `path`; a loop whose length data decide counts once."""
    return _work_of(block, arrays, path)


def _statement(stmt: Stmt, arrays: Mapping[str, Array], path: tuple[Range, ...], warm: frozenset[str]) -> Work:
    if isinstance(stmt, Map):
        return _map(stmt, arrays, _trips(stmt.domain, path), warm)
    if isinstance(stmt, Lib) and stmt.op in COPIES:
        count = _size(stmt.ins[0])
        size = {v.array: count * v.dtype.itemsize for v in (*stmt.ins, *stmt.outs)}
        return Work(vector=2 * count, statements=1, sectors=sum(size.values())) + _traffic(size, arrays, warm)
    if is_message(stmt):
        return Work() if is_finish(stmt) else _message(stmt)  # its start has been counted
    if isinstance(stmt, Lib):
        size = _operands(stmt)
        return Work(shared=_library(stmt), statements=1, sectors=sum(size.values())) + _traffic(size, arrays, warm)
    return Work()


def _message(stmt: Lib) -> Work:
    """A network moves about as many bytes in a second as a core."""
    count = len(sent(stmt)) if stmt.attrs["kind"] == EXCHANGE else 1
    moved = sum(_size(v) * v.dtype.itemsize for v in (*sent(stmt), *received(stmt)))
    return Work(vector=MESSAGE_OPERATIONS * count, moved=moved, statements=1)


def _operands(stmt: Lib) -> dict[str, float]:
    """Bytes of each array that a library call looks at or fills."""
    size: dict[str, float] = {}
    for view in (*stmt.ins, *stmt.outs):
        size[view.array] = size.get(view.array, 0.0) + _size(view) * view.dtype.itemsize
    return size


def _map(stmt: Map, arrays: Mapping[str, Array], points: float, warm: frozenset[str]) -> Work:
    nodes = {n for p in stmt.body for n in walk(p.expr)}
    loads = {n for n in nodes if isinstance(n, Load)}
    stores = [p for p in stmt.body if isinstance(p, Store)]
    done = points * (sum(WEIGHTS.get(n.fn, 1) * _width(n) for n in nodes if isinstance(n, Call))
                     + sum(_width(n) for n in loads) + sum(_width(p.expr) for p in stores))
    # What is written is read into the cache first.
    moved = (_traffic({n.array: points * n.dtype.itemsize for n in loads}, arrays, warm)
             + _traffic({p.array: points * p.expr.dtype.itemsize for p in stores}, arrays, warm).times(2)
             + Work(sectors=sector_bytes(stmt, arrays, points), atomics=atomic_sums(stmt, points)))
    if points < FEW_POINTS:
        return moved + Work(scalar=done, statements=1)
    if done < thresholds().parallel_work:
        return moved + Work(vector=done, statements=1)
    return moved + Work(shared=done, statements=1, forks=1)


def _traffic(size: Mapping[str, float], arrays: Mapping[str, Array], warm: frozenset[str]) -> Work:
    """Bytes touched of each array, by where they come from."""
    moved = near = 0.0
    for name, touched in size.items():
        whole = arrays[name].bytes
        bytes_ = min(touched, whole)
        if whole > CACHE_BYTES and not (name in warm and bytes_ <= CACHE_BYTES):
            moved += bytes_
        elif whole > NEAR_BYTES:
            near += bytes_
    return Work(moved=moved, near=near)


def _width(e: Expr) -> float:
    """Over that of a number of eight bytes: so many fewer fit in a vector."""
    return max(1, e.dtype.itemsize) / 8


_OF_DIAGONAL = frozenset(("det", "logdet", "detsign"))
"""Library operations that only look at the diagonal of factors."""


def _library(stmt: Lib) -> float:
    """Operations of a product, of a solution by factors; for anything else, of a factorisation of its largest operand.
    """
    if stmt.op == "matmul":
        a, b = stmt.ins[:2]
        return 2 * _size(a) * (_size(b) / max(1, b.shape[0].const or 1)) / _PRODUCTS_PER_OPERATION
    if stmt.op == "solve":
        return _size(stmt.ins[0]) * (_size(stmt.ins[-1]) / max(1, stmt.ins[0].shape[0].const or 1))
    largest = max(_size(v) for v in (*stmt.ins, *stmt.outs))
    return largest ** (0.5 if stmt.op in _OF_DIAGONAL else 1.5)


def _size(view: View) -> float:
    return prod(n.const or 1 for n in view.shape)


def _chance(stmt: If, path: tuple[Range, ...]) -> float | None:
    """How often the first block runs, if the loops around decide that."""
    middle: dict[str, int] = {}
    for r in path:
        _enter(r, middle)
    return chance(stmt.cond, path, middle)


def _of_one(seconds: Sequence[float], often: float | None) -> float:
    """The time of one of two blocks; of the slower one where nobody knows which runs."""
    return max(seconds) if often is None else often * seconds[0] + (1 - often) * seconds[1]


def _trips(domain: tuple[Range, ...], path: tuple[Range, ...]) -> float:
    """The number of points of a domain, in the middle of the loops around."""
    middle: dict[str, int] = {}
    for r in path:
        _enter(r, middle)
    points = 1.0
    for r in domain:
        points *= _enter(r, middle)
    return points


def _enter(r: Range, middle: dict[str, int]) -> int:
    """Iterations of a range where the variables around it are in their middle, and its own middle."""
    known = middle.keys() >= r.start.symbols | r.stop.symbols
    if (*r.start.elems, *r.stop.elems) or not known:
        middle[r.var] = UNKNOWN_TRIPS // 2
        return UNKNOWN_TRIPS
    trips = range(r.start.evaluate(middle), r.stop.evaluate(middle), r.step)
    middle[r.var] = trips[len(trips) // 2] if trips else trips.start
    return len(trips)

