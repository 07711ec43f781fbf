"""Traversals of programs: every statement, what it reads and writes, rebuilding."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import is_

from sdfgad.ir.expr import Expr, Load, index_elems, loads, map_indices, rewrite
from sdfgad.ir.index import Elem, Ix, ix
from sdfgad.ir.program import Block, If, Let, Lib, Loop, Map, Pop, Push, Range, Stmt, Store, View, While
from sdfgad.names import fresh

_REGIONS = (Loop, While, If)


def children(stmt: Stmt) -> tuple[Block, ...]:
    """The blocks inside a control region, in program order."""
    if isinstance(stmt, (Loop, While)):
        return (stmt.body,)
    return (stmt.then, stmt.orelse) if isinstance(stmt, If) else ()


def statements(block: Block) -> Iterator[Stmt]:
    """Every statement, regions before what they hold, in program order."""
    for stmt in block:
        yield stmt
        if isinstance(stmt, _REGIONS):
            yield from _held(stmt)


def _held(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements inside a control region."""
    known: tuple[Stmt, ...] | None = stmt.__dict__.get("_held")
    if known is None:
        known = tuple(s for inner in children(stmt) for s in statements(inner))
        object.__setattr__(stmt, "_held", known)
    return known


def with_loops(block: Block, around: tuple[Loop | While, ...] = ()) -> Iterator[tuple[Stmt, tuple[Loop | While, ...]]]:
    """Every statement with the loops around it, from outside in, in program order."""
    for stmt in block:
        yield stmt, around
        inside = (*around, stmt) if isinstance(stmt, (Loop, While)) else around
        for inner in children(stmt):
            yield from with_loops(inner, inside)


def ranges_of(loops: Iterable[Stmt]) -> tuple[Range, ...]:
    """What loops count through, while loops aside."""
    return tuple(s.range for s in loops if isinstance(s, Loop))


def rebuild(block: Block, change: Callable[[Stmt], Block]) -> Block:
    """Replace each statement by a block, inner ones first."""
    out: list[Stmt] = []
    for stmt in block:
        if isinstance(stmt, _REGIONS):
            stmt = with_children(stmt, [rebuild(b, change) for b in children(stmt)])
        out.extend(change(stmt))
    return tuple(out)


def replaced_by(block: Block, old: Stmt, made: Block) -> Block:
    """The block with other statements in place of one."""
    return rebuild(block, lambda s: made if s is old else (s,))


def rebuild_blocks(block: Block, change: Callable[[list[Stmt]], Block]) -> Block:
    """Replace the statements of each block together, inner blocks first."""
    return change([with_children(s, [rebuild_blocks(b, change) for b in children(s)]) if isinstance(s, _REGIONS) else s
                   for s in block])


def with_children(stmt: Stmt, blocks: list[Block]) -> Stmt:
    """The same region around other blocks. Around the very same statements it stays the object it is: what has been
    found out about it is kept there."""
    pairs = zip(blocks, children(stmt), strict=True)
    if not blocks or all(len(new) == len(old) and all(map(is_, new, old)) for new, old in pairs):
        return stmt
    if isinstance(stmt, (Loop, While)):
        return replace(stmt, body=blocks[0])
    return replace(stmt, then=blocks[0], orelse=blocks[1]) if isinstance(stmt, If) else stmt


def own_ranges(stmt: Stmt) -> tuple[Range, ...]:
    """The ranges a map or a loop runs over; none for other statements."""
    return stmt.domain if isinstance(stmt, Map) else (stmt.range,) if isinstance(stmt, Loop) else ()


def all_variables(block: Block) -> set[str]:
    """The variables of all loops and maps."""
    return {r.var for stmt in statements(block) for r in own_ranges(stmt)}


def range_elems(r: Range) -> tuple[Elem, ...]:
    """Array elements a range reads."""
    return (*r.start.elems, *r.stop.elems)


def view_elems(view: View) -> tuple[Elem, ...]:
    """Array elements a view's index or extents read."""
    return tuple(e for i in (*view.shape, *view.index) for e in i.elems)


def reads(stmt: Stmt) -> frozenset[str]:
    """Names of arrays the statement itself reads (not what it holds)."""
    known: frozenset[str] | None = stmt.__dict__.get("_reads")
    if known is None:
        known = frozenset(_reads(stmt))
        # Statements never change and passes ask again and again: the answer is kept with the object.
        object.__setattr__(stmt, "_reads", known)
    return known


def _reads(stmt: Stmt) -> set[str]:
    if isinstance(stmt, Map):
        names = {e.array for r in stmt.domain for e in range_elems(r)}
        for part in stmt.body:
            names |= expr_reads(part.expr)
            if isinstance(part, Store):
                names |= {e.array for i in part.index for e in i.elems}
                names |= {part.array} if part.op else set()
        return names
    if isinstance(stmt, Lib):
        accumulated = {v.array for v in stmt.outs} if stmt.attrs.get("accumulate") else set()
        indices = {e.array for v in (*stmt.ins, *stmt.outs) for e in view_elems(v)}
        return accumulated | indices | {v.array for v in stmt.ins}
    if isinstance(stmt, Loop):
        flags = {stmt.until} if stmt.until else set()
        return {e.array for e in range_elems(stmt.range)} | flags | ({stmt.behind.progress} if stmt.behind else set())
    if isinstance(stmt, While):
        return {stmt.flag}
    if isinstance(stmt, If):
        return expr_reads(stmt.cond)
    # What a name stands for changes: to anybody who moves statements, as if all of it were looked at and replaced.
    return {e.array for n in stmt.shape for e in n.elems} | {stmt.tape}


def writes(stmt: Stmt) -> frozenset[str]:
    """Names of arrays the statement itself writes."""
    known: frozenset[str] | None = stmt.__dict__.get("_writes")
    if known is None:
        known = _writes(stmt)
        object.__setattr__(stmt, "_writes", known)
    return known


def _writes(stmt: Stmt) -> frozenset[str]:
    if isinstance(stmt, Map):
        return frozenset(p.array for p in stmt.body if isinstance(p, Store))
    if isinstance(stmt, Lib):
        return frozenset(v.array for v in stmt.outs)
    if isinstance(stmt, Loop):
        return frozenset({stmt.behind.progress}) if stmt.behind else frozenset()
    return frozenset({stmt.tape}) if isinstance(stmt, (Push, Pop)) else frozenset()


def conflicts(first: Stmt, other: Stmt) -> frozenset[str]:
    """The arrays that one of two statements writes and the other one touches; without any they may change places."""
    (mine_read, mine), (others_read, others) = within(first), within(other)
    return (mine & others) | (mine & others_read) | (others & mine_read)


def in_terms_of(domain: tuple[Range, ...], stmt: Map) -> Map | None:
    """The statement in the variables of a domain with as many points in each direction; None where there are others."""
    if len(domain) != len(stmt.domain):
        return None
    names: dict[str, Ix] = {}
    for here, there in zip(domain, stmt.domain, strict=True):
        gap = (there.start.subs(names) - here.start).const
        if gap is None or (there.stop.subs(names) - here.stop).const != gap or there.step != here.step:
            return None
        names[there.var] = ix(here.var) + gap
    body = rename_symbols((replace(stmt, domain=()),), names)[0]
    return replace(body, domain=domain) if isinstance(body, Map) else None


def expr_reads(e: Expr) -> set[str]:
    """Names of arrays an expression reads, indices included."""
    return {n.array for n in loads(e)} | {n.array for n in index_elems(e)}


def all_reads(block: Block) -> set[str]:
    """Names of arrays read anywhere in a block."""
    return set().union(*(within(s)[0] for s in block))


def all_writes(block: Block) -> set[str]:
    """Names of arrays written anywhere in a block."""
    return set().union(*(within(s)[1] for s in block))


def within(stmt: Stmt) -> tuple[frozenset[str], frozenset[str]]:
    """What a statement and those inside it read, and what they write; kept with the statement."""
    known: tuple[frozenset[str], frozenset[str]] | None = stmt.__dict__.get("_within")
    if known is None:
        inner = children(stmt)
        known = (reads(stmt).union(*map(all_reads, inner)), writes(stmt).union(*map(all_writes, inner)))
        object.__setattr__(stmt, "_within", known)
    return known


def places_of(block: Sequence[Stmt]) -> dict[str, list[int]]:
    """Where the statements of a block stand that touch an array, or hold others that do, for each array."""
    found: dict[str, list[int]] = {}
    for k, stmt in enumerate(block):
        for name in frozenset.union(*within(stmt)):
            found.setdefault(name, []).append(k)
    return found


def assigned(name: str, value: Expr) -> Map:
    """What gives a scalar its value."""
    return Map((), (Store(name, (), value),))


def map_stmt_indices(stmt: Stmt, change: Callable[[Ix], Ix]) -> Stmt:
    """Apply `change` to every index expression of a statement, inner blocks included."""
    if isinstance(stmt, Map):
        body = tuple([Let(p.name, map_indices(p.expr, change)) if isinstance(p, Let) else
                      Store(p.array, tuple(map(change, p.index)), map_indices(p.expr, change), p.op)
                      for p in stmt.body])
        return replace(stmt, domain=tuple([change_range(r, change) for r in stmt.domain]), body=body)
    if isinstance(stmt, Lib):
        return replace(stmt, outs=tuple(change_view(v, change) for v in stmt.outs),
                       ins=tuple(change_view(v, change) for v in stmt.ins))
    inner = [tuple(map_stmt_indices(s, change) for s in b) for b in children(stmt)]
    if isinstance(stmt, Loop):
        behind = replace(stmt.behind, number=change(stmt.behind.number)) if stmt.behind else None
        return replace(stmt, range=change_range(stmt.range, change), body=inner[0], behind=behind)
    if isinstance(stmt, If):
        return replace(stmt, cond=map_indices(stmt.cond, change), then=inner[0], orelse=inner[1])
    if isinstance(stmt, (Push, Pop)):
        return replace(stmt, shape=tuple(change(n) for n in stmt.shape))
    return with_children(stmt, inner)


def rename_symbols(block: Block, names: Mapping[str, Ix | str | int]) -> Block:
    """Substitute symbols (loop variables of enclosing loops) throughout a block.

    Variables of the block that would capture a symbol of what is put in get other names (Church's alpha conversion).
    """
    return tuple(map_stmt_indices(s, lambda i: i.subs(names)) for s in _out_of_the_way(block, names))


def _out_of_the_way(block: Block, names: Mapping[str, Ix | str | int]) -> Block:
    """The block with other variables in place of those that what is put in for `names` speaks of."""
    brought = {s for name, i in names.items() for s in ix(i).symbols - {name}} - names.keys()
    bound = all_variables(block)
    if brought.isdisjoint(bound):
        return block
    taken = bound | brought | names.keys()
    others = {var: fresh(var, taken) for var in sorted(brought & bound)}
    return rebuild(block, lambda s: (_rebound(s, others),))


def with_other_loops(block: Block, taken: set[str]) -> Block:
    """The block whose loops have variables that are not `taken`, and are from now on."""
    for var in sorted({s.range.var for s in statements(block) if isinstance(s, Loop)}):
        other = fresh(var, taken)
        taken.add(other)
        if other != var:
            block = rebuild(block, lambda s, names={var: other}: (_rebound(s, names),))  # type: ignore[misc]
    return block


def _rebound(stmt: Stmt, others: Mapping[str, str]) -> Stmt:
    """A statement that binds variables under other names."""
    own = {r.var: others[r.var] for r in own_ranges(stmt) if r.var in others}
    if not own:
        return stmt
    stmt = map_stmt_indices(stmt, lambda i: i.subs(own))
    ranges = tuple(replace(r, var=own.get(r.var, r.var)) for r in own_ranges(stmt))
    return replace(stmt, domain=ranges) if isinstance(stmt, Map) else replace(stmt, range=ranges[0]) \
        if isinstance(stmt, Loop) else stmt


def change_view(view: View, change: Callable[[Ix], Ix]) -> View:
    """Apply `change` to a view's extents and index."""
    return replace(view, shape=tuple(change(n) for n in view.shape), index=tuple(change(i) for i in view.index))


def change_range(r: Range, change: Callable[[Ix], Ix]) -> Range:
    start, stop = change(r.start), change(r.stop)
    return r if start is r.start and stop is r.stop else replace(r, start=start, stop=stop)


def apart(block: Block) -> Block:
    """The block with a copy in place of each statement that stands somewhere else already: what is known of statements
    is looked up by their identity."""
    seen: set[int] = set()

    def own(stmt: Stmt) -> Stmt:
        copied = id(stmt) in seen
        seen.add(id(stmt))
        inner = [tuple(map(own, b)) for b in children(stmt)]
        same = all(a is b for old, made in zip(children(stmt), inner, strict=True)
                   for a, b in zip(old, made, strict=True))
        return with_children(stmt, inner) if inner and not same else replace(stmt) if copied else stmt

    return tuple(map(own, block))


def map_exprs(stmt: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """Apply `change` to what each map computes and to every condition, inner blocks included."""
    if isinstance(stmt, Map):
        body = tuple(p if (e := change(p.expr)) is p.expr else replace(p, expr=e) for p in stmt.body)
        return stmt if all(map(is_, body, stmt.body)) else replace(stmt, body=body)
    stmt = with_children(stmt, [tuple(map_exprs(s, change) for s in b) for b in children(stmt)])
    return replace(stmt, cond=change(stmt.cond)) if isinstance(stmt, If) else stmt


def map_accesses(stmt: Stmt, change: Callable[[str, tuple[Ix, ...]], tuple[Ix, ...]]) -> Stmt:
    """Apply `change` to the index of every access to an array, inner blocks and elements in indices included."""
    stmt = map_stmt_indices(stmt, lambda i: _elements(i, change))
    return _own_accesses(stmt, change)


def _elements(i: Ix, change: Callable[[str, tuple[Ix, ...]], tuple[Ix, ...]]) -> Ix:
    if not i.elems:
        return i
    return i.rebuild(lambda a: Ix((((Elem(a.array, change(a.array, a.parts)),), 1),)) if isinstance(a, Elem) else None)


def _own_accesses(stmt: Stmt, change: Callable[[str, tuple[Ix, ...]], tuple[Ix, ...]]) -> Stmt:
    def moved(e: Expr) -> Expr:
        return rewrite(e, lambda n: Load(n.array, change(n.array, n.index), n.dtype) if isinstance(n, Load) else None)

    def seen(v: View) -> View:
        return replace(v, index=change(v.array, v.index))

    if isinstance(stmt, Map):
        body = tuple(replace(p, expr=moved(p.expr)) if isinstance(p, Let) else
                     replace(p, index=change(p.array, p.index), expr=moved(p.expr)) for p in stmt.body)
        return replace(stmt, body=body)
    if isinstance(stmt, Lib):
        return replace(stmt, outs=tuple(map(seen, stmt.outs)), ins=tuple(map(seen, stmt.ins)))
    stmt = with_children(stmt, [tuple(_own_accesses(s, change) for s in b) for b in children(stmt)])
    return replace(stmt, cond=moved(stmt.cond)) if isinstance(stmt, If) else stmt


def in_indices(stmt: Map, name: str) -> bool:
    """Whether an index of a map, or an end of its ranges, is an element of the array."""
    atoms = [e for part in stmt.body for e in index_elems(part.expr)]
    atoms += [e for part in stmt.body if isinstance(part, Store) for i in part.index for e in i.elems]
    atoms += [e for r in stmt.domain for e in (*r.start.elems, *r.stop.elems)]
    return any(e.array == name for e in atoms)
