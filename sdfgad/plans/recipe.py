"""How the gradient programs of one function are made: what a plan decides goes in, a program comes out."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sdfgad.analysis.verify import verify
from sdfgad.checkpoint.modes import Mode
from sdfgad.codegen.compiling.cache import key_of
from sdfgad.codegen.targets import chosen
from sdfgad.config import thread_count, verifying
from sdfgad.cores import usable_cores
from sdfgad.errors import unsupported
from sdfgad.frontend import Parsed
from sdfgad.ir.program import Program, View, views_of
from sdfgad.ir.text import program_text
from sdfgad.ir.verify import DERIVED
from sdfgad.later import later
from sdfgad.plans.copies import argument_copies
from sdfgad.plans.emission import Emission, Finished
from sdfgad.plans.planning import Choice
from sdfgad.plans.request import Request, keeping_share, share_of
from sdfgad.reverse.made import Gradient, ReverseRequest
from sdfgad.transform.cutting.blocks import Distribution
from sdfgad.transform.passes import applied

if TYPE_CHECKING:
    from sdfgad.reverse.inversion import worth_undoing
    from sdfgad.reverse.preaccumulate import preaccumulate
    from sdfgad.reverse.problem import problem_of
    from sdfgad.reverse.recorded import record_copies, record_factors
    from sdfgad.reverse.sweeps import gradient
    from sdfgad.rules.linearise import without_partials
    from sdfgad.transform.cutting.cut import cut_over_ranks
    from sdfgad.transform.dropping.messages import without_messages
    from sdfgad.transform.products.share_factors import share_factors
    from sdfgad.transform.stages import TRIM, prepare_program
else:
    worth_undoing = later("sdfgad.reverse.inversion", "worth_undoing")
    preaccumulate = later("sdfgad.reverse.preaccumulate", "preaccumulate")
    problem_of = later("sdfgad.reverse.problem", "problem_of")
    record_copies = later("sdfgad.reverse.recorded", "record_copies")
    record_factors = later("sdfgad.reverse.recorded", "record_factors")
    gradient = later("sdfgad.reverse.sweeps", "gradient")
    without_partials = later("sdfgad.rules.linearise", "without_partials")
    cut_over_ranks = later("sdfgad.transform.cutting.cut", "cut_over_ranks")
    without_messages = later("sdfgad.transform.dropping.messages", "without_messages")
    share_factors = later("sdfgad.transform.products.share_factors", "share_factors")
    TRIM = later("sdfgad.transform.stages", "TRIM")
    prepare_program = later("sdfgad.transform.stages", "prepare_program")


@dataclass(frozen=True)
class Recipe:
    """A translated function, the outputs to differentiate, and what is asked. Nothing is computed before it is needed.

    slopes: whether loops may carry their derivatives along. Who says what is stored gets loops as they are written.
    silent: without the messages of the function, which the derivative does not need then. in_turn: several seeds are
    pulled back one after the other.
    """

    parsed: Parsed
    outputs: tuple[View, ...]
    request: Request
    slopes: bool = True
    silent: bool = False
    in_turn: bool = False

    @cached_property
    def reverse_request(self) -> ReverseRequest:
        request = self.request
        return ReverseRequest(tuple(self.parsed.traced[n] for n in request.wrt), self.outputs,
                              "arguments" if request.seeds else "ones", request.value, request.reduce is not None,
                              request.spill is not None, share_of(self.parsed.program), request.aux, request.batch,
                              self.in_turn)

    @cached_property
    def normal(self) -> Program:
        """The program as the sweeps take it. The value of a reduced objective is made of the outputs; of a plain one it
        is what the function returns."""
        program = prepare_program(self.parsed.program, self.outputs)
        reduced = self.request.reduce or self.request.output is not None
        if self.request.aux:
            objective, aux = program.returns
            program = program.but(returns=(tuple(self.outputs) if reduced else objective, aux))
        elif reduced:
            program = program.but(returns=tuple(self.outputs))
        program = program.but(live_out=frozenset(seen(program, self.outputs)))
        program = keeping_share(program, self.parsed.program)
        if self.slopes and not self.request.pins:
            program = applied(preaccumulate, program, self.reverse_request)
        program = applied(record_copies, program, self.reverse_request)
        return applied(record_factors, program, self.reverse_request)

    def of_rank(self, rank: int) -> Recipe:
        """The recipe of another rank of a distributed program."""
        cut = self.request.distribution
        if cut is None or cut.rank == rank:
            return self
        return replace(self, request=replace(self.request, distribution=replace(cut, rank=rank)))

    @cached_property
    def code(self) -> str:
        """What tells this recipe from others, for plans that are read back."""
        return key_of(program_text(self.normal), repr(self.reverse_request), *([repr(cut)] if (
            cut := self.request.distribution) is not None else []))

    @cached_property
    def everything(self) -> tuple[Any, ...]:
        """All that decides what the search for the best program finds, this package and the machine aside."""
        request = self.request
        return (self.parsed.program, self.reverse_request, request.reduce, request.output is not None, request.limit,
                dict(sorted(request.pins.items())), workers(), self.slopes, request.distribution, self.silent,
                dict(sorted(request.lying.items())))

    def choice(self) -> Choice:
        """The search for the best of these programs."""
        request = self.request
        limit = chosen().memory() if request.limit is None else request.limit
        return Choice(self.emit, self.forward, self.undoable, limit, request.pins, request.spill is not None)

    def emit(self, recompute: frozenset[str], modes: Mapping[str, Mode], undone: frozenset[str]) -> Emission:
        made = gradient(self.normal, self.reverse_request, recompute, modes, undone)
        verify(made.program, "gradient", DERIVED, verifying())
        return Emission(made, modes, self.finish)

    def undoable(self, barred: frozenset[str], bold: bool) -> frozenset[str]:
        return worth_undoing(self.normal, *self.reverse_request.sets(self.normal), barred, bold)

    def finish(self, made: Gradient) -> Finished:
        target = chosen()
        program = made.program.but(live_out=frozenset(kept_arrays(made, made.program)))
        trimmed = TRIM((self.silent and without_messages(program)) or program)
        whole = target.optimised(self._cut(trimmed, made))
        whole = applied(share_factors, whole, self.normal.arrays)
        verify(whole, "share_factors", thorough=verifying())
        held = target.footprint(whole, kept_arrays(made, whole), workers())
        if not target.on_device:
            held = replace(held, always={**held.always,
                                         **argument_copies(whole, self.parsed, self.request)})
        return Finished(whole, problem_of(self.parsed.program, whole, made, held, self.code), held)

    def _cut(self, trimmed: Program, made: Gradient) -> Program:
        """The part of this rank, where the program is distributed."""
        if self.request.distribution is None:
            return trimmed
        traced = self.parsed.traced
        gradients = {g: traced[n] for n in self.request.wrt if (g := made.gradients[traced[n]]) is not None}
        return distributed(trimmed, self.request.distribution, traced, gradients)

    def forward(self) -> Program:
        """The program without its derivative."""
        seen = (v.array for v in (*self.outputs, *views_of(self.normal.returns)))
        program = self.normal.but(body=without_partials(self.normal.body),
                                  live_out=frozenset((*seen, *self.normal.watched)))
        if self.request.distribution is not None:
            program = distributed(program, self.request.distribution, self.parsed.traced)
        return chosen().optimised(program)


def distributed(program: Program, wanted: Distribution, traced: Mapping[str, str],
                gradients: Mapping[str, str] = MappingProxyType({})) -> Program:
    """The part of one rank of a serial program. traced: arrays by the names of arguments; gradients: arrays that lie as
    those of arguments do. Results are gathered where that is wanted."""
    if chosen().name != "cpu":
        raise unsupported(program.source, f"a distributed program on the target {chosen().name!r}",
                          'distributed programs run with device="cpu"', "SG124")
    axes = {traced[n]: cut for n, cut in wanted.axes.items()}
    alike = {g: array for g, array in gradients.items() if array in axes}
    results = (*(g for g in gradients if wanted.gather or g not in alike), *arrays_of(program.returns))
    return applied(cut_over_ranks, program, replace(wanted, axes=axes, alike=alike), results)


def workers() -> int:
    """Threads that share the work."""
    return thread_count() or usable_cores()


def kept_arrays(made: Gradient, program: Program) -> tuple[str, ...]:
    """Arrays the native code gets from outside, besides arguments."""
    # Programs of a device hold snapshots in memory of the host that they take themselves.
    on_disk = () if chosen().on_device else (n for n, a in program.arrays.items() if a.role == "disk")
    return tuple(dict.fromkeys((*made.results, *arrays_of(program.returns), *program.watched, *on_disk)))


def arrays_of(tree: Any) -> tuple[str, ...]:
    """The arrays that the views in a tree show."""
    return tuple(dict.fromkeys(v.array for v in views_of(tree)))


def seen(program: Program, outputs: Iterable[View]) -> tuple[str, ...]:
    """The arrays that a call without derivatives leaves behind."""
    return tuple(dict.fromkeys((*arrays_of(program.returns), *(v.array for v in outputs), *program.watched)))
