"""Records of how comparisons turned out, a few bits each: those of several rows in one number as wide as what is
compared. No vector changes its width, and less memory moves."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, index_elems, loads, map_indices, rewrite, walk
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Let, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import reads, rebuild, statements, writes
from sdfgad.names import variable
from sdfgad.thresholds import thresholds

_BYTE = np.dtype(np.uint8)
_WIDE: Mapping[int, np.dtype] = MappingProxyType({4: np.dtype(np.uint32), 8: np.dtype(np.uint64)})


def widen_decisions(program: Program, least: int | None = None) -> Program:
    """map i = 0:6, j: { code[t, i, j] = byte(a) + byte(b) * 2 ; ... } ... map i = 0:6, j: f(code[t, i, j] & 3 == 1)

    ->  map g = 0:2, j: code[t, g, j] = 0
        map g = 0:2, k = 0:3, j: { code[t, g, j] += (a ? 1 << 2*k : 0) + (b ? 2 << 2*k : 0) ; ... } ...
        map g = 0:2, k = 0:3, j: f(code[t, g, j] & 3 << 2*k == 1 << 2*k)

    where i stands for 3*g + k from there on. For records of at least so many bytes that one map makes and nobody but
    maps over the same rows looks at, bits under a mask at a time. Rows that are left over get maps of their own. keep:
    arrays somebody reads afterwards.
    """
    least = thresholds().word_bytes if least is None else least
    for array in [a for a in program.arrays.values() if _is_record(a, least) and a.name not in program.live_out]:
        plan = _plan(program, array)
        if plan is not None:
            program = _widened(program, plan)
    return program


@dataclass(frozen=True)
class _WordPlan:
    """Dimension `dim` of a record of `bits` bits counts its rows, of which `rows` share a number of type `dtype`."""

    array: Array
    dim: int
    bits: int
    rows: int
    dtype: np.dtype

    @property
    def extent(self) -> int:
        return self.array.shape[self.dim]

    @property
    def words(self) -> int:
        return -(-self.extent // self.rows)


def _is_record(array: Array, least: int) -> bool:
    return array.dtype == _BYTE and array.role == "transient" and array.packing is None and array.bytes >= least


def _plan(program: Program, array: Array) -> _WordPlan | None:
    """How to share numbers, when all that touches the record can do so."""
    users = [s for s in statements(program.body) if array.name in reads(s) | writes(s)]
    made = [s for s in users if array.name in writes(s)]
    writer = made[0] if len(made) == 1 else None
    if not isinstance(writer, Map) or array.name in reads(writer) or len(users) < 2:
        return None
    store = _only_store(writer, array.name)
    terms = None if store is None else _terms(store.expr)
    if store is None or not terms:
        return None
    bits = sum(weight for _, weight in terms).bit_length()
    dtype = _common_width(users)
    dim = next((d for d in range(len(array.shape) - 1) if all(_row(s, array, d) for s in users)), None)
    if dim is None or dtype is None or not all(s is writer or _looks_at_bits(s, array.name, bits) for s in users):
        return None
    rows = _rows(array.shape[dim], 8 * dtype.itemsize // bits)
    plan = _WordPlan(array, dim, bits, rows, dtype)
    return plan if rows >= thresholds().rows_per_word and plan.words * dtype.itemsize <= plan.extent else None


def _only_store(stmt: Map, name: str) -> Store | None:
    found = [p for p in stmt.body if isinstance(p, Store) and p.array == name]
    return found[0] if len(found) == 1 and found[0].op is None else None


def _terms(code: Expr) -> list[tuple[Expr, int]] | None:
    """Conditions, and what each of them that holds adds to a code; None if it is anything else."""
    if isinstance(code, Call) and code.fn == "add":
        parts = [_terms(a) for a in code.args]
        return None if None in parts else [t for p in parts if p is not None for t in p]
    weight: int | None = 1
    if isinstance(code, Call) and code.fn == "mul":
        weight = _literal(code.args[1])
        code = code.args[0]
    condition = code.args[0] if isinstance(code, Call) and code.fn == "cast" else None
    return [(condition, weight)] if condition is not None and condition.dtype.kind == "b" and weight else None


def _literal(e: Expr) -> int | None:
    return int(e.value.real) if isinstance(e, Const) else None


def _each_once(index: tuple[Ix, ...], stmt: Map) -> bool:
    """Whether every point of a map has an element of its own, with at most one variable along each dimension."""
    inner = {r.var for r in stmt.domain}
    found = [i.symbols & inner for i in index]
    return all(len(s) <= 1 for s in found) and sum(map(len, found)) == len(inner) == len(set().union(*found))


def _common_width(users: list[Stmt]) -> np.dtype | None:
    """The unsigned number as wide as all that the maps compute with besides the record."""
    parts = [p.expr for s in users if isinstance(s, Map) for p in s.body]
    sizes = {int(n.dtype.itemsize) for e in parts for n in walk(e) if n.dtype.kind != "b" and n.dtype != _BYTE}
    return _WIDE.get(sizes.pop()) if len(sizes) == 1 else None


def _row(stmt: Stmt, record: Array, dim: int) -> Range | None:
    """The range of a map that counts all rows along a dimension in every access to the record; no other one uses it."""
    if not isinstance(stmt, Map):
        return None
    name = record.name
    numbers = [e for p in stmt.body for e in index_elems(p.expr)]
    numbers += [e for p in stmt.body if isinstance(p, Store) for i in p.index for e in i.elems]
    if any(e.array == name for e in numbers):
        return None
    indices = [n.index for p in stmt.body for n in loads(p.expr) if n.array == name]
    indices += [p.index for p in stmt.body if isinstance(p, Store) and p.array == name]
    r = next((r for r in stmt.domain[:-1] if r.var in indices[0][dim].symbols), None) if indices else None
    if r is None or r.step != 1 or r.early or r.start.const is None or r.trips != record.shape[dim] or \
            not all(_each_once(i, stmt) for i in indices):
        return None
    ends = {s for o in stmt.domain for s in o.start.symbols | o.stop.symbols}
    alone = all(i[dim] == ix(r.var) - r.start and all(r.var not in k.symbols for d, k in enumerate(i) if d != dim)
                for i in indices)
    return r if alone and r.var not in ends else None


def _looks_at_bits(stmt: Stmt, name: str, bits: int) -> bool:
    """Whether a map compares bits of the record with numbers, and does nothing else with it."""
    def tested(e: Expr) -> Expr | None:
        return Const(True, e.dtype) if _test(e, name, bits) else None

    return isinstance(stmt, Map) and all(n.array != name for p in stmt.body for n in loads(rewrite(p.expr, tested)))


def _test(node: Expr, name: str, bits: int) -> tuple[Load, int, int] | None:
    """The record, the mask and the number of `record & mask == number`, or `!=`."""
    if not isinstance(node, Call) or node.fn not in ("eq", "ne"):
        return None
    masked, number = node.args[0], _literal(node.args[1])
    if not isinstance(masked, Call) or masked.fn != "bitand":
        return None
    record, mask = masked.args[0], _literal(masked.args[1])
    if not isinstance(record, Load) or record.array != name or mask is None or number is None:
        return None
    return (record, mask, number) if max(mask, number) < 2**bits else None


def _rows(extent: int, most: int) -> int:
    """How many rows share a number: what divides all of them if that is not much less than there is room for, and
    enough groups for several threads."""
    most = min(most, max(2 * thresholds().rows_per_word, extent // thresholds().word_groups))
    even = next((n for n in range(most, max(most // 2, thresholds().rows_per_word - 1), -1) if extent % n == 0), None)
    return even or -(-extent // -(-extent // most))


def _widened(program: Program, plan: _WordPlan) -> Program:
    name, shape = plan.array.name, list(plan.array.shape)
    shape[plan.dim] = plan.words
    wide = replace(plan.array, shape=tuple(shape), dtype=plan.dtype)
    body = rebuild(program.body, lambda s: tuple(_grouped(s, plan)) if name in reads(s) | writes(s) else (s,))
    return program.but(body=body, arrays={**program.arrays, name: wide})


def _grouped(stmt: Stmt, plan: _WordPlan) -> Iterator[Stmt]:
    """A map over whole groups of rows, and one over the rest."""
    row = _row(stmt, plan.array, plan.dim)
    if not isinstance(stmt, Map) or row is None:
        raise TypeError(f"{stmt!r} counts no rows")
    own = {r.var for r in stmt.domain}
    group, slot = variable("g", own), variable("s", own)
    whole = plan.extent // plan.rows
    if plan.array.name in writes(stmt):
        yield _cleared(stmt, plan, row, Range(group, ix(0), ix(plan.words)))
    full = (Range(group, ix(0), ix(whole)), Range(slot, ix(0), ix(plan.rows)))
    yield _of_groups(stmt, plan, row, full, ix(group))
    if left := plan.extent % plan.rows:
        yield _of_groups(stmt, plan, row, (Range(slot, ix(0), ix(left)),), ix(whole))


def _cleared(stmt: Map, plan: _WordPlan, row: Range, groups: Range) -> Map:
    """All numbers that a map records in, as zeros."""
    store = _only_store(stmt, plan.array.name)
    if store is None:
        raise TypeError(f"{stmt!r} records nothing")
    domain = tuple(groups if r is row else r for r in stmt.domain)
    at = (*store.index[:plan.dim], ix(groups.var), *store.index[plan.dim + 1:])
    return Map(domain, (Store(store.array, at, algebra.zero(plan.dtype)),), stmt.source)


def _of_groups(stmt: Map, plan: _WordPlan, row: Range, ranges: tuple[Range, ...], group: Ix) -> Map:
    """The part of a map that belongs to some groups; the last of `ranges` counts the rows of each."""
    shift = Index(ix(ranges[-1].var) * plan.bits, plan.dtype)
    number = {row.var: row.start + group * plan.rows + ix(ranges[-1].var)}
    domain = tuple(o for r in stmt.domain for o in (ranges if r is row else (r,)))
    body = (_part(p, plan, group, shift, number) for p in stmt.body)
    return Map(domain, tuple(body), stmt.source)


def _part(part: Let | Store, plan: _WordPlan, group: Ix, shift: Expr, number: Mapping[str, Ix]) -> Let | Store:
    def shifted(n: int) -> Expr:
        return Call("shl", (algebra.number(n, plan.dtype), shift), plan.dtype) if n else algebra.zero(plan.dtype)

    def there(index: tuple[Ix, ...]) -> tuple[Ix, ...]:
        return (*index[:plan.dim], group, *index[plan.dim + 1:])

    def change(node: Expr) -> Expr | None:
        test = _test(node, plan.array.name, plan.bits)
        if test is None or not isinstance(node, Call):
            return None
        word = Load(plan.array.name, there(test[0].index), plan.dtype)
        return Call(node.fn, (Call("bitand", (word, shifted(test[1])), plan.dtype), shifted(test[2])), node.dtype)

    def moved(e: Expr) -> Expr:
        return map_indices(rewrite(e, change), lambda i: i.subs(number))

    if isinstance(part, Let):
        return Let(part.name, moved(part.expr))
    index = tuple(i.subs(number) for i in part.index)
    if part.array != plan.array.name:
        return Store(part.array, index, moved(part.expr), part.op)
    value: Expr = algebra.zero(plan.dtype)
    for condition, weight in _terms(part.expr) or ():
        value = algebra.add(value, algebra.select(moved(condition), shifted(weight), algebra.zero(plan.dtype)))
    return Store(part.array, there(index), value, "+")
