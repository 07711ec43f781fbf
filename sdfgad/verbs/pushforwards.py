"""Forward mode: tangents of a function, and of its gradient."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sdfgad.analysis.verify import verify
from sdfgad.calls.arguments import Bound, as_input
from sdfgad.calls.bindings import Bindings, bindings
from sdfgad.calls.buffers import room
from sdfgad.calls.device_calls import DeviceCall, check_place, device_call, handed_on
from sdfgad.calls.directions import plain
from sdfgad.calls.results import fill
from sdfgad.codegen.program import Executable
from sdfgad.codegen.targets import chosen
from sdfgad.config import verifying
from sdfgad.frontend import Parsed
from sdfgad.garbage import collecting_rarely
from sdfgad.ir.program import Program, View, view_of
from sdfgad.ir.verify import DERIVED
from sdfgad.ir.walk import apart
from sdfgad.later import later
from sdfgad.plans.disk_cache import Found, recalled
from sdfgad.plans.ranks import refuse_curvature
from sdfgad.plans.recipe import arrays_of
from sdfgad.plans.request import Request, check_returns, is_number, resolve_outputs
from sdfgad.rules.linear import strong_products_kept
from sdfgad.trees import contents, mapped
from sdfgad.verbs.pipeline import build, derive, execute, parsed_call

if TYPE_CHECKING:
    from sdfgad.reverse.forward_mode import made_again, tangent
    from sdfgad.rules.linearise import without_partials
    from sdfgad.transform.batch import several, with_axis
    from sdfgad.transform.stages import prepare_program
else:
    made_again = later("sdfgad.reverse.forward_mode", "made_again")
    tangent = later("sdfgad.reverse.forward_mode", "tangent")
    without_partials = later("sdfgad.rules.linearise", "without_partials")
    several = later("sdfgad.transform.batch", "several")
    with_axis = later("sdfgad.transform.batch", "with_axis")
    prepare_program = later("sdfgad.transform.stages", "prepare_program")


@dataclass
class Pushforward:
    """The forward-mode program, compiled. seeds: arrays in which the program takes cotangents of the outputs. rows: the
    arguments that its results are gradients of, in their order."""

    parsed: Parsed
    program: Program
    returns: Any
    tangents: Mapping[str, str | None]
    code: Executable
    seeds: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    @cached_property
    def _places(self) -> Bindings:
        keep = arrays_of((self.program.returns, self.returns)) + self.program.watched
        return bindings(self.program, self.parsed, keep, self.code.written)

    def run(self, bound: Bound, given: Mapping[str, np.ndarray],
            seeds: tuple[np.ndarray, ...] = ()) -> tuple[Any, Any]:
        self.parsed.check_sharing(bound.leaves)
        call = device_call(self.code, bound, beside={f"the tangent of {n!r}": t for n, t in given.items()} | {
            f"seed {k}": s for k, s in enumerate(seeds)})
        known = {n: given[leaf] for leaf, n in self.tangents.items() if n is not None and n in self.program.arrays}
        if call is not None:
            return self._run_there(call, bound, known | dict(zip(self.seeds, seeds, strict=True)))
        memory = self._places.fill(bound, frozenset())
        memory.update(zip(self.seeds, seeds, strict=True))
        for name, along in known.items():
            a = self.program.arrays[name]
            memory[name] = as_input(along, a, room().empty(a.shape, a.dtype))
        execute(self.code, {**memory, **bound.outside})
        # Zeros that nothing depends on are the caller's own, too.
        tangents = mapped(lambda t: t.copy() if isinstance(t, np.ndarray) else t, self.returns)
        return fill(self.program.returns, memory), fill(tangents, memory)

    def _run_there(self, call: DeviceCall, bound: Bound, given: Mapping[str, Any]) -> tuple[Any, Any]:
        """The same on a device, on the caller's stream."""
        arrays = self.program.arrays
        memory = self._places.fill_there(bound, frozenset(), call) | call.directions(self.code, arrays, given)
        execute(self.code, memory, call)
        found = (mapped(call.moved, fill(tree, memory)) for tree in (self.program.returns, self.returns))
        value, tangent = (self._handed_on(tree, bound) for tree in found)
        return value, tangent

    def _handed_on(self, tree: Any, bound: Bound) -> Any:
        return tuple(handed_on(t, bound, n) for n, t in zip(self.rows, tree, strict=True)) if self.rows else \
            handed_on(tree, bound)


@dataclass(frozen=True)
class Pushed:
    """A tangent program as it is made, linear in the tangents. program: what it is of. directions: containers that have
    tangents, by leaf. seeds: arrays in which the program takes cotangents of the outputs. prepared: whether the program
    is in normal form already. rows: as in a `Pushforward`."""

    parsed: Parsed
    program: Program
    directions: Mapping[str, str]
    seeds: tuple[str, ...] = ()
    prepared: bool = False
    rows: tuple[str, ...] = ()

    def tangent(self) -> tuple[Program, Any, dict[str, str | None]]:
        """The program, where the tangents of its results lie, and in which arrays it takes those of the directions."""
        normal = self.program if self.prepared else prepare_program(self.program)
        made = tangent(normal, tuple(self.directions.values()))
        whole = made.program.but(body=without_partials(made.program.body))
        return whole, _tangent_tree(normal.returns, made.view), dict(made.arguments)

    def compiled(self, kind: str, what: str, batch: int | None) -> Pushforward:
        """Ready to be called. batch: for so many tangents at once, along a first axis."""
        directions = tuple(self.directions.values())
        whole, returns, arguments = recalled(kind, (self.program, directions, batch),
                                             lambda: _tangent(self, batch), self.program.constants)
        code = build(whole, arrays_of((whole.returns, returns)) + whole.watched, what=what)
        names = {n: arguments[container] for n, container in self.directions.items()}
        return Pushforward(self.parsed, whole, returns, names, code, self.seeds, self.rows)


def pushed(fn: Callable[..., Any], bound: Bound, wrt: tuple[str, ...], output: Any = None, source: str = "") -> Pushed:
    """The tangent with respect to the leaves named, of the outputs named or the returned value."""
    check_place(bound)
    parsed = parsed_call(fn, bound, source)
    program = parsed.program
    if output is None:
        check_returns(parsed)
    else:
        parsed, views = resolve_outputs(parsed, Request((), output, "sum"))
        program = parsed.program.but(returns=views if isinstance(output, (tuple, list)) else views[0])
    return Pushed(parsed, program, {n: parsed.traced[n] for n in wrt})


@collecting_rarely()
def pushforward(fn: Callable[..., Any], bound: Bound, wrt: tuple[str, ...], output: Any = None, source: str = "",
                batch: int | None = None) -> Pushforward:
    """The compiled tangent program with respect to the leaves named, of the outputs named or the returned value.

    batch: for so many tangents at once, along a first axis.
    """
    return pushed(fn, bound, wrt, output, source).compiled("tangent", "the derivative of ", batch)


def bent(fn: Callable[..., Any], bound: Bound, request: Request, directions: tuple[str, ...],
         source: str = "") -> Pushed:
    """The tangent of the gradient program, which is a program like any other: forward over reverse."""
    check_place(bound)
    found = derive(fn, bound, request, source)
    refuse_curvature(found.parsed.program)
    with strong_products_kept():
        made = found.choice.emit(found.plan.recomputed, found.plan.modes, found.plan.undone).made
    arrays, traced = made.program.arrays, found.parsed.traced
    gradients = ((n, made.gradients[traced[n]]) for n in request.wrt)
    program = made_again(made.program).but(returns=tuple(
        plain(bound.leaves[n], False, range(0)) if g is None else view_of(arrays[g]) for n, g in gradients))
    return Pushed(found.parsed, program, {n: traced[n] for n in directions}, made.seeds, True, request.wrt)


@collecting_rarely()
def curvature(fn: Callable[..., Any], bound: Bound, request: Request, directions: tuple[str, ...],
              source: str = "", batch: int | None = None) -> Pushforward:
    """The compiled tangent of the gradient program.

    It returns the gradients in the order of `request.wrt`, and their derivatives along tangents of `directions`. Where
    the request has seeds, these are the gradients of the outputs weighted with them. batch: as for `pushforward`.
    """
    return bent(fn, bound, request, directions, source).compiled("curvature", "the second derivative of ", batch)


def _tangent(made: Pushed, batch: int | None) -> Found[tuple[Program, Any, dict[str, str | None]]]:
    """The tangent of a prepared program, as the target wants it."""
    whole, returns, arguments = made.tangent()
    if batch is not None:
        given = frozenset(n for n in arguments.values() if n is not None).union(arrays_of(returns))
        whole, returns = several(whole, given, batch), mapped(lambda t: _with_axis(t, batch), returns)
    whole = whole.but(body=apart(whole.body))
    verify(whole, "tangent", DERIVED, verifying())
    live_out = frozenset(arrays_of((whole.returns, returns)) + whole.watched)
    return Found((chosen().optimised(whole.but(live_out=live_out)), returns, arguments))


def _with_axis(leaf: Any, batch: int) -> Any:
    """One result of a tangent program, for several tangents."""
    return with_axis(leaf, batch) if isinstance(leaf, View) else None if leaf is None else \
        np.zeros((batch, *np.shape(leaf)), np.asarray(leaf).dtype)


def _tangent_tree(tree: Any, view: Callable[[View], View | None]) -> Any:
    if contents(tree) is not None:
        return mapped(lambda t: _tangent_tree(t, view), tree)
    if not isinstance(tree, View):
        return np.zeros_like(tree) if isinstance(tree, np.ndarray) and tree.dtype.kind in "fc" else \
            0.0 if is_number(tree) else None
    found = view(tree)
    shape = tuple(n.const or 0 for n in tree.shape)
    return np.zeros(shape, tree.dtype) if found is None else found
