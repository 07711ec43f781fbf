"""Where rules are kept. A scalar rule states partial derivatives only; both modes are derived from it."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

from sdfgad.ir.algebra import Operand, Term

Partials: TypeAlias = Callable[..., Operand | None | tuple[Operand | None, ...]]


@dataclass(frozen=True)
class ScalarRule:
    """Partial derivatives of one function.

    partials(y, *x): y the answer, x the inputs as terms; one entry per input, None where no gradient exists.
    samples: points (numbers or tuples) at which tests check it, off the symmetric points.
    singular: a partial may be infinite where the cotangent is exactly zero; then their product counts as zero.
    """

    name: str
    partials: Partials
    samples: tuple[Any, ...]
    complex_samples: tuple[Any, ...] = ()
    singular: bool = False
    where: str = ""

    def of(self, y: Term, *x: Term) -> tuple[Operand | None, ...]:
        found = self.partials(y, *x)
        return found if isinstance(found, tuple) else (found,)


@dataclass(frozen=True)
class NodeRule:
    """The linearisation of a library node: see `rules/nodes.py`."""

    op: str
    linearise: Callable[..., None]
    sample: Callable[..., dict[str, Any]]


_SCALAR: dict[str, ScalarRule] = {}
_NODES: dict[str, NodeRule] = {}
_NO_GRADIENT: dict[str, str] = {}


def scalar_rule(name: str, partials: Partials, samples: Sequence[Any], complex_samples: Sequence[Any] = (),
                singular: bool = False) -> None:
    """Register the partials of one scalar function."""
    code = getattr(partials, "__code__", None)
    where = f"rules/scalar.py:{code.co_firstlineno}" if code else "?"
    _put(ScalarRule(name, partials, tuple(samples), tuple(complex_samples), singular, where))


def _put(rule: ScalarRule) -> None:
    _SCALAR[rule.name] = rule
    version.cache_clear()


def no_gradient(*names: str) -> None:
    """Register functions through which no derivative exists (integers, comparisons) or is zero everywhere."""
    _NO_GRADIENT.update(dict.fromkeys(names, "none"))


def node_rule(op: str, sample: Callable[..., dict[str, Any]]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register the linearisation of one library node, with a maker of test operands."""

    def register(fn: Callable[..., None]) -> Callable[..., None]:
        _NODES[op] = NodeRule(op, fn, sample)
        return fn

    return register


def scalar(name: str) -> ScalarRule | None:
    """The rule of a function, or None when it has no gradient. KeyError when nobody wrote one."""
    if name in _NO_GRADIENT:
        return None
    return _SCALAR[name]


def known(name: str) -> bool:
    """Whether the book says anything about a scalar function."""
    return name in _SCALAR or name in _NO_GRADIENT


def node(op: str) -> NodeRule | None:
    """The rule of a library node; None when the node has no gradient."""
    return _NODES.get(op)


def scalar_rules() -> Iterator[ScalarRule]:
    """Every scalar rule, in the order they were written."""
    yield from _SCALAR.values()


def node_rules() -> Iterator[NodeRule]:
    """Every node rule."""
    yield from _NODES.values()


def without_gradient() -> tuple[str, ...]:
    """Names of functions without a gradient."""
    return tuple(_NO_GRADIENT)


@contextmanager
def override(name: str, partials: Partials) -> Iterator[None]:
    """Replace a scalar rule for a while: for tests that break a rule on purpose."""
    old = _SCALAR[name]
    _put(replace(old, partials=partials))
    try:
        yield
    finally:
        _put(old)


@lru_cache(maxsize=1)
def version() -> str:
    """A fingerprint of the rules in force, part of the cache key of a compiled gradient."""
    return ",".join(f"{r.name}:{r.partials.__code__.co_code.hex()}:{r.partials.__code__.co_consts!r}"
                    for r in _SCALAR.values())
