"""Times on a device: gradients and the programs themselves, of this library and of others on the same device."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import sdfgad
from npbench_suite.device.agreement import Place, on_card
from npbench_suite.kernel import load
from sdfgad.calls.arguments import bind
from sdfgad.codegen.device_memory import DeviceMemory
from sdfgad.verbs.pipeline import primal

ENGINES = ("sdfgad", "jax", "cupy")
LEAST_CALLS, MOST_CALLS = 3, 50


@dataclass(frozen=True)
class DeviceTime:
    """One program by one library. gradient, primal: medians in seconds, of calls with arrays of the device; None: has
    none. first: seconds of the first call, with its compilation. launches: kernels of one gradient, as they were
    started; copied_bytes, device_bytes: of one gradient with arrays of the host. moved_bytes: between memory and
    device, as plans estimate it. said: why there is no time."""

    program: str
    engine: str
    gradient: float | None = None
    primal: float | None = None
    first: float | None = None
    launches: int | None = None
    copied_bytes: int | None = None
    device_bytes: int | None = None
    moved_bytes: int | None = None
    said: str = ""


def median(call: Callable[[], Any], budget: float) -> float:
    """Seconds of a call that waits for its result, by calls for about so many seconds."""
    seconds: list[float] = []
    while len(seconds) < LEAST_CALLS or sum(seconds) < budget and len(seconds) < MOST_CALLS:
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def memory_here() -> DeviceMemory:
    """The memory of the first device, for programs of the block around."""
    x = np.zeros(1)
    made = primal(_twice, bind(_twice, (x,), {})).code.memory_of(1, 0)
    assert made is not None, "programs of the block run on a device"
    return made


def _twice(x: np.ndarray) -> np.ndarray:
    return x + x


def bandwidth(megabytes: int, budget: float, place: Place = on_card) -> float:
    """Bytes per second that one kernel reads and writes, by `x + x` for a large x."""
    with place():
        memory, double = memory_here(), sdfgad.forward(_twice)
        x = memory.put(np.ones(megabytes * 10**6 // 8))

        def call() -> None:
            double(x)
            memory.wait()

        call()
        return 2 * x.nbytes / median(call, budget)


LAUNCHES, SMALL = 200, 1 << 16
"""Pairs of kernels, and their elements: too many for one block, and far too few for their bytes to count."""


def _often(x: np.ndarray, y: np.ndarray, times: int) -> np.ndarray:
    """Kernels that wait for each other, as each looks at what neighbours have made."""
    for _ in range(times):
        y[1:] = 0.5 * x[:-1]
        x[:-1] = 0.5 * y[1:] + y[:-1]
    return x


def launch_seconds(budget: float, place: Place = on_card) -> float:
    """From the start of a small kernel to that of the next one."""
    with place():
        memory, often = memory_here(), sdfgad.forward(_often)
        x, y = memory.put(np.ones(SMALL)), memory.put(np.ones(SMALL))

        def call() -> None:
            often(x, y, LAUNCHES)
            memory.wait()

        call()
        return median(call, budget) / (2 * LAUNCHES)


def time_of(engine: str, program: str, preset: str, budget: float, place: Place = on_card) -> DeviceTime:
    """Times of a program at a preset by a library, which is one of `ENGINES`."""
    kernel = load(program)
    arguments = dict(kernel.initialize(**kernel.sizes(preset)))
    try:
        return _TIMED[engine](program, arguments, budget, place)
    except (sdfgad.SdfgadError, ImportError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
        return DeviceTime(program, engine, said=f"{type(error).__name__}: {str(error).splitlines()[0]}")


def _by_sdfgad(program: str, arguments: Mapping[str, Any], budget: float, place: Place) -> DeviceTime:
    kernel = load(program)
    gradient = sdfgad.grad(kernel.program, wrt=kernel.wrt or kernel.scalars, output=kernel.output, reduce="sum")
    forward = sdfgad.forward(kernel.program, output=kernel.output)
    with place():
        began = time.perf_counter()
        gradient(*arguments.values())
        first = time.perf_counter() - began
        plan = gradient.measure(*arguments.values())
        used, work = plan.measured, plan.about.work
        memory = memory_here()
        there = [memory.put(v) if isinstance(v, np.ndarray) and v.ndim else v for v in arguments.values()]

        def waited(function: Callable[..., Any]) -> Callable[[], None]:
            def call() -> None:
                function(*there)
                memory.wait()

            call()
            return call

        return DeviceTime(program, "sdfgad", median(waited(gradient), budget), median(waited(forward), budget), first,
                          used.launches, used.copied_bytes, used.device_bytes, work and work.moved_bytes)


def _by_jax(program: str, arguments: Mapping[str, Any], budget: float, place: Place) -> DeviceTime:
    del place
    jax, kernel = import_module("jax"), load(program)
    if jax.default_backend() != "gpu":
        return DeviceTime(program, "jax", said="jax sees no device")
    port = kernel.idiomatic or kernel.literal
    if port is None:
        return DeviceTime(program, "jax", said="there is no port")
    measure = import_module("npbench_suite.harness.measure_jax")
    jax.config.update("jax_enable_x64", val=True)
    active, passive, fixed = measure.split(arguments, tuple(kernel.wrt or kernel.scalars))
    gradient = measure.compiled(jax.grad(measure.objective(port, fixed)), active, passive)
    whole = measure.compiled(measure.objective(port, fixed), active, passive)
    began = time.perf_counter()
    gradient()
    first = time.perf_counter() - began
    whole()
    return DeviceTime(program, "jax", median(gradient, budget), median(whole, budget), first)


def _by_cupy(program: str, arguments: Mapping[str, Any], budget: float, place: Place) -> DeviceTime:
    """The NumPy program itself on arrays of CuPy, where NumPy hands its functions on; it has no gradient."""
    del place
    cupy = import_module("cupy")
    there = [cupy.asarray(v) if isinstance(v, np.ndarray) else v for v in arguments.values()]

    def call() -> None:
        load(program).program(*there)
        cupy.cuda.Device().synchronize()

    call()
    return DeviceTime(program, "cupy", primal=median(call, budget))


_TIMED: Mapping[str, Callable[[str, Mapping[str, Any], float, Place], DeviceTime]] = {
    "sdfgad": _by_sdfgad, "jax": _by_jax, "cupy": _by_cupy}
