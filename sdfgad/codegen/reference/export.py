"""Gradient programs as graphs for others: named as the user names things, with everything they need inside."""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import dace
import numpy as np
from dace.sdfg.propagation import propagate_memlets_state

from sdfgad.codegen.reference.lower import lower
from sdfgad.ir import algebra
from sdfgad.ir.expr import Expr, Load
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Map, Program, Stmt, Store, all_of
from sdfgad.ir.walk import all_writes
from sdfgad.names import fresh, grad_of


def container_of(path: str) -> str:
    """A name for an array in an argument: `p['W']`   ->   `p_W`"""
    return path if path.isidentifier() else re.sub(r"\W+", "_", path).rstrip("_")


class Export:
    """A program in the making that a graph is made of. traced: the array of each argument, by path."""

    def __init__(self, program: Program, traced: Mapping[str, str], name: str) -> None:
        self.program = program.but(name=name)
        self.results: list[str] = []
        self.wanted = {array: container_of(path) for path, array in traced.items()}
        for array in sorted(set(program.arguments) & all_writes(program.body)):
            self._spare(array)

    def _spare(self, name: str) -> None:
        """Work on a copy of an argument."""
        held = self.program.arrays[name]
        given = self._declare(f"given_{name}", held.shape, held.dtype, "argument")
        self.wanted[given.name] = self.wanted.pop(name, name)
        domain, at = held.whole.points("w")
        start = Map(domain, (Store(name, at, Load(given.name, at, held.dtype)),))
        arrays = {**self.program.arrays, name: replace(held, role="transient")}
        arguments = tuple(given.name if n == name else n for n in self.program.arguments)
        self.program = self.program.but(arrays=arrays, arguments=arguments, body=(start, *self.program.body))

    def _declare(self, stem: str, shape: tuple[int, ...], dtype: np.dtype, role: str) -> Array:
        array = Array(fresh(stem, self.program.arrays), shape, dtype, role)
        self.program = self.program.but(arrays={**self.program.arrays, array.name: array})
        return array

    def gradient(self, path: str, array: str | None, shape: tuple[int, ...], dtype: np.dtype) -> None:
        """Pass the gradient of an argument as `grad_<argument>`; None: it is zero."""
        if array is None:
            array = self._declare(grad_of(container_of(path)), shape, dtype, "transient").name
            domain = all_of(shape, "w")
            zero = Store(array, tuple(ix(r.var) for r in domain), algebra.zero(dtype))
            self._add(Map(domain, (zero,)))
        self.results.append(array)
        self.wanted[array] = grad_of(container_of(path))

    def value(self, value: Expr) -> None:
        """Pass what was differentiated as `value`."""
        array = self._declare("value", (), value.dtype, "transient")
        self._add(Map((), (Store(array.name, (), value),)))
        self.results.append(array.name)

    def _add(self, stmt: Stmt) -> None:
        self.program = self.program.but(body=(*self.program.body, stmt))

    def graph(self, largest: int) -> dace.SDFG:
        """The graph; constants of at most so many elements are written into it."""
        constants = self.program.constants
        baked = [n for n, value in constants.items() if value.size <= largest]
        made = lower(self.program, self.results, wanted=self.wanted, baked=baked, outside=False)
        made.sdfg.arg_names = [made.names[n] for n in made.arguments]
        for state in made.sdfg.states():
            propagate_memlets_state(made.sdfg, state)
        made.sdfg.validate()
        return made.sdfg

