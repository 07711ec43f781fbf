"""Powers of two divided by the same number take one division."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.codegen.cpu.schedule.quotients.shared_quotients import share_quotients
from sdfgad.ir.expr import Call, Expr, Load, call, const, walk
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Map, Program, Store
from sdfgad.ir.walk import statements
from tests.support.build import F8, each, span
from tests.support.oracle import check_same

N = 8
X = Load("x", (ix("i"),), F8)


def over(top: float, below: Expr = X) -> Call:
    return call("div", const(top, below.dtype), below)


def divisions(*values: Expr, x: np.ndarray | None = None) -> int:
    """How many divisions are left; each value is the same to the last bit."""
    names = [f"y{k}" for k in range(len(values))]
    arrays = {n: Array(n, (N,), F8, "argument") for n in ("x", *names)}
    body = (each((span("i", 0, N),), *(Store(n, (ix("i"),), v) for n, v in zip(names, values, strict=True))),)
    before = Program("p", arrays, tuple(arrays), body)
    after = share_quotients(before)
    data = {n: np.linspace(0.3, 9.7, N) for n in arrays}
    check_same(before, after, data if x is None else {**data, "x": x}, tolerance=0.0)
    return len({n for s in statements(after.body) if isinstance(s, Map) for p in s.body
                for n in walk(p.expr) if isinstance(n, Call) and n.fn == "div"})


def test_one_division_is_left() -> None:
    assert divisions(over(1.0), over(0.5), over(-4.0)) == 1


def test_within_one_expression() -> None:
    assert divisions(call("add", over(1.0), call("mul", over(0.25), over(2.0)))) == 1


@pytest.mark.parametrize("x", [0.0, -0.0, np.inf, np.nan, 5e-309, 1e-320, -1e-308])
def test_the_same_at_the_ends(x: float) -> None:
    assert divisions(over(1.0), over(0.5), x=np.full(N, x)) == 1


@pytest.mark.parametrize("values", [
    (over(1.0), over(3.0)),
    (over(1.0), over(0.5, Load("x", (ix(3),), F8))), (over(1.0), over(0.0)), (over(1.0), over(np.inf)),
], ids=["no power of two", "another number", "zero", "infinity"])
def test_left_alone(values: tuple[Expr, ...]) -> None:
    assert divisions(*values) == 2
