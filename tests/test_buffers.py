"""Memory of results is used again, and never while somebody looks at it."""

from __future__ import annotations

import numpy as np

import sdfgad
from sdfgad.calls.buffers import LEAST_BYTES, MOST_FREE, Buffers

LARGE = LEAST_BYTES // 8
FLOAT = np.dtype(float)


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_a_dropped_buffer_comes_back():
    room = Buffers()
    first = room.empty((LARGE,), FLOAT)
    place = address(first)
    del first
    assert address(room.empty((LARGE,), FLOAT)) == place


def test_a_view_keeps_the_buffer_out():
    room = Buffers()
    first = room.empty((4, LARGE), FLOAT)
    first[:] = 1.0
    view = first[1:, ::2]
    del first
    room.empty((4, LARGE), FLOAT)[:] = 2.0
    assert (view == 1.0).all()


def test_no_more_than_a_few_are_kept():
    room = Buffers()
    arrays = [room.empty((LARGE,), FLOAT) for _ in range(MOST_FREE + 3)]
    places = {address(a) for a in arrays}
    arrays.clear()
    again = [room.empty((LARGE,), FLOAT) for _ in range(MOST_FREE)]
    assert {address(a) for a in again} <= places
    assert not any(room._free.values())


def test_a_size_that_another_thread_drops_meanwhile():
    room = Buffers()
    room.empty((LARGE,), FLOAT)

    def wanted():
        room._free.clear()  # what others do while it is asked what is wanted
        yield LARGE

    room.trim(wanted())
    assert not room.free_bytes


def test_buffers_are_aligned_and_writable():
    for dtype in (np.float32, np.float64, np.complex128, np.bool_):
        array = Buffers().empty((3, LEAST_BYTES), np.dtype(dtype))
        array[...] = 1
        assert address(array) % 64 == 0 and array.flags.c_contiguous and array.dtype == dtype


def test_gradients_that_are_kept_stay_as_they_were():
    gradient = sdfgad.grad(lambda x: np.sum(x * x), reduce="sum")
    kept = [gradient(np.full(LARGE, float(k))) for k in range(3)]
    gradient(np.full(LARGE, 9.0))
    assert [g[0] for g in kept] == [0.0, 2.0, 4.0]
