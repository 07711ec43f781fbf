"""Calls of exported libraries: those that go wrong, with fewer threads, from many threads, for other processors."""
from __future__ import annotations

import ctypes
import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad import spec
from tests.codegen.export.building import loaded, pointer, run
from tests.codegen.export.programs import until_small, waves

OK, TAPE_FULL, SINGULAR, NULL, MISALIGNED, OVERLAP, BUSY, INDEX, THREADS = 0, 1, 2, 10, 11, 12, 13, 14, 15
RAISED = 64


def picked(x, order, limit):
    if np.sum(x) > limit:
        raise ValueError('the "sum" is \\ too large')
    y = x[order] * 2.0
    for k in range(len(order)):
        y[k] = y[k] * x[order[k]]
    return np.sum(y * np.linalg.solve(np.array([[1.0, x[0]], [x[1], 1.0]]), y[:2])[0])


def indexed(x, rows, cols, at):
    """Indices of several kinds: of a sparse matrix by rows, moved by a loop, in a table of two dimensions, negative
    ones."""
    total = 0.0
    for i in range(3):
        for k in range(rows[i], rows[i + 1]):
            total = total + x[cols[k]] * x[i] ** 2
    for i in range(2):
        for j in range(3):
            total = total + x[at[i, j] + 2 * j - 4]
    return total


class Library:
    """One function of a library with a handle."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.library = loaded(folder, name)

    def verb(self, name: str) -> Callable[..., Any]:
        return getattr(self.library, f"{self.name}_{name}")

    def handle(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.verb("create")())

    def text(self, code: int) -> str:
        return str(self.verb("error_text")(code).decode())


@pytest.fixture(scope="module")
def picking(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("picked")
    sdfgad.export(picked, spec(6), spec(4, "int64"), 0.0, folder=folder)
    return Library(folder, "picked")


X = np.array([0.5, 0.25, 2.0, 1.0, 3.0, 0.125])


def call(library: Library, x: Any, order: Any, limit: float = 100.0, value: Any = None, grad: Any = None,
         handle: Any = None) -> tuple[int, Any, np.ndarray]:
    value, grad = np.zeros(1) if value is None else value, np.zeros(6) if grad is None else grad
    mine = library.handle() if handle is None else handle
    given = [pointer(a) if isinstance(a, np.ndarray) else a for a in (x, order, value, grad)]
    status = library.verb("value_and_grad")(mine, given[0], given[1], ctypes.c_double(limit), *given[2:])
    if handle is None:
        library.verb("destroy")(mine)
    return status, value, grad


def test_a_call_that_fails_says_why(picking: Library) -> None:
    order = np.array([1, 5, 0, -6])
    status, value, grad = call(picking, X, order)
    expected = sdfgad.value_and_grad(picked, wrt="x")(X, order, 100.0)
    assert status == OK and value[0] == expected[0] and np.array_equal(grad, expected[1])
    for wrong in ([1, 6, 0, 0], [1, 2, -7, 0], [2**62, 0, 0, 0]):
        assert call(picking, X, np.array(wrong))[0] == INDEX
    assert call(picking, X, order, limit=1.0)[0] == RAISED
    assert picking.text(RAISED) == 'the function raises ValueError: the "sum" is \\ too large'
    assert call(picking, np.array([2.0, 0.5, 1, 1, 1, 1]), order)[0] == SINGULAR
    assert call(picking, ctypes.c_void_p(None), order)[0] == NULL
    assert call(picking, X, order, handle=ctypes.c_void_p(None))[0] == NULL
    assert call(picking, np.zeros(56, np.uint8)[1:], order)[0] == MISALIGNED
    assert call(picking, X, order, grad=X)[0] == OVERLAP
    both = np.zeros(6)
    assert call(picking, X, order, value=both[2:], grad=both)[0] == OVERLAP
    assert call(picking, X, order)[1][0] == expected[0], "after all these errors"
    texts = {picking.text(code) for code in (OK, SINGULAR, NULL, MISALIGNED, OVERLAP, INDEX, THREADS, BUSY, TAPE_FULL)}
    assert len(texts) == 9 and picking.text(1000) == "no error has this code"


def test_indices_are_looked_at_as_python_does(tmp_path: Path) -> None:
    sdfgad.export(indexed, spec(6), spec(4, "int32"), spec(6, "int64"), spec((2, 3), "int64"), folder=tmp_path)
    library, handle = Library(tmp_path, "indexed"), None
    handle = library.handle()
    good = ([0, 3, 3, 5], [5, 0, -6, 1, 2, 99], [[-2, 0, 1], [9, 2, 5]])
    tries = [(0, 1, 5), (1, 0, 6), (1, 2, -7), (1, 3, 6), (2, (0, 0), -3), (2, (1, 2), 6), (2, (1, 2), -7), (1, 1, 6),
             (1, 5, 7), (0, 3, 6), (0, 3, 7), (0, 0, -1), (1, 4, 0)]
    for which, place, number in [(1, 0, 5), *tries]:
        arrays = [np.array(a, dtype) for a, dtype in zip(good, (np.int32, np.int64, np.int64))]
        arrays[2][1, 0] = 3
        arrays[which][place] = number
        value, grad = np.zeros(1), np.zeros(6)
        status = library.verb("value_and_grad")(handle, *map(pointer, (X, *arrays, value, grad)))
        try:
            expected = sdfgad.value_and_grad(indexed)(X, *arrays)
        except sdfgad.OutOfBoundsError:
            assert status == INDEX, (which, place, number)
        else:
            assert status == OK and value[0] == expected[0] and np.array_equal(grad, expected[1]), place
    library.verb("destroy")(handle)


def test_a_null_handle_is_no_crash(picking: Library) -> None:
    picking.verb("destroy")(None)
    assert picking.verb("peak_bytes")(None) == 0
    assert picking.verb("set_threads")(None, 1) == NULL


@pytest.fixture(scope="module")
def waving(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("waves")
    sdfgad.export(waves, spec(12_000), 0.0, 5, folder=folder, name="Waves", threads=2)
    return Library(folder, "Waves")


def wave(library: Library, u: np.ndarray, handle: ctypes.c_void_p) -> tuple[int, float, np.ndarray]:
    value, grad = np.zeros(1), np.full_like(u, np.nan)
    status = library.verb("value_and_grad")(handle, pointer(u), ctypes.c_double(0.25), pointer(value), pointer(grad))
    return status, value[0], grad


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_are_those_asked_for(waving: Library, threads: int) -> None:
    u, handle = np.linspace(0, 3, 12_000), waving.handle()
    assert [waving.verb("set_threads")(handle, n) for n in (0, 3, -1, threads)] == [THREADS, THREADS, THREADS, OK]
    status, value, grad = wave(waving, u, handle)
    assert np.array_equal(u, np.linspace(0, 3, 12_000)), "arguments are only read"
    waving.verb("destroy")(handle)
    with sdfgad.config(num_threads=threads):
        expected = sdfgad.value_and_grad(waves, wrt="u")(u, 0.25, 5)
    assert status == OK and value == expected[0] and np.array_equal(grad, expected[1])


def test_a_hundred_threads_with_a_handle_each(waving: Library) -> None:
    def work(k: int) -> tuple[bool, float]:
        handle, u = waving.handle(), np.linspace(0, 3, 12_000) + k
        results = [wave(waving, u, handle) for _ in range(3)]
        waving.verb("destroy")(handle)
        same = all(np.array_equal(r[2], results[0][2]) and r[:2] == results[0][:2] for r in results)
        return same and results[0][0] == OK, results[0][1]

    with ThreadPoolExecutor(100) as pool:
        found = list(pool.map(work, range(100)))
    alone = [work(k) for k in (0, 41, 99)]
    assert all(ok for ok, _ in found) and [found[k] for k in (0, 41, 99)] == alone


def test_a_handle_serves_one_call_at_a_time(waving: Library) -> None:
    u, handle = np.linspace(0, 3, 12_000), waving.handle()
    with ThreadPoolExecutor(8) as pool:
        found = {r[0] for r in pool.map(lambda _: wave(waving, u, handle), range(64))}
    assert found <= {OK, BUSY} and OK in found
    waving.verb("destroy")(handle)


def test_a_tape_that_reaches_the_limit(tmp_path: Path) -> None:
    """The loop runs longer than there is room for; a later call that needs less is fine."""
    sdfgad.export(until_small, spec(30), 0.0, folder=tmp_path, memory_limit=20_000, wrt="x")
    library, value, grad = Library(tmp_path, "until_small"), np.zeros(1), np.zeros(30)
    handle = library.handle()

    def ran(x: np.ndarray) -> int:
        return library.verb("value_and_grad")(handle, pointer(x), ctypes.c_double(0.5), pointer(value), pointer(grad))

    assert ran(np.full(30, 5.0)) == TAPE_FULL and "memory limit" in library.text(TAPE_FULL)
    x = np.full(30, 0.03)
    assert ran(x) == OK
    assert np.array_equal(grad, sdfgad.grad(until_small, wrt="x", memory_limit=20_000)(x, 0.5))
    assert 0 < library.verb("peak_bytes")(handle) <= 20_000
    library.verb("destroy")(handle)


DRIVER = """\
#include <pthread.h>
#include <stdlib.h>
#include "picked.h"
static void *work(void *bad) {
    picked_handle *handle = picked_create();
    double x[6] = {0.5, 0.25, 2, 1, 3, 0.125}, value, grad[6];
    int64_t order[4] = {1, 5, 0, 3};
    long failed = 0, k;
    for (k = 0; k < 3; k++) failed += picked_value_and_grad(handle, x, order, 100.0, &value, grad) != PICKED_OK;
    order[0] = 6;
    failed += picked_value_and_grad(handle, x, order, 100.0, &value, grad) != PICKED_INDEX;
    failed += picked_value_and_grad(handle, x, order + 1, 1.0, &value, grad) == PICKED_OK;
    picked_destroy(handle);
    (void)bad;
    return (void *)failed;
}
int main(void) {
    pthread_t threads[8];
    void *failed;
    long all = (long)work(NULL), k;
    for (k = 0; k < 8; k++) pthread_create(&threads[k], NULL, work, NULL);
    for (k = 0; k < 8; k++) pthread_join(threads[k], &failed), all += (long)failed;
    return all != 0;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
def test_no_memory_is_lost_or_read_beside_arrays(tmp_path: Path) -> None:
    """Under valgrind, which knows the instructions of the baseline."""
    sdfgad.export(picked, spec(6), spec(4, "int64"), 0.0, folder=tmp_path, portable="v2")
    (tmp_path / "driver.c").write_text(DRIVER.replace("order + 1", "order"))
    run("gcc", "-g", str(tmp_path / "driver.c"), f"-I{tmp_path}", f"-L{tmp_path}", "-lpicked", "-pthread",
        f"-Wl,-rpath,{tmp_path}", "-o", str(tmp_path / "driver"))
    run("valgrind", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite", "-q",
        str(tmp_path / "driver"))


@pytest.mark.parametrize("level, wide", [pytest.param("v2", False, marks=pytest.mark.slow), (True, True)])
def test_portable_libraries_use_the_baseline_alone(level: Any, wide: bool, tmp_path: Path) -> None:
    sdfgad.export(waves, spec(500), 0.0, 4, folder=tmp_path, portable=level)
    library, u = Library(tmp_path, "waves"), np.linspace(0, 3, 500)
    code = run("objdump", "-d", "--no-show-raw-insn", str(tmp_path / "libwaves.so"))
    assert not re.search(r"%zmm|%k[1-7]\b", code) and bool(re.search(r"%ymm", code)) == wide
    assert "x86-64-v" in (tmp_path / "waves.h").read_text()
    status, value, grad = wave(library, u, library.handle())
    expected = sdfgad.value_and_grad(waves, wrt="u")(u, 0.25, 4)
    assert status == OK
    np.testing.assert_allclose(value, expected[0], rtol=1e-13)
    np.testing.assert_allclose(grad, expected[1], rtol=1e-12)


def test_cmake_finds_the_library(waving: Library, tmp_path: Path) -> None:
    run("cmake", "-S", str(waving.folder / "examples"), "-B", str(tmp_path))
    run("cmake", "--build", str(tmp_path))
    assert run(str(tmp_path / "Waves_c"), environment={}) == run(str(tmp_path / "Waves_cpp"), environment={})
