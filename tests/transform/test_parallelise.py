"""Loops that are maps become maps; loops whose iterations depend on each other stay.

The oracle runs the program before in its order, and the program after twice: once with every map from its end, so that
a map that is none shows.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from sdfgad.ir.algebra import Term, cast
from sdfgad.ir.index import ix, mod
from sdfgad.ir.program import Lib, Loop, Map, Program, Range, View
from sdfgad.ir.walk import all_reads, rebuild, statements
from sdfgad.transform.normal.parallelise import parallelise
from tests.support.build import F8, I8, at, each, lit, loop, number_at, one, position, program, put, span, when
from tests.support.cases import CASES
from tests.support.oracle import check_same, execute, program_gradient

I, J, K = ix("i"), ix("j"), ix("k")
N = 5


def backwards(program_: Program) -> Program:
    """Every map from its last point to its first."""

    def turned(r: Range) -> Range:
        return Range(r.var, r.stop - 1, r.start - 1, -1) if r.step == 1 else r

    return program_.but(body=rebuild(program_.body, lambda s: (
        Map(tuple(map(turned, s.domain)), s.body, s.source) if isinstance(s, Map) else s,)))


def loops(program_: Program) -> int:
    return sum(isinstance(s, Loop) for s in statements(program_.body))


def random_arrays(program_: Program) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {n: rng.uniform(0.3, 1.2, program_.arrays[n].shape) for n in program_.arguments}


def parallel(before: Program, arrays: Mapping[str, np.ndarray] | None = None) -> Program:
    """The program after the pass, with the same value in any order of its maps."""
    arrays = random_arrays(before) if arrays is None else arrays
    expected, _ = execute(before, arrays)
    after = parallelise(before.but(live_out=frozenset({before.returns.array})))
    for made in (after, backwards(after)):
        np.testing.assert_allclose(execute(made, arrays)[0], expected, rtol=1e-13)
    return after


def _added_up(name: str) -> list[Map]:
    """Add every element to s."""
    return [each([span("z0", 0, N), span("z1", 0, N)], put("s", (), at(name, "z0", "z1"), "+"))]


def zeros(name: str, *shape: int) -> Map:
    ranges = [span(f"z{k}", 0, n) for k, n in enumerate(shape)]
    return each(ranges, put(name, [r.var for r in ranges], 0.0))


def on_matrices(*body: object, returns: str = "C", **transients: object) -> Program:
    return program({n: (N, N) for n in "ABC"}, body, returns=returns, **transients)


def product_nest() -> Program:
    """Three loops of a matrix product, written element by element."""
    body = one("C", (I, J), at("C", I, J) + at("A", I, K) * at("B", K, J))
    return on_matrices(loop(span("i", 0, N), loop(span("j", 0, N), loop(span("k", 0, N), body))))


def dot_in_a_scalar() -> Program:
    """Row by row, in place: an element reads rows below, which later iterations overwrite."""
    sums = [one("t", (), 0.0), each(span("k", I + 1, N), put("t", (), at("A", K, I) * at("B", K, J), "+")),
            one("B", (I, J), at("B", I, J) + at("t"))]
    return on_matrices(loop(span("i", 0, N), loop(span("j", 0, N), *sums)), returns="B", t=())


def symmetric_product() -> Program:
    """A row of partial sums that the last statement of the iteration reads; filled by an inner loop."""
    inner = [each(span("d", 0, I), put("C", ("d", J), at("C", "d", J) + 2.0 * at("B", I, J) * at("A", I, "d"))),
             one("t", (), 0.0), each(span("d", 0, I), put("t", (), at("B", "d", J) * at("A", I, "d"), "+")),
             one("row", (J,), at("t"))]
    last = each(span("d", 0, N), put("C", (I, "d"), at("C", I, "d") + (2.0 * at("B", I, "d") * at("A", I, I)
                                                                      + 2.0 * at("row", "d"))))
    return on_matrices(zeros("row", N), loop(span("i", 0, N), loop(span("j", 0, N), *inner), last), t=(), row=(N,))


def written_to_both_triangles() -> Program:
    """A row of sums, scaled and copied to two places that share the diagonal."""
    width = span("d", 0, N - I)
    body = [each(width, put("t", ("d",), 0.0)),
            each([span("k", 0, N), width], put("t", ("d",), at("A", K, I) * at("A", K, ix("d") + I), "+")),
            each(width, put("u", ("d",), at("t", "d") / at("B", 0, 0))),
            each(width, put("C", (ix("d") + I, I), at("u", "d"))),
            each(width, put("C", (I, ix("d") + I), at("u", "d")))]
    return on_matrices(loop(span("i", 0, N), *body), t=(N,), u=(N,))


def two_statements() -> Program:
    """Row after row is scaled, then filled: the second statement of an iteration reads what the first wrote."""
    body = [each(span("d", 0, I + 1), put("C", (I, "d"), at("C", I, "d") * 0.5)),
            loop(span("k", 0, N), each(span("d", 0, I + 1), put(
                "C", (I, "d"), at("C", I, "d") + at("A", I, K) * at("A", "d", K))))]
    return on_matrices(loop(span("i", 0, N), *body))


def second_statement_first() -> Program:
    """The first statement reads what the second wrote one iteration before: all of the second go first."""
    body = [one("A", (I, 0), at("B", I - 1, 1) * 2.0), one("B", (I, 1), at("C", I, 1) * 3.0)]
    return on_matrices(loop(span("i", 1, N), *body), returns="A")


def read_before_overwritten() -> Program:
    return program({"w": (N,)}, [loop(span("i", 0, N - 1), one("w", (I,), at("w", I + 1) * at("w", I)))], returns="w")


def factor_update() -> Program:
    """The second half of an LU step: independent in its column, reading rows above."""
    sums = [one("t", (), 0.0), each(span("d", 0, 2), put("t", (), at("A", 2, "d") * at("A", "d", J), "+")),
            one("A", (2, J), at("A", 2, J) - at("t"))]
    return on_matrices(loop(span("j", 2, N), *sums), returns="A", t=())


def total_of_a_function() -> Program:
    body = one("s", (), at("s") + at("A", I, I).apply("tanh"))
    return on_matrices(one("s", (), 0.0), loop(span("i", 0, N), body), returns="s")


def difference_in_steps() -> Program:
    """Counting down in steps, and subtracting."""
    body = one("A", (I, 0), at("A", I, 0) - at("B", I, 1) * at("A", I, 2))
    return on_matrices(loop(span("i", N - 1, 0, -2), body), returns="A")


def sum_in_branches() -> Program:
    """Two branches that add to one element, and one that does two things."""
    above = at("A", I, J).compare("gt", 0.7)
    squared, less = at("s") + at("A", I, J) * at("A", I, J), at("s") - at("B", I, J)
    body = [when(above, (one("s", (), squared),), (one("s", (), less),)),
            when(position(J).compare("lt", N - 1), (one("C", (I, J), at("A", J, J)), one("s", (), at("s") + 1.0)))]
    nest = loop(span("i", 0, N), loop(span("j", 0, N), *body))
    return on_matrices(one("s", (), 0.0), nest, *_added_up("C"), returns="s")


def matrix_vector_products() -> Program:
    """Row by row of the triangle, as a product of a vector with a matrix that gets smaller."""
    rows, columns = N - 1 - I, ix(N)
    below = View("A", (rows,), (ix("_0") + I + 1, I), F8)
    lower = View("B", (rows, columns), (ix("_0") + I + 1, ix("_1")), F8)
    body = [Lib("matmul", (View("t", (columns,), (ix("_0"),), F8),), (below, lower)),
            each(span("d", 0, N), put("B", (I, "d"), at("B", I, "d") + at("t", "d")))]
    return on_matrices(loop(span("i", 0, N), *body), returns="B", t=(N,))


def mirrored() -> Program:
    """An element of the upper triangle, read back through a temporary and copied to the lower one."""
    body = [one("C", (I, J), at("A", I, J) * at("B", 0, J)), one("t", (), at("C", I, J)), one("C", (J, I), at("t"))]
    return on_matrices(loop(span("i", 0, N), loop(span("j", I, N), *body)), t=())


def upwards_in_steps() -> Program:
    return on_matrices(loop(span("i", 1, N, 3), one("A", (I, 0), at("B", I, 1) * position(I))), returns="A")


INDEPENDENT = (product_nest, dot_in_a_scalar, symmetric_product, written_to_both_triangles, two_statements,
               second_statement_first, read_before_overwritten, factor_update, total_of_a_function,
               difference_in_steps, upwards_in_steps, sum_in_branches, matrix_vector_products, mirrored)


@pytest.mark.parametrize("make", INDEPENDENT, ids=lambda f: f.__name__)
def test_becomes_maps(make):
    before = make()
    assert loops(parallel(before)) == 0
    scalar = before.but(body=(*before.body, *_summed(before)), returns=before.arrays["s"].whole)
    arrays = random_arrays(before)
    wrt = sorted(all_reads(before.body) & set(before.arguments))
    value, found = program_gradient(scalar, arrays, wrt)
    plain, expected = program_gradient(scalar, arrays, wrt, fused=False)
    np.testing.assert_allclose(value, plain, rtol=1e-13)
    for n in wrt:
        np.testing.assert_allclose(found[n], expected[n], rtol=1e-11, atol=1e-11)


def _summed(made: Program) -> list[Map]:
    """The sum of the squares of the result."""
    result = made.arrays[made.returns.array]
    ranges = [span(f"z{k}", 0, n) for k, n in enumerate(result.shape)]
    value = at(result.name, *(r.var for r in ranges))
    return [] if result.name == "s" else [one("s", (), 0.0), each(ranges, put("s", (), value * value, "+"))]


def test_temporaries_go():
    for make, names in ((dot_in_a_scalar, {"t"}), (symmetric_product, {"t", "row"}),
                        (written_to_both_triangles, {"t", "u"}), (factor_update, {"t"})):
        assert names.isdisjoint(parallelise(make().but(live_out=frozenset({make().returns.array}))).arrays)


def test_only_one_copy_is_made():
    after = parallelise(dot_in_a_scalar().but(live_out=frozenset({"B"})))
    assert sorted(set(after.arrays) - set(dot_in_a_scalar().arrays)) == ["B_old"]


def test_offsets_become_part_of_the_range():
    after = parallelise(written_to_both_triangles().but(live_out=frozenset({"C"})))
    assert all(len(i.symbols) <= 1 for s in statements(after.body) for p in s.body for i in p.index)


def test_a_range_moves_by_a_variable_of_its_own_map():
    """D[i:, i] = 2 * A[i:, i - 1] for every i."""
    d = ix("d")
    column = each(span("d", 0, ix(6) - I), put("D", (d + I, I), at("A", d + I, I - 1) * 2.0))
    before = program({"A": (6, 6), "D": (6, 6)}, loop(span("i", 1, 6), column), returns="D")
    after = parallelise(before.but(live_out=frozenset({"D"})))
    assert not loops(after)
    check_same(before, after)


def test_adding_to_elements_named_by_an_array_is_a_map():
    k = np.array([0, 2, 2, 1])
    body = loop(span("i", 0, 4), one("y", (number_at("k", I),), at("y", number_at("k", I)) + at("x", I)))
    made = program({"x": (4,), "k": k}, [zeros("y", 3), body], returns="y", y=(3,))
    assert loops(parallel(made, {"x": np.arange(4.0), "k": k})) == 0


def test_an_element_number_through_a_temporary():
    k = np.array([0, 2, 2, 1])
    body = [one("at", (), at("k", I, dtype=I8)),
            one("y", (number_at("at"),), at("y", number_at("at")) + at("x", I))]
    made = program({"x": (4,), "k": k}, [zeros("y", 3), loop(span("i", 0, 4), *body)], returns="y", y=(3,),
                   at=((), "i8"))
    assert loops(parallel(made, {"x": np.arange(4.0), "k": k})) == 0


def test_an_element_number_in_an_element_of_a_temporary() -> None:
    given = {"k": np.array([1, 1, 0, 4, 2]), "v": np.arange(1.0, N + 1)}
    for place, other, left in ((I, I, 0), (ix(0), ix(0), 0), (ix(0), ix(1), 1)):  # the last one reads another element
        to = number_at("at", other)
        body = [one("at", (place,), at("k", I, dtype=I8)), one("w", (to,), at("w", to) + at("v", I))]
        made = program({"k": ((N,), I8), "v": (N,)}, [zeros("w", N), one("at", (1,), lit(3, I8)),
                       loop(span("i", 0, N), *body)], w=(N,), at=((N,), I8), returns="w")
        assert loops(parallel(made, given)) == left


def test_a_product_of_matrices_stays_one():
    whole = View("C", (ix(N), ix(N)), (ix("_0"), ix("_1")), F8)
    body = Lib("matmul", (whole,), (replace(whole, array="A"), replace(whole, array="B")))
    made = on_matrices(loop(span("i", 0, 3), body, one("A", (I, I), at("C", I, I))))
    assert loops(parallel(made)) == 1


def test_rows_between_bounds_from_an_array():
    rows = np.array([0, 2, 2, 5, 6])
    between = span("j", number_at("rows", I), number_at("rows", I + 1))
    body = [one("t", (), 0.0), each(between, put("t", (), at("x", J) * at("x", I), "+")), one("y", (I,), at("t"))]
    made = program({"x": (6,), "rows": rows}, [loop(span("i", 0, 4), *body)], returns="y", y=(4,), t=())
    after = parallel(made, {"x": np.arange(1.0, 7.0), "rows": rows})
    assert loops(after) == 0


def in_a_loop(*body: object, returns: str = "x", until: str | None = None, **transients: object) -> Program:
    arrays = {"x": (N, N), "w": (N,)}
    return program(arrays, [loop(span("i", 1, N - 1), *body, until=until)], returns=returns, **transients)


row = span("d", 0, N)
DEPENDENT = {
    "reads the iteration before": in_a_loop(one("w", (I,), at("w", I - 1) * 2.0), returns="w"),
    "reads before and after": in_a_loop(one("w", (I,), at("w", I - 1) + at("w", I + 1)), returns="w"),
    "counts down into what it has written": program({"w": (N,)}, [
        loop(span("i", N - 2, -1, -1), one("w", (I,), at("w", I + 1) * 0.5))], returns="w"),
    "writes one element each time": in_a_loop(one("w", (0,), at("x", I, I)), returns="w"),
    "writes where an array says": program({"w": (N,), "k": np.array([1, 0, 1])}, [
        loop(span("i", 0, 3), one("w", (number_at("k", I),), position(I)))], returns="w"),
    "wraps round": program({"w": (N,)}, [
        loop(span("i", 0, N), one("w", (I,), at("w", mod(I + 2, N)) * 0.5))], returns="w"),
    "a product": in_a_loop(one("w", (0,), at("w", 0) * at("x", I, I)), returns="w"),
    "a sum that is looked at": in_a_loop(one("w", (0,), at("w", 0) + at("x", I, I)), one("x", (I, 0), at("w", 0))),
    "a sum that is scaled": in_a_loop(one("w", (0,), at("w", 0) * 0.5 + at("x", I, I)), returns="w"),
    "a temporary carried on": in_a_loop(one("x", (I, 0), at("t") * 2.0), one("t", (), at("w", I)), t=()),
    "a temporary used in two ways": in_a_loop(one("t", (), at("w", I) * 2.0), one("x", (I, 0), at("t") * 2.0),
                                              one("x", (I, 1), at("t") * at("t")), t=()),
    "each needs the other": in_a_loop(one("w", (I,), at("x", I - 1, 0)), one("x", (I, 0), at("w", I) * 2.0)),
    "an addition that may read its target": program({"x": (N, N)}, [
        loop(span("i", 0, N), one("x", (I, I), at("x", I, I) + at("x", I, mod(I * 2, 2))))], returns="x"),
    "a branch that reads what it writes": in_a_loop(when(at("w", 0).compare("gt", 0.5), (
        one("w", (0,), 0.1), one("x", (I, 0), 1.0)))),
    "a branch around the end of what is read": in_a_loop(
        when(position(I).compare("lt", 2.5), (one("w", (I,), at("x", I + 2, 0)),)), returns="w"),
    "a branch around the end": in_a_loop(when(position(I).compare("lt", 1.5), (one("w", (I * I + 1,), 1.0),)),
                                         returns="w"),
}


@pytest.mark.parametrize("name", DEPENDENT)
def test_stays_a_loop(name):
    before = DEPENDENT[name]
    arrays = {n: np.array([1, 0, 1]) if n == "k" else a for n, a in random_arrays(before).items()}
    start = [one("t", (), lit(0.3))] if "t" in before.arrays else []
    assert loops(parallel(before.but(body=(*start, *before.body)), arrays)) == 1


def test_the_check_of_these_tests_sees_a_map_that_is_none():
    before = DEPENDENT["reads the iteration before"]
    inner = before.body[0]
    wrong = before.but(body=(Map((inner.range,), inner.body[0].body),))
    arrays = random_arrays(before)
    assert not np.allclose(execute(backwards(wrong), arrays)[0], execute(before, arrays)[0])


def test_a_temporary_somebody_reads_afterwards_stays():
    body = [one("t", (), at("w", I) * 2.0), one("x", (I, 0), at("t"))]
    made = in_a_loop(*body, t=())
    assert loops(parallel(made)) == 0
    late = made.but(body=(*made.body, one("x", (0, 0), at("t"))))
    assert loops(parallel(late)) == 1


def test_no_copy_inside_another_loop():
    inner = loop(span("i", 0, N - 1), one("w", (I,), at("w", I + 1) * 0.5))
    made = program({"w": (N,)}, [loop(span("t", 0, 3), inner)], returns="w")
    assert loops(parallel(made)) == 2


def test_no_copy_larger_than_what_is_read():
    made = program({"x": (50, 50)}, [loop(span("i", 0, 3), one("x", (I, 0), at("x", I + 1, 0)))], returns="x")
    assert loops(parallel(made)) == 1


def test_a_loop_that_may_end_early_stays():
    body = [one("n", (), at("n", dtype=I8) + 1), one("w", (I,), 2.0)]
    made = program({"w": (N,)}, [one("go", (), lit(0, np.dtype(bool))), one("n", (), lit(0, I8)),
                                 loop(span("i", 0, N), *body, until="go", trips="n")], returns="w",
                   go=((), "bool"), n=((), "i8"))
    assert loops(parallel(made)) == 1


def test_a_bound_the_body_changes_stays():
    made = program({"w": (N,), "n": np.array(3)}, [
        loop(span("i", 0, number_at("n")), one("w", (I,), 2.0), one("n", (), lit(1, I8)))], returns="w")
    assert loops(parallel(made, {"w": np.ones(N), "n": np.array(3)})) == 1


@pytest.mark.parametrize("name", CASES)
def test_every_case_keeps_its_value(name):
    case = CASES[name]()
    parallel(case.program, case.arrays)


def test_a_loop_that_only_moves_a_window_is_a_map_of_its_own() -> None:
    """An element of the window is no bound of the loop around."""
    before = program({"y": (N + 2,), "c": (N,)}, [
        loop(span("i", 0, N), each(span("d", 0, 3), put("y", [I + "d"], at("c", "d") * at("c", "d"), "+")))],
        returns="y")
    assert not loops(parallel(before))


F4 = np.dtype("f4")


def zeros_in(name: str, *shape: int) -> Map:
    ranges = [span(f"z{k}", 0, n) for k, n in enumerate(shape)]
    return each(ranges, put(name, [r.var for r in ranges], lit(0.0, F4)))


def rounded_sums(room: int = N) -> Program:
    """Sums in double precision, in a temporary with some room, that an array in single precision keeps."""
    inner = [each(span("d", 0, N), put("t", ("d",), 0.0)),
             each([span("k", 0, N), span("d", 0, N)], put("t", ("d",), at("A", I, K) * at("B", K, "d"), "+")),
             each(span("d", 0, N), put("low", (I, "d"), Term(cast(at("t", "d").expr, F4))))]
    back = each([span("i", 0, N), span("d", 0, N)],
                put("C", (I, "d"), Term(cast(at("low", I, "d", dtype=F4).expr, F8))))
    return on_matrices(loop(span("i", 0, N), *inner), back, t=(room,), low=((N, N), F4))


@pytest.mark.parametrize("ahead", [(), (each(span("z", 0, N), put("t", ("z",), 0.0)),)])
def test_a_sum_that_is_rounded_afterwards_gets_an_element_for_each_iteration(ahead: tuple[Map, ...]) -> None:
    before = rounded_sums()
    made = parallel(before.but(body=(*ahead, *before.body)))
    assert loops(made) == 0 and "t" not in made.arrays and made.arrays["t_each"].shape == (N, N)


def test_a_sum_with_more_elements_than_are_kept_stays_in_its_loop() -> None:
    made = parallel(rounded_sums(2 * N))
    assert loops(made) == 1
    assert made.arrays["t"].shape == (2 * N,)


def test_a_rounded_sum_that_the_next_iteration_reads_stays_in_its_loop() -> None:
    before = rounded_sums()
    again = one("A", (I + 1, 0), Term(cast(at("low", I, 0, dtype=F4).expr, F8)))
    stmt = before.body[0]
    assert isinstance(stmt, Loop)
    stmt = replace(stmt, range=span("i", 0, N - 1), body=(*stmt.body, again))
    assert loops(parallel(before.but(body=(zeros_in("low", N, N), stmt, *before.body[1:])))) == 1
