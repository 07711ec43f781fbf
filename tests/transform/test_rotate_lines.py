"""Rows that a loop copies in and out come and go once each exactly when all is known of them; results stay the same."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.calls.arguments import bind
from sdfgad.codegen.cpu.schedule.rows.rotate_lines import rotate_lines
from sdfgad.ir.index import Ix, ix, minimum
from sdfgad.ir.program import Array, Block, Loop, Map, Program, Range, Stmt
from sdfgad.ir.walk import statements
from tests.support.build import F8, at, each, lit, loop, one, put, span, when
from tests.support.oracle import check_same, numerical_gradient

N, M, K, W = 9, 8, 5, 4
S, I, J, D = ix("s"), ix("i"), ix("j"), ix("d")
LOW = S * W
LANES, LINE = span("j", LOW, LOW + W), span("d", 0, K)
HERE = (D, J - LOW)
SHAPES = {"x": (N, M, K), "y": (N, M, K), "z": (N, N, K), "c": (M,)}
OWN = ("a", "b", "e", "f")


def build(*body: Stmt, dtype: np.dtype = F8, private: tuple[str, ...] = OWN, parallel: bool = True,
          strips: int = M // W) -> Program:
    outer = Loop(span("s", 0, strips), body, parallel=parallel, private=private if parallel else ())
    arrays = {n: Array(n, shape, dtype, "argument") for n, shape in SHAPES.items()}
    arrays |= {n: Array(n, (K, W), dtype) for n in OWN}
    return Program("p", arrays, tuple(SHAPES), (outer,))


def carried(*body: Stmt, private: tuple[str, ...] = OWN, parallel: bool = True,
            strips: int = M // W) -> Program | None:
    """What the pass makes, the same to the bit; None where it leaves the program alone."""
    before = build(*body, private=private, parallel=parallel, strips=strips)
    after = rotate_lines(before)
    check_same(before, after, tolerance=0.0)
    return after if after != before else None


def come(near: str, row: Ix | int, far: str = "x", lanes: Range = LANES, line: Range = LINE) -> Map:
    return each((line, lanes), put(near, HERE, at(far, row, J, D)))


def go(near: str, row: Ix | int, far: str = "x", lanes: Range = LANES, line: Range = LINE) -> Map:
    return each((line, lanes), put(far, (row, J, D), at(near, *HERE)))


def work(*terms: tuple[str, str], lanes: Range = LANES) -> Block:
    """(to, from): to += from * c, and some more."""
    return tuple(each((LINE, lanes), put(to, HERE, at(source, *HERE) * at("c", J) + at("y", I, J, D), "+"))
                 for to, source in terms)


def rows(*body: Stmt, r: Range | None = None) -> Loop:
    return loop(r or span("i", 0, N - 1), *body)


BOTH = (come("a", I), come("b", I + 1), *work(("a", "b"), ("b", "a")), go("a", I), go("b", I + 1))
CLEAR = each((span("i", 0, N), LANES, LINE), put("x", (I, J, D), lit(0.0)))


def touching(made: Program | None, name: str) -> int:
    """Statements that touch an array."""
    assert made is not None
    return sum(isinstance(s, Map) and name in str(s.body) for s in statements(made.body))


def test_a_row_comes_once_and_goes_once():
    made = carried(rows(*BOTH))
    assert made is not None
    before, inner, after = made.body[0].body[:-1], made.body[0].body[-2], made.body[0].body[-1]
    assert len(before) == 2 and isinstance(inner, Loop) and isinstance(after, Map)
    assert sum("'x'" in str(s) for s in inner.body) == 2


@pytest.mark.parametrize("r", [span("i", 0, 2), span("i", 3, 6), span("i", N - 2, -1, step=-1),
                               span("i", N - 2, 0, step=-1)], ids=str)
def test_either_way_and_any_number_of_times(r: Range):
    assert carried(rows(*BOTH, r=r)) is not None


@pytest.mark.parametrize("r", [span("i", 3, 4), span("i", 3, 3), span("i", S, N - 1), span("i", 0, 8, step=2)], ids=str)
def test_nothing_to_hand_on_or_nobody_knows(r: Range):
    assert carried(rows(*BOTH, r=r)) is None


def test_every_other_row():
    far = come("a", I), come("b", I + 2), *work(("a", "b"), ("b", "a")), go("a", I), go("b", I + 2)
    assert carried(rows(*far, r=span("i", 0, 7, step=2))) is not None
    assert carried(rows(*far, r=span("i", 0, 7))) is None


def test_three_rows():
    def body(*stored: int) -> Block:
        names = dict(enumerate("abe"))
        return (*(come(n, I + k) for k, n in names.items()),
                *work(*((names[k], other) for k in stored for other in "abe" if other != names[k])),
                *(go(names[k], I + k) for k in stored))

    r = span("i", 0, N - 2)
    for stored in ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        assert carried(rows(*body(*stored), r=r)) is not None
        assert carried(rows(*body(*stored), r=span("i", 2, 4))) is not None
    assert carried(rows(come("a", I), come("b", I + 1), *work(("e", "a"), ("e", "b")), r=r)) is not None


def test_what_is_read_alone_comes_once():
    made = carried(rows(come("a", I), come("b", I + 1), *work(("e", "a"), ("e", "b")), go("e", I, "y")))
    assert touching(made, "'x'") == 2


@pytest.mark.parametrize("body", [
    (*BOTH, one("x", (I, 0, 0), lit(1.0))),
    (one("c", (0,), at("x", I, 0, 0)), *BOTH),
    (*BOTH[:-1], when(at("c", 0).compare("gt", 0.5), (BOTH[-1],))),
    (when(at("c", 0).compare("gt", 0.5), (BOTH[0],)), *BOTH[1:]),
    (go("a", I), come("a", I), come("b", I + 1), go("b", I + 1)),
    (come("a", I), *work(("a", "b")), come("b", I + 1), *work(("b", "a")), go("a", I), go("b", I + 1)),
    (*BOTH, *work(("a", "b"))),
    (*BOTH, *work(("b", "a"))),
    (come("a", I), come("b", I + 1), *work(("a", "b"), ("b", "a")), go("a", I)),
    (come("a", I), come("b", I + 1), *work(("b", "a")), go("e", I, "y")),
    (come("a", I), *work(("a", "a")), go("a", I), come("b", I + 1), *work(("b", "a")), go("b", I + 1)),
    (come("a", I), come("b", I + 1), *work(("a", "b"), ("b", "a")), go("b", I), go("a", I + 1)),
    (come("a", I), come("b", I + 1), come("e", I), *work(("a", "b"), ("b", "e")), go("a", I), go("b", I + 1)),
    (come("a", I), come("a", I + 1), *work(("b", "a")), go("b", I, "y")),
    (come("a", I), come("b", I + 1), *work(("a", "b"), ("b", "a")), go("a", I), go("a", I), go("b", I + 1)),
    (come("a", I), *work(("a", "a")), go("a", I), *work(("b", "a")), go("b", I + 1)),
    (come("a", I - 1), come("b", I), *work(("e", "a"), ("e", "b")), go("e", I + 1)),
], ids=["also stored", "also read", "maybe stored", "maybe fetched", "back first", "used before", "changed after",
        "changed after, the other", "changed and lost", "changed, never stored", "back in between", "crosswise",
        "twice", "the same line", "back twice", "not fetched",
        "another one"])
def test_left_alone(body: Block):
    assert carried(rows(*body, r=span("i", 1, N - 1))) is None


def test_rows_have_to_be_apart():
    """x[i, i + d] of one iteration and x[i + 1, i + d + 1] of it meet only where the loop moves along alone."""
    def body(lead: int, moving: Ix) -> Stmt:
        return each((LINE, LANES), put("ab"[lead], HERE, at("z", moving + lead, J, D)))

    assert carried(rows(body(0, I), body(1, I), *work(("e", "a"), ("e", "b")))) is not None
    assert carried(rows(body(0, D), body(1, D), *work(("e", "a"), ("e", "b")), r=span("i", 0, 3))) is None
    assert carried(rows(body(0, I + D), body(1, I + D), *work(("e", "a"), ("e", "b")), r=span("i", 0, 3))) is None


@pytest.mark.parametrize("other", [
    {"lanes": span("j", LOW + 1, LOW + W)}, {"lanes": span("j", LOW, LOW + W, step=2)}, {"line": span("d", 1, K)},
], ids=["fewer lanes", "some lanes", "shorter"])
@pytest.mark.parametrize("place", [0, 1, 4, 5])
def test_all_copies_have_to_be_of_the_same_elements(other: dict[str, Range], place: int):
    body = list(BOTH)
    make, near, row = ((come, "a", I), (come, "b", I + 1), None, None, (go, "a", I), (go, "b", I + 1))[place] or BOTH
    body[place] = make(near, row, **other)
    assert carried(rows(*body)) is None


def test_lines_have_to_belong_to_an_iteration_of_a_parallel_loop():
    assert carried(rows(*BOTH), private=("a", "e", "f")) is None
    assert carried(rows(*BOTH), parallel=False) is None


def test_strips_that_do_not_fill_up():
    lanes = span("j", LOW, minimum(LOW + W, M - 1))
    body = (come("a", I, lanes=lanes), come("b", I + 1, lanes=lanes), *work(("a", "b"), ("b", "a"), lanes=lanes),
            go("a", I, lanes=lanes), go("b", I + 1, lanes=lanes))
    clear = each((span("i", 0, N), lanes, LINE), put("x", (I, J, D), lit(0.0)))
    assert touching(carried(rows(*body)), "'x'") == 4
    assert touching(carried(clear, rows(*body)), "'x'") == 2


def test_zeros_need_no_memory():
    assert touching(carried(CLEAR, rows(*BOTH)), "'x'") == 2


def test_zeros_in_pieces():
    pieces = [each((span("i", a, b), LANES, span("d", c, e)), put("x", (I, J, D), lit(0.0)))
              for a, b, c, e in ((0, 1, 0, K), (1, N, 0, 2), (1, N, 2, K))]
    assert touching(carried(*pieces, rows(*BOTH)), "'x'") == 2
    for gone in range(3):
        assert touching(carried(*pieces[:gone], *pieces[gone + 1:], rows(*BOTH)), "'x'") == 6


@pytest.mark.parametrize("clear", [
    each((span("i", 1, N), LANES, LINE), put("x", (I, J, D), lit(0.0))),
    each((span("i", 0, N - 1), LANES, LINE), put("x", (I, J, D), lit(0.0))),
    each((span("i", 0, N), LANES, span("d", 0, K - 1)), put("x", (I, J, D), lit(0.0))),
    each((span("i", 0, N), span("j", LOW, LOW + W - 1), LINE), put("x", (I, J, D), lit(0.0))),
    each((span("i", 0, N), LANES, LINE), put("x", (I, J, D), lit(1.0))),
    each((span("i", 0, N), LANES, LINE), put("x", (I, J, D), lit(0.0), "+")),
], ids=["not the first", "not the last", "shorter", "fewer lanes", "ones", "nothing added"])
def test_what_is_not_all_zero_is_fetched(clear: Map):
    assert touching(carried(clear, rows(*BOTH)), "'x'") == 5


def test_zeros_that_somebody_changed():
    assert touching(carried(CLEAR, one("x", (2, 2, 2), lit(3.0)), rows(*BOTH)), "'x'") == 6
    assert touching(carried(CLEAR, one("c", (2,), at("x", 2, 2, 2)), rows(*BOTH)), "'x'") == 6


def test_zeros_outside_stay():
    """The loop replaces rows 2 to 5."""
    assert touching(carried(CLEAR, rows(*BOTH, r=span("i", 2, 5))), "'x'") == 3
    parts = [each((span("i", a, b), LANES, LINE), put("x", (I, J, D), lit(0.0))) for a, b in ((0, 2), (2, 6), (6, N))]
    assert touching(carried(*parts, rows(*BOTH, r=span("i", 2, 5))), "'x'") == 4
    beside = each((span("i", 0, N), span("j", LOW + W, LOW + 2 * W), LINE), put("x", (I, J, D), lit(0.0)))
    assert touching(carried(beside, CLEAR, rows(*BOTH), strips=1), "'x'") == 3
    upper = come("a", I), come("b", I + 1), *work(("b", "a")), go("b", I + 1)
    assert touching(carried(CLEAR, rows(*upper)), "'x'") == 2


def planes(w, v):
    """A solve per column, whose coefficients come from two planes."""
    u = np.zeros_like(v)
    for i in range(v.shape[0]):
        c = np.zeros_like(v[0])
        for k in range(1, v.shape[2]):
            c[:, k] = (w[i, :, k] + w[i + 1, :, k] * v[i, :, k]) / (3 + c[:, k - 1] * w[i + 1, :, k - 1])
            u[i, :, k] = c[:, k] * v[i, :, k - 1]
    return np.sum(u * u)


@pytest.mark.parametrize("count", [2, 3])
def test_columns_of_planes_that_meet(count: int):
    """Cotangents of a plane come from two iterations, last one first."""
    rng = np.random.default_rng(count)
    given = rng.random((count + 1, 320, 16)), rng.random((count, 320, 16))
    some = [a[:, 100:101] for a in given]
    gradient = sdfgad.grad(planes, wrt=("w", "v"))
    program = gradient._derivative(bind(planes, given, {}), False).program
    assert sum("'grad_w'" in str(s.body) for s in statements(program.body) if isinstance(s, Map)) == 2
    for k, found in enumerate(gradient(*given)):
        np.testing.assert_allclose(found[:, 100:101], numerical_gradient(planes, some, k), rtol=1e-5, atol=1e-7)
