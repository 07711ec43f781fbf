"""Sparse Jacobians and Hessians: of columns that share no row one product gives all nonzeros.

A. Curtis, M. Powell, J. Reid, On the estimation of sparse Jacobian matrices, 1974; A. Gebremedhin, F. Manne, A. Pothen,
What color is your Jacobian?, SIAM Review 47, 2005. The pattern is that of the tangent program
(`analysis/patterns/flow.py`), and colours are networkx's.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from sdfgad.analysis.patterns.flow import patterns
from sdfgad.calls.arguments import Bound, as_called
from sdfgad.calls.asked import Leaves
from sdfgad.errors import SourceLine, UnsupportedError, UsageError, unsupported
from sdfgad.frontend import Parsed
from sdfgad.ir.program import View
from sdfgad.plans.request import Request
from sdfgad.thresholds import thresholds
from sdfgad.trees import contents
from sdfgad.verbs.products import jvp, vjp
from sdfgad.verbs.pushforwards import Pushed, bent, pushed
from sdfgad.verbs.second import Differentiated
from sdfgad.verbs.translations import once

Products: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""From directions, one in each row, to products with the matrix, one in each row."""
AT_ONCE = 16
"""Directions of one program."""


@dataclass(frozen=True)
class Colouring:
    """Which columns are in one product. pattern: csr_array. colours: the group of each column, or of each row."""

    pattern: Any
    colours: np.ndarray
    by_rows: bool

    def matrix(self, products: Products, check: bool) -> Any:
        """The matrix, by one product for each group. check: with one more, which every nonzero takes part in."""
        groups = int(self.colours.max(initial=-1)) + 1
        if not groups:
            return csr_array(self.pattern.shape)
        directions = np.zeros((groups + check, len(self.colours)))
        directions[self.colours, np.arange(len(self.colours))] = 1.0
        if check:
            directions[-1] = np.random.default_rng(0).uniform(0.5, 1.5, len(self.colours))
        made = products(directions)
        row, column = self.pattern.nonzero()
        group, place = (self.colours[row], column) if self.by_rows else (self.colours[column], row)
        if made.shape[1] != self.pattern.shape[self.by_rows]:
            raise misfit(self.pattern.shape, (made.shape[1], len(self.colours))[::-1 if self.by_rows else 1])
        found = csr_array((made[group, place], (row, column)), self.pattern.shape)
        if check:
            _compare(found.T if self.by_rows else found, directions[-1], made[-1], self.by_rows)
        return found


def misfit(given: Sequence[int], wanted: Sequence[int]) -> UsageError:
    """A pattern of another matrix, or with another number of rows or columns."""
    return UsageError(f"a sparsity pattern of shape {tuple(given)} for a matrix of shape {tuple(wanted)}", code="SG205",
                      help="it has a row for each element of the output, and a column for each of the arguments")


def _compare(matrix: Any, along: np.ndarray, product: np.ndarray, by_rows: bool) -> None:
    """UsageError where a product with the matrix is not that of the derivative."""
    size = abs(matrix) @ along
    allowed = np.sqrt(np.finfo(product.dtype).eps) * (size + np.max(size, initial=0.0) * 1e-4)
    # Numbers that are none differ from themselves.
    wrong = np.flatnonzero(np.abs(matrix @ along - product) > allowed)
    if wrong.size:
        raise UsageError(f"the sparsity pattern lacks nonzeros of {'column' if by_rows else 'row'} {wrong[0]} (and of "
                         f"{wrong.size - 1} more): a product with the matrix differs", code="SG205",
                         help='sparsity="auto" finds the pattern')


class _Neighbours(nx.Graph):
    """A graph whose edges say nothing of themselves: they share what they have, which needs less room."""

    def __init__(self) -> None:
        nothing: dict[str, Any] = {}
        self.edge_attr_dict_factory = lambda: nothing
        super().__init__()


def coloured(pattern: Any, mode: str, source: SourceLine | None) -> Colouring:
    """Groups of columns ("forward") or rows ("reverse") with no nonzero in one line; "auto": of what needs fewer.

    UnsupportedError (SG191) at `source` where too many of them meet."""
    turned = pattern.T.tocsr()
    longest = [int(np.diff(p.indptr).max(initial=0)) for p in (pattern, turned)]
    by_rows = mode == "reverse" or mode == "auto" and longest[1] < longest[0]
    return Colouring(pattern, _groups(turned if by_rows else pattern, source), by_rows)


def _groups(pattern: Any, source: SourceLine | None) -> np.ndarray:
    """A colour for each column, different for two with a nonzero in one row."""
    lengths, columns = np.diff(pattern.indptr).astype(np.int64), pattern.shape[1]
    if lengths.max(initial=0) == columns:
        return np.arange(columns)
    pairs = _neighbours(pattern, int(np.sum(lengths * lengths)))
    if pairs is None:
        raise unsupported(source, "a sparse matrix whose columns share rows with very many others",
                          "leave sparsity out, or ask for the other mode", "SG191")
    graph = _Neighbours()
    graph.add_nodes_from(range(columns))
    graph.add_edges_from(pairs)
    found = nx.greedy_color(graph, "largest_first")
    return np.array([found[k] for k in range(columns)], np.int64)


def _neighbours(pattern: Any, work: int) -> Iterable[tuple[int, int]] | None:
    """The pairs of columns with a nonzero in one row; None where these are too many."""
    most = thresholds().pattern_neighbours
    if work > 20 * most:
        return None
    whole = pattern.astype(np.int32)
    pairs = (whole.T @ whole).tocoo()
    above = pairs.row < pairs.col
    return zip(pairs.row[above].tolist(), pairs.col[above].tolist(), strict=True) if pairs.nnz <= most else None


@dataclass(frozen=True)
class Known:
    """A pattern that was found, and the integers that it was found with."""

    parsed: Parsed
    colouring: Colouring
    constants: Mapping[str, np.ndarray]

    def holds(self) -> bool:
        """Whether arrays from outside are what they were."""
        now = self.parsed.program.constants
        return all(np.array_equal(now[n], then) for n, then in self.constants.items() if n in now)


def asked_pattern(sparsity: Any, mode: str, found: Callable[[], Known]) -> Colouring:
    """The pattern that was given, or that of the program."""
    if isinstance(sparsity, str):
        if sparsity != "auto":
            raise UsageError(f"sparsity={sparsity!r}", code="SG205",
                             help='None, "auto", or a matrix of the pattern: SciPy\'s, or an array of booleans')
        return found().colouring
    given = csr_array(sparsity if issparse(sparsity) else np.asarray(sparsity) != 0)
    if given.ndim != 2:
        raise misfit(given.shape, (0, 0))
    ones = csr_array((np.ones(len(given.indices), bool), given.indices, given.indptr), given.shape)
    ones.sum_duplicates()
    return coloured(ones, mode, None)


def known_pattern(fn: Callable[..., Any], bound: Bound, key: tuple[Any, ...], mode: str,
                  make: Callable[[], Pushed]) -> Known:
    """The pattern of a tangent program, made once for a function, arguments of these shapes, and these integers."""
    integers = tuple((n, np.asarray(v).tobytes()) for n, v in bound.leaves.items() if np.asarray(v).dtype.kind in "iub")

    def analysed() -> Known:
        made = make()
        return Known(made.parsed, coloured(pattern_of(made, bound), mode, made.parsed.program.source), _whole_numbers(
            {n: np.array(v) for n, v in made.parsed.program.constants.items()}))

    known: Known = once(fn, ("pattern", bound.signature, key, mode, integers), analysed)
    return known if known.holds() else analysed()


def _whole_numbers(arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {n: np.asarray(a) for n, a in arrays.items() if np.asarray(a).dtype.kind in "iub"}


def pattern_of(made: Pushed, bound: Bound) -> Any:
    """The pattern of a tangent program: its results one below the other, the elements of the directions side by side.
    """
    program, returns, arguments = made.tangent()
    results = returns if isinstance(returns, tuple) else (returns,)
    if any(r is None or contents(r) is not None for r in results):
        raise not_one()
    first, inputs = 0, {}
    for leaf, container in made.directions.items():
        name = arguments[container]
        if name is not None and name in program.arrays:
            inputs[name] = first
        first += np.size(bound.leaves[leaf])
    given = {c: bound.leaves[leaf] for leaf, c in made.parsed.traced.items()}
    known = {n: v for n, v in _whole_numbers({**program.constants, **given}).items() if n in program.arrays}
    found = patterns(program, inputs, first, known, [r if isinstance(r, View) else None for r in results])
    return vstack([csr_array((_size(r), first), dtype=bool) if rows is None else rows
                   for r, rows in zip(results, found, strict=True)], format="csr")


def not_one() -> UsageError:
    """What is differentiated is not one real array."""
    return UsageError("the output is not one real array", code="SG205",
                      help="name one with output=: its position among what is returned, or an argument")


def _size(result: Any) -> int:
    return int(np.prod([n.const or 0 for n in result.shape])) if isinstance(result, View) else int(np.size(result))


def in_parts(directions: np.ndarray, forms: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The columns of directions as arrays of the shapes of `forms`, with an axis for the directions in front."""
    found, at, columns = {}, 0, sum(np.size(f) for f in forms.values())
    if directions.shape[1] != columns:
        raise misfit(directions.shape[1:], (columns,))
    for name, form in forms.items():
        here = np.asarray(form)
        found[name] = directions[:, at:at + here.size].reshape(len(directions), *here.shape).astype(here.dtype)
        at += here.size
    return found


def together(parts: Sequence[Any], count: int) -> np.ndarray:
    """The way back."""
    return np.concatenate([np.asarray(p).reshape(count, -1) for p in parts], axis=1)


def at_once(directions: np.ndarray, several: Products, single: Products) -> np.ndarray:
    """Products by a program for several directions; what is refused for several is done for one after the other."""
    size = min(len(directions), AT_ONCE)
    made = []
    for first in range(0, len(directions), size):
        some = np.zeros((size, directions.shape[1]))
        here = directions[first:first + size]
        some[:len(here)] = here
        try:
            made.append(several(some)[:len(here)])
        except UnsupportedError as refused:
            if refused.code != "SG190":
                raise
            return np.concatenate([single(d[None]) for d in directions])
    return np.concatenate(made)


@dataclass(frozen=True)
class Jacobian:
    """What is asked of a function: its output, and the pattern of its matrix."""

    fn: Callable[..., Any]
    output: Any
    source: str | None
    mode: str
    sparsity: Any

    def at(self, bound: Bound, names: tuple[str, ...]) -> dict[str, Any]:
        """The derivative of the output by each argument, as a csr_array."""
        key = ("jacobian", names, repr(self.output))
        colouring = asked_pattern(self.sparsity, self.mode, lambda: known_pattern(
            self.fn, bound, key, self.mode, lambda: pushed(self.fn, bound, names, self.output, self.source or "")))
        forms = {n: bound.leaves[n] for n in names}
        products = self.pulled(bound, names) if colouring.by_rows else self.pushed(bound, forms)
        return by_columns(colouring.matrix(products, not isinstance(self.sparsity, str)), forms)

    def pushed(self, bound: Bound, forms: Mapping[str, Any]) -> Products:
        """Tangents of the output."""
        args, named = as_called(self.fn, bound)

        def several(directions: np.ndarray, batched: bool = True) -> np.ndarray:
            given = in_parts(directions, forms)
            along = given if batched else {n: d[0] for n, d in given.items()}
            out, tangent = jvp(self.fn, args, along, output=self.output, source=self.source, batched=batched, **named)
            refuse_others(out)
            return np.asarray(tangent).reshape(len(directions), -1)

        return lambda directions: at_once(directions, several, lambda d: several(d, False))

    def pulled(self, bound: Bound, names: tuple[str, ...]) -> Products:
        """Cotangents of the arguments."""
        args, named = as_called(self.fn, bound)
        out, pullback = vjp(self.fn, *args, wrt=Leaves(names), output=self.output, source=self.source, **named)
        refuse_others(out)

        def several(seeds: np.ndarray, batched: bool = True) -> np.ndarray:
            shape, form = np.shape(out), np.asarray(out)
            if seeds.shape[1] != form.size:
                raise misfit(seeds.shape[1:], (form.size,))
            given = seeds.astype(form.dtype).reshape(*((len(seeds),) if batched else ()), *shape)
            found = pullback(given, batched=batched)
            return together([found[n] for n in names], len(seeds))

        return lambda directions: at_once(directions, several, lambda d: several(d, False))


@dataclass(frozen=True)
class SparseHessian:
    """The derivatives of a gradient by arguments, as sparse matrices."""

    gradient: Differentiated
    sparsity: Any

    def at(self, bound: Bound, rows: tuple[str, ...], names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
        """For each row, the derivative by each argument."""
        of = self.gradient
        request = Request(rows, of.output, of.reduce)
        colouring = asked_pattern(self.sparsity, "forward", lambda: known_pattern(
            of.fn, bound, ("hessian", names, repr(request)), "forward",
            lambda: bent(of.fn, bound, request, names, of.source)))
        forms = {n: bound.leaves[n] for n in names}

        def several(directions: np.ndarray, batched: bool = True) -> np.ndarray:
            given, count = in_parts(directions, forms), len(directions)
            along = given if batched else {n: d[0] for n, d in given.items()}
            return together(of.tangent(bound, rows, along, count if batched else None)[1], count)

        whole = colouring.matrix(lambda directions: at_once(directions, several, lambda d: several(d, False)),
                                 not isinstance(self.sparsity, str))
        ends = np.cumsum([np.size(bound.leaves[n]) for n in rows]).tolist()
        return {n: by_columns(whole[end - np.size(bound.leaves[n]):end], forms)
                for n, end in zip(rows, ends, strict=True)}


def by_columns(whole: Any, forms: Mapping[str, Any]) -> dict[str, Any]:
    """The part of each argument."""
    found, at = {}, 0
    for name, form in forms.items():
        found[name] = whole[:, at:at + np.size(form)]
        at += np.size(form)
    return found


def refuse_others(out: Any) -> None:
    """UsageError for what is not one real array."""
    if contents(out) is not None or np.asarray(out).dtype.kind != "f":
        raise not_one()
