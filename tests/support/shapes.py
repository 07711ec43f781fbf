"""Loop nests of the textbooks as hand-written programs, used by tests of analyses and of the reverse sweep."""
from __future__ import annotations

from sdfgad.ir.index import ix
from sdfgad.ir.program import Program
from tests.support.build import at, each, loop, one, program, put, span, total

N = 4


def factorisation(n: int = N) -> Program:
    """LU in place, element by element."""
    body = loop(
        span("i", 0, n),
        loop(span("j", 0, "i"),
             loop(span("k", 0, "j"), one("A", ("i", "j"), at("A", "i", "j") - at("A", "i", "k") * at("A", "k", "j"))),
             one("A", ("i", "j"), at("A", "i", "j") / at("A", "j", "j"))),
        loop(span("j2", "i", n),
             loop(span("k2", 0, "i"),
                  one("A", ("i", "j2"), at("A", "i", "j2") - at("A", "i", "k2") * at("A", "k2", "j2")))))
    return program({"A": (n, n)}, [body, total("A", (n, n))])


def cholesky(n: int = N) -> Program:
    """The lower factor in place, element by element."""
    body = loop(
        span("i", 0, n),
        loop(span("j", 0, "i"),
             loop(span("k", 0, "j"), one("A", ("i", "j"), at("A", "i", "j") - at("A", "i", "k") * at("A", "j", "k"))),
             one("A", ("i", "j"), at("A", "i", "j") / at("A", "j", "j"))),
        loop(span("k2", 0, "i"), one("A", ("i", "i"), at("A", "i", "i") - at("A", "i", "k2") * at("A", "i", "k2"))),
        one("A", ("i", "i"), at("A", "i", "i").apply("sqrt")))
    return program({"A": (n, n)}, [body, total("A", (n, n))])


def triangular_solve(n: int = N) -> Program:
    """Forward substitution."""
    body = loop(span("i", 0, n), one("x", ("i",), at("b", "i")),
                loop(span("j", 0, "i"), one("x", ("i",), at("x", "i") - at("L", "i", "j") * at("x", "j"))),
                one("x", ("i",), at("x", "i") / at("L", "i", "i")))
    return program({"L": (n, n), "b": (n,)}, [body, total("x", (n,))], x=(n,))


def stencil(n: int = N + 2, steps: int = 3) -> Program:
    """A nonlinear stencil in place through a temporary."""
    i = ix("i")
    body = loop(span("t", 0, steps),
                each(span("i", 1, n - 1), put("h", (i,), at("x", i) + 0.1 * at("x", i - 1) * at("x", i + 1))),
                each(span("j", 1, n - 1), put("x", ("j",), at("h", "j"))))
    return program({"x": (n,)}, [body, total("x", (n,))], h=(n,))


def sweep(n: int = N + 2, steps: int = 2) -> Program:
    """Gauss and Seidel: reads what it has just written."""
    i = ix("i")
    body = loop(span("t", 0, steps),
                loop(span("i", 1, n - 1), one("x", (i,), at("x", i) + 0.1 * at("x", i - 1) * at("x", i + 1))))
    return program({"x": (n,)}, [body, total("x", (n,))])


def backwards(n: int = N + 2) -> Program:
    """A recurrence from the end, in steps of two."""
    i = ix("i")
    body = loop(span("i", n - 2, 0, -2), one("x", (i,), at("x", i) * at("x", i + 1) + at("x", i - 1)))
    return program({"x": (n,)}, [body, total("x", (n,))])


def triangle(n: int = N) -> Program:
    """Columns of the upper triangle, updated from the diagonal outwards."""
    body = loop(span("i", 0, n),
                each(span("j", "i", n), put("A", ("i", "j"), at("A", "i", "j") * at("A", "i", "j"))),
                loop(span("k", ix("i") - 1, -1, -1), one("A", ("k", "i"), at("A", "k", "i") * at("A", "i", "i"))))
    return program({"A": (n, n)}, [body, total("A", (n, n))])


NESTS = {f.__name__: f for f in (factorisation, cholesky, triangular_solve, stencil, sweep, backwards, triangle)}
