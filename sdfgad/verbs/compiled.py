"""The function itself, compiled."""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sdfgad.calls.arguments import Bound, bind, refuse_specs
from sdfgad.calls.communicators import communicator_of
from sdfgad.calls.device_calls import check_place, on_device
from sdfgad.calls.distributing import asked_distribution, connected, placed
from sdfgad.calls.fast_call import UNLIKE, FastCall
from sdfgad.calls.references import reduced
from sdfgad.calls.replicated import digest_of, whole_leaves
from sdfgad.config import chosen_target, within
from sdfgad.errors import UsageError
from sdfgad.frontend.graphs.function import as_function
from sdfgad.shown import Shown
from sdfgad.transform.cutting.blocks import Distribution
from sdfgad.verbs.options import check_device
from sdfgad.verbs.pipeline import Primal, primal
from sdfgad.verbs.together import Running, agreed
from sdfgad.verbs.tracebacks import shortened
from sdfgad.verbs.translations import valid


class Compiled(Shown):
    """What `forward` makes; compiled at the first call for each set of shapes, dtypes and constants.

    fn: the function itself. chosen_output: what a call gives in place of what it returns.
    """

    shown_as = "forward"

    def __init__(self, fn: Callable[..., Any], source: str = "", distribute: Any = None, comm: Any = None,
                 grid: Any = None, output: Any = None, device: str | None = None) -> None:
        fn = as_function(fn)
        check_device(device)
        functools.update_wrapper(self, fn)
        self.fn, self._source, self.chosen_output, self._device = fn, source, output, device
        self._options = {"source": source, "distribute": distribute, "comm": comm, "grid": grid, "output": output,
                         "device": device}
        self._blocks = asked_distribution(distribute, comm, grid, True)
        if self._blocks is not None and self._blocks.automatic:
            raise UsageError('distribute="auto" of a function without its gradient', code="SG205",
                             help="say which arrays are cut")
        if self._blocks is not None and output is not None:
            raise UsageError("output= of a distributed function", code="SG205", help="let the function return it")
        self._known: dict[Any, list[Primal]] = {}
        self._repeats: dict[str, FastCall | None] = {}  # of the last call, by target

    @property
    def options(self) -> Mapping[str, Any]:
        """What it was made with."""
        return self._options

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        __tracebackhide__ = True
        repeat = self._repeats.get(chosen_target(self._device))
        found = UNLIKE if repeat is None else repeat(args, keywords)
        return self._there(args, keywords) if found is UNLIKE else found

    @shortened
    def _there(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        with within(device=self._device):
            return self._called(args, keywords)

    def _called(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """What a call gives that is not like the one before."""
        ranks = communicator_of(self.fn, args, keywords) if self._blocks is None else self._blocks.ranks
        bounds: list[Bound] = []

        def prepare() -> Primal:
            bounds.append(bound := placed(bind(self.fn, args, keywords), self._blocks))
            refuse_specs(bound)
            check_place(bound)
            return valid(self._known.setdefault((bound.signature, chosen_target()), []),
                         lambda: self._primal(bound))

        def alike(made: Primal) -> str:
            return digest_of(bounds[-1], whole_leaves(bounds[-1], self._cut(bounds[-1])))

        code, bound = agreed(ranks, prepare, alike=alike), bounds[0]
        with Running(ranks):
            value = self._wanted(*code.run(bound, frozenset()))
        if ranks is None and not on_device(bound):  # others have to agree on every call
            self._repeats[chosen_target()] = code.repeats(lambda: code.repeat(self.fn, bound, self._wanted))
        return value

    def _primal(self, bound: Bound) -> Primal:
        return connected(primal(self.fn, bound, self.chosen_output, self._source, self._cut(bound)), self._blocks)

    def _cut(self, bound: Bound) -> Distribution | None:
        return None if self._blocks is None else self._blocks.of(bound)

    def _wanted(self, value: Any, named: Sequence[Any]) -> Any:
        """What a call gives, of the value of the function and the outputs that were named."""
        if self.chosen_output is None:
            return value
        return tuple(named) if isinstance(self.chosen_output, (tuple, list)) else named[0]

    def __reduce__(self) -> str | tuple[Any, ...]:
        return reduced(self, again, self._options)


def again(fn: Any, options: dict[str, Any]) -> Compiled:
    """What was pickled or copied."""
    return Compiled(getattr(fn, "fn", fn), **options)
