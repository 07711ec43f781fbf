"""Gradients as graphs that leave this package."""
from __future__ import annotations

from collections.abc import Callable
from functools import reduce as folded
from importlib import import_module
from typing import Any

import numpy as np

from sdfgad.callers import called
from sdfgad.calls.arguments import Bound, bind
from sdfgad.calls.asked import asked_wrt, resolve_wrt
from sdfgad.codegen.notebook import without_viewer
from sdfgad.config import config
from sdfgad.errors import UsageError
from sdfgad.frontend.graphs.function import as_function
from sdfgad.ir import algebra
from sdfgad.ir.expr import Expr, Load, const
from sdfgad.ir.program import views_of
from sdfgad.memory import parse_bytes
from sdfgad.plans.request import Request, is_number
from sdfgad.thresholds import thresholds
from sdfgad.trees import leaves
from sdfgad.verbs.options import check_options
from sdfgad.verbs.pipeline import Derivative, derive
from sdfgad.verbs.tracebacks import shortened

_WIDE = np.dtype(np.float64)


@shortened
def to_sdfg(fn: Callable[..., Any], *args: Any, wrt: Any = None, argnums: Any = None, output: Any = None,
            reduce: str | None = None, value: bool = False, memory_limit: Any = None, name: str | None = None,
            device: str | None = None, source: str | None = None, **keywords: Any) -> Any:
    """The gradient of a NumPy function for these arguments or `spec`s as a `dace.SDFG`, which needs only DaCe to run.

    `sdfg(x=x, grad_x=gx)` fills `gx`; `sdfg.save(path)`, DaCe's viewer and its transformations do what they do for any
    graph. wrt, argnums, output, reduce, memory_limit, source: as in `grad`; the limit is that of all arrays but what
    loops of unknown length keep. value: also what is differentiated, as an array `value` of one element. name: of the
    graph, by default `grad_` and the function's. keywords: arguments passed by name.

    Arguments of the graph are the arrays and floats of the function, under their names (`p['W']` is `p_W`), and one
    `grad_<name>` for each of wrt, with the shape and dtype of its argument; numbers are arrays of one element, as is an
    empty array. Integers, strings and flags are part of the graph, and so are arrays found around the function, as they
    are now; of more than 65536 elements they are arguments under their names. All arrays lie in C order. What the graph
    is given is left as it is. A name that C++ or Python has another meaning for begins with `v_`.

    Raises what `grad` raises. The graph itself checks nothing: where a call of `grad` raises an exception, for a
    singular matrix, or in the place of a `raise` of the function's, it ends the process.

    >>> graph = sdfgad.to_sdfg(energy, sdfgad.spec((100, 100)))
    >>> graph.compile()(x=x, grad_x=grad_x)
    """
    if device not in (None, "cpu"):
        raise UsageError(f"a graph for device={device!r}", code="SG205",
                         help="graphs are made for no device: DaCe's transformations bring them to one, and "
                              'sdfgad.grad(f, device="gpu") runs there')
    fn = as_function(fn)
    check_options(fn, reduce, "cpu", None)
    with config(target="reference"):
        bound = bind(fn, args, keywords)
        names = resolve_wrt(fn, bound, asked_wrt(wrt, argnums))
        request = Request(names, output, reduce, value, False, parse_bytes(memory_limit))
        found = derive(fn, bound, request, source or "")
    with without_viewer():
        exporting = import_module("sdfgad.codegen.reference.export")
    made = exporting.Export(found.program, found.parsed.traced, name or f"grad_{called(fn)}")
    _gradients(made, found, bound)
    if value:
        made.value(_objective(found))
    return made.graph(thresholds().table)


def _gradients(made: Any, found: Derivative, bound: Bound) -> None:
    for path in found.request.wrt:
        leaf, array = bound.leaves[path], found.made.gradients[found.parsed.traced[path]]
        made.gradient(path, array, getattr(leaf, "shape", ()), np.dtype(getattr(leaf, "dtype", type(leaf))))


def _objective(found: Derivative) -> Expr:
    """The number that was differentiated, from what the program leaves behind."""
    views = [v for v in views_of(found.program.returns) if v.dtype.kind in "fc"]
    if found.request.reduce:
        # Sums come in double precision; NumPy's have the precision of what they add up.
        kinds = [np.empty(0, v.dtype).real.dtype for v in found.outputs]
        parts = [algebra.cast(algebra.cast(v.load(()), kind), _WIDE)
                 for v, kind in zip(views, kinds, strict=True)]
        return folded(algebra.add, parts)
    if views:
        return Load(views[0].array, views[0].at(()), views[0].dtype)
    return const(float(next(n for n in leaves(found.program.returns) if is_number(n))), _WIDE)
