"""Graphs and programs of DaCe as functions: all verbs, arguments, refusals."""
from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import dace
import numpy as np
import pytest

import sdfgad
from sdfgad.errors import DtypeError, OutOfBoundsError, UnsupportedError, UsageError
from sdfgad.frontend.graphs.function import as_function, from_sdfg
from sdfgad.frontend.graphs.reading import read
from tests.graphs import made
from tests.graphs.pairs import N, numbers
from tests.support.point_loops import run

FACTOR = 3.0


@dace.program
def objective(x: dace.float64[N], k: dace.int64, s: dace.float64):
    y = np.sin(x) * s
    for i in range(1, N):
        y[i] += y[i - 1] * x[i]
    return np.sum(y * y) * k


def plain(x: np.ndarray, k: int, s: float) -> Any:
    y = np.sin(x) * s
    for i in range(1, len(x)):
        y[i] += y[i - 1] * x[i]
    return np.sum(y * y) * k


def results(sdfg: dace.SDFG, **given: Any) -> dict[str, np.ndarray]:
    """The arguments of a graph after the reference interpreter has run it."""
    parsed = read(from_sdfg(sdfg), (), given)
    memory = {n: np.array(v) for n, v in parsed.collect((), given).items()}
    run(parsed.program, memory)
    return {path: memory[array] for path, array in parsed.traced.items()}


def test_every_verb_takes_a_program() -> None:
    x, v = numbers(5), numbers(5, seed=1)
    for verb in (lambda f: sdfgad.grad(f)(x, 2, 1.5), lambda f: sdfgad.jvp(f, (x, 2, 1.5), {"x": v}),
                 lambda f: sdfgad.hvp(f, (x, 2, 1.5), {"x": v})):
        np.testing.assert_allclose(verb(objective), verb(plain), rtol=1e-12)


def test_verbs_of_a_graph() -> None:
    function = sdfgad.from_sdfg(objective.to_sdfg(simplify=False))
    x = numbers(5)
    value, gradient = sdfgad.value_and_grad(function, wrt=("x", "s"))(x, 2, 1.5)
    expected, twin = sdfgad.value_and_grad(plain, wrt=("x", "s"))(x, 2, 1.5)
    np.testing.assert_allclose([value, gradient.s], [expected, twin.s], rtol=1e-12)
    np.testing.assert_allclose(gradient.x, twin.x, rtol=1e-12)
    out, pullback = sdfgad.vjp(function, x, 2, 1.5, wrt="x")
    np.testing.assert_allclose(pullback(2.0), 2 * gradient.x, rtol=1e-12)
    np.testing.assert_allclose([out, sdfgad.forward(function)(x, 2, 1.5)], value, rtol=1e-12)
    assert "objective" in str(sdfgad.plan(function, sdfgad.spec(5), 2, 1.5))
    with pytest.raises(UnsupportedError, match="vmap"):
        sdfgad.vmap(function)


def test_a_graph_may_write_its_arguments() -> None:
    x = numbers(6)
    gradient = sdfgad.grad(sdfgad.from_sdfg(made.jumping()), output="x", reduce="sum")(x.copy())
    expected = [sum(2.0 ** (k - i) for k in range(i, 6)) for i in range(6)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-12)


@pytest.mark.slow
def test_the_program_itself_and_its_check() -> None:
    x = numbers(5)
    np.testing.assert_allclose(as_function(objective)(x, 2, 1.5), plain(x, 2, 1.5), rtol=1e-12)
    assert sdfgad.check_grads(objective, x, 2, 1.5).ok


def test_sizes_are_read_once() -> None:
    function = as_function(objective)
    first, _ = function.graph({"x": numbers(4), "k": 2, "s": 1.0})
    assert function.graph({"x": numbers(9), "k": 3, "s": 2.0})[0] is first


def test_numbers_around_a_program_are_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    @dace.program
    def scaled(x: dace.float64[4]):
        return np.sum(x * FACTOR)

    forward = sdfgad.forward(scaled)
    assert forward(np.ones(4)) == 12.0
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert forward(np.ones(4)) == 20.0


def test_a_function_is_pickled_and_copied() -> None:
    gradient = sdfgad.grad(objective, wrt="x")
    assert copy.deepcopy(gradient).fn is gradient.fn is pickle.loads(pickle.dumps(gradient)).fn
    function = pickle.loads(pickle.dumps(from_sdfg(made.jumping())))
    assert list(function.__signature__.parameters) == ["x", "N"]


def test_a_default_is_an_argument_like_others() -> None:
    @dace.program
    def scaled(x: dace.float64[4], s: dace.float64 = 2.0):
        return np.sum(x * s)

    parsed = read(as_function(scaled), (np.ones(4), 3.0), {})
    assert run(parsed.program, parsed.collect((np.ones(4), 3.0))) == 12.0
    parsed = read(as_function(scaled), (np.ones(4),), {})
    assert run(parsed.program, parsed.collect((np.ones(4), 2.0))) == 8.0


# numbers as C++ has them

@pytest.mark.parametrize("code, language", [
    ("b = k / 2 + a * (k % 3)", dace.Language.Python),
    ("b = k / 2 + a * (k % 3);", dace.Language.CPP),
    ("int t = k / 2; if (k % 3 != 0) { t += 0; } else t = k / 2; b = (double)t + a * (k % 3);  // rest",
     dace.Language.CPP)])
def test_integers_divide_towards_zero(code: str, language: dace.Language) -> None:
    k, x = np.array([-7, -6, 7, 5, -1], np.int32), numbers(5)
    found = results(made.of_tasklet(code, language, k=dace.int32), x=x, y=np.zeros(5), ks=k)
    expected = [int(n / 2) + a * int(np.fmod(n, 3)) for n, a in zip(k, x, strict=True)]
    np.testing.assert_allclose(found["y"], expected, rtol=1e-15)


def test_numbers_of_single_precision_meet_doubles() -> None:
    x = numbers(5).astype(np.float32)
    found = results(made.of_tasklet("b = a * 0.1 + 1", dtype=dace.float32), x=x, y=np.zeros(5, np.float32))
    np.testing.assert_array_equal(found["y"], (x.astype(float) * 0.1 + 1).astype(np.float32))


def test_an_integer_connector_cuts_off() -> None:
    sdfg = made.of_tasklet("b = a * 2")
    tasklet = next(n for n, _ in sdfg.all_nodes_recursive() if isinstance(n, dace.nodes.Tasklet))
    tasklet.in_connectors["a"] = dace.int32
    found = results(sdfg, x=np.array([1.7, -1.7, 0.2, 3.0, 9.9]), y=np.zeros(5))
    np.testing.assert_array_equal(found["y"], [2, -2, 0, 6, 18])


def test_views_and_copies() -> None:
    x = np.arange(6.0)
    found = results(made.rearranged(), x=x, y=np.zeros(6), factor=3)
    np.testing.assert_array_equal(found["y"], (x * x).reshape(2, 3).T.ravel() * [3, 1, 3, 1, 3, 1])


# refusals

def _edited(change: Callable[[dace.SDFG], None]) -> dace.SDFG:
    sdfg = made.of_tasklet("b = a * a")
    change(sdfg)
    return sdfg


def _dynamic(sdfg: dace.SDFG) -> None:
    for edge, _ in sdfg.all_edges_recursive():
        if hasattr(edge, "src_conn") and edge.src_conn == "b":
            edge.data.dynamic, edge.data.wcr = True, "lambda p, q: p + q"


def _on_a_device(sdfg: dace.SDFG) -> None:
    sdfg.arrays["x"].storage = dace.StorageType.GPU_Global


def _streaming(sdfg: dace.SDFG) -> None:
    sdfg.add_stream("s", dace.float64, transient=True)
    state = sdfg.add_state_after(sdfg.start_block, "push")
    state.add_edge(state.add_read("x"), None, state.add_write("s"), None, dace.Memlet("x[0]"))


REFUSED = (
    (made.racing(), "share elements of 'y'"),
    (made.racing("x[i]", "x[N - 1 - i]"), "share elements of 'x'"),
    (made.racing("y[int_floor(i, 2)]"), "share elements of 'y'"),
    (made.racing("y[Min(i, 2)]"), "share elements of 'y'"),
    (made.unordered(), "whose order nothing says"),
    (made.of_tasklet("b = foo(a)"), "a call of `foo`"),
    (made.of_tasklet("if a > 1:\n  b = a"), "only one branch"),
    (made.of_tasklet("b = *(&a);", dace.Language.CPP), "a tasklet in CPP"),
    (made.of_tasklet("while a > 1:\n  a = a / 2\nb = a"), "in a tasklet"),
    (_edited(_dynamic), "as often as data decide"),
    (_edited(_on_a_device), "lies in GPU_Global"),
    (_edited(_streaming), "a Stream"),
)


@pytest.mark.parametrize("sdfg, what", REFUSED, ids=[what for _, what in REFUSED])
def test_what_is_refused_says_where(sdfg: dace.SDFG, what: str) -> None:
    with pytest.raises(UnsupportedError, match="SG11[01]") as error:
        results(sdfg, x=numbers(5), y=numbers(5, seed=1))
    assert what in str(error.value)
    assert f"graph {sdfg.name}" in str(error.value)


@pytest.mark.parametrize("given, error", [
    ({"x": numbers(5).astype(np.float32), "y": numbers(5)}, DtypeError),
    ({"x": numbers(5), "y": numbers(4)}, UsageError),
    ({"x": numbers(5, 1), "y": numbers(5)}, UsageError),
    ({"x": numbers(5)}, UsageError),
    ({"x": numbers(5), "y": numbers(5), "N": 6}, UsageError),
])
def test_arguments_that_are_none(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        results(made.of_tasklet("b = a"), **given)


def _irreducible() -> dace.SDFG:
    """Two states that jump to each other, both of which may come first."""
    sdfg = dace.SDFG("irreducible")
    sdfg.add_array("x", [N], dace.float64)
    first, one, other = (sdfg.add_state(n) for n in ("first", "one", "other"))
    for source, target, condition in ((first, one, "x[0] > 1"), (first, other, "x[0] <= 1"), (one, other, "i < 3"),
                                      (other, one, "i < 4")):
        sdfg.add_edge(source, target, dace.InterstateEdge(condition, {"i": "0" if source is first else "i + 1"}))
    return sdfg


def _of_vectors() -> dace.SDFG:
    sdfg = dace.SDFG("of_vectors")
    sdfg.add_array("x", [N], dace.vector(dace.float64, 4))
    sdfg.add_state("only")
    return sdfg


def _of_members() -> dace.SDFG:
    sdfg = dace.SDFG("of_members")
    sdfg.add_datadesc("x", dace.data.Structure({"v": dace.float64[5]}, name="Pair"))
    sdfg.add_state("only")
    return sdfg


def _without_states() -> dace.SDFG:
    sdfg = dace.SDFG("without_states")
    sdfg.add_array("x", [N], dace.float64)
    return sdfg


@pytest.mark.parametrize("make, what", [
    (_irreducible, "of which DaCe makes no loops"), (_of_vectors, "elements of type"), (_of_members, "a Structure"),
    (_without_states, "which has no state")])
def test_odd_graphs_are_refused(make: Callable[[], dace.SDFG], what: str) -> None:
    with pytest.raises(UnsupportedError, match="SG110") as error:
        read(from_sdfg(make()), (numbers(5),), {})
    assert what in str(error.value)


def test_an_index_outside_is_found() -> None:
    with pytest.raises(OutOfBoundsError):
        results(made.racing("y[i]", "x[i - 1]"), x=numbers(5), y=numbers(5))


def test_a_graph_is_given_as_a_function() -> None:
    with pytest.raises(UsageError, match="from_sdfg"):
        sdfgad.grad(made.jumping())
    with pytest.raises(UsageError, match="from_sdfg of int"):
        sdfgad.from_sdfg(3)
