"""Lists that counted loops make longer: every iteration appends equally many items, which are rows of arrays."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.arrays.grown import check_finished, first_row, items
from sdfgad.frontend.arrays.views import named_int
from sdfgad.frontend.containers.rows import fix, kind_of_rows, put_rows, store_row, taken_apart
from sdfgad.frontend.elements.elementwise import as_array, describe, int_value
from sdfgad.frontend.functions.arithmetic import items_of, kept
from sdfgad.frontend.functions.walks import most_rows
from sdfgad.frontend.merging.fullness import check_room, place_of, room_at
from sdfgad.frontend.merging.merge import Kind, join, kind_of
from sdfgad.frontend.state.attempts import UNROLL_TRIPS
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.sharing import IN_LIST
from sdfgad.frontend.state.values import Grown, LengthNow, ListValue, Method, Record, Rows, Value, ViewValue, contained
from sdfgad.frontend.static.settled import Renumber, growing
from sdfgad.frontend.syntax.advice import GROWS
from sdfgad.ir.index import Ix, ix

_TRIALS = 12


class Refit(Exception):
    """What was assumed of a growing list does not hold."""

    def __init__(self, owner: Grown, kinds: list[Kind] | None = None, form: Value = None,
                 stride: int | None = None, moving: bool = False) -> None:
        super().__init__()
        self.owner, self.kinds, self.form, self.stride, self.moving = owner, kinds, form, stride, moving


@dataclass
class _Lengthened:
    """One list while a loop makes it longer: what it is outside, what is assumed, and what it is inside."""

    given: ListValue | Grown
    kinds: list[Kind] | None
    form: Value
    stride: int | None = 1  # None: nobody knows how many it will be
    counted: bool = False  # data decide how many items an iteration appends: at most `stride`
    moving: bool = False  # it loses items at its begin
    made: Grown = Grown((), None, LengthNow(ix(0), 0))
    start: LengthNow = LengthNow(ix(0), 0)

    @property
    def inner(self) -> bool:
        """Whether a loop around this one makes it longer already."""
        return self.made is self.given


# loops

def run_growing(ctx: Context, lists: Sequence[ListValue | Grown], rows: Rows, least: int,
                run: Callable[[Rows], None], counted: bool = False) -> bool:
    """Run a loop of more than `least` iterations that appends to `lists`; whether it is one.

    Its body is translated once, for all iterations: it has to append the same number of items, of the same kinds, in
    each of them, or they are counted in the run. Tried with what is known, and again with what turns up.
    """
    stride = None if counted and most_rows(rows) is None else 1
    lengthened = [_Lengthened(v, *_first_kinds(ctx, v), stride, counted)
                  for v in may_grow(ctx, lists, rows, least, counted)]
    if not lengthened:
        return False
    back = ctx.mark()
    for _ in range(_TRIALS):
        for one in lengthened:
            _begin(ctx, one, rows, all(v.kinds for v in lengthened))
        try:
            run(_watched(ctx, rows, lengthened))
            _close(ctx, lengthened)
        except (Refit, Renumber, UnsupportedError) as found:
            for one in lengthened:
                rebind(ctx, one.made, one.given)
            if not isinstance(found, Refit) or not _refitted(lengthened, found):
                raise
            back()
            continue
        for one in lengthened:
            _end(ctx, one, rows)
        return True
    raise ctx.refuse("a list that loops make longer in different ways", "use an array", "SG102")


def _refitted(lengthened: Sequence[_Lengthened], found: Refit) -> bool:
    """Note what turned up of a list, unless that is for a loop around this one to know."""
    one = next((g for g in lengthened if g.made is found.owner), None)
    if one is None or (found.kinds or found.moving) and one.inner:
        return False
    if found.kinds:
        one.kinds, one.form = found.kinds, found.form
    elif found.moving:
        one.moving = True
    else:
        one.stride = found.stride  # None: there is a loop of unknown length inside
    return True


def least_to_grow(ctx: Context, rows: Rows) -> int:
    """Loops of no more iterations are written out. What a list of arrays does not do is found later: then the function
    is translated anew, with all loops written out that are short enough."""
    least = ctx.builder.assumed.list_trips
    if least < (rows.count.const or 0) <= UNROLL_TRIPS:
        ctx.builder.hasty = True
    return least


def may_grow(ctx: Context, lists: Sequence[ListValue | Grown], rows: Rows, least: int,
             counted: bool = False) -> list[ListValue | Grown]:
    """Those of the lists to which a loop of more than `least` iterations may append."""
    count = most_rows(rows) if counted else rows.count.const
    if count is None and not counted or count is not None and count < 1:
        return []
    return [v for v in lists if _may_grow(ctx, v, count is None or count > least, counted)]


def _may_grow(ctx: Context, value: ListValue | Grown, long: bool, counted: bool) -> bool:
    if isinstance(value, Grown) and value.now.begun is not None:
        return value.now.depth == len(ctx.builder.regions) and value.counter is None
    if isinstance(value, Grown) and value.counter is not None and not counted:
        return False
    depth = value.now.depth if isinstance(value, Grown) else value.depth
    bounded = getattr(value.kind, "most", None) is not None and not counted
    if not long or depth != len(ctx.builder.regions) or bounded or (
            not holders(ctx, value)) or any(r is value for fields in ctx.changing for r in fields.records):
        return False  # a list that a loop around this one looks after keeps its length there
    return isinstance(value, Grown) or all(_storable(v) for v in value.items)


def holders(ctx: Context, value: Value) -> list[tuple[dict | list, Value]] | None:
    """Where a list is held: names, and items of dicts, objects and lists; None if it is somewhere else, too."""
    found: dict[tuple[int, Value], tuple[dict | list, Value]] = {}
    for frame, name, held in list(ctx.values()):
        known, met = 0, 0
        for part in contained(held):
            met += part is value
            if isinstance(part, (Record, ListValue)):
                inside = part.items.items() if isinstance(part, Record) else enumerate(part.items)
                places = [k for k, v in inside if v is value]
                found.update({(id(part), k): (part.items, k) for k in places})
                known += len(places)
        if held is value and frame.names.get(name) is value:
            found[id(frame), name] = frame.names, name
            known += 1
        if known < met:
            return None
    return list(found.values())


def rebind(ctx: Context, old: Value, new: Value) -> bool:
    """Let everything that holds a list hold another one; whether that is possible."""
    places = holders(ctx, old) if old is not new else []
    for holder, key in places or ():
        holder[key] = new
    return places is not None


def _storable(item: Value) -> bool:
    """Whether an item is made of what rows can hold."""
    parts = item.items if isinstance(item, ListValue) else item if isinstance(item, tuple) else None
    return kind_of(item) is not None if parts is None else all(_storable(p) for p in parts)


def _first_kinds(ctx: Context, value: Value) -> tuple[list[Kind] | None, Value]:
    if isinstance(value, Grown):
        return [kind_of_rows(r) for r in value.rows] or None, value.form
    return taken_apart(ctx, value.items[-1]) if value.items else (None, None)


def _begin(ctx: Context, one: _Lengthened, rows: Rows, seen: bool) -> None:
    """The list at the head of the loop, with room for what comes; the innermost of nested loops find it made.

    seen: items of all lists have been, so that no trial takes a length for a known one.
    """
    given, depth = one.given, len(ctx.builder.regions)
    if isinstance(given, Grown) and given.now.begun is not None:
        one.made, one.start = given, given.now
        return
    before, length = _had(given)
    label = label_of(ctx, given)
    most = rows.count if rows.most is None or not one.counted else ix(rows.most)
    place = "" if one.stride is not None else place_of(ctx, label)
    more = room_at(ctx, place, one.kinds or ()) if one.stride is None else most * one.stride
    made = tuple(room_for(ctx, kind, before + more, label) for kind in one.kinds or ())
    one.start = LengthNow(length, depth)
    number = partial(_of_the_run, ctx) if seen else int_value
    counter = Record(SimpleNamespace, {"length": number(length)}, depth) if one.counted else None
    if counter is not None and (one.moving or _moves(given)):
        counter.items["start"] = number(first_row(given) if isinstance(given, Grown) else ix(0))
    one.made = Grown(made, one.form if one.kinds else None, one.start, given.kind, counter, place)
    ctx.builder.grown.append(one.made)
    if isinstance(given, Grown):
        for target, old in zip(made, given.rows, strict=True):
            put_rows(ctx, target, slice(0, before.const), old)
    elif one.kinds:
        for k, item in enumerate(given.items):
            store_row(ctx, one.made, ix(k), item)
    rebind(ctx, given, one.made)


def _of_the_run(ctx: Context, number: Ix) -> Value:
    """A number that is not known."""
    return named_int(ctx, ctx.builder.fresh_copy(as_array(ctx, int_value(number)), "length"), "length")


def _moves(given: ListValue | Grown) -> bool:
    """Whether a list is known to lose items at its begin."""
    lost = isinstance(given, Grown) and given.counter is not None and "start" in given.counter.items
    return lost or getattr(given.kind, "most", None) is not None


def _had(given: ListValue | Grown) -> tuple[Ix, Ix]:
    """The rows that a list has had so far, and how many of them are items."""
    if isinstance(given, ListValue):
        return ix(len(given.items)), ix(len(given.items))
    if given.counter is None:
        return given.length, given.length
    return given.rows[0].shape[0] if given.rows else ix(0), given.length


def _end(ctx: Context, one: _Lengthened, rows: Rows) -> None:
    """The list behind the loop."""
    if one.stride == 0 and not one.inner:
        rebind(ctx, one.made, one.given)
        return
    more = ix(0) if one.counted or one.stride is None else rows.count * one.stride
    one.made.now = replace(one.start, length=one.start.length + more)
    if isinstance(one.given, ListValue):
        fix(tuple(one.given.items))


def label_of(ctx: Context, value: Value) -> str:
    return next((n for n, v in ctx.frame.names.items() if v is value), "list")


def room_for(ctx: Context, kind: Kind, count: Ix, label: str) -> ViewValue:
    array = ctx.builder.declare((count, *kind.shape), kind.dtype, label)
    ctx.builder.shared = ctx.builder.shared.copied(array.name, (IN_LIST,), stale=False)
    return ctx.builder.view(array, (count, *kind.shape), kind.weak)


def _watched(ctx: Context, rows: Rows, lengthened: Sequence[_Lengthened]) -> Rows:
    """The rows of the loop; asking for one begins an iteration."""
    loop = object()

    def item(k: Ix) -> Value:
        _close(ctx, lengthened, loop)
        for one in lengthened:
            length = one.start.length if one.stride is None else one.start.length + k * one.stride
            around = ctx.looping, len(ctx.builder.scope.ranges)
            one.made.now = LengthNow(length, len(ctx.builder.regions), length, loop, 0, around)
        return rows.item(k)

    return Rows(rows.count, item)


def _close(ctx: Context, lengthened: Sequence[_Lengthened], loop: object = None) -> None:
    """At the end of an iteration every list has to be as much longer as was assumed."""
    for one in lengthened:
        now = one.made.now
        if loop is not None and now.loop is not loop:
            continue  # the first iteration begins
        if one.stride is None or one.counted and now.most <= one.stride:
            continue
        more = now.most if one.counted else (now.length - now.begun).const if now.begun is not None else None
        if more is None:
            raise ctx.refuse("a list to which loops append different numbers of items", GROWS, "SG102")
        if more != one.stride:
            raise Refit(one.made, stride=more)


# items

def as_list(ctx: Context, owner: Grown) -> ListValue:
    """The list as one that may be changed in any way, under all its names, where no loop is making it longer."""
    check_finished(ctx, owner)
    made = ListValue(items(ctx, owner), owner.now.depth, owner.kind)
    if not rebind(ctx, owner, made):
        raise ctx.refuse("a change of a list that is inside of another", "give it a name", "SG102")
    return made


def made_longer(ctx: Context, method: Method, arguments: Sequence[Value]) -> bool:
    """`append`, `extend`: whether the list stays one of rows. A loop that makes a finished one longer has to know."""
    owner, given = method.owner, [kept(ctx, a) for a in arguments]
    if owner.now.begun is not None:
        lengthen(ctx, owner, method.name, given)
        return True
    if owner.now.depth != len(ctx.builder.regions):
        raise growing(ctx.refuse("a list changed inside a loop or branch", GROWS, "SG102"), owner)
    if owner.counter is not None:
        once_longer(ctx, owner, lambda inside: lengthen(ctx, inside, method.name, given))
    return owner.counter is not None


def once_longer(ctx: Context, owner: Grown, change: Callable[[Grown], Value]) -> Value:
    """A list whose length data have decided, changed behind the loop: as in a loop of one iteration."""
    found: list[Value] = []

    def once(rows: Rows) -> None:
        rows.item(ix(0))
        found[:] = [change(ctx.builder.grown[-1])]

    run_growing(ctx, [owner], Rows(ix(1), lambda _: None), 0, once, counted=True)
    return found[0]


def lengthen(ctx: Context, owner: Grown, how: str, arguments: Sequence[Value]) -> None:
    """`name.append(item)`, `name.extend(items)`."""
    if len(arguments) != 1:
        raise ctx.refuse(f"{len(arguments)} arguments of the method {how!r} of a list", code="SG102")
    for item in arguments if how == "append" else items_of(ctx, arguments[0]):
        append(ctx, owner, kept(ctx, item))


def append(ctx: Context, owner: Grown, item: Value) -> None:
    """`name.append(item)`, for a list that a loop is making longer."""
    more = 0 if owner.place else _most(ctx, owner)
    if more is None and owner.counter is not None:
        raise Refit(owner)
    if more is None:
        raise growing(ctx.refuse("a list changed inside a branch or a loop of unknown length", GROWS, "SG102"), owner)
    check_kinds(ctx, owner, item)
    place = first_row(owner) + owner.length
    if owner.place:
        check_room(ctx, owner, place)
    store_row(ctx, owner, place, item)
    fix(item)
    owner.now = replace(owner.now, length=owner.now.length + 1, most=owner.now.most + more)
    if owner.counter is not None:
        owner.counter.items["length"] = int_value(owner.length + 1)


def check_kinds(ctx: Context, owner: Grown, item: Value) -> None:
    """Whether an item is of the kinds that the list has room for; a loop that makes it longer tries those of both."""
    found, form = taken_apart(ctx, item)
    known = [kind_of_rows(r) for r in owner.rows]
    if not known:
        raise Refit(owner, found, form)
    joined = [join(ctx, a, b) for a, b in zip(known, found, strict=True)] if form == owner.form else [None]
    if None in joined or joined != known and owner.now.begun is None:
        raise ctx.refuse(f"{describe(item)} in a list whose other items are of another kind",
                         "use lists of items of one shape and type", "SG104")
    if joined != known:
        raise Refit(owner, joined, form)  # type: ignore[arg-type]



def _most(ctx: Context, owner: Grown) -> int | None:
    """How often an iteration comes by here at most; None where the list may not become longer here."""
    if owner.counter is None:
        return 1 if owner.now.depth == len(ctx.builder.regions) else None
    loops, ranges = owner.now.around
    trips = [r.trips for r in ctx.builder.scope.ranges[ranges:]]
    return None if ctx.looping - loops != len(trips) or None in trips else math.prod(trips)  # type: ignore[arg-type]
