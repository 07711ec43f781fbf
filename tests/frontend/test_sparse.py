"""Products with sparse matrices from outside: values, derivatives, what changes between calls, what is refused."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check

sparse = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")

X = np.linspace(0.2, 1.4, 6)
Y = np.linspace(1.0, -0.5, 4)
FULL = np.where(np.arange(24).reshape(4, 6) % 3 == 1, np.sin(np.arange(24.0)).reshape(4, 6), 0.0)
FULL[2] = 0.0
CSR = sparse.csr_matrix(FULL)
TWICE = sparse.coo_matrix((np.array([1.0, 2.0, 4.0]), (np.array([1, 1, 3]), np.array([2, 2, 0]))), shape=(4, 6))
FORMS = [CSR, sparse.csc_matrix(FULL), sparse.coo_matrix(FULL), sparse.csr_array(FULL), TWICE]


@pytest.mark.parametrize("matrix", FORMS, ids=lambda m: type(m).__name__)
def test_products(matrix):
    def run(x, y, b):
        return (matrix @ x, matrix.T @ y, y @ matrix, x @ matrix.T, matrix @ b, b.T @ matrix.T, matrix.dot(x),
                matrix.T.dot(y), matrix.T.T @ x, -matrix @ x, (-matrix).T @ y, y @ -matrix, -(-matrix.T) @ y)

    check(run, X, Y, np.outer(X, Y))


@pytest.mark.parametrize("matrix", FORMS, ids=lambda m: type(m).__name__)
def test_derivatives(matrix):
    def run(x, b):
        for _ in range(3):
            x = np.tanh(matrix.T @ (matrix @ x) + x)
        return np.sum(x * x) + np.sum(np.sin(matrix @ b)) + np.sum((b.T @ matrix.T) ** 2)

    sdfgad.check_grads(run, X.copy(), np.outer(X, Y))


def test_a_matrix_among_the_arguments():
    def run(a, x):
        return np.sum((a @ x) ** 2)

    gradient = sdfgad.grad(run, wrt="x")
    for matrix in (CSR, 2 * CSR, sparse.csr_matrix(FULL[:3])):
        full = matrix.toarray()
        np.testing.assert_allclose(gradient(matrix, X), 2 * full.T @ (full @ X), rtol=1e-12, atol=1e-14)


def test_a_matrix_that_changes_between_calls():
    matrix = CSR.copy()
    gradient = sdfgad.grad(lambda x: np.sum((matrix @ x) ** 2))

    def right():
        full = matrix.toarray()
        np.testing.assert_allclose(gradient(X), 2 * full.T @ (full @ X), rtol=1e-12, atol=1e-14)

    right()
    matrix.data[:] *= 3.0
    right()
    matrix.data = matrix.data + 1.0
    right()
    matrix.indices[0] = 5
    right()
    matrix.resize((3, 6))
    right()


def test_an_array_read_from_a_matrix_is_looked_up_again():
    matrix = CSR.copy()
    gradient = sdfgad.grad(lambda x: np.sum(x[0] * matrix.data))
    for _ in range(3):
        np.testing.assert_allclose(gradient(X)[0], matrix.data.sum(), rtol=1e-12)
        matrix.data = matrix.data + 1.0


@pytest.mark.parametrize(("program", "what"), [
    (lambda x: sparse.lil_matrix(FULL) @ x, "a call of"),
    (lambda x: WHOLE @ x, "a sparse matrix, csr of int64"),
    (lambda x: CSR @ CSR.T, "a product of two sparse matrices"),
    (lambda x: CSR @ x[:3], "a sparse matrix of shape"),
    (lambda x: np.sum(CSR), "a value of type csr_matrix"),
], ids=lambda v: v.replace(" ", "_") if isinstance(v, str) else "")
def test_refusals(program, what):
    with pytest.raises(UnsupportedError, match=what) as caught:
        parse(program, (X,))
    assert caught.value.line == program.__code__.co_firstlineno


DIAGONALS = sparse.diags([X, X[1:]], [0, 1])
WHOLE = sparse.csr_matrix(np.ones((4, 6), np.int64))


GRID = sparse.diags([-np.ones(29), np.linspace(3.0, 5.0, 30), -0.7 * np.ones(27)], [-1, 0, 3]).tocsc()
LONG = np.sin(np.arange(30.0))


def test_systems_factorised_outside():
    factors, solution = linalg.splu(GRID), linalg.factorized(GRID)

    def run(x, b):
        return (factors.solve(x), factors.solve(b), factors.solve(x, "T"), factors.solve(b, trans="T"), solution(x),
                linalg.spsolve(GRID, x))

    check(run, LONG.copy(), np.outer(LONG, Y), rtol=1e-11)
    turned = linalg.splu((GRID + 0.3j * GRID.T).tocsc())
    check(lambda x: [turned.solve(x, trans) for trans in "NTH"], LONG + 0.5j, rtol=1e-11)


def test_derivatives_of_systems():
    factors = linalg.splu(GRID)

    def run(x):
        for _ in range(2):
            x = np.tanh(factors.solve(x)) + factors.solve(x, "T")
        return np.sum(x * x) + np.sum(linalg.spsolve(GRID, x) ** 2)

    sdfgad.check_grads(run, LONG.copy())


def test_a_system_that_changes_between_calls():
    matrix = GRID.copy()
    run = sdfgad.forward(lambda x: linalg.spsolve(matrix, x))
    for _ in range(2):
        np.testing.assert_allclose(run(LONG), linalg.spsolve(matrix, LONG), rtol=1e-11)
        matrix.data[:] *= 1.5


@pytest.mark.parametrize("program", [
    lambda x: linalg.splu(GRID).solve(x),
    lambda x: linalg.spsolve(np.eye(30), x),
    lambda x: linalg.splu,
    lambda x: CSR.T,
], ids=lambda program: f"line {program.__code__.co_firstlineno}")
def test_systems_that_are_refused(program):
    with pytest.raises(UnsupportedError):
        parse(program, (LONG.copy(),))
