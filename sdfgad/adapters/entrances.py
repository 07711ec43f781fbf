"""The adapters whose library may not be there: it is imported when the first of them is made."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sdfgad.adapters.bridge import Bridge, check_function
from sdfgad.foreign.optional import imported
from sdfgad.frontend.graphs.function import as_function
from sdfgad.memory import parse_bytes
from sdfgad.verbs.tracebacks import shortened


@shortened
def as_torch(fn: Callable[..., Any], *, output: Any = None, memory_limit: Any = None,
             source: str | None = None) -> Callable[..., Any]:
    """The function for PyTorch: it takes and gives tensors, and autograd differentiates it, also under `torch.compile`.

    Arguments are tensors on the CPU, alone or in tuples, lists, dicts and other containers, whose memory is used as it
    is where they are contiguous. Numbers, flags and texts are passed on. What comes back has the dtypes that NumPy
    gives, as tensors of their own; arguments that the function updates are left alone. output: as in `vjp`, for
    functions that update an argument. memory_limit, source: as in `grad`.

    `backward` goes through the function again, so nothing but the arguments is kept for it. Forward mode
    (`torch.func.jvp`, `jacfwd`) is that of `jvp`, also of the gradient. Second derivatives (`create_graph=True`,
    `torch.func.hessian`) are the tangent of the gradient program, as in `hvp`, and do not keep a memory limit: with one
    they are a UsageError. There are no third ones, and no derivatives of tangents.

    Raises UsageError without PyTorch, DtypeError for dtypes that NumPy has not, UnsupportedError for tensors on other
    devices and for what cannot be compiled or differentiated.
    """
    return _adapted("torch", "PyTorch", "sdfgad.adapters.pytorch", _bridge(fn, output, memory_limit, source,
                                                                           "as_torch"))


@shortened
def as_jax(fn: Callable[..., Any], *, output: Any = None, memory_limit: Any = None,
           source: str | None = None) -> Callable[..., Any]:
    """The function for JAX: it takes and gives JAX arrays, and `jax.grad`, `jax.vjp`, `jit` and `vmap` take it.

    Arguments are arrays, floats and complex numbers, alone or in containers; integers, flags and texts are fixed when
    it is traced (under `jit` they are `static_argnums`). Cotangents of complex numbers are those of JAX, conjugates of
    the ones of `vjp`. Results have the dtypes that JAX allows: float32 for float64 unless `jax_enable_x64` is set.
    output: as in `vjp`. memory_limit, source: as in `grad`. vmap calls the function for one element after the other.

    The derivative goes through the function again, so nothing but the arguments is kept for it. It is compiled when it
    is traced, with the settings of then. Forward mode (`jax.jvp`, `jacfwd`) is that of `jvp`. Second derivatives are
    forward or reverse over reverse (`jax.hessian(f)`, `jax.jacrev(jax.grad(f))`), and a UsageError with a memory limit,
    which they do not keep. There are no third ones, and no derivatives of tangents.

    Raises UsageError without JAX, UnsupportedError for what cannot be compiled or differentiated.
    """
    return _adapted("jax", "JAX", "sdfgad.adapters.jax_arrays", _bridge(fn, output, memory_limit, source, "as_jax"))


def _bridge(fn: Callable[..., Any], output: Any, memory_limit: Any, source: str | None, what: str) -> Bridge:
    check_function(fn := as_function(fn), what)
    parse_bytes(memory_limit)
    return Bridge(fn, output, memory_limit, source or "", what)


def _adapted(package: str, name: str, module: str, bridge: Bridge) -> Callable[..., Any]:
    made: Callable[..., Any] = imported(package, name, module).adapted(bridge)
    return made
