"""Calls that ranks make together: nobody sends anything before all are ready, and nobody waits for one that failed."""
from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from sdfgad.calls.agreement import Agreement, whole_handles
from sdfgad.calls.arguments import Bound
from sdfgad.calls.communicators import communicator_of
from sdfgad.checkpoint.decided import STORE
from sdfgad.checkpoint.outlook import Measured, MessageCount, MessageCounts
from sdfgad.codegen.mpi.log import MessageNote, noted_messages
from sdfgad.codegen.mpi.table import cross_fence, fence
from sdfgad.codegen.mpi.watch import end_all, watch
from sdfgad.config import longest_wait
from sdfgad.errors import UnsupportedError, UsageError, unsupported
from sdfgad.frontend.syntax.surroundings import Surroundings
from sdfgad.ir.messages import SWEEPS, messages
from sdfgad.plans.plan import Plan
from sdfgad.plans.ranks_decide import forget_answers
from sdfgad.plans.traffic import sent_by
from sdfgad.ranks import (
    AnswersNeeded,
    CommunicatorNeeded,
    IntegersNeeded,
    ObjectsNeeded,
    nobody_asked,
    objects_sent,
)
from sdfgad.report.ranks import RankFigures, RankPlans
from sdfgad.verbs.pipeline import Derivative, Primal
from sdfgad.verbs.pushforwards import Pushforward

Made = TypeVar("Made", Derivative, Primal, Pushforward)
Found = TypeVar("Found")


def agreed(communicator: Any | None, prepare: Callable[[], Made], objective: str | None = None,
           alike: Callable[[Made], str] = lambda _: "0") -> Made:
    """What `prepare` makes of a call, on all ranks or on none. An error on one rank is one of its class on all. alike:
    a digest of what all ranks have to hold alike."""
    if communicator is None:
        made = _of_nobody(prepare)
        alike(made)
        return made
    forget_answers()
    objects_sent().clear()
    again = False
    while True:
        around: Surroundings | None = None
        with Agreement(communicator, objective) as agreement:
            try:
                made = prepare()
            except CommunicatorNeeded as needed:
                agreement.needs = needed
            else:
                around = made.parsed.surroundings
                _say(agreement, made)
                agreement.alike = alike(made)
        if agreement.telling:
            _tell(communicator, agreement.needs, around)
        elif agreement.outdated:
            if again:
                raise UsageError("the ranks do not plan alike: some have a memory limit, and some have none",
                                 code="SG211", help="give all of them a limit")
            again = True
            if around is not None:
                around.outdated = True
            forget_answers()
        elif isinstance(agreement.needs, AnswersNeeded):
            agreement.needs.ask(communicator)
        elif agreement.needs is not None:
            agreement.needs.make()
        elif not agreement.torn:
            break
        elif isinstance(made, Derivative):  # the program with all messages may not be compiled yet
            made.outvoted = True
    fence(communicator if isinstance(made, Derivative) and agreement.anybody else None)
    if isinstance(made, Derivative):
        made.seed(agreement.share)
        return made.ready if agreement.silent else made
    return made


def _say(agreement: Agreement, made: Derivative | Primal | Pushforward) -> None:
    """What a rank says of a program that is ready."""
    handles = whole_handles(agreement.communicator, made.parsed.surroundings.communicators.values())
    agreement.plans = made.parsed.surroundings.agreed
    agreement.program = getattr(made, "serial", "0")
    around = made.parsed.surroundings
    agreement.told = around.told
    if around.told == "0" and (around.sent or around.received):
        agreement.needs = ObjectsNeeded(tuple(around.sent))
    agreement.anybody = around.anybody
    if isinstance(made, Derivative):
        agreement.origin, agreement.returns = made.origin(handles), bool(made.outputs)
        agreement.silent = not made.outvoted and made.silent is not None


def _tell(communicator: Any, needs: CommunicatorNeeded | None, around: Surroundings | None) -> None:
    """All ranks say what they send in lower case. A translation that counts on something else is outdated then."""
    mine = tuple(around.sent) if around is not None else () if needs is None else needs.objects
    said = tuple(one for part in communicator.allgather(mine) for one in part)
    objects_sent().append(said)
    if around is not None:
        around.told = sha256(repr(said).encode()).hexdigest()[:15]
        around.outdated |= any(not given.takes(form) for way, given in around.received for other, form in said
                               if other.meets(way))


def _of_nobody(prepare: Callable[[], Made]) -> Made:
    """Refuse messages of ranks that could not agree before."""
    try:
        made = prepare()
    except CommunicatorNeeded as needed:
        raise UnsupportedError(f"{needed.name} of a communicator that is found nowhere around the function",
                               help="give the communicator as an argument", code="SG121") from None
    for first in messages(made.parsed.program.body):
        raise unsupported(first.source, "a message through a communicator that is found nowhere around the function",
                          "give the communicator as an argument", "SG121")
    return made


class Running:
    """`with Running(communicator): ...` while ranks communicate: what fails there is said, and all ranks are ended, as
    the others may wait for this one for ever."""

    def __init__(self, communicator: Any | None) -> None:
        self.communicator = communicator

    def __enter__(self) -> None:
        if self.communicator is not None:
            watch(longest_wait())

    def __exit__(self, form: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.communicator is None or self.communicator.Get_size() == 1:
            return
        if error is None:
            cross_fence(self.communicator)
            return
        said = "".join(traceback.format_exception_only(error)).rstrip()
        end_all(self.communicator, said)


@dataclass(frozen=True)
class Totals:
    """Of all ranks that check a function together; of this process alone where `ranks` is None. What is found is the
    same on all of them in every bit, as they decide by it which calls to make next. Nobody goes on before all have
    said something, so that messages of two calls cannot mix."""

    ranks: Any | None

    def every(self, mine: Any) -> list[Any]:
        return [mine] if self.ranks is None else self.ranks.allgather(mine)

    def sum(self, mine: float) -> float:
        return sum(self.every(mine), 0.0)

    def names(self, mine: Sequence[str]) -> tuple[str, ...]:
        """Those of all ranks, each once."""
        return tuple(dict.fromkeys(name for part in self.every(tuple(mine)) for name in part))

    def ready(self, prepare: Callable[[], Found]) -> Found:
        """What `prepare` finds without messages, on all ranks or on none."""
        if self.ranks is None:
            return prepare()
        with Agreement(self.ranks):
            return prepare()

    def drawn(self, seed: int, alike: bool = False) -> np.random.Generator:
        """Random numbers: other ones on each rank, unless all are to have the same."""
        return np.random.default_rng(seed if self.ranks is None or alike else (seed, self.ranks.Get_rank()))


def planned_alone(prepare: Callable[[], Derivative]) -> Plan:
    """What one rank plans; UnsupportedError where that takes something that all of them have to do."""
    try:
        return _without_others(prepare).plan
    except CommunicatorNeeded as needed:
        why = "with a limit, all of them plan together" if isinstance(needed, AnswersNeeded) else \
            "what recv brings is known to the others" if isinstance(needed, ObjectsNeeded) else \
            f"{needed.name} makes a communicator, which all of them have to do"
        raise UnsupportedError(f"the plan of one rank: {why}", code="SG121", help="use plan_of_ranks, which all ranks "
                               "call, or plan after a call of the gradient") from None


def _without_others(prepare: Callable[[], Derivative]) -> Derivative:
    """What `prepare` makes where nobody says which integers the others know, if that is all it asks for."""
    objects_sent().clear()
    try:
        return prepare()
    except IntegersNeeded:
        with nobody_asked():
            return prepare()


def plans_together(ranks: Any | None, prepare: Callable[[], Derivative], objective: str | None) -> RankPlans:
    """What all ranks plan for a call."""
    if ranks is None:
        raise UsageError("the plans of ranks that are found nowhere", code="SG205",
                         help="give their communicator as an argument, or use plan")
    made = agreed(ranks, prepare, objective)
    plan, (messages, size, sums) = made.plan, sent_by(made.program)
    decided = list(plan.decisions.values())
    mine = RankFigures(plan.predicted.peak_bytes, plan.predicted.store_all_bytes, decided.count(STORE),
                       len(decided) - decided.count(STORE), messages, size, sums)
    every = ranks.allgather((plan.policy, mine))
    return RankPlans(plan.target, tuple(policy for policy, _ in every), tuple(figures for _, figures in every))


def measured_call(ranks: Any | None, made: Derivative, bound: Bound, donate: frozenset[str]) -> Measured:
    """What the second of two calls took, and what all ranks sent in the first one."""
    with Running(ranks):
        with noted_messages(ranks is not None) as notes:
            made.measured(bound, donate)
        found = made.timed(bound, donate)
        sent = None if ranks is None else _counted(ranks, notes)
    return replace(found, messages=sent)


def _counted(ranks: Any, notes: Sequence[MessageNote]) -> MessageCounts:
    """Messages of all ranks by sweep and kind."""
    mine = [(note.sweep, note.kind, note.bytes) for note in notes if note.kind != "receive"]
    every = [one for part in ranks.allgather(mine) for one in part]
    rows = []
    for sweep, kind in sorted({one[:2] for one in every}, key=lambda k: (SWEEPS.index(k[0]), k[1])):
        sizes = [size for *key, size in every if key == [sweep, kind]]
        rows.append(MessageCount(sweep, kind, len(sizes), sum(sizes)))
    return MessageCounts(tuple(rows))


def refuse_together(**options: Any) -> None:
    """UnsupportedError for options that distributed programs do not take."""
    for name, value in options.items():
        if value is not None:
            raise UnsupportedError(f"{name}= of a distributed program", code="SG124", help="leave it out")


def refuse_batches(communicator: Any | None) -> None:
    """UnsupportedError for several directions at once through messages."""
    if communicator is not None:
        raise UnsupportedError("several directions at once of a function that several ranks call together",
                               code="SG123", help="give one after the other")


def refuse_ranks(what: str, fn: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any],
                 help: str = "") -> None:
    """UnsupportedError for what cannot be done by several ranks together."""
    communicator = communicator_of(fn, args, keywords)
    if communicator is not None and communicator.Get_size() > 1:
        raise UnsupportedError(f"{what} of a function that several ranks call together", code="SG123", help=help)
