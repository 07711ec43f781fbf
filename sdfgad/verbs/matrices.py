"""Second derivatives, and derivatives as whole matrices."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from sdfgad.arrays import Spec
from sdfgad.calls.arguments import Bound, as_called, bind, refuse_specs
from sdfgad.calls.asked import Leaves, asked_wrt, resolve_wrt
from sdfgad.calls.device_calls import check_place, handed_on, nameless, on_device, stacked_there
from sdfgad.calls.directions import listed, plain, tangents_of
from sdfgad.calls.references import reduced
from sdfgad.calls.results import one_or_all
from sdfgad.config import within
from sdfgad.errors import UnsupportedError, UsageError
from sdfgad.foreign.device_array import DeviceArray
from sdfgad.foreign.optional import imported
from sdfgad.frontend.graphs.function import as_function
from sdfgad.trees import contents
from sdfgad.verbs.api import GradFunction
from sdfgad.verbs.options import at_device, check_device
from sdfgad.verbs.pipeline import Request
from sdfgad.verbs.products import jvp, vjp
from sdfgad.verbs.second import DerivativeFunction, Differentiated, curvature_of, is_single, refuse_derivatives
from sdfgad.verbs.together import refuse_ranks
from sdfgad.verbs.tracebacks import shortened


@dataclass(frozen=True)
class MatrixRequest:
    """What is asked of a matrix of derivatives. gradient: of which one it is, instead of the function itself."""

    wrt: Any
    gradient: Differentiated | None = None
    output: Any = None
    mode: str = "auto"
    sparsity: Any = None
    source: str | None = None
    device: str | None = None


class MatrixFunction(DerivativeFunction):
    """What `hessian` and `jacobian` make. fn: the undecorated function; asked: what it makes of it; again: makes the
    same of the method of an object."""

    def __init__(self, fn: Callable[..., Any], verb: str, asked: MatrixRequest, called: Callable[..., Any],
                 again: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fn)
        self.fn, self.shown_as, self.asked, self._called, self._again = fn, verb, asked, called, again

    @shortened
    def __call__(self, *args: Any, **keywords: Any) -> Any:
        with within(device=self.asked.device):
            return self._called(args, keywords)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        alone = instance is None or isinstance(self.fn, staticmethod)
        return self if alone else self._again(MethodType(self.fn, instance))

    def __reduce__(self) -> str | tuple[Any, ...]:
        return reduced(self, _made_again, self._again)


def _made_again(fn: Any, again: Callable[..., Any]) -> Any:
    """What was pickled or copied."""
    return again(fn.fn if isinstance(fn, (GradFunction, MatrixFunction)) else fn)


def _of_gradient(method: Callable[..., Any], again: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    return again(GradFunction(method, **options))


MODES = ("auto", "forward", "reverse")
OWN_RULE = "SG135"
"""The code of what a rule of the user's does not allow."""


@shortened
@at_device
def hvp(fn: Callable[..., Any], args: Sequence[Any], tangents: Sequence[Any] | Mapping[str, Any], *, wrt: Any = None,
        argnums: Any = None, output: Any = None, reduce: str | None = None, device: str | None = None,
        source: str | None = None, **keywords: Any) -> Any:
    """The Hessian of a function times a vector, without the Hessian: the derivative of its gradient along `tangents`.

    args: a tuple, or the only argument. tangents: one for each, of its shape (None is zero), or a dict by name, as for
    `jvp`. wrt: the arguments
    whose gradient is looked at; by default those that have a tangent. argnums, output, reduce, device, source: as in
    `grad`. keywords: arguments passed by name. One array of the argument's shape and dtype, or `Gradients` of several.

    Forward over reverse (Pearlmutter: Fast exact multiplication by the Hessian, Neural Computation 6, 1994): about two
    to four times the gradient's time, whatever the number of arguments. Errors as in `grad` and `jvp`.
    """
    fn = as_function(fn)
    refuse_derivatives(fn)
    wrt = asked_wrt(wrt, argnums)
    bound = bind(fn, args := listed(args), keywords)
    refuse_specs(bound, True)
    check_place(bound)
    given = tangents_of(fn, bound, tangents, len(args))
    names = tuple(given) if wrt is None else resolve_wrt(fn, bound, wrt)
    single = is_single(wrt, names)
    _, products = curvature_of(fn, bound, Request(names, output, reduce), tuple(given), source).run(bound, given)
    return one_or_all(dict(zip(names, products, strict=True)), bound, single)


def hessian(fn: Callable[..., Any], *, wrt: Any = None, argnums: Any = None, output: Any = None,
            reduce: str | None = None, sparsity: Any = None, device: str | None = None,
            source: str | None = None) -> Callable[..., Any]:
    """The matrix of second derivatives, as `hessian(f, wrt="x")(x, y)`.

    wrt, argnums: as in `grad`, of real arguments. For one argument an array of shape `x.shape + x.shape`; for several
    `Gradients` of `Gradients`: `h.x.y[i, j]` is the derivative of the gradient by `x[i]` along `y[j]`. output, reduce,
    device, source, errors: as in `grad`; UsageError for complex arguments, of which `hvp` takes the products.

    One product with the Hessian (`hvp`) for each element of the arguments; with sparsity, one for each group of columns
    that share no row, and SciPy's csr_array of shape `(x.size, x.size)`: see `jacobian`.
    """
    fn = as_function(fn)
    refuse_derivatives(fn)
    check_device(device)
    wrt = asked_wrt(wrt, argnums)

    gradient = Differentiated(fn, wrt, output, reduce, None, source or "")
    return MatrixFunction(fn, "hessian", MatrixRequest(wrt, gradient, sparsity=sparsity, device=device),
                          lambda args, keywords: _blocks(gradient, args, keywords, wrt, sparsity),
                          functools.partial(hessian, wrt=wrt, output=output, reduce=reduce, sparsity=sparsity,
                                            device=device, source=source))


def _blocks(gradient: Differentiated, args: Sequence[Any], keywords: Mapping[str, Any], wrt: Any,
            sparsity: Any) -> Any:
    """The derivatives of a gradient by arguments, as a matrix or blocks of one."""
    asked, names, single = _asked(gradient.fn, args, keywords, wrt)
    bound, rows = nameless(asked), gradient.names(asked)
    refuse_complex(bound, rows)
    if sparsity is not None:
        _refuse_there(bound)
        blocks = _sparse().SparseHessian(gradient, sparsity).at(bound, rows, names)
        return one_or_all({a: one_or_all(row, bound, single) for a, row in blocks.items()}, bound,
                          gradient.single(rows))
    columns = [(along, gradient.tangent(bound, rows, given)[1]) for along, given in _units(bound, names)]
    blocks = {a: {b: handed_on(_stacked(bound, a, b, [made[k] for along, made in columns if along == b]), asked, a)
                  for b in names} for k, a in enumerate(rows)}
    found = {a: one_or_all(row, bound, single) for a, row in blocks.items()}
    return one_or_all(found, bound, gradient.single(rows))


def jacobian(fn: Callable[..., Any], *, wrt: Any = None, argnums: Any = None, output: Any = None,
             mode: str = "auto", sparsity: Any = None, device: str | None = None,
             source: str | None = None) -> Callable[..., Any]:
    """The matrix of first derivatives of one output, as `jacobian(f, wrt="x")(x, y)`.

    wrt, argnums, output, device, source: as in `grad`, of real arguments and one output, which may be complex unless
    mode is "reverse" or sparsity is given. mode: "forward" takes a tangent for each element of the arguments, "reverse"
    a cotangent for each element of the output, "auto" whatever is less, or what a `custom_vjp` or `custom_jvp` allows.
    An array of shape `output.shape + x.shape`, or `Gradients` of several. fn may be a gradient, `jacobian(grad(f))`,
    whose derivatives are taken in forward mode.

    sparsity: "auto", or where nonzeros may be: a SciPy sparse matrix (its stored entries count) or an array of
    booleans, of shape (size of the output, size of the arguments, one behind the other). The matrix then is SciPy's
    csr_array of this shape, or `Gradients` of its columns. Lines that share no nonzero are one product; at most 16
    products are one program. "auto" follows the indices of the program, with the integers of the call in them, and
    finds all places that may hold anything but zero. A pattern that was given is tried with one product more.

    UsageError for complex arguments, several outputs, another mode, and a pattern that lacks nonzeros; UnsupportedError
    (SG191) for a pattern that takes too long to find; else errors as in `grad`.
    """
    wrt = asked_wrt(wrt, argnums)
    check_device(device)
    again = functools.partial(jacobian, wrt=wrt, output=output, mode=mode, sparsity=sparsity, device=device,
                              source=source)
    if mode not in MODES:
        raise UsageError(f"mode={mode!r}", code="SG205", help=f"modes: {', '.join(MODES)}")
    if isinstance(fn, GradFunction):
        if mode == "reverse" or output is not None:
            raise UsageError("mode or output of the derivative of a gradient", code="SG205",
                             help="leave them out: it is taken in forward mode, of the gradient as it is")
        gradient, options = fn.differentiated(device), fn.options
        return MatrixFunction(fn.fn, "jacobian of the gradient", MatrixRequest(wrt, gradient, sparsity=sparsity),
                              lambda args, keywords: _blocks(gradient, args, keywords, wrt, sparsity),
                              functools.partial(_of_gradient, again=again, options=options))
    fn = as_function(fn)
    refuse_derivatives(fn)

    def of(args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        asked, names, single = _asked(fn, args, keywords, wrt)
        bound = nameless(asked)
        if sparsity is not None:
            _refuse_there(bound)
            return one_or_all(_sparse().Jacobian(fn, output, source, mode, sparsity).at(bound, names), bound, single)
        found = _dense(fn, bound, names, mode, output, source)
        return one_or_all({n: handed_on(m, asked, n) for n, m in found.items()}, asked, single)

    return MatrixFunction(fn, "jacobian", MatrixRequest(wrt, None, output, mode, sparsity, source, device), of, again)


def _dense(fn: Callable[..., Any], bound: Bound, names: tuple[str, ...], mode: str, output: Any,
           source: str | None) -> dict[str, Any]:
    """The matrix by its columns or rows."""
    values, named = as_called(fn, bound)
    return either_way(mode, sum(np.size(bound.leaves[n]) for n in names),
                      lambda: _by_columns(bound, names, _pushed(fn, bound, names, output, source)),
                      lambda: vjp(fn, *values, wrt=Leaves(names), output=output, source=source, **named),
                      lambda out, pullback: _by_rows(bound, names, [pullback(s) for s in _seeds(out)], np.shape(out)))


def either_way(mode: str, inputs: int, columns: Callable[[], dict[str, Any]], pulled: Callable[[], tuple[Any, ...]],
               rows: Callable[[Any, Any], dict[str, Any]], elements: int = 1) -> dict[str, Any]:
    """A matrix by its columns or, of what `vjp` has `pulled`, by its rows: with "auto" whatever are fewer, or what
    rules of the user's allow.

    inputs: so many columns; elements: so many matrices of one output, by one product for all.
    """
    if mode == "forward" and inputs:
        return columns()
    either = mode == "auto" and inputs > 0
    try:
        out, pullback = pulled()
    except UnsupportedError as refused:
        if not either or refused.code != OWN_RULE:
            raise
        return columns()
    one_array(out, "fc" if either else "f")
    if either and (elements * inputs <= np.size(out) or _kind(out) == "c"):
        try:
            return columns()
        except UnsupportedError as refused:
            if refused.code != OWN_RULE or _kind(out) == "c":
                raise
    return rows(out, pullback)


def _sparse() -> ModuleType:
    """What makes sparse matrices; UsageError without SciPy."""
    return imported("scipy", "SciPy", "sdfgad.verbs.sparsity")


def _asked(fn: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any],
           wrt: Any) -> tuple[Bound, tuple[str, ...], bool]:
    """The arguments of a call, the real ones that are asked for, and whether that is a single one."""
    refuse_ranks("a matrix of derivatives", fn, args, keywords, "vjp and jvp take one vector for all ranks")
    bound = bind(fn, args, keywords)
    refuse_specs(bound, True)
    names = resolve_wrt(fn, bound, wrt)
    refuse_complex(bound, names)
    return bound, names, is_single(wrt, names)


def refuse_complex(bound: Bound, names: Sequence[str]) -> None:
    """UsageError for arguments whose derivatives are no matrices."""
    for name in names:
        if _kind(bound.leaves[name]) == "c":
            raise UsageError(f"argument {name!r} is complex: its derivative is no matrix of numbers", code="SG205",
                             help="sdfgad.hvp, jvp and vjp take complex numbers")


def _refuse_there(bound: Bound) -> None:
    """UsageError for arrays of a device where a matrix of SciPy's is made."""
    if on_device(bound):
        raise UsageError("a sparse matrix of arrays on a graphics processor", code="SG212",
                         help="SciPy's matrices lie in the memory of the host: pass copies of the arguments there")


def _kind(value: Any) -> str:
    """The letter of the kind of numbers that an array holds, wherever it lies."""
    return value.dtype.kind if isinstance(value, Spec) else np.asarray(value).dtype.kind


def one_array(out: Any, kinds: str = "fc") -> None:
    """UsageError for outputs that are several, or of which there is no matrix. kinds: letters of kinds of numbers."""
    if contents(out) is not None or _kind(out) not in "fc":
        raise UsageError("the output is not one floating array", code="SG205",
                         help="name one with output=: its position among what is returned, or an argument")
    if _kind(out) not in kinds:
        raise UsageError("the output is complex: its derivative by rows is no matrix of numbers", code="SG205",
                         help='mode="forward" takes tangents')


def _pushed(fn: Callable[..., Any], bound: Bound, names: Sequence[str], output: Any, source: str | None) -> list[Any]:
    """The tangent of the output along each element of the arguments."""
    (values, named), made = as_called(fn, bound), []
    for _, given in _units(bound, names):
        out, tangent = jvp(fn, values, given, output=output, source=source, **named)
        one_array(out)
        made.append(tangent)
    return made


def _units(bound: Bound, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each element of the arguments in turn: which one it belongs to, and its tangents."""
    there = on_device(bound)
    for name in names:
        for k in range(np.size(bound.leaves[name])):
            yield name, {n: plain(bound.leaves[n], there, range(k, k + 1) if n == name else range(0)) for n in names}


def _seeds(out: Any) -> Iterator[Any]:
    there = isinstance(out, DeviceArray)
    return (plain(out, there, range(k, k + 1)) for k in range(np.size(out)))


def _stacked(bound: Bound, of: str, along: str, columns: Sequence[Any]) -> Any:
    return in_columns(columns, np.shape(bound.leaves[of]), np.shape(bound.leaves[along]))


def in_columns(columns: Sequence[Any], shape: tuple[int, ...], along: tuple[int, ...]) -> Any:
    """A matrix whose columns are arrays of one shape."""
    if any(isinstance(c, DeviceArray) for c in columns):
        return stacked_there(columns, along, last=True)
    made = np.stack([np.asarray(c) for c in columns], axis=-1) if columns else np.zeros((*shape, 0))
    return made.reshape((*shape, *along))


def _by_columns(bound: Bound, names: Sequence[str], columns: Sequence[Any]) -> dict[str, Any]:
    found, at, shape = {}, 0, np.shape(columns[0])
    for name in names:
        here = columns[at:at + np.size(bound.leaves[name])]
        found[name] = in_columns(here, shape, np.shape(bound.leaves[name]))
        at += len(here)
    return found


def _by_rows(bound: Bound, names: Sequence[str], rows: Sequence[Any], shape: tuple[int, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in names:
        own = np.shape(bound.leaves[name])
        if any(isinstance(row[name], DeviceArray) for row in rows):
            found[name] = stacked_there([row[name] for row in rows], shape)
            continue
        made = np.stack([np.asarray(row[name]) for row in rows]) if rows else np.zeros((0, *own))
        found[name] = made.reshape((*shape, *own))
    return found
