"""Expressions that share what they are made of cost as much as they have nodes, not as they have paths."""
from __future__ import annotations

import copy
import gc
import os
import pickle
import signal
import threading

import numpy as np
import pytest

from sdfgad.codegen.fingerprint import fingerprint
from sdfgad.ir import expr
from sdfgad.ir.expr import Call, Expr, Load, call, const, rewrite, walk
from sdfgad.ir.index import Elem, Ix, ix, minimum
from sdfgad.ir.interned import Table
from sdfgad.ir.program import Array, Map, Program, Range, Store
from sdfgad.ir.text import expr_text, program_text
from sdfgad.locks import INTERNED

DEPTH = 200


def ladder(depth: int, start: str = "x") -> Expr:
    """A node for each level, which uses the one below twice."""
    made: Expr = Load(start, (ix("i"),), const(0.0, "float64").dtype)
    for k in range(depth):
        made = call("mul", made, call("add", made, const(float(k), "float64")))
    return made


def test_equal_is_the_same() -> None:
    assert ladder(DEPTH) is ladder(DEPTH)
    assert ladder(DEPTH) is not ladder(DEPTH, "y")
    assert minimum(ix("i") + 1, "n") is minimum("n", 1 + ix("i"))
    assert Load("x", (ix("i"),), np.dtype("f8")) is not Load("x", (ix("i"),), np.dtype("f4"))


def test_nodes_are_forgotten_with_the_last_who_use_them() -> None:
    gc.collect()
    before = len(expr._CALLS)
    deep = ladder(50_000, "forgotten")
    assert len(expr._CALLS) == before + 100_000
    del deep
    gc.collect()
    assert len(expr._CALLS) <= before


def test_threads_get_the_same_nodes() -> None:
    start, made = threading.Barrier(4), []

    def work() -> None:
        start.wait()
        made.append([ladder(300, f"of_threads_{k}") for k in range(20)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one is other for found in made for one, other in zip(found, made[0], strict=True))


def test_a_thread_that_comes_second_gets_the_node_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    first, plain, missed = ladder(1, "raced"), Table.get, []

    def get(table: Table, key: object) -> object:
        if missed:
            return plain(table, key)
        return missed.append(key)  # not there yet when the second one looks

    monkeypatch.setattr(Table, "get", get)
    assert Call(first.fn, first.args, first.dtype) is first
    assert len(missed) == 1


def test_a_process_that_is_forked_meanwhile_makes_nodes() -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with INTERNED:
            held.set()
            done.wait(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        signal.alarm(10)  # ends a process that waits for ever
        os._exit(int(ladder(2, "of_a_child") is not ladder(2, "of_a_child")))
    assert os.waitpid(child, 0)[1] == 0
    thread.join()


def test_a_deep_expression_is_walked_and_rewritten() -> None:
    deep = ladder(3000)
    nodes = list(walk(deep))
    assert len(nodes) == len(set(nodes)) == 3 * 3000 + 1
    renamed = rewrite(deep, lambda n: Load("y", n.index, n.dtype) if isinstance(n, Load) else None)
    assert renamed == ladder(3000, "y")


def test_numbers_and_zeros_of_other_signs_differ() -> None:
    assert const(0.0, "float64") != const(-0.0, "float64")
    assert const(1, "int64") != const(True, "int64")
    assert call("neg", const(0.0, "float64")) != call("neg", const(-0.0, "float64"))
    assert const(float("nan"), "float64") == const(float("nan"), "float64")


def test_copies_are_equal() -> None:
    one = ladder(20)
    assert pickle.loads(pickle.dumps(one)) is one is copy.deepcopy(one)
    index = minimum(ix("i") + 3, Ix((((Elem("table", (ix("i"),)),), 2),)))
    again = pickle.loads(pickle.dumps(index))
    assert again is index


def test_texts_name_what_is_shared() -> None:
    assert expr_text(ladder(2)) == "((x[i] * (x[i] + 0.0)) * ((x[i] * (x[i] + 0.0)) + 1.0))"
    text = expr_text(ladder(DEPTH))
    assert len(text) < 100 * DEPTH
    assert "where %1 = (x[i] * (x[i] + 0.0)), %2 = (%1 * (%1 + 1.0))" in text
    assert text != expr_text(ladder(DEPTH, "y"))


def test_texts_and_fingerprints_of_programs_are_short() -> None:
    made = const(0.0, "float64").dtype
    arrays = {n: Array(n, (5,), made, "argument") for n in "xy"}
    body = (Map((Range("i", ix(0), ix(5)),), (Store("y", (ix("i"),), ladder(DEPTH)),)),)
    program = Program("deep", arrays, ("x", "y"), body)
    assert len(program_text(program)) < 100 * DEPTH
    assert len(fingerprint(program)) < 300 * DEPTH


def nested(depth: int) -> Ix:
    """An index whose parts are used twice at every level."""
    made = ix("i")
    for k in range(depth):
        made = Ix((((Elem("table", (made, made + k)),), 1),))
    return made


def test_nested_indices_are_as_long_as_what_is_stored() -> None:
    assert nested(60) is nested(60)
    assert nested(60) is not nested(61)
    assert len(str(nested(60))) < 5000
