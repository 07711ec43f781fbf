"""Oracles: numerical derivatives, and both modes of the engine run by the reference interpreter."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.analysis.block_local import block_locals
from sdfgad.analysis.elements.access import sites
from sdfgad.analysis.reversal.inverse import inversions
from sdfgad.analysis.verify import every_fault, verify
from sdfgad.codegen.targets import chosen
from sdfgad.ir.interpret import returned
from sdfgad.ir.program import Array, Program, View
from sdfgad.ir.text import program_text
from sdfgad.ir.verify import DERIVED
from sdfgad.reverse.forward_mode import tangent
from sdfgad.reverse.made import Gradient, ReverseRequest
from sdfgad.reverse.sweeps import gradient
from sdfgad.transform.dropping.dead import remove_dead_code
from sdfgad.transform.normal.normalise import normalise
from sdfgad.transform.stages import TRIM, prepare_program
from tests.support.point_loops import run
from tests.support.vectors import run as whole

Arrays = Mapping[str, np.ndarray]
FEW = 6
"""Entries of an argument that differences are taken along one by one."""


def numerical_gradient(f: Callable[..., Any], args: Sequence[Any], wrt: int = 0, analytic: bool = False) -> np.ndarray:
    """d f / d args[wrt], element by element; steepest ascent for a complex argument.

    analytic: f maps complex numbers, so that the complex step (exact to rounding) can be taken. Otherwise central
    differences of two step sizes, extrapolated.
    """
    x = np.array(args[wrt])
    out = np.zeros(x.shape, x.dtype)
    for k in np.ndindex(x.shape):
        e = np.zeros(x.shape, x.dtype)
        e[k] = 1
        out[k] = directional(f, args, wrt, e, analytic)
        if x.dtype.kind == "c":
            out[k] += 1j * directional(f, args, wrt, 1j * e)
    return out


def directional(f: Callable[..., Any], args: Sequence[Any], wrt: int, direction: np.ndarray,
                analytic: bool = False) -> Any:
    """The derivative of f along a direction of one argument."""
    x = np.array(args[wrt])

    def moved(step: complex) -> Any:
        point = x.astype(np.result_type(x.dtype, np.min_scalar_type(step), direction.dtype)) + step * direction
        return f(*(point if k == wrt else np.array(a) for k, a in enumerate(args)))

    if analytic:
        return np.imag(moved(1e-30j)) / 1e-30
    h = 2e-2 if x.dtype in (np.float32, np.complex64) else 5e-4
    narrow, wide = ((np.asarray(moved(s)) - np.asarray(moved(-s))) / (2 * s) for s in (h, 2 * h))
    return (4 * narrow - wide) / 3


def execute(program: Program, arrays: Arrays) -> tuple[Any, dict[str, np.ndarray]]:
    """Value and memory of a program run on copies of its arguments."""
    memory: dict[str, np.ndarray] = {}
    value = run(program, {n: np.array(a) for n, a in arrays.items()}, memory)
    return value, memory


def value_of(program: Program, arrays: Arrays) -> Any:
    """The value of a program, to rounding: its sums are added up in another order than the reference has."""
    return returned(program.returns, whole(program, arrays))


def sample(array: Array, seed: int) -> np.ndarray:
    """Random contents that use the whole range of the dtype sensibly."""
    rng = np.random.default_rng(seed)
    kind = array.dtype.kind
    if kind == "b":
        return np.asarray(rng.random(array.shape) < 0.5)
    if kind in "iu":
        return np.asarray(rng.integers(0 if kind == "u" else -9, 10, array.shape)).astype(array.dtype)
    real = rng.standard_normal(array.shape)
    return np.asarray(real + 1j * rng.standard_normal(array.shape) if kind == "c" else real).astype(array.dtype)


def check_same(before: Program, after: Program, given: Arrays = MappingProxyType({}), tolerance: float = 0.0,
               keep: Iterable[str] | None = None) -> None:
    """Both programs leave the same in their arguments, or those to `keep`, by the reference interpreter.

    Arguments that are not `given` start with random contents.
    """
    if next(every_fault(before), None) is None:
        verify(after, "the pass")
    start = {n: sample(before.arrays[n], k) for k, n in enumerate(before.arguments)} | dict(given)
    expected, actual = ({n: np.array(a) for n, a in start.items()} for _ in range(2))
    run(before, expected)
    run(after, actual)
    for name in before.arguments if keep is None else keep:
        np.testing.assert_allclose(actual[name], expected[name], rtol=tolerance, atol=tolerance,
                                   err_msg=f"{name}, after:\n{program_text(after)}")


def reversed_program(program: Program, wrt: Sequence[str], seeds: str = "ones", recompute: frozenset[str] = frozenset(),
                     fused: bool = True, undone: frozenset[str] = frozenset()) -> Gradient:
    """The gradient program of a program that returns what is differentiated, made by the passes of the pipeline.

    fused: temporaries are fused away first, as the pipeline does. undone: see `undoable`.
    """
    views = tuple(views_of(program.returns))
    ready = prepare_program(program, views) if fused else normalise(program)
    made = gradient(ready, ReverseRequest(tuple(wrt), views, seeds, True), recompute, undone=undone)
    verify(made.program, "gradient", DERIVED)
    kept = (*made.results, *(v.array for v in views_of(made.program.returns)), *made.program.watched)
    lean = remove_dead_code(made.program.but(live_out=frozenset(kept)))
    return replace(made, program=chosen().optimised(TRIM(lean)))


def program_gradient(program: Program, arrays: Arrays, wrt: Sequence[str], seeds: Sequence[Any] = (),
                     recompute: frozenset[str] = frozenset(), fused: bool = True,
                     undone: frozenset[str] = frozenset()) -> tuple[Any, dict[str, np.ndarray]]:
    """Value and gradients of a program by the interpreted reverse sweep."""
    made = reversed_program(program, wrt, "arguments" if seeds else "ones", recompute, fused, undone)
    passed = {**arrays, **{n: np.array(s) for n, s in zip(made.seeds, seeds, strict=True)}}
    value, memory = execute(made.program, passed)
    return value, {n: memory[g] if g else np.zeros_like(arrays[n]) for n, g in made.gradients.items()}


def program_tangent(program: Program, arrays: Arrays, tangents: Arrays) -> tuple[Any, Any]:
    """Value and tangent of a program by the interpreted forward mode."""
    ready = prepare_program(program, ())
    made = tangent(ready, tuple(tangents))
    verify(made.program, "tangent", DERIVED)
    passed = {made.arguments[n]: t for n, t in tangents.items() if made.arguments[n]}
    value, memory = execute(made.program, {**arrays, **passed})
    return value, _tangent_of(ready.returns, made.view, memory)


def _tangent_of(tree: Any, view: Callable[[View], View | None], memory: Arrays) -> Any:
    if isinstance(tree, (tuple, list)):
        return type(tree)(_tangent_of(t, view, memory) for t in tree)
    found = view(tree) if isinstance(tree, View) else None
    return 0.0 if found is None else returned(found, memory)


def rebuildable(program: Program, wrt: Sequence[str]) -> frozenset[str]:
    """Names of the kept values a plan may recompute."""
    return frozenset(k.name for k in reversed_program(program, wrt).kept if k.recomputable)


def undoable(program: Program) -> frozenset[str]:
    """Names of all overwrites that can be taken back exactly, worth it or not."""
    views = tuple(views_of(program.returns))
    ready = prepare_program(program, views)
    place = sites(ready.body)
    seen = {v.array for v in views}
    return frozenset(inversions(ready, place, block_locals(ready, place, seen)).units)


def views_of(tree: Any) -> list[View]:
    """The floating and complex results of a returns tree."""
    if isinstance(tree, View):
        return [tree] if tree.dtype.kind in "fc" else []
    return [v for t in tree for v in views_of(t)] if isinstance(tree, (tuple, list)) else []


def inner(a: Any, b: Any) -> float:
    """The real inner product of two arrays."""
    return float(np.sum(np.real(np.conj(a) * b)))


def check_program(program: Program, arrays: Arrays, wrt: Sequence[str], rtol: float = 1e-7) -> dict[str, np.ndarray]:
    """Reverse mode against numerical differences, against forward mode, and against the value of the program."""
    names = list(arrays)
    expected, _ = execute(program, arrays)
    value, found = program_gradient(program, arrays, wrt)
    plain, unfused = program_gradient(program, arrays, wrt, fused=False)
    np.testing.assert_array_equal((value, plain), (expected, expected), err_msg="the value of the gradient program")
    for n in wrt:
        np.testing.assert_allclose(unfused[n], found[n], rtol=1e-11, atol=1e-11, err_msg="fused temporaries")
    rng = np.random.default_rng(7)
    for k, name in enumerate(names):
        for along in _directions(arrays[name], rng) if name in wrt else ():
            expected = directional(lambda *a: value_of(program, dict(zip(names, a, strict=True))),
                                   list(arrays.values()), k, along)
            scale = max(1.0, float(np.max(np.abs(found[name] * along), initial=0)))
            np.testing.assert_allclose(inner(found[name], along), expected, rtol=rtol, atol=rtol * scale,
                                       err_msg=f"d/d{name} along {along}")
    direction = {n: _random_like(rng, arrays[n]) for n in wrt}
    _, pushed = program_tangent(program, arrays, direction)
    pulled = sum(inner(found[n], direction[n]) for n in wrt)
    np.testing.assert_allclose(np.real(pushed), pulled, rtol=1e-10, atol=1e-10, err_msg="forward against reverse mode")
    return found


def _directions(a: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Every entry, of what is small; else a few, and all together in random directions, in which an error of any entry
    shows."""
    entries = list(np.ndindex(a.shape))
    for at in entries if len(entries) <= FEW else (entries[0], entries[-1]):
        for one in (1, 1j) if a.dtype.kind == "c" else (1,):
            along = np.zeros(a.shape, a.dtype)
            along[at] = one
            yield along
    for _ in range(3 if len(entries) > FEW else 0):
        yield _random_like(rng, a)


def _random_like(rng: np.random.Generator, a: np.ndarray) -> np.ndarray:
    t = rng.normal(size=a.shape)
    return (t + 1j * rng.normal(size=a.shape) if a.dtype.kind == "c" else t).astype(a.dtype)
