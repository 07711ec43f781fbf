"""From a function and its arguments to a compiled derivative: the stages in order, each in its own layer."""
from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from logging import getLogger
from typing import TYPE_CHECKING, Any

import numpy as np

from sdfgad.analysis.elements.cover import of_one_call
from sdfgad.analysis.uniform import Provenance, origin_of
from sdfgad.analysis.verify import verify
from sdfgad.arrays import Spec, lying
from sdfgad.callers import called, warn
from sdfgad.calls.arguments import Bound, about, as_called, windowed
from sdfgad.calls.bindings import Bindings, bindings
from sdfgad.calls.buffers import room
from sdfgad.calls.device_calls import DeviceCall, device_call, handed_on, on_device
from sdfgad.calls.fast_call import FastCall, Memory, Once, fast_call_of
from sdfgad.calls.measure import Usage, check_peak, measured, usage_of
from sdfgad.calls.results import extract, fill
from sdfgad.calls.spill import check_spill
from sdfgad.checkpoint.outlook import Measured
from sdfgad.codegen.compiling.cache import key_of
from sdfgad.codegen.program import Executable, compile_program
from sdfgad.codegen.targets import chosen
from sdfgad.config import thread_count, verifying
from sdfgad.errors import MemoryLimitError, UnusedArgumentWarning
from sdfgad.foreign.device_array import DeviceArray
from sdfgad.frontend import Parsed
from sdfgad.frontend.graphs.called import translated
from sdfgad.garbage import collecting_rarely
from sdfgad.ir.own import has_routines
from sdfgad.ir.program import Program, View
from sdfgad.ir.text import program_text
from sdfgad.ir.verify import SOURCE
from sdfgad.later import later
from sdfgad.locks import own_lock
from sdfgad.plans.alternatives import told
from sdfgad.plans.disk_cache import Found, recalled
from sdfgad.plans.emission import Emission
from sdfgad.plans.fallback import TAPE_FULL, outgrown
from sdfgad.plans.plan import Plan
from sdfgad.plans.planning import Choice
from sdfgad.plans.progress import progress
from sdfgad.plans.ranks import built_in, check_target, part_digest, planned_together, set_share, silent_part, with_share
from sdfgad.plans.recipe import Recipe, arrays_of, distributed, kept_arrays, seen
from sdfgad.plans.request import Request, computed_outputs, resolve_outputs
from sdfgad.reverse.made import Gradient
from sdfgad.rooms import ListOutgrown
from sdfgad.thresholds import thresholds
from sdfgad.transform.cutting.blocks import Distribution, within_window

if TYPE_CHECKING:
    from sdfgad.plans.traffic import traffic_of
    from sdfgad.reverse.written_out import written_out
    from sdfgad.transform.stages import prepare_program
else:
    traffic_of = later("sdfgad.plans.traffic", "traffic_of")
    written_out = later("sdfgad.reverse.written_out", "written_out")
    prepare_program = later("sdfgad.transform.stages", "prepare_program")

_log = getLogger("sdfgad")


@dataclass(eq=False)
class Derivative:
    """A gradient program, ready to be compiled and called."""

    parsed: Parsed
    emission: Emission
    outputs: tuple[View, ...]
    plan: Plan
    request: Request
    choice: Choice = field(repr=False)
    repeats: Once = field(default_factory=Once, repr=False)
    outvoted: bool = False
    """Whether another rank needs the messages of the function."""
    _code: Executable | None = field(default=None, repr=False)
    _origins: dict[frozenset[int], Provenance] = field(default_factory=dict, repr=False)
    batches: dict[int, Derivative] = field(default_factory=dict, repr=False)
    """The same for several seeds at once, by how many."""

    def __post_init__(self) -> None:
        self._lock = own_lock(self)

    @property
    def program(self) -> Program:
        return self.emission.whole

    @property
    def made(self) -> Gradient:
        return self.emission.made

    def compiled(self) -> Executable:
        if self._code is None:
            code = build(self.program, self.keep, self.loose, "the gradient of ")
            if self.request.limit is not None:
                # Growable tapes may use what the plan leaves of the limit.
                code.tape_limit = max(0, self.request.limit - self.plan.predicted.peak_bytes)
            self._code = code
        return self._code

    @cached_property
    def serial(self) -> str:
        """A digest of the program that ranks have parts of; the same on all of them, or their messages do not fit."""
        cut = self.request.distribution
        return "0" if cut is None else part_digest(self.parsed.program, cut, self.plan.decisions, self.plan.modes,
                                                    self.request.wrt, self.outputs)

    @cached_property
    def keep(self) -> tuple[str, ...]:
        """Arrays that outlive the call: gradients, and what the value needs; and those on disk."""
        return kept_arrays(self.made, self.program)

    @property
    def loose(self) -> frozenset[str]:
        """What is seen of the call beside what the function itself returns: gradients, and arguments given away."""
        return frozenset((*self.keep, *self.program.arguments)) - set(arrays_of(self.program.returns))

    def origin(self, whole: frozenset[int]) -> Provenance | None:
        """What the objective depends on; None where seeds are given. whole: handles of communicators of all ranks."""
        if whole not in self._origins and not self.request.seeds:
            self._origins[whole] = origin_of(self.parsed.program, self.outputs, whole)
        return self._origins.get(whole)

    @cached_property
    def silent(self) -> Derivative | None:
        """The same without the messages of the function itself; None where this rank needs what they bring."""
        found = silent_part(Recipe(self.parsed, self.outputs, self.request), self.plan, self.emission)
        return self if found is self.emission else None if found is None else replace(
            self, emission=found, repeats=Once(), _code=None, _origins={})

    @property
    def ready(self) -> Derivative:
        """What is run if the other ranks agree."""
        return self if self.outvoted or self.silent is None else self.silent

    def check(self, bound: Bound, donate: frozenset[str] = frozenset()) -> None:
        """Compile it, and find what a call would find wrong with its arguments."""
        self.ready.compiled()
        self.parsed.check_sharing(bound.leaves, donate)
        if not on_device(bound):  # there it is looked at once, when it is fetched
            self.parsed.check_indices(bound.leaves)

    def seed(self, share: float) -> None:
        """Let the next calls multiply the seed of this rank by a number."""
        set_share(self.parsed.program, share)

    def run(self, bound: Bound, donate: frozenset[str],
            seeds: tuple[np.ndarray, ...] = ()) -> tuple[Any, dict[str, Any]]:
        """The filled returns tree and the gradient of each name of wrt."""
        now, memory = self._call(bound, donate, seeds)
        if self.request.limit is not None:
            check_peak(now._usage(memory, bound, seeds), now.plan.predicted, self.request.limit)
        grads = {n: handed_on(now._gradient(n, memory, bound), bound, n) for n in self.request.wrt}
        return handed_on(fill(now.program.returns, memory), bound), grads

    @cached_property
    def _roomier(self) -> Iterator[tuple[Emission, Plan]]:
        """Programs that leave more of the limit to growable tapes, one for each time that is needed."""
        return self.choice.roomier(self.emission)

    def repeat(self, fn: Callable[..., Any], bound: Bound, donate: frozenset[str],
               give: Callable[[Any, dict[str, Any]], Any]) -> FastCall | None:
        """More calls like that of `bound`; None where every one has to be looked at. give: to the caller, what `run`
        gives."""
        made = {n: self.made.gradients[self.parsed.traced[n]] for n in self.request.wrt}
        found = [(n, m, not self.program.arrays[m].shape) for n, m in made.items() if m is not None]
        if self.request.limit is not None or self.made.seeds or len(found) < len(made):
            return None
        returns = self.program.returns

        def finish(memory: Memory) -> Any:
            grads = {n: memory[m][()] if scalar else memory[m] for n, m, scalar in found}
            return give(fill(returns, memory), grads)

        return fast_call_of(fn, bound, self._places, self.compiled(), donate,
                         (*arrays_of(returns), *(m for _, m, _ in found)), finish)

    def _now(self) -> Derivative:
        """What a call works with: under a limit a copy, as calls of other threads may go on with another program."""
        if self.request.limit is None:
            return self
        with self._lock:
            _ = self._taken, self._places  # once for all calls
            return copy.copy(self)

    def _make_room(self, full: Emission) -> bool:
        """From now on take a program that leaves more of the limit to tapes than `full`; False when there is none."""
        with self._lock:
            if self.emission is not full:  # another thread has been here
                return True
            found = next(self._roomier, None)
            if found is None:
                return False
            _log.info("%s: the tape outgrew the limit, going on with %s", self.program.name, found[1].policy)
            self.emission, plan = found
            self.plan, self._code = told(plan, self.choice, self.emission, self.plan.about), None
            for found_before in ("_places", "_taken", "keep"):
                self.__dict__.pop(found_before, None)
            return True

    def measured(self, bound: Bound, donate: frozenset[str] = frozenset(),
                 seeds: tuple[np.ndarray, ...] = ()) -> Usage:
        """The bytes of all arrays at the peak of one call, which is made for this."""
        now, memory = self._call(bound, donate, seeds)
        return now._usage(memory, bound, seeds)

    def timed(self, bound: Bound, donate: frozenset[str] = frozenset()) -> Measured:
        """The same with the time that the call took, and what it has asked of a graphics processor."""
        began = time.perf_counter()
        now, memory = self._call(bound, donate, ())
        call = device_call(now.compiled(), bound)
        if call is not None:
            call.memory.wait()
        return measured(now._usage(memory, bound, ()), time.perf_counter() - began, now.compiled())

    def _call(self, bound: Bound, donate: frozenset[str],
              seeds: tuple[np.ndarray, ...]) -> tuple[Derivative, dict[str, np.ndarray]]:
        """What made a call, with snapshots when a tape has outgrown the limit, and the arrays after it."""
        self.parsed.check_sharing(bound.leaves, donate)
        while True:
            now = self._now()
            try:
                return now, now.execute(bound, donate, seeds)
            except ListOutgrown as full:
                full.final = bool(donate)
                raise
            except MemoryLimitError as error:
                if error.code != TAPE_FULL or self.request.limit is None:
                    raise
                if donate or not self._make_room(now.emission):
                    if error.limit_bytes is None:  # the system has no more
                        raise
                    raise outgrown(now.plan, now.emission, now.compiled().tape_needed, self.request.limit,
                                   bool(donate)) from error

    def execute(self, bound: Bound, donate: frozenset[str], seeds: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
        code = self.compiled()
        if self.request.limit is not None:
            # What lies free beside the call would break the limit as well.
            room().trim(self._taken)
        given = dict(zip(self.made.seeds, seeds, strict=True))
        call = device_call(code, bound, donate, {f"seed {k}": s for k, s in enumerate(seeds)})
        if call is None:
            memory = self._places.fill(bound, donate, self.request.spill) | given
        else:
            memory = self._places.fill_there(bound, donate, call) | call.directions(code, self.program.arrays, given)
        execute(code, {**memory, **bound.outside}, call)
        return memory

    @cached_property
    def _places(self) -> Bindings:
        return bindings(self.program, self.parsed, self.keep, self.compiled().written)

    @cached_property
    def _taken(self) -> list[int]:
        """Sizes of the buffers that a call takes."""
        return [self.program.arrays[n].bytes for n in {*self.keep, *self.compiled().written}]

    def _usage(self, memory: Mapping[str, np.ndarray], bound: Bound, seeds: tuple[np.ndarray, ...]) -> Usage:
        given = {array: windowed(bound.leaves[leaf], self.program.arrays.get(array))
                 for leaf, array in self.parsed.traced.items()}
        held = {n: v for n, v in memory.items() if self.program.arrays[n].role != "disk"}
        return usage_of(self.compiled(), held, {**given, **dict(zip(self.made.seeds, seeds, strict=True))})

    def _gradient(self, name: str, memory: Mapping[str, np.ndarray], bound: Bound) -> Any:
        made, cut = self.made.gradients[self.parsed.traced[name]], self.request.distribution
        if cut is not None and not cut.gather and name in cut.axes:
            own = cut.own(name, bound.leaves[name].shape)
            return np.zeros([s.stop - s.start for s in own], bound.leaves[name].dtype) if made is None else memory[
                made][within_window(own, self.program.arrays[made])]
        if made is not None:
            return memory[made] if memory[made].shape else memory[made][()]
        if not self.request.together:  # that of another rank may
            warn(f"the output does not depend on {name!r}: its gradient is zero", UnusedArgumentWarning)
        value = bound.leaves[name]
        value = value if isinstance(value, Spec) else np.asarray(value)
        shape = value.shape if self.request.batch is None else (self.request.batch, *value.shape)
        if isinstance(value, DeviceArray) and (call := device_call(self.compiled(), bound)) is not None:
            return call.memory.zeros(shape, value.dtype)
        return np.zeros(shape, value.dtype) if shape else value.dtype.type(0)

    def of_several(self, batch: int) -> Derivative:
        """The same for so many seeds at once: one program, which goes through the function once."""
        request = replace(self.request, batch=batch)
        choice, found, plan = planned_together(Recipe(self.parsed, self.outputs, request))
        return Derivative(self.parsed, found, self.outputs, told(plan, choice, found, self.plan.about), request, choice)


def translation(fn: Callable[..., Any], bound: Bound, source: str = "", own_rules: bool = True) -> Parsed:
    """A Python function, or a graph of DaCe, as a program."""
    return translated(fn, *as_called(fn, bound), source, own_rules)


def parsed_call(fn: Callable[..., Any], bound: Bound, source: str, own_rules: bool = True) -> Parsed:
    """What the front end makes of a call."""
    parsed = translation(fn, bound, source, own_rules)
    program = of_one_call(parsed.program)
    program = written_out(program) if has_routines(program.body) else program
    verify(program, "parse", SOURCE, verifying())
    check_target(program)
    return replace(parsed, program=program)


@collecting_rarely()
def derive(fn: Callable[..., Any], bound: Bound, request: Request, source: str = "") -> Derivative:
    """Parse, normalise, reverse, remove dead code and plan, or remember what that gave; nothing is compiled yet.

    source: here and below the text of functions whose own is nowhere.
    """
    with progress(f"planning the gradient of {called(fn)}"):
        check_spill(request.spill)
        parsed = parsed_call(fn, bound, source)
        parsed, outputs = resolve_outputs(parsed, request)
        parsed = with_share(parsed) if request.together and not request.seeds else parsed
        cut, request = request.distribution, replace(request, lying=lying(bound.leaves))
        choice, found, plan = planned_together(Recipe(parsed, outputs, request))
        plan = told(plan, choice, found, replace(about(fn, bound, request.wrt), traffic=None if cut is None else
                                                 traffic_of(found, cut), work=chosen().work(found.whole)))
    return Derivative(parsed, found, outputs, plan, request, choice)


@collecting_rarely()
def build(program: Program, results: tuple[str, ...], loose: frozenset[str] = frozenset(),
          what: str = "") -> Executable:
    """Compile a program, or load it from the cache. loose: what may differ in its last digits. what: it is of the
    function it is named after, for people who wait."""
    started = time.perf_counter()
    if verifying():
        verify(program, "everything")
    constants = [(n, a.dtype.str, a.shape, a.tobytes()) for n, a in sorted(program.constants.items())
                 if built_in(program, n)]
    key = key_of(program_text(program), results, constants, repr(thresholds()))
    with progress(f"compiling {what}{program.name}"):
        code = compile_program(program, results=results, key=key, loose=loose)
    _log.info("%s compiled or loaded in %.2f s", program.name, time.perf_counter() - started)
    return code


def execute(code: Executable, memory: Mapping[str, Any], call: DeviceCall | None = None) -> None:
    code.threads = thread_count()
    if call is None:
        code(memory)
    else:
        call.run(code, memory)


@dataclass
class Primal:
    """The program itself, compiled. outputs: views of what was asked for besides the value of the call. serial: as that
    of a `Derivative`."""

    parsed: Parsed
    program: Program
    code: Executable
    outputs: tuple[View, ...] = ()
    serial: str = "0"
    repeats: Once = field(default_factory=Once, repr=False)

    @cached_property
    def _places(self) -> Bindings:
        return bindings(self.program, self.parsed, seen(self.program, self.outputs), self.code.written)

    def run(self, bound: Bound, donate: frozenset[str]) -> tuple[Any, list[Any]]:
        self.parsed.check_sharing(bound.leaves, donate)
        call = device_call(self.code, bound, donate)
        memory = self._places.fill(bound, donate) if call is None else self._places.fill_there(bound, donate, call)
        execute(self.code, memory, call)
        return handed_on(fill(self.program.returns, memory), bound), handed_on(
            [extract(v, memory) for v in self.outputs], bound)

    def repeat(self, fn: Callable[..., Any], bound: Bound, give: Callable[..., Any]) -> FastCall | None:
        """More calls like that of `bound`, or None as for a `Derivative`; give: to the caller, what `run` gives."""
        def finish(memory: Memory) -> Any:
            return give(fill(self.program.returns, memory), [extract(v, memory) for v in self.outputs])

        return fast_call_of(fn, bound, self._places, self.code, (), seen(self.program, self.outputs), finish)


@collecting_rarely()
def primal(fn: Callable[..., Any], bound: Bound, output: Any = None, source: str = "",
           distribution: Distribution | None = None) -> Primal:
    """The compiled program without derivatives; `output` names what is wanted besides its value."""
    parsed = parsed_call(fn, bound, source, own_rules=False)
    parsed, outputs = computed_outputs(parsed, output)

    def search() -> Found[Program]:
        found = prepare_program(parsed.program, outputs)
        return Found(chosen().optimised(found if distribution is None else distributed(
            found, distribution, parsed.traced)))

    program = recalled("program", (parsed.program, outputs, distribution), search, parsed.program.constants)
    serial = "0" if distribution is None else part_digest(parsed.program, distribution)
    return Primal(parsed, program, build(program, seen(program, outputs)), outputs, serial)
