"""Hand-written programs with data: every kind of control flow and access the reverse sweep has to undo."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sdfgad.ir.algebra import Term, where
from sdfgad.ir.expr import call
from sdfgad.ir.index import floordiv, ix, mod
from sdfgad.ir.program import Lib, Program, view_of
from tests.support import shapes
from tests.support.build import (
    C16,
    I8,
    at,
    each,
    lit,
    loop,
    number_at,
    one,
    position,
    program,
    put,
    repeat,
    span,
    total,
    when,
)

X = np.array([0.3, 0.7, 1.1, 0.4, 0.9, 0.6])
SQUARE = np.array([[0.4, -0.3, 0.2], [0.1, 0.8, -0.5], [0.7, 0.2, 0.9]])


@dataclass(frozen=True)
class Case:
    """A program, its arguments and the names to differentiate."""

    program: Program
    arrays: dict[str, np.ndarray]
    wrt: tuple[str, ...] = ("x",)


CASES: dict[str, Callable[[], Case]] = {}


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__] = make
    return make


def on_vector(*body: object, size: int = 6, **transients: object) -> Case:
    """A program on the vector x that ends with the weighted sum of x."""
    return Case(program({"x": X[:size]}, [*body, total("x", (size,))], **transients), {"x": X[:size].copy()})


for _name, _make in shapes.NESTS.items():
    def _nest(make: Callable[[], Program] = _make) -> Case:
        made = make()
        rng = np.random.default_rng(0)
        data = {n: rng.uniform(0.2, 0.9, made.arrays[n].shape) for n in made.arguments}
        for a in data.values():
            if a.ndim == 2:
                a += 3 * np.eye(len(a))
        return Case(made, data, made.arguments)

    CASES[_name] = _nest


def _stepping(start: int, stop: int, step: int) -> Callable[[], Case]:
    def make() -> Case:
        i = ix("i")
        return on_vector(loop(span("i", start, stop, step),
                              one("x", (i,), at("x", i) * at("x", i) + 0.3 * at("x", mod(i + 1, 6)))))

    return make


STEPS = ((0, 6, 1), (5, -1, -1), (0, 5, 3), (4, 0, -3), (1, 6, 3), (5, -1, -3), (0, 0, 1), (2, 5, 7), (3, 1, 2))
for _start, _stop, _step in STEPS:
    CASES[f"steps_{_start}_{_stop}_{_step}"] = _stepping(_start, _stop, _step)


@case
def coupled_triangles() -> Case:
    """Both ends of the inner loop depend on the outer variable, in steps."""
    i, j = ix("i"), ix("j")
    return on_vector(loop(span("i", 0, 4), loop(span("j", 5 - i, i - 1, -2),
                                                one("x", (j,), at("x", j) * at("x", i) + 0.1))))


@case
def bounds_from_an_array() -> Case:
    """Compressed rows: the inner loop runs between two entries of an integer array."""
    rows = np.array([0, 2, 2, 5, 6])
    body = loop(span("i", 0, 4), loop(span("j", number_at("rows", "i"), number_at("rows", ix("i") + 1)),
                                      one("y", ("i",), at("y", "i") * 0.5 + at("x", "j") * at("x", "i"))))
    made = program({"x": X, "rows": rows}, [each(span("k", 0, 4), put("y", ("k",), 1.0)), body, total("y", (4,))],
                   y=(4,))
    return Case(made, {"x": X.copy(), "rows": rows})


@case
def bound_overwritten_inside() -> Case:
    """The loop bound is an element the body changes."""
    n = np.array(4)
    body = loop(span("i", 0, number_at("n")), one("n", (), lit(1, I8)), one("x", ("i",), at("x", "i") * at("x", "i")))
    made = program({"x": X, "n": n}, [body, total("x", (6,))])
    return Case(made, {"x": X.copy(), "n": n})


@case
def early_exit() -> Case:
    """A counted loop left when a sum passes a threshold; the state is recorded on a tape of known size."""
    body = [one("go", (), lit(0, np.dtype(bool))), one("trips", (), lit(0, I8)), one("a", (), 1.0),
            loop(span("i", 0, 6), one("trips", (), at("trips", dtype=I8) + 1),
                 one("a", (), at("a") * at("x", "i") * 2.0 + at("a") * at("a")),
                 one("go", (), at("a").compare("gt", 1.9)), until="go", trips="trips"),
            one("s", (), at("a") * at("a"))]
    return Case(program({"x": X}, body, go=((), "bool"), trips=((), "i8"), a=()), {"x": X.copy()})


def _while(nested: bool) -> Case:
    def growth(trips: str, flag: str, most: float, inner: tuple) -> list:
        return [one(trips, (), lit(0, I8)), one(flag, (), at("a").compare("lt", most)),
                repeat(flag, trips, one(trips, (), at(trips, dtype=I8) + 1),
                       one("a", (), at("a") * at("a") * 0.5 + at("a") + at("x", 1)), *inner,
                       one(flag, (), at("a").compare("lt", most)))]

    inner = tuple(growth("trips_b", "flag_b", 2.0, ())) if nested else ()
    body = [one("a", (), at("x", 0)), *growth("trips_a", "flag_a", 9.0, inner), one("s", (), at("a") * at("x", 2))]
    made = program({"x": X}, body, a=(), trips_a=((), "i8"), flag_a=((), "bool"), trips_b=((), "i8"),
                   flag_b=((), "bool"))
    return Case(made, {"x": X.copy()})


CASES["while_growable"] = lambda: _while(False)
CASES["while_in_while"] = lambda: _while(True)


@case
def while_around_a_map() -> Case:
    """Arrays go to the growable tape, inside a counted loop."""
    body = [one("trips", (), lit(0, I8)), one("flag", (), lit(1, np.dtype(bool))),
            repeat("flag", "trips", one("trips", (), at("trips", dtype=I8) + 1),
                   loop(span("t", 0, 2), each(span("i", 1, 5), put("x", ("i",), at("x", "i") * at("x", "i") + 0.2))),
                   one("flag", (), at("x", 2).compare("lt", 2.0)))]
    return on_vector(*body, trips=((), "i8"), flag=((), "bool"))


@case
def while_that_never_runs() -> Case:
    """No iteration, nothing on the tape."""
    return on_vector(one("trips", (), lit(0, I8)), one("flag", (), lit(0, np.dtype(bool))),
                     repeat("flag", "trips", one("trips", (), at("trips", dtype=I8) + 1),
                            one("x", (0,), at("x", 0) * at("x", 0))),
                     trips=((), "i8"), flag=((), "bool"))


@case
def branch_on_data_overwritten() -> Case:
    """The condition reads what both branches change."""
    i = ix("i")
    large = at("x", i).compare("gt", 0.5)
    again = when(large, (one("x", (0,), at("x", 0) * at("x", i)),))
    choice = when(large, (one("x", (i,), at("x", i) * at("x", i) - 0.4),), (one("x", (i,), at("x", i) * 1.5), again))
    return on_vector(loop(span("t", 0, 2), loop(span("i", 0, 6), choice)))


@case
def branch_on_the_loop_variable() -> Case:
    i = ix("i")
    even = position(mod(i, 2), I8).compare("eq", 0)
    return on_vector(loop(span("i", 0, 5), when(even, (one("x", (i,), at("x", i) * at("x", i + 1)),),
                                                (one("x", (i,), at("x", i).apply("sin")),))))


@case
def gather_and_scatter() -> Case:
    """Repeated indices read, repeated indices added to."""
    k = np.array([0, 2, 2, 5, 1, 0])
    i = number_at("k", "i")
    body = [each(span("i", 0, 6), put("y", ("i",), at("x", i) * at("x", "i"))),
            each(span("j", 0, 6), put("z", ("j",), 0.0)),
            each(span("i", 0, 6), put("z", (i,), at("y", "i") * at("y", "i"), "+")), total("z", (6,))]
    return Case(program({"x": X, "k": k}, body, y=(6,), z=(6,)), {"x": X.copy(), "k": k})


@case
def scatter_last_wins() -> Case:
    """A loop that stores repeatedly to one element."""
    k = np.array([0, 2, 2, 5, 1, 0])
    body = [each(span("j", 0, 6), put("z", ("j",), at("x", "j"))),
            loop(span("i", 0, 6), one("z", (number_at("k", "i"),), at("x", "i") * at("x", "i"))), total("z", (6,))]
    return Case(program({"x": X, "k": k}, body, z=(6,)), {"x": X.copy(), "k": k})


@case
def indices_overwritten() -> Case:
    """The index array changes between its uses; the reverse sweep needs both versions."""
    k = np.array([0, 2, 2, 5, 1, 0])
    i = number_at("k", "i")
    body = loop(span("t", 0, 3), loop(span("i", 0, 6), one("x", (i,), at("x", i) * at("x", "i") + 0.2)),
                each(span("j", 0, 6), put("k", ("j",), position(mod(number_at("k", "j") + 1, 6), I8))))
    return Case(program({"x": X, "k": k}, [body, total("x", (6,))]), {"x": X.copy(), "k": k})


@case
def largest_and_smallest() -> Case:
    """Reductions by maximum and minimum, along an axis and over all, with the start among the winners."""
    body = [each(span("i", 0, 3), put("m", ("i",), at("x", "i", 0))),
            each((span("i", 0, 3), span("j", 0, 3)), put("m", ("i",), at("x", "i", "j") * at("x", "i", "j"), "max")),
            one("w", (), at("m", 0)), each(span("k", 0, 3), put("w", (), at("m", "k") * 2.0, "min")),
            one("s", (), at("w") * at("m", 1) + at("m", 2))]
    return Case(program({"x": SQUARE}, body, m=(3,), w=()), {"x": SQUARE.copy()})


@case
def largest_so_far() -> Case:
    """A maximum accumulated into an element that is used again, inside a loop."""
    body = [one("m", (), at("x", 0)),
            loop(span("t", 0, 3), each(span("i", 0, 6), put("x", ("i",), at("x", "i") * 1.3 - 0.1)),
                 each(span("i", 0, 6), put("m", (), at("x", "i"), "max")),
                 one("x", (1,), at("x", 1) * at("m")))]
    return on_vector(*body, m=())


@case
def shift_in_place() -> Case:
    """Disjoint halves of one array."""
    i = ix("i")
    return on_vector(loop(span("t", 0, 2), each(span("i", 0, 3), put("x", (i,), at("x", i + 3) * at("x", i)))))


@case
def strided_writes() -> Case:
    """Even elements from odd ones and back."""
    i = ix("i")
    return on_vector(each(span("i", 0, 6, 2), put("x", (i,), at("x", i + 1) * at("x", i))),
                     each(span("i", 0, 3), put("x", (i * 2 + 1,), at("x", i * 2) * at("x", i * 2 + 1))))


@case
def several_stores_of_one_map() -> Case:
    """A rotation: two stores that read each other's old values through lets."""
    i = ix("i")
    a, b = at("x", i), at("x", i + 3)
    body = each(span("i", 0, 3), put("y", (i,), a * b), put("z", (i,), a - b))
    return Case(program({"x": X}, [body, each(span("i", 0, 3), put("x", (i,), at("y", i) * at("z", i)),
                                              put("x", (i + 3,), at("z", i) * at("z", i))), total("x", (6,))],
                        y=(3,), z=(3,)), {"x": X.copy()})


@case
def swap_of_scalars() -> Case:
    return on_vector(loop(span("t", 0, 3), one("a", (), at("x", 0)), one("x", (0,), at("x", 5) * at("x", 1)),
                          one("x", (5,), at("a") * at("x", 2))), a=())


@case
def block_local_temporary() -> Case:
    """A temporary made afresh by every iteration of two loops: versions or rebuilding."""
    i = ix("i")
    body = loop(span("t", 0, 2), loop(span("u", 1, 3),
                                      each(span("i", 0, 6), put("h", (i,), at("x", i).apply("sin"))),
                                      each(span("i", 0, 5), put("g", (i,), at("h", i) * at("h", i + 1) * at("x", i))),
                                      each(span("i", 0, 5), put("x", (i,), at("x", i) + at("g", i) * at("h", i)))))
    return on_vector(body, h=(6,), g=(5,))


@case
def rebuildable_temporary() -> Case:
    """Temporaries made from what no later statement of the loop changes."""
    i = ix("i")
    body = loop(span("t", 0, 3), each(span("i", 0, 6), put("h", (i,), at("x", i).apply("sin") + position("t"))),
                each(span("i", 0, 5), put("g", (i,), at("h", i) * at("h", i + 1))),
                each(span("i", 0, 5), put("y", (i,), at("y", i) * at("g", i) + at("h", i))))
    start = each(span("i", 0, 5), put("y", (i,), at("x", i)))
    return Case(program({"x": X}, [start, body, total("y", (5,))], h=(6,), g=(5,), y=(5,)), {"x": X.copy()})


@case
def temporary_changed_after_use() -> Case:
    """A temporary whose first contents are needed, too: rebuilding its last ones is not enough."""
    i = ix("i")
    body = loop(span("t", 0, 3), each(span("i", 0, 6), put("h", (i,), at("x", i).apply("sin"))),
                each(span("i", 0, 5), put("g", (i,), at("h", i) * at("h", i))),
                each(span("i", 0, 5), put("h", (i + 1,), at("x", i) * 0.4)),
                each(span("i", 0, 5), put("y", (i,), at("y", i) * at("g", i) + at("h", i) * at("h", i))))
    start = each(span("i", 0, 5), put("y", (i,), at("x", i)))
    return Case(program({"x": X}, [start, body, total("y", (5,))], h=(6,), g=(5,), y=(5,)), {"x": X.copy()})


@case
def stores_that_read_each_other() -> Case:
    """The first store of a map reads what the second overwrites with a value whose derivative is its answer."""
    i, ahead = ix("i"), span("i", 0, 6)
    body = loop(span("t", 0, 2), each(ahead, put("y", (i,), at("y", i) + at("x", i) * at("x", i)),
                                      put("x", (i,), (at("z", i) * 0.5).apply("exp"))),
                each(ahead, put("z", (i,), at("y", i).apply("tanh") + at("x", i))))
    start = each(ahead, put("y", (i,), at("x", i))), each(ahead, put("z", (i,), at("x", i) * at("x", i)))
    finish = each(ahead, put("x", (i,), at("x", i) + at("z", i) * at("y", i)))
    return on_vector(start, body, finish, y=(6,), z=(6,))


@case
def temporary_partly_overwritten() -> Case:
    body = loop(span("t", 0, 3), each(span("i", 0, 6), put("h", ("i",), at("x", "i") * at("x", "i"))),
                each(span("i", 1, 3), put("h", ("i",), at("h", "i") * at("x", ix("i") + 2))),
                each(span("i", 0, 6), put("x", ("i",), at("h", "i") * 0.5 + 0.3)))
    return on_vector(body, h=(6,))


@case
def growing_sum() -> Case:
    """A prefix sum followed by products of neighbours."""
    i = ix("i")
    return on_vector(loop(span("i", 1, 6), one("x", (i,), at("x", i) + at("x", i - 1))),
                     each(span("i", 0, 5), put("y", (i,), at("x", i) * at("x", i + 1))),
                     each(span("i", 0, 5), put("x", (i,), at("y", i))), y=(5,))


@case
def product_by_loop() -> Case:
    body = [one("s", (), 1.0), loop(span("i", 0, 6), one("s", (), at("s") * (at("x", "i") - 0.4)))]
    return Case(program({"x": X}, body), {"x": X.copy()})


@case
def reshaped_access() -> Case:
    """Rows and columns computed by division and remainder."""
    i = ix("i")
    row, column = floordiv(i, 3), mod(i, 3)
    body = [each(span("i", 0, 9), put("y", (i,), at("x", row, column) * at("x", column, row))), total("y", (9,))]
    return Case(program({"x": SQUARE}, body, y=(9,)), {"x": SQUARE.copy()})


@case
def matrix_power() -> Case:
    """Library nodes in a loop, through a temporary."""
    made = program({"x": SQUARE}, [], y=(3, 3), h=(3, 3))
    x, y, h = (view_of(made.arrays[n]) for n in "xyh")
    ranges = (span("i", 0, 3), span("j", 0, 3))
    body = (each(ranges, put("y", ("i", "j"), at("x", "i", "j"))),
            loop(span("t", 0, 3), Lib("matmul", (h,), (y, x), MappingProxyType({})),
                 each(ranges, put("y", ("i", "j"), at("h", "i", "j").apply("tanh")))), *total("y", (3, 3)))
    return Case(made.but(body=body), {"x": SQUARE.copy()})


@case
def complex_recurrence() -> Case:
    """z = z * z + c with conjugates and absolute values."""
    z, c = at("z", dtype=C16), at("c", dtype=C16)
    conjugate, size = z.apply("conj"), where(at("r").compare("gt", 4.0), 0.5 * at("r"), at("r"))
    body = [one("z", (), lit(0.1 + 0.2j, C16)), one("r", (), 0.0),
            loop(span("t", 0, 3), one("z", (), z * z * conjugate + c),
                 one("r", (), _term("abs", z) + at("r") * _term("real", z)), one("r", (), size)),
            one("s", (), at("r") * at("r") + _term("imag", z))]
    data = {"c": np.array(0.3 - 0.4j)}
    return Case(program(data, body, z=((), "c16"), r=()), data, ("c",))


def _term(fn: str, z: Term) -> Term:
    """A real function of a complex term."""
    return Term(call(fn, z.expr, dtype="f8"))
