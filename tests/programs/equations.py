"""Equations around random programs: by implicit functions, and by what they stand for, iteration by iteration."""
from __future__ import annotations

import numpy as np

SOLVERS = """
import sdfgad

def conjugate(matvec, b):
    x, r = 0.0 * b, b.copy()
    p, rr = b.copy(), b @ b
    while rr > 1e-30 * (b @ b):
        q = matvec(p)
        a = rr / (p @ q)
        x, r = x + a * p, r - a * q
        p, rr = r + (r @ r) / rr * p, r @ r
    return x

def richardson(matvec, b):
    x, r = 0.0 * b, b
    while np.max(np.abs(r)) > 1e-15 * np.max(np.abs(b)):
        x = x + r
        r = b - matvec(x)
    return x

def newton(f, x):
    r = f(x)
    while np.max(np.abs(r)) > 1e-14:
        x = x - 0.9 * r
        r = f(x)
    return x

def repeated(step, x):
    for _ in range(120):
        x = step(x)
    return x
"""
PAIRS = (
    ("sdfgad.linear_solve(lambda v: v + 0.1 * (A @ (v @ A)), {b}, conjugate, symmetric=True)",
     "np.linalg.solve(np.eye({b}.size) + 0.1 * (A @ A.T), {b})"),
    ("sdfgad.linear_solve(lambda v: v * (1.0 + 0.2 * y * y) + 0.1 * (A @ v), {b}, richardson)",
     "np.linalg.solve(np.diag(1.0 + 0.2 * y * y) + 0.1 * A, {b})"),
    ("sdfgad.root(lambda q: q + 0.3 * np.sin(q) * y - {b}, {b}, newton)",
     "repeated(lambda q: {b} - 0.3 * np.sin(q) * y, {b})"),
    ("sdfgad.fixed_point(lambda z: 0.4 * np.tanh({b} + 0.2 * (A @ z)), np.zeros({b}.size), 1e-15)",
     "repeated(lambda z: 0.4 * np.tanh({b} + 0.2 * (A @ z)), np.zeros({b}.size))"))
"""Each with what it is the solution of."""
PLACES = (
    "    x = {value}\n",
    "    for k in range(2):\n        x = {value}\n",
    "    if c > 0.5:\n        x = {value}\n    else:\n        x = x * 1.0\n")


def with_equation(text: str, names: str, seed: int) -> tuple[str, str]:
    """Two modules with a function `around`, one by an implicit function and one without."""
    rng = np.random.default_rng(seed)
    pair, place = PAIRS[rng.integers(len(PAIRS))], PLACES[rng.integers(len(PLACES))]
    data = ("x", "x * y", "np.sin(x) + c")[rng.integers(3)]

    def module(form: str) -> str:
        lines = place.format(value=form.format(b=f"({data})"))
        return f"{text}\n{SOLVERS}\ndef around({names}):\n{lines}    return program({names}) + np.sum(x * x)\n"

    return module(pair[0]), module(pair[1])
