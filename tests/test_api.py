"""The public functions: what they take, what they refuse, what they leave alone."""
from __future__ import annotations

import gc
import warnings

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import DtypeError, OutputError, UnusedArgumentWarning, UsageError

X = np.array([0.3, 0.7, 1.1, 0.4])
Y = np.array([1.3, -0.2, 0.5, 0.9])


def product(x, y, scale=2.0, power=2):
    return scale * (x**power * y).sum()


def steps(x):
    x = x.copy()
    for _ in range(4):
        x[1:-1] = x[1:-1] + 0.1 * x[:-2] * x[2:]
    return (x * x).sum()


def relax(u, f):
    """In place, no return value."""
    for i in range(1, u.shape[0]):
        u[i] = u[i] * u[i - 1] + f[i]


def both(x, y):
    return x * y, np.sin(x) + y


def of_product(x=X, y=Y):
    return 4 * x * y, 2 * x**2


both_of = pytest.fixture(scope="module")(lambda: sdfgad.grad(product))


def test_the_gradient_of_every_array(both_of):
    found = both_of(X, Y)
    np.testing.assert_allclose(found.x, of_product()[0])
    np.testing.assert_allclose(found["y"], of_product()[1])


def test_gradients_are_named_numbered_and_unpacked(both_of):
    found = both_of(X, Y)
    gx, gy = found
    assert gx is found.x
    assert found[1] is gy
    assert found.keys() == ["x", "y"]
    assert len(found) == 2
    assert dict(found.items()).keys() == {"x", "y"}
    assert "x" in dir(found)
    assert repr(found).startswith("Gradients(x=")
    with pytest.raises(AttributeError, match="no gradient for 'z'; there are x, y"):
        found.z


def test_two_calls_in_a_row_are_equal(both_of):
    first, second = both_of(X, Y), both_of(X, Y)
    np.testing.assert_array_equal(first.x, second.x)
    assert first.x is not second.x


def test_results_outlive_later_calls(both_of):
    first = both_of(X, Y).x
    kept = first.copy()
    both_of(10 * X, Y)
    gc.collect()
    np.testing.assert_array_equal(first, kept)


def test_keyword_arguments_and_defaults(both_of):
    np.testing.assert_allclose(both_of(y=Y, x=X).x, of_product()[0])
    np.testing.assert_allclose(both_of(X, Y, scale=3.0).x, 1.5 * of_product()[0])
    np.testing.assert_allclose(both_of(X, Y, power=1).y, 2 * X)


def test_the_value_is_numpys():
    value, found = sdfgad.value_and_grad(product)(X, Y)
    assert value == pytest.approx(product(X, Y), rel=1e-14)
    np.testing.assert_allclose(found.x, of_product()[0])
    again, _ = sdfgad.grad(product).value_and_grad(X, Y)
    assert again == value


@pytest.mark.parametrize("wrt, names", [
    ("y", None), (1, None), (-3, None), (("y", "x"), ["y", "x"]), ((0, 1), ["x", "y"]), (["y"], ["y"]),
    (("x", "scale"), ["x", "scale"])], ids=str)
def test_names_and_positions(wrt, names):
    found = sdfgad.grad(product, wrt=wrt)(X, Y)
    if names is None:
        np.testing.assert_allclose(found, of_product()[1])
    else:
        assert found.keys() == names


def test_a_float_argument_has_a_number_for_a_gradient():
    found = sdfgad.grad(product, wrt="scale")(X, Y)
    assert np.ndim(found) == 0
    assert found == pytest.approx(product(X, Y) / 2)


@pytest.mark.parametrize("wrt, error, message", [
    ("z", UsageError, "no argument of this name"), (7, UsageError, "has 4 arguments"),
    (("x", "x"), UsageError, "twice"), ("power", DtypeError, "carries no gradient"), (("x", 0), UsageError, "twice")])
def test_a_wrong_choice_of_arguments_is_refused(wrt, error, message):
    with pytest.raises(error, match=message):
        sdfgad.grad(product, wrt=wrt)(X, Y)


def test_integers_carry_no_gradient():
    with pytest.raises(DtypeError, match="int64"):
        sdfgad.grad(product, wrt="x")(np.arange(4), Y)
    with pytest.raises(UsageError, match="name a scalar with wrt="):
        sdfgad.grad(lambda n: n * 2.0)(3)


@pytest.mark.parametrize("call, message", [
    (lambda g: g(X), "missing"), (lambda g: g(X, Y, 1.0, 2, 3), "too many"), (lambda g: g(X, Y, other=1), "other"),
    (lambda g: g(X, sdfgad.spec(4)), "a call needs data")])
def test_a_wrong_call_is_refused(both_of, call, message):
    with pytest.raises(UsageError, match=message):
        call(both_of)


@pytest.mark.parametrize("options, message", [
    ({"reduce": "mean"}, "reduce"), ({"device": "abacus"}, "device"), ({"plan": "all"}, "plan"),
    ({"memory_limit": "lots"}, "lots")])
def test_a_wrong_option_is_refused(options, message):
    with pytest.raises(UsageError, match=message):
        sdfgad.grad(product, **options)


def test_what_is_not_a_function_is_refused():
    with pytest.raises(UsageError, match="not a function"):
        sdfgad.grad(3)


def test_arguments_that_are_only_read_may_share_memory(both_of):
    data = np.arange(8.0)
    for x, y in ((data[:4], data[2:6]), (data[::2], data[1::2])):
        np.testing.assert_allclose(both_of(x, y).x, of_product(x, y)[0])


def test_layouts_that_are_not_contiguous():
    data = np.zeros((4, 6))
    data[:, 3] = X
    frozen = Y.copy()
    frozen.flags.writeable = False
    found = sdfgad.grad(product)(data[:, 3], frozen)
    np.testing.assert_allclose(found.x, of_product()[0])
    found = sdfgad.grad(product)(X[::-1], np.asfortranarray(Y))
    np.testing.assert_allclose(found.y, 2 * X[::-1] ** 2)


def test_a_fortran_ordered_and_a_misaligned_array():
    square = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    raw = np.zeros(6 * 8 + 1, np.uint8)
    shifted = raw[1:].view(np.float64).reshape(2, 3)
    shifted[:] = square
    for a in (square, shifted, square.T.copy().T):
        np.testing.assert_allclose(sdfgad.grad(lambda a: (a * a * a).sum())(a), 3 * square**2)


def test_a_read_only_argument_updated_in_place():
    u, f = X.copy(), Y.copy()
    u.flags.writeable = False
    np.testing.assert_array_equal(u, X)
    assert sdfgad.grad(relax, wrt="f", output="u", reduce="sum")(u, f).shape == (4,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_gradients_have_the_dtype_of_the_argument(dtype):
    found = sdfgad.grad(lambda x: np.sum(np.abs(x) ** 2))(X.astype(dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, 2 * X.astype(dtype), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::sdfgad.UnusedArgumentWarning")
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)], ids=str)
def test_arrays_without_elements(shape):
    value, found = sdfgad.value_and_grad(lambda x: (x * x).sum() + 1.0)(np.zeros(shape))
    assert value == 1.0
    assert found.shape == shape


def test_arrays_without_dimensions():
    found = sdfgad.grad(lambda x: x * x * x)(np.array(2.0))
    assert found == 12.0
    assert np.shape(found) == ()


def test_single_elements():
    np.testing.assert_allclose(sdfgad.grad(steps)(np.array([2.0])), [4.0])


def test_nan_goes_in_and_comes_out():
    data = np.array([np.nan, 1.0, np.inf, 2.0])
    value, found = sdfgad.value_and_grad(lambda x: (x * x).sum())(data)
    assert np.isnan(value)
    np.testing.assert_array_equal(found, [np.nan, 2.0, np.inf, 4.0])


def test_shapes_and_dtypes_are_compiled_for_as_they_come():
    g = sdfgad.grad(steps)
    for size in (3, 5, 4):
        assert g(np.ones(size)).shape == (size,)
    assert g(np.ones(3, np.float32)).dtype == np.float32


def test_several_numbers_need_a_reduction():
    with pytest.raises(OutputError, match='reduce="sum"'):
        sdfgad.grad(both)(X, Y)
    found = sdfgad.grad(both, reduce="sum")(X, Y)
    np.testing.assert_allclose(found.x, Y + np.cos(X))
    value, found = sdfgad.value_and_grad(both, output=1, reduce="sum")(X, Y)
    assert value == pytest.approx((np.sin(X) + Y).sum())
    np.testing.assert_allclose(found.y, np.ones(4))
    found = sdfgad.grad(both, output=(0, 1), reduce="sum")(X, Y)
    np.testing.assert_allclose(found.x, Y + np.cos(X))


@pytest.mark.parametrize("output", ["z", 2, -3, "x y"])
def test_an_output_that_is_not_there(output):
    with pytest.raises(OutputError, match="candidates"):
        sdfgad.grad(both, output=output, reduce="sum")(X, Y)


def test_nothing_is_returned():
    with pytest.raises(OutputError, match="nothing to differentiate.*\n.*output='u' .updated in place."):
        sdfgad.grad(relax)(X, Y)


def test_an_argument_updated_in_place_is_an_output():
    u = X.copy()
    value, found = sdfgad.value_and_grad(relax, output="u", reduce="sum")(u, Y)
    np.testing.assert_array_equal(u, X)
    expected = X.copy()
    relax(expected, Y)
    assert value == pytest.approx(expected.sum())
    h = 1e-6
    for name, k in (("u", 0), ("f", 1)):
        for i in range(4):
            ends = []
            for s in (h, -h):
                args = [X.copy(), Y.copy()]
                args[k][i] += s
                relax(*args)
                ends.append(args[0].sum())
            assert found[name][i] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-7)


def test_donated_arguments_may_be_overwritten():
    u, f = X.copy(), Y.copy()
    kept = sdfgad.grad(relax, output="u", reduce="sum")(u, f)
    given = sdfgad.grad(relax, output="u", reduce="sum", donate=("u",))(u, f)
    np.testing.assert_array_equal(given.u, kept.u)
    np.testing.assert_array_equal(given.f, kept.f)
    for verb in ("plan", "__call__", "pareto"):  # a name that nobody has would be given away by nobody
        with pytest.raises(UsageError, match="SG205.*no argument 'v'(.|\n)*arguments: u, f"):
            getattr(sdfgad.grad(relax, output="u", reduce="sum", donate=("u", "v")), verb)(u, f)


def test_an_argument_without_influence_is_warned_about():
    with pytest.warns(UnusedArgumentWarning, match="'y'"):
        found = sdfgad.grad(lambda x, y: (x * x).sum())(X, Y)
    np.testing.assert_array_equal(found.y, np.zeros(4))


def test_used_arguments_are_not_warned_about(both_of):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedArgumentWarning)
        both_of(X, Y)


def test_decorators():
    @sdfgad.grad
    def plain(x):
        """Squares."""
        return (x * x).sum()

    @sdfgad.grad(wrt="y")
    def chosen(x, y):
        return (x * y).sum()

    @sdfgad.value_and_grad
    def valued(x):
        return (x * x).sum()

    np.testing.assert_allclose(plain(X), 2 * X)
    assert (plain.__name__, plain.__doc__) == ("plain", "Squares.")
    assert plain.fn(X) == (X * X).sum()
    np.testing.assert_allclose(chosen(X, Y), X)
    assert valued(X)[0] == pytest.approx((X * X).sum())


def test_pullbacks_may_be_called_again_and_again():
    x = X.copy()
    out, pullback = sdfgad.vjp(both, x, Y)
    np.testing.assert_allclose(out[1], np.sin(X) + Y)
    x[:] = 0  # the pullback has its own copy
    for seed in (np.ones(4), np.arange(4.0)):
        found = pullback((seed, 2 * seed))
        np.testing.assert_allclose(found.x, seed * Y + 2 * seed * np.cos(X))
        np.testing.assert_allclose(pullback(seed, 2 * seed).y, seed * X + 2 * seed)
    with pytest.raises(OutputError, match="2 outputs, 1 seeds"):
        pullback(np.ones(4))
    with pytest.raises(OutputError, match="does not fit"):
        pullback(np.ones(3), np.ones(4))
    with pytest.raises(OutputError, match="does not fit"):
        pullback(1j * np.ones(4), np.ones(4))


def test_tangents():
    out, moved = sdfgad.jvp(both, (X, Y), (np.ones(4), None))
    np.testing.assert_allclose(out[0], X * Y)
    np.testing.assert_allclose(moved[0], Y)
    np.testing.assert_allclose(moved[1], np.cos(X))
    _, moved = sdfgad.jvp(both, (X, Y), {"y": np.arange(4.0)})
    np.testing.assert_allclose(moved[0], X * np.arange(4.0))
    _, repeated = sdfgad.jvp(both, (X, Y), {"y": np.arange(4.0)})
    np.testing.assert_array_equal(moved[0], repeated[0])


@pytest.mark.parametrize("tangents, message", [
    ((None, None), "no tangent"), ((np.ones(4),), "2 arguments, 1 tangents\n.*None for zero"),
    ((np.ones(3), None), "shape"), ({"z": np.ones(4)}, "'z'")])
def test_wrong_tangents_are_refused(tangents, message):
    with pytest.raises(UsageError, match=message):
        sdfgad.jvp(both, (X, Y), tangents)


def test_the_function_itself_compiled():
    u = X.copy()
    assert sdfgad.forward(steps)(u) == pytest.approx(steps(X), rel=1e-14)
    np.testing.assert_array_equal(u, X)


def test_the_function_itself_where_it_updates_its_arguments():
    """Arguments are left alone, so that a call has to say what it wants of a function that returns nothing."""
    def doubled(x, y, n):
        y[:] = 2.0 * x
        n += 1

    x, y, n = np.ones(3), np.zeros(3), np.zeros(3, dtype=int)
    for call in (sdfgad.forward(doubled), lambda *args: sdfgad.jvp(doubled, args, (x, None, None))):
        with pytest.raises(OutputError, match="returns nothing.*\n.*output='y'"):
            call(x, y, n)
    one, several = sdfgad.forward(doubled, output="y"), sdfgad.forward(doubled, output=("n", "y"))
    for k in (1.0, 2.0):
        np.testing.assert_array_equal(one(k * x, y, n), [2 * k] * 3)
        for found, wanted in zip(several(k * x, y, n), ([1] * 3, [2 * k] * 3), strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert not y.any() and not n.any()
    for verb in (sdfgad.grad, sdfgad.forward, sdfgad.vmap, lambda f: sdfgad.vjp(f, x, y, n),
                 lambda f: sdfgad.check_grads(f, x, y, n)):
        with pytest.raises(UsageError, match="forward.doubled, output=.*"):
            verb(one)
    with pytest.raises(UsageError, match="output= of a distributed function"):
        sdfgad.forward(doubled, output="y", distribute={"x": "block"}, comm=2)


def test_winners_are_found_however_the_compiler_rounds():
    """It may fuse a product with a sum in one of the two places where the same value is computed."""
    largest = sdfgad.grad(lambda x, y: np.max(np.exp(x) * y + y))
    for number in range(40):
        rng = np.random.default_rng(number)
        found = largest(rng.normal(size=40), rng.normal(size=40))
        assert np.count_nonzero(found.x) == np.count_nonzero(found.y) == 1


def test_stop_gradient_is_the_identity_and_a_barrier():
    def half(x):
        return (sdfgad.stop_gradient(x) * x).sum()

    assert half(X) == (X * X).sum()
    value, found = sdfgad.value_and_grad(half)(X)
    assert value == pytest.approx((X * X).sum())
    np.testing.assert_allclose(found, X)


def test_nested_containers_of_arrays():
    def net(layers, x):
        return np.tanh(layers[1] @ np.tanh(layers[0] @ x)).sum()

    first, second = np.arange(8.0).reshape(2, 4) / 9, np.arange(4.0).reshape(2, 2) / 5
    found = sdfgad.grad(net, wrt="layers")((first, second), X)
    assert [g.shape for g in found] == [(2, 4), (2, 2)]
