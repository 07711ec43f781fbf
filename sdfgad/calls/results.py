"""From the arrays a compiled program leaves behind to what the caller gets."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sdfgad.calls.arguments import Bound
from sdfgad.errors import UsageError
from sdfgad.foreign.device_array import DeviceArray
from sdfgad.ir.index import Ix
from sdfgad.ir.interpret import returned
from sdfgad.ir.positions import put_together
from sdfgad.ir.program import View
from sdfgad.later import later
from sdfgad.trees import chosen, contents, mapped, step

if TYPE_CHECKING:
    from sdfgad.report.gradients import fragment_of
else:
    fragment_of = later("sdfgad.report.gradients", "fragment_of")


class Gradients:
    """Several gradients, by name: `g.A`, `g["A"]`, `"A" in g`, `g.get("A")`, `g.keys()`, `g.values()`, `g.items()`,
    `dict(g)`, `f(**g)`. In argument order, also by position, `g[0]`.

    Unpacking and iteration give the gradients, as a tuple of them would: `dA, dx = g`, `for d in g`.

    Those of the arrays in an argument `p` that is a container have the names `g["p['W']"]`, and `g.p` is such a
    container of gradients: what has none is left out of dicts and None everywhere else. `g.W` and `g["W"]` are short
    for `g.p["W"]` or `g.p.W` where only one container has something of this name. An argument that is called like a
    method is found as `g["items"]`.
    """

    def __init__(self, items: Mapping[str, Any], arguments: Mapping[str, Any] = MappingProxyType({})) -> None:
        self._items = dict(items)
        outer = {} if items.keys() <= arguments.keys() else {n: a for n, a in arguments.items() if n not in items}
        self._trees = {n: chosen(n, a, items) for n, a in outer.items() if _holds(n, items)}

    def __getattr__(self, name: str) -> Any:
        known = {**self.__dict__.get("_items", {}), **self.__dict__.get("_trees", {})}
        if name in known:
            return known[name]
        return self._named(name, AttributeError) if known else self._missing(name, AttributeError)

    def _named(self, name: str, error: type[Exception]) -> Any:
        """What one container alone has under a name."""
        inside = [(path, v) for path, key, v in self._inside() if key == name]
        if len(inside) == 1:
            return inside[0][1]
        if inside:
            raise error(f"several gradients are called {name!r}: {', '.join(path for path, _ in inside)}")
        return self._missing(name, error)

    def _missing(self, name: str, error: type[Exception]) -> Any:
        known = (*self.__dict__.get("_items", {}), *self.__dict__.get("_trees", {}))
        raise error(f"no gradient for {name!r}; there are {', '.join(known)}")

    def _inside(self) -> Iterator[tuple[str, Any, Any]]:
        """What the containers hold: where it is, its key, and its gradient."""
        for name, tree in self._trees.items():
            for key, value in (contents(tree) or {}).items():
                if value is not None:
                    yield name + step(type(tree), key), key, value

    def __getitem__(self, name: str | int) -> Any:
        if isinstance(name, int):
            return list(self._items.values())[name]
        if name in self._items:
            return self._items[name]
        if name in self._trees:
            return self._trees[name]
        return self._named(name, KeyError)

    def __contains__(self, name: object) -> bool:
        return name in self._items or name in self._trees

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    def get(self, name: str, default: Any = None) -> Any:
        """The gradient of this name, or something else where there is none."""
        return self[name] if name in self else default  # noqa: SIM401

    def keys(self) -> list[str]:
        """The names, in argument order."""
        return list(self._items)

    def values(self) -> list[Any]:
        """The gradients, in argument order."""
        return list(self._items.values())

    def items(self) -> list[tuple[str, Any]]:
        """Pairs of name and gradient, in argument order."""
        return list(self._items.items())

    def __dir__(self) -> list[str]:
        inside = [str(key) for _, key, _ in self._inside()]
        return [*super().__dir__(), *self._items, *self._trees, *(key for key in inside if key.isidentifier())]

    def __repr__(self) -> str:
        return "Gradients(" + ", ".join(f"{n}={v!r}" for n, v in self._items.items()) + ")"

    def _repr_html_(self) -> str:
        return fragment_of(self._items)


def _holds(name: str, items: Mapping[str, Any]) -> bool:
    return any(n.startswith((f"{name}[", f"{name}.")) for n in items)


def fill(tree: Any, memory: Mapping[str, np.ndarray]) -> Any:
    """A `Program.returns` tree with arrays in place of views; a scalar view gives a NumPy scalar."""
    if tree is None:
        return None
    if isinstance(tree, View):
        return extract(tree, memory)
    return mapped(lambda t: extract(t, memory) if isinstance(t, View) else t, tree)


def extract(view: View, memory: Mapping[str, np.ndarray]) -> Any:
    """The array a view describes: without a copy when it is a strided part of its base."""
    base: Any = memory[view.array]
    shape = tuple(n.const for n in view.shape if n.const is not None)
    if len(shape) != len(view.shape):
        return returned(view, memory)
    if not shape and not base.shape:
        return base if isinstance(base, DeviceArray) else base[()]
    form = _strided(view, base)
    if isinstance(base, DeviceArray):
        return _part(base, shape, form)
    if form is None:
        return returned(view, memory)
    offset, strides = form
    start = base.reshape(-1)[offset:] if base.size else base.reshape(-1)
    out = np.lib.stride_tricks.as_strided(start, shape, strides)
    return out if shape else out[()]


def _part(base: DeviceArray, shape: tuple[int, ...], form: tuple[int, tuple[int, ...]] | None) -> DeviceArray:
    if form is None:
        raise UsageError("the function returns a view that has no strides, of an array of a graphics processor",
                         code="SG212", help="return a copy of it")
    return base.part(form[0], shape, form[1])


def _strided(view: View, base: np.ndarray | DeviceArray) -> tuple[int, tuple[int, ...]] | None:
    """Element offset and byte strides of an affine view of a contiguous array."""
    place = Ix(())
    for i, stride in zip(view.index, base.strides, strict=True):
        place = place + i * (stride // base.itemsize)
    affine = put_together(place).affine
    if affine is None:
        return None
    strides = tuple(affine[0].get(f"_{k}", 0) * base.itemsize for k in range(len(view.shape)))
    return affine[1], strides


def one_or_all(grads: dict[str, Any], bound: Bound, single: bool) -> Any:
    """The only gradient when one was asked for; those of the arrays in a dict or an object always have their names."""
    if single and len(grads) == 1:
        (leaf, gradient), = grads.items()
        if leaf in bound.values or not any(mark in leaf for mark in (".", "['", '["')):  # in tuples and lists alone
            return gradient
    return Gradients(grads, bound.values)
