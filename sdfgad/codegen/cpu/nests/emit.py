"""C++ loop nests for maps: order of the loops, values hoisted out of inner loops, sums kept in registers."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from sdfgad.analysis.elements.access import extent_bound
from sdfgad.codegen.cpp import Frame, Writer, access, ctype, index_text, local, surely_runs, symbol
from sdfgad.codegen.cpu.nests.apart import told_apart
from sdfgad.codegen.cpu.nests.half_vectors import half_width
from sdfgad.codegen.cpu.nests.injective import injective_variables
from sdfgad.codegen.cpu.nests.nest_order import accesses, order_loops, stride_penalty
from sdfgad.codegen.cpu.nests.places import places_of
from sdfgad.codegen.cpu.nests.streamed import Pieces, past_stores
from sdfgad.codegen.cpu.nests.term_loops import require_terms
from sdfgad.codegen.cpu.nests.tile_loops import emit_tile
from sdfgad.codegen.cpu.nests.tiles import plan_tile
from sdfgad.codegen.cpu.nests.turned import emit_turn, plan_turn
from sdfgad.codegen.expressions import Values, combine, count_uses, topological
from sdfgad.ir.expr import Call, Expr, Index, Load, Local, certain, operands
from sdfgad.ir.program import Let, Map, Range, Store
from sdfgad.ir.walk import expr_reads

_SIMD_REDUCIBLE: Mapping[str, tuple[str, str]] = MappingProxyType({
    "+": ("+", "fiu"), "*": ("*", "fiu"), "max": ("sg_max", "f"), "min": ("sg_min", "f")})
"""Accumulations that lanes of a vector may share: OpenMP's name and the dtype kinds it is for."""


@dataclass(frozen=True)
class LoopNest:
    """How a map becomes loops.

    hoisted[d]: values computed just before loop d. registers: depth before which the target of an accumulating store
    (by its position in the body) is loaded into a local; guard: the deepest loop that may have no iteration.
    """

    loops: tuple[Range, ...]
    hoisted: tuple[tuple[Expr, ...], ...]
    registers: Mapping[int, int]
    guard: int | None
    independent: bool


def plan_nest(frame: Frame, stmt: Map) -> LoopNest:
    """Decide the loops of a map and what is computed outside the inner ones."""
    loops = order_loops(frame, stmt)
    inner = frame.inside(loops)
    guard = max((d for d, r in enumerate(loops) if not surely_runs(r, inner.bounds)), default=None)
    levels = _levels(stmt, loops, guard)
    registers = {k: d for k, d in _register_depths(stmt, loops, guard).items() if d < len(loops)}
    # What the outer variables say is fixed while the innermost loop runs.
    row = replace(stmt, domain=loops[-1:])
    free = injective_variables(row, frame.inside(loops[:-1]), skip=frozenset(registers))
    return LoopNest(loops, _hoisted(stmt, levels, len(loops)), registers, guard, {r.var for r in row.domain} <= free)


def _depth(loops: tuple[Range, ...], symbols: frozenset[str] | set[str]) -> int:
    return max((d + 1 for d, r in enumerate(loops) if r.var in symbols), default=0)


def _levels(stmt: Map, loops: tuple[Range, ...], guard: int | None) -> dict[Expr, int]:
    """For each node the number of loops that have to be open before it can be computed."""
    written = {p.array for p in stmt.body if isinstance(p, Store)}
    levels: dict[Expr, int] = {}
    for part in stmt.body:
        for node in topological([part.expr], operands):
            if node in levels:
                continue
            indices = node.index if isinstance(node, Load) else (node.ix,) if isinstance(node, Index) else ()
            level = _depth(loops, {s for i in indices for s in i.symbols})
            if expr_reads(node) & written and isinstance(node, (Load, Index)):
                level = len(loops)
            elif guard is not None and isinstance(node, (Load, Index)) and any(i.const is None for i in indices):
                level = max(level, guard)  # outside the loop its index may be out of bounds
            levels[node] = max([level, *(levels[a] for a in operands(node))])
        if isinstance(part, Let):
            levels[_local_of(part)] = levels[part.expr]
    return levels


def _hoisted(stmt: Map, levels: dict[Expr, int], depth: int) -> tuple[tuple[Expr, ...], ...]:
    """Per depth: what a deeper node, a store or a let needs, operands first; a `Local` stands for its whole let."""
    needed: dict[Expr, None] = {}
    every = topological([p.expr for p in stmt.body], operands)
    deeper = {a for n in every for a in operands(n) if levels[n] > levels[a]}
    for part in stmt.body:
        deeper |= {part.expr} if isinstance(part, Store) else set()
        needed.update(dict.fromkeys(n for n in topological([part.expr], certain)
                                    if isinstance(n, (Load, Call)) and n in deeper))
        if isinstance(part, Let):
            needed[_local_of(part)] = None
    return tuple(tuple(n for n in needed if levels[n] == d) for d in range(depth))


def _local_of(part: Let) -> Local:
    return Local(part.name, part.expr.dtype)


def _register_depths(stmt: Map, loops: tuple[Range, ...], guard: int | None) -> dict[int, int]:
    """For accumulating stores whose target nothing else in the body touches: where the target's index is fixed."""
    out: dict[int, int] = {}
    for k, part in enumerate(stmt.body):
        if not isinstance(part, Store) or part.op is None:
            continue
        others = any(isinstance(p, Store) and p.array == part.array and not _elsewhere(p, part)
                     for j, p in enumerate(stmt.body) if j != k)
        read = any(part.array in expr_reads(p.expr) for p in stmt.body)
        elems = {e.array for i in part.index for e in i.elems} & {p.array for p in stmt.body if isinstance(p, Store)}
        if not (others or read or elems):
            out[k] = max(_depth(loops, {s for i in part.index for s in i.symbols}), guard or 0)
    return out


def _elsewhere(one: Store, other: Store) -> bool:
    """Whether two stores never meet as long as what is in their indices stays what it is."""
    return any((i - j).const for i, j in zip(one.index, other.index, strict=True))


def emit_map(writer: Writer, frame: Frame, stmt: Map) -> None:
    """Write a map as sequential C++ loops."""
    if any(r.trips == 0 for r in stmt.domain):
        return
    turn = plan_turn(frame, stmt)
    if turn is not None:
        emit_turn(writer, frame, turn)
        return
    tile = plan_tile(frame, stmt)
    frame, stmt = told_apart(frame, stmt)
    if tile is not None:
        emit_tile(writer, frame, stmt, tile)
        return
    nest = plan_nest(frame, stmt)
    inner = frame.inside(nest.loops)
    values = Values(writer, inner, count_uses(p.expr for p in stmt.body), vectors=True)
    places = places_of(inner, stmt, nest.loops, nest.guard)
    sums: dict[int, str] = {}
    past = past_stores(inner, stmt, nest.loops)
    pieces = Pieces.of(writer, inner, past, nest.loops[-1]) if past else None
    opened = []
    writer.open()
    for depth, r in enumerate(nest.loops):
        stop = _stop(writer, inner, r)
        opened.append(depth == nest.guard and (_needs_guard(nest, depth) or depth in places.levels.values()))
        if opened[-1]:
            writer.open(f"if ({index_text(inner, r.start)} {'<' if r.step > 0 else '>'} {stop})")
        values.frame = inner = places.bind(writer, inner, depth)
        _hoist(values, stmt, nest.hoisted[depth])
        for k in (k for k, d in nest.registers.items() if d == depth):
            require_terms(inner.bounds, nest.loops[depth:], nest.loops[depth:depth + 1] if opened[-1] else ())
            sums[k] = _open_sum(writer, inner, stmt.body[k])
        start = index_text(inner, r.start)
        if depth == len(nest.loops) - 1:
            start, stop = pieces.open(start, stop) if pieces else (start, stop)
            _pragma(writer, inner, stmt, nest, sums)
        _enter(writer, r, start, stop, once=depth < len(nest.loops) - 1 and _once(inner, r))
    values.frame = places.bind(writer, inner, len(nest.loops))
    _emit_body(values, stmt, sums | (pieces.targets if pieces else {}))
    for depth in reversed(range(len(nest.loops))):
        writer.close()
        if pieces and depth == len(nest.loops) - 1:
            pieces.close()
        for k in (k for k, d in nest.registers.items() if d == depth):
            writer.line(f"{_target(inner, stmt.body[k])} = {sums[k]};")
        if opened[depth]:
            writer.close()
    writer.close()


def _enter(writer: Writer, r: Range, start: str, stop: str, once: bool) -> None:
    """Open a loop; a plain block for the only iteration of one, as gcc may leave the sums of such a loop in memory."""
    var = symbol(r.var)
    if once:
        writer.open()
        writer.line(f"const int64_t {var} = {start};")
        return
    step = "++" if r.step == 1 else f" += {r.step}" if r.step > 0 else f" -= {-r.step}"
    writer.open(f"for (int64_t {var} = {start}; {var} {'<' if r.step > 0 else '>'} {stop}; {var}{step})")


def _once(frame: Frame, r: Range) -> bool:
    """Whether a range has exactly one iteration, whatever the variables around it are."""
    return abs(r.step) == 1 and (r.stop.simplify(frame.bounds) - r.start.simplify(frame.bounds)).const == r.step


def _hoist(values: Values, stmt: Map, nodes: tuple[Expr, ...]) -> None:
    lets = {p.name: p.expr for p in stmt.body if isinstance(p, Let)}
    for node in nodes:
        if isinstance(node, Local):
            _emit_let(values, Let(node.name, lets[node.name]))
        elif values.name(node) is None:
            values.bind(node)


def _emit_let(values: Values, part: Let) -> None:
    values.bind_shared([part.expr])
    text = values.text(part.expr)
    values.writer.line(f"const {ctype(part.expr.dtype)} {local(part.name)} = {text};")
    values.scopes[-1][_local_of(part)] = local(part.name)


def _stop(writer: Writer, frame: Frame, r: Range) -> str:
    """The end of a range as something cheap to compare with."""
    text = index_text(frame, r.stop)
    if r.stop.const is not None:
        return text
    name = writer.fresh("e")
    writer.line(f"const int64_t {name} = {text};")
    return name


def _needs_guard(nest: LoopNest, depth: int) -> bool:
    return bool(nest.hoisted[depth]) or depth in nest.registers.values()


def _open_sum(writer: Writer, frame: Frame, part: Let | Store) -> str:
    name = writer.fresh("sum")
    target = _target(frame, part)
    writer.line(f"auto {name} = {target};")
    return name


def _target(frame: Frame, part: Let | Store) -> str:
    if not isinstance(part, Store):
        raise TypeError(f"{part!r} stores nothing")
    return access(frame, part.array, part.index)


def vectorises(frame: Frame, stmt: Map) -> bool:
    """Whether the compiler is told that the iterations of the innermost loop do not depend on each other."""
    if not stmt.domain:
        return False
    frame, stmt = told_apart(frame, stmt)
    nest = plan_nest(frame, stmt)
    return _clauses(frame.inside(nest.loops), stmt, nest, dict.fromkeys(nest.registers, "")) is not None


def _pragma(writer: Writer, frame: Frame, stmt: Map, nest: LoopNest, sums: Mapping[int, str]) -> None:
    """Tell the compiler what it may not find out: no iteration touches what another one writes."""
    clauses = _clauses(frame, stmt, nest, sums)
    if clauses:
        half = half_width(frame, stmt, nest.loops[-1])
        writer.line(f"#pragma omp simd {f'simdlen({half}) ' if half else ''}{clauses}")
    elif clauses is not None:
        writer.line("#pragma GCC ivdep")


def _clauses(frame: Frame, stmt: Map, nest: LoopNest, sums: Mapping[int, str]) -> str | None:
    """The sums that the lanes of a vector share, as OpenMP has them; None where the loop is not vectorised."""
    if not nest.independent:
        return None
    stores = {k: p for k, p in enumerate(stmt.body) if isinstance(p, Store)}
    reduced = [(*_SIMD_REDUCIBLE[stores[k].op or ""], stores[k].array, name) for k, name in sums.items()]
    known = all(frame.arrays[array].dtype.kind in kinds for _, kinds, array, _ in reduced)
    last = nest.loops[-1]
    if reduced and not (known and _fills_lanes(frame, last) and unit_strides(frame, stmt, last.var)):
        return None
    return " ".join(f"reduction({op}:{name})" for op, _, _, name in reduced)


def _fills_lanes(frame: Frame, r: Range) -> bool:
    """Whether a loop may have as many terms as there are lanes; for fewer it takes longer to set them up."""
    most = extent_bound(r, frame.bounds)
    return most is None or most > 2


def unit_strides(frame: Frame, stmt: Map, var: str) -> bool:
    """Whether neighbouring values of a variable touch neighbouring elements, or the same ones."""
    return all(stride_penalty(frame.arrays[name], index, var) <= 1.0 for name, index, _ in accesses(stmt)
               if name not in frame.registers)


def _emit_body(values: Values, stmt: Map, sums: dict[int, str]) -> None:
    writer, frame = values.writer, values.frame
    for k, part in enumerate(stmt.body):
        if isinstance(part, Let):
            if values.name(_local_of(part)) is None:
                _emit_let(values, part)
            continue
        values.bind_shared([part.expr])
        text = values.text(part.expr)
        target = sums.get(k) or access(frame, part.array, part.index)
        kind = frame.arrays[part.array].dtype.kind
        writer.line(combine(part.op, target, text, kind) if part.op else f"{target} = {text};")
        if k not in sums:
            values.forget(part.array)
