"""The value that a gradient program delivers besides the gradient; computed between its two sweeps."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sdfgad.ir import algebra
from sdfgad.ir.expr import Expr, Load, call
from sdfgad.ir.index import ix
from sdfgad.ir.program import Block, Map, Range, Stmt, Store, View, all_of
from sdfgad.ir.walk import statements, writes
from sdfgad.reverse.naming import Names
from sdfgad.trees import mapped

_WIDE = np.dtype(np.float64)


def keep_results(returns: Any, backward: Block, names: Names) -> tuple[Any, list[Stmt]]:
    """Copy results the reverse sweep would change."""
    changed = {n for s in statements(backward) for n in writes(s)}
    copies: list[Stmt] = []

    def visit(tree: Any) -> Any:
        if not isinstance(tree, View) or tree.array not in changed:
            return tree
        kept = names.declare(f"result_{tree.array}", tuple(n.const or 0 for n in tree.shape), tree.dtype)
        domain, element = _elements(tree)
        copies.append(Map(domain, (Store(kept.name, tuple(ix(r.var) for r in domain), element),)))
        return kept.whole

    return mapped(visit, returns), copies


def sum_outputs(outputs: Sequence[View], names: Names) -> tuple[tuple[View, ...], list[Stmt]]:
    """return y   ->   value = 0.0 ; map i: value += y[i] ; return value

    One number for each output, so that nobody sees the outputs themselves: what no derivative needs of them is fused
    into the sum. Of complex outputs the real part; in double precision, whatever the dtype.
    """
    values: list[View] = []
    sums: list[Stmt] = []
    for k, view in enumerate(outputs):
        value = names.declare(f"value_{k}", (), _WIDE)
        domain, element = _elements(view)
        term = algebra.cast(_real(element), _WIDE)
        values.append(value.whole)
        if domain:
            sums.append(Map((), (Store(value.name, (), algebra.zero(_WIDE)),)))
        sums.append(Map(domain, (Store(value.name, (), term, "+" if domain else None),)))
    return tuple(values), sums


def _elements(view: View) -> tuple[tuple[Range, ...], Load]:
    """Every point of a view, and the element there."""
    domain = all_of(view.shape)
    return domain, view.load(tuple(ix(r.var) for r in domain))


def _real(element: Expr) -> Expr:
    kind = np.empty(0, element.dtype).real.dtype
    return element if kind == element.dtype else call("real", element, dtype=kind)
