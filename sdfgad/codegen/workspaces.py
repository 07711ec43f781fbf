"""The memory that compiled programs work in: handed from call to call, so that a process holds it once.

A program says how many bytes its arrays and tapes take; where they lie is settled by the call. One block, grown to the
largest that was asked for, serves all programs that run one after the other, and its pages stay: fresh ones cost a
fault each at the first touch. Calls at the same time have a block each.
"""
from __future__ import annotations

import ctypes
import mmap
import os
from functools import cache
from threading import Lock

from sdfgad.caches import LINE
from sdfgad.errors import MemoryLimitError

MOST_FREE = 4
"""So many blocks are kept that no call works in."""
SPARE = 4
"""A block may grow by one part in so many before it moves; what nobody has touched takes no memory."""
LARGE = 1 << 22
"""With pages of 4 kB a block from here on costs more faults, and more pages than a processor keeps track of."""
LARGE_PAGE = 1 << 21


@cache
def workspaces() -> Workspaces:
    """The blocks of this process."""
    return Workspaces()


# A child process begins without blocks: another thread of its parent may just have held the lock.
os.register_at_fork(after_in_child=workspaces.cache_clear)


class Workspace:
    """address: of the first byte, at a cache line. size: bytes that calls may have touched."""

    def __init__(self, size: int) -> None:
        self.size = size
        pages = LARGE_PAGE if size >= LARGE else mmap.PAGESIZE
        self._room = size + size // SPARE + mmap.PAGESIZE
        try:
            self._map = _mapped(self._room + LINE + pages)
        except OSError:
            self._room = size
            self._map = _exactly(size, LINE + pages)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._before = -start % pages
        # Not at the very start of a page, where the arrays of the caller often begin.
        self.address = start + self._before + LINE
        if pages == LARGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            self._map.madvise(mmap.MADV_HUGEPAGE, self._before, self._room // pages * pages)

    def grow(self, size: int) -> bool:
        """Be that large; False when it has no room for it."""
        fits = size <= self._room and (size < LARGE or self.size >= LARGE)
        self.size = max(self.size, size) if fits else self.size
        return fits

    def shrink(self, size: int) -> bool:
        """Give the pages behind so many bytes back to the system; False where that cannot be."""
        if not hasattr(mmap, "MADV_DONTNEED"):
            return False
        first = -(-(self._before + LINE + size) // mmap.PAGESIZE) * mmap.PAGESIZE
        self._map.madvise(mmap.MADV_DONTNEED, first)
        self.size = size
        return True


def _exactly(size: int, margin: int) -> mmap.mmap:
    """Where the system grants no more address space than it has memory."""
    try:
        return _mapped(size + margin)
    except OSError as error:
        raise MemoryLimitError(f"{size} bytes of temporaries are not available", minimum_bytes=size) from error


def _mapped(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


class Workspaces:
    """Blocks that no call works in, the largest last."""

    def __init__(self) -> None:
        self._free: list[Workspace] = []
        self._lock = Lock()

    def take(self, size: int, most: int | None = None) -> Workspace:
        """A block of that many bytes at least, with undefined content, until it is given back. most: that it may have
        when a limit holds for the call; then no other one is kept beside it."""
        with self._lock:
            found = self._free.pop() if self._free else None
            if most is not None:
                self._free.clear()
        if found is not None and most is not None and found.size > most and not found.shrink(most):
            found = None
        if found is not None and (found.size >= size or found.grow(size)):
            return found
        del found  # before there is another one
        return Workspace(size)

    def give(self, block: Workspace) -> None:
        """After the call."""
        with self._lock:
            self._free.append(block)
            if len(self._free) > 1:
                self._free.sort(key=lambda b: b.size)
                del self._free[:-MOST_FREE]

    def release(self) -> int:
        """Give all blocks that no call works in back to the system; how many bytes they had."""
        with self._lock:
            freed = self.free_bytes
            self._free.clear()
        return freed

    @property
    def free_bytes(self) -> int:
        """Bytes of the blocks that no call works in."""
        return sum(b.size for b in self._free)
