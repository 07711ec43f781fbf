"""Several rows at a time: what is left over, what is added up, and which nests are left as they are."""
from __future__ import annotations

import pytest

from sdfgad.codegen.cpp import Frame
from sdfgad.codegen.cpu.order import row_blocks
from sdfgad.codegen.cpu.order.row_blocks import ROWS, block_rows, write_out_few
from sdfgad.ir.index import ix
from sdfgad.ir.program import Loop, Map, Program
from tests.codegen.build_programs import F8, I8, agree, load, mapped, mul, num, program, span, store
from tests.support.oracle import check_same

N, M = 19, 20
ROW, COLUMN = span("i", N), span("j", M)


def build(*body: object) -> Program:
    matrix, rows, columns = ((N, M), F8), ((N,), F8), ((M,), F8)
    arrays = {**dict.fromkeys(("x", "y", "z"), matrix), **dict.fromkeys(("s", "a"), rows),
              **dict.fromkeys(("t", "b"), columns), "q": ((M, N), F8), "n": ((N, M), I8), "m": ((M,), I8)}
    return program(body, arrays, {})


def blocked(stmt: Map) -> tuple[Map, ...]:
    """The maps in its place; they leave the same."""
    before = build(stmt)
    made = block_rows(Frame(before.arrays), stmt)
    check_same(before, before.but(body=made), tolerance=1e-13)
    return made


TO_COLUMNS = mapped([ROW, COLUMN], store("t", ["j"], mul(load("x", "i", "j"), load("a", "i")), "+"))
TO_ROWS = mapped([ROW, COLUMN], store("s", ["i"], mul(load("x", "i", "j"), load("b", "j")), "+"))
RECORD = mapped([ROW, COLUMN], store("t", ["j"], load("x", "i", "j"), "+"),
                store("y", ["i", "j"], load("x", "i", "j")))
BOTH = mapped([ROW, COLUMN], store("t", ["j"], load("x", "i", "j"), "+"),
              store("s", ["i"], load("x", "i", "j"), "+"), store("y", ["i", "j"], load("b", "j"), "+"))


@pytest.mark.parametrize("stmt, stores", [(TO_COLUMNS, 1), (TO_ROWS, ROWS), (RECORD, 1 + ROWS), (BOTH, 1 + 2 * ROWS)],
                         ids=["to columns", "to rows", "with a record", "both ways"])
def test_rows_at_a_time_and_the_rest(stmt: Map, stores: int) -> None:
    whole, rest = blocked(stmt)
    assert [r.trips for r in whole.domain] == [N // ROWS, M]
    assert [r.trips for r in rest.domain] == [N % ROWS, M]
    assert len(whole.body) == stores


def test_rows_that_begin_anywhere_and_leave_no_rest() -> None:
    stmt = mapped([span("i", 2, 10), COLUMN], *TO_COLUMNS.body)
    assert len(blocked(stmt)) == 1


def test_rows_up_to_a_moving_one():
    """As many as there are, which may be none."""
    stmt = mapped([span("i", 1, "k"), COLUMN], *BOTH.body)
    before = build(stmt)
    blocks, rest = block_rows(Frame(before.arrays).inside([span("k", N)]), stmt)
    assert [(r.step, r.stop) for r in blocks.domain[:1]] == [(ROWS, ix("k") - (ROWS - 1))]
    assert rest.body == stmt.body
    for whole in (build(Loop(span("k", N), (stmt,))), build(Loop(span("k", N), (blocks, rest)))):
        check_same(build(Loop(span("k", N), (stmt,))), whole, tolerance=1e-13)
    agree(build(Loop(span("k", N), (stmt,))))


def some_sums(sums: int, rows: int = ROWS) -> Map:
    """Sums of each row with rows of a matrix that all of them share."""
    body = [store("y", ["i", k], mul(load("x", "i", "j"), load("z", k, "j")), "+") for k in range(sums)]
    return mapped([span("i", rows), COLUMN], *body)


def test_a_few_rows_with_many_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sums of four rows are kept in registers, where there are enough of them."""
    for registers, fits in ((32, True), (16, False)):
        monkeypatch.setattr(row_blocks, "vector_registers", lambda n=registers: n)
        made = blocked(some_sums(4))
        assert [len(s.body) for s in made] == [4 * ROWS if fits else 4]
    monkeypatch.setattr(row_blocks, "vector_registers", lambda: 32)
    assert len(blocked(some_sums(6))[0].body) == 4 * 6 and len(blocked(some_sums(7))[0].body) == 7
    assert len(blocked(some_sums(4, ROWS + 1))[0].body) == 4
    agree(build(some_sums(4)))


@pytest.mark.parametrize("stmt", [
    mapped([ROW, COLUMN], store("y", ["i", "j"], load("x", "i", "j"))),
    mapped([ROW, COLUMN], store("s", ["i"], load("x", "i", "j"), "+")),
    mapped([span("i", 2 * ROWS - 1), COLUMN], *TO_COLUMNS.body),
    mapped([ROW, span("j", "i", M)], *TO_COLUMNS.body),
    mapped([span("i", 0, N, step=2), COLUMN], *TO_COLUMNS.body),
    mapped([ROW, COLUMN], store("t", ["j"], load("x", "i", "j"), "max")),
    mapped([ROW, COLUMN], store("b", ["j"], load("x", "i", "j"), "max"), *TO_COLUMNS.body),
    mapped([ROW, COLUMN], store("m", ["j"], load("n", "i", "j", dtype=I8), "+")),
    mapped([ROW, COLUMN], store("t", ["j"], num(1.0)), store("t", ["j"], load("x", "i", "j"), "+")),
    mapped([COLUMN], store("t", ["j"], load("b", "j"), "+")),
], ids=["nothing in common", "sums of their own", "a few short rows", "a triangle", "other steps", "maxima",
        "maxima and sums", "integers", "what all rows set", "one row"])
def test_what_stays_as_it_is(stmt: Map) -> None:
    before = build(stmt)
    assert block_rows(Frame(before.arrays), stmt) == (stmt,)


FEW = (3, 64)
LONG = mapped([span("i", FEW[0]), span("j", FEW[1])],
              store("t", ["j"], mul(load("x", "i", "j"), load("a", "i")), "+"))
INSIDE = mapped(reversed(LONG.domain), store("t", ["j"], mul(load("y", "j", "i"), load("a", "i")), "+"))


def few_rows(*body: object) -> Program:
    return program(body, {"x": (FEW, F8), "y": (FEW[::-1], F8), "a": (FEW[:1], F8), "t": (FEW[1:], F8),
                          "u": (FEW[1:], F8)}, {})


@pytest.mark.parametrize("stmt", [LONG, INSIDE], ids=["around longer ones", "in each of many"])
def test_sums_of_a_few_rows_are_written_out(stmt: Map) -> None:
    before = few_rows(stmt)
    made = write_out_few(Frame(before.arrays), stmt)
    assert [r.var for r in made.domain] == ["j"] and len(made.body) == 1
    check_same(before, before.but(body=(made,)), tolerance=1e-13)
    agree(before)


@pytest.mark.parametrize("stmt", [
    mapped(LONG.domain, store("t", ["j"], mul(load("x", "i", "j"), load("t", "j")), "+")),
    mapped(LONG.domain, *LONG.body, store("u", ["j"], mul(load("t", "j"), load("a", "i")), "+")),
    mapped(LONG.domain, store("t", ["j"], load("x", "i", "j"), "max")),
    mapped(LONG.domain, store("x", ["i", "j"], load("a", "i"), "+")),
    mapped([span("i", 0, FEW[0], step=2), LONG.domain[1]], *LONG.body),
    mapped([LONG.domain[0], span("j", "i", FEW[1])], *LONG.body),
    mapped([LONG.domain[0], span("j", 20)], *LONG.body),
], ids=["reads what it adds to", "reads a sum", "maxima", "rows of their own", "other steps", "a triangle",
        "short rows"])
def test_other_few_rows_stay(stmt: Map) -> None:
    assert write_out_few(Frame(few_rows(stmt).arrays), stmt) is stmt


def test_native_code() -> None:
    """Rows below a moving row, too, some of which do not run."""
    below = mapped([ROW, span("j", ix("k") + 1, M)], *BOTH.body)
    agree(build(TO_COLUMNS, TO_ROWS, RECORD, BOTH, Loop(span("k", M), (below,))))
