"""The public verbs. Reads as the table of contents of the pipeline: bind, derive, compile, call."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from types import MethodType
from typing import Any, Unpack, overload

import numpy as np

from sdfgad.calls.agreement import check_objective
from sdfgad.calls.arguments import Bound, bind, check_donated, refuse_specs
from sdfgad.calls.asked import absent_of, asked_wrt, resolve_wrt
from sdfgad.calls.buffers import reusable
from sdfgad.calls.communicators import communicator_of
from sdfgad.calls.device_calls import check_place, on_device
from sdfgad.calls.distributing import asked_distribution, placed
from sdfgad.calls.fast_call import UNLIKE, FastCall
from sdfgad.calls.references import of_method, reduced
from sdfgad.calls.replicated import digest_of, replicated_leaves, summed, whole_leaves
from sdfgad.calls.results import one_or_all
from sdfgad.config import chosen_target, limit_of_block, settings, within
from sdfgad.errors import UsageError
from sdfgad.frontend.graphs.function import as_function
from sdfgad.ir.program import View
from sdfgad.locks import own_lock
from sdfgad.memory import parse_bytes
from sdfgad.plans.alternatives import plans_on_front
from sdfgad.plans.pins import Names, pins_of
from sdfgad.plans.plan import Plan
from sdfgad.report.ranks import RankPlans
from sdfgad.thresholds import thresholds
from sdfgad.verbs.automatic import derived_together
from sdfgad.verbs.compiled import Compiled
from sdfgad.verbs.options import check_aux, check_names, check_options
from sdfgad.verbs.pipeline import Derivative, Request
from sdfgad.verbs.second import DerivativeFunction, Differentiated, SecondGradient, refuse_options
from sdfgad.verbs.together import Running, agreed, measured_call, planned_alone, plans_together, refuse_together
from sdfgad.verbs.tracebacks import shortened
from sdfgad.verbs.translations import valid
from sdfgad.verbs.typed import GradientOf, GradOptions, P


class GradFunction(DerivativeFunction):
    """The gradient of a function; compiled at the first call for each set of shapes, dtypes and constants.

    fn: the undecorated function. plan(*args): what a call will store; measure(*args): the same, and what it takes.
    """

    def __init__(self, fn: Callable[..., Any], *, wrt: Any = None, argnums: Any = None, output: Any = None,
                 reduce: str | None = None, has_aux: bool = False, memory_limit: Any = None,
                 device: str | None = None, plan: Plan | None = None, donate: Sequence[str] = (), value: bool = False,
                 store: Names = (), recompute: Names = (), snapshot: Names = (),
                 spill: str | PathLike[str] | None = None, source: str | None = None,
                 objective: str | None = None, distribute: Any = None, comm: Any = None, grid: Any = None,
                 gather: bool = True, deterministic: bool | None = None, replicated: Any = ()) -> None:
        check_options(fn := as_function(fn), reduce, device, plan)
        check_aux(has_aux, output)
        check_objective(objective)
        self._blocks = asked_distribution(distribute, comm, grid, gather)
        if self._blocks is not None:
            refuse_together(plan=plan, spill=spill, objective=objective, replicated=replicated or None)
        self._options: dict[str, Any] = {
            "wrt": (wrt := asked_wrt(wrt, argnums)), "output": output, "reduce": reduce, "has_aux": has_aux,
            "memory_limit": memory_limit, "device": device, "plan": plan, "donate": donate, "value": value,
            "store": store, "recompute": recompute, "snapshot": snapshot, "spill": spill, "source": source,
            "objective": objective, "distribute": distribute, "comm": comm, "grid": grid, "gather": gather,
            "deterministic": deterministic, "replicated": replicated}
        self._pins = pins_of(store, recompute, snapshot)
        if plan is not None and self._pins:
            raise UsageError("plan= says already what is stored: leave out store, recompute and snapshot", code="SG205")
        functools.update_wrapper(self, fn)
        self.fn, self.shown_as = fn, "value_and_grad" if value else "grad"
        self._wrt, self._output, self._reduce, self._value, self._aux = wrt, output, reduce, value, has_aux
        self._limit, self._plan, self._source = memory_limit, plan, source or ""
        self._objective, self._replicated = objective, replicated
        self._where: Mapping[str, Any] = {"device": device, "deterministic": deterministic}
        self._spill = None if spill is None else fspath(spill)
        self._donate = frozenset((donate,) if isinstance(donate, str) else donate)
        self.of: GradFunction | None = None  # what it was made from for one object
        self._slot = f"_sdfgad_{getattr(fn, '__name__', 'grad')}"
        self._known: dict[Any, list[Derivative]] = {}
        self._repeats: dict[tuple[bool, str, Any], FastCall | None] = {}  # of the last call, with and without the value
        self._lock = own_lock(self)
        parse_bytes(memory_limit)

    def __set_name__(self, owner: type, name: str) -> None:
        self._slot = f"_sdfgad_{name}"

    def __get__(self, instance: Any, owner: type | None = None) -> GradFunction:
        """As a method: the gradient of the bound method, kept with the object where it has room for it."""
        if instance is None or isinstance(self.fn, staticmethod):
            return self
        room = getattr(instance, "__dict__", {})
        held = room.get(self._slot)
        if held is None or held.made.of is not self or held.made.fn.__self__ is not instance:
            held = _BoundGradient(self._bound(instance))
            keep = functools.partial(setattr, instance) if isinstance(instance, type) else room.__setitem__
            keep(self._slot, held)
        found: GradFunction = held.made
        return found

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self.of is not None:
            return of_method(self, self._slot.removeprefix("_sdfgad_"))
        return reduced(self, _again, self._options)

    def _bound(self, instance: Any) -> GradFunction:
        made = object.__new__(type(self))
        made.__dict__.update(vars(self))
        made.of, made.fn = self, MethodType(self.fn, instance)
        made._known, made._repeats, made._lock = {}, {}, own_lock(made)
        return made

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        found = self._repeated(args, keywords, self._value)
        return self._called(args, keywords, self._value) if found is UNLIKE else found

    def value_and_grad(self, *args: Any, **keywords: Any) -> Any:
        """`(value, gradient)` of one call."""
        __tracebackhide__ = True
        found = self._repeated(args, keywords, True)
        return self._called(args, keywords, True) if found is UNLIKE else found

    @shortened
    def _called(self, args: Sequence[Any], keywords: Mapping[str, Any], value: bool) -> Any:
        """What a call gives that is not like the one before."""
        with within(**self._where):
            ranks, derivative, bound = self._ready(args, keywords, value)
            with Running(ranks):
                tree, grads = derivative.run(bound, self._donate)
                grads = summed(ranks, grads, self._alike(derivative, bound, ranks))
        # Other ranks have to agree on every call.
        if ranks is None and not on_device(bound) and not self._where["deterministic"]:
            self._remember(derivative, bound, value)
        return self._given(derivative, bound, value)(tree, grads)

    def _ready(self, args: Sequence[Any], keywords: Mapping[str, Any], value: bool) -> tuple[Any, Derivative, Bound]:
        """The communicator of a call, if there is any, the compiled derivative, and the arguments."""
        ranks, bounds = self._ranks(args, keywords), []

        def prepare() -> Derivative:
            bounds.append(bound := self._bind(args, keywords))
            made = self._derivative(bound, value, ranks is not None)
            made.check(bound, self._donate)
            return made

        derivative = agreed(ranks, prepare, self._objective, lambda made: digest_of(bounds[-1], (
            *self._alike(made, bounds[-1], ranks), *whole_leaves(bounds[-1], made.request.distribution))))
        return ranks, derivative, bounds[0]

    def _alike(self, derivative: Derivative, bound: Bound, ranks: Any) -> tuple[str, ...]:
        return replicated_leaves(self.fn, bound, derivative.request.wrt, self._replicated, ranks)

    def _ranks(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """The communicator of those that call it together, if there is any."""
        return communicator_of(self.fn, args, keywords) if self._blocks is None else self._blocks.ranks

    @shortened
    def plan(self, *args: Any, **keywords: Any) -> Plan:
        """What a call with these arguments (arrays or `spec`s) will store; nothing is compiled or allocated."""
        with within(**self._where):
            bound, ranks = bind(self.fn, args, keywords), communicator_of(self.fn, args, keywords)
            return planned_alone(lambda: self._derivative(bound, self._value, ranks is not None))

    @shortened
    def plan_of_ranks(self, *args: Any, **keywords: Any) -> RankPlans:
        """What all ranks of a call plan, in one report; each of them has to ask, and gets the same."""
        ranks = self._ranks(args, keywords)
        with within(**self._where):
            return plans_together(ranks, lambda: self._derivative(
                placed(bind(self.fn, args, keywords), self._blocks), self._value, True), self._objective)

    @shortened
    def measure(self, *args: Any, **keywords: Any) -> Plan:
        """The plan of a call with these arrays, with the bytes and the time that the second of two calls took,
        and the messages that all ranks sent: `Plan.messages`."""
        with within(**self._where):
            ranks, derivative, bound = self._ready(args, keywords, self._value)
            return replace(derivative.plan, measured=measured_call(ranks, derivative, bound, self._donate))

    @shortened
    def pareto(self, *args: Any, points: int = 12, **keywords: Any) -> list[Plan]:
        """Plans for these arguments or specs, from the fastest to the smallest; see `sdfgad.pareto`."""
        with within(**self._where):
            derivative = self._derivative(bind(self.fn, args, keywords), value=self._value)
            return plans_on_front(derivative.choice, derivative.plan.about, points)

    @property
    def options(self) -> Mapping[str, Any]:
        """What it was made with."""
        return self._options

    def differentiated(self, device: str | None = None) -> Differentiated:
        """This gradient as something to differentiate; UsageError where it has options that its derivatives have not.
        """
        if self._value:
            raise UsageError("value_and_grad gives a pair: a derivative is taken of sdfgad.grad(f)", code="SG205")
        refuse_options({n: v for n, v in self._options.items() if n != "output"})
        where = device or self._where["device"]
        return Differentiated(self.fn, self._wrt, self._output, self._reduce, where, self._source)

    def _bind(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Bound:
        bound = placed(bind(self.fn, args, keywords), self._blocks)
        refuse_specs(bound)
        check_place(bound)
        return bound

    def _derivative(self, bound: Bound, value: bool, together: bool = False) -> Derivative:
        with self._lock:
            asked = limit_of_block(self._limit), chosen_target(**self._where)
            known = self._known.setdefault((bound.signature, value, together, thresholds(), *asked), [])
            return valid(known, lambda: self._derive(bound, value, together))

    def _derive(self, bound: Bound, value: bool, together: bool) -> Derivative:
        check_donated(bound, self._donate)
        limit = parse_bytes(settings(memory_limit=self._limit).memory_limit, reusable())
        together = together and self._blocks is None  # all ranks of a distributed program have one objective
        request = Request(resolve_wrt(self.fn, bound, self._wrt, together), self._output, self._reduce,
                          value or self._aux, False, limit, self._plan, self._pins, self._spill,
                          together=together, aux=self._aux)
        return derived_together(self.fn, bound, request, self._source, self._blocks)

    def _repeated(self, args: Sequence[Any], keywords: Mapping[str, Any], value: bool) -> Any:
        """What a call like the last one gives; `UNLIKE` for others."""
        repeat = self._repeats.get((value, chosen_target(**self._where), limit_of_block(self._limit)))
        return UNLIKE if repeat is None else repeat(args, keywords)

    def _remember(self, derivative: Derivative, bound: Bound, value: bool) -> None:
        """Make the next call quick if it is like this one."""
        def find() -> FastCall | None:
            names = Bound(dict.fromkeys(bound.values), {}, ())  # nothing of the arguments may stay alive
            return derivative.repeat(self.fn, bound, self._donate, self._given(derivative, names, value))

        self._repeats[value, chosen_target(**self._where), limit_of_block(self._limit)] = derivative.repeats(find)

    def _given(self, derivative: Derivative, bound: Bound, value: bool) -> Callable[[Any, dict[str, Any]], Any]:
        """From the returned tree and the gradients to what the caller gets."""
        single = isinstance(self._wrt, (str, int)) or (self._wrt is None and len(derivative.request.wrt) == 1)
        request, outputs = derivative.request, derivative.outputs  # not the derivative itself, which remembers this
        absent = absent_of(self._wrt, bound) if request.together else {}

        def give(tree: Any, grads: dict[str, Any]) -> Any:
            gradient = one_or_all({**grads, **absent}, bound, single)
            if request.aux:
                found, aux = tree
                found = _objective(found, request, outputs)
                return ((found, aux), gradient) if value else (gradient, aux)
            return (_objective(tree, request, outputs), gradient) if value else gradient

        return give


class _BoundGradient:
    """The gradient of a bound method, kept with its object; a copy of the object starts without."""

    def __init__(self, made: GradFunction) -> None:
        self.made = made

    def __deepcopy__(self, memo: Any) -> None:
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


def _again(fn: Any, options: dict[str, Any]) -> GradFunction:
    """What was pickled or copied."""
    return GradFunction(fn.fn if isinstance(fn, (GradFunction, Compiled)) else fn, **options)


@overload
def grad(fn: Callable[P, Any], **options: Unpack[GradOptions]) -> GradientOf[P]: ...
@overload
def grad(fn: None = None, **options: Unpack[GradOptions]) -> Callable[[Callable[P, Any]], GradientOf[P]]: ...
def grad(fn: Callable[..., Any] | None = None, *, wrt: Any = None, argnums: Any = None, output: Any = None,
         reduce: str | None = None, has_aux: bool = False, memory_limit: Any = None, device: str | None = None,
         plan: Plan | None = None, donate: Sequence[str] = (), store: Names = (), recompute: Names = (),
         snapshot: Names = (), spill: str | PathLike[str] | None = None, source: str | None = None,
         objective: str | None = None, distribute: Any = None, comm: Any = None, grid: Any = None,
         gather: bool = True, deterministic: bool | None = None, replicated: Any = ()) -> Any:
    """The gradient of a NumPy function, as `@grad`, `@grad(...)` or `grad(f, ...)`.

    wrt: names or positions of arguments, or "p.c", "d['w']", "xs[1]" for what lies in one; by default every floating or
    complex array, or every float where no argument is an array. One name gives one array, several a `Gradients`.
    argnums: the same by position alone, an int or a tuple of ints. output: what is differentiated: the return value,
    the name of an argument updated in place, the position of a returned value, or a tuple of those; other than one real
    scalar it needs reduce="sum". has_aux: the function returns `(objective, aux)`, the call `(gradient, aux)`; aux is
    any container of arrays and numbers, and nothing of it is differentiated. memory_limit: bytes, "4GB", "4GiB" or
    "80%". plan: one made before, followed to the letter. donate: arguments whose arrays may be overwritten. device:
    "cpu" or "gpu", else what the settings say; a memory limit is one of the memory there. deterministic: the same
    digits in every run.

    store, recompute: names of arrays whose old values are stored, or computed again, whatever the planner thinks;
    snapshot: variables of loops that start again from snapshots instead of recording every iteration. One name or
    several. A pin that names nothing is a UsageError, one that breaks the limit a MemoryLimitError that names it.
    spill: a folder for snapshots, which then take no memory and are verified when they come back, and no file outlives
    the call; on a device "host". source: Python text that defines the function, and helpers that it calls, where Python
    itself keeps none, as of what `exec` runs; it is compared with what they run. objective: of a function that several
    ranks call together, whether what they return is one number that all of them have ("same") or parts of a sum
    ("sum"), where that is not plain. replicated: arguments that every rank has alike; each rank gets the sum of their
    gradients over the ranks, equal in every bit. Where they differ: a UsageError.

    distribute: how a function that knows nothing of ranks is cut over those of `comm`, by the names of arrays:
    "replicated", "block" along the first axis, or "block" and None for all axes, on a `grid` of ranks. A rank gives
    whole arrays, of which its block counts, and gets whole results, or its block with gather=False.

    Gradients have the shape and dtype of the argument; complex ones are steepest ascent, dL/dx + i dL/dy. The
    arrays of a call are left alone but for those in donate. An argument that the function updates, or that is given
    away, and that shares memory with another one or with an array from outside is an AliasError; arguments that are
    only read may be one array, and each gets its own partial derivative. Raises UnsupportedError for what cannot be
    differentiated, OutputError where it is not clear what is to be, UsageError for other arguments that do not fit,
    MemoryLimitError when no plan keeps the limit, PlanNotExecutable for the plan of another program, ToolchainError
    without a working compiler.
    """
    options = dict(locals())
    del options["fn"]
    return functools.partial(_gradient_of, **options) if fn is None else _gradient_of(fn, **options)


@shortened
def _gradient_of(fn: Callable[..., Any], **options: Any) -> Any:
    """The gradient of a function, or of its gradient."""
    if not isinstance(fn, GradFunction):
        return GradFunction(fn, **options)
    refuse_options(options)
    check_options(fn.fn, options.get("reduce"), options.get("device"), None)
    wrt = asked_wrt(options.get("wrt"), options.get("argnums"))
    return SecondGradient(fn.differentiated(options.get("device")), wrt=wrt, reduce=options.get("reduce"),
                          value=options.get("value", False))


@overload
def value_and_grad(fn: Callable[P, Any], **options: Unpack[GradOptions]) -> GradientOf[P]: ...
@overload
def value_and_grad(fn: None = None, **options: Unpack[GradOptions]) -> Callable[[Callable[P, Any]], GradientOf[P]]: ...
def value_and_grad(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Like `grad`, with its options and errors, but a call gives `(value, gradient)`.

    The value is what the function returns, or the output that was named; with reduce="sum" it is a float, the
    real part of the sum of all elements of the outputs. With has_aux a call gives `((value, aux), gradient)`.
    """
    check_names("value_and_grad", options, grad)
    make: Callable[..., Any] = functools.partial(_gradient_of, value=True, **options)
    return make if fn is None else make(fn)


value_and_grad.__signature__ = inspect.signature(grad)  # type: ignore[attr-defined]  # for help() and completion


def forward(fn: Callable[P, Any], *, output: Any = None, device: str | None = None, source: str | None = None,
            distribute: Any = None, comm: Any = None, grid: Any = None) -> Callable[P, Any]:
    """The function itself, compiled: same value, shapes and dtypes, arguments left alone. Takes what `grad` takes, and
    refuses the same (UnsupportedError). output: what a call gives instead of the returned value, named as in `grad` and
    of any dtype; OutputError where a function returns nothing and none is named. device, source, distribute, comm,
    grid: as in `grad`; results are whole on all ranks.
    """
    if isinstance(fn, GradFunction):
        if distribute is None:
            distribute, comm, grid = (fn.options[n] for n in ("distribute", "comm", "grid"))
        device, fn = device or fn.options["device"], fn.fn
    return Compiled(fn, source or "", distribute, comm, grid, output, device)


def stop_gradient(x: Any) -> Any:
    """`x` itself; in a differentiated function no derivative flows through it."""
    return x


def _objective(tree: Any, request: Request, outputs: Sequence[View]) -> Any:
    if request.reduce:
        # Sums come in double precision; NumPy's have the precision of what they add up.
        kinds = (np.empty(0, view.dtype).real.dtype for view in outputs)
        return sum(float(kind.type(float(total))) for kind, total in zip(kinds, tree, strict=True))
    return tree[0] if request.output is not None else tree
