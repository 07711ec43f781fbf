"""Reverse-mode automatic differentiation of ordinary NumPy programs, compiled through SDFG dataflow graphs."""

import importlib as _importlib
import types as _types
import typing as _typing

from sdfgad import errors as errors

# Eager, so that `sdfgad.config` is the context manager: a later import of the submodule leaves the name alone.
from sdfgad.config import config as config
from sdfgad.logs import log_as_set as _log_as_set

if _typing.TYPE_CHECKING:
    from sdfgad.adapters.entrances import as_jax, as_torch
    from sdfgad.adapters.optimize import as_scipy
    from sdfgad.arrays import DistributedArray, spec
    from sdfgad.calls.buffers import release
    from sdfgad.codegen.compiling.cache import cache
    from sdfgad.errors import (
        AliasError,
        CacheWarning,
        DtypeError,
        GradientMismatchError,
        InvariantError,
        MemoryLimitError,
        NanError,
        OutOfBoundsError,
        OutputError,
        PeakWarning,
        PlanNotExecutable,
        SdfgadError,
        SnapshotError,
        ToolchainError,
        UnsupportedError,
        UnusedArgumentWarning,
        UsageError,
    )
    from sdfgad.frontend.graphs.function import from_sdfg
    from sdfgad.plans.plan import Plan
    from sdfgad.testing import check_grads
    from sdfgad.verbs.api import forward, grad, stop_gradient, value_and_grad
    from sdfgad.verbs.batches import vmap
    from sdfgad.verbs.custom import custom_jvp, custom_vjp
    from sdfgad.verbs.exports import export
    from sdfgad.verbs.graphs import to_sdfg
    from sdfgad.verbs.implicit import fixed_point, linear_solve, root
    from sdfgad.verbs.matrices import hessian, hvp, jacobian
    from sdfgad.verbs.planned import pareto, plan
    from sdfgad.verbs.products import jvp, vjp

__version__ = "0.1.0"

__all__ = (
    "AliasError", "CacheWarning", "DistributedArray", "DtypeError", "GradientMismatchError", "InvariantError",
    "MemoryLimitError", "NanError", "OutOfBoundsError", "OutputError", "PeakWarning", "Plan", "PlanNotExecutable",
    "SdfgadError", "SnapshotError", "ToolchainError", "UnsupportedError", "UnusedArgumentWarning", "UsageError",
    "__version__", "as_jax", "as_scipy", "as_torch", "cache", "check_grads", "config", "custom_jvp", "custom_vjp",
    "errors", "export", "fixed_point", "forward", "from_sdfg", "grad", "hessian", "hvp", "jacobian", "jvp",
    "linear_solve", "pareto", "plan", "release", "root", "spec", "stop_gradient", "to_sdfg", "value_and_grad", "vjp",
    "vmap",
)

_ERRORS = frozenset(name for name in __all__ if name.endswith(("Error", "Warning", "Executable")))
# Heavy modules are loaded at first use: `import sdfgad` stays fast and does not import dace.
_HOMES = _types.MappingProxyType({name: f"sdfgad.{home}" for home, names in {
    "verbs.api": "forward grad stop_gradient value_and_grad", "verbs.planned": "pareto plan",
    "verbs.products": "jvp vjp",
    "verbs.matrices": "hessian hvp jacobian", "verbs.batches": "vmap", "verbs.custom": "custom_jvp custom_vjp",
    "verbs.implicit": "fixed_point linear_solve root", "verbs.graphs": "to_sdfg", "verbs.exports": "export",
    "frontend.graphs.function": "from_sdfg", "adapters.optimize": "as_scipy", "adapters.entrances": "as_jax as_torch",
    "testing": "check_grads", "calls.buffers": "release", "arrays": "DistributedArray spec", "plans.plan": "Plan",
    "codegen.compiling.cache": "cache", "errors": " ".join(_ERRORS)}.items() for name in names.split()})

_log_as_set()


def __getattr__(name: str) -> _typing.Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sdfgad' has no attribute {name!r}")
    value = getattr(_importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
