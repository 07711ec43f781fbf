"""Runs of copies: what is said to be taken back is, whatever the places; and what could be, is found."""
from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from sdfgad.analysis.elements import boxes
from sdfgad.analysis.elements.boxes import Case
from sdfgad.analysis.reversal import copies, inverse
from sdfgad.analysis.reversal.copies import Copy, CopyPlan, _Coincidence, _Growing
from sdfgad.ir.expr import Call, Const, Load
from sdfgad.ir.index import Ix, elem, ix
from sdfgad.ir.program import Array, Lib, Map, Program, Range, Stmt, Store
from tests.support.undoing import complaints, found_in

N = 4
F, I = np.dtype(float), np.dtype(np.int64)
ARRAYS = {n: Array(n, s, F) for n, s in {
    "A": (N, N), "B": (N, N), "u": (N,), "v": (N,), "w": (N,), "s": (), "r": ()}.items()}
ARRAYS |= {"k": Array("k", (2,), I), "p": Array("p", (N,), I), "q": Array("q", (N,), I)}
Side = tuple[str, tuple[Ix, ...]]


def copy(to: Side, of: Side, *ranges: Range) -> Map:
    return Map(ranges, (Store(to[0], to[1], Load(of[0], of[1], ARRAYS[of[0]].dtype)),))


def program(*stmts: Stmt) -> Program:
    return Program("copies", ARRAYS, tuple(ARRAYS), stmts)


def whole(to: str, of: str) -> Map:
    return copy((to, (ix("d"),)), (of, (ix("d"),)), Range("d", ix(0), ix(N)))


def row(to: Side, of: Side) -> Map:
    return copy(to, of, Range("d", ix(0), ix(N)))


def memory(rng: np.random.Generator) -> dict[str, np.ndarray]:
    found = {n: rng.permutation(100.0 + np.arange(a.bytes // 8)).reshape(a.shape) + 1000 * c
             for c, (n, a) in enumerate(ARRAYS.items()) if a.dtype == F}
    return found | {"k": rng.integers(0, N, 2), "p": rng.permutation(N), "q": rng.integers(0, N, N)}


def check(made: Program, draws: int = 6) -> int:
    """Take back all units, each alone, and pairs; the number of units."""
    known = found_in(made)
    moves = [n for n, u in known.units.items() if not isinstance(u.way, inverse.Undone)]
    rng = np.random.default_rng(len(made.body))
    chosen = {frozenset(moves), *(frozenset(c) for k in (1, 2) for c in itertools.combinations(moves, k))}
    for start in [memory(rng) for _ in range(draws)]:
        for same in (False, True):
            start["k"][1] = start["k"][0] if same else start["k"][1]
            for names in chosen:
                wrong = complaints(made, known.undoing(names), start)
                assert not wrong, f"{names}: {wrong[0]}"
    return len(moves)


# What people write.

I0, J0 = (elem("k", (c,)) for c in (0, 1))
D = ix("d")
SWAP = (whole("w", "u"), whole("u", "v"), whole("v", "w"))
ROWS = (row(("w", (D,)), ("A", (I0, D))), row(("v", (D,)), ("A", (J0, D))),
        row(("A", (I0, D)), ("v", (D,))), row(("A", (J0, D)), ("w", (D,))))
ELEMENTS = (copy(("s", ()), ("u", (I0,))), copy(("u", (I0,)), ("u", (J0,))), copy(("u", (J0,)), ("s", ())))
ROLL = (copy(("w", (D + 1,)), ("u", (D,)), Range("d", ix(0), ix(N - 1))), copy(("w", (ix(0),)), ("u", (ix(N - 1),))),
        whole("u", "w"))
FLIP = (copy(("w", (D,)), ("u", (N - 1 - D,)), Range("d", ix(0), ix(N))), whole("u", "w"))
E = ix("e")
SQUARE = (Range("d", ix(0), ix(N)), Range("e", ix(0), ix(N)))
TRANSPOSED = (copy(("B", (D, E)), ("A", (E, D)), *SQUARE), copy(("A", (D, E)), ("B", (D, E)), *SQUARE))
COLUMNS = tuple(copy((to, (D, a)), (of, (D, b)), Range("d", ix(0), ix(N))) for to, a, of, b in (
    ("B", ix(0), "A", I0), ("A", I0, "A", J0), ("A", J0, "B", ix(0))))
CYCLE = (whole("w", "u"), whole("u", "v"), copy(("v", (D,)), ("A", (I0, D)), Range("d", ix(0), ix(N))),
         copy(("A", (I0, D)), ("w", (D,)), Range("d", ix(0), ix(N))))
SORTED = (Lib("argsort", (Array("p", (N,), I).whole,), (ARRAYS["v"].whole,)),
          copy(("w", (D,)), ("u", (elem("p", (D,)),)), Range("d", ix(0), ix(N))), whole("u", "w"))
SCATTERED = (SORTED[0], copy(("w", (elem("p", (D,)),)), ("u", (D,)), Range("d", ix(0), ix(N))), whole("u", "w"))
HANDED_ON = (whole("v", "u"), whole("u", "w"))
FROM_U = Map((), (Store("s", (), Call("mul", (Load("u", (ix(1),), F), Load("u", (ix(2),), F)), F)),))
HALF_BEFORE_A_READER = (*SWAP[:2], FROM_U, SWAP[2])
FILLED_BETWEEN = (*ROLL[:2], Map((Range("d", ix(0), ix(N)),), (Store("v", (D,), Const(0.0, F)),)),
                  copy(("v", (N - 1 - D,)), ("w", (D,)), Range("d", ix(0), ix(N))), whole("u", "v"))
READ_BETWEEN = (ROLL[0], ROLL[1], Map((), (Store("s", (), Call("mul", (Load("w", (ix(1),), F), Load("w", (ix(2),), F)),
                                                               F)),)), ROLL[2])


@pytest.mark.parametrize("stmts, arrays", [
    (SWAP, "u v"), (ROWS, "A"), (ELEMENTS, "u"), (ROLL, "u"), (FLIP, "u"), (TRANSPOSED, "A"), (COLUMNS, "A"),
    (CYCLE, "A u v"), (SORTED, "u"), (SCATTERED, "u"), (HANDED_ON, "u"), (READ_BETWEEN, "u"), (SWAP + ROWS, "A v"),
    (HALF_BEFORE_A_READER, "u"), (FILLED_BETWEEN, "u"),
], ids=("swap rows elements roll flip transposed columns cycle sorted scattered handed-on read-between one-lost half "
        "filled").split())
def test_what_is_found(stmts, arrays):
    made = program(*stmts)
    assert sorted({u.array for u in found_in(made).units.values()} - {"p"}) == arrays.split()
    assert check(made) >= 1


ADD = Call("add", (Load("u", (D,), F), Const(1.0, F)), F)
WRONG = {
    "an element is left out": (ROLL[0], whole("u", "w")),
    "the copy is spoilt": (whole("w", "u"), copy(("w", (ix(0),)), ("s", ())), whole("u", "v")),
    "the copy has changed": (whole("w", "u"), Map((Range("d", ix(0), ix(N)),), (Store("w", (D,), ADD),)),
                             whole("u", "v")),
    "the place has changed": (ELEMENTS[0], copy(("k", (ix(0),)), ("k", (ix(1),))), *ELEMENTS[1:]),
    "a place that is not copied": (copy(("s", ()), ("u", (I0,))), copy(("u", (I0,)), ("v", (I0,))),
                                   copy(("u", (J0,)), ("s", ()))),
    "places that may be equal": (copy(("v", (I0,)), ("u", (ix(0),))), copy(("v", (J0,)), ("u", (ix(1),))),
                                 copy(("u", (ix(0),)), ("s", ())), copy(("u", (ix(1),)), ("r", ()))),
    "not a permutation": (copy(("w", (D,)), ("u", (elem("q", (D,)),)), Range("d", ix(0), ix(N))), whole("u", "w")),
    "one element many times": (copy(("w", (D,)), ("u", (ix(0),)), Range("d", ix(0), ix(N))), whole("u", "w")),
    "every other element": (copy(("w", (2 * D,)), ("u", (2 * D,)), Range("d", ix(0), ix(N // 2))), whole("u", "v")),
    "a sum": (whole("w", "u"), Map((Range("d", ix(0), ix(N)),), (Store("u", (D,), Load("v", (D,), F), "+"),))),
    "nothing is copied": (whole("u", "v"),),
    "too late": (whole("u", "v"), whole("w", "u")),
}


@pytest.mark.parametrize("why", WRONG)
def test_what_is_not(why):
    made = program(*WRONG[why])
    assert "u" not in {u.array for u in found_in(made).units.values()}
    check(made)


# Whatever else there may be.

def _segment(draw: random.Random, length: int) -> tuple[tuple[Ix, ...], tuple[Ix, ...]]:
    """Two indices of vectors that run over so many elements."""
    def one() -> Ix:
        kind = draw.random()
        if length == N and kind < 0.15:
            return elem(draw.choice("pq"), (D,))
        first = draw.randint(0, N - length)
        return first + D if kind < 0.8 else first + length - 1 - D
    return (one(),), (one(),)


def _place(draw: random.Random) -> Ix:
    return draw.choice((I0, J0, I0, J0, ix(draw.randrange(N))))


def _some_copy(draw: random.Random) -> Map:
    kind = draw.choice(("vector", "vector", "element", "row", "matrix"))
    if kind == "vector":
        length = draw.choice((N, N, N - 1, 1, 2))
        to, of = draw.sample("uvw", 2)
        left, right = _segment(draw, length)
        if left[0].elems and "q" in {e.array for e in left[0].elems}:
            left = (D,)  # It may meet an element twice, and then it is no map.
        return copy((to, left), (of, right), Range("d", ix(0), ix(length)))
    if kind == "element":
        to, of = (draw.choice([("s", ()), ("r", ()), ("u", (_place(draw),)), ("v", (_place(draw),))]) for _ in "12")
        return copy(to, of)
    if kind == "row":
        to, of = draw.sample([("A", (_place(draw), D)), ("A", (_place(draw), D)), ("w", (D,)), ("B", (D, _place(draw))),
                              ("v", (D,))], 2)
        return row(to, of)
    to, of = draw.sample("AB", 2)
    return copy((to, (D, E)), (of, draw.choice(((D, E), (E, D), (N - 1 - D, E)))), *SQUARE)


def _some_other(draw: random.Random) -> Map:
    places = (("s", ()), ("u", (ix(1),)), ("w", (ix(2),)), ("v", (_place(draw),)), ("r", ()))
    to, of = draw.choice(places), draw.choice(places)
    return Map((), (Store(to[0], to[1], Call("mul", (Load(of[0], of[1], F), Const(3.0, F)), F)),))


TEMPLATES = (SWAP, ROWS, ELEMENTS, ROLL, FLIP, TRANSPOSED, COLUMNS, CYCLE, HANDED_ON, READ_BETWEEN,
             HALF_BEFORE_A_READER, FILLED_BETWEEN)


def some_programs(count: int) -> Iterator[Program]:
    """Copies at random, and what people write with something in between, left out or exchanged."""
    for number in range(count):
        draw = random.Random(number)
        stmts: list[Stmt] = list(draw.choice(TEMPLATES)) if draw.random() < 0.6 else []
        for _ in range(draw.randint(0, 2) if stmts else draw.randint(2, 6)):
            stmts.insert(draw.randint(0, len(stmts)), _some_other(draw) if draw.random() < 0.2 else _some_copy(draw))
        if len(stmts) > 2 and draw.random() < 0.3:
            stmts.pop(draw.randrange(len(stmts)))
        made = [Map(s.domain, s.body) if isinstance(s, Map) else s for s in stmts]
        constants = {"p": np.random.default_rng(number).permutation(N)} if draw.random() < 0.5 else {}
        yield program(*made).but(constants=constants)


def check_many(count: int) -> int:
    return sum(check(made, 2) for made in some_programs(count))


def test_random_runs():
    assert check_many(600) > 150


@pytest.mark.slow
def test_many_random_runs():
    assert check_many(20_000) > 5000


# A check that nothing gets past would pass these tests as well: each condition left out has to be noticed.

def always(answer: object) -> Callable[..., object]:
    return lambda *_: answer


def every_candidate(self: _Coincidence, k: int) -> CopyPlan | None:
    return self._from_copies(self.copies[k].to.box, [j for j in self.copies if j != k])


def never_spoilt(self: _Coincidence, k: int) -> CopyPlan | None:
    found = self._from_copies(self.copies[k].to.box, [j for j in self.copies if j > k])
    return found or CopyPlan(frozenset(), frozenset({k}))


def any_other(self: _Growing, stmt: Stmt, made: Copy | None) -> bool:
    return bool(self.copies) or made is not None


def any_reader(self: _Growing, stmt: Stmt, made: Copy | None) -> bool:
    self.handed_on, held = set(), self.handed_on
    answer = _takes(self, stmt, made)
    self.handed_on |= held
    return answer


_takes = _Growing.takes


def without_cases(boxes_: object, env: object) -> list[Case]:
    return [Case({}, {})]


MUTANTS = {
    "no two boxes meet": (Case, "apart", lambda self, a, b: a != b),
    "any boxes cover": (boxes, "covered", lambda target, them: bool(them)),
    "places differ": (copies, "cases", without_cases),
    "copied later": (_Coincidence, "overwritten", every_candidate),
    "never spoilt": (_Coincidence, "_intact", never_spoilt),
    "others may write": (_Growing, "takes", any_other),
    "nobody looks": (_Growing, "takes", any_reader),
    "nothing is read": (copies, "reads_back", always(())),
    "everything is a table": (boxes, "_is_table", always(True)),
    "values are true": (_Coincidence, "intact", always(CopyPlan(frozenset(), frozenset()))),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_condition_left_out_is_noticed(name, monkeypatch):
    where, what, instead = MUTANTS[name]
    monkeypatch.setattr(where, what, instead)
    if where is copies and what == "reads_back":
        monkeypatch.setattr(inverse, what, instead)
    with pytest.raises((AssertionError, IndexError, AttributeError)):
        for stmts in WRONG.values():
            check(program(*stmts))
        check_many(600)
