"""Names carried from one iteration to the next: found by trying the body until nothing new turns up."""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sdfgad.frontend.branches.fields import Fields, ListChanged, Rebound, Unalike, Unlike, binding, check_found
from sdfgad.frontend.elements.elementwise import BOOL, INT, describe
from sdfgad.frontend.elements.failing import fail, raise_if
from sdfgad.frontend.merging.last_values import last_value
from sdfgad.frontend.merging.magnitudes import floating, found_growing, not_floating, note_growing
from sdfgad.frontend.merging.merge import Kind, container_value, declare, fill, fill_copy, join, kind_of, private, same
from sdfgad.frontend.merging.none_or import NOWHERE, blank_of, untold
from sdfgad.frontend.merging.structures import is_tree, mapped, taken_in
from sdfgad.frontend.state.attempts import AssumptionFailed
from sdfgad.frontend.state.chosen_texts import ChosenText
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.references import references
from sdfgad.frontend.state.sharing import SharedPlaces
from sdfgad.frontend.state.values import Masked, Maybe, NoneOr, Reading, Unbound, Value, ViewValue
from sdfgad.frontend.static.settled import changing
from sdfgad.frontend.syntax.liveness import assigned
from sdfgad.ir.expr import Load, call, const
from sdfgad.ir.index import Ix
from sdfgad.ir.program import Failure

_TRIALS = 24


@dataclass
class Carry:
    """What one loop carries: kinds by name, and what is known of copies at the head of its body."""

    kinds: dict[str, Kind]
    before: dict[str, Value]
    live: frozenset[str]
    trial: Trial
    fields: Fields
    around: SharedPlaces = field(default_factory=SharedPlaces)  # known at the end of the body, hence at its head too
    entry: SharedPlaces = field(default_factory=SharedPlaces)  # known before the first iteration
    arrays: frozenset[str] = frozenset()  # containers that exist before the body
    versions: Mapping[str, int] = field(default_factory=dict)  # how often they have been written by then
    opened: dict[str, tuple[str, Value]] = field(default_factory=dict)  # name -> container, value at the head
    missed: int = 0  # how many names had been missed before the body
    floating: frozenset[str] = frozenset()  # integers that are floats here


@dataclass(frozen=True)
class Trial:
    """How to try a body: arrays bound anew are assumed to come back to their names (`returning`), and names that
    exchange their arrays are served by copies (`exchange`). `lists`: items of lists may be carried. `blanks`: a name
    that is None before or behind the body, and not on the other side, may be None at any time."""

    returning: bool
    exchange: bool
    lists: bool = True
    blanks: bool = False


class ExchangedNames(Exception):
    """Names exchange their arrays from one iteration to the next."""


class CarryCorrected(Exception):
    """What was assumed of the carried names does not hold: the `Carry` has been corrected."""


def fixpoint(ctx: Context, stmt: ast.For | ast.While, live: frozenset[str], once: Callable[[Carry], None],
             trial: Trial) -> None:
    """Try the body until the assumptions about the carried names are those it leaves behind."""
    frame, key = ctx.frame, ("trees", stmt, len(ctx.frames))
    snapshot, names, here = ctx.builder.snapshot(), dict(frame.names), ctx.here
    while True:
        blanks = ctx.hints.get(("blanks", trial.blanks, *key), {})
        masks = ctx.hints.get(("masks", *key), {})
        fields = Fields(ctx, ctx.hints.get(key, frozenset()) | blanks.keys(), ctx.hints.get(("lists", *key)), blanks,
                        masks)
        try:
            with fields.inside():
                fields.name()
                _fixpoint(ctx, stmt, live | frame.liveness.captured | fields.names, once, trial, fields)
            return
        except Rebound as found:
            if found.name in fields.asked:
                raise changing(ctx.refuse(
                    f"{fields.written(found.name)!r}, which stands for other containers in every iteration",
                    "keep the same items in every iteration", "SG104")) from None
            if found.blank is not None:
                ctx.hints["blanks", trial.blanks, *key] = {**blanks, **found.beside, found.name: found.blank}
            else:
                ctx.hints[key] = fields.asked - blanks.keys() | {found.name}
        except Unalike as found:
            ctx.hints["masks", *key] = masks | {found.which: masks.get(found.which, 0) + 1}
        except ListChanged as found:
            if found.changed.depth != fields.depth:
                raise
            check_found(ctx, fields)
            if not trial.lists:
                raise ctx.refuse("a list changed inside a loop or branch", "use an array", "SG102") from None
            ctx.hints["lists", *key] = found
        except Unlike as found:
            with ctx.at(binding(stmt, found.name)):
                raise changing(ctx.refuse(
                    f"{fields.written(found.name)!r}, which changes its structure from one iteration to the next: "
                    f"{found.what}", "keep the same items in every iteration", "SG104")) from None
        ctx.builder.rollback(snapshot)
        frame.names, ctx.here = dict(names), here


def _fixpoint(ctx: Context, stmt: ast.For | ast.While, needed: frozenset[str], once: Callable[[Carry], None],
              trial: Trial, fields: Fields) -> None:
    frame = ctx.frame
    names = [n for n in assigned(stmt.body) if n in frame.names and n in needed]
    key = (stmt, len(ctx.frames))
    snapshot, before, here = ctx.builder.snapshot(), dict(frame.names), ctx.here
    hints = frozenset() if trial.returning else ctx.hints.get(key, frozenset())
    names += [n for n in fields.names if n in hints]
    kinds = _guess(ctx, stmt, names, hints, trial)
    floats = floating(ctx, stmt, kinds)
    carry = Carry(kinds | floats, before, needed, trial, fields, floating=frozenset(floats))
    for _ in range(_TRIALS):
        ctx.looping += 1
        try:
            once(carry)
        except CarryCorrected:
            ctx.builder.rollback(snapshot)
            frame.names, ctx.here = dict(before), here
            fields.clear()
            carry = Carry(carry.kinds, before, needed, trial, fields, carry.around, floating=carry.floating)
            continue
        finally:
            ctx.looping -= 1
        ctx.hints[key] = frozenset(carry.kinds)
        return
    raise ctx.refuse("a loop whose variables change their type in every iteration", code="SG104")


def _guess(ctx: Context, stmt: ast.For | ast.While, names: Sequence[str], hints: frozenset[str],
           trial: Trial) -> dict[str, Kind]:
    """Names surely bound anew in the body start as carried; those only updated in place do not."""
    plain = set(_plainly_bound(stmt.body))
    found = {}
    for name in names:
        value = ctx.frame.names[name]
        kind = kind_of(value)
        mutable = isinstance(value, ViewValue) and not value.scalar
        if kind is not None and (name in hints or not mutable or name in plain and not trial.returning):
            found[name] = kind
    return found


def _plainly_bound(body: Sequence[ast.stmt]) -> list[str]:
    augmented = {n.target for s in body for n in ast.walk(s) if isinstance(n, ast.AugAssign)}
    return [n.id for s in body for n in ast.walk(s)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n not in augmented]


def open_carry(ctx: Context, stmt: ast.For | ast.While, carry: Carry) -> None:
    """Give every carried name its container, holding the value before the loop."""
    frame, builder = ctx.frame, ctx.builder
    for name, kind in carry.kinds.items():
        value = frame.names[name]
        container = private(ctx, frame, name) if kind_of(value) == kind else None
        if container is None:
            if any(n.symbols for n in kind.shape):
                raise ctx.refuse(f"{name!r}, an array carried around a loop whose size depends on an outer loop",
                                 "allocate it before the outer loop", "SG103")
            container = declare(ctx, kind, name).name
            fill_copy(ctx, container, kind, name, value, frame.names)
        note_growing(ctx, stmt, name, carry.fields.written(name), value, container)
        carry.opened[name] = (container, container_value(ctx, builder.arrays[container], kind))
    restore(ctx, carry)
    carry.missed = len(ctx.missed)
    carry.entry, carry.arrays, carry.versions = builder.shared, frozenset(builder.arrays), dict(builder.versions)
    builder.shared = builder.shared.joined(carry.around)


def restore(ctx: Context, carry: Carry) -> None:
    """Carried names mean their containers."""
    for name, (_, head) in carry.opened.items():
        ctx.frame.names[name] = head
    carry.fields.put_back()


def close_carry(ctx: Context, stmt: ast.For | ast.While, carry: Carry) -> dict[str, Value]:
    """At the end of the body: check the kinds, store new values in the containers; the names as they are then."""
    _check_selected(ctx, carry)
    loose = len(carry.fields.loose)
    carry.fields.name()
    if len(carry.fields.loose) > loose:
        raise CarryCorrected
    if (added := carry.fields.added(carry.before)):  # the next iteration finds them, the first one does not
        carry.before.update(dict.fromkeys(added, Maybe(None)))
        raise CarryCorrected
    names = {n: untold(v, carry.before.get(n)) if isinstance(v, NoneOr) else v for n, v in ctx.frame.names.items()}
    _check(ctx, stmt, carry, names)
    moved = {n: names[n] for n, (_, head) in carry.opened.items() if not same(names[n], head)}
    unknown = [n for n, v in moved.items() if found_growing(ctx, stmt, n, carry.fields.written(n), v)]
    if unknown:
        raise CarryCorrected
    targets = {carry.opened[n][0] for n in moved}
    if not carry.trial.exchange and any(_exchanges(v, targets, carry.opened[n][0]) for n, v in moved.items()):
        raise ExchangedNames
    liveness = ctx.frame.liveness
    later = carry.live | liveness.at_loop[stmt] | liveness.after[stmt]
    needed = {n: v for n, v in names.items() if n in later or n.startswith("%")}
    for name, value in moved.items():
        if references(value) & (targets - {carry.opened[name][0]}):
            moved[name] = _copy(ctx, name, value, needed)
    for name in [n for n in needed if n not in carry.opened and references(names[n]) & targets]:
        names[name] = _copy(ctx, name, names[name], needed)
    for name, value in moved.items():
        fill_copy(ctx, carry.opened[name][0], carry.kinds[name], name, value, needed)
    known = ctx.builder.shared.only(carry.arrays)
    if not known.within(carry.entry.joined(carry.around)):
        carry.around = carry.around.joined(known)
        raise CarryCorrected
    return names


def _check_selected(ctx: Context, carry: Carry) -> None:
    """What a mask selects from is not written earlier in the body, hence in the next iteration."""
    for name, version in ctx.builder.selected.items():
        if name in carry.arrays and version > carry.versions.get(name, 0):
            raise AssumptionFailed(name)


def _exchanges(value: Value, targets: set[str], own: str) -> bool:
    return isinstance(value, ViewValue) and bool(value.shape) and value.view.array in targets - {own}


def _copy(ctx: Context, name: str, value: Value, names: dict[str, Value]) -> Value:
    if isinstance(value, Maybe):
        return replace(value, value=_copy(ctx, name, value.value, names))
    if is_tree(value):
        return mapped(value, lambda v: _copy(ctx, name, v, names) if references(v) else v, -1)
    kind = kind_of(value)
    if kind is None:
        raise ctx.refuse(f"{name!r}, which holds values that change with the loop", "copy the arrays it is made of",
                         "SG107")
    array = declare(ctx, kind, name.strip("%"))
    if isinstance(value, ViewValue):
        fill_copy(ctx, array.name, kind, name, value, names)
    else:
        fill(ctx, array.name, kind, value)
    return container_value(ctx, array, kind)


def _check(ctx: Context, stmt: ast.For | ast.While, carry: Carry, names: dict[str, Value]) -> None:
    """Every name needed in the next iteration is either unchanged or carried with the right kind."""
    known = dict(carry.kinds)
    _check_unbound(ctx, stmt, carry, names)
    for name in (*assigned(stmt.body), *sorted(carry.fields.names)):
        if isinstance(names.get(name), Reading) and name in carry.before and not isinstance(
                carry.before[name], Reading):
            carry.before[name] = Reading()
            carry.kinds.pop(name, None)
            raise CarryCorrected
        if name in carry.kinds:
            before: Kind | None = carry.kinds[name]
        elif name in carry.live and name in carry.before and not same(names.get(name), carry.before[name]):
            before = kind_of(carry.before[name])
        else:
            continue
        kind = join(ctx, before, kind_of(names.get(name)))
        if name in carry.floating and (kind is None or not kind.weak):
            not_floating(ctx, stmt, name)
            kind, carry.floating = kind_of(carry.before[name]), carry.floating - {name}
        if kind is None:
            raise _changing(ctx, stmt, carry, name, names)
        carry.kinds[name] = kind
    if carry.kinds != known:
        raise CarryCorrected


def _check_unbound(ctx: Context, stmt: ast.For | ast.While, carry: Carry, names: dict[str, Value]) -> None:
    """Names that the body reads first and binds later have no value in the first iteration."""
    for name in assigned(stmt.body):
        value = names.get(name)
        if name not in carry.live or name in carry.before or value is None or isinstance(value, Maybe):
            continue
        blank = blank_of(NOWHERE, value) if carry.trial.blanks else None
        if blank is not None:
            raise Rebound(name, blank)
        if isinstance(value, Unbound) or (len(ctx.frames), name) in ctx.missed[carry.missed:]:
            with ctx.at(binding(stmt, name)):
                raise changing(ctx.refuse(f"{name!r}, which an iteration before this one may have bound",
                                          "give it a value before the loop", "SG107"))


def _changing(ctx: Context, stmt: ast.For | ast.While, carry: Carry, name: str,
              names: Mapping[str, Value]) -> Exception:
    """What to raise where a name is of another kind after the body than before it."""
    before, value = carry.before.get(name), names.get(name)
    blank = blank_of(before, value)
    if blank is not None and blank.made is Masked:
        found = {n: blank_of(v, names.get(n)) for n, v in carry.before.items()
                 if n.isidentifier() or n in carry.fields.places}
        return Rebound(name, blank, {n: b for n, b in found.items() if b is not None and b.made is Masked})
    if blank is not None and (carry.trial.blanks or blank.made is ChosenText or isinstance(before, NoneOr)
                              or isinstance(value, NoneOr)):
        return Rebound(name, blank)
    if is_tree(taken_in(ctx, before)) and is_tree(value):
        return Rebound(name)
    written = carry.fields.written(name)
    first, then = describe(before), describe(value)
    told = "" if isinstance(value, Maybe) or first == then else f": {first} first, then {then}"
    with ctx.at(binding(stmt, written.split(".")[0].split("[")[0])):
        return changing(ctx.refuse(f"{written!r}, which changes its shape or type from one iteration to the next{told}",
                                   "use a fixed shape, or another name", "SG104"))


def kept_count(ctx: Context, stmt: ast.For | ast.While, carry: Carry, names: dict[str, Value],
               trips: str | None) -> str:
    """A copy of a loop's number of trips for names that it binds and that are looked at behind it; "" without any.

    The count itself begins anew when the loop is met again.
    """
    liveness = ctx.frame.liveness
    later = liveness.after[stmt] | liveness.captured
    if stmt.orelse:
        later = later | liveness.at_loop[stmt]
    if trips is None or not any(n in later and n not in carry.opened and not _unchanged(carry, n, v)
                                for n, v in names.items()):
        return ""
    builder = ctx.builder
    array = builder.declare((), INT, "trips")
    builder.store(array.name, (), Load(trips, (), INT))
    builder.managed.add(array.name)
    return array.name


def after_loop(ctx: Context, carry: Carry, names: dict[str, Value], last: dict[str, Ix | None], sure: bool,
               trips: str = "") -> None:
    """Names after the loop: carried ones are in their containers, others as the last iteration left them.

    `trips` holds how often the loop has run, where that is not known beforehand.
    """
    result = dict(names)
    for name, value in names.items():
        if name in carry.opened:
            result[name] = carry.opened[name][1]
        elif isinstance(value, Unbound) and not _unchanged(carry, name, value):
            result[name] = Maybe(None)
        elif name.startswith("%") or _unchanged(carry, name, value):
            continue
        elif isinstance(value, Maybe) and value.when:
            found = last_value(ctx, value.value, last)
            result[name] = found if isinstance(found, Maybe) else replace(value, value=found)
        else:
            found = last_value(ctx, value, last) if sure or trips else Maybe(None)
            # Inside of another loop, the name may have its value from an iteration before.
            outermost = ctx.builder.innermost_loop <= ctx.frame.depth
            result[name] = found if sure else Maybe(found, trips=trips) if (
                outermost and not isinstance(found, Maybe)) else Maybe(None)
    ctx.frame.names = result
    carry.fields.put_back()
    if not sure:  # the body may never run
        ctx.builder.shared = ctx.builder.shared.joined(carry.entry)


def _unchanged(carry: Carry, name: str, value: Value) -> bool:
    return name in carry.before and same(value, carry.before[name])


def bound_by_loop(ctx: Context, name: str, value: Maybe) -> Value:
    """The value of a name that a loop binds which may not have run: Python's error where it has not."""
    builder = ctx.builder
    builder.flush()
    failure = Failure(UnboundLocalError,
                      (f"cannot access local variable {name!r} where it is not associated with a value",))
    never = call("eq", Load(value.trips, (), INT), const(0, INT), dtype=BOOL)
    raise_if(ctx, never, lambda: fail(ctx, failure))
    return value.value
