"""What users see: plans without a device, refusals by line, kernels that are started, and nvcc where it is."""
from __future__ import annotations

import inspect
import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from dace.sdfg import state
from dace.transformation.dataflow.add_threadblock_map import AddThreadBlockMap

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.codegen import devices
from sdfgad.codegen.compiling.build import LIBRARY
from sdfgad.codegen.cuda.graph import graph_of
from sdfgad.codegen.cuda.nvcc import FLAGS
from sdfgad.codegen.cuda.points import counted_by_one
from sdfgad.codegen.cuda.schedule import scheduled
from sdfgad.codegen.cuda.work import launches
from sdfgad.codegen.targets import TARGETS
from sdfgad.errors import UsageError
from sdfgad.ir.expr import Const
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Map, Range, Store
from sdfgad.verbs.pipeline import Derivative, Request, derive
from tests.codegen.cuda.device_programs import CASES
from tests.support.on_cpu import counts, on_cpu, running_here


@cache
def derived(name: str) -> Derivative:
    """The gradient of a case for a graphics processor."""
    case = CASES[name]
    with sdfgad.config(device="gpu"):
        bound = bind(case.function, case.own(), {})
        wrt = tuple(n for n, v in bound.leaves.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f")
        return derive(case.function, bound, Request(wrt, None, None, False))


@cache
def device_text(name: str) -> str:
    """Its code, which takes DaCe seconds to write."""
    made = derived(name)
    return TARGETS["cuda"].generate(made.program, made.keep, ()).text


def test_no_node_is_looked_for_on_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """DaCe does that for nodes without a line, which takes longer than all else that is done for them."""
    monkeypatch.setattr(state.inspect, "stack", lambda *_: pytest.fail("it is"))
    made = derived("decisions")
    assert graph_of(scheduled(made.program)).kernels


def test_nothing_is_left_to_divide_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """DaCe goes through the whole graph for each kernel that is, and says on the standard output how far it is."""
    monkeypatch.setattr(AddThreadBlockMap, "apply", lambda *_: pytest.fail("it is"))
    made = derived("decisions")
    assert "__global__" in TARGETS["cuda"].generate(made.program, made.keep, ()).text


@pytest.fixture
def no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_LIBRARY", "libnobody.so.1")
    devices.find_device.cache_clear()
    monkeypatch.setattr(devices, "find_device", devices.find_device.__wrapped__)


def test_plans_need_no_device(no_device: None) -> None:
    x = np.ones((20, 20))
    for made in (sdfgad.plan(squares, x, device="gpu"), sdfgad.grad(squares, device="gpu").plan(x)):
        assert made.predicted.peak_bytes >= 2 * x.nbytes and "gpu" in str(made)


def squares(x: np.ndarray) -> float:
    return np.sum(x * x)


@pytest.mark.parametrize("limit", [None, "1MB"])
def test_calls_without_a_device_say_so(no_device: None, limit: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(3)
    for call in (lambda: sdfgad.grad(squares, device="gpu", memory_limit=limit)(x),
                 lambda: sdfgad.vjp(squares, x, device="gpu")):
        with pytest.raises(UsageError, match=r"SG210(.|\n)*libnobody(.|\n)*device=\"cpu\""):
            call()
    monkeypatch.setenv("SDFGAD_DEVICE", "gpu")
    with pytest.raises(UsageError, match="SG210"):
        sdfgad.value_and_grad(squares)(x)
    np.testing.assert_array_equal(sdfgad.grad(squares, device="cpu")(x), 2 * x)


def test_settings_and_options_choose(no_device: None) -> None:
    with sdfgad.config(device="gpu"):
        with pytest.raises(UsageError, match="SG210"):
            sdfgad.forward(squares)(np.ones(3))
        with sdfgad.config(target="reference"):
            assert sdfgad.forward(squares)(np.ones(3)) == 3.0
    assert sdfgad.forward(squares)(np.ones(3)) == 3.0
    with pytest.raises(UsageError, match="cpu, gpu"):
        sdfgad.config(device="abacus")


def sines(x: np.ndarray) -> np.ndarray:
    return np.sin(x) * x


X = np.array([0.5, 1.0, 1.5])
VERBS: dict[str, Callable[[dict[str, str]], object]] = {
    "grad": lambda o: sdfgad.grad(squares, **o)(X),
    "value_and_grad": lambda o: sdfgad.value_and_grad(squares, **o)(X),
    "measure": lambda o: sdfgad.grad(squares, **o).measure(X),
    "forward": lambda o: sdfgad.forward(squares, **o)(X),
    "forward of a gradient": lambda o: sdfgad.forward(sdfgad.grad(squares, **o))(X),
    "vjp": lambda o: sdfgad.vjp(squares, X, **o)[1](1.0),
    "vjp of a gradient": lambda o: sdfgad.vjp(sdfgad.grad(squares), X, **o)[1](X),
    "jvp": lambda o: sdfgad.jvp(squares, X, X, **o),
    "jvp of a gradient": lambda o: sdfgad.jvp(sdfgad.grad(squares), X, X, **o),
    "hvp": lambda o: sdfgad.hvp(squares, X, X, **o),
    "hessian": lambda o: sdfgad.hessian(squares, **o)(X),
    "sparse hessian": lambda o: sdfgad.hessian(squares, sparsity="auto", **o)(X),
    "jacobian by columns": lambda o: sdfgad.jacobian(sines, mode="forward", **o)(X),
    "jacobian by rows": lambda o: sdfgad.jacobian(sines, mode="reverse", **o)(X),
    "sparse jacobian": lambda o: sdfgad.jacobian(sines, sparsity="auto", **o)(X),
    "jacobian of a gradient": lambda o: sdfgad.jacobian(sdfgad.grad(squares), **o)(X),
    "batch": lambda o: sdfgad.forward(sdfgad.vmap(squares), **o)(X[None]),
    "batch of gradients": lambda o: sdfgad.vmap(sdfgad.grad(squares, **o))(X[None]),
    "batch of hessians": lambda o: sdfgad.vmap(sdfgad.hessian(squares, **o))(X[None]),
    "batch of jacobians": lambda o: sdfgad.vmap(sdfgad.jacobian(sines, **o))(X[None]),
    "check_grads": lambda o: sdfgad.check_grads(squares, X, **o),
    "check_grads of a gradient": lambda o: sdfgad.check_grads(sdfgad.grad(squares, **o), X),
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_device(verb: str, no_device: None) -> None:
    """By its option or the settings, and then none runs on the processor; options win."""
    with pytest.raises(UsageError, match="SG210"):
        VERBS[verb]({"device": "gpu"})
    with sdfgad.config(device="gpu"):
        with pytest.raises(UsageError, match="SG210"):
            VERBS[verb]({})
        assert VERBS[verb]({"device": "cpu"}) is not None
    for device in ("tpu", 0, "gpu:1"):
        with pytest.raises(UsageError, match=r"SG205(.|\n)*cpu, gpu; of several"):
            VERBS[verb]({"device": device})


def test_pullbacks_stay_where_they_were_made(no_device: None) -> None:
    pullbacks = sdfgad.vjp(squares, X)[1], sdfgad.vjp(sdfgad.grad(squares), X)[1]
    with sdfgad.config(device="gpu"):
        np.testing.assert_array_equal(pullbacks[0](1.0), 2.0 * X)
        np.testing.assert_array_equal(pullbacks[1](X), 2.0 * X)


@pytest.mark.parametrize("call, instead", [
    (lambda: sdfgad.vmap(squares, device="gpu"), "forward"),
    (lambda: sdfgad.vmap(sdfgad.forward(squares, device="gpu")), "the function itself"),
    (lambda: sdfgad.grad(sdfgad.forward(squares, device="gpu")), "to the derivative"),
    (lambda: sdfgad.jvp(sdfgad.forward(squares, device="gpu"), X, X), "to the derivative"),
    (lambda: sdfgad.to_sdfg(squares, X, device="gpu"), "transformations"),
    (lambda: sdfgad.export(sdfgad.forward(squares, device="gpu"), X, folder="nowhere"), "graphics processors")])
def test_what_has_no_device_says_where_to_ask(call: Callable[[], object], instead: str) -> None:
    with pytest.raises((UsageError, sdfgad.UnsupportedError), match=instead):
        call()


def called(x: np.ndarray) -> float:
    y = x * 2.0
    return np.sum(doubled(y))


doubled = sdfgad.custom_vjp(lambda x: 2.0 * x, python=True)
doubled.defvjp(lambda x: (2.0 * x, None), lambda kept, g: (2.0 * g,))


def some(x: np.ndarray) -> float:
    count = np.argmax(x[0])
    return np.sum(np.linalg.cholesky(x[:count, :count]))


def test_refusals_name_the_line() -> None:
    """Before anything runs, and before a device is looked for."""
    for function, message, call in (
            (called, "a function that stays Python", lambda x: sdfgad.plan(called, x, device="gpu")),
            (some, "cholesky on a block whose size data decide", running_here()(sdfgad.forward(some)))):
        start = inspect.getsourcelines(function)[1]
        with pytest.raises(sdfgad.UnsupportedError, match=message) as shown:
            call(np.ones((4, 4)))
        assert shown.value.line == start + 2


def test_maps_of_larger_steps() -> None:
    """Bounds that count from another such variable, and one that a loop around has taken the name of."""
    domain = Range("i", ix(9), ix(0), -2), Range("j", ix("i"), ix(12), 3)
    stmt = Map(domain, (Store("a", (ix("i"), ix("j") + ix("k")), Const(1.0, np.dtype(np.float64))),))
    changed = counted_by_one(stmt)
    assert [r.step for r in changed.domain] == [1, 1]
    assert stored(changed) == stored(stmt) == {(i, j + 100) for i in range(9, 0, -2) for j in range(i, 12, 3)}


def stored(stmt: Map) -> set[tuple[int, ...]]:
    """The elements that a map stores, where a loop around counts `k = 100`."""
    points: list[dict[str, int]] = [{"k": 100}]
    for r in stmt.domain:
        points = [{**p, r.var: v} for p in points for v in range(at(r.start, p), at(r.stop, p), r.step)]
    return {tuple(at(i, p) for i in store.index) for p in points for store in stmt.body if isinstance(store, Store)}


def at(index: Ix, values: dict[str, int]) -> int:
    found = index.subs(values).const
    assert found is not None
    return found


@pytest.mark.parametrize("name, most", [("stencil", 20), ("rows", 8), ("bodies", 60)])
def test_kernels_are_few(name: str, most: int) -> None:
    """Neighbours share one, and a loop over rows is inside one."""
    assert launches(scheduled(derived(name).program).items) <= most


def test_the_host_waits_for_decisions_alone() -> None:
    """Twice for arguments, once for all kernels, twice for results: nothing between the steps of the loop."""
    case = CASES["rows"]
    with running_here():
        gradient = sdfgad.grad(case.function, wrt="x")
        gradient(*case.own())
        found = next(iter(gradient._known.values()))[0]
        library = found.compiled().folder / LIBRARY
        counts(library)
        gradient(*case.own())
        kernels, waits = counts(library)
    assert 0 < kernels <= 8 and waits <= 5


@pytest.mark.parametrize("name", ["stencil", "decisions", "attention", "rows"])
def test_a_call_takes_what_the_plan_says(name: str) -> None:
    room = re.findall(r"sg::Room room\(given.there \? \d+ : (\d+), given\);", device_text(name))
    assert room == [str(derived(name).plan.predicted.peak_bytes)]


def test_a_pullback_stays_on_its_device() -> None:
    x = np.linspace(0.1, 0.9, 7)
    with running_here():
        value, pullback = sdfgad.vjp(lambda x: np.sum(np.sin(x) * x), x)
    used: list[str] = []
    with running_here(on_cpu(lambda text: used.append(text) or text)):
        _, other = sdfgad.vjp(lambda x: np.sum(np.sin(x) * x), x)
    before = len(used)
    np.testing.assert_allclose(other(1.0), np.sin(x) + x * np.cos(x), rtol=1e-12)
    assert len(used) == before + 1
    np.testing.assert_allclose(pullback(1.0), other(1.0), rtol=1e-15)


@pytest.mark.slow
def test_a_limit_bounds_the_memory_of_the_device() -> None:
    case = CASES["stencil"]
    whole = sdfgad.plan(case.function, *case.own()[:2], 40, device="gpu")
    limit = int(whole.predicted.peak_bytes * 0.7)
    made = sdfgad.plan(case.function, *case.own()[:2], 40, device="gpu", memory_limit=limit)
    assert made.predicted.peak_bytes <= limit
    expected = sdfgad.grad(case.function)(*case.own()[:2], 40)
    with running_here():
        found = sdfgad.grad(case.function, memory_limit=limit)(*case.own()[:2], 40)
    for name in expected.keys():
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("capability, name", [(80, "attention"), (90, "waves")])
def test_nvcc_compiles_it_without_spills(capability: int, name: str, tmp_path: Path) -> None:
    try:
        compiler = devices.find_nvcc()
    except UsageError:
        pytest.skip("nvcc is not here")
    source = tmp_path / "program.cu"
    source.write_text(device_text(name))
    done = subprocess.run([compiler, *FLAGS, "-Xptxas", "-v", f"-arch=sm_{capability}", "-c", str(source), "-o",
                           str(tmp_path / "program.o")], capture_output=True, text=True, check=True)
    said = done.stdout + done.stderr
    assert len(re.findall("Compiling entry function", said)) == source.read_text().count("__global__")
    assert set(re.findall(r"(\d+) bytes spill", said)) == {"0"}
