"""Arrays of other libraries in the memory of a device: zero copies, their streams, and how long everything lives."""
from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import sdfgad
from sdfgad.codegen.device_memory import DeviceMemory, kept
from sdfgad.errors import AliasError, UsageError
from sdfgad.foreign.capsules import capsule_of, described
from sdfgad.foreign.device_array import DeviceArray, c_strides
from tests.support.device_arrays import CapsuleArray, Imported, InterfaceArray, cuda, got, guarded, new_stream
from tests.support.on_cpu import running_here

X, W = np.linspace(0.1, 1.0, 12).reshape(3, 4), np.linspace(2.0, 1.0, 4)


def weighted(x: np.ndarray, w: np.ndarray, c: float) -> float:
    return c * np.sum(np.sin(x) * w * x)


BOTH = sdfgad.value_and_grad(weighted, wrt=("x", "w"))
EXPECTED = (2.0 * np.sum(np.sin(X) * W * X), 2.0 * W * (np.sin(X) + X * np.cos(X)), 2.0 * np.sum(np.sin(X) * X, axis=0))


def updated(x: np.ndarray, places: np.ndarray) -> float:
    """Updates an argument, and looks where another one says."""
    x[1:] = x[1:] * x[:-1]
    return np.sum(x[places] ** 2)


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    with running_here():
        yield


def agree(found: Any, expected: tuple[Any, ...] = EXPECTED) -> None:
    value, (dx, dw) = found
    for one, other in zip((value, dx, dw), expected, strict=True):
        np.testing.assert_allclose(got(one), other, rtol=1e-13)


def test_no_copy_and_no_wait() -> None:
    """But for the number, which lies in the memory of the host."""
    x, w = InterfaceArray(X), InterfaceArray(W)
    with guarded() as library:
        found = BOTH(x, w, 2.0)
        counts = (ctypes.c_int64 * 2)()
        library.cuda_on_cpu_counts(counts)
        assert library.cuda_on_cpu_copies() == 1 and counts[0] > 0 and counts[1] == 0
        assert isinstance(found[0], DeviceArray) and isinstance(found[1].x, DeviceArray)
        agree(found)
        assert found[0].to_host() == float(found[0]) == got(found[0])
    np.testing.assert_array_equal(x.get(), X)


def test_arrays_of_the_host_come_back_as_such() -> None:
    value, (dx, dw) = BOTH(X, W, 2.0)
    assert type(dx) is type(dw) is np.ndarray
    for one, other in zip((value, dx, dw), EXPECTED, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("forgets", [False, True])
def test_streams(forgets: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything happens in the order of the first argument's stream, for which the others wait, and who wait for it.
    Where nobody waits, it shows."""
    if forgets:
        monkeypatch.setattr(DeviceMemory, "order", lambda self, later, earlier: None)
    mine, other = new_stream(), new_stream()
    x, w = InterfaceArray(X, mine), InterfaceArray(W, other)
    value, grads = BOTH(x, w, 2.0)
    w.fill(np.full(4, np.inf), other)  # behind the call
    assert w.get()[0] == np.inf
    assert {value.stream, grads.x.stream, grads.w.stream} == {mine}
    if forgets:
        assert not np.isfinite(got(value))
    else:
        agree((value, grads))


def test_the_device_of_the_arguments() -> None:
    """Calls run where their arguments lie, and results lie there, too."""
    for device in (1, 0, 1):
        found = BOTH(InterfaceArray(X, device=device), InterfaceArray(W, device=device), 2.0)
        assert found[0].device == found[1].x.device == device
        agree(found)
    assert BOTH(X, W, 2.0)[0] == pytest.approx(EXPECTED[0])


def test_arguments_live_until_the_call_is_done() -> None:
    kept().sweep()
    gc.collect()
    blocks, stream = cuda().cuda_on_cpu_blocks(), new_stream()
    x, w = InterfaceArray(X, stream), InterfaceArray(W, stream)
    seen = weakref.ref(x)
    found = BOTH(x, w, 2.0)
    del x, w
    gc.collect()
    assert seen() is not None and kept().sweep() == 1
    agree(found)
    assert kept().sweep() == 0
    gc.collect()
    assert seen() is None
    del found
    gc.collect()
    cuda().cudaStreamSynchronize(stream)
    assert cuda().cuda_on_cpu_blocks() == blocks


def test_capsules() -> None:
    """By DLPack: each library makes the stream of the call wait, and takes results for its own."""
    mine = new_stream()
    x, w = CapsuleArray(X, mine), InterfaceArray(W)
    with guarded():
        value, grads = BOTH(x, w, 2.0)
        assert x.asked == [1] and isinstance(value, Imported) and isinstance(grads.x, Imported)
        assert isinstance(grads.w, DeviceArray) and grads.x.stream == mine
        agree((value, grads))
        agree((value, grads))


def test_capsules_say_what_numpy_says() -> None:
    for values in (np.arange(6.0).reshape(2, 3), np.array(3.0, np.float32), np.arange(8, dtype=np.int16)[::2],
                   np.array([True, False]), np.ones((2, 0), np.complex64)):
        found = described(values.__dlpack__())
        assert (found.shape, found.dtype, found.device) == (values.shape, values.dtype, 0)
        assert not values.size or found.address == values.ctypes.data
        strides = found.strides or c_strides(values.shape, values.itemsize)
        assert values.size < 2 or strides == values.strides
        array = DeviceArray(values.shape, values.dtype, values.ctypes.data, values, device=0, strides=values.strides)
        np.testing.assert_array_equal(np.from_dlpack(_OnHost(array)), values)
        if values.size:
            assert np.shares_memory(np.from_dlpack(_OnHost(array)), values)


def test_numpy_is_told_where_the_elements_are() -> None:
    """It refuses what lies on a device by an error of its own, which reaches the caller; nothing is kept for long."""
    found = BOTH(InterfaceArray(X), InterfaceArray(W), 2.0)[1].x
    with pytest.raises((RuntimeError, BufferError), match="nsupported device"):
        np.from_dlpack(found)
    seen = weakref.ref(found)
    del found
    gc.collect()
    capsule_of(BOTH(InterfaceArray(X), InterfaceArray(W), 2.0)[0])
    assert seen() is None
    with pytest.raises(TypeError, match="to_host"):
        np.asarray(BOTH(InterfaceArray(X), InterfaceArray(W), 2.0)[1].x)


class _OnHost:
    """An array of ours that says it lies in the memory of the host, for NumPy."""

    def __init__(self, array: DeviceArray) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **_: Any) -> Any:
        return capsule_of(self.array, 1)


def test_updates_and_arguments_given_away(monkeypatch: pytest.MonkeyPatch) -> None:
    places = np.array([0, 2])
    gradient, donating = sdfgad.grad(updated), sdfgad.grad(updated, donate=("x",))
    expected = sdfgad.grad(updated)(X.copy(), places)
    x, at = InterfaceArray(X), InterfaceArray(places)
    with guarded():
        np.testing.assert_allclose(got(gradient(x, at)), expected, rtol=1e-13)
        np.testing.assert_array_equal(x.get(), X)
        monkeypatch.setattr(DeviceMemory, "copy", None)
        np.testing.assert_allclose(got(donating(x, at)), expected, rtol=1e-13)
        with pytest.raises(UsageError, match="SG212.*'x' cannot be given away"):
            donating(InterfaceArray(X, said={"data": (x.address, True)}), at)
        monkeypatch.undo()
        with pytest.raises(AliasError, match="'x' and 'places' share memory"):
            gradient(x, InterfaceArray(places, said={"data": (x.address, False)}))
        with pytest.raises(sdfgad.OutOfBoundsError, match="SG209"):
            gradient(x, InterfaceArray(np.array([0, 3])))


def test_sparse_matrices_come_from_the_host() -> None:
    """Beside arrays of the device; other numbers in the next call are those of that call."""
    gradient, matrix = sdfgad.grad(lambda a, v: np.sum((a @ v) ** 2)), csr_array(np.triu(np.outer(W, W), 1))
    with guarded():
        for a in (matrix, 2 * matrix):
            found = gradient(a, InterfaceArray(W))
            np.testing.assert_allclose(got(found), 2 * a.T @ (a @ W), rtol=1e-13)


def test_results_that_are_arguments() -> None:
    """Without a copy: the array of the caller itself, or a part of it."""
    x = InterfaceArray(X)
    with guarded():
        whole, part, unread = sdfgad.forward(lambda x: (x, x[1:, ::2], np.zeros(2)))(x)
        assert whole is x and part.__cuda_array_interface__["strides"] == (32, 16)
        assert part.address == x.address + 32 and got(unread).tolist() == [0.0, 0.0]
        found = sdfgad.forward(lambda x, y: x + y)(DeviceArray(x.shape, x.dtype, x.address, x, stream=1), whole)
        np.testing.assert_array_equal(got(found), 2 * X)
        again = sdfgad.forward(lambda x, y: x + y)(found, found)
        np.testing.assert_array_equal(got(again), 4 * X)


def test_a_gradient_of_zero() -> None:
    with pytest.warns(sdfgad.UnusedArgumentWarning):
        found = sdfgad.grad(lambda x, w: np.sum(x * x), wrt=("x", "w"))(InterfaceArray(X), CapsuleArray(W))
    np.testing.assert_array_equal(got(found.x), 2 * X)
    assert isinstance(found.w, Imported) and got(found.w).tolist() == [0.0] * 4


def test_what_a_call_took() -> None:
    there = BOTH.measure(InterfaceArray(X), InterfaceArray(W), 2.0).measured
    here = BOTH.measure(X, W, 2.0).measured
    assert there is not None and here is not None and there.launches == here.launches
    assert (there.launches or 0) > 0
    assert there.copied_bytes == 8 and here.copied_bytes == 2 * (X.nbytes + W.nbytes) + 2 * 8
    assert there.device_bytes == there.peak_bytes and "launches" in str(BOTH.measure(X, W, 2.0))


@pytest.mark.parametrize("arguments, message", [
    (lambda: (InterfaceArray(X), W), "'w' lies in the memory of the host, and argument 'x' on a graphics"),
    (lambda: (InterfaceArray(X), InterfaceArray(W, device=1)), "'x' and argument 'w' lie on two devices, 0 and 1"),
    (lambda: (InterfaceArray(X.T.copy(), said={"shape": X.shape, "strides": (8, 24)}), InterfaceArray(W)),
     "'x' is no block in C order"),
    (lambda: (InterfaceArray(X, said={"data": (X.ctypes.data, False)}), InterfaceArray(W)), "its address is none"),
    (lambda: (InterfaceArray(X), InterfaceArray(W, said={"stream": 0})), "'w' names stream 0"),
    (lambda: (InterfaceArray(X, said={"mask": X}), InterfaceArray(W)), "'x' has a mask"),
    (lambda: (InterfaceArray(X, said={"typestr": ">f8"}), InterfaceArray(W)), "'x': elements of >f8"),
], ids=["host", "two devices", "gaps", "host address", "stream", "mask", "byte order"])
def test_refused(arguments: Callable[[], tuple[Any, ...]], message: str) -> None:
    with pytest.raises(UsageError, match=f"SG212.*{message}(.|\n)*help"):
        BOTH(*arguments(), 2.0)


def test_programs_of_the_processor_take_none() -> None:
    x, w = InterfaceArray(X), InterfaceArray(W)
    with sdfgad.config(target="cpu"):
        for call in (lambda: BOTH(x, w, 2.0), lambda: sdfgad.forward(weighted)(x, w, 2.0)):
            with pytest.raises(UsageError, match=r"SG212.*'x' lies on a graphics processor(.|\n)*device=.gpu"):
                call()
        for call in (lambda: sdfgad.vjp(weighted, x, w, 2.0), lambda: sdfgad.jvp(weighted, (x, w, 2.0), (X, W, 0.0)),
                     lambda: sdfgad.hessian(weighted, wrt="x")(x, w, 2.0)):
            with pytest.raises(UsageError, match="SG212.*'x' lies on a graphics processor"):
                call()
