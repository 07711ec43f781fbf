"""Every scalar function in C++ gives what NumPy gives, special values included."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.program import compile_program
from sdfgad.ir.expr import Expr, call
from sdfgad.ir.primal import PRIMALS, UNFINISHED
from sdfgad.ir.special import OF_ORDERS, SHAPES
from sdfgad.ir.special import SPECIAL as SPECIAL_FUNCTIONS
from tests.codegen.build_programs import (
    B1,
    C8,
    C16,
    F4,
    F8,
    I8,
    add,
    compare,
    load,
    mapped,
    mul,
    num,
    program,
    span,
    store,
)

COMMON = "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh"
TESTS = "isnan isinf isfinite"
ORDER = "lt le gt ge eq ne"
REAL = (f"add sub mul div neg pow floordiv mod abs sign sqrt cbrt {COMMON} erf arctan2 hypot maximum minimum fmax fmin "
        f"copysign floor ceil trunc rint {ORDER} {TESTS} real imag conj stop_gradient").split() + [*SPECIAL_FUNCTIONS]
INTEGER = (f"add sub mul neg floordiv mod abs sign maximum minimum fmax fmin {ORDER} bitand bitor bitxor invert shl "
           f"shr {TESTS} real conj").split()
COMPLEX = f"add sub mul div neg pow abs sign sqrt {COMMON} eq ne {TESTS} real imag conj".split()
BOOLEAN = "add mul maximum minimum and or not bitand bitor bitxor invert eq ne".split()
UNARY = frozenset(f"neg abs sign sqrt cbrt {COMMON} erf floor ceil trunc rint not invert {TESTS} real imag conj "
                  "stop_gradient".split()) | SPECIAL_FUNCTIONS.keys() - OF_ORDERS - SHAPES.keys()
LISTS = {F8: REAL, F4: REAL, C16: COMPLEX, C8: COMPLEX, I8: INTEGER, np.dtype("i4"): INTEGER, np.dtype("i1"): INTEGER,
         np.dtype("u1"): INTEGER, np.dtype("u8"): [f for f in INTEGER if f not in ("neg", "abs", "sign")], B1: BOOLEAN}
SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, -0.5, 1.5, 3.0, -3.0, 1e-3, 700.0, np.inf, -np.inf, np.nan)


def operands(dtype: np.dtype, fn: str) -> tuple[np.ndarray, ...]:
    """The values that matter for a type, where there are two operands all pairs; shapes are above zero."""
    if dtype.kind == "b":
        values = np.array([False, True])
    elif dtype.kind in "iu":
        more = (100, 127) if dtype.kind == "u" else (-1, -2, -7, 100, -100, 127)
        ends = (np.iinfo(dtype).min, np.iinfo(dtype).max)
        values = np.array([0, 1, 2, 3, 5, 7, *more, *(() if fn in ("shl", "shr") else ends)], dtype)
    elif dtype.kind == "c":
        parts = (0.0, 1.0, -1.0, 0.7, -2.3)
        values = np.array([complex(a, b) for a in parts for b in parts], dtype)
    else:
        values = np.array(SPECIAL, dtype)
    orders = [0, -1, 1] if fn == "lambertw" else [1, 2, 3, 5]
    shapes = [0.5, 1.0, 2.5, 7.0] if SHAPES.get(fn) else orders if fn in OF_ORDERS else None
    others = values if shapes is None else np.array(shapes, dtype)
    a, b = np.repeat(values, len(others)), np.tile(others, len(values))
    if fn in ("shl", "shr"):
        b = np.abs(b.astype(np.int64)).astype(dtype)
    return (a,) if fn in UNARY else (a, b, b[::-1].copy()) if SHAPES.get(fn) == 2 else (a, b)


@pytest.mark.parametrize("dtype", LISTS, ids=str)
def test_functions(dtype: np.dtype) -> None:
    statements, arguments, expected = [], {}, {}
    arrays: dict[str, tuple[tuple[int, ...], np.dtype]] = {}
    for fn in LISTS[dtype]:
        inputs = operands(dtype, fn)
        a = inputs[0]
        with np.errstate(all="ignore"):
            want = np.asarray(PRIMALS[fn](*inputs))
        result = want.dtype if want.dtype.kind == "b" or fn in ("abs", "real", "imag") else dtype
        names = [f"{fn}_{k}" for k in range(len(inputs))]
        value: Expr = call(fn, *(load(n, "i", dtype=dtype) for n in names), dtype=result)
        statements.append(mapped([span("i", len(a))], store(f"{fn}_out", ["i"], value)))
        arrays |= {n: (v.shape, dtype) for n, v in zip(names, inputs, strict=True)}
        arrays[f"{fn}_out"] = (a.shape, result)
        arguments |= dict(zip(names, inputs, strict=True))
        expected[f"{fn}_out"] = want.astype(result)
    results = {n: np.empty_like(v) for n, v in expected.items()}
    compile_program(program(statements, arrays))({**arguments, **results})
    tolerance = 4e-6 if dtype.name in ("float32", "complex64") else 1e-13
    for name, want in expected.items():
        np.testing.assert_allclose(results[name], want, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("dtype", [F8, F4, C16, I8], ids=str)
def test_constant_powers(dtype: np.dtype) -> None:
    exponents = [0, 1, 2, 3, 7, 20, *((-1, -2, -3) if dtype != I8 else ()),
                 *((0.5, 1.5, -0.5, 2.5, -1.5, 4.5, 5.5) if dtype.kind == "f" else ())]
    base = np.array([0.3, 1.7, 2.0, 3.0]).astype(dtype) + (1j if dtype == C16 else 0)
    statements = [mapped([span("i", 4)], store(f"o{k}", ["i"], call("pow", load("A", "i", dtype=dtype), num(e, dtype))))
                  for k, e in enumerate(exponents)]
    arrays = {"A": ((4,), dtype), **{f"o{k}": ((4,), dtype) for k in range(len(exponents))}}
    results = {f"o{k}": np.empty(4, dtype) for k in range(len(exponents))}
    compile_program(program(statements, arrays))({"A": base.astype(dtype), **results})
    for k, e in enumerate(exponents):
        want = base.astype(dtype) ** dtype.type(e)
        np.testing.assert_allclose(results[f"o{k}"], want, rtol=1e-5 if dtype == F4 else 1e-13)


@pytest.mark.parametrize("dtype", [F8, F4], ids=str)
@pytest.mark.parametrize("exponent", [1.5, 2.5, 3.5, -0.5, -1.5, -2.5, -4.5])
def test_powers_with_a_root_at_special_values(dtype: np.dtype, exponent: float) -> None:
    """Signs of zeros, infinities, and that below zero there is no number; neighbours of overflow on both sides."""
    with np.errstate(all="ignore"):
        edge = dtype.type(np.longdouble(np.finfo(dtype).max) ** (1 / abs(exponent)))
        base = np.array([*SPECIAL, edge * 0.99, edge * 1.01, 1 / (edge * 0.99), 1 / (edge * 1.01)], dtype)
    value = call("pow", load("A", "i", dtype=dtype), num(exponent, dtype))
    body = [mapped([span("i", len(base))], store("o", ["i"], value))]
    out = np.empty_like(base)
    compile_program(program(body, {"A": (base.shape, dtype), "o": (base.shape, dtype)}))({"A": base, "o": out})
    with np.errstate(all="ignore"):
        want = np.array([np.power(b, dtype.type(exponent)) for b in base])
    np.testing.assert_allclose(out, want, rtol=8 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(np.signbit(out[want == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize("source", [F8, F4, C16, I8, np.dtype("i4"), np.dtype("u1"), B1], ids=str)
def test_casts(source: np.dtype) -> None:
    targets = [F8, F4, C16, C8, I8, np.dtype("i4"), np.dtype("i2"), np.dtype("u1"), np.dtype("u4"), B1]
    targets = [t for t in targets if t.kind == "c" or source.kind != "c"]
    values = np.array([0, 1, 2.5, 3.99, 100] + ([-1.5, -7.0] if source.kind in "fc" else [])).astype(source)
    targets = [t for t in targets if not (source.kind == "f" and t.kind == "u")]
    element = load("A", "i", dtype=source)
    statements = [mapped([span("i", len(values))], store(f"o{k}", ["i"], call("cast", element, dtype=t)))
                  for k, t in enumerate(targets)]
    results = {f"o{k}": np.empty(len(values), t) for k, t in enumerate(targets)}
    arrays = {"A": (values.shape, source), **{n: (v.shape, v.dtype) for n, v in results.items()}}
    compile_program(program(statements, arrays))({"A": values, **results})
    for k, t in enumerate(targets):
        np.testing.assert_array_equal(results[f"o{k}"], values.astype(t))


def test_integers_wrap_around() -> None:
    """What comparisons of sums and products say of numbers that have left the range."""
    statements, arrays, arguments, expected = [], {}, {}, {}
    for dtype in (I8, np.dtype("i4")):
        ends = np.iinfo(dtype)
        values = np.array([ends.max, ends.min, ends.max // 2 + 1, 5, -7], dtype)
        k, name = load(f"k{dtype}", "i", dtype=dtype), dtype.name
        three, one = num(3, dtype), num(1, dtype)
        with np.errstate(over="ignore"):
            tried = {"mul": (compare("gt", mul(k, three), num(0, dtype)), values * dtype.type(3) > 0),
                     "add": (compare("gt", add(k, one), k), values + dtype.type(1) > values),
                     "sub": (compare("lt", call("sub", k, one), k), values - dtype.type(1) < values),
                     "neg": (compare("gt", call("neg", k), num(0, dtype)), -values > 0)}
        arrays[f"k{dtype}"], arguments[f"k{dtype}"] = (values.shape, dtype), values
        for fn, (value, want) in tried.items():
            statements.append(mapped([span("i", len(values))], store(f"{fn}_{name}", ["i"], value)))
            arrays[f"{fn}_{name}"], expected[f"{fn}_{name}"] = (values.shape, B1), want
    results = {n: np.empty_like(v) for n, v in expected.items()}
    compile_program(program(statements, arrays))({**arguments, **results})
    for name, want in expected.items():
        np.testing.assert_array_equal(results[name], want, err_msg=name)


def test_casts_of_what_no_integer_is() -> None:
    """The smallest integer, also on the way back to a float: no shorter way leaves the numbers as they are."""
    values = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 2.0**63, -(2.0**63), 2.0**31, 2.0**31 - 0.5,
                       -(2.0**31) - 0.5, 2.9, -2.9])
    element, targets = load("A", "i"), (I8, np.dtype("i4"))
    whole = [call("cast", element, dtype=t) for t in targets]
    parts = {f"{kind}{k}": value for k, n in enumerate(whole) for kind, value in (
        ("there", n), ("back", call("cast", n, dtype=F8)))}
    results = {n: np.empty(len(values), e.dtype) for n, e in parts.items()}
    arrays = {"A": (values.shape, F8), **{n: (v.shape, v.dtype) for n, v in results.items()}}
    compile_program(program([mapped([span("i", len(values))], store(n, ["i"], e)) for n, e in parts.items()], arrays))(
        {"A": values, **results})
    for k, target in enumerate(targets):
        ends = np.iinfo(target)
        want = [int(v) if np.isfinite(v) and ends.min <= int(v) <= ends.max else ends.min for v in values]
        np.testing.assert_array_equal(results[f"there{k}"], want)
        np.testing.assert_array_equal(results[f"back{k}"], np.array(want, F8))


def test_decimals_are_those_of_python() -> None:
    """Correctly rounded, ties as the binary number lies: 2.675 is less than it looks."""
    values = np.array([2.675, 0.5, 1.5, -2.5, 1e300, -0.0, 123456.789, 0.05, 5e-324, np.inf, 1 / 3])
    digits = (-3, 0, 1, 2, 15)
    body = [mapped([span("i", len(values))], store(f"o{k}", ["i"], call("decimal", load("A", "i"), num(n, I8))))
            for k, n in enumerate(digits)]
    results = {f"o{k}": np.empty_like(values) for k in range(len(digits))}
    arrays = {"A": (values.shape, F8), **{n: (v.shape, F8) for n, v in results.items()}}
    compile_program(program(body, arrays))({"A": values, **results})
    for k, n in enumerate(digits):
        want = [round(float(v), n) if np.isfinite(v) else v for v in values]
        np.testing.assert_array_equal(results[f"o{k}"], want, err_msg=str(n))


def test_every_function_is_tried() -> None:
    tried = {fn for names in LISTS.values() for fn in names} | {"complex", "pow", "decimal"}
    assert set(PRIMALS) - UNFINISHED <= tried
