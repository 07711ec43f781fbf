"""Numbers and arrays in lower case that ranks give to one collective, and that are not of one type or shape.

    total = 0
    for k in mine: total += f(k)
    s = comm.allreduce(total)      where a rank that has nothing to do gives 0, and the others floats

What each rank gives is said in the agreement of the call. Where all of it is alike, as it nearly always is, nothing is
translated again. Where it is not, each rank makes of its own what NumPy would make of all of them together. A
collective is known by its number among those of its communicator, if all ranks come by the same ones in loops as deep.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from sdfgad.frontend.elements.elementwise import as_array
from sdfgad.frontend.mpi.messages import count_on, numbered, same_type, say
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Value, ViewValue
from sdfgad.ir.index import ix
from sdfgad.ranks import NOBODY_SAYS, ObjectForm, ObjectWay, handle_of, lineage, members, objects_sent, settled

_OF = "numbers"
"""What the tags of such ways count: collectives of numbers, in the order in which they stand in the program."""


def made_alike(ctx: Context, comm: Any, name: str, given: ViewValue) -> ViewValue:
    """What this rank gives to the reduction of that name, of the type and the shape of all."""
    forms = _given_by_all(ctx, comm, name, given)
    shapes = {f.shape for f in forms}
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise _of_shapes(ctx, shapes) from None
    return _converted(ctx, given, forms, shape)


def listed_alike(ctx: Context, comm: Any, name: str, given: ViewValue) -> tuple[ViewValue, list[tuple[int, ...]]]:
    """The same where every rank gets a list of what all give: of one type, and the shape of each."""
    forms = _given_by_all(ctx, comm, name, given)
    return _converted(ctx, given, forms, _sizes(given)), [f.shape for f in forms]


def of_one_shape(ctx: Context, comm: Any, name: str, given: ViewValue) -> ViewValue:
    found, shapes = listed_alike(ctx, comm, name, given)
    if len(set(shapes)) > 1:
        raise _of_shapes(ctx, set(shapes))
    return found


def _of_shapes(ctx: Context, shapes: Set[tuple[int, ...]]) -> Exception:
    return ctx.refuse(f"arrays of the shapes {' and '.join(map(str, sorted(shapes)))} of several ranks together",
                      "give arrays of one shape, or use Alltoallv", "SG103")


def _given_by_all(ctx: Context, comm: Any, name: str, given: ViewValue) -> Sequence[ObjectForm]:
    """What each rank gives: the same, as long as nobody says anything else."""
    form = ObjectForm(given.dtype.str, _sizes(given), given.weak, (name, len(ctx.builder.regions)))
    same = [form] * comm.Get_size()
    if len(same) == 1:
        return same
    number = numbered(ctx, comm, _OF)
    place = (members(comm), lineage(handle_of(comm)))
    say(ctx, _way(place, comm.Get_rank(), number), form)
    said = objects_sent()
    if said and said[-1] is NOBODY_SAYS:
        return same
    every = _said_by_all(place, comm.Get_size())
    if every is None or number >= len(every[0]):
        if not settled(2):  # counted on, until others say something else
            count_on(ctx, _way(place, None, number), form, guessed=True)
        return same
    forms = [one[number] for one in every]
    if all(f == forms[0] for f in forms):
        count_on(ctx, _way(place, None, number), form)
        return forms
    for giver, one in enumerate(forms):
        count_on(ctx, _way(place, giver, number), one)
    return forms


def _sizes(given: ViewValue) -> tuple[int, ...]:
    return tuple(n.const or 0 for n in given.shape)


def _way(place: tuple[tuple[int, ...], tuple[int, ...]], giver: int | None, number: int) -> ObjectWay:
    return ObjectWay(*place, giver, None, number, _OF)


def _said_by_all(place: tuple[tuple[int, ...], tuple[int, ...]], size: int) -> Sequence[Sequence[ObjectForm]] | None:
    """What each rank gives to each of the collectives, where all ranks come by the same ones."""
    said = objects_sent()
    found: Mapping[int, dict[int, ObjectForm]] = {giver: {} for giver in range(size)}
    for way, form in said[-1] if said else ():
        if way.of == _OF and (way.ranks, way.lineage) == place and way.source is not None and way.tag is not None:
            found[way.source][way.tag] = form
    every = [[forms[k] for k in sorted(forms)] for forms in found.values()]
    names = [[form.value for form in forms] for forms in every]
    return every if names[0] and all(one == names[0] for one in names) else None


def _converted(ctx: Context, given: ViewValue, forms: Sequence[ObjectForm], shape: tuple[int, ...]) -> ViewValue:
    kinds, dtype, weak = {np.dtype(f.dtype) for f in forms}, _type_of_all(forms), all(f.weak for f in forms)
    if (dtype, shape, weak) == (given.dtype, _sizes(given), given.weak):
        return given
    if len(kinds) > 1 and any(k.kind == "b" for k in kinds):
        raise ctx.refuse("flags and numbers of several ranks together", "give int(flag)", "SG104")
    value: Value = same_type(ctx, given, dtype)
    if shape != _sizes(given):
        value = ctx.invoke(ctx, np.broadcast_to, [value, shape], {})
    made = ctx.builder.fresh_copy(as_array(ctx, value), "message")
    return ctx.builder.view(ctx.builder.arrays[made.view.array], tuple(map(ix, shape)), weak, scalar=not shape)


def _type_of_all(forms: Sequence[ObjectForm]) -> np.dtype:
    """Numbers of Python take the precision of the others."""
    parts = [np.zeros((), f.dtype).item() if f.weak else np.dtype(f.dtype) for f in forms]
    return np.result_type(*parts) if not all(f.weak for f in forms) else np.result_type(*(f.dtype for f in forms))
