"""Lines that a map adds to for the same elements are one line; the interpreter sees no difference."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sdfgad.ir.index import ix
from sdfgad.ir.program import Map, Program, Store
from sdfgad.ir.walk import statements
from sdfgad.transform.sums.join_lines import join_lines
from tests.support.build import at, each, lit, loop, program, put, span
from tests.support.oracle import check_same

N = 5
X = np.linspace(0.3, 2.1, N * N).reshape(N, N)
ROW = (span("j", 0, N),)
BOX = (span("i", 0, N), span("j", 0, N))
F, G = at("x", "i", "j") * 2.0, at("x", "i", "j") + 1.0


def zeros(name: str, value: float = 0.0) -> Map:
    return each(ROW, put(name, ("j",), lit(value)))


def end(name: str, target: str = "y", var: str = "j") -> Map:
    return each((span(var, 0, N),), put(target, (var,), at(name, var), "+"))


def sums(*parts: Any) -> Map:
    return each(BOX, *(parts or (put("a", ("j",), F, "+"), put("b", ("j",), G, "+"))))


def made(*body: Any) -> Program:
    return program({"x": X}, list(body), y=(N,), z=(N,), a=(N,), b=(N,), c=(N,))


def joined(before: Program, seen: tuple[str, ...] = ("y", "z")) -> set[str]:
    """The lines that are left after the pass, which must not change what is `seen`."""
    after = join_lines(before.but(live_out=frozenset(seen)))
    kept = before.but(arguments=("x", *seen))
    start = {n: np.linspace(1.0, 2.0, N) for n in seen} | {"x": X}
    check_same(kept, after.but(arguments=kept.arguments), start, tolerance=1e-14)
    return {p.array for s in statements(after.body) if isinstance(s, Map) for p in s.body
            if isinstance(p, Store)} & {"a", "b", "c"}


def test_two_lines_are_one() -> None:
    assert len(joined(made(zeros("a"), zeros("b"), sums(), end("a"), end("b")))) == 1


def test_the_variables_may_have_other_names_and_additions_come_in_between() -> None:
    other = each(ROW, put("y", ("j",), at("x", 0, "j"), "+"))
    assert len(joined(made(zeros("a"), zeros("b"), sums(), end("a"), other, end("b", var="k")))) == 1


def test_three_lines_are_one() -> None:
    three = sums(put("a", ("j",), F, "+"), put("b", ("j",), G, "+"), put("c", ("j",), F * G, "+"))
    assert len(joined(made(*map(zeros, "abc"), three, *map(end, "abc")))) == 1


APART = {
    "other targets": (zeros("a"), zeros("b"), sums(), end("a"), end("b", "z")),
    "other elements": (zeros("a"), zeros("b"), sums(put("a", ("j",), F, "+"), put("b", ("i",), G, "+")), end("a"),
                       end("b")),
    "not from zero": (zeros("a"), zeros("b", 1.0), sums(), end("a"), end("b")),
    "neither from zero": (zeros("a", 1.0), zeros("b", 1.0), sums(), end("a"), end("b")),
    "read in a loop": (zeros("a"), zeros("b"), sums(), end("a"), end("b"), loop(span("t", 0, 2), end("b", "z"))),
    "read in between": (zeros("a"), zeros("b"), sums(), end("a"), end("y", "z"), end("b")),
    "replaced in between": (zeros("a"), zeros("b"), sums(), end("a"), zeros("y"), end("b")),
    "read twice": (zeros("a"), zeros("b"), sums(), end("a"), end("b"), end("b", "z")),
    "other maps": (zeros("a"), zeros("b"), sums(put("a", ("j",), F, "+")), sums(put("b", ("j",), G, "+")), end("a"),
                   end("b")),
    "turned": (zeros("a"), zeros("b"), sums(), end("a"),
               each(ROW, put("y", (ix(N - 1) - ix("j"),), at("b", "j"), "+"))),
    "partly": (zeros("a"), zeros("b"), sums(), end("a"),
               each((span("j", 1, N),), put("y", ("j",), at("b", "j"), "+"))),
    "a product": (zeros("a"), zeros("b"), sums(put("a", ("j",), F, "+"), put("b", ("j",), G, "*")), end("a"),
                  end("b")),
}


@pytest.mark.parametrize("body", APART.values(), ids=APART)
def test_lines_that_differ_stay(body: tuple[Map, ...]) -> None:
    assert joined(made(*body)) == {"a", "b"}


def test_lines_that_are_seen_stay() -> None:
    assert joined(made(zeros("a"), zeros("b"), sums(), end("a"), end("b")), ("y", "a", "b")) == {"a", "b"}
