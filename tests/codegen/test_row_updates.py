"""Updates of rows, columns and elements between stencils: every call gives the same, whatever else threads do.

The adjoint of a stencil runs over bands of rows. What one row gets beside it is added by the thread that has the row,
and must not be touched by those that have not.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sdfgad
from sdfgad.codegen.cpp import Frame, Writer
from sdfgad.codegen.cpu.nests import tile_loops
from sdfgad.codegen.cpu.nests.emit import emit_map
from sdfgad.codegen.cpu.nests.term_loops import require_terms, trip_tests
from sdfgad.codegen.cpu.nests.tiles import plan_tile
from sdfgad.codegen.cpu.order.pieces import Extent, Kernel
from sdfgad.codegen.cpu.text.own_elements import require_own_elements
from sdfgad.errors import InvariantError
from sdfgad.ir.index import ix, maximum, minimum
from sdfgad.ir.program import Range
from tests.codegen.build_programs import F8, load, mapped, mul, program, span, store

N, STEPS, CALLS = 100, 40, 150


def around(q: np.ndarray) -> np.ndarray:
    return q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2] - 4 * q[1:-1, 1:-1]


def row_after(c, w, d):
    p = np.zeros(c.shape)
    q = np.zeros(c.shape)
    r = np.zeros(c.shape)
    for t in range(w.shape[0]):
        r[1:-1, 1:-1] = 2 * q[1:-1, 1:-1] - p[1:-1, 1:-1] + c[1:-1, 1:-1] * around(q)
        r[5, :] += w[t] * c[5, :]
        p, q, r = q, r, p
    return np.sum((q - d) ** 2)


def rows_before(c, w, d):
    q = d * 0.5
    for t in range(w.shape[0]):
        q[7, 1:] += w[t] * c[7, 1:] * q[7, :-1]
        q[90:93, :] += w[t] * c[90:93, :]
        q[1:-1, 1:-1] += 0.1 * c[1:-1, 1:-1] * around(q)
    return np.sum(q * q)


def columns_elements_triangles(c, w, d):
    q = d * 0.5
    for t in range(w.shape[0]):
        q[1:-1, 1:-1] += 0.1 * c[1:-1, 1:-1] * around(q)
        q[:, 3] += w[t] * c[:, 3]
        q[20, 30] += w[t] * c[20, 30]
        q[t, :t] += w[t] * c[60, :t]
        q[:, 5] *= c[70, 70]
    return np.sum(q * q)


def along_a_line(c, w, d):
    k, q = c.reshape(-1), d.reshape(-1) * 0.5
    for t in range(w.shape[0]):
        q[1:-1] += 0.1 * k[1:-1] * (q[2:] - 2 * q[1:-1] + q[:-2])
        q[40] += w[t] * k[40]
        q[300:303] += w[t] * k[300:303]
    return np.sum(q * q)


PROGRAMS = (row_after, rows_before, columns_elements_triangles, along_a_line)


def sample() -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(3)
    return random.random((N, N)) * 0.1, random.random(STEPS), random.random((N, N))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_every_call_gives_the_same(function: Callable[..., float]) -> None:
    arguments = sample()
    gradient = sdfgad.grad(function, wrt=("c", "d"))
    with sdfgad.config(num_threads=1):
        expected = [np.array(gradient(*arguments)[n]) for n in ("c", "d")]
    for threads in (2, 3):
        with sdfgad.config(num_threads=threads):
            for _ in range(CALLS):
                found = gradient(*arguments)
                for n, e in zip(("c", "d"), expected, strict=True):
                    assert np.max(np.abs(found[n] - e)) <= 1e-12 * np.max(np.abs(e))


BLOCK = span("block", 8)
CLIPPED = Range("k", maximum(ix(5), ix("block") * 8), minimum(ix(60), ix("block") * 8 + 8))
"""The terms that one of several threads has, if any."""
SUM = mapped([span("i", 64), span("j", 64), CLIPPED], store("y", ["i", "j"], mul(load("x", "i", "k"),
                                                                                load("z", "k", "j")), "+"))
FRAME = Frame(program((SUM,), {n: ((64, 64), F8) for n in "xyz"}, {}).arrays).inside([BLOCK])


def test_a_sum_without_terms_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plan_tile(FRAME, SUM) is not None
    writer = Writer()
    emit_map(writer, FRAME, SUM)
    text = writer.text
    assert text.index("if (sg::greatest(5, 8*s_block) < sg::least(60, 8*s_block + 8))") < text.index("= sg::load<")
    monkeypatch.setattr(tile_loops, "trip_tests", lambda bounds, loops: ())
    with pytest.raises(InvariantError, match="may add nothing: k"):
        emit_map(Writer(), FRAME, SUM)


def test_what_runs_once_or_not_at_all_is_no_sum() -> None:
    row = Range("k", maximum(ix(5), ix("block") * 8), minimum(ix(6), ix("block") * 8 + 8))
    around_it = FRAME.inside([span("t", 64)])
    one = mapped([row, span("j", 64)], store("y", [5, "j"], mul(load("x", "t", 5), load("z", 5, "j")), "+"))
    assert plan_tile(around_it, one) is None


def test_loops_are_tested_where_one_look_tells() -> None:
    inner = span("l", 0, ix("k") - 5)
    whole = span("m", 7)
    bounds = FRAME.inside([CLIPPED, inner, whole]).bounds
    assert trip_tests(bounds, (CLIPPED, whole)) == (CLIPPED,)
    assert trip_tests(bounds, (CLIPPED, inner)) is None
    require_terms(bounds, (whole,), ())
    with pytest.raises(InvariantError):
        require_terms(bounds, (CLIPPED, inner), (CLIPPED, inner))


@pytest.mark.parametrize("domain, index, fine", [
    ((CLIPPED, span("j", 64)), [3, "j"], True),
    ((span("j", 64),), ["block", "j"], True),
    ((span("i", 0, "block"), span("j", "i")), [3, "j"], True),
    ((span("i", 64), span("j", 64)), ["i", "j"], False),
], ids=["where rows of the block are", "a row of its own", "as many as the block says", "all of them"])
def test_points_of_a_kernel_store_what_is_theirs(domain: tuple[Range, ...], index: list[int | str], fine: bool) -> None:
    stmt = mapped(domain, store("y", index, load("x", 0, "j"), "+"))
    kernel = Kernel((Extent(BLOCK, 8),), (stmt,), False, (stmt,))
    if fine:
        require_own_elements(kernel)
        return
    with pytest.raises(InvariantError, match="elements of y"):
        require_own_elements(kernel)
