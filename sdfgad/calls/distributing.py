"""What `distribute=` asks for, and the ranks it is asked of."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from math import prod
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from sdfgad.arrays import DistributedArray
from sdfgad.calls.arguments import Bound
from sdfgad.errors import UnsupportedError, UsageError
from sdfgad.ir.messages import NUMBERS
from sdfgad.ir.program import Program
from sdfgad.ranks import handle_of, is_communicator
from sdfgad.transform.cutting.blocks import Distribution, RankGrid, staggered

BLOCK, WHOLE, AUTO = "block", "replicated", "auto"
NEARLY = 4
"""So many elements fewer an axis may have that is cut beside another one: without the borders of a stencil."""
_FORMS = ('an array is "replicated", "block" along its first axis, or a tuple of "block" and None for its axes; '
          'there are no cyclic layouts')


_NAMED = 'name the arrays and their axes: distribute={"u": ("block", None)}'


@dataclass(frozen=True, eq=False)
class DistributeOption:
    """The options of a verb. arrays: "auto" lets the cost decide. comm: a communicator of mpi4py, or the number of
    ranks, of which there is a plan only."""

    arrays: Mapping[str, Any] | str
    comm: Any
    grid: tuple[int, ...] | None = None
    gather: bool = True

    @property
    def ranks(self) -> Any | None:
        """The communicator; UsageError where there is but a number of ranks."""
        if not is_communicator(self.comm):
            raise UsageError(f"comm={self.comm!r} is a number of ranks: there is a plan for it, but nobody to compute",
                             code="SG205", help="give a communicator of mpi4py")
        return self.comm

    @property
    def automatic(self) -> bool:
        return self.arrays == AUTO

    @property
    def size(self) -> int:
        """The number of ranks."""
        return int(self.comm.Get_size()) if is_communicator(self.comm) else int(self.comm)

    def candidates(self, bound: Bound) -> list[Distribution]:
        """What could be cut along one axis, and on a grid of ranks along two: each large extent of an argument, with
        all axes that have nearly as many elements."""
        shapes = {n: np.shape(v) for n, v in bound.leaves.items() if np.shape(v)}
        sides = even_grid(self.size, 2) if self.grid is None else self.grid
        along_one = _alike(shapes, self.size) if self.grid is None or len(sides) == 1 else []
        along_two = _pairs(shapes, max(sides)) if len(sides) == 2 and min(sides) > 1 else []
        both = (along_one, along_two)
        return [self._along(axes, count, shapes) for count, cuts in enumerate(both, 1) for axes in cuts]

    def nothing_to_cut(self, bound: Bound) -> UnsupportedError:
        """Why there are no candidates, and what to do about it."""
        sides = even_grid(self.size, 2) if self.grid is None else self.grid
        if not any(np.shape(v) for v in bound.leaves.values()):
            return UnsupportedError(f'distribute="{AUTO}": no argument is an array', code="SG124", help=_NAMED)
        if self.grid is not None and len(sides) > 2:
            return UnsupportedError(f'distribute="{AUTO}" with grid={self.grid}: one axis is cut, or two', code="SG124",
                                    help=f"leave grid= out, or {_NAMED}")
        if self.grid is not None and len(sides) == 2:
            return UnsupportedError(f'distribute="{AUTO}" with grid={self.grid}: the largest array has not two axes of '
                                    f"{max(sides)} elements or more, which others share", code="SG124",
                                    help=f"give grid=({self.size},), which cuts one axis, or {_NAMED}")
        return UnsupportedError(f'distribute="{AUTO}": no array has an axis with as many elements as there are ranks, '
                                f"{self.size}", code="SG124", help=f"take fewer ranks, or {_NAMED}")

    def of(self, bound: Bound) -> Distribution:
        """How the arrays of a call are cut. UsageError for names and forms that do not fit."""
        assert not isinstance(self.arrays, str)
        axes = {name: _axes(name, form, bound) for name, form in self.arrays.items()}
        count = max((sum(d is not None for d in a) for a in axes.values()), default=0)
        if not count:
            raise UsageError("distribute= cuts no array", code="SG205", help=_FORMS)
        return self._along(axes, count, {n: np.shape(bound.leaves[n]) for n in axes})

    def _along(self, axes: Mapping[str, tuple[int | None, ...]], count: int,
               shapes: Mapping[str, tuple[int, ...]]) -> Distribution:
        grid = RankGrid(self._grid(self.size, count))
        middle = grid.places.index(tuple(n // 2 for n in grid.extents))
        rank = self.comm.Get_rank() if is_communicator(self.comm) else middle
        return Distribution(grid, rank, axes, gather=self.gather, beside=staggered(axes, shapes))

    def placed(self, bound: Bound) -> Bound:
        """The arguments of a call, with the place of every block that is given alone. UsageError for those that are
        none of this rank."""
        if self.automatic:
            return bound
        leaves, wanted = dict(bound.leaves), self.of(bound)
        for name, value in bound.leaves.items():
            if isinstance(value, DistributedArray) and name in wanted.axes:
                own = wanted.own(name, value.shape)
                shape = tuple(s.stop - s.start for s in own)
                if value.dtype.kind not in "fc" or value.local.shape != shape:
                    given = f"{value.dtype}{list(value.local.shape)}"
                    raise UsageError(f"argument {name!r}: a block of {given}, where rank {wanted.rank} has floating "
                                     f"numbers of shape {list(shape)}", code="SG205")
                leaves[name] = DistributedArray(value.local, value.shape, tuple(s.start for s in own))
        return Bound(bound.values, leaves, bound.signature)

    def _grid(self, size: int, count: int) -> tuple[int, ...]:
        if self.grid is None:
            return even_grid(size, count)
        what = f"give grid={even_grid(size, count)}, or leave it out"
        if len(self.grid) != count:
            raise UsageError(f"grid={self.grid}: {size} ranks in {count} dimensions are asked for, one for each axis "
                             "that is cut", code="SG205", help=what)
        if prod(self.grid) != size:
            raise UsageError(f"grid={self.grid} has room for {prod(self.grid)} ranks, and there are {size}",
                             code="SG205", help=what)
        return self.grid


def asked_distribution(distribute: Any, comm: Any, grid: Any, gather: bool) -> DistributeOption | None:
    """The options, looked at as far as they can be without arguments."""
    if distribute is None:
        if comm is not None or grid is not None or not gather:
            raise UsageError("comm, grid and gather are options of distribute=", code="SG205")
        return None
    if not isinstance(distribute, Mapping) and distribute != AUTO:
        raise UsageError(f"distribute={distribute!r}", code="SG205", help=f'give "auto", or a dict by name: {_FORMS}')
    number = isinstance(comm, (int, np.integer)) and not isinstance(comm, bool) and comm > 0
    if not number and not is_communicator(comm):
        raise UsageError(f"comm={comm!r} is no communicator", code="SG205",
                         help="distribute= goes with comm=MPI.COMM_WORLD of mpi4py")
    arrays = AUTO if distribute == AUTO else dict(distribute)
    return DistributeOption(arrays, comm, None if grid is None else _extents(grid), gather)


def _extents(grid: Any) -> tuple[int, ...]:
    """A grid as a caller gives it; UsageError for what is none."""
    whole = isinstance(grid, (tuple, list)) and all(isinstance(n, (int, np.integer)) and n > 0 for n in grid)
    if not whole or not grid:
        raise UsageError(f"grid={grid!r}", code="SG205", help="give ranks in each direction, as grid=(4,) or (2, 2)")
    return tuple(map(int, grid))


def _axes(name: str, form: Any, bound: Bound) -> tuple[int | None, ...]:
    """The dimension of the grid for each axis: blocks count from the first one on."""
    if name not in bound.leaves or not np.shape(bound.leaves[name]):
        known = [n for n, v in bound.leaves.items() if np.shape(v)]
        what = "is a number, which every rank has" if name in bound.leaves else "is no argument that is an array"
        raise UsageError(f"distribute: {name!r} {what}", code="SG204", help=f"arrays: {', '.join(known) or 'none'}")
    extents = np.shape(bound.leaves[name])
    whole = (None,) * len(extents)
    forms = (form, *whole[1:]) if form == BLOCK else whole if form == WHOLE else form
    fits = isinstance(forms, (tuple, list)) and len(forms) == len(extents)
    if not fits or any(f not in (BLOCK, None) for f in forms):
        raise UsageError(f"distribute: {name!r}: {form!r}, for {len(extents)} axes", code="SG205", help=_FORMS)
    cut = [k for k, f in enumerate(forms) if f == BLOCK]
    return tuple(cut.index(k) if k in cut else None for k in range(len(forms)))


_Cut: TypeAlias = dict[str, tuple[int | None, ...]]
"""The dimension of the grid for each axis of some arrays."""


def _alike(shapes: Mapping[str, tuple[int, ...]], least: int) -> list[_Cut]:
    """Cuts along one axis, of at least so many elements."""
    forms: dict[tuple[Any, ...], _Cut] = {}
    for extent in sorted({n for shape in shapes.values() for n in shape if n >= least}, reverse=True):
        for last in (False, True):
            every = {name: _near(shape, extent, last) for name, shape in shapes.items()}
            axes = {name: cut for name, cut in every.items() if 0 in cut}
            forms.setdefault(tuple(sorted(axes.items())), axes)
    return list(forms.values())


def _pairs(shapes: Mapping[str, tuple[int, ...]], least: int) -> list[_Cut]:
    """Cuts along two axes, which the largest array that is cut at all has both."""
    forms: dict[tuple[Any, ...], _Cut] = {}
    for one, other in permutations(_alike(shapes, least), 2):
        axes = {n: tuple(0 if a == 0 else 1 if b == 0 else None
                         for a, b in zip(one.get(n, whole), other.get(n, whole), strict=True))
                for n, shape in shapes.items() if n in one or n in other for whole in [(None,) * len(shape)]}
        if {0, 1} <= set(axes[max(axes, key=lambda n: prod(shapes[n]))]):
            forms.setdefault(tuple(sorted(axes.items())), axes)
    return list(forms.values())


def _near(shape: tuple[int, ...], extent: int, last: bool) -> tuple[int | None, ...]:
    """A cut of the first, or the last axis with nearly so many elements."""
    fits = [k for k, n in enumerate(shape) if extent - NEARLY <= n <= extent]
    at = (fits[-1] if last else fits[0]) if fits else None
    return tuple(0 if k == at else None for k in range(len(shape)))


def even_grid(size: int, count: int) -> tuple[int, ...]:
    """Ranks in so many dimensions, as even as can be, the longest first."""
    if count == 1:
        return (size,)
    root = next(n for n in range(round(size ** (1 / count)), size + 1) if size % n == 0 and n ** count >= size)
    return tuple(sorted((root, *even_grid(size // root, count - 1)), reverse=True))


def placed(bound: Bound, option: DistributeOption | None) -> Bound:
    """The arguments of a call that may be distributed."""
    return bound if option is None else option.placed(bound)


class Messenger(Protocol):
    """What has a program."""

    @property
    def program(self) -> Program: ...


Made = TypeVar("Made", bound=Messenger)


def connected(made: Made, option: DistributeOption | None) -> Made:
    """The same, after the messages of a distributed program have been told which communicator they go through."""
    if option is not None and is_communicator(option.comm):
        for name, numbers in made.program.constants.items():
            if made.program.arrays[name].label == NUMBERS:
                numbers[0] = handle_of(option.comm)
    return made
