"""Gradients as graphs: what they are called, what they take, and that DaCe alone runs them."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import MemoryLimitError, OutputError, UnsupportedError, UsageError
from tests.codegen.reference.running import filled

WEIGHTS = np.array([1.5, -0.25, 4.0])


def everything(A, x, p, scale, steps, which):
    """Products, systems, sorting, branches, a loop of unknown length, updates in place, data that decides places."""
    y = A @ A @ x + p["b"][0:3] * WEIGHTS
    while np.sum(y * y) > 2.0:
        y = np.sin(y * scale) * 0.5
    for k in range(steps):
        if y[k] > 0.1:
            x[k] = x[k] * y[2 - k]
        else:
            x[k] += np.max(y)
    order = np.argsort(x)
    s = 0.0
    for k in range(3):
        s += x[order[k]] * x[which[k]] * (k + 1)
    return s + np.sum(np.linalg.solve(A + 4 * np.eye(3), y)) + np.sum(p["W"] ** 3)


def arguments() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {"A": rng.standard_normal((3, 3)), "x": rng.standard_normal(3), "scale": 0.8, "steps": 3,
            "p": {"b": rng.standard_normal(5), "W": rng.standard_normal((2, 2))}, "which": np.array([2, 0, 2])}


ALONE = """
import sys
import dace, numpy as np
graph = dace.SDFG.from_file("graph.sdfgz")
graph.validate()
held = {n: v.copy() for n, v in np.load("given.npz").items()}
graph.compile()(**held)
assert "sdfgad" not in sys.modules
np.savez("done.npz", **held)
"""


def test_a_graph_needs_nothing_of_this_package(tmp_path: Path) -> None:
    """It is saved, and another process, which never heard of sdfgad, validates, compiles and runs it."""
    args = arguments()
    graph = sdfgad.to_sdfg(everything, **args, wrt=("A", "x", "p", "scale"), value=True)
    graph.save(str(tmp_path / "graph.sdfgz"), compress=True)
    given = {"A": args["A"], "x": args["x"], "p_b": args["p"]["b"], "p_W": args["p"]["W"],
             "scale": np.array([args["scale"]]), "which": args["which"]}
    made = {f"grad_{n}": np.full_like(v, 7) for n, v in given.items() if n != "which"} | {"value": np.zeros(1)}
    assert graph.arg_names == [*given_order(graph), *made]
    np.savez(tmp_path / "given.npz", **given, **made)
    subprocess.run([sys.executable, "-c", ALONE], cwd=tmp_path, check=True)
    done = np.load(tmp_path / "done.npz")
    value, grads = sdfgad.value_and_grad(everything, wrt=("A", "x", "p", "scale"))(**args)
    np.testing.assert_allclose(done["value"], [value], rtol=1e-12)
    for name, found in zip(("A", "x", "p_b", "p_W", "scale"), grads.values(), strict=True):
        np.testing.assert_allclose(done[f"grad_{name}"].reshape(np.shape(found)), found, rtol=1e-11, atol=1e-11)
    for name, before in given.items():
        np.testing.assert_array_equal(done[name], before)


def given_order(graph: Any) -> list[str]:
    return [n for n in graph.arg_names if not n.startswith("grad_") and n != "value"]


def test_a_graph_is_the_same_when_it_is_read_back(tmp_path: Path) -> None:
    dace = pytest.importorskip("dace")
    graph = sdfgad.to_sdfg(everything, **arguments(), wrt="x")
    graph.save(str(tmp_path / "graph.sdfg"))
    again = dace.SDFG.from_file(str(tmp_path / "graph.sdfg"))
    again.validate()
    assert again.hash_sdfg() == graph.hash_sdfg()


def power(lambda_, N, I, s_i, grad_x, x, unused):
    for i in range(3):
        x[i] = x[i] * lambda_[i] + N * I[i] + s_i[0] * grad_x[i]
    return np.sum(x ** 2)


def test_names_are_the_users_own_where_they_can_be() -> None:
    """Not those of macros of C, of loop variables, of gradients; arguments that nothing depends on are there, too."""
    spec = sdfgad.spec(3)
    graph = sdfgad.to_sdfg(power, spec, 2.0, spec, spec, spec, spec, spec, wrt=("x", "unused", "grad_x"), value=True)
    assert graph.name == "grad_power"
    named = set(graph.arg_names)
    assert {"lambda_", "N", "x", "unused", "grad_unused", "value"} <= named
    assert len(named) == 7 + 4 and "I" not in named and "s_i" not in named
    assert all(d.shape == (3,) or n in ("N", "value") for n, d in graph.arglist().items())


def total(x, n):
    return np.sum(x[:n] * WEIGHTS[0]) + 0.0 * np.sum(x)


def test_shapes_and_types() -> None:
    graph = sdfgad.to_sdfg(total, sdfgad.spec((4, 5), "float32"), 2)
    (x, g) = graph.arglist().values()
    assert graph.arg_names == ["x", "grad_x"]
    assert x.dtype == g.dtype and g.dtype.type == np.float32 and x.shape == g.shape == (4, 5)


def test_memlets_are_those_of_the_program() -> None:
    """One element for each tasklet, what all of its points touch for a map."""
    graph = sdfgad.to_sdfg(lambda x: np.sum(x[1:9:2] * x[0:8:2]), sdfgad.spec(10))
    texts = {str(e.data) for s in graph.states() for e in s.edges() if e.data.data == "x"}
    assert any("2*s_" in t for t in texts) and not any("dyn" in t for t in texts)


def looked_up(x, table):
    return np.sum(x[table] * LARGE[table]) + x[0] * SPECIAL[2].real


LARGE = np.linspace(0, 1, (1 << 16) + 1)
SPECIAL = np.array([1.0 + 2j, np.nan, 3.0 - 0.5j, complex(-0.0, np.inf)])


def test_large_constants_are_arguments() -> None:
    graph = sdfgad.to_sdfg(looked_up, sdfgad.spec(5), np.array([1, 2, 4]))
    extra = set(graph.arg_names) - {"x", "table", "grad_x"}
    assert len(extra) == 1 and graph.arrays[extra.pop()].shape == LARGE.shape


def complex_and_single(z, a, order):
    w = z * np.conj(z) * a + SPECIAL[order] * z
    return np.sum(w.real * 2) + np.sum(np.abs(z)) + np.sum(a ** 2).astype(np.float64)


def test_complex_numbers_and_single_precision(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    z, a = rng.standard_normal(3) + 1j * rng.standard_normal(3), rng.standard_normal(3).astype("f4")
    order = np.array([2, 0, 0])
    graph = sdfgad.to_sdfg(complex_and_single, z, a, order)
    found = filled(graph, {"z": z, "a": a, "order": order}, tmp_path)
    expected = sdfgad.grad(complex_and_single)(z, a, order)
    np.testing.assert_allclose(found["grad_z"], expected.z, rtol=1e-12)
    np.testing.assert_allclose(found["grad_a"], expected.a, rtol=1e-5)


def test_a_limit_is_kept() -> None:
    def steps(x):
        for _ in range(64):
            x = np.sin(x) * x[::-1]
        return np.sum(x)

    def own(graph: Any) -> int:
        return sum(int(np.prod(d.shape)) * d.dtype.bytes for d in graph.arrays.values() if d.transient)

    spec = sdfgad.spec(1000)
    plain, small = sdfgad.to_sdfg(steps, spec), sdfgad.to_sdfg(steps, spec, memory_limit=400_000)
    assert own(small) <= 400_000 < own(plain)
    with pytest.raises(MemoryLimitError):
        sdfgad.to_sdfg(steps, spec, memory_limit=10_000)


def test_refusals() -> None:
    x = sdfgad.spec(3)
    with pytest.raises(OutputError, match="not one real scalar"):
        sdfgad.to_sdfg(lambda x: x * 2, x)
    with pytest.raises(UnsupportedError):
        sdfgad.to_sdfg(lambda x: np.random.rand() * x[0], x)
    with pytest.raises(UnsupportedError, match="derivative of a derivative"):
        sdfgad.to_sdfg(sdfgad.grad(total), x, 2)
    with pytest.raises(UsageError, match="no argument of this name"):
        sdfgad.to_sdfg(total, x, 2, wrt="y")
    with pytest.raises(UsageError, match="not a function"):
        sdfgad.to_sdfg(3, x)
    with pytest.raises(UsageError, match="missing"):
        sdfgad.to_sdfg(total, x)


def test_an_unknown_target_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="target is 'gpu'") as told:
        sdfgad.config(target="gpu")
    assert "cpu, reference" in str(told.value)
    monkeypatch.setenv("SDFGAD_TARGET", "abacus")
    with pytest.raises(UsageError, match="abacus"):
        sdfgad.grad(total)(np.ones(3), 2)


def test_each_target_has_its_own_code_in_one_function() -> None:
    function, x = sdfgad.grad(total), np.arange(4.0)
    first = function(x, 2)
    with sdfgad.config(target="reference"):
        other = function(x, 2)
    np.testing.assert_array_equal(first, other)
    assert {target for *_, target in function._known} == {"cpu", "reference"}


def several(x, y):
    return np.sum(x * y), x * 2, 5


def in_place(x, y):
    x[1:] = x[1:] * x[:-1] + y[0]


def constant(x, y):
    return 3.0


def complex_outputs(x, y):
    return (x + 1j * y) ** 2


@pytest.mark.parametrize("fn, options", [
    (several, {"output": (0, 1), "reduce": "sum"}),
    *(pytest.param(fn, options, marks=pytest.mark.slow) for fn, options in (
        (several, {"output": 0}), (in_place, {"output": "x", "reduce": "sum"}), (constant, {}),
        (complex_outputs, {"reduce": "sum"})))])
@pytest.mark.filterwarnings("ignore::sdfgad.UnusedArgumentWarning")
def test_values_of_all_kinds(fn: Any, options: dict[str, Any], tmp_path: Path) -> None:
    x, y = np.arange(3.0) + 1, np.arange(3.0) - 4
    value, grads = sdfgad.value_and_grad(fn, **options)(x.copy(), y.copy())
    found = filled(sdfgad.to_sdfg(fn, x, y, value=True, **options), {"x": x, "y": y}, tmp_path)
    np.testing.assert_allclose(found["value"], [value], rtol=1e-13)
    np.testing.assert_allclose(found["grad_x"], grads.x, rtol=1e-13)
    np.testing.assert_allclose(found["grad_y"], grads.y, rtol=1e-13)
