"""Native code against the reference interpreter, statement by statement, with and without parallel kernels."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpp import literal
from sdfgad.codegen.fingerprint import fingerprint
from sdfgad.errors import UsageError
from sdfgad.ir.expr import Call, Local, call
from sdfgad.ir.index import elem, floordiv, ix, maximum, minimum, mod
from sdfgad.ir.program import If, Let, Lib, Loop, Map, Program, View, While
from tests.codegen.build_programs import (
    B1,
    C8,
    C16,
    F4,
    F8,
    I4,
    I8,
    add,
    agree,
    at,
    compare,
    index,
    load,
    mapped,
    mul,
    num,
    program,
    span,
    store,
)
from tests.support.thresholds import change

N = 300


def test_elementwise(shared: bool) -> None:
    value = call("add", call("mul", load("A", "i"), num(2.0)), call("exp", load("B", "i")))
    agree(program([mapped([span("i", N)], store("C", ["i"], value))], dict.fromkeys("ABC", ((N,), F8))))


@pytest.mark.parametrize("dtype", [F8, F4])
def test_stencil_in_time_loop(shared: bool, dtype: np.dtype) -> None:
    def sweep(target: str, source: str) -> Map:
        total = add(load(source, "i", "j", dtype=dtype), load(source, ix("i") - 1, "j", dtype=dtype),
                    load(source, "i", ix("j") + 1, dtype=dtype))
        return mapped([span("i", 1, 19), span("j", 1, 14)],
                      store(target, ["i", "j"], call("mul", num(0.25, dtype), total)))

    steps = Loop(span("t", 4), (sweep("B", "A"), sweep("A", "B")))
    agree(program([steps], dict.fromkeys("AB", ((20, 15), dtype))))


def test_triangular_loops_and_dot_products(shared: bool) -> None:
    n = 12
    product = call("neg", mul(load("A", "i", "k"), load("A", "k", "j")))
    dot = mapped([span("k", "j")], store("A", ["i", "j"], product, "+"))
    pivot = add(load("A", "j", "j"), num(20.0))
    scale = mapped([], store("A", ["i", "j"], call("div", load("A", "i", "j"), pivot)))
    agree(program([Loop(span("i", n), (Loop(span("j", "i"), (dot, scale)),))], {"A": ((n, n), F8)}), tolerance=1e-9)


def test_triangular_map(shared: bool) -> None:
    body = store("C", ["i", "j"], call("mul", load("A", "i"), load("A", "j")))
    agree(program([mapped([span("i", 40), span("j", ix("i") + 1, 40)], body)], {"A": ((40,), F8), "C": ((40, 40), F8)}))


@pytest.mark.parametrize("step", [1, 3, -2])
def test_steps(shared: bool, step: int) -> None:
    start, stop = (2, 29) if step > 0 else (28, 1)
    outer = mapped([span("i", start, stop, step=step), span("j", start, stop, step=step)],
                   store("C", ["i", "j"], index(ix("i") * 100 + "j", F8)))
    count = mapped([], store("D", ["k"], add(load("D", ix("k") - 1), num(1.0))))
    loop = Loop(span("k", start, stop, step=step), (count,))
    agree(program([outer, loop], {"C": ((30, 30), F8), "D": ((30,), F8)}))


KEPT = {"s": [], "rows": ["i"], "columns": ["j"]}


def reductions(op: str) -> Program:
    """Over everything, over rows and over columns of one matrix."""
    shape = {"i": 70, "j": 130}
    value = load("A", "i", "j") if op != "*" else add(num(1.0), mul(num(0.01), load("A", "i", "j")))
    body, arrays = [], {"A": ((70, 130), F8)}
    for name, kept in KEPT.items():
        first = num({"+": 0.0, "*": 1.0}[op]) if op in "+*" else load("A", *[v if v in kept else 0 for v in ("i", "j")])
        body.append(mapped([span(v, shape[v]) for v in kept], store(name, kept, first)))
        body.append(mapped([span(v, shape[v]) for v in ("i", "j")], store(name, kept, value, op)))
        arrays[name] = (tuple(shape[v] for v in kept), F8)
    return program(body, arrays)


@pytest.mark.parametrize("op", ["+", "*", "max", "min"])
def test_reductions(shared: bool, op: str) -> None:
    agree(reductions(op), tolerance=1e-10)


def test_max_propagates_nan(shared: bool) -> None:
    values = {"A": np.random.default_rng(0).random((70, 130))}
    values["A"][3, 77] = np.nan
    values["A"][4, 0] = np.nan
    agree(reductions("max"), values)


def test_same_bits_at_every_thread_count(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, parallel_work=0)
    executable = agree(reductions("+"), tolerance=1e-10)
    matrix, results = np.random.default_rng(1).random((70, 130)), []
    for count in (1, 2, 3):
        executable.threads = count
        out = {"A": matrix, "s": np.zeros(()), "rows": np.zeros(70), "columns": np.zeros(130)}
        executable(out)
        results.append(b"".join(out[n].tobytes() for n in KEPT))
    assert len(set(results)) == 1


def test_small_kept_dimension_and_long_reduction(shared: bool) -> None:
    body = [mapped([span("c", 3)], store("s", ["c"], num(0.0))),
            mapped([span("i", 500), span("c", 3)], store("s", ["c"], load("A", "i", "c"), "+"))]
    agree(program(body, {"A": ((500, 3), F8), "s": ((3,), F8)}), tolerance=1e-11)


def test_scatter_of_an_adjoint_body(shared: bool) -> None:
    g = Local("g", F8)
    body = [Let("g", load("dB", "i", "j")), store("dB", ["i", "j"], num(0.0)),
            *(store("dA", [ix("i") + a, ix("j") + b], call("mul", num(0.2), g), "+")
              for a, b in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0)))]
    agree(program([mapped([span("i", 1, 29), span("j", 1, 29)], *body)], {"dA": ((30, 30), F8), "dB": ((30, 30), F8)}))


def test_gather_and_indexed_accumulation(shared: bool) -> None:
    where = np.random.default_rng(2).integers(0, 10, 40)
    take = mapped([span("i", 40)], store("C", ["i"], load("A", elem("p", (ix("i"),)))))
    give = mapped([span("i", 40)], store("A", [elem("p", (ix("i"),))], load("C", "i"), "+"))
    agree(program([take, give], {"A": ((10,), F8), "p": ((40,), I8), "C": ((40,), F8)}), {"p": where})


def test_csr_product(shared: bool) -> None:
    rows, begin = 6, np.array([0, 2, 2, 5, 7, 7, 9])
    dot = mapped([span("k", elem("start", (ix("i"),)), elem("start", (ix("i") + 1,)))],
                 store("y", ["i"], call("mul", load("v", "k"), load("x", elem("col", (ix("k"),)))), "+"))
    zero = mapped([], store("y", ["i"], num(0.0)))
    made = program([Loop(span("i", rows), (zero, dot))],
                   {"start": ((7,), I8), "col": ((9,), I8), "v": ((9,), F8), "x": ((5,), F8), "y": ((rows,), F8)})
    agree(made, {"start": begin, "col": np.random.default_rng(3).integers(0, 5, 9)})


def test_while_with_trips(shared: bool) -> None:
    halve = mapped([span("i", N)], store("A", ["i"], call("mul", load("A", "i"), num(0.5))))
    size = [mapped([], store("s", [], num(0.0))),
            mapped([span("i", N)], store("s", [], call("abs", load("A", "i")), "+"))]
    again = mapped([], store("go", [], compare("gt", load("s"), num(1.0))))
    count = mapped([], store("n", [], call("add", load("n", dtype=I8), num(1, I8))))
    shrink = While("go", (count, halve, *size, again), "n")
    made = program([mapped([], store("n", [], num(0, I8))), *size, again, shrink],
                   {"A": ((N,), F8), "n": ((), I8)}, {"s": ((), F8), "go": ((), B1)})
    agree(made)


def test_loop_until(shared: bool) -> None:
    count = mapped([], store("n", [], call("add", load("n", dtype=I8), num(1, I8))))
    work = mapped([span("i", N)], store("A", ["i"], call("add", load("A", "i"), index("t", F8))))
    done = mapped([], store("stop", [], compare("gt", load("A", 3), num(20.0))))
    made = program([mapped([], store("n", [], num(0, I8))), mapped([], store("stop", [], num(False, B1))),
                    Loop(span("t", 100), (count, work, done), until="stop", trips="n")],
                   {"A": ((N,), F8), "n": ((), I8)}, {"stop": ((), B1)})
    agree(made)


def test_if_on_data(shared: bool) -> None:
    up = mapped([span("i", N)], store("A", ["i"], call("add", load("A", "i"), num(1.0))))
    down = mapped([span("i", N)], store("A", ["i"], call("mul", load("A", "i"), num(-0.5))))
    cond = call("and", compare("gt", load("A", "t"), num(0.0)), compare("ne", index("t"), num(3, I8)), dtype=B1)
    agree(program([Loop(span("t", 6), (If(cond, (up,), (down,)),)), If(cond_on_first(), (up,), ())], {"A": ((N,), F8)}))


def cond_on_first() -> Call:
    return compare("lt", load("A", 0), num(0.0))


def test_select_does_not_touch_the_other_branch(shared: bool) -> None:
    inside = call("and", compare("ge", index("i"), num(1, I8)), compare("lt", index("i"), num(N, I8)), dtype=B1)
    guarded = call("select", inside, call("log", load("A", ix("i") - 1)), num(0.0), dtype=F8)
    shared_twice = call("sub", load("A", ix("i") - 1), load("A", ix("i") - 2))
    second = compare("ge", index("i"), num(2, I8))
    deep = call("select", second, mul(shared_twice, shared_twice), num(1.0), dtype=F8)
    body = store("C", ["i"], call("add", guarded, deep))
    values = {"A": np.random.default_rng(0).random(N) + 0.1}
    agree(program([mapped([span("i", N)], body)], {"A": ((N,), F8), "C": ((N,), F8)}), values)


def test_lets_and_order_inside_an_iteration(shared: bool) -> None:
    body = [Let("old", load("A", "i", "j")), store("A", ["i", "j"], call("mul", load("A", "i", "j"), load("s"))),
            store("B", ["i", "j"], call("add", call("mul", load("A", "i", "j"), load("r", "i")), Local("old", F8))),
            Let("row", call("exp", load("r", "i"))), store("C", ["i", "j"], mul(Local("row", F8), Local("row", F8)))]
    made = program([mapped([span("i", 20), span("j", 30)], *body)],
                   {"A": ((20, 30), F8), "B": ((20, 30), F8), "C": ((20, 30), F8), "r": ((20,), F8), "s": ((), F8)})
    agree(made)


def test_empty_arrays_and_loops(shared: bool) -> None:
    made = program([mapped([span("i", 0)], store("A", ["i"], num(1.0))), mapped([], store("s", [], num(0.0))),
                    mapped([span("i", 0)], store("s", [], load("A", "i"), "+")),
                    Loop(span("i", 3, 3), (mapped([], store("s", [], num(9.0))),))], {"A": ((0,), F8), "s": ((), F8)})
    agree(made)


def test_index_arithmetic(shared: bool) -> None:
    i, j = ix("i"), ix("j")
    value = call("add", index(floordiv(i - 5, 3) * 7 + mod(i - j, 4), F8),
                 index(minimum(i, j) - maximum(i * j, 30) + floordiv(i, j + 1), F8))
    agree(program([mapped([span("i", 20), span("j", 20)], store("C", ["i", "j"], value))], {"C": ((20, 20), F8)}))


def test_roll_reads_through_modulo(shared: bool) -> None:
    body = store("C", ["i"], load("A", mod(ix("i") + 7, N)))
    agree(program([mapped([span("i", N)], body)], {"A": ((N,), F8), "C": ((N,), F8)}))


def test_constants_transients_and_scalars(shared: bool) -> None:
    table = np.linspace(0.0, 1.0, N)
    made = program([mapped([span("i", N)], store("t", ["i"], call("mul", load("A", "i"), load("table", "i")))),
                    mapped([], store("x", [], load("t", 5))),
                    Loop(span("k", 3), (mapped([], store("x", [], mul(load("x"), num(1.5)))),
                                        mapped([span("i", N)], store("t", ["i"], add(load("t", "i"), load("x")))))),
                    mapped([span("i", N)], store("A", ["i"], load("t", "i"))), mapped([], store("y", [], load("x")))],
                   {"A": ((N,), F8), "y": ((), F8)}, {"t": ((N,), F8), "x": ((), F8)}, {"table": table})
    executable = agree(made)
    assert executable.transient_bytes >= N * 8


def test_complex(shared: bool) -> None:
    def z(name: str) -> object:
        return load(name, "i", dtype=C16)

    value = add(call("div", mul(z("A"), z("B")), add(z("B"), num(3 + 1j, C16))), call("conj", z("A")),
                call("complex", call("abs", z("A"), dtype=F8), call("imag", z("B"), dtype=F8), dtype=C16),
                call("pow", z("A"), num(3, C16)))
    total = mapped([span("i", N)], store("s", [], z("C"), "+"))
    agree(program([mapped([span("i", N)], store("C", ["i"], value)), mapped([], store("s", [], num(0, C16))), total],
                  {"A": ((N,), C16), "B": ((N,), C16), "C": ((N,), C16), "s": ((), C16)}), tolerance=1e-10)


def test_product_of_loops_where_two_stores_hit_one_array(shared: bool) -> None:
    body = [store("A", ["i"], num(1.0), "+"), store("A", [29 - ix("i")], load("B", "i"), "+")]
    agree(program([mapped([span("i", 30)], *body)], {"A": ((30,), F8), "B": ((30,), F8)}))


def matrix(name: str, *shape: int, dtype: np.dtype = F8, swap: bool = False) -> View:
    axes = at("_1", "_0") if swap else at(*[f"_{k}" for k in range(len(shape))])
    return View(name, at(*(shape[::-1] if swap else shape)), axes, dtype)


@pytest.mark.parametrize("dtype", [F8, F4, C16, I8], ids=str)
@pytest.mark.parametrize("swap", [(False, False, False), (True, False, True), (False, True, False)])
def test_matmul(dtype: np.dtype, swap: tuple[bool, bool, bool]) -> None:
    body, arrays = [], {}
    for tag, (m, n, k) in {"small": (3, 4, 5), "big": (20, 30, 25)}.items():
        shapes = {"A" + tag: (m, k), "B" + tag: (k, n), "C" + tag: (m, n)}
        shapes = {v: s[::-1] if w else s for (v, s), w in zip(shapes.items(), swap, strict=True)}
        a, b, c = (matrix(v, *s, dtype=dtype, swap=w) for (v, s), w in zip(shapes.items(), swap, strict=True))
        attrs = {"accumulate": True, "conj_a": True} if dtype == C16 else {"accumulate": swap[0]}
        body.append(Lib("matmul", (c,), (a, b), attrs))
        arrays |= {v: (s, dtype) for v, s in shapes.items()}
    agree(program(body, arrays), tolerance=1e-11)


def test_matmul_of_strided_and_moving_views() -> None:
    a = View("A", at(ix("t") + 1, 30), at(ix("_0") * 2, "_1"), F8)
    b = View("B", at(30, 25), at(ix("_1") * 2 + 1, ix("_0") * 2), F8)
    c = View("C", at(ix("t") + 1, 25), at("t", "_0", "_1"), F8)
    made = program([Loop(span("t", 12), (Lib("matmul", (c,), (a, b)),))],
                   {"A": ((30, 30), F8), "B": ((60, 60), F8), "C": ((12, 12, 25), F8)})
    agree(made, tolerance=1e-11)


@pytest.mark.parametrize("swap", [False, True])
def test_matrix_vector(swap: bool) -> None:
    shape = (70, 90) if swap else (90, 70)
    every_second = View("z", at(70), at(ix("_0") * 2), F8)
    made = program([Lib("matmul", (matrix("y", 90),), (matrix("A", *shape, swap=swap), matrix("x", 70))),
                    Lib("matmul", (every_second,), (matrix("y", 90), matrix("A", *shape, swap=swap)),
                        {"accumulate": True})],
                   {"A": (shape, F8), "x": ((70,), F8), "y": ((90,), F8), "z": ((140,), F8)})
    agree(made, tolerance=1e-11)


@pytest.mark.parametrize("dtype", [F8, C16], ids=str)
def test_inv_cholesky_trsolve(dtype: np.dtype) -> None:
    n = 12
    rng = np.random.default_rng(0)
    base = rng.standard_normal((n, n)) + (1j if dtype == C16 else 0) * rng.random((n, n))
    values = {"A": (base @ base.conj().T + 5 * np.eye(n)).astype(dtype)}

    def m(name: str, *shape: int, swap: bool = False) -> View:
        return matrix(name, *shape, dtype=dtype, swap=swap)

    a, b, v, low = m("A", n, n), m("B", n, 3), m("v", n), m("L", n, n)
    body = [Lib("inv", (m("J", n, n),), (a,)), Lib("inv", (m("K", n, n, swap=True),), (a,)),
            Lib("cholesky", (low,), (a,)),
            Lib("trsolve", (m("T", n, 3),), (low, b), {"lower": True}),
            Lib("trsolve", (m("U", n, 3),), (m("L", n, n, swap=True), b), {"lower": False, "unit": True}),
            Lib("trsolve", (m("u", n),), (low, v), {"lower": True, "unit": False})]
    square, tall, line = ((n, n), dtype), ((n, 3), dtype), ((n,), dtype)
    agree(program(body, {"A": square, "B": tall, "v": line, "J": square, "K": square, "L": square,
                         "T": tall, "U": tall, "u": line}), values, tolerance=1e-8)


@pytest.mark.parametrize("swap", [False, True], ids=["by rows", "by columns"])
@pytest.mark.parametrize("dtype", [F4, F8, C8, C16], ids=str)
def test_systems_with_one_factorisation(dtype: np.dtype, swap: bool) -> None:
    n = 12
    rng = np.random.default_rng(0)
    base = rng.standard_normal((n, n)) + (1j if dtype.kind == "c" else 0) * rng.random((n, n))

    def m(name: str, *shape: int) -> View:
        turned = swap and len(shape) == 2
        return matrix(name, *(shape[::-1] if turned else shape), dtype=dtype, swap=turned)

    factors = (m("F", n, n), view_of_line("p", n, I4))
    b, v = m("B", n, 3), m("v", n)
    body = [Lib("lu", factors, (m("A", n, n),)),
            Lib("solve", (m("X", n, 3),), (*factors, b)), Lib("solve", (m("x", n),), (*factors, v)),
            Lib("solve", (m("Y", n, 3),), (*factors, b), {"adjoint": True}),
            Lib("solve", (m("y", n),), (*factors, v), {"adjoint": True})]
    tall, line = ((3, n) if swap else (n, 3), dtype), ((n,), dtype)
    known = {"A": ((n, n), dtype), "B": tall, "v": line, "X": tall, "x": line, "Y": tall, "y": line}
    made = program(body, known, {"F": ((n, n), dtype), "p": ((n,), I4)})
    agree(made, {"A": (base + 5 * np.eye(n)).astype(dtype)}, tolerance=1e-4 if dtype == C8 else 1e-12)


def test_singular_matrix_raises() -> None:
    made = program([Lib("inv", (matrix("J", 3, 3),), (matrix("A", 3, 3),))], {"A": ((3, 3), F8), "J": ((3, 3), F8)})
    executable = agree(made, {"A": np.eye(3)})
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        executable({"A": np.zeros((3, 3)), "J": np.zeros((3, 3))})


LENGTHS = (1, 2, 8, 12, 17, 31, 37, 64, 105, 360)
"""Of signals: factors that have a form of their own, others, and primes that need a convolution."""


@pytest.mark.parametrize(("values", "dtype", "inverse"), [
    (C16, C16, False), (C8, C8, True), (F8, C16, False), (F8, C16, True), (C16, F8, False), (C8, F4, True)],
    ids=["forward", "inverse", "real", "real inverse", "real part", "real part inverse"])
def test_fft(values: np.dtype, dtype: np.dtype, inverse: bool) -> None:
    """One signal and more than fit into a vector, along rows and along columns, in place of what is there or added."""
    body, arrays = [], {}
    for n in LENGTHS:
        for count in (1, 9):
            turned, shape = n % 2 == 0, (n, count) if n % 2 == 0 else (count, n)
            x = matrix(f"X{count}_{n}", *shape, dtype=values, swap=turned)
            y = matrix(f"Y{count}_{n}", count, n, dtype=dtype)
            body.append(Lib("fft", (y,), (x,), {"inverse": inverse, "scaled": n % 3 == 0, "accumulate": n % 4 == 1}))
            arrays |= {x.array: (shape, values), y.array: ((count, n), dtype)}
    agree(program(body, arrays), tolerance=1e-11 if dtype in (C16, F8) else 1e-5)


@pytest.mark.parametrize("dtype", [F8, F4, I8, I4, np.dtype("u1")], ids=str)
def test_argsort(dtype: np.dtype) -> None:
    body, arrays, values = [], {}, {}  # a few values and more, equal ones, what is not a number
    for n in (9, 96, 97, 512, 513, 3000):
        one, order = f"A{n}", f"p{n}"
        values[one] = (np.random.default_rng(n).standard_normal(n) * 100).round(0 if n < 100 else 1).astype(dtype)
        if dtype.kind == "f":
            values[one][:9] = [0.0, -0.0, np.inf, 1e-40, -np.nan, -np.inf, -0.0, np.nan, 1e30]
        body.append(Lib("argsort", (view_of_line(order, n, I8),), (view_of_line(one, n, dtype),)))
        arrays |= {one: ((n,), dtype), order: ((n,), I8)}
    agree(program(body, arrays), values)


def view_of_line(name: str, n: int, dtype: np.dtype) -> View:
    return View(name, at(n), at("_0"), dtype)


def test_arguments_are_checked() -> None:
    executable = agree(program([mapped([span("i", 4)], store("A", ["i"], num(1.0)))], {"A": ((4,), F8)}))
    for wrong in (np.zeros(5), np.zeros(4, np.float32), np.zeros(8)[::2]):
        with pytest.raises(UsageError, match="C-contiguous"):
            executable({"A": wrong})


def test_dtype_of_an_inner_value_tells_programs_apart() -> None:
    def made(dtype: np.dtype) -> Program:
        inner = call("div", num(1, dtype), num(3, dtype))
        return program([mapped([], store("A", [], call("cast", inner, dtype=F8)))], {"A": ((), F8)})

    assert fingerprint(made(F8)) != fingerprint(made(F4))
    agree(made(F8))
    agree(made(F4))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("value", "dtype", "text"), [
    (1e39, F8, "1e+39"), (-1e39, F4, "(-__builtin_inff())"), (0.1, F4, "0.10000000149011612f")])
def test_large_constants_warn_of_nothing(value: float, dtype: np.dtype, text: str) -> None:
    assert literal(value, dtype) == text
