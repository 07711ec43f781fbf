"""Scalar functions in vector loops: within 4 units in the last place, and right at infinities, NaN and zero."""
from __future__ import annotations

import math
import platform
import re

import numpy as np
import pytest

from sdfgad.codegen.program import compile_program
from sdfgad.ir.expr import call
from tests.codegen.build_programs import load, mapped, program, span, store

MOST_ULP = 4
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0)
RANGES = {"exp": (-100.0, 88.0), "log": (1e-30, 1e30), "sin": (-100.0, 100.0), "cos": (-100.0, 100.0),
          "tanh": (-20.0, 20.0), "expm1": (-20.0, 80.0), "log1p": (-0.99, 1e20),
          "arctan": (-1e6, 1e6), "sinh": (-80.0, 80.0), "cosh": (-80.0, 80.0),
          "erf": (-6.0, 6.0), "erfc": (-6.0, 26.0)}
WIDER = {"float32": np.dtype("f8"), "float64": np.dtype("longdouble")}


def points(low: float, high: float, dtype: np.dtype) -> np.ndarray:
    """Evenly spaced numbers, tiny ones, the smallest ones and those that stand for something."""
    tiny = np.finfo(dtype).tiny * np.array([1.0, 0.5, -0.5, 4.0])
    even = np.linspace(low, high, 4001)
    small = np.geomspace(1e-12, 1.0, 400)
    return np.concatenate([even, small, tiny, SPECIAL]).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(RANGES))
def test_accuracy(name: str, dtype: str) -> None:
    kind = np.dtype(dtype)
    x = points(*RANGES[name], kind)
    made = program((mapped([span("i", x.size)], store("y", ("i",), call(name, load("x", "i", dtype=kind)))),),
                   {"x": (x.shape, kind), "y": (x.shape, kind)})
    y = np.empty_like(x)
    compile_program(made)({"x": x, "y": y})
    with np.errstate(all="ignore"):
        of_numbers = getattr(math, name) if name in ("erf", "erfc") else None  # those are within 1 ulp
        exact = np.vectorize(of_numbers)(x) if of_numbers else getattr(np, name)(x.astype(WIDER[dtype]))
        nearest = exact.astype(kind)
    usual = np.isfinite(nearest) & (np.abs(nearest) >= np.finfo(kind).tiny)
    error = np.abs(y[usual].astype(exact.dtype) - exact[usual]) / np.spacing(np.abs(nearest[usual])).astype(exact.dtype)
    assert error.max() <= MOST_ULP
    odd = ~usual
    np.testing.assert_allclose(y[odd], nearest[odd], rtol=0, atol=np.finfo(kind).tiny)


def moduli(z: np.ndarray) -> np.ndarray:
    """The compiled absolute value of every element."""
    out = np.empty(z.shape, z.real.dtype)
    value = call("abs", load("z", "i", dtype=z.dtype), dtype=out.dtype)
    made = program((mapped([span("i", z.size)], store("y", ("i",), value)),),
                   {"z": (z.shape, z.dtype), "y": (out.shape, out.dtype)})
    compile_program(made)({"z": z, "y": out})
    return out


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_modulus_of_any_magnitude(dtype: str) -> None:
    rng = np.random.default_rng(0)
    kind = np.finfo(dtype)
    last = float(np.log10(kind.max))
    parts = 10.0 ** rng.uniform(np.log10(kind.tiny) - 15 * kind.resolution, last - 0.2, (2, 4003))
    near = parts[0] * 10.0 ** rng.uniform(-3.0, 0.0, 4003)
    real, imag = np.concatenate([parts[0], parts[0]]), np.concatenate([parts[1], -near])
    z = (real + 1j * imag).astype(dtype)
    wide = WIDER[z.real.dtype.name]
    exact = np.hypot(z.real.astype(wide), z.imag.astype(wide))
    error = np.abs(moduli(z).astype(wide) - exact) / np.spacing(exact.astype(z.real.dtype)).astype(wide)
    assert error.max() <= 1.0


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_modulus_where_hypot_is_special(dtype: str) -> None:
    kind = np.finfo(dtype)
    edges = (0.0, -0.0, 1.0, -3.0, kind.max, kind.tiny, float(kind.smallest_subnormal), np.inf, -np.inf, np.nan)
    z = np.array([complex(a, b) for a in edges for b in edges], dtype)
    with np.errstate(all="ignore"):
        want = np.hypot(z.real, z.imag)
    np.testing.assert_allclose(moduli(z), want, rtol=2 * kind.eps, atol=float(kind.smallest_subnormal))


def test_modulus_has_the_same_bits_next_to_a_product_of_its_parts() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=4003) + 1j * rng.normal(size=4003)
    element = load("z", "i", dtype=z.dtype)
    modulus, square = call("abs", element, dtype=np.dtype("f8")), call("mul", element, element)
    both = call("mul", square, call("cast", modulus, dtype=z.dtype))
    below = call("lt", modulus, load("h", "i"), dtype=np.dtype(bool))
    chosen = call("select", below, both, square, dtype=z.dtype)
    made = program((mapped([span("i", z.size)], store("y", ("i",), chosen)),),
                   {"z": (z.shape, z.dtype), "h": (z.shape, np.dtype("f8")), "y": (z.shape, z.dtype)})
    y = np.empty_like(z)
    # Compared with the modulus itself none is less, with its upper neighbour each is.
    compile_program(made)({"z": z, "h": moduli(z), "y": y})
    np.testing.assert_allclose(y, z * z, rtol=1e-13)
    compile_program(made)({"z": z, "h": np.nextafter(moduli(z), np.inf), "y": y})
    np.testing.assert_allclose(y, z * z * np.abs(z), rtol=1e-13)


VECTOR_FORMS = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"


@pytest.mark.skipif(not VECTOR_FORMS, reason="the C library has no vector functions")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sine_and_cosine_of_one_argument_are_vectors(dtype: str) -> None:
    kind = np.dtype(dtype)
    x = load("x", "i", dtype=kind)
    both = call("mul", call("sin", x), call("cos", x))
    made = program((mapped([span("i", 4003)], store("y", ("i",), both)),),
                   {"x": ((4003,), kind), "y": ((4003,), kind)})
    code = next(compile_program(made).folder.glob("*.so")).read_bytes()
    suffix = b"f" if dtype == "float32" else b""
    for name in (b"sin", b"cos"):
        assert re.search(rb"_ZGV\w+v_" + name + suffix + rb"\0", code)
