"""Zero-dimensional containers that need no memory: locals of the one piece of code that uses them."""
from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping

from sdfgad.codegen.cpu.order.pieces import ControlFlow, Group, Item, Kernel
from sdfgad.ir.program import Array, Block, If, Loop, Map, Stmt, Store, While
from sdfgad.ir.walk import all_reads, all_writes, range_elems, reads, writes


def lasting_scalars(items: tuple[Item, ...], passed: Container[str], arrays: Mapping[str, Array]) -> set[str]:
    """Scalars that outlive a piece of code: passed by the caller, used in several pieces, or carried round a loop."""
    users: Counter[str] = Counter()
    carried: set[str] = set()
    for used, body, looped in _pieces(items, False):
        users.update(used)
        if body is None:
            carried |= used
        elif looped:
            carried |= {n for n in used if not arrays[n].shape and exposed(body, n)[0]}
    return {n for n in users if not arrays[n].shape and arrays[n].role != "tape"
            and (n in passed or users[n] > 1 or n in carried)}


def _pieces(items: tuple[Item, ...], looped: bool) -> Iterator[tuple[set[str], Block | None, bool]]:
    """Names each piece uses, and its code where locals are possible."""
    for item in items:
        if isinstance(item, Group):
            yield all_reads(item.body) | all_writes(item.body), item.body, looped
        elif isinstance(item, Kernel):
            starts = {e.array for x in item.extents for e in range_elems(x.var)}
            counts = {x.trips for x in item.extents if isinstance(x.trips, str)}
            used = (all_reads(item.body) | all_writes(item.body)) - set(item.private)
            yield used | starts | counts, None, looped
        else:
            yield region_names(item), None, looped
            for part in item.parts:
                yield from _pieces(part, looped or not isinstance(item.stmt, If))


def region_names(item: ControlFlow) -> set[str]:
    """The scalars that decide where control goes."""
    names = {n for n in (item.start, item.stop, item.cond) if isinstance(n, str) and n}
    if isinstance(item.stmt, While):
        names.add(item.stmt.flag)
    elif isinstance(item.stmt, Loop) and item.stmt.until is not None:
        names.add(item.stmt.until)
    return names


def exposed(block: Block, name: str) -> tuple[bool, bool]:
    """Whether the block may read the scalar's value from before it, and whether it surely overwrites it."""
    for stmt in block:
        read, written = _exposed(stmt, name)
        if read or written:
            return read, written
    return False, False


def _exposed(stmt: Stmt, name: str) -> tuple[bool, bool]:
    if isinstance(stmt, If):
        then, orelse = exposed(stmt.then, name), exposed(stmt.orelse, name)
        return name in reads(stmt) or then[0] or orelse[0], then[1] and orelse[1]
    if isinstance(stmt, (Loop, While)):
        return name in reads(stmt) or exposed(stmt.body, name)[0], False
    if name in reads(stmt):
        return _map_reads_first(stmt, name) if isinstance(stmt, Map) and not stmt.domain else (True, False)
    return False, name in writes(stmt) and isinstance(stmt, Map) and not stmt.domain


def _map_reads_first(stmt: Map, name: str) -> tuple[bool, bool]:
    for part in stmt.body:
        single = Map((), (part,))
        if name in reads(single):
            return True, False
        if isinstance(part, Store) and part.array == name:
            return False, True
    return False, False
