"""What a caller asks of a program, and which of its results that means."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sdfgad.errors import DtypeError, OutputError
from sdfgad.frontend import Parsed
from sdfgad.ir.expr import const
from sdfgad.ir.messages import SHARE, communicates
from sdfgad.ir.program import Array, Map, Program, Store, View
from sdfgad.names import fresh
from sdfgad.plans.plan import Plan
from sdfgad.transform.cutting.blocks import Distribution
from sdfgad.trees import leaves, mapped, sequence


@dataclass(frozen=True)
class Request:
    """What is asked of a program. seeds: the caller gives the outputs' cotangents. spill: folder for snapshots.

    together: whether several ranks call it, each with a part of the objective or none. aux: the program returns what is
    asked for and something else, which the caller gets as it is. batch: seeds come so many at once, along a first axis
    that the gradients have as well. distribution: how arguments, by their names, are cut over ranks. lying: how those
    lie, by their names, that a program may not be able to take as they are.
    """

    wrt: tuple[str, ...]
    output: Any = None
    reduce: str | None = None
    value: bool = False
    seeds: bool = False
    limit: int | None = None
    plan: Plan | None = None
    pins: Mapping[str, str] = field(default_factory=dict)
    spill: str | None = None
    together: bool = False
    aux: bool = False
    batch: int | None = None
    distribution: Distribution | None = None
    lying: Mapping[str, str] = field(default_factory=dict)


def resolve_outputs(parsed: Parsed, request: Request) -> tuple[Parsed, tuple[View, ...]]:
    """The views to differentiate, and the function with room for those of them that are numbers known beforehand;
    OutputError when the choice is not clear."""
    if request.output is None:
        returns = objective_of(parsed.program.returns, request)
        found: list[Any] = [part for part in leaves(differentiated(returns)) if part is not None]
        if not found and not (request.together and all(n is None for n in leaves(returns))):
            told = ", ".join(map(_told, leaves(returns))) or "nothing at all"
            whole = [v for v in leaves(returns) if isinstance(v, View) and v.dtype.kind in "biu"]
            help = "what int(), rounding, comparisons and counts give has no slope: return a float; " if whole else ""
            raise OutputError(f"the function returns nothing to differentiate: {told}",
                              help=help + _candidates(parsed))
    else:
        entries = request.output if isinstance(request.output, (tuple, list)) else (request.output,)
        found = [_differentiable(entry, _one_output(parsed, entry)) for entry in entries]
    parsed, found = _with_room(parsed, found)
    plain = request.reduce or request.seeds or not found
    if not plain and (len(found) != 1 or found[0].shape or found[0].dtype.kind == "c"):
        told = _told(found[0]) if len(found) == 1 else f"{len(found)} of them"
        others = f"; {_candidates(parsed)}" if _names(parsed) else ""
        others += "; has_aux=True for (objective, whatever else)" if request.output is None and _is_pair(parsed) else ""
        raise OutputError(f"the output is not one real scalar, but {told}",
                          help=f'pass reduce="sum", or use sdfgad.vjp with a seed, or sdfgad.jacobian{others}')
    return parsed, tuple(found)


def computed_outputs(parsed: Parsed, output: Any) -> tuple[Parsed, tuple[View, ...]]:
    """The views that `output` names beside what the function returns, of any dtype, and the function with room for
    them; OutputError as of `check_returns` where it names none."""
    if output is None:
        check_returns(parsed)
        return parsed, ()
    entries = output if isinstance(output, (tuple, list)) else (output,)
    parsed, found = _with_room(parsed, [_one_output(parsed, entry) for entry in entries])
    return parsed, tuple(found)


def check_returns(parsed: Parsed) -> None:
    """OutputError for a function that returns nothing, where the arguments that it updates are left alone."""
    program = parsed.program
    if parsed.mutated.intersection(program.arguments) and all(one is None for one in leaves(program.returns)) and \
            not communicates(program.body):  # there another rank may return something
        raise OutputError("the function returns nothing, and a call leaves its arguments alone",
                          help=_candidates(parsed))


def share_of(program: Program) -> str | None:
    """The constant that `with_share` has put into a program."""
    return next((n for n in program.constants if program.arrays[n].label == SHARE), None)


def keeping_share(program: Program, source: Program) -> Program:
    """The program with the same constant as the one that it was made of: nothing reads it before there are seeds."""
    name = share_of(source)
    if name is None:
        return program
    return program.but(arrays={**program.arrays, name: source.arrays[name]}, live=program.live | {name},
                       constants={**program.constants, name: source.constants[name]})


def objective_of(returns: Any, request: Request) -> Any:
    """What is asked for of all that a program returns."""
    if not request.aux:
        return returns
    if not isinstance(returns, tuple) or len(returns) != 2:
        given = f"a tuple of {len(returns)}" if isinstance(returns, tuple) else "something else"
        raise OutputError(f"has_aux: the function has to return a pair (objective, aux), and returns {given}",
                          help="write return objective, aux")
    return returns[0]


def differentiated(returns: Any) -> Any:
    """The same containers with None in place of what has no derivative: all but floating and complex arrays, or where
    there are none, but numbers."""
    chosen = _is_floating if any(map(_is_floating, leaves(returns))) else is_number
    return mapped(lambda leaf: leaf if chosen(leaf) else None, returns)


def _is_pair(parsed: Parsed) -> bool:
    """Whether a function returns a number and something else, as one with has_aux=True does."""
    returns = parsed.program.returns
    return isinstance(returns, tuple) and len(returns) == 2 and _is_floating(returns[0]) and not returns[0].shape


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, View) and leaf.dtype.kind in "fc"


def is_number(value: Any) -> bool:
    """Whether a result is a number that does not depend on the arguments: a loop that never ran, a flag that is down.
    """
    return isinstance(value, (int, float, complex, np.number)) and not isinstance(value, bool)


def _with_room(parsed: Parsed, found: list[Any]) -> tuple[Parsed, list[View]]:
    """Outputs that are numbers get arrays, which nothing else looks at: every derivative of theirs is zero."""
    program, views = parsed.program, []
    for one in found:
        if not isinstance(one, View):
            kind = np.asarray(one).dtype if np.asarray(one).dtype.kind in "fc" else np.dtype(np.float64)
            array = Array(fresh("result", program.arrays), (), kind)
            store = Map((), (Store(array.name, (), const(kind.type(one).item(), kind)),), program.source)
            program = program.but(arrays={**program.arrays, array.name: array}, body=(*program.body, store))
            one = array.whole
        views.append(one)
    return replace(parsed, program=program), views


def _one_output(parsed: Parsed, entry: Any) -> Any:
    """What `output=entry` names: a view, or a number that does not depend on the arguments."""
    returns = parsed.program.returns
    if isinstance(entry, str):
        if entry not in parsed.traced:
            raise OutputError(f"output={entry!r}: no array argument of this name", help=_candidates(parsed))
        if any(entry == path or entry.startswith((f"{path}[", f"{path}.")) for path in parsed.replaced):
            raise OutputError(f"output={entry!r}: the program puts another array in its place",
                              help="return that array, or update the one of the argument in place")
        if parsed.traced[entry] in parsed.stale:
            raise OutputError(f"output={entry!r}: updated through a view of its real or imaginary part",
                              help="update the array itself")
        view = parsed.program.arrays[parsed.traced[entry]].whole
    else:
        parts = sequence(returns) or (returns,)
        if not isinstance(entry, int) or not -len(parts) <= entry < len(parts) or not (
                isinstance(parts[entry], View) or is_number(parts[entry])):
            raise OutputError(f"output={entry!r}: no returned array at this position", help=_candidates(parsed))
        view = parts[entry]
    return view


def _differentiable(entry: Any, output: Any) -> Any:
    """The output that an entry names; DtypeError where it is an array of integers."""
    if isinstance(output, View) and output.dtype.kind not in "fc":
        raise DtypeError(f"output={entry!r} is of type {output.dtype.name}: nothing to differentiate")
    return output


def _told(part: Any) -> str:
    """What a function returns, for people."""
    if not isinstance(part, View):
        return type(part).__name__ if part is not None else "None"
    shape = ", ".join(str(n.const if n.const is not None else "?") for n in part.shape)
    shape += "," if len(part.shape) == 1 else ""
    return f"an array of {part.dtype.name} of shape ({shape})" if part.shape else f"a number of {part.dtype.name}"


def _candidates(parsed: Parsed) -> str:
    return "candidates: " + (", ".join(_names(parsed)) or "none; return a value or update an argument in place")


def _names(parsed: Parsed) -> list[str]:
    """What may be asked for as `output=`."""
    names = [f"output={n!r} (updated in place)" for n, a in parsed.traced.items() if a in parsed.mutated]
    returns = sequence(parsed.program.returns)
    if returns is not None:
        names += [f"output={k} (returned)" for k, r in enumerate(returns) if isinstance(r, View)]
    return names
