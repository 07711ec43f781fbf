"""Derivatives by all verbs, with arrays of other libraries in the memory of a device."""
from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.device_memory import DeviceMemory, kept
from sdfgad.errors import OutputError, UsageError
from sdfgad.foreign.device_array import DeviceArray
from tests.support.device_arrays import CapsuleArray, Imported, InterfaceArray, cuda, got, guarded, new_stream, read
from tests.support.on_cpu import running_here

X, W, V = np.linspace(0.1, 1.0, 4), np.linspace(2.0, 1.0, 4), np.array([1.0, -2.0, 0.5, 3.0])
S = np.array([0.5, -1.0, 2.0, 4.0])


def curve(x: np.ndarray, w: np.ndarray, c: float) -> np.ndarray:
    return c * np.sin(x) * w + x[0] * w


def bowl(x: np.ndarray, w: np.ndarray) -> float:
    return np.sum(w * x ** 3) * x[1]


JACOBIAN = np.diag(2.0 * np.cos(X) * W) + np.outer(W, [1.0, 0, 0, 0])
BY_W = np.diag(2.0 * np.sin(X) + X[0])
CUBE, SLOPE, UNIT = np.sum(W * X ** 3), 3 * W * X ** 2, np.array([0.0, 1.0, 0, 0])
GRADIENT = SLOPE * X[1] + CUBE * UNIT
HESSIAN = np.diag(6 * W * X * X[1]) + np.outer(SLOPE, UNIT) + np.outer(UNIT, SLOPE)


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    with running_here():
        yield


def close(found: Any, expected: np.ndarray) -> None:
    np.testing.assert_allclose(got(found), expected, rtol=1e-13, atol=1e-14)


def elements(found: DeviceArray) -> np.ndarray:
    """Of an array with strides of its own, as its interface says."""
    told = found.__cuda_array_interface__
    low, high = found.extent
    flat = read(low, ((high - low) // 8,), np.dtype(told["typestr"]), told["stream"])
    strides = told["strides"] or found.strides
    return np.lib.stride_tricks.as_strided(flat[(told["data"][0] - low) // 8:], told["shape"], strides)


def blocks_taken() -> int:
    """When everything is done, and what nobody has is gone."""
    cuda().cudaDeviceSynchronize()
    kept().sweep()
    gc.collect()
    cuda().cudaDeviceSynchronize()
    return int(cuda().cuda_on_cpu_blocks())


def test_pullbacks_keep_their_arguments() -> None:
    """On the stream of their seeds; what the caller does with his arrays afterwards is nothing to them."""
    mine, other = new_stream(), new_stream()
    x, w = InterfaceArray(X, mine), CapsuleArray(W)
    with guarded() as library:
        out, pullback = sdfgad.vjp(curve, x, w, 2.0, wrt=("x", "w"))
        assert out.stream == mine
        x.fill(np.full(4, np.inf), mine)
        copies = library.cuda_on_cpu_copies()
        found = pullback(InterfaceArray(S, other))
        assert copies == 2 and library.cuda_on_cpu_copies() == 2  # a number each, and what the test has sent
        assert found.x.stream == other and isinstance(found.x, DeviceArray) and isinstance(found.w, Imported)
        close(out, 2.0 * np.sin(X) * W + X[0] * W)
        close(found.x, S @ JACOBIAN)
        close(found.w, S @ BY_W)
        close(pullback(None).x, np.zeros(4))
        several = pullback(InterfaceArray(np.stack([S, V])), batched=True)
        close(several.x, np.stack([S, V]) @ JACOBIAN)
        again = sdfgad.vmap(pullback)(InterfaceArray(np.stack([V, S])))
        close(again.x, np.stack([V, S]) @ JACOBIAN)


def test_what_a_pullback_keeps_goes_with_it() -> None:
    blocks = blocks_taken()
    out, pullback = sdfgad.vjp(curve, InterfaceArray(X), InterfaceArray(W), 2.0, wrt=("x", "w"))
    found = pullback(InterfaceArray(S))
    del pullback
    close(found.x, S @ JACOBIAN)
    del out, found
    assert blocks_taken() == blocks


@pytest.mark.parametrize("forgets", [False, True])
def test_tangents(forgets: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their streams are waited for. Where nobody waits, it shows."""
    x, w, v = InterfaceArray(X, new_stream()), InterfaceArray(W), InterfaceArray(V, new_stream())
    if forgets:
        monkeypatch.setattr(DeviceMemory, "order", lambda self, later, earlier: None)
        assert not np.isfinite(got(sdfgad.jvp(curve, (x, w, 2.0), {"x": v})[1])).all()
        return
    with guarded():
        out, tangent = sdfgad.jvp(curve, (x, w, 2.0), {"x": v})
        assert out.stream == tangent.stream == x.stream
        close(out, 2.0 * np.sin(X) * W + X[0] * W)
        close(tangent, JACOBIAN @ V)
        _, several = sdfgad.jvp(curve, (x, w, 2.0), {"x": CapsuleArray(np.stack([V, S]))}, batched=True)
        close(several, np.stack([JACOBIAN @ V, JACOBIAN @ S]))


def test_second_derivatives() -> None:
    """By each verb that has them: one program for all of them."""
    x, w, v = InterfaceArray(X), InterfaceArray(W), InterfaceArray(V)
    inner = sdfgad.grad(bowl, wrt="x")
    with guarded():
        close(sdfgad.hvp(bowl, (x, w), {"x": v}), HESSIAN @ V)
        value, summed = sdfgad.value_and_grad(inner, wrt="x", reduce="sum")(x, w)
        assert value == pytest.approx(GRADIENT.sum())
        close(summed, HESSIAN.sum(axis=0))
        gradient, pullback = sdfgad.vjp(inner, x, w, wrt="x")
        close(gradient, GRADIENT)
        x.fill(np.full(4, np.nan), 1)
        close(pullback(v), HESSIAN @ V)
        x.fill(X, 1)
        gradient, tangent = sdfgad.jvp(inner, (x, w), {"x": v})
        close(gradient, GRADIENT)
        close(tangent, HESSIAN @ V)
        np.testing.assert_allclose(elements(sdfgad.hessian(bowl, wrt="x")(x, w)), HESSIAN, rtol=1e-13)
        assert isinstance(sdfgad.hvp(bowl, (CapsuleArray(X), w), {"x": v}), Imported)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobians(mode: str) -> None:
    x, w = InterfaceArray(X), InterfaceArray(W)
    with guarded():
        found = sdfgad.jacobian(curve, wrt=("x", "w"), mode=mode)(x, w, 2.0)
        np.testing.assert_allclose(elements(found.x), JACOBIAN, rtol=1e-13)
        np.testing.assert_allclose(elements(found.w), BY_W, rtol=1e-13)


def test_batches_of_calls() -> None:
    rows = np.stack([X, 2 * X])
    x, w = InterfaceArray(rows), InterfaceArray(W)
    with guarded():
        close(sdfgad.vmap(bowl, in_axes=(0, None))(x, w), np.array([np.sum(W * r ** 3) * r[1] for r in rows]))
        found = sdfgad.vmap(sdfgad.grad(bowl, wrt="x"), in_axes=(0, None))(x, w)
        close(found, np.stack([GRADIENT, 8 * GRADIENT]))
        with pytest.raises(UsageError, match="SG212.*by 'w' for each element of a batch, which all of them share"):
            sdfgad.vmap(sdfgad.grad(bowl), in_axes=(0, None))(x, w)
        with pytest.raises(UsageError, match="SG212.*a batch along another axis than the first one"):
            sdfgad.vmap(sdfgad.grad(bowl, wrt="x"), in_axes=(0, None), out_axes=1)(x, w)


def test_results_beside_the_objective() -> None:
    def both(x: np.ndarray, w: np.ndarray) -> tuple[float, dict[str, np.ndarray]]:
        return np.sum(x * w), {"double": 2 * x}

    with guarded():
        gradient, aux = sdfgad.grad(both, wrt="x", has_aux=True)(InterfaceArray(X), InterfaceArray(W))
        close(gradient, W)
        close(aux["double"], 2 * X)
        out, pullback, aux = sdfgad.vjp(both, CapsuleArray(X), InterfaceArray(W), wrt="x", has_aux=True)
        assert isinstance(out, Imported) and isinstance(aux["double"], Imported)
        close(pullback(2.0), 2 * W)


def _pulled(seed: Any) -> Any:
    return sdfgad.vjp(curve, InterfaceArray(X), InterfaceArray(W), 2.0, wrt=("x", "w"))[1](seed)


@pytest.mark.parametrize("call, error, message", [
    (lambda: _pulled(S), UsageError, "SG212.*seed 0 lies in the memory of the host, and argument 'x' on"),
    (lambda: _pulled(InterfaceArray(S.astype(np.float32))), OutputError, "dtype float32 does not fit"),
    (lambda: _pulled(InterfaceArray(S[:3])), OutputError, r"shape \(3,\)"),
    (lambda: sdfgad.jvp(curve, (InterfaceArray(X), InterfaceArray(W), 2.0), {"x": V}), UsageError,
     "SG212.*the tangent of 'x' lies in the memory of the host"),
    (lambda: sdfgad.jvp(curve, (X, W, 2.0), {"x": InterfaceArray(V)}), UsageError,
     "SG212.*argument 'x' lies in the memory of the host, and the tangent of 'x' on"),
    (lambda: sdfgad.jvp(curve, (InterfaceArray(X), InterfaceArray(W), 2.0),
                        {"x": InterfaceArray(V.astype(np.float32))}), UsageError, "SG212.*elements of float32"),
    (lambda: sdfgad.jacobian(curve, wrt="x", sparsity="auto")(InterfaceArray(X), InterfaceArray(W), 2.0), UsageError,
     "SG212.*a sparse matrix"),
], ids=["host seed", "dtype of a seed", "shape of a seed", "host tangent", "host arguments", "dtype of a tangent",
        "sparse"])
def test_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
