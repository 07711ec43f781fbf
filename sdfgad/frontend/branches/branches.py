"""Conditionals: one branch when the condition is known now, else an `If` whose names are merged afterwards."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sdfgad.frontend.arrays.views import origins_of
from sdfgad.frontend.branches.fields import SHARED, Fields, ListChanged, Rebound, Unlike, check_found
from sdfgad.frontend.elements.chosen_ranges import with_ranges
from sdfgad.frontend.elements.comparisons import facts_of
from sdfgad.frontend.elements.elementwise import describe, same_size, select
from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.merging.merge import (
    Kind,
    container_value,
    declare,
    fill_copy,
    in_container,
    join,
    kind_of,
    private,
    same,
)
from sdfgad.frontend.merging.none_or import NOWHERE, asked, blank_of, filled, untold
from sdfgad.frontend.merging.selections import merging
from sdfgad.frontend.merging.structures import form_of, is_tree, leaves_of, mutable_parts, rebuilt
from sdfgad.frontend.state.attempts import StatementNeeded
from sdfgad.frontend.state.chosen_texts import with_numbers
from sdfgad.frontend.state.context import BREAK, RESULT, RETURN, Context
from sdfgad.frontend.state.sharing import SharedPlaces
from sdfgad.frontend.state.values import (
    ArrayValue,
    IntValue,
    Lazy,
    ListValue,
    Maybe,
    NoneOr,
    Reading,
    Record,
    Unbound,
    Value,
    contained,
    is_number,
)
from sdfgad.frontend.static.settled import OF_NUMBERS, OF_THINGS, are_things, is_mixed, mixed, of_choice
from sdfgad.ir.expr import Expr, index_elems, loads
from sdfgad.ir.program import If, Stmt


def choose(ctx: Context, test: ArrayValue, chosen: Callable[[], Value], other: Callable[[], Value]) -> Value:
    """`chosen() if test else other()` for a condition known at run time only."""
    condition = test.at(())
    sources = test.reads
    ctx.builder.consume(test)
    values = _without_statements(ctx, condition, chosen, other)
    if values is not None:
        if same(*values):
            return values[0]
        if all(_pure(v) for v in values):
            weak = _joined(ctx, *values).weak
            picked = ctx.builder.lazy((), condition.dtype, lambda _: condition, sources, True)
            made = select(ctx, picked, values[0], values[1], weak)
            if isinstance(made, Lazy):
                made.origins = frozenset().union(*(origins_of(v) for v in values if isinstance(v, ArrayValue)))
            return made
    return _stored(ctx, condition, chosen, other)


def _inside(ctx: Context, value: Value) -> bool:
    """Whether a value reads inside of its arrays whatever the condition."""
    if not isinstance(value, ArrayValue):
        return True
    builder = ctx.builder
    domain, position = builder.domain(value.shape)
    e = value.at(position)
    read = [(builder.arrays[n.array].shape, n.index) for n in loads(e)]
    read += [(builder.arrays[n.array].shape, n.parts) for n in index_elems(e)]
    for shape, index in read:
        for n, i in zip(shape, index, strict=True):
            low, high = builder.scope.bounds(i, domain)
            if low is None or high is None or low < 0 or high >= n:
                return False
    return True


def _without_statements(ctx: Context, condition: Expr, *ways: Callable[[], Value]) -> list[Value] | None:
    """The values of both sides when no statement is needed to compute them.

    One is needed where a side reads what only its condition keeps inside of an array: derivatives are added to the
    places that were read.
    """
    builder = ctx.builder
    snapshot, before, here = builder.snapshot(), builder.quiet, ctx.here
    frames = len(ctx.frames)
    builder.quiet = True
    values = []
    try:
        for positive, way in zip((True, False), ways, strict=True):
            with builder.region(settle=False):
                builder.scope.facts.extend(facts_of(condition, positive))
                values.append(way())
        if any(_pure(v) and not _inside(ctx, v) for v in values):
            raise StatementNeeded
    except StatementNeeded:
        if before:
            raise
        del ctx.frames[frames:]
        ctx.here = here
        builder.rollback(snapshot)
        return None
    finally:
        builder.quiet = before
    return values


def _stored(ctx: Context, condition: Expr, chosen: Callable[[], Value], other: Callable[[], Value]) -> Value:
    builder, source = ctx.builder, ctx.builder.source
    builder.check_quiet()
    builder.flush()
    snapshot = builder.snapshot()
    values = []
    for positive, way in ((True, chosen), (False, other)):
        with builder.region():
            builder.scope.facts.extend(facts_of(condition, positive))
            values.append(kept(ctx, way()))
    forms = [form_of(with_ranges(ctx, with_numbers(v))) for v in values]
    trees = forms[0] == forms[1] is not None or blank_of(*values) is not None
    kind = None if trees else _joined(ctx, *values)
    builder.rollback(snapshot)
    if kind is None:
        return _chosen_tree(ctx, condition, chosen, other)
    array = declare(ctx, kind, "chosen")
    blocks, after = [], []
    before = builder.shared
    for positive, way in ((True, chosen), (False, other)):
        builder.shared = before
        with builder.region() as block:
            builder.scope.facts.extend(facts_of(condition, positive))
            fill_copy(ctx, array.name, kind, "", way(), ctx.frame.names)
        blocks.append(tuple(block))
        after.append(builder.shared)
    builder.shared = after[0].joined(after[1])
    builder.emit(If(condition, blocks[0], blocks[1], source))
    return container_value(ctx, array, kind)


def _chosen_tree(ctx: Context, condition: Expr, chosen: Callable[[], Value], other: Callable[[], Value]) -> Value:
    """The choice between two containers of one form, leaf by leaf."""
    name = f"%chosen {len(ctx.builder.regions)}"
    known = {id(part) for _, _, value in ctx.values(False) for part in contained(value)}
    named: list[ListValue | Record] = []

    def way(value: Callable[[], Value]) -> None:
        found = kept(ctx, value())
        named.extend(part for part in mutable_parts(found) if id(part) in known)
        ctx.frame.names[name] = in_container(ctx, found, "chosen")

    run_branches(ctx, condition, lambda: way(chosen), lambda: way(other), frozenset(ctx.frame.names))
    made = ctx.frame.names.pop(name)
    for part in (*named, *(mutable_parts(made) if named else ())):  # what one name changes, another would not see
        part.depth = SHARED
    return made


def _pure(value: Value) -> bool:
    return is_number(value) or isinstance(value, IntValue) or (
        isinstance(value, ArrayValue) and (not value.shape or isinstance(value, Lazy)))


def _joined(ctx: Context, first: Value, second: Value) -> Kind:
    a, b = kind_of(first), kind_of(second)
    if a is not None and b is not None and len(a.shape) == len(b.shape) and all(
            same_size(ctx, n, m) for n, m in zip(a.shape, b.shape, strict=True)):
        b = Kind(a.shape, b.dtype, b.weak)
    kind = join(ctx, a, b)
    if kind is None:
        ways, told = (first, second), f"a choice at run time between {describe(first)} and {describe(second)}"
        raise of_choice(ctx.refuse(told, OF_THINGS if are_things(ways) else OF_NUMBERS, "SG104"), ways)
    return kind


def run_if(ctx: Context, test: ArrayValue, then: Callable[[], None], orelse: Callable[[], None],
           live: frozenset[str]) -> None:
    """An `If` on a run-time condition; names in `live` that differ afterwards are merged."""
    condition = test.at(())
    ctx.builder.consume(test)
    ctx.builder.flush()
    run_branches(ctx, condition, then, orelse, live)


def run_branches(ctx: Context, condition: Expr, then: Callable[[], None], orelse: Callable[[], None],
                 live: frozenset[str]) -> None:
    """An `If` statement on an expression."""
    back = _way_back(ctx, live)
    key = ("trees", ctx.builder.source, ctx.here, len(ctx.frames))
    unlike: frozenset[str] = frozenset()
    while True:
        blanks = ctx.hints.get(("blanks", *key), {})
        fields = Fields(ctx, ctx.hints.get(key, frozenset()) - unlike, ctx.hints.get(("lists", *key)), blanks)
        try:
            return _run_branches(ctx, condition, then, orelse, live, fields, unlike)
        except Rebound as found:
            unlike |= fields.asked & {found.name}
            ctx.hints[key] = fields.asked | {found.name}
            ctx.hints["blanks", *key] = blanks | ({} if found.blank is None else {found.name: found.blank})
        except Unlike as found:
            unlike |= {found.name}
        except ListChanged as found:
            if found.changed.depth != fields.depth:
                raise
            check_found(ctx, fields)
            ctx.hints["lists", *key] = found
        back()


def _way_back(ctx: Context, live: frozenset[str]) -> Callable[[], None]:
    """The way back to this point, for branches that turn out to bind a name to another container or change a list."""
    names, here = dict(ctx.frame.names), ctx.here
    lists = any(isinstance(part, ListValue) for _, _, value in ctx.values(False) for part in contained(value))
    if not lists and not any(mutable_parts(names[n]) for n in live if n in names):
        return lambda: None
    snapshot = ctx.builder.snapshot()

    def back() -> None:
        ctx.builder.rollback(snapshot)
        ctx.frame.names, ctx.here = dict(names), here

    return back


def _run_branches(ctx: Context, condition: Expr, then: Callable[[], None], orelse: Callable[[], None],
                  live: frozenset[str], fields: Fields, unlike: frozenset[str]) -> None:
    frame, source = ctx.frame, ctx.builder.source
    outcomes = []
    with fields.inside():
        fields.name()
        before, shared = dict(frame.names), ctx.builder.shared
        for positive, way in ((True, then), (False, orelse)):
            frame.names, ctx.builder.shared = dict(before), shared
            fields.put_back()
            with ctx.builder.region() as block:
                ctx.builder.scope.facts.extend(facts_of(condition, positive))
                way()
            fields.name()
            outcomes.append(BranchOutcome(frame.names, block, ctx.builder.shared))
        ctx.builder.source = source
        frame.names = before
        if fields.reordered(outcomes[0].names, outcomes[1].names):
            raise ctx.refuse("a dictionary that has its items in another order on each way",
                             "give it all of them before the branch", "SG107")
        _merge(ctx, outcomes, live | fields.names, fields, unlike)
        fields.put_back()
    ctx.builder.shared = outcomes[0].shared.joined(outcomes[1].shared)
    ctx.builder.emit(If(condition, tuple(outcomes[0].block), tuple(outcomes[1].block), source))


@dataclass
class BranchOutcome:
    """One branch: names at its end, statements, what is known of copies."""

    names: dict[str, Value]
    block: list[Stmt]
    shared: SharedPlaces


def _merge(ctx: Context, outcomes: list[BranchOutcome], live: frozenset[str], fields: Fields,
           unlike: frozenset[str]) -> None:
    before = dict(ctx.frame.names)
    merged: dict[str, Value] = {}
    pending: list[tuple[str, Value, Value]] = []
    order = list(dict.fromkeys([*outcomes[0].names, *outcomes[1].names]))
    for name in order:
        first, second = (o.names.get(name, _ABSENT) for o in outcomes)
        if name == RESULT:
            first, second = (v.value if isinstance(v, Maybe) else v for v in (first, second))
        if first is second or (first is not _ABSENT and second is not _ABSENT and same(first, second)):
            merged[name] = first if not isinstance(first, NoneOr) else untold(first, before.get(name))
        elif first is _ABSENT or second is _ABSENT or isinstance(first, Maybe) or isinstance(second, Maybe):
            merged[name] = _half(first, second, outcomes)
            ways = tuple(_unbound(v, o.names) for v, o in zip((first, second), outcomes, strict=True))
            if name in live and name.isidentifier() and not merged[name].when and blank_of(*ways) is not None:
                pending.append((name, *ways))
        elif name.startswith("%") or name in live:
            if name not in unlike:
                _check_rebound(name, before.get(name), first, second, fields)
            if any(v is None or isinstance(v, NoneOr) for v in (first, second)) and any(
                    map(fields.emptied, (first, second))):
                merged[name] = Maybe(None)  # what its items are at this point, it does not show itself
            else:
                pending.append((name, asked(first), asked(second)))
        else:
            merged[name] = Maybe(None)
    for outcome in outcomes:
        for name, value in merged.items():
            if isinstance(value, Maybe) and not value.when and not any(name == n for n, _, _ in pending):
                outcome.names.pop(name, None)
    merge = merging(lambda name, a, b: _phi(ctx, name, a, b, outcomes, before))
    for name, first, second in pending:
        merged[name] = merge(name, first, second)
    ctx.frame.names = {n: merged[n] for n in order}  # dicts have their items in the order of the names


def _check_rebound(name: str, old: Value, first: Value, second: Value, fields: Fields) -> None:
    """Whether the leaves of what a name stands for have to be names."""
    if not (is_tree(old) and mutable_parts(first) and mutable_parts(second)):
        return
    if not isinstance(old, NoneOr):
        raise Rebound(name)
    made = [v for v in (first, second) if not isinstance(v, NoneOr) and not fields.emptied(v)]
    if made:
        raise Rebound(name, blank_of(made[0], None))


def _unbound(value: Value, names: Mapping[str, Value]) -> Value:
    """A name that is not bound on every way, as one of which a flag says whether it is, if one does."""
    if value is _ABSENT or not isinstance(value, Maybe):
        return NOWHERE if value is _ABSENT else value
    return Unbound(names[value.when], value.value) if value.when in names else value


def _half(first: Value, second: Value, outcomes: list[BranchOutcome]) -> Maybe:
    """A name bound on one side only; known to be bound where that side, and no other, has raised a flag."""
    if all(v is not _ABSENT for v in (first, second)) and (is_mixed(first) or is_mixed(second)):
        return mixed(first, second)
    pairs = ((first, outcomes[0], outcomes[1]), (second, outcomes[1], outcomes[0]))
    sides = [(v, own.names, other.names) for v, own, other in pairs if v is not _ABSENT]
    bound = [s for s in sides if not isinstance(s[0], Maybe)]
    if len(bound) != 1:
        promised = [v for v, _, _ in sides if v.when] if not bound else []
        return promised[0] if len(promised) == 1 and len(sides) == 1 else Maybe(None)
    value, own, other = bound[0]
    raised = [f for f in (BREAK, RETURN) if own.get(f, False) is True and other.get(f, False) is False]
    return Maybe(value, raised[0] if len(raised) == 1 and len(sides) == 1 else "")


_ABSENT = object()


def _phi(ctx: Context, name: str, first: Value, second: Value, outcomes: list[BranchOutcome],
         before: dict[str, Value]) -> Value:
    if isinstance(first, Reading) or isinstance(second, Reading):
        return Reading()
    if (blank := blank_of(first, second)) is not None:
        first, second = filled(blank, first), filled(blank, second)
    if form_of(first) != form_of(second):
        first, second = with_numbers(first), with_numbers(second)
    first, second = with_ranges(ctx, first), with_ranges(ctx, second)
    form = form_of(first)
    if form is not None and form == form_of(second):
        parts = [a if same(a, b) else _phi(ctx, f"{name}_{k}", a, b, outcomes, before) for k, ((_, a), (_, b)) in
                 enumerate(zip(leaves_of(first), leaves_of(second), strict=True))]
        whole = not any(isinstance(p, Maybe) for p in parts)
        depth = -1 if _known_elsewhere(ctx, name, (first, second), outcomes) else len(ctx.builder.regions)
        return rebuilt(form, iter(parts), depth) if whole else Maybe(None)
    if (kind_of(first) is None or kind_of(second) is None) and not name.startswith(RESULT):
        return mixed(first, second)
    try:
        kind = _joined(ctx, first, second)
    except NotImplementedError:
        if name.startswith(RESULT):
            raise
        return mixed(first, second)
    ctx.frame.names = before
    reused = _reusable(ctx, name, kind, outcomes, before)
    container = reused or declare(ctx, kind, name.strip("%")).name
    for value, outcome in zip((first, second), outcomes, strict=True):
        if reused and same(value, before[name]):
            continue
        ctx.builder.shared = outcome.shared
        with ctx.builder.region(settle=False) as extra:
            fill_copy(ctx, container, kind, name, value, outcome.names)
        outcome.block.extend(extra)
        outcome.shared = ctx.builder.shared
    return container_value(ctx, ctx.builder.arrays[container], kind)


def _known_elsewhere(ctx: Context, name: str, values: tuple[Value, Value], outcomes: list[BranchOutcome]) -> bool:
    """Whether anything but `name` refers to a list, dict or object in one of the values: none of them may change then.
    """
    own = {id(p) for v in values for p in mutable_parts(v)}
    others = [v for o in outcomes for n, v in o.names.items() if n != name]
    others += [v for frame, _, v in ctx.values(False) if frame is not ctx.frame]
    shared = [p for v in others for p in mutable_parts(v) if id(p) in own]
    for part in shared:
        part.depth = SHARED
    return bool(shared)


def _reusable(ctx: Context, name: str, kind: Kind, outcomes: list[BranchOutcome],
              before: dict[str, Value]) -> str | None:
    """The container the name had before, when nothing else refers to it."""
    if name not in before or kind_of(before[name]) != kind:
        return None
    container = private(ctx, ctx.frame, name, [o.names for o in outcomes])
    linked = any(container in known for o in outcomes for known in (o.shared.links, o.shared.stale, o.shared.twins))
    return None if linked else container


__all__ = ("choose", "run_if", "run_branches")
