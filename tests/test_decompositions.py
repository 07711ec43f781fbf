"""Eigenvalues, singular values, QR and least squares: values as NumPy's, gradients against differences."""
from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.calls.measure import promised_bytes
from sdfgad.ir import interpret
from sdfgad.verbs.pipeline import Request, derive
from tests.support.interpreted import interpreted
from tests.support.oracle import numerical_gradient


def gradient_of(function, *args) -> list[np.ndarray]:
    """The gradient with respect to every argument, as the reference interpreter runs it."""
    bound = bind(function, args, {})
    derivative = sdfgad.grad(function, wrt=tuple(bound.leaves))._derivative(bound, False)
    memory: dict[str, np.ndarray] = {}
    with np.errstate(all="ignore"):
        given = {derivative.parsed.traced[n]: np.array(a) for n, a in bound.leaves.items()}
        interpret.run(derivative.program, given, memory)
    names = (derivative.made.gradients[derivative.parsed.traced[n]] for n in bound.leaves)
    return [np.zeros_like(a) if n is None else memory[n] for n, a in zip(names, args, strict=True)]


def drawn(*shape: int, kind: str = "f8") -> np.ndarray:
    rng = np.random.default_rng(shape[-1])
    a = rng.normal(size=shape)
    return (a + 1j * rng.normal(size=shape) if np.dtype(kind).kind == "c" else a).astype(kind)


def damped(a, x):
    w, v = np.linalg.eigh(a)
    return np.sum(np.real(np.conj(x) * (v @ (np.exp(-0.3 * w) * (np.conj(v.T) @ x))))) + w[0] ** 3


def upper(a):
    return np.sum(np.linalg.eigvalsh(a, UPLO="U") ** 3)


def ground(a):
    w, v = np.linalg.eigh(a + a.T)
    return np.sum(v[:, 0] ** 4) + w[-1]


def polar(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.sum((u @ vh) ** 3) + np.sum((u * np.log(s)) @ vh) + u[0, 0] * vh[0, 1]


def norms(a):
    return np.linalg.norm(a, 2) + np.linalg.norm(a, "nuc") * np.linalg.cond(a)


def spectrum(a):
    w = np.linalg.eigvals(a)
    return np.sum(np.abs(w) ** 3) + np.real(w[0] * w[1])


def vectors(a):
    w, v = np.linalg.eig(a)
    return np.sum(np.abs(v) ** 3 * np.arange(1.0, len(a) + 1)) + np.sum(np.abs(v.T @ v) ** 2) + np.sum(np.real(w * w))


def factors(a):
    q, r = np.linalg.qr(a)
    return np.sum(np.real(q) ** 3) + np.sum(np.abs(r + 0.1) ** 3) + np.sum(np.imag(q) ** 3) + np.sum(np.imag(r) ** 3)


def shortest(a, b):
    x, missed, rank, s = np.linalg.lstsq(a, b, rcond=None)
    return np.sum(x ** 3) + np.sum(missed) + rank * s[0]


def pseudo(a):
    return np.sum(np.abs(np.linalg.pinv(a)) ** 3)


def stacked(a):
    w, v = np.linalg.eigh(a)
    s = np.linalg.svd(a, compute_uv=False)
    return np.sum(w ** 3) + np.sum(v[:, :, 0] ** 4) + np.sum(s ** 3) + np.sum(np.linalg.pinv(a) ** 2)


def one_by_one(a):
    u, s, v = np.linalg.svd(a, full_matrices=False)
    q, r = np.linalg.qr(a)
    w = np.linalg.eigvals(a[..., :2, :])
    return (np.sum(((u * s[:, None]) @ v) ** 3) + np.sum(u ** 4) + np.sum(q ** 3) + np.sum(r ** 2) +
            np.sum(np.abs(w) ** 3) + np.sum(np.linalg.eigvalsh(a[..., :2, :], "U") ** 3))


def truncated(a, b):
    """Singular values that are dropped and not zero: the rank of what is inverted is that of another matrix."""
    return (np.sum(np.linalg.pinv(a, 0.5) ** 3) + np.sum(np.linalg.lstsq(a, b, rcond=0.5)[0] ** 3) +
            np.sum(np.linalg.pinv(a @ a.T, rcond=1e-8) ** 2) + np.sum(np.linalg.pinv(np.stack((a, 2 * a)), rtol=0.5)))


def cut_off(a):
    return np.sum(np.abs(np.linalg.pinv(a, 0.7) + 0.1) ** 3)


CASES = [
    (damped, (drawn(4, 4), drawn(4))), (damped, (drawn(4, 4, kind="c16"), drawn(4, kind="c16"))),
    (upper, (drawn(3, 3),)), (upper, (drawn(4, 4, kind="c16"),)), (ground, (drawn(5, 5),)), (ground, (drawn(1, 1),)),
    (polar, (drawn(5, 3),)), (polar, (drawn(3, 5),)), (polar, (drawn(3, 3),)),
    (norms, (drawn(4, 3),)), (norms, (drawn(3, 3, kind="c16"),)),
    (spectrum, (drawn(4, 4),)), (spectrum, (drawn(3, 3, kind="c16"),)),
    (vectors, (drawn(5, 5),)), (vectors, (drawn(4, 4, kind="c16"),)), (vectors, (np.diag([1.0, 2.0]) + 0.1,)),
    (factors, (drawn(5, 3),)), (factors, (drawn(3, 3),)), (factors, (drawn(2, 4),)),
    (factors, (drawn(4, 3, kind="c16"),)), (shortest, (drawn(5, 3), drawn(5))), (shortest, (drawn(2, 4), drawn(2, 3))),
    (pseudo, (drawn(4, 2),)), (pseudo, (drawn(2, 4, kind="c16"),)), (stacked, (drawn(2, 3, 3),)),
    (one_by_one, (drawn(2, 3, 2),)), (truncated, (drawn(4, 3), drawn(4))),
    (cut_off, (drawn(3, 4, kind="c16"),))]


@pytest.mark.parametrize(("function", "args"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_gradients_agree_with_differences(function, args):
    found = gradient_of(function, *args)
    rng = np.random.default_rng(0)
    moves = [rng.normal(size=a.shape) + (1j * rng.normal(size=a.shape) if a.dtype.kind == "c" else 0) for a in args]
    h = 1e-5
    ahead, behind = (function(*(a + s * h * m for a, m in zip(args, moves, strict=True))) for s in (1, -1))
    slope = sum(float(np.real(np.vdot(m, g))) for m, g in zip(moves, found, strict=True))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", ["f4", "f8", "c8", "c16"])
def test_values_of_compiled_code(kind):
    def everything(a, b):
        w, v = np.linalg.eigh(a)
        q, r = np.linalg.qr(b)
        u, e = np.linalg.eig(a[:5, :5])
        general = u, e / e[0] * np.abs(e[0]), np.linalg.eigvals(a)
        return *general, w, np.abs(v), np.abs(q), np.abs(r), np.linalg.svd(b.T, compute_uv=False), np.linalg.pinv(b)

    given = drawn(6, 6, kind=kind), drawn(7, 5, kind=kind)
    tolerance = 2e-4 if kind in ("f4", "c8") else 1e-10
    for found, expected in zip(sdfgad.forward(everything)(*given), everything(*given), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_a_compiled_gradient_under_a_limit():
    def stepped(a, x):
        for k in range(2):
            w, v = np.linalg.eigh(a @ a.T + k * np.eye(5))
            x = v @ ((v.T @ x) / w)
            q, r = np.linalg.qr(a + np.outer(x, x))
            a = a + 0.1 * q * np.diag(r)
        return np.sum(a ** 2) + np.sum(x ** 2)

    args = drawn(5, 5), drawn(5)
    sdfgad.check_grads(stepped, *args)
    least = min(p.predicted.peak_bytes for p in sdfgad.pareto(stepped, *args, wrt="a"))
    expected = sdfgad.grad(stepped, wrt="a")(*args)
    np.testing.assert_allclose(sdfgad.grad(stepped, wrt="a", memory_limit=least)(*args), expected, rtol=1e-10)


def test_products_with_the_hessian_of_eigenvectors():
    a, one = (drawn(3, 3) + k * np.arange(9.0).reshape(3, 3) for k in range(2))
    along = sdfgad.hvp(vectors, (a,), (one,))
    h = 1e-6
    ahead, behind = (gradient_of(vectors, a + s * h * one)[0] for s in (1, -1))
    np.testing.assert_allclose(along, (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-6 * np.max(np.abs(along)))


def test_a_matrix_without_enough_eigenvectors_has_values_and_no_gradient():
    (found,) = gradient_of(spectrum, np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert not np.isfinite(found).all()


def twice_the_same(seed: int = 1) -> np.ndarray:
    """A symmetric matrix with two eigenvalues that are equal but for rounding, and a third."""
    q = np.linalg.qr(drawn(3, 3) + seed)[0]
    a = q @ np.diag([1.0, 1.0, 2.0]) @ q.T
    return (a + a.T) / 2


def test_eigenvalues_alone_may_be_equal():
    (found,) = gradient_of(lambda a: np.sum(np.linalg.eigh(a)[0]), np.eye(3))
    np.testing.assert_array_equal(found, np.eye(3))


def test_a_vector_with_an_eigenvalue_of_its_own_has_a_derivative_beside_equal_ones():
    (found,) = gradient_of(lambda a: np.sum(np.linalg.eigh(a)[1][:, 2] ** 4), twice_the_same())
    assert np.isfinite(found).all()
    assert np.abs(found).max() > 0.01


@pytest.mark.parametrize("a", [np.eye(3), twice_the_same()], ids=["equal", "rounded"])
def test_no_number_for_vectors_of_equal_eigenvalues(a):
    def exponential(a):
        w, v = np.linalg.eigh(a)
        return np.sum((v * np.exp(w)) @ v.T * np.arange(9.0).reshape(3, 3))

    (found,) = gradient_of(exponential, a)
    assert not np.isfinite(found).all()


@pytest.mark.parametrize("function", [lambda a: np.linalg.svd(a), lambda a: np.linalg.qr(a + 0j, mode="complete"),
                                      lambda a: np.linalg.eigh(a), lambda a: np.linalg.eig(a)],
                         ids=["svd", "qr", "eigh", "eig"])
def test_refused(function):
    with pytest.raises(sdfgad.UnsupportedError):
        sdfgad.forward(function)(drawn(4, 3))


def complete_triangles(a):
    _, r = np.linalg.qr(a, mode="complete")
    for _ in range(2):
        _, s = scipy.linalg.qr(np.vstack([a, 2.0 * a]))
    return np.sum(r * r[:, ::-1]) + np.sum(s[0] * s[-1]) + np.sum(scipy.linalg.qr(a, mode="r")[0][1] ** 3) + len(r)


def test_the_triangle_beside_a_square_factor():
    a = drawn(4, 3)
    with interpreted():
        value, found = sdfgad.value_and_grad(complete_triangles)(a)
    np.testing.assert_allclose(value, complete_triangles(a), rtol=1e-12)
    np.testing.assert_allclose(found, numerical_gradient(complete_triangles, (a,)), rtol=1e-7, atol=1e-8)


def square_factors(a):
    q, _ = np.linalg.qr(a, mode="complete")
    full = scipy.linalg.qr(a[:, :2])[0]
    return np.sum(q * np.cos(np.arange(16.0).reshape(4, 4))) + np.sum(full[:, 2:] ** 3 * np.arange(4.0)[:, None])


@pytest.mark.parametrize("a", [drawn(4, 3), np.float32(drawn(4, 3)), np.eye(4, 3) + 0.1 * drawn(4, 3).round(1)])
def test_square_factors(a):
    """Those of LAPACK, whose reflections have a derivative."""
    with interpreted():
        value, found = sdfgad.value_and_grad(square_factors)(a)
    loose = 1e-4 if a.dtype == np.float32 else 1e-11
    np.testing.assert_allclose(value, square_factors(a), rtol=loose)
    wanted = numerical_gradient(square_factors, (np.float64(a),))
    np.testing.assert_allclose(found, wanted, rtol=loose * 1e3, atol=loose * 1e2)


def test_square_factors_of_what_is_a_triangle():
    """LAPACK leaves such columns alone: what does not depend on the choice of the last columns has its derivative."""
    def beside(a):
        q, _ = np.linalg.qr(a, mode="complete")
        return np.sum((q[:, 2:] @ q[:, 2:].T) * np.arange(16.0).reshape(4, 4))

    a = np.array([[2.0, 1.0], [0.0, -3.0], [0.0, 0.0], [0.0, 0.0]])
    with interpreted():
        q, found = sdfgad.forward(lambda a: np.linalg.qr(a, mode="complete")[0])(a), sdfgad.grad(beside)(a)
    np.testing.assert_allclose(q, np.linalg.qr(a, mode="complete")[0], atol=1e-15)
    np.testing.assert_allclose(found, numerical_gradient(beside, (a,)), atol=1e-7)


def test_numbers_that_are_not_finite_have_no_eigenvalues():
    with pytest.raises(np.linalg.LinAlgError):
        sdfgad.forward(upper)(np.full((3, 3), np.nan))


def left_vectors(a):
    return np.sum(np.linalg.svd(a, full_matrices=False)[0] ** 3)


@pytest.mark.parametrize(("function", "a"), [
    (ground, drawn(20, 20)), (left_vectors, drawn(40, 9)), (factors, drawn(40, 9)), (pseudo, drawn(6, 20, kind="c16")),
    (vectors, drawn(20, 20))], ids=["eigh", "svd", "qr", "pinv", "eig"])
def test_what_lapack_holds_is_promised(function, a):
    bound = bind(function, (a,), {})
    made = derive(function, bound, Request(("a",), reduce="sum"))
    assert made.measured(bound).peak_bytes <= promised_bytes(made.plan.predicted, None)
