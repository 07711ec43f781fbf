"""Loops over complex numbers, and arrays of them on the stack."""
from __future__ import annotations

import re

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpp import Frame, Writer
from sdfgad.codegen.cpu.text.statements import emit_block
from sdfgad.codegen.program import compile_program
from sdfgad.ir import algebra
from sdfgad.ir.expr import call
from sdfgad.ir.program import Block, Loop
from tests.codegen.build_programs import C16, F8, agree, load, mapped, mul, num, program, span, store

N = 12


def text(body: Block, arrays: dict) -> str:
    writer = Writer()
    emit_block(writer, Frame(program(body, arrays).arrays), body)
    return writer.text


def test_loops_over_complex_numbers_stay_apart_from_each_other() -> None:
    step = mapped([span("i", N)], store("z", ("i",), mul(load("z", "i", dtype=C16), load("z", "i", dtype=C16))))
    assert "SG_IN_TURN" in text((Loop(span("k", 3), (step,)),), {"z": ((N,), C16)})
    plain = mapped([span("i", N)], store("x", ("i",), mul(load("x", "i"), load("x", "i"))))
    assert "SG_IN_TURN" not in text((Loop(span("k", 3), (plain,)),), {"x": ((N,), F8)})


def test_private_arrays_of_complex_numbers_are_not_cleared() -> None:
    own = (mapped([span("i", N)], store("t", ("i",), mul(load("z", "k", "i", dtype=C16), num(2j, C16)))),
           mapped([span("i", N)], store("z", ("k", "i"), load("t", "i", dtype=C16))))
    body = (Loop(span("k", 4), own, parallel=True, private=("t",)),)
    made = program(body, {"z": ((4, N), C16)}, {"t": ((N,), C16)})
    writer = Writer()
    emit_block(writer, Frame(made.arrays), body)
    assert re.search(r"double p_t_parts\[24\];", writer.text) and "complex128 p_t[" not in writer.text
    agree(made)


EDGES = [0.0, -0.0, 1.0, -2.5, 1e300, np.inf, -np.inf, np.nan, 1e-300, 7e-310, 709.5, -745.0, 1.7e308]
NUMBERS = np.array([complex(a, b) for a in EDGES for b in EDGES])


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """Both parts agree; where one is infinite in NumPy, its sign may be open."""
    for got, wanted in ((found.real, expected.real), (found.imag, expected.imag)):
        np.testing.assert_allclose(np.where(np.isinf(wanted), np.abs(got), got), np.where(
            np.isinf(wanted), np.abs(wanted), wanted), rtol=1e-15, atol=1e-322)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt"])
def test_functions_without_branches_at_the_edges(name: str) -> None:
    """And around the circle of radius one, where a logarithm is small."""
    angles = np.linspace(0.0, 6.3, 300)
    z = np.concatenate([NUMBERS, np.exp(1j * angles) * (1.0 + 1e-9 * np.sin(99.0 * angles))])
    made = program([mapped([span("i", z.size)], store("y", ("i",), call(name, load("z", "i", dtype=C16))))],
                   {"z": (z.shape, C16), "y": (z.shape, C16)})
    y = np.empty_like(z)
    compile_program(made)({"z": z, "y": y})
    with np.errstate(all="ignore"):
        close(y, getattr(np, name)(z))


def test_quotients_at_the_edges() -> None:
    """By complex numbers, and by real ones."""
    a, b = (x.ravel().copy() for x in np.meshgrid(NUMBERS, NUMBERS))
    r = b.real.copy()
    arrays = {"a": (a.shape, C16), "b": (a.shape, C16), "r": (a.shape, F8), "y": (a.shape, C16), "x": (a.shape, C16)}
    i = [span("i", a.size)]
    above = load("a", "i", dtype=C16)
    by_real = algebra.cast(load("r", "i"), C16)
    made = program([mapped(i, store("y", ("i",), call("div", above, load("b", "i", dtype=C16), dtype=C16))),
                    mapped(i, store("x", ("i",), call("div", above, by_real, dtype=C16)))], arrays)
    y, x = np.empty_like(a), np.empty_like(a)
    compile_program(made)({"a": a, "b": b, "r": r, "y": y, "x": x})
    with np.errstate(all="ignore"):
        for found, expected in ((y, a / b), (x, a / r)):
            close(found, expected)
            for got, wanted in ((found.real, expected.real), (found.imag, expected.imag)):
                known = ~np.isnan(wanted)
                assert (np.signbit(got) == np.signbit(wanted))[known].all()  # of zeros: they tell the side of a cut


def beside_the_cut(z, r):
    return np.stack([np.sqrt(-z), np.sqrt(-2.0 * z), np.sqrt(z * r), np.sqrt(z / r), np.sqrt(r.astype(complex) * r),
                     np.sqrt(-(r + 0j)), np.sqrt((r + 0j) / (-2.0 + 0j)), np.log(np.conj(z) * -1.0),
                     np.sqrt(1j * r * 1j)])


def test_functions_know_the_side_of_a_branch_cut() -> None:
    """That is, the sign of an imaginary part of zero."""
    z, r = (x.ravel().copy() for x in np.meshgrid([1 + 0j, -1 + 0j, complex(1, -0.0), complex(-1, -0.0)], [2.0, -2.0]))
    np.testing.assert_allclose(sdfgad.forward(beside_the_cut)(z, r), beside_the_cut(z, r), rtol=1e-15, atol=1e-15)


def in_order(z, w):
    """Whatever asks which complex number is larger: as NumPy, by real parts, then by imaginary parts."""
    return (z < w, z <= w, z > w, z >= w, np.maximum(z, w), np.minimum(z, w), np.fmax(z, w), np.fmin(z, w), np.sort(z),
            np.argmax(z), np.argmin(w), np.where(z > 0.0, z, w))


@pytest.mark.parametrize("dtype", ["c16", "c8"])
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_complex_numbers_are_in_the_order_of_numpy(dtype: str, target: str) -> None:
    parts = [0.0, 1.0, -2.5, np.inf, np.nan]
    z, w = (a.ravel().astype(dtype) for a in np.meshgrid(*[[complex(a, b) for a in parts for b in parts]] * 2))
    for z, w in ((z[~np.isnan(z + w)], w[~np.isnan(z + w)]), (z, w)):
        with sdfgad.config(target=target):
            for found, expected in zip(sdfgad.forward(in_order)(z, w), in_order(z, w), strict=True):
                np.testing.assert_array_equal(found, expected)


def larger_ones(z, w):
    return np.sum(np.abs(np.maximum(z, 1.1 * w)) ** 2 + np.abs(np.sort(z) * w) ** 2 + np.where(z < w, z, w).real)


def test_gradients_of_what_complex_numbers_are_in_order_for() -> None:
    rng = np.random.default_rng(0)
    z, w = (rng.normal(size=7) + 1j * rng.normal(size=7) for _ in range(2))
    sdfgad.check_grads(larger_ones, z, w)
