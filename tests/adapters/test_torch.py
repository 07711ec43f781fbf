"""Functions as PyTorch takes them; tests that need PyTorch are left out without it."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[torch]'")


def layer(p, x, scale=1.0, n=1):
    """A container of arguments and one of results, with a number among them that is none."""
    h = np.tanh(x @ p["w"] + p["b"]) * scale
    for _ in range(n):
        h = np.sin(h)
    return {"out": h, "size": np.sum(p["w"] ** 2), "steps": n}


def product(z, w):
    return z * np.conj(w) + np.exp(0.3 * z), np.sum(np.abs(w) ** 2)


@pytest.fixture(scope="module")
def function():
    return sdfgad.as_torch(layer)


def numbers(*shape, dtype=torch.float64):
    made = torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape)))
    return made.requires_grad_()


def outputs(function):
    def called(w, b, x):
        found = function({"w": w, "b": b}, x, 0.5)
        return found["out"], found["size"]
    return called


def test_gradcheck_of_first_and_second_derivatives(function):
    given = numbers(3, 2), numbers(2), numbers(4, 3)
    assert torch.autograd.gradcheck(outputs(function), given, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(outputs(function), given, check_fwd_over_rev=True)


def test_gradcheck_of_complex_numbers():
    given = numbers(3, dtype=torch.complex128), numbers(4, dtype=torch.complex128)[1:].conj()
    function = sdfgad.as_torch(product)
    assert torch.autograd.gradcheck(function, given, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, given, check_fwd_over_rev=True)


def test_values_are_tensors_of_their_own(function):
    w, b, x = numbers(3, 2), numbers(2), numbers(4, 3)
    found = function({"w": w, "b": b}, x, scale=0.5, n=1)
    expected = layer({"w": w.detach().numpy(), "b": b.detach().numpy()}, x.detach().numpy(), 0.5)
    np.testing.assert_allclose(found["out"].detach(), expected["out"])
    assert found["size"].shape == () and found["steps"] == 1 and found["out"].requires_grad
    with torch.no_grad():
        assert not function({"w": w, "b": b}, x, 0.5)["out"].requires_grad


def test_a_step_of_training(function):
    """An optimiser of PyTorch, a layer of its own in front, and one gradient with respect to all of it."""
    torch.manual_seed(0)
    first, w, b = torch.nn.Linear(2, 3), torch.nn.Parameter(torch.randn(3, 2)), torch.nn.Parameter(torch.zeros(2))
    optimiser = torch.optim.Adam([*first.parameters(), w, b], lr=0.05)
    x = torch.randn(20, 2)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        loss = torch.mean((function({"w": w, "b": b}, first(x))["out"] - 0.5 * torch.sin(x)) ** 2)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.05 * losses[0]


def test_compiled_without_a_break(function):
    """Also with other numbers, which compilers would rather leave open."""
    def loss(w, b, x, scale, n):
        found = function({"w": torch.sin(w), "b": b}, x, scale, n)
        return 2.0 * found["out"].sum() + found["size"]

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    given = numbers(3, 2), numbers(2), numbers(4, 3)
    for scale, n in ((0.5, 1), (0.75, 1), (0.5, 2)):
        found, expected = compiled(*given, scale, n), loss(*given, scale, n)
        assert found.item() == expected.item()
        for a, c in zip(torch.autograd.grad(found, given), torch.autograd.grad(expected, given), strict=True):
            torch.testing.assert_close(a, c)


@pytest.mark.slow
def test_compiled_by_inductor(function):
    def loss(w, b, x):
        return (function({"w": w * 2, "b": b}, x, 0.5)["out"] ** 2).sum()

    given = numbers(3, 2), numbers(2), numbers(4, 3)
    compiled = torch.compile(loss, fullgraph=True)
    for a, c in zip(torch.autograd.grad(compiled(*given), given), torch.autograd.grad(loss(*given), given),
                    strict=True):
        torch.testing.assert_close(a, c)


def test_transforms_of_functions(function):
    b, x, w = numbers(2).detach(), numbers(4, 3).detach(), numbers(3, 2)

    def loss(w, x):
        return (function({"w": w, "b": b}, x, 0.5)["out"] ** 2).sum()

    by_element = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(w.detach(), x[:, None])
    torch.testing.assert_close(by_element.sum(0), torch.autograd.grad(loss(w, x), w)[0])
    hessian = torch.func.jacrev(torch.func.grad(loss))(w.detach(), x)
    torch.testing.assert_close(hessian, torch.autograd.functional.hessian(lambda w: loss(w, x), w))


def test_arguments_that_are_updated_and_results_that_are_arguments():
    def shifted(u):
        u[1:-1] += 0.5 * u[:-2]
        return u, u[::-1]

    u = torch.arange(4.0, requires_grad=True)
    first, last = sdfgad.as_torch(shifted)(u)
    assert u.tolist() == [0.0, 1.0, 2.0, 3.0] and first.tolist() == [0.0, 1.0, 2.5, 3.0] == last.tolist()[::-1]
    (first.sum() + 2.0 * last[0]).backward()
    assert u.grad.tolist() == [1.5, 1.5, 1.0, 3.0]
    inside = sdfgad.as_torch(shifted, output="u")(u)
    assert inside.tolist() == first.tolist()


def test_what_is_refused(function):
    square = sdfgad.as_torch(lambda x: np.sum(x * x * x), memory_limit="1MB")
    with pytest.raises(sdfgad.DtypeError, match="bfloat16, which NumPy has not"):
        square(torch.ones(3, dtype=torch.bfloat16))
    with pytest.raises(sdfgad.UnsupportedError, match="the device meta"):
        square(torch.ones(3, device="meta"))
    with pytest.raises(sdfgad.UnsupportedError, match="layout torch.sparse"):
        square(torch.eye(3).to_sparse())
    x = numbers(3)
    first, = torch.autograd.grad(square(x), x, create_graph=True)
    with pytest.raises(sdfgad.UsageError, match="memory_limit with a derivative of a gradient"):
        first.sum().backward()
    p = {"w": numbers(3, 2), "b": numbers(2)}
    first, = torch.autograd.grad(function(p, numbers(4, 3))["out"].sum(), p["b"], create_graph=True)
    second, = torch.autograd.grad(first.sum(), p["b"], create_graph=True)
    with pytest.raises(sdfgad.UnsupportedError, match="third derivative"):
        second.sum().backward()
    with pytest.raises(sdfgad.UsageError, match="as_torch of what sdfgad has made"):
        sdfgad.as_torch(sdfgad.hessian(layer))
