"""What the contributions of a cotangent share is computed once, and only where that is no loss."""
from __future__ import annotations

import numpy as np
import pytest

import sdfgad
from sdfgad.ir.expr import Call, Expr, call
from sdfgad.ir.index import ix
from sdfgad.ir.program import Store
from sdfgad.reverse.factors import factor_out
from sdfgad.reverse.gather import GatheredTerm
from tests.codegen.build_programs import F8, compare, load, mapped, mul, num, span, store

I = ix("i")
G = load("g", I)
TARGET = mapped([span("i", 1, 9)], store("g", (I,), num(0.0)))
QUOTIENT = call("div", G, load("p", I))
QUOTIENT_OF_DATA = call("div", load("x", I), load("p", I))


def factored(*terms: Expr) -> tuple[Expr, list[Expr]] | None:
    """The shared part and the terms made of it."""
    part = TARGET.body[0]
    assert isinstance(part, Store)
    found = factor_out(TARGET, part, [GatheredTerm("y", (I - k,), e) for k, e in enumerate(terms)])
    return found and (found[0].body[0].expr, [t.expr for t in found[1]])


def test_a_quotient_that_all_terms_share_is_stored_first() -> None:
    assert factored(mul(num(2.0), QUOTIENT), mul(load("x", I), QUOTIENT)) == (
        QUOTIENT, [mul(num(2.0), G), mul(load("x", I), G)])


def test_the_largest_shared_part_is_taken() -> None:
    scaled = mul(load("x", I), QUOTIENT)
    assert factored(scaled, call("neg", scaled)) == (scaled, [G, call("neg", G)])


def test_a_cotangent_may_occur_several_times_in_the_shared_part() -> None:
    guarded = call("select", compare("eq", G, num(0.0)), num(0.0), QUOTIENT, dtype=F8)
    assert factored(mul(num(2.0), guarded), guarded) == (guarded, [mul(num(2.0), G), G])


@pytest.mark.parametrize(("name", "terms"), [
    ("one term", (mul(num(2.0), QUOTIENT),)),
    ("nothing costly", (mul(load("x", I), G), mul(num(2.0), mul(load("x", I), G)))),
    ("the same for all points", tuple(mul(num(k), mul(call("div", num(1.0), load("c")), G)) for k in (2.0, 3.0))),
    ("a term looks at the cotangent itself", (QUOTIENT, call("add", QUOTIENT, G))),
    ("different quotients", (QUOTIENT, call("div", G, load("q", I)))),
    ("needed in one branch only, beyond which the divisor may end", tuple(
        call("select", compare("lt", load("x", I), num(0.0)), mul(num(c), QUOTIENT), num(0.0), dtype=F8)
        for c in (2.0, 3.0))),
    ("costly as a condition only", tuple(
        mul(num(c), call("select", compare("gt", QUOTIENT_OF_DATA, num(0.0)), G, num(0.0), dtype=F8))
        for c in (2.0, 3.0))),
], ids=lambda v: v if isinstance(v, str) else "")
def test_nothing_is_shared(name: str, terms: tuple[Call, ...]) -> None:
    assert factored(*terms) is None


def solve(p, q, u):  # type: ignore[no-untyped-def]
    for j in range(1, q.shape[1]):
        q[1:-1, j] = (u[:-2, j] - 2.0 * u[1:-1, j] + u[2:, j] - 0.5 * q[1:-1, j - 1]) / (p[1:-1, j - 1] + 2.0)
    return np.sum(q * q)


def test_gradients_stay_right() -> None:
    rng = np.random.default_rng(0)
    sdfgad.check_grads(solve, rng.random((7, 5)), rng.random((7, 5)), rng.random((7, 5)))
