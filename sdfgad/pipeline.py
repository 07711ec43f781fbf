"""From a function and its arguments to a compiled derivative: the stages in order, each in its own layer."""
from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from logging import getLogger
from typing import Any

import numpy as np

from sdfgad.arguments import Bound, about, as_called, as_input
from sdfgad.buffers import room
from sdfgad.checkpoint.modes import Mode
from sdfgad.checkpoint.plan import Plan
from sdfgad.codegen.cache import key_of
from sdfgad.codegen.footprint import held_by
from sdfgad.codegen.program import Executable, compile_program
from sdfgad.config import thread_count
from sdfgad.errors import MemoryLimitError, PlanNotExecutable, UnusedArgumentWarning
from sdfgad.frontend import Parsed, parse
from sdfgad.ir.program import Program, View
from sdfgad.ir.text import program_text
from sdfgad.measure import Usage, check_peak, usage_of
from sdfgad.memory import format_bytes
from sdfgad.planning import Choice, Emission, Finished
from sdfgad.prospects import told
from sdfgad.results import extract, fill
from sdfgad.reverse.forward_mode import tangent
from sdfgad.reverse.inversion import worth_undoing
from sdfgad.reverse.problem import problem_of
from sdfgad.reverse.recorded_copies import record_copies
from sdfgad.reverse.storage import views_of
from sdfgad.reverse.sweeps import Gradient, Request, gradient
from sdfgad.spill import on_disk
from sdfgad.transform.alternate import alternate
from sdfgad.transform.block_loops import block_loops
from sdfgad.transform.bounds import bound_loops
from sdfgad.transform.broadcasts import propagate_broadcasts
from sdfgad.transform.carry_values import carry_values
from sdfgad.transform.clear_behind import clear_behind
from sdfgad.transform.clear_first import clear_first
from sdfgad.transform.collapse import collapse_equal_rows
from sdfgad.transform.collect import collect_sums
from sdfgad.transform.contract import contract
from sdfgad.transform.dead import remove_dead_code
from sdfgad.transform.direct_sums import sum_directly
from sdfgad.transform.distribute import distribute_sweeps
from sdfgad.transform.fuse import fuse_pointwise
from sdfgad.transform.hoist import hoist_invariants
from sdfgad.transform.jam_sweeps import jam_sweeps
from sdfgad.transform.join_pointwise import join_pointwise
from sdfgad.transform.join_updates import join_updates
from sdfgad.transform.joined_sums import join_sums
from sdfgad.transform.kept_powers import divide_kept_powers
from sdfgad.transform.known_zeros import assign_to_zeros
from sdfgad.transform.lines import line_up
from sdfgad.transform.made_matrices import multiply_as_made
from sdfgad.transform.masked_products import guard_masked_products
from sdfgad.transform.masks import inline_masks, number_scalars
from sdfgad.transform.merge_products import merge_products
from sdfgad.transform.name_versions import name_versions
from sdfgad.transform.normalise import normalise
from sdfgad.transform.orient import orient_temporaries
from sdfgad.transform.overwritten import remove_overwritten
from sdfgad.transform.pack import pack
from sdfgad.transform.parallelise import parallelise
from sdfgad.transform.part_versions import part_versions
from sdfgad.transform.product_sums import sum_products
from sdfgad.transform.ragged import merge_ragged
from sdfgad.transform.row_sums import split_with_sums
from sdfgad.transform.scales import fold_scales
from sdfgad.transform.share_factors import share_factors
from sdfgad.transform.shared_values import share_values
from sdfgad.transform.streams import stream_products
from sdfgad.transform.strip_lines import line_strips
from sdfgad.transform.sum_nests import factorise_sums
from sdfgad.transform.sum_pieces import sum_pieces
from sdfgad.transform.sums_in_place import sum_in_place
from sdfgad.transform.tables import tabulate
from sdfgad.transform.tabulate_rows import tabulate_rows
from sdfgad.transform.thin_products import write_out_products
from sdfgad.transform.triangles import narrow_triangles
from sdfgad.transform.turn_sums import turn_sums
from sdfgad.transform.unread import remove_unread_stores, remove_unseen_copies
from sdfgad.transform.write_ahead import write_ahead
from sdfgad.transform.zeroing import fold_zeroing
from sdfgad.trees import contents, mapped
from sdfgad.wish import Wish, resolve_outputs

_log = getLogger("sdfgad")

TAPE_FULL = "SG302"
"""Code of the error of a growable tape that reached its limit."""


@dataclass
class Derivative:
    """A gradient program, ready to be compiled and called."""

    parsed: Parsed
    emission: Emission
    outputs: tuple[View, ...]
    plan: Plan
    wish: Wish
    choice: Choice = field(repr=False)
    _code: Executable | None = field(default=None, repr=False)

    @property
    def program(self) -> Program:
        return self.emission.whole

    @property
    def made(self) -> Gradient:
        return self.emission.made

    def compiled(self) -> Executable:
        if self._code is None:
            self._code = build(self.program, self.keep, self._loose)
            if self.wish.limit is not None:
                # Growable tapes may use what the plan leaves of the limit.
                self._code.tape_limit = max(0, self.wish.limit - self.plan.predicted.peak_bytes)
        return self._code

    @cached_property
    def keep(self) -> tuple[str, ...]:
        """Arrays that outlive the call: gradients, and what the value needs; and those on disk."""
        return _kept_arrays(self.made, self.program)

    @property
    def _loose(self) -> frozenset[str]:
        """What is seen of the call beside what the function itself returns: gradients, and arguments given away."""
        return frozenset((*self.keep, *self.program.arguments)) - set(_arrays_of(self.program.returns))

    def run(self, bound: Bound, donate: frozenset[str],
            seeds: tuple[np.ndarray, ...] = ()) -> tuple[Any, dict[str, Any]]:
        """The filled returns tree and the gradient of each name of wrt."""
        memory = self._call(bound, donate, seeds)
        if self.wish.limit is not None:
            check_peak(self._usage(memory, bound, seeds), self.plan.predicted, self.wish.limit)
        grads = {n: self._gradient(n, memory, bound) for n in self.wish.wrt}
        return fill(self.program.returns, memory), grads

    def _take_snapshots(self) -> bool:
        """Go on with a program whose loops of unknown length keep snapshots instead of everything, from now on."""
        found = self.choice.online(self.emission)
        if found is None:
            return False
        _log.info("%s: the tape outgrew the limit, going on with snapshots", self.program.name)
        self.emission, plan = found
        self.plan, self._code = told(plan, self.choice, self.emission, self.plan.about), None
        for found_before in ("_taken", "keep"):
            self.__dict__.pop(found_before, None)
        return True

    def measured(self, bound: Bound, donate: frozenset[str] = frozenset(),
                 seeds: tuple[np.ndarray, ...] = ()) -> Usage:
        """The bytes of all arrays at the peak of one call, which is made for this."""
        return self._usage(self._call(bound, donate, seeds), bound, seeds)

    def _call(self, bound: Bound, donate: frozenset[str], seeds: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
        """The arrays of one call, after it; with snapshots when a tape has outgrown the limit."""
        while True:
            try:
                return self._execute(bound, donate, seeds)
            except MemoryLimitError as error:
                if error.code != TAPE_FULL or donate or not self._take_snapshots():
                    raise

    def _execute(self, bound: Bound, donate: frozenset[str], seeds: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
        code = self.compiled()
        if self.wish.limit is not None:
            # What lies free beside the call would break the limit as well.
            room().trim(self._taken)
        memory = prepare(self.program, self.parsed, bound, donate, self.keep, code.written, self.wish.spill)
        memory.update(zip(self.made.seeds, seeds, strict=True))
        _execute(code, memory)
        return memory

    @cached_property
    def _taken(self) -> list[int]:
        """Sizes of the buffers that a call takes."""
        return [self.program.arrays[n].bytes for n in {*self.keep, *self.compiled().written}]

    def _usage(self, memory: Mapping[str, np.ndarray], bound: Bound, seeds: tuple[np.ndarray, ...]) -> Usage:
        given = {array: bound.leaves[leaf] for leaf, array in self.parsed.traced.items()}
        held = {n: v for n, v in memory.items() if self.program.arrays[n].role != "disk"}
        return usage_of(self.compiled(), held, {**given, **dict(zip(self.made.seeds, seeds, strict=True))})

    def _gradient(self, name: str, memory: Mapping[str, np.ndarray], bound: Bound) -> Any:
        made = self.made.gradients[self.parsed.traced[name]]
        if made is not None:
            return memory[made] if memory[made].shape else memory[made][()]
        warnings.warn(f"the output does not depend on {name!r}: its gradient is zero", UnusedArgumentWarning,
                      stacklevel=4)
        value = np.asarray(bound.leaves[name])
        return np.zeros(value.shape, value.dtype)[()] if not value.shape else np.zeros(value.shape, value.dtype)


def derive(fn: Callable[..., Any], bound: Bound, wish: Wish) -> Derivative:
    """Parse, normalise, reverse, remove dead code and plan; nothing is compiled yet."""
    parsed = parse(fn, *as_called(fn, bound))
    outputs = resolve_outputs(parsed, wish)
    program = prepare_program(parsed.program, outputs)
    request = Request(tuple(parsed.traced[n] for n in wish.wrt), outputs, "arguments" if wish.seeds else "ones",
                      wish.value, wish.reduce is not None, wish.spill is not None)

    returning = record_copies(_returning(program, outputs, wish), request)
    code = key_of(program_text(returning), repr(request))

    def emit(recompute: frozenset[str], modes: Mapping[str, Mode], undone: frozenset[str]) -> Emission:
        return Emission(gradient(returning, request, recompute, modes, undone), modes, finish)

    def undoable(barred: frozenset[str], bold: bool) -> frozenset[str]:
        return worth_undoing(returning, *request.sets(returning), barred, bold)

    def finish(made: Gradient) -> Finished:
        whole = share_factors(tidy(made.program, _kept_arrays(made, made.program)), returning.arrays)
        held = held_by(whole, _kept_arrays(made, whole), thread_count() or os.cpu_count() or 1)
        return Finished(whole, problem_of(parsed.program, whole, made, held, code), held)

    def forward() -> Program:
        return optimise(returning, tuple(v.array for v in (*outputs, *views_of(returning.returns))))

    choice = Choice(emit, forward, undoable, wish.limit, wish.pins, wish.spill is not None)
    found, plan = _replayed(choice, wish.plan, code) if wish.plan is not None else choice.best()
    plan = told(plan, choice, found, about(fn, bound, wish.wrt))
    return Derivative(parsed, found, outputs, plan, wish, choice)


def _kept_arrays(made: Gradient, program: Program) -> tuple[str, ...]:
    """Arrays the native code gets from outside, besides arguments."""
    on_disk = (n for n, a in program.arrays.items() if a.role == "disk")
    return tuple(dict.fromkeys((*made.results, *_arrays_of(program.returns), *on_disk)))


def _replayed(choice: Choice, plan: Plan, code: str) -> tuple[Emission, Plan]:
    """The program a plan asks for, to the letter."""
    if plan.problem.code != code:
        raise PlanNotExecutable(f"this is a plan for {plan.problem.target} with other shapes, types or code",
                                help="make the plan anew with the arguments of the call")
    found = choice.emit(plan.recomputed, plan.modes, plan.undone)
    if choice.limit is not None and found.peak > choice.limit:
        raise MemoryLimitError(f"the plan needs {format_bytes(found.peak)}, the limit is {format_bytes(choice.limit)}",
                               minimum_bytes=found.peak, limit_bytes=choice.limit)
    return found, plan


def prepare_program(program: Program, outputs: tuple[View, ...]) -> Program:
    """The program as the derivative sees it: temporaries fused away, loops that are maps as maps, then normal form."""
    seen = {v.array for v in (*outputs, *views_of(program.returns))}
    program = multiply_as_made(factorise_sums(bound_loops(tabulate(program, seen)), seen), seen)
    program = inline_masks(fuse_pointwise(program, seen), seen)
    program = sum_in_place(number_scalars(parallelise(program, seen), seen), seen)
    program = narrow_triangles(part_versions(share_values(fuse_pointwise(program, seen), seen), seen), seen)
    return collapse_equal_rows(hoist_invariants(normalise(program), seen), seen)


def tidy(program: Program, keep: tuple[str, ...]) -> Program:
    """The gradient program without what nobody asked for: dead code, clearings, matrices that are broadcast vectors."""
    program = fold_zeroing(write_out_products(remove_unread_stores(remove_dead_code(program, keep), keep)), keep)
    program = remove_dead_code(remove_overwritten(propagate_broadcasts(program)), keep)
    return optimise(write_ahead(program, keep), keep)


def optimise(program: Program, keep: tuple[str, ...]) -> Program:
    """What every program gets last, derivative or not. `keep`: arrays somebody reads afterwards."""
    program = name_versions(fuse_pointwise(write_out_products(tabulate(program, keep)), keep), keep)
    program = contract(fold_scales(remove_dead_code(program, keep), keep))
    program = stream_products(guard_masked_products(merge_products(program)))
    program = sum_directly(remove_dead_code(propagate_broadcasts(program), keep), keep)
    program = fuse_pointwise(sum_products(program, keep), keep)
    program = clear_first(remove_dead_code(fold_zeroing(program, keep), keep))
    program = collect_sums(merge_ragged(remove_dead_code(fold_zeroing(remove_overwritten(program), keep), keep)))
    program = orient_temporaries(clear_behind(distribute_sweeps(tabulate_rows(program)), keep), keep)
    program = join_sums(split_with_sums(program, keep))
    program = line_strips(remove_unseen_copies(join_pointwise(program, keep), keep))
    program = divide_kept_powers(join_updates(turn_sums(program)))
    # From here on sums that an assignment begins no longer change places with others.
    program = remove_overwritten(assign_to_zeros(program))
    pieces = sum_pieces(program)
    program = program if pieces is program else join_pointwise(pieces, keep)
    program = line_up(alternate(program, keep))
    return jam_sweeps(carry_values(block_loops(pack(program, keep))), keep)


def _returning(program: Program, outputs: tuple[View, ...], wish: Wish) -> Program:
    """The value of a reduced objective is made of the outputs; of a plain one it is what the function returns."""
    return program.but(returns=tuple(outputs)) if wish.reduce or wish.output is not None else program


def _arrays_of(tree: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(v.array for v in views_of(tree)))


def build(program: Program, results: tuple[str, ...], loose: frozenset[str] = frozenset()) -> Executable:
    """Compile a program, or load it from the cache. loose: what may differ in its last digits."""
    started = time.perf_counter()
    constants = [(n, a.dtype.str, a.shape, a.tobytes()) for n, a in sorted(program.constants.items())]
    key = key_of(program_text(program), results, constants)
    code = compile_program(program, results=results, key=key, loose=loose)
    _log.info("%s compiled or loaded in %.2f s", program.name, time.perf_counter() - started)
    return code


def prepare(program: Program, parsed: Parsed, bound: Bound, donate: frozenset[str],
            results: tuple[str, ...], written: frozenset[str], spill: str | None = None) -> dict[str, np.ndarray]:
    """The arrays of one call: inputs (copied when written), and room for results and on disk."""
    parsed.check_indices(bound.leaves)
    memory: dict[str, np.ndarray] = {}
    for leaf, array in parsed.traced.items():
        if array not in program.arrays:
            continue
        a = program.arrays[array]
        copy = array in written and leaf not in donate
        memory[array] = as_input(bound.leaves[leaf], a, room().empty(a.shape, a.dtype) if copy else None)
    for name in results:
        if name not in memory:
            a = program.arrays[name]
            memory[name] = on_disk(a, spill) if a.role == "disk" else room().empty(a.shape, a.dtype)
    return memory


def _execute(code: Executable, memory: Mapping[str, np.ndarray]) -> None:
    code.threads = thread_count()
    code(memory)


@dataclass
class Primal:
    """The program itself, compiled. outputs: views of what was asked for besides the value of the call."""

    parsed: Parsed
    program: Program
    code: Executable
    outputs: tuple[View, ...] = ()

    def run(self, bound: Bound, donate: frozenset[str]) -> tuple[Any, list[Any]]:
        keep = tuple(dict.fromkeys((*_arrays_of(self.program.returns), *(v.array for v in self.outputs))))
        memory = prepare(self.program, self.parsed, bound, donate, keep, self.code.written)
        _execute(self.code, memory)
        return fill(self.program.returns, memory), [extract(v, memory) for v in self.outputs]


def primal(fn: Callable[..., Any], bound: Bound, output: Any = None) -> Primal:
    """The compiled program without derivatives; `output` names what is wanted besides its value."""
    parsed = parse(fn, *as_called(fn, bound))
    outputs = () if output is None else resolve_outputs(parsed, Wish((), output, "sum"))
    keep = tuple(dict.fromkeys((*_arrays_of(parsed.program.returns), *(v.array for v in outputs))))
    mutated = tuple(n for n in parsed.program.arguments if n in parsed.mutated)
    program = optimise(prepare_program(parsed.program, outputs), (*keep, *mutated))
    return Primal(parsed, program, build(program, keep), outputs)


@dataclass
class Pushforward:
    """The forward-mode program, compiled."""

    parsed: Parsed
    program: Program
    returns: Any
    tangents: Mapping[str, str | None]
    code: Executable

    def run(self, bound: Bound, given: Mapping[str, np.ndarray]) -> tuple[Any, Any]:
        keep = _arrays_of((self.program.returns, self.returns))
        memory = prepare(self.program, self.parsed, bound, frozenset(), keep, self.code.written)
        for leaf, name in self.tangents.items():
            if name is not None and name in self.program.arrays:
                a = self.program.arrays[name]
                memory[name] = as_input(given[leaf], a, room().empty(a.shape, a.dtype))
        _execute(self.code, memory)
        return fill(self.program.returns, memory), fill(self.returns, memory)


def pushforward(fn: Callable[..., Any], bound: Bound, wrt: tuple[str, ...], output: Any = None) -> Pushforward:
    """The compiled tangent program with respect to the leaves named, of the outputs named or the returned value."""
    parsed = parse(fn, *as_called(fn, bound))
    program = parsed.program
    if output is not None:
        views = resolve_outputs(parsed, Wish((), output, "sum"))
        program = program.but(returns=views if isinstance(output, (tuple, list)) else views[0])
    program = prepare_program(program, ())
    made = tangent(program, tuple(parsed.traced[n] for n in wrt))
    returns = _tangent_tree(program.returns, made.view)
    keep = _arrays_of((program.returns, returns))
    whole = optimise(made.program, keep)
    names = {n: made.arguments[parsed.traced[n]] for n in wrt}
    return Pushforward(parsed, whole, returns, names, build(whole, keep))


def _tangent_tree(tree: Any, view: Callable[[View], View | None]) -> Any:
    if contents(tree) is not None:
        return mapped(lambda t: _tangent_tree(t, view), tree)
    if not isinstance(tree, View):
        return 0.0 if isinstance(tree, float) else None
    found = view(tree)
    shape = tuple(n.const or 0 for n in tree.shape)
    return np.zeros(shape, tree.dtype) if found is None else found
