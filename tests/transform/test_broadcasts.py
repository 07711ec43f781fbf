"""Values that vary along fewer axes than their array are used as what they come from, only where they still hold."""
from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import sdfgad
from sdfgad.analysis.elements.cover import fills
from sdfgad.ir.index import ix
from sdfgad.ir.program import Array, Lib, Program, Stmt
from sdfgad.ir.walk import reads, statements
from sdfgad.transform.storage.broadcasts import propagate_broadcasts
from tests.support.build import C16, F8, at, each, lit, loop, one, position, put, span, when
from tests.support.oracle import check_same

I, J = span("i", 0, 4), span("j", 0, 5)
SHAPES = {"v": (5,), "u": (4,), "A": (3, 4), "B": (5, 6), "C": (3, 5), "D": (4, 6), "G": (4, 5), "y": (4, 5), "s": ()}


def program(*body: Stmt, dtype: np.dtype = F8) -> Program:
    arrays = {n: Array(n, s, dtype, "transient" if n == "G" else "argument") for n, s in SHAPES.items()}
    return Program("p", arrays, tuple(n for n in SHAPES if n != "G"), body)


def check(before: Program) -> Program:
    """The pass keeps the meaning; returns the new program."""
    after = propagate_broadcasts(before)
    check_same(before, after, {"s": np.array(0.7, before.arrays["s"].dtype)}, tolerance=1e-13)
    return after


def product(out: str, a: str, b: str, made: Program, **attrs: Any) -> Lib:
    arrays = made.arrays
    return Lib("matmul", (arrays[out].whole,), (arrays[a].whole, arrays[b].whole), MappingProxyType(attrs))


def libs(made: Program) -> list[Lib]:
    return [s for s in statements(made.body) if isinstance(s, Lib)]


FILLINGS = {"number": lit(2.0), "along rows": at("v", "j") * 3.0, "along columns": at("u", "i") + at("s"),
            "scalar": at("s") * 0.5}


@pytest.mark.parametrize("value", FILLINGS.values(), ids=FILLINGS)
@pytest.mark.parametrize("operands", [("C", "A", "G"), ("D", "G", "B")], ids=["right", "left"])
@pytest.mark.parametrize("accumulate", [False, True])
def test_products_with_broadcast_matrices_are_sums(value, operands, accumulate):
    made = program()
    attrs = {"accumulate": True} if accumulate else {}
    after = check(made.but(body=(each((I, J), put("G", ("i", "j"), value)), product(*operands, made, **attrs))))
    assert not libs(after)


@pytest.mark.parametrize("conj", ["conj_a", "conj_b"])
def test_conjugates(conj):
    made = program(dtype=C16)
    fill = each((I, J), put("G", ("i", "j"), at("v", "j", dtype=C16)))
    assert not libs(check(made.but(body=(fill, product("C", "A", "G", made, **{conj: True})))))


def test_a_full_matrix_stays_an_operand():
    made = program()
    fill = each((I, J), put("G", ("i", "j"), at("v", "j") * at("u", "i")))
    assert libs(check(made.but(body=(fill, product("C", "A", "G", made)))))


@pytest.mark.parametrize("op", ["max", "min", "*"])
def test_what_was_there_may_win(op):
    made = program()
    whole = each((I, J), put("G", ("i", "j"), at("u", "i") * at("v", "j")))
    again = each((I, J), put("G", ("i", "j"), lit(0.3), op))
    assert libs(check(made.but(body=(whole, again, product("C", "A", "G", made)))))


def test_a_partial_filling_says_nothing():
    made = program()
    whole = each((I, J), put("G", ("i", "j"), at("u", "i") * at("v", "j")))
    part = each((I, span("j", 0, 4)), put("G", ("i", "j"), lit(1.0)))
    assert libs(check(made.but(body=(whole, part, product("C", "A", "G", made)))))


def uses_g(made: Program) -> bool:
    return any("G" in reads(s) for s in statements(made.body))


FILL = each((I, J), put("G", ("i", "j"), at("v", "j")))
USE = each((I, J), put("y", ("i", "j"), at("G", "i", "j") * at("u", "i")))


def test_readers_use_the_value_itself():
    assert not uses_g(check(program(FILL, USE)))


@pytest.mark.parametrize("change", [one("v", (2,), 7.0), one("G", (1, 1), 7.0),
                                    loop(span("t", 0, 2), one("v", ("t",), 7.0)),
                                    when(at("s").compare("gt", 0.0), (one("v", (0,), 7.0),))],
                         ids=["source", "array", "loop", "branch"])
def test_what_changed_since_is_read_from_memory(change):
    assert uses_g(check(program(FILL, change, USE)))


def test_a_loop_that_changes_the_source_later_reads_memory():
    body = loop(span("t", 0, 3), USE, one("v", ("t",), position("t") + 5.0))
    assert uses_g(check(program(FILL, body)))


def test_accumulations_on_top_are_followed():
    more = each((I, J), put("G", ("i", "j"), at("v", "j") * 0.5, "+"))
    after = check(program(FILL, more, USE))
    assert not uses_g(after.but(body=after.body[-1:]))


def test_an_update_in_place_reads_the_old_value():
    twice = each((I, J), put("G", ("i", "j"), at("G", "i", "j") * 2.0))
    check(program(FILL, twice, USE))


def test_a_sum_of_products_keeps_its_operands():
    k = span("k", 0, 5)
    sums = each((span("i", 0, 3), J, span("m", 0, 4)), put("C", ("i", "j"), at("A", "i", "m") * at("G", "m", "j"), "+"))
    fill = each((span("m", 0, 4), k), put("G", ("m", "k"), position("k") * 1.0))
    assert uses_g(check(program(fill, sums)))


CASES: dict[str, tuple[Any, tuple[int, ...], bool]] = {
    "rows in one": (((span("a", 0, 3), span("b", 0, 4)), (ix("a") * 4 + ix("b"),)), (12,), True),
    "overlapping rows": (((span("a", 0, 3), span("b", 0, 4)), (ix("a") * 3 + ix("b"),)), (12,), False),
    "backwards": (((span("a", 0, 5),), (ix("a") * -1 + 4,)), (5,), True),
    "diagonal": (((span("a", 0, 3), span("b", 0, 3)), (ix("a") + ix("b"), ix("b"))), (3, 3), False),
    "strip": (((span("d", 0, 3), span("j", ix("s") * 4, ix("s") * 4 + 4)), ("d", ix("j") - ix("s") * 4)), (3, 4), True),
    "strip backwards": (((span("j", ix("s") + 3, ix("s") - 1, step=-1),), (ix("j") - "s",)), (4,), True),
    "counted from elsewhere": (((span("j", ix("s") * 4, ix("s") * 4 + 4),), (ix("j") - ix("t") * 4,)), (4,), False),
    "short strip": (((span("j", ix("s") * 4, ix("s") * 4 + 3),), (ix("j") - ix("s") * 4,)), (4,), False),
    "strip with an unknown end": (((span("j", ix("s"), "n"),), (ix("j") - "s",)), (4,), False),
    "moving ends": (((span("a", 0, 2), span("b", "a", ix("a") + 2)), (ix("a") * 2 - "b" + 1,)), (4,), False),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_filling(case):
    (domain, index), shape, expected = case
    stmt = each(domain, put("x", index, 1.0))
    assert fills(stmt, stmt.body[0], Array("x", shape, F8)) is expected


def mean_of_products(A, B):
    return np.mean(A @ B @ B.T)


def weighted_rows(A, B):
    P = A @ B
    return np.sum(P * np.arange(1.0, P.shape[1] + 1))


@pytest.mark.parametrize("function", [mean_of_products, weighted_rows])
def test_gradients_of_sums_of_products(function: Callable[..., Any]):
    rng = np.random.default_rng(3)
    sdfgad.check_grads(function, rng.random((30, 20)), rng.random((20, 40)))


def test_a_statement_that_overwrites_what_the_matrix_is_made_of_reads_the_matrix():
    """`v[j + 1] = G[2, j]` in place would read elements of v that other iterations have already replaced."""
    shift = each((span("j", 0, 4),), put("v", (ix("j") + 1,), at("G", 2, "j") * at("G", 1, ix("j") + 1)))
    after = check(program(each((I, J), put("G", ("i", "j"), at("v", "j") * 3.0)), shift))
    assert "G" in reads(after.body[-1])


@pytest.mark.parametrize("accumulate", [{}, {"accumulate": True}], ids=["anew", "added"])
def test_a_product_that_overwrites_what_its_operand_is_made_of_reads_the_operand(accumulate):
    """Spelled out, `C = matmul(A, G)` clears C before it has been read."""
    made = program()
    fill = each((I, J), put("G", ("i", "j"), at("C", 0, 1) * 3.0))
    check(made.but(body=(fill, product("C", "A", "G", made, **accumulate))))


FLAG = "f"
NEGATE = each((I, J), put("G", ("i", "j"), at("G", "i", "j") * -1.0))


def guarded(then: tuple[Stmt, ...], orelse: tuple[Stmt, ...] = (), *after: Stmt) -> Program:
    """A branch on `f[t]` in a loop over t, after which G is used."""
    adds = each((I, J), put("y", ("i", "j"), at("G", "i", "j") * at("u", "i"), "+"))
    body = loop(span("t", 0, 3), FILL, when(at(FLAG, "t", dtype=np.dtype(bool)), then, orelse), *after, adds)
    made = program(body)
    arrays = {**made.arrays, FLAG: Array(FLAG, (3,), np.dtype(bool), "argument")}
    return made.but(arrays=arrays, arguments=(*made.arguments, FLAG))


def run_guarded(made: Program) -> Program:
    after = propagate_broadcasts(made)
    check_same(made, after, {FLAG: np.array([True, False, True])}, tolerance=1e-13)
    return after


OTHER = each((I, J), put("G", ("i", "j"), at("v", "j") * 3.0))


@pytest.mark.parametrize("branches", [((NEGATE,), ()), ((), (NEGATE,)), ((OTHER,), (NEGATE,)), ((OTHER,), (OTHER,))],
                         ids=["then", "else", "both", "alike"])
def test_a_branch_chooses_between_two_known_values(branches):
    assert not uses_g_after_branch(run_guarded(guarded(*branches)))


@pytest.mark.parametrize("then", [(each((I, J), put("G", ("i", "j"), at("u", "i") * at("v", "j"))),),
                                  (NEGATE, one(FLAG, ("t",), lit(0.0).compare("gt", 0.0))),
                                  (NEGATE, one("v", ("t",), 4.0))], ids=["unknown", "flag", "source"])
def test_a_branch_that_cannot_be_told_afterwards_is_read_from_memory(then):
    assert uses_g_after_branch(run_guarded(guarded(then)))


def test_what_only_a_branch_may_read_is_not_read_after_it():
    """`v[t]` exists in the iterations that take the branch and in no other."""
    fill = each((I, J), put("G", ("i", "j"), at("v", "t")))
    made = program(loop(span("t", 0, 7), FILL, when(at("w", "t", dtype=np.dtype(bool)), (fill,)), USE))
    arrays = {**made.arrays, "w": Array("w", (7,), np.dtype(bool), "argument")}
    made = made.but(arrays=arrays, arguments=(*made.arguments, "w"))
    after = propagate_broadcasts(made)
    check_same(made, after, {"w": np.arange(7) < 5}, tolerance=1e-13)
    assert uses_g_after_branch(after)


def uses_g_after_branch(made: Program) -> bool:
    (steps,) = made.body
    return "G" in reads(steps.body[-1])


def test_a_filling_may_name_the_iteration():
    fill = each((I, J), put("G", ("i", "j"), at("v", "t") * 2.0))
    more = each((I, J), put("y", ("i", "j"), at("G", "i", "j") * at("u", "i"), "+"))
    assert not uses_g_after_branch(check(program(loop(span("t", 0, 3), fill, more))))


@pytest.mark.parametrize("reader", [each((span("t", 0, 4), J), put("y", ("t", "j"), at("G", "t", "j") * at("u", "t"))),
                                    loop(span("t", 0, 4), each(J, put("y", ("t", "j"), at("G", "t", "j"))))],
                         ids=["map", "loop"])
def test_a_name_that_counts_something_else_is_not_taken_for_the_iteration(reader):
    fill = each((I, J), put("G", ("i", "j"), at("v", "t") * 2.0))
    assert uses_g(check(program(loop(span("t", 1, 3), fill, reader))))


def test_values_of_an_iteration_are_unknown_after_the_loop():
    fill = each((I, J), put("G", ("i", "j"), at("v", "t") * 2.0))
    assert uses_g(check(program(loop(span("t", 0, 3), fill), USE)))


SQUARE = {"S": (4, 4), "X": (4, 5), "v": (5,), "u": (4,), "y": (4, 5)}


def system(value: Any, op: str = "solve", **attrs: Any) -> Program:
    """`X = solve(S, G)` with a filled G; S gets a heavy diagonal first."""
    arrays = {n: Array(n, s, F8, "argument") for n, s in SQUARE.items()} | {"G": Array("G", (4, 5), F8, "transient")}
    heavy = each(span("d", 0, 4), put("S", ("d", "d"), at("S", "d", "d") + 9.0))
    arrays |= {"F": Array("F", (4, 4), F8), "p": Array("p", (4,), np.dtype(np.int32))}
    factors = tuple(arrays[n].whole for n in "Fp")
    made = (Lib("lu", factors, (arrays["S"].whole,)),) if op == "solve" else ()
    solve = Lib(op, (arrays["X"].whole,), (*(factors if made else (arrays["S"].whole,)), arrays["G"].whole),
                MappingProxyType(attrs))
    reader = each((I, J), put("y", ("i", "j"), at("X", "i", "j") * at("v", "j")))
    return Program("p", arrays, tuple(SQUARE), (heavy, each((I, J), put("G", ("i", "j"), value)), *made, solve, reader))


@pytest.mark.parametrize("op, attrs", [("solve", {}), ("trsolve", {"lower": True, "unit": False})])
@pytest.mark.parametrize("value", [lit(2.0), at("u", "i") * 3.0], ids=["number", "along columns"])
def test_equal_right_hand_sides_are_solved_once(op, attrs, value):
    after = check_system(system(value, op, **attrs))
    *_, solve = libs(after)
    assert [n.const for n in solve.ins[-1].shape] == [4, 1]
    assert "X" not in reads(after.body[-1])


def test_different_right_hand_sides_are_solved_each():
    *_, solve = libs(check_system(system(at("v", "j") * 3.0)))
    assert [n.const for n in solve.ins[-1].shape] == [4, 5]


def check_system(before: Program) -> Program:
    after = propagate_broadcasts(before)
    check_same(before, after, {}, tolerance=1e-12)
    return after


def nested(domain: tuple[Any, ...], index: tuple[Any, ...], value: Any) -> Program:
    """`T[index] += value * G`, G filled with twos, in a nest whose bounds may move."""
    arrays = {"T": (6, 7, 5), "A": (8, 9), "B": (5,)}
    made = {n: Array(n, s, F8, "argument") for n, s in arrays.items()} | {"G": Array("G", (5, 3), F8, "transient")}
    fill = each((span("g", 0, 5), span("h", 0, 3)), put("G", ("g", "h"), lit(2.0)))
    return Program("p", made, tuple(arrays), (fill, each(domain, put("T", index, value * at("G", 0, 0), "+"))))


FIVE, TWO = span("e", 0, 5), span("d", 0, 2)
UP_TO_E, AB = span("w", 0, ix("e") + 1), at("A", "e", "w")
MOVING: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], Any, bool]] = {
    "target bounded by what is summed": ((FIVE, UP_TO_E, TWO), ("w", "d", 0), AB, True),
    "bounded and not in the terms": ((FIVE, UP_TO_E, TWO), ("w", "d", 0), at("A", "e", 1), True),
    "from the other end": ((FIVE, span("w", 4, ix("e") - 1, -1), TWO), ("w", "d", 0), at("A", "e", "w"), True),
    "summed bounded by the target": ((span("w", 1, 6), TWO, span("e", 0, "w")), ("w", "d", 0), at("A", "e", 1), True),
    "in steps": ((span("w", 0, 6, 2), TWO, span("e", "w", 7, 3)), ("w", "d", 0), at("A", "e", "w"), True),
    "terms within their bounds": ((span("w", 0, 6), span("d", 0, ix("w") + 1), span("c", 0, 2), span("e", 0, 3)),
                                  ("w", "d", "c"), at("A", "d", "e"), True),
    "a factor left out": ((FIVE, UP_TO_E, TWO), ("w", "d", 0), AB * at("B", "d"), False),
    "a place that is not there": ((FIVE, span("w", ix("e") * 2, ix("e") + 3), TWO), ("w", "d", 0), AB, False),
    "bounds in two hulls": ((FIVE, span("w", 0, ix("e") + 1), span("d", 0, "w"), span("c", 0, 2)), ("w", "d", "c"),
                            at("A", "e", "w"), False),
    "nothing left out": ((FIVE, span("w", 0, ix("e") + 1)), ("w", 0, 0), at("A", "e", "w"), False)}


@pytest.mark.parametrize("case", MOVING.values(), ids=MOVING)
def test_sums_over_nests_with_moving_bounds(case):
    domain, index, value, smaller = case
    after = check_system(nested(domain, index, value))
    assert (len(after.body) == 4) is smaller


def test_sums_never_outgrow_what_they_are_made_of():
    """A pair of rows for each of 80 places would be a sum for each of 1600 pairs of elements."""
    arrays = {"T": Array("T", (2, 80), F8, "argument"), "A": Array("A", (3, 40), F8, "argument")}
    body = each((span("a", 0, 40), span("b", 0, 40), TWO, span("e", 0, 3)),
                put("T", ("d", ix("a") + "b"), at("A", "e", "b") * at("A", "e", "a") * at("G", 0), "+"))
    fill = each(span("g", 0, 5), put("G", ("g",), lit(2.0)))
    after = check_system(Program("p", {**arrays, "G": Array("G", (5,), F8, "transient")}, tuple(arrays), (fill, body)))
    assert len(after.body) == 2
