"""Functions of tensors for PyTorch: differentiated by `autograd.Function`, computed by operators of `torch.library`,
which `torch.compile` takes as they are.

Three levels: the function, its cotangents, and the two products that second derivatives are made of. The cotangents
`pulled(x, s)` of the arguments are linear in the seeds s; along a vector c, their derivative by x is the Hessian of
<s, f(x)> times c, and what c makes of the seeds is the tangent of f along c.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from threading import Lock
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from sdfgad.adapters.bridge import Bridge, FixedCall, derivative_of_tangent, third_derivative
from sdfgad.arrays import Spec, special_class
from sdfgad.errors import DtypeError, UnsupportedError
from sdfgad.names import safe
from sdfgad.trees import mapped
from sdfgad.verbs.tracebacks import shortened

Tensors = Sequence[torch.Tensor]
_NUMBERS = count()
"""Operators belong to the process, so that two functions of one name need two names there."""


def adapted(bridge: Bridge) -> Callable[..., Any]:
    """The function of a bridge, for tensors."""
    operators = Operators(bridge)

    @torch.compiler.nonstrict_trace  # the compiler sees operators, not how arguments are looked at
    @functools.wraps(bridge.fn)
    @shortened
    def called(*args: Any, **keywords: Any) -> Any:
        call, given = bridge.call(mapped(_plain, args), mapped(_plain, keywords), _stand_in)
        level = Level(operators, operators.number(call), len(given))
        return call.rebuilt(TensorValue.apply(level, *(_tensor(g) for g in given)))

    made: Callable[..., Any] = called
    return made


class Operators:
    """What computes, in calls and in compiled graphs: operators that autograd knows nothing of.

    An operator takes and gives lists of tensors; which call it belongs to is a number.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.what = bridge.what
        self.calls: list[FixedCall] = []
        self._numbers: dict[Any, int] = {}
        self._lock = Lock()
        name = f"sdfgad::{safe(getattr(bridge.fn, '__name__', 'function'))}_{next(_NUMBERS)}"
        self.value = _operator(name, self._value, "(Tensor[] given, int call)",
                               lambda given, call: [_empty(s) for s in self.calls[call].results])
        self.pulled = _operator(f"{name}_pulled", self._pulled, "(Tensor[] given, Tensor[] seeds, int call, int[] wrt)",
                                lambda given, seeds, call, wrt: _alike(given, wrt))
        self.pushed = _operator(f"{name}_pushed", self._pushed, "(Tensor[] given, Tensor[] along, int call, int[] wrt)",
                                lambda given, along, call, wrt: [_empty(s) for s in self.calls[call].tangents])
        self.curved = _operator(
            f"{name}_curved", self._curved,
            "(Tensor[] given, Tensor[] seeds, Tensor[] along, int call, int[] wrt, int[] rows)",
            lambda given, seeds, along, call, wrt, rows: _alike(given, rows))

    def number(self, call: FixedCall) -> int:
        """The number of a call: one for all that are alike."""
        with self._lock:
            found = self._numbers.setdefault(call.bound.signature, len(self.calls))
            self.calls += [call] if found == len(self.calls) else []
            return found

    def _value(self, given: Tensors, call: int) -> Tensors:
        return _tensors(self.calls[call].values(_arrays(given)))

    def _pulled(self, given: Tensors, seeds: Tensors, call: int, wrt: Sequence[int]) -> Tensors:
        return _tensors(self.calls[call].pulled(_arrays(given), _arrays(seeds), wrt))

    def _pushed(self, given: Tensors, along: Tensors, call: int, wrt: Sequence[int]) -> Tensors:
        return _tensors(self.calls[call].pushed(_arrays(given), wrt, _arrays(along)))

    def _curved(self, given: Tensors, seeds: Tensors, along: Tensors, call: int, wrt: Sequence[int],
                rows: Sequence[int]) -> Tensors:
        return _tensors(self.calls[call].curved(_arrays(given), _arrays(seeds), wrt, _arrays(along), rows))


def _operator(name: str, run: Callable[..., Any], takes: str, shapes: Callable[..., Any]) -> Any:
    """An operator that changes no tensor. shapes: empty tensors like its results, for compilers."""
    made = torch.library.custom_op(name, run, mutates_args=(), schema=f"{takes} -> Tensor[]")
    made.register_fake(shapes)
    return made


@dataclass(frozen=True)
class Level:
    """What of a level of derivatives is not a tensor. call: its number. wrt: arguments whose cotangents are asked for.
    given, seeds: how many of each there are. rows, tangents: what is asked for of the last level."""

    operators: Operators
    call: int
    given: int
    wrt: tuple[int, ...] = ()
    seeds: int = 0
    rows: tuple[int, ...] = ()
    tangents: bool = False


class TensorValue(torch.autograd.Function):
    """The results of a function, from its arguments."""

    @staticmethod
    def forward(level: Level, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(level.operators.value(given, level.call))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        level, wrt = ctx.level, _needed(ctx)
        seeds = [grads[k] for k in level.operators.calls[level.call].seeded]
        found = TensorCotangent.apply(replace(level, wrt=wrt, seeds=len(seeds)), *ctx.saved_tensors, *seeds)
        return None, *_in_places(level.given, wrt, found)

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:
        level = ctx.level
        call = level.operators.calls[level.call]
        wrt = tuple(k for k, t in enumerate(tangents) if t is not None and call.smooth[k])
        found = TensorTangent.apply(replace(level, wrt=wrt), *ctx.given, *(tangents[k] for k in wrt))
        return tuple(_in_places(len(call.results), call.seeded, found))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _keep(ctx, inputs)

    @staticmethod
    def vmap(info: Any, axes: Sequence[Any], *inputs: Any) -> tuple[Any, Any]:
        return _one_by_one(TensorValue, info, axes, inputs)


class TensorTangent(torch.autograd.Function):
    """The tangents of results, from the arguments and tangents of those in `wrt`."""

    @staticmethod
    def forward(level: Level, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(level.operators.pushed(given[:level.given], given[level.given:], level.call, level.wrt))

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        raise derivative_of_tangent(ctx.what)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple[Any, ...]:
        raise derivative_of_tangent(ctx.what)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.what = inputs[0].operators.what

    @staticmethod
    def vmap(info: Any, axes: Sequence[Any], *inputs: Any) -> tuple[Any, Any]:
        return _one_by_one(TensorTangent, info, axes, inputs)


class TensorCotangent(torch.autograd.Function):
    """The cotangents of arguments, from the arguments and the seeds."""

    @staticmethod
    def forward(level: Level, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        here, seeds = given[:level.given], given[level.given:]
        return tuple(level.operators.pulled(here, seeds, level.call, level.wrt))

    @staticmethod
    def backward(ctx: Any, *along: Any) -> tuple[Any, ...]:
        level, asked = ctx.level, _needed(ctx)
        rows = tuple(k for k in asked if k < level.given)
        tangents = tuple(range(level.given, level.given + level.seeds)) if len(rows) < len(asked) else ()
        found = TensorCurvature.apply(replace(level, rows=rows, tangents=bool(tangents)), *ctx.saved_tensors, *along)
        return None, *_in_places(level.given + level.seeds, rows + tangents, found)

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> tuple[Any, ...]:
        level, here, seeds = ctx.level, ctx.given[:ctx.level.given], tangents[ctx.level.given:]
        along = tuple(k for k, t in enumerate(tangents[:level.given]) if t is not None)
        parts = [TensorCurvature.apply(replace(level, wrt=along, rows=level.wrt), *ctx.given,
                                       *(tangents[k] for k in along))] if along else []
        if any(s is not None for s in seeds):
            given = (torch.zeros_like(s) if t is None else t
                     for s, t in zip(ctx.given[level.given:], seeds, strict=True))
            parts.append(TensorCotangent.apply(level, *here, *given))
        return tuple(sum(each[1:], each[0]) for each in zip(*parts, strict=True))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        _keep(ctx, inputs)

    @staticmethod
    def vmap(info: Any, axes: Sequence[Any], *inputs: Any) -> tuple[Any, Any]:
        return _one_by_one(TensorCotangent, info, axes, inputs)


class TensorCurvature(torch.autograd.Function):
    """What vectors along the cotangents make of arguments and seeds, from arguments, seeds and these vectors."""

    @staticmethod
    def forward(level: Level, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        most = level.given + level.seeds
        here, seeds, along = given[:level.given], given[level.given:most], given[most:]
        operators, call, wrt = level.operators, level.call, level.wrt
        rows = operators.curved(here, seeds, along, call, wrt, level.rows) if level.rows else ()
        return *rows, *(operators.pushed(here, along, call, wrt) if level.tangents else ())

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        raise third_derivative(ctx.what)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple[Any, ...]:
        raise third_derivative(ctx.what)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.what = inputs[0].operators.what

    @staticmethod
    def vmap(info: Any, axes: Sequence[Any], *inputs: Any) -> tuple[Any, Any]:
        return _one_by_one(TensorCurvature, info, axes, inputs)


def _keep(ctx: Any, inputs: tuple[Any, ...]) -> None:
    """What derivatives in both modes look at."""
    ctx.level, *given = inputs
    ctx.given = tuple(given)
    ctx.save_for_backward(*given)
    ctx.save_for_forward(*given)


def _one_by_one(function: Any, info: Any, axes: Sequence[Any], inputs: Sequence[Any]) -> tuple[Any, Any]:
    """Each element of a batch after the other."""
    found = [function.apply(*(g if a is None else g.select(a, k) for g, a in zip(inputs, axes, strict=True)))
             for k in range(info.batch_size)]
    return tuple(torch.stack(made) for made in zip(*found, strict=True)), (0,) * len(found[0])


def _needed(ctx: Any) -> tuple[int, ...]:
    """The tensors whose derivative is asked for."""
    return tuple(k for k, needed in enumerate(ctx.needs_input_grad[1:]) if needed)


def _in_places(size: int, places: Sequence[int], found: Sequence[Any]) -> list[Any]:
    """What was found for some of so many tensors, None for the others."""
    known = dict(zip(places, found, strict=True))
    return [known.get(k) for k in range(size)]


def _plain(leaf: Any) -> Any:
    """A number that the compiler would rather leave open: programs are made for one."""
    kind = next((k for form, k in _OPEN if isinstance(leaf, form)), None)
    return leaf if kind is None else kind(leaf)


_OPEN: tuple[tuple[type, type], ...] = ((torch.SymInt, int), (torch.SymFloat, float), (torch.SymBool, bool))


def _stand_in(leaf: Any) -> Any:
    """The kind of a tensor. One without dimensions is a number, which nobody can update."""
    if isinstance(leaf, torch.Tensor):
        if leaf.device.type != "cpu" or leaf.layout != torch.strided:
            raise UnsupportedError(f"a tensor on the device {leaf.device} with the layout {leaf.layout}", code="SG108",
                                   help="give plain tensors on the CPU: x.cpu(), x.to_dense()")
        shape, dtype = tuple(int(n) for n in leaf.shape), _numpy_dtype(leaf.dtype)
        return dtype.type(0) if not shape and dtype.kind in "fc" else Spec(shape, dtype)
    if isinstance(leaf, np.ndarray) and special_class(leaf) is None:
        return Spec(leaf.shape, leaf.dtype)
    return None


def _numpy_dtype(dtype: torch.dtype) -> np.dtype:
    if dtype not in _DTYPES:
        raise DtypeError(f"a tensor of {str(dtype).removeprefix('torch.')}, which NumPy has not",
                         help="x.to(torch.float32)")
    return _DTYPES[dtype]


_DTYPES: Mapping[torch.dtype, np.dtype] = MappingProxyType({
    getattr(torch, name): np.dtype(name) for name in (
        "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32",
        "float64", "complex64", "complex128")})


def _tensor(leaf: Any) -> torch.Tensor:
    if isinstance(leaf, torch.Tensor):
        return leaf
    return torch.from_numpy(np.array(leaf, order="C"))


def _tensors(arrays: Sequence[np.ndarray]) -> list[torch.Tensor]:
    return [torch.from_numpy(a) for a in arrays]


def _arrays(tensors: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """The memory of tensors, or a copy where it is not contiguous."""
    return [t.detach().resolve_conj().resolve_neg().contiguous().numpy() for t in tensors]


def _empty(spec: Spec) -> torch.Tensor:
    return torch.empty(spec.shape, dtype=getattr(torch, spec.dtype.name))


def _alike(given: Sequence[torch.Tensor], places: Sequence[int]) -> list[torch.Tensor]:
    return [torch.empty_like(given[k], memory_format=torch.contiguous_format) for k in places]
