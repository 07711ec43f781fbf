"""Sums of products become matrix products: every shape against the interpreter, and what is none is left alone."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sdfgad.ir.algebra import Term, where
from sdfgad.ir.expr import Call
from sdfgad.ir.program import Array, Lib, Loop, Map, Program, Range, Stmt
from sdfgad.ir.text import program_text
from sdfgad.ir.walk import statements
from sdfgad.transform.products.contract import contract
from tests.support.build import C16, F8, at, each, loop, position, put, span
from tests.support.oracle import Arrays, check_same, sample
from tests.support.thresholds import change

N, M, K = 5, 6, 4


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also tiny products are contracted here: the interpreter is slow."""
    change(monkeypatch, contracted_product=1, contracted_extent=1)


def program(body: Sequence[Stmt], dtype: np.dtype = F8, **shapes: tuple[int, ...]) -> Program:
    arrays = {n: Array(n, s, dtype, "argument") for n, s in shapes.items()}
    return Program("p", arrays, tuple(shapes), tuple(body))


def products(p: Program) -> list[Lib]:
    return [s for s in statements(p.body) if isinstance(s, Lib)]


def check(p: Program, expected: int, given: Arrays | None = None) -> Program:
    """The pass keeps the meaning; the number of products is as expected."""
    after = contract(p)
    assert len(products(after)) == expected, program_text(after)
    check_same(p, after, given or {}, tolerance=1e-12)
    return after


BOX = (span("i", 0, N), span("j", 0, M), span("k", 0, K))


def test_a_box_becomes_one_product() -> None:
    p = program([each(BOX, put("C", ("i", "j"), at("A", "i", "k") * at("B", "k", "j"), "+"))],
                A=(N, K), B=(K, M), C=(N, M))
    after = check(p, 1)
    assert len(after.body) == 1 and set(after.arrays) == {"A", "B", "C"}


@pytest.mark.parametrize("order", ["ik kj ij", "ki kj ij", "ik jk ij", "ki jk ij", "ik kj ji", "ki jk ji"])
def test_transposed_operands_are_views(order: str) -> None:
    size = {"i": N, "j": M, "k": K}
    a, b, c = order.split()
    p = program([each(BOX, put("C", c, at("A", *a) * at("B", *b), "+"))],
                **{n: tuple(size[v] for v in f) for n, f in (("A", a), ("B", b), ("C", c))})
    assert len(check(p, 1).body) == 1


def test_offsets_strides_and_slices() -> None:
    ranges = (span("i", 1, N), span("j", 2, M), span("k", 0, K))
    value = at("A", "i", span("i", 0, 1).start + 2, "k") * at("B", 1, "k", (position("j").expr.ix) * 2 - 3)
    p = program([each(ranges, put("C", (position("i").expr.ix - 1, "j"), value, "+"))],
                A=(N, 3, K), B=(2, K, 2 * M), C=(N, M))
    assert len(check(p, 1).body) == 1


def test_numbers_and_scalars_scale_the_product() -> None:
    value = at("s") * (at("A", "i", "k") * 2.0) * at("B", "k", "j") * at("x", 1)
    p = program([each(BOX, put("C", ("i", "j"), -value / at("t"), "+"))],
                A=(N, K), B=(K, M), C=(N, M), s=(), t=(), x=(3,))
    after = check(p, 1)
    assert sum(isinstance(s, Map) for s in after.body) == 1  # the scale, nothing else


def test_factors_of_one_variable() -> None:
    value = at("A", "i", "k") * at("B", "k", "j")
    for extra in ("i", "j", "k"):
        p = program([each(BOX, put("C", ("i", "j"), value * at("x", extra), "+"))],
                    A=(N, K), B=(K, M), C=(N, M), x=(8,))
        check(p, 1)


def test_a_factor_of_the_target_multiplies_the_result() -> None:
    value = at("A", "i", "k") * at("B", "k", "j") * at("D", "i", "j")
    check(program([each(BOX, put("C", ("i", "j"), value, "+"))], A=(N, K), B=(K, M), C=(N, M), D=(N, M)), 1)


def test_operands_that_are_computed() -> None:
    value = (at("A", "i", "k") + at("D", "k", "i")) * at("B", "k", "j").apply("exp")
    check(program([each(BOX, put("C", ("i", "j"), value, "+"))], A=(N, K), B=(K, M), C=(N, M), D=(K, N)), 1)


def test_several_terms_and_what_remains() -> None:
    value = at("A", "i", "k") * at("B", "k", "j") - at("D", "i", "k") * at("B", "k", "j") + at("A", "i", "k")
    after = check(program([each(BOX, put("C", ("i", "j"), value, "+"))], A=(N, K), B=(K, M), C=(N, M), D=(N, K)), 2)
    assert sum(isinstance(s, Map) for s in after.body) == 1


@pytest.mark.parametrize("conj", ["", "a", "b", "ab"])
def test_complex_and_conjugated(conj: str) -> None:
    a, b = at("A", "i", "k", dtype=C16), at("B", "k", "j", dtype=C16)
    a, b = (Term(Call("conj", (v.expr,), C16)) if n in conj else v for n, v in (("a", a), ("b", b)))
    p = program([each(BOX, put("C", ("i", "j"), a * b * (0.5 + 1j), "+"))], C16, A=(N, K), B=(K, M), C=(N, M))
    assert len(check(p, 1).body) == 1


TRIANGLES = {
    "k below i": ((span("i", 0, N), span("j", 0, M), span("k", 0, "i")), ("A", lambda i, k: k >= i)),
    "k above i": ((span("i", 0, N), span("j", 0, M), span("k", "i", N)), ("A", lambda i, k: k < i)),
    "k below j": ((span("i", 0, N), span("j", 0, N), span("k", 0, "j")), ("B", lambda k, j: k >= j)),
    "j above k": ((span("i", 0, N), span("k", 0, N), span("j", "k", N)), ("B", lambda k, j: j < k)),
}


@pytest.mark.parametrize("name", TRIANGLES)
def test_a_triangular_operand_is_masked_not_multiplied_by_zero(name: str) -> None:
    ranges, (array, outside) = TRIANGLES[name]
    value = at("A", "i", "k") * at("B", "k", "j")
    p = program([each(ranges, put("C", ("i", "j"), value, "+"))], A=(N, N), B=(N, M), C=(N, M))
    poisoned = sample(p.arrays[array], 1)
    poisoned[outside(*np.indices(poisoned.shape))] = np.nan
    after = check(p, 1, {array: poisoned})
    assert all(a.shape == () or max(a.shape) <= N for n, a in after.arrays.items() if n.startswith("factor"))


@pytest.mark.parametrize("ranges", [
    (span("i", 0, N), span("j", 0, "i"), span("k", 0, K)),
    (span("i", 0, N), span("j", "i", N), span("k", 0, K)),
    (span("j", 0, N), span("i", 0, "j"), span("k", 0, K)),
    (span("i", 0, N), span("k", 0, K), span("j", 0, position("i").expr.ix * -1 + N)),
])
def test_a_triangular_target_takes_its_part_of_the_product(ranges: tuple[Range, ...]) -> None:
    p = program([each(ranges, put("C", ("i", "j"), at("A", "i", "k") * at("A", "j", "k"), "+"))], A=(N, K), C=(N, N))
    check(p, 1)


def test_two_triangles() -> None:
    ranges = (span("i", 0, N), span("k", 0, position("i").expr.ix + 1), span("j", 0, position("k").expr.ix + 1))
    p = program([each(ranges, put("C", ("i", "j"), at("A", "i", "k") * at("B", "k", "j"), "+"))],
                A=(N, N), B=(N, N), C=(N, N))
    check(p, 1)


def test_shifted_variables_are_untangled() -> None:
    """The loop of a product with the transpose of a triangle, as slices write it."""
    row = position("d").expr.ix + "i" + 1
    ranges = (span("i", 0, N), span("j", 0, M), span("d", 0, position("i").expr.ix * -1 + N - 1))
    p = program([each(ranges, put("C", ("i", "j"), at("A", row, "i") * at("B", row, "j"), "+"))],
                A=(N, N), B=(N, M), C=(N, M))
    check(p, 1)


def test_batches_are_a_loop_of_products() -> None:
    ranges = (span("b", 0, 3), *BOX)
    p = program([each(ranges, put("C", ("b", "i", "j"), at("A", "b", "i", "k") * at("B", "b", "k", "j"), "+"))],
                A=(3, N, K), B=(3, K, M), C=(3, N, M))
    after = check(p, 1)
    assert isinstance(after.body[0], Loop)


def test_two_summed_variables_and_a_triangle_in_the_batch() -> None:
    ranges = (span("b", 0, 3), span("i", 0, N), span("j", 0, M), span("k", "b", K))
    p = program([each(ranges, put("C", ("i", "j"), at("A", "b", "i", "k") * at("B", "b", "k", "j"), "+"))],
                A=(3, N, K), B=(3, K, M), C=(N, M))
    check(p, 1)


def test_bounds_that_a_loop_around_decides() -> None:
    """The block of a factorisation: views that change with the loop, and masked copies of changing size."""
    t = position("t").expr.ix
    ranges = (span("i", t + 1, N), span("j", t, N), span("k", 0, t))
    value = at("A", "i", "k") * at("B", "k", "j")
    check(program([loop(span("t", 0, N), each(ranges, put("C", ("i", "j"), value, "+")))],
                  A=(N, N), B=(N, N), C=(N, N)), 1)
    low = (span("i", t, N), span("j", 0, M), span("k", t, "i"))
    check(program([loop(span("t", 0, N), each(low, put("C", ("i", "j"), value, "+")))],
                  A=(N, N), B=(N, M), C=(N, M)), 1)


def test_stores_that_share_a_map_are_separated() -> None:
    stores = (put("C", ("i", "j"), at("A", "i", "k") * at("B", "k", "j"), "+"), put("s", (), at("A", "i", "k"), "+"))
    after = check(program([each(BOX, *stores)], A=(N, K), B=(K, M), C=(N, M), s=()), 1)
    assert len(after.body) == 2


@pytest.mark.parametrize("value", [
    at("x", "i") * at("y", "j"),
    at("A", "i", "k"),
    at("A", "i", "k") * at("A", "i", "k"),
    at("A", "i", "k") * at("E", "i", "j", "k"),
    (at("A", "i", "k") * at("B", "k", "j")).apply("exp"),
    where(position("k").compare("lt", position("i")), at("A", "i", "k") * at("B", "k", "j"), 0.0),
    at("A", "i", "k") * at("B", "k", "j") * at("E", "i", "j", "k"),
    at("A", "i", "k") + at("B", "k", "j"),
], ids=str)
def test_what_is_no_product_is_left_alone(value: Term) -> None:
    p = program([each(BOX, put("C", ("i", "j"), value, "+"))],
                A=(N, K), B=(K, M), C=(N, M), E=(N, M, K), x=(N,), y=(M,))
    assert check(p, 0) == p


def test_a_sum_into_what_it_reads_is_left_alone() -> None:
    ranges = (span("i", 3, N), span("j", 3, M), span("k", 0, 3))
    p = program([each(ranges, put("C", ("i", "j"), at("C", "i", "k") * at("C", "k", "j"), "+"))], C=(M, M))
    assert check(p, 0) == p


def test_a_pyramid_is_left_alone() -> None:
    """A condition on all three variables belongs to no matrix."""
    ranges = (span("i", 0, N), span("j", 0, N), span("k", 0, position("i").expr.ix + "j"))
    p = program([each(ranges, put("C", ("i", "j"), at("A", "i", "k") * at("B", "k", "j"), "+"))],
                A=(N, 2 * N), B=(2 * N, N), C=(N, N))
    assert check(p, 0) == p


def test_rows_that_some_iterations_never_reach_are_not_read() -> None:
    """An element of an operand that no point of the sum uses may be anything, also outside the array."""
    ranges = (span("i", 2, N), span("j", 0, M), span("k", 0, position("i").expr.ix - 1))
    p = program([each(ranges, put("C", ("i", "j"), at("A", "i", "k") * at("B", "k", "j"), "+"))],
                A=(N, N - 2), B=(N - 2, M), C=(N, M))
    check(p, 1)


def test_small_products_stay_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, contracted_product=N * M * K + 1)
    p = program([each(BOX, put("C", ("i", "j"), at("A", "i", "k") * at("B", "k", "j"), "+"))],
                A=(N, K), B=(K, M), C=(N, M))
    assert contract(p) is p
