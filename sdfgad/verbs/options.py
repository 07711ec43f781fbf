"""What the verbs are asked for, looked at before anything else."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from sdfgad.config import DEVICES, within
from sdfgad.errors import UsageError
from sdfgad.plans.plan import Plan
from sdfgad.verbs.second import device_of, refuse_derivatives

Given = ParamSpec("Given")
Result = TypeVar("Result")
_ON_DESCRIPTORS = MappingProxyType({
    classmethod: "write @classmethod above the decorator of sdfgad, not below it",
    property: "differentiate a method, or a function that takes what the property is made of",
})
"""What to do with what a class makes of functions."""


def check_names(verb: str, options: Iterable[str], like: Callable[..., Any]) -> None:
    """Raise Python's TypeError for an option that the verb does not have, as a signature would."""
    known = inspect.signature(like).parameters
    for name in options:
        if name not in known:
            raise TypeError(f"{verb}() got an unexpected keyword argument {name!r}")


def check_aux(has_aux: bool, output: Any) -> None:
    if has_aux and output is not None:
        raise UsageError("has_aux and output= together", code="SG205",
                         help="with has_aux the objective is what the function returns first: leave out output")


def check_options(fn: Any, reduce: str | None, device: str | None, plan: Any) -> None:
    if not callable(fn):
        called = isinstance(fn, (float, np.number, np.ndarray))
        raise UsageError(f"{fn!r} is not a function", code="SG205", help=_ON_DESCRIPTORS.get(
            type(fn), "pass the function itself, and the arguments to what you get: grad(f)(x)" if called else ""))
    refuse_derivatives(fn)
    if reduce not in (None, "sum"):
        raise UsageError(f"reduce={reduce!r}", code="SG205", help='reduce is None or "sum"')
    check_device(device)
    if plan is not None and not isinstance(plan, Plan):
        raise UsageError("plan= takes a sdfgad Plan", code="SG205", help="sdfgad.Plan.load(path) reads a saved one")


def check_device(device: str | None) -> None:
    if device not in (None, *DEVICES):
        raise UsageError(f"device={device!r}", code="SG205",
                         help=f"devices: {', '.join(DEVICES)}; of several graphics processors it is the one on which "
                              "the arrays lie")


def at_device(verb: Callable[Given, Result]) -> Callable[Given, Result]:
    """The verb with its option device=, which is what a block of `config` around the call would say; without it, that
    of a gradient which it is given."""

    @functools.wraps(verb)
    def there(*args: Given.args, **keywords: Given.kwargs) -> Result:
        __tracebackhide__ = True
        device: Any = keywords.get("device")
        check_device(device)
        if device is None and args:
            device = device_of(args[0])
        with within(device=device):
            return verb(*args, **keywords)

    return there
