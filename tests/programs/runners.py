"""Ways to differentiate a random program: interpreted, with every pass watched, and compiled."""
from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import sdfgad
from sdfgad.frontend import Parsed, parse
from sdfgad.ir.interpret import returned
from sdfgad.ir.program import Program, View
from sdfgad.reverse.forward_mode import tangent
from sdfgad.transform.passes import watching
from sdfgad.transform.stages import prepare_program
from tests.programs.running import copied, wrt_of
from tests.support.oracle import rebuildable, reversed_program, undoable
from tests.support.validation import Validator
from tests.support.vectors import run


@dataclass
class Interpreted:
    """The engine run by the reference semantics; what each pass makes of a program is compared with what it was.

    thorough: with all that can be computed again and taken back done so, too. fired: how often each pass changed a
    program. watched: passes are compared at all.
    """

    thorough: bool = True
    fired: Counter[str] = field(default_factory=Counter)
    watched: bool = True
    _translated: tuple[Callable[..., Any], Parsed] | None = None

    def gradient(self, fn: Callable[..., Any], args: dict[str, Any]) -> tuple[Any, dict[str, np.ndarray]]:
        parsed, held = self._parsed(fn, args)
        names = {n: parsed.traced[n] for n in wrt_of(args)}
        wrt = list(names.values())
        value, grads = self._pulled(parsed.program, held, wrt)
        if self.thorough:
            chosen = rebuildable(parsed.program, wrt)
            _, rebuilt = self._pulled(parsed.program, held, wrt, recompute=chosen) if chosen else (value, grads)
            _, undone = self._pulled(parsed.program, held, wrt, undone=undoable(parsed.program))
            for n in wrt:
                np.testing.assert_allclose(rebuilt[n], grads[n], rtol=1e-6, atol=1e-9, err_msg="recomputing")
                np.testing.assert_array_equal(undone[n], grads[n], err_msg="undoing")
        return value, {n: grads[a] for n, a in names.items()}

    def _parsed(self, fn: Callable[..., Any], args: dict[str, Any]) -> tuple[Parsed, dict[str, np.ndarray]]:
        """The translated program, and its arguments by name. A function is always called with the same kinds of
        arguments here, and translated once."""
        if self._translated is None or self._translated[0] is not fn:
            self._translated = fn, parse(fn, tuple(args.values()))
        parsed = self._translated[1]
        return parsed, parsed.collect(tuple(copied(args).values()))

    def _pulled(self, program: Program, held: dict[str, np.ndarray], wrt: list[str],
                **options: Any) -> tuple[Any, dict[str, np.ndarray]]:
        with self._watched(held) as watch:
            made = reversed_program(program, wrt, **options)
        memory = watch.results(made.program)
        return (returned(made.program.returns, memory),
                {n: memory[g] if g else np.zeros_like(held[n]) for n, g in made.gradients.items()})

    def _watched(self, held: dict[str, np.ndarray]) -> _Watched:
        return _Watched(Validator(held, self.fired))

    def tangent(self, fn: Callable[..., Any], args: dict[str, Any], direction: dict[str, np.ndarray]) -> Any:
        parsed, held = self._parsed(fn, args)
        along = {parsed.traced[n]: np.asarray(d, np.asarray(args[n]).dtype) for n, d in direction.items()}
        with self._watched(held) if self.watched else nullcontext():
            ready = prepare_program(parsed.program, ())
        made = tangent(ready, tuple(along))
        passed = {made.arguments[n]: t for n, t in along.items() if made.arguments[n]}
        memory = run(made.program, {**held, **passed})
        found = made.view(ready.returns) if isinstance(ready.returns, View) else None
        return 0.0 if found is None else returned(found, memory)


class _Watched(ExitStack):
    """Within, a validator sees every pass."""

    def __init__(self, watch: Validator) -> None:
        super().__init__()
        self._watch = watch

    def __enter__(self) -> Validator:  # type: ignore[override]
        super().__enter__()
        self.enter_context(watching(self._watch))
        return self._watch


class Compiled:
    """The public functions. threads: with how many each gradient is computed; the first one's is given."""

    def __init__(self, threads: tuple[int, ...] = ()) -> None:
        self.threads = threads

    def gradient(self, fn: Callable[..., Any], args: dict[str, Any]) -> tuple[Any, dict[str, np.ndarray]]:
        function = sdfgad.value_and_grad(fn, wrt=wrt_of(args))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sdfgad.UnusedArgumentWarning)
            if not self.threads:
                value, grads = function(**args)
                return value, dict(grads.items())
            first, *others = (self._with(function, args, n) for n in self.threads)
        for n, (value, grads) in zip(self.threads[1:], others, strict=True):
            _assert_same(value, first[0], f"the value with {n} threads")
            for name, found in grads.items():
                _assert_same(found, first[1][name], f"the gradient of {name} with {n} threads")
        return first

    def _with(self, function: Callable[..., Any], args: dict[str, Any], threads: int) -> tuple[Any, dict[str, Any]]:
        """Results with a number of threads, the same again and again."""
        with sdfgad.config(num_threads=threads):
            found = []
            for _ in range(3 if threads > 1 else 1):
                value, grads = function(**args)
                found.append((np.array(value), {n: np.array(g) for n, g in grads.items()}))
        for value, grads in found[1:]:
            _assert_same(value, found[0][0], f"the value, again with {threads} threads")
            for name, one in grads.items():
                _assert_same(one, found[0][1][name], f"the gradient of {name}, again with {threads} threads")
        return found[0]

    def tangent(self, fn: Callable[..., Any], args: dict[str, Any], direction: dict[str, np.ndarray]) -> Any:
        return sdfgad.jvp(fn, tuple(args.values()), direction)[1]


def _assert_same(actual: Any, expected: Any, what: str) -> None:
    scale = float(np.max(np.abs(expected), initial=0.0))
    close = 1e-3 if np.asarray(expected).dtype == np.float32 else 1e-10
    np.testing.assert_allclose(actual, expected, rtol=close, atol=close * scale, err_msg=what)
