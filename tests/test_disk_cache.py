"""What a search found is found again, by equal questions only, and never in part."""
from __future__ import annotations

import os
import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import sdfgad
from sdfgad.checkpoint.roofline import FALLBACK, Machine
from sdfgad.codegen.compiling import cache
from sdfgad.ir.text import program_text
from sdfgad.plans import disk_cache
from sdfgad.plans.disk_cache import Found, Unknown, digest
from sdfgad.plans.planning import Choice

pytestmark = pytest.mark.recalls
Pair = namedtuple("Pair", "first second")
SCALE = [2.0]


@dataclass
class State:
    """Complains when it is made of anything but what its author thought of."""

    u: np.ndarray

    def __post_init__(self):
        self.u = self.u * 1.0


@pytest.fixture(autouse=True)
def nothing_known(tmp_path, monkeypatch):
    """As in a folder of the test's own, in which the headers that all programs share would be compiled again."""
    monkeypatch.setattr(disk_cache, "installation", lambda: (str(tmp_path),))


@pytest.fixture
def own_cache(tmp_path):
    with sdfgad.config(cache_dir=str(tmp_path / "cache")):
        yield tmp_path / "cache"


def steps(u, n):
    for _ in range(n):
        u[1:-1] = SCALE[0] * u[1:-1] * (u[2:] - u[:-2]) + np.sin(u[1:-1])
    return np.sum(u)


def halved(x):
    s = np.sum(x * x)
    while s > 1.0:
        x = x * np.cos(x)
        s = np.sum(x * x) * 0.5
    return s


def checked(x):
    for k in range(x.shape[0]):
        if x[k] < 0.0:
            raise ValueError("negative")
    return np.sum(np.sqrt(x))


def parted(x):
    return Pair(np.sum(x * x), State(u=x * x * x))


@pytest.fixture
def no_search(monkeypatch):
    """Makes every search from now on an error."""
    def forbid():
        def fail(self):
            raise AssertionError("searched again")
        monkeypatch.setattr(Choice, "best", fail)
    return forbid


def _gradients():
    x = np.linspace(0.1, 0.9, 20)
    return (sdfgad.grad(steps, memory_limit=4000)(x.copy(), 9), sdfgad.grad(halved)(3 * x), sdfgad.grad(checked)(x),
            sdfgad.grad(steps)(x.copy(), 9))


def test_programs_are_found_again(no_search):
    found = _gradients()
    no_search()
    for one, other in zip(found, _gradients(), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="negative"):
        sdfgad.grad(checked)(-np.ones(20))


def test_forward_programs_and_tangents_are_found_again(monkeypatch):
    x = np.linspace(0.1, 0.9, 7)
    def answers():
        value = sdfgad.forward(parted)(x)
        return value, sdfgad.jvp(halved, (x,), (np.ones(7),))
    (one, tangents) = answers()
    monkeypatch.setattr("sdfgad.codegen.target.Target.optimised", None)
    (other, others) = answers()
    assert type(other) is Pair and other.first == one.first
    assert type(other.second) is State
    np.testing.assert_array_equal(other.second.u, one.second.u)
    assert tangents == others


def test_a_plan_found_again_is_the_same_and_shows_as_much():
    x = np.linspace(0.1, 0.9, 20)
    plans = [sdfgad.grad(steps, memory_limit=4000).plan(x, 9) for _ in range(2)]
    assert plans[0] == plans[1]
    assert plans[0].outlook == plans[1].outlook


@pytest.mark.parametrize("changed", [{"memory_limit": 3000}, {"wrt": "u", "reduce": "sum"}, {"store": ["u"]}])
def test_another_question_is_searched(no_search, changed):
    x = np.linspace(0.1, 0.9, 20)
    sdfgad.grad(steps)(x, 9)
    no_search()
    sdfgad.grad(steps)(x, 9)
    with pytest.raises(AssertionError, match="searched again"):
        sdfgad.grad(steps, **changed)(x, 9)


def test_other_surroundings_are_another_question(monkeypatch):
    x = np.linspace(0.1, 0.9, 20)
    before = sdfgad.grad(steps)(x.copy(), 2)
    monkeypatch.setitem(globals(), "SCALE", [3.0])
    after = sdfgad.grad(steps)(x.copy(), 2)
    assert np.all(before != after)


WEIGHTS = np.array([1.0, 2.0, 3.0])


def weighted(x):
    return np.sum(WEIGHTS * x * x)


@pytest.mark.parametrize("derive", [sdfgad.grad, sdfgad.forward])
def test_arrays_from_outside_are_no_copies(monkeypatch, derive):
    # They may change their elements between calls.
    x, weights = np.array([1.0, -2.0, 0.5]), np.array([1.0, 2.0, 3.0])
    monkeypatch.setitem(globals(), "WEIGHTS", weights)
    derive(weighted)(x)
    found = derive(weighted)
    before = np.copy(found(x))
    weights *= 2
    np.testing.assert_array_equal(found(x), 2 * before)


def test_other_threads_are_another_question(no_search):
    x = np.linspace(0.1, 0.9, 20)
    with sdfgad.config(num_threads=1):
        sdfgad.grad(steps)(x, 9)
    no_search()
    with sdfgad.config(num_threads=3), pytest.raises(AssertionError, match="searched again"):
        sdfgad.grad(steps)(x, 9)


def test_a_tape_that_outgrows_the_limit_makes_a_found_program_go_on_too(no_search):
    x = np.linspace(0.5, 0.9, 50)
    expected = sdfgad.grad(halved)(x)
    for _ in range(2):
        np.testing.assert_allclose(sdfgad.grad(halved, memory_limit=6000)(x), expected, rtol=1e-12)
        no_search()


def recalled(what, parts, search):
    return disk_cache.recalled(what, parts, search, {})


def _searches(values):
    calls = []

    def search():
        calls.append(1)
        return values[len(calls) - 1]
    return search, calls


def test_what_is_damaged_is_searched_again(own_cache):
    search, calls = _searches([Found("a")] * 3)
    assert [recalled("test", (1, "x"), search) for _ in range(2)] == ["a", "a"] and len(calls) == 1
    file = next(own_cache.rglob(disk_cache.FILE))
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(bytes(data))
    assert [recalled("test", (1, "x"), search) for _ in range(2)] == ["a", "a"] and len(calls) == 2
    file.write_bytes(b"")
    assert [recalled("test", (1, "x"), search) for _ in range(2)] == ["a", "a"] and len(calls) == 3


def test_other_parts_and_other_names_are_other_questions():
    search, calls = _searches([Found(k) for k in range(5)])
    assert [recalled("a", 1, search), recalled("a", 1.0, search), recalled("b", 1, search)] == [0, 1, 2]
    with sdfgad.config(solver_time_limit=1.5):
        assert recalled("a", 1, search) == 3


def test_what_looked_at_the_speed_of_the_machine_is_that_machines(monkeypatch):
    search, _ = _searches([Found("slow", timed=True), Found("fast", timed=True), Found("never", timed=True)])
    monkeypatch.setattr(disk_cache, "this_machine", lambda: FALLBACK)
    assert [recalled("test", 1, search) for _ in range(2)] == ["slow", "slow"]
    monkeypatch.setattr(disk_cache, "this_machine", lambda: Machine(1e11, 1e11))
    assert [recalled("test", 1, search) for _ in range(2)] == ["fast", "fast"]
    monkeypatch.setattr(disk_cache, "this_machine", lambda: FALLBACK)
    assert recalled("test", 1, search) == "slow"


def test_what_has_no_structure_is_searched_every_time(own_cache):
    search, _ = _searches([Found(1), Found(2), Found(lambda: 3), Found(4)])
    assert [recalled("test", object(), search) for _ in range(2)] == [1, 2]
    assert recalled("test", "parts", search)() == 3  # no function can be kept
    assert recalled("test", "parts", search) == 4
    with pytest.raises(Unknown):
        digest([1, {"a": object()}])


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    with sdfgad.config(cache_dir=str(tmp_path / "file")):
        assert recalled("test", 1, lambda: Found(5)) == 5


@pytest.mark.parametrize(("one", "other"), [
    (1, True), (0.0, -0.0), (1, 1.0), ((1, 2), [1, 2]), ((1, (2,)), ((1, 2),)), ({"a": 1}, {"b": 1}), ("1", 1),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (np.zeros(2), np.zeros((2, 1))), (np.float32(1), np.float64(1)),
    (np.dtype("f4"), np.dtype("f8")), (Pair(1, 2), (1, 2)), (ValueError, KeyError), (None, ()), ("ab", ("a", "b"))])
def test_different_values_have_different_digests(one, other):
    assert digest(one) != digest(other)
    assert digest([one, 1]) == digest([one, 1])


def test_sets_have_one_digest_in_every_process():
    code = ("from sdfgad.plans.disk_cache import digest\n"
            "print(digest({frozenset(str(k) for k in range(30)): {1.5, 'x', None}}))")
    found = {subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, text=True,
                            capture_output=True, check=True).stdout for seed in ("1", "2")}
    assert len(found) == 1


PROGRAM = """
import sys, numpy as np, sdfgad
from sdfgad.verbs import pipeline
from sdfgad.plans import disk_cache
from sdfgad.codegen import program
from npbench_suite.kernel import load
turn, place, *names = sys.argv[1:]
disk_cache.installation = lambda: (place,)
if turn == "again":
    pipeline.Choice.best = program._build = None
np.set_printoptions(threshold=10**9, floatmode="unique")
for name in names:
    kernel = load(name)
    arguments = kernel.initialize(**kernel.sizes("S"))
    made = sdfgad.grad(kernel.program, wrt=kernel.wrt, output=kernel.output, reduce="sum")(**arguments)
    print(repr(made))
"""


def test_another_process_finds_programs_and_libraries(tmp_path):
    def answer(seed, turn, **without):
        env = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1", **without}
        return subprocess.run([sys.executable, "-c", PROGRAM, turn, str(tmp_path), "jacobi_1d", "cholesky", "spmv"],
                              env=env, text=True, capture_output=True, check=True).stdout
    assert answer("1", "first") == answer("2", "again", PATH=str(tmp_path / "no compiler"), CXX="")


def test_a_program_read_back_has_the_same_text(monkeypatch):
    x = np.linspace(0.1, 0.9, 20)
    texts = []
    for _ in range(2):
        gradient = sdfgad.grad(steps)
        gradient(x, 9)
        texts.append(program_text(next(iter(gradient._known.values()))[0].program))
    assert texts[0] == texts[1]


def test_clearing_the_cache_clears_what_was_found(own_cache):
    search, _ = _searches([Found(1), Found(2)])
    assert recalled("test", 1, search) == 1
    cache.cache.clear()
    assert recalled("test", 1, search) == 2
