"""Gradients of functions of dicts, namedtuples, dataclasses and objects, and of methods."""
from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections import namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind

X = np.linspace(0.5, 2.0, 6)
W = np.linspace(1.0, 3.0, 6)
Pair = namedtuple("Pair", "a b")


@dataclass
class Net:
    w: np.ndarray
    scale: float = 2.0
    name: str = "plain"

    def cost(self, x):
        factor = 3.0 if self.name == "thrice" else 1.0
        return np.sum(self.w * x * x) * self.scale * factor


class Model:
    offset = 1.0

    def __init__(self, n: int = 2) -> None:
        self.n = n
        self.w = W.copy()
        self.params = {"k": np.ones(6)}

    @property
    def weight(self):
        return self.w * self.n + self.offset

    def rhs(self, x):
        return self.weight * self.params["k"] * x

    def cost(self, x):
        return np.sum(self.rhs(x) * x)

    @sdfgad.grad
    def slope(self, x):
        return np.sum(self.rhs(x) * x)

    @sdfgad.value_and_grad
    def both(self, x):
        return np.sum(self.rhs(x) * x)

    def __call__(self, x):
        return self.cost(x)


def dense(x, p):
    return np.sum(p["W"] * x * x) * p["dt"] * p["n"]


def dense_data(n: int = 3):
    return {"W": W.copy(), "dt": 0.5, "n": n, "steps": np.arange(3)}


def test_leaves_and_containers_of_gradients():
    g = sdfgad.grad(dense)(X, dense_data())
    assert g.keys() == ["x", "p['W']"]
    np.testing.assert_allclose(g.x, 3.0 * W * X)
    np.testing.assert_allclose(g["p['W']"], 1.5 * X**2)
    assert list(g.p) == ["W"] and g["p"]["W"] is g["p['W']"]
    whole = sdfgad.grad(dense, wrt="p")(X, dense_data())
    assert list(whole.p) == ["W", "dt"]
    np.testing.assert_allclose(whole.p["dt"], np.sum(W * X * X) * 3)


def test_one_leaf_of_a_dict_has_its_name_and_one_of_a_tuple_none():
    def in_dict(p):
        return np.sum(p["W"] ** 2)

    def in_tuple(p):
        return np.sum(p[0] ** 2)

    np.testing.assert_allclose(sdfgad.grad(in_dict)({"W": W}).p["W"], 2 * W)
    np.testing.assert_allclose(sdfgad.grad(in_tuple)((W,)), 2 * W)


def test_objects_of_gradients():
    def cost(x, net, pair):
        return net.cost(x) + np.sum(pair.a * x) * pair.b[0]

    g = sdfgad.grad(cost, wrt=("net", "pair"))(X, Net(W.copy()), Pair(X + 1, (2.0, 5)))
    assert type(g.net) is Net and g.net.name is None and type(g.pair) is Pair and g.pair.b[1] is None
    np.testing.assert_allclose(g.net.w, 2 * X**2)
    np.testing.assert_allclose(g.pair.a, 2 * X)


def test_another_constant_is_another_program():
    g = sdfgad.grad(dense, wrt="x")
    for n in (3, 4, 3):
        np.testing.assert_allclose(g(X, dense_data(n)), n * W * X)
    cost = sdfgad.grad(lambda x, net: net.cost(x), wrt="x")
    for name, factor in (("plain", 1), ("thrice", 3)):
        np.testing.assert_allclose(cost(X, Net(W.copy(), 2.0, name)), 4 * factor * W * X)


def test_large_arrays_are_not_told_by_their_text():
    def pick(x, p):
        return np.sum(x[p["where"]])

    g, many = sdfgad.grad(pick, wrt="x"), np.arange(3000.0)
    for k in (1400, 1600):  # repr leaves both out
        where = np.zeros(3000, int)
        where[k] = 7
        assert g(many, {"where": where})[7] == 1.0


def test_tangents_and_pullbacks():
    p = dense_data()
    value, tangent = sdfgad.jvp(dense, (X, p), (None, {"W": X, "dt": 2.0}))
    np.testing.assert_allclose(value, dense(X, p))
    np.testing.assert_allclose(tangent, 1.5 * np.sum(X**3) + 6.0 * np.sum(W * X * X))
    _, pullback = sdfgad.vjp(dense, X, p, wrt="p")
    np.testing.assert_allclose(pullback(2.0).p["W"], 3.0 * X**2)


def test_results():
    def both(x):
        return {"y": x * 2, "z": Pair(np.sum(x), 3)}

    found = sdfgad.forward(both)(X)
    np.testing.assert_allclose(found["y"], 2 * X)
    assert type(found["z"]) is Pair and found["z"].b == 3
    np.testing.assert_allclose(sdfgad.grad(both, reduce="sum")(X), 3.0)
    out, pullback = sdfgad.vjp(both, X)
    np.testing.assert_allclose(pullback((X, 1.0)), 2 * X + 1)
    tangent = sdfgad.jvp(both, (X,), (X,))[1]
    assert tangent["z"].a == pytest.approx(np.sum(X))
    np.testing.assert_allclose(pullback(tangent), 4 * X + np.sum(X))  # what has no derivative takes any seed
    np.testing.assert_allclose(pullback({"y": None, "z": Pair(1.0, None)}), 1.0)
    np.testing.assert_allclose(pullback({"y": X, "z": None}), 2 * X)
    for seeds in ({"y": X}, {"y": X, "w": None}):
        with pytest.raises(sdfgad.OutputError, match="not like what the function returns"):
            pullback(seeds)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_matrices_by_what_is_in_containers(mode):
    def scaled(p):
        return p["w"] * p["net"].w * p["net"].scale

    found = sdfgad.jacobian(scaled, mode=mode)({"w": X, "net": Net(W)})
    np.testing.assert_allclose(found["p['w']"], np.diag(2 * W))
    np.testing.assert_allclose(found["p['net'].w"], np.diag(2 * X))
    found = sdfgad.jacobian(scaled, mode=mode, sparsity="auto")({"w": X, "net": Net(W)})
    np.testing.assert_allclose(found["p['w']"].todense(), np.diag(2 * W))


def test_an_output_in_a_container():
    def step(x, p):
        p["u"][...] = p["u"] * x
        p["v"] = p["v"] * x

    def data():
        return {"u": W.copy(), "v": W.copy()}

    np.testing.assert_allclose(sdfgad.grad(step, wrt="x", output="p['u']", reduce="sum")(X, data()), W)
    with pytest.raises(sdfgad.OutputError, match="puts another array in its place"):
        sdfgad.grad(step, wrt="x", output="p['v']", reduce="sum")(X, data())


def test_arguments_are_left_alone():
    def step(x, p):
        p["W"] += x
        p["dt"] = 3.0
        return np.sum(p["W"] * x) * p["dt"]

    p = dense_data()
    np.testing.assert_allclose(sdfgad.grad(step, wrt="x")(X, p), 3 * (W + 2 * X))
    assert p["dt"] == 0.5
    np.testing.assert_array_equal(p["W"], W)


def slope(model: Model, x):
    return 2 * x * (model.w * model.n + model.offset) * model.params["k"]


CHANGES = [lambda m: setattr(m, "n", 5), lambda m: m.w.__setitem__(2, 9.0), lambda m: setattr(m, "w", np.ones(6)),
           lambda m: m.params.update(k=np.full(6, 4.0)), lambda m: setattr(m, "offset", 7.0)]


def test_methods_and_objects_see_changes():
    def asked(x, m):
        return m.cost(x)

    def called(x):
        return model(x)

    model = Model()
    ways = [sdfgad.grad(model.cost), sdfgad.grad(model), model.slope, lambda x: model.both(x)[1], sdfgad.grad(called),
            lambda x: sdfgad.vjp(model.cost, x)[1](1.0), lambda x, g=sdfgad.grad(asked): g(x, model)]
    for change in (lambda m: None, *CHANGES):
        before = slope(model, X)
        change(model)
        assert change not in CHANGES or not np.array_equal(slope(model, X), before)
        for way in ways:
            np.testing.assert_allclose(way(X), slope(model, X), rtol=1e-13)
        np.testing.assert_allclose(sdfgad.forward(model.cost)(X), model.cost(X), rtol=1e-13)
        np.testing.assert_allclose(sdfgad.jvp(model.cost, (X,), (X,))[1], slope(model, X) @ X, rtol=1e-13)


def test_a_gradient_that_is_a_method_belongs_to_its_object():
    one = Model()
    assert one.slope is one.slope and Model.slope.fn.__name__ == "slope"
    one.slope(X)
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        other.n = 11
        np.testing.assert_allclose(other.slope(X), slope(other, X))
        np.testing.assert_allclose(one.slope(X), slope(one, X))


def test_objects_are_not_kept_alive():
    model = Model()
    model.slope(X)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_derivative_inside_a_program_is_refused():
    inner = sdfgad.hessian(lambda x: np.sum(x * x))

    def outer(x):
        return np.sum(inner(x))

    with pytest.raises(sdfgad.UnsupportedError, match="a call of what sdfgad has made inside another function"):
        sdfgad.grad(outer)(X)


def test_setting_an_attribute_of_an_object_is_refused():
    class Counting:
        calls = 0

        def cost(self, x):
            self.calls += 1
            return np.sum(x)

    with pytest.raises(sdfgad.UnsupportedError, match="pass what changes as an argument"):
        sdfgad.grad(Counting().cost)(X)


@pytest.mark.parametrize(("args", "told"), [
    (([1, 2], 3), "x: list (make it an array: np.asarray(x)), n: int"),
    ((np.arange(3), 2.0), "x: int64 array (make it floating: x.astype(float)), n: float"),
    (({"k": np.arange(3)}, None), "x['k']: int64 array (make it floating: x['k'].astype(float)), n: NoneType"),
])
def test_what_the_arguments_are(args, told):
    def cost(x, n):
        return n

    with pytest.raises(sdfgad.UsageError) as caught:
        sdfgad.grad(cost)(*args)
    assert told in str(caught.value)


def test_signatures_tell_containers_apart():
    def f(p):
        return p

    made = [bind(f, (p,), {}).signature for p in (
        {"a": X}, {"b": X}, {"a": X, "b": 1}, {"a": X, "b": 2}, {"a": X, "b": True}, (X,), [X], Pair(X, 1), Net(X))]
    assert len(set(made)) == len(made)
    assert bind(f, ({"a": X},), {}).signature == bind(f, ({"a": X + 1},), {}).signature


def spread(*xs, **named):
    return np.sum(xs[0] * xs[1] ** 2 * named["scale"])


def test_one_leaf_of_a_container_is_named():
    """Before: no argument of this name."""
    state, x = SimpleNamespace(c=2.0, k=3.0, t=np.arange(3.0)), np.ones(3)

    def f(p, x):
        return np.sum(p.c * p.k**2 * p.t * x)

    found = sdfgad.grad(f, wrt="p.c")(state, x)
    assert list(found.keys()) == ["p.c"] and found.p.c == found.c == 27.0
    both = sdfgad.grad(f, wrt=("p.k", "x"))(state, x)
    np.testing.assert_allclose(both["p.k"], 36.0)
    np.testing.assert_allclose(both.x, 18.0 * state.t)
    assert sdfgad.grad(sdfgad.grad(f, wrt="p.c"), wrt="p.k")(state, x).k == 18.0
    np.testing.assert_allclose(sdfgad.grad(spread, wrt="xs[1]")(x, 2 * x, scale=3.0), 12 * x)
    assert sdfgad.grad(spread, wrt="named['scale']")(x, 2 * x, scale=3.0).scale == 12.0
    for wrong in ("p.z", ("p", "p.c"), ("xs[0]",)):
        with pytest.raises(sdfgad.UsageError, match="no argument of this name|twice"):
            sdfgad.grad(f, wrt=wrong)(state, x)
