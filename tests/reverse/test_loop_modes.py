"""Loops that start again from snapshots: every mode gives the gradient of the loop that is wholly recorded."""
from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from sdfgad.analysis.elements.access import sites
from sdfgad.calls.arguments import bind
from sdfgad.checkpoint.modes import BINOMIAL, ONLINE, RESTART, SEGMENTS, Mode
from sdfgad.codegen.targets import CPU
from sdfgad.errors import PlanNotExecutable
from sdfgad.frontend import parse
from sdfgad.ir.program import Loop, Map, Program, Store, View, While
from sdfgad.ir.walk import statements
from sdfgad.reverse.loop_modes import loop_names, may_end_early, most_trips
from sdfgad.reverse.made import Gradient, ReverseRequest
from sdfgad.reverse.sweeps import gradient
from sdfgad.transform.stages import TRIM, prepare_program
from sdfgad.verbs.pipeline import Request, resolve_outputs
from tests.support import point_loops

MOST_PLANS, MOST_TIDIED = 40, 12
"""Of a program; those that all passes go through take ten times as long as those that none does."""


def burgers(u, v, steps):
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        u[1:-1] = un[1:-1] - 0.1 * un[1:-1] * (un[1:-1] - un[:-2]) + 0.1 * vn[2:]
        v[1:-1] = vn[1:-1] - 0.1 * un[1:-1] * (vn[1:-1] - vn[:-2])
    return (u * u + v).sum()


def triangle_of_steps(x, n):
    """The inner loop gets longer; values from before and after both loops are needed."""
    y = x * 1.0
    for i in range(n):
        z = y * y
        for _ in range(1, i + 3):
            y[1:] = np.sin(y[1:]) * y[:-1] + z[1:]
        y = y * np.cos(z)
    w = np.exp(y)
    y[:] = 0.5
    return (w * y * x).sum()


def forcing_spoilt_afterwards(x, f):
    """Running the loop again reads what a later statement overwrites."""
    for t in range(5):
        x[:] = x * x * f[t] + f[t + 1]
    f[:] = 0.0
    return (x * x).sum()


def forcing_spoilt_by_the_outer_loop(x, f):
    for _ in range(3):
        for t in range(4):
            x[:] = np.sin(x) * f[t] + x
        f[:] = f * x[:5]
    return (x * x).sum()


def history(x):
    """Each step adds a row that later steps read: nothing of it is ever overwritten."""
    rows = np.zeros((7, x.size))
    rows[0] = x
    for t in range(1, 7):
        rows[t] = np.sin(rows[t - 1]) * rows[max(t - 2, 0)] + x
    return (rows * rows).sum()


def needed_from_before(x):
    """A product before the loop needs what the loop overwrites in its last steps."""
    y = np.sin(x)
    p = y * y * x
    for t in range(5):
        y[t + 1] = y[t] * y[t + 1] + p[t]
    return (y * p).sum()


def backwards_in_twos(x):
    for t in range(11, 0, -2):
        x[1:] = x[1:] * np.cos(x[:-1]) + 0.01 * t
    return (x**3).sum()


def afresh_in_every_iteration(x):
    """The inner loop updates an array of which every iteration of the outer one has a version."""
    s = 0.0
    for _ in range(4):
        y = np.sin(x)
        for _ in range(3):
            y[1:] = y[1:] * y[:-1] + x[1:]
        s += (y * y).sum()
        x[:] = x + 0.1 * y
    return s


def branches_and_counters(x):
    s = 0.5
    for t in range(6):
        k = 0
        while s < 1.0 and k < 3:
            s = s * 1.3 + 0.1 * x[t] * x[t]
            k += 1
        if s > 0.9:
            s = s * x[t]
        x[t + 1] = x[t + 1] * s
    return (x * x).sum() + s * s


def until_settled(x):
    y = x * 1.0
    e, n = 1.0, 0
    while e > 1e-4 and n < 60:
        z = np.sin(y) * y * 0.95 + 0.2 * x
        e = ((z - y) ** 2).sum()
        y[1:] = z[1:]
        n += 1
    return (y * y * x).sum() * n


def settling_again_and_again(x):
    y = x * 1.0
    for t in range(3):
        e = 1.0
        while e > 1e-3 * (t + 1):
            e = e * 0.5 * y[0] ** 2
            y = np.cos(y) * x
        x[:] = x * y
    return (y * x).sum()


def data() -> np.ndarray:
    return np.random.default_rng(3).uniform(0.3, 1.1, 8)


CASES = [
    (burgers, (data(), data()[::-1].copy(), 7)), (triangle_of_steps, (data(), 4)),
    (forcing_spoilt_afterwards, (data(), data())), (forcing_spoilt_by_the_outer_loop, (data()[:5], data()[:5])),
    (history, (data(),)), (needed_from_before, (data(),)), (backwards_in_twos, (data(),)),
    (afresh_in_every_iteration, (data(),)), (branches_and_counters, (data(),)), (until_settled, (data(),)),
    (settling_again_and_again, (data(),)),
]
every_program = pytest.mark.parametrize("fn, args", CASES, ids=[f.__name__ for f, _ in CASES])


@dataclass(frozen=True)
class Ready:
    """A program in normal form, what of it is differentiated, and with respect to what."""

    program: Program
    outputs: tuple[View, ...]
    wrt: tuple[str, ...]

    def derived(self, modes=None, undone=frozenset(), spill=False) -> Gradient:
        return gradient(self.program, ReverseRequest(self.wrt, self.outputs, spill=spill), frozenset(), modes or {},
                        undone)


def ready(fn, args) -> Ready:
    bound = bind(fn, args, {})
    parsed = parse(fn, tuple(bound.values.values()))
    parsed, outputs = resolve_outputs(parsed, Request((), None, "sum"))
    wrt = tuple(parsed.traced[n] for n, v in bound.leaves.items() if n in parsed.traced and np.ndim(v))
    return Ready(prepare_program(parsed.program, outputs).but(returns=outputs), tuple(outputs), wrt)


def derived(fn, args, modes=None, undone=frozenset(), spill=False) -> tuple[Gradient, tuple[str, ...]]:
    known = ready(fn, args)
    return known.derived(modes, undone, spill), known.wrt


def gradients(made: Gradient, wrt, args, tidied: bool) -> list[np.ndarray]:
    program = CPU.optimised(TRIM(made.program.but(live_out=frozenset(made.results)))) if tidied else made.program
    given = dict(zip(wrt, (a.copy() for a in args if np.ndim(a)), strict=True))
    memory: dict[str, np.ndarray] = {}
    point_loops.run(program, {n: a for n, a in given.items() if n in program.arrays}, memory)
    return [memory[made.gradients[n]] for n in wrt if made.gradients[n]]


def offered(made: Gradient) -> list[list[tuple[str, Mode | None]]]:
    names, place = loop_names(made.swept), sites(made.swept.body)
    found = []
    for loop in statements(made.swept.body):
        trips = most_trips(loop, place[id(loop)].path) if isinstance(loop, Loop) else None
        if isinstance(loop, (Loop, While)) and may_end_early(loop):
            modes = [*(Mode(ONLINE, c) for c in (2, 4, 6, 64)), Mode(ONLINE, 2, 2), Mode(ONLINE, 4, 3)]
            found.append([(names[id(loop)], m) for m in (None, *modes)])
        elif isinstance(loop, Loop) and trips is not None and trips > 1:
            modes = [Mode(SEGMENTS, k) for k in {1, 2, 3, trips}]
            if loop.range.trips:
                modes += [Mode(BINOMIAL, c, n) for n in (1, 2, 3) for c in (1, 2, 3) if c <= -(-trips // n)]
                modes.append(Mode(RESTART))
            found.append([(names[id(loop)], m) for m in (None, *modes)])
    return found


@every_program
@pytest.mark.parametrize("tidied, spill", [(False, False), (True, False), (True, True)],
                         ids=["as emitted", "tidied", "on disk"])
def test_every_mode_gives_the_same_gradient(fn, args, tidied, spill):
    known = ready(fn, args)
    made, wrt = known.derived(), known.wrt
    expected = gradients(made, wrt, args, tidied)
    plans = list(itertools.product(*offered(made)))
    assert len(plans) > 4
    most = MOST_TIDIED if tidied else MOST_PLANS
    if len(plans) > most:
        chosen = np.random.default_rng(5 + spill).choice(len(plans), most, replace=False)
        plans = [plans[k] for k in chosen]
    for plan in plans:
        modes = {name: mode for name, mode in plan if mode is not None}
        found = gradients(known.derived(modes, spill=spill), wrt, args, tidied)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14, err_msg=str(modes))


def test_tapes_have_room_for_one_segment():
    whole = derived(*CASES[0])[0]
    parts = derived(*CASES[0], {only_loop(): Mode(SEGMENTS, 4)})[0]
    rooms = [max(n.shape[0] for n in p.program.arrays.values() if n.name.startswith(("un", "tape")) and n.shape)
             for p in (whole, parts)]
    assert rooms == [7, 2]


def test_iterations_without_records_share_one_version():
    made = derived(*CASES[0], {only_loop(): Mode(SEGMENTS, 4)})[0]
    places = [str(p.index[0]) for s in statements(made.program.body) if isinstance(s, Map) for p in s.body
              if isinstance(p, Store) and p.array == "un"]
    assert len(set(places)) == 2 and places[0] == "0"


def test_a_snapshot_holds_one_version():
    fn, args = next(case for case in CASES if case[0] is afresh_in_every_iteration)
    inner = offered(derived(fn, args)[0])[-1][0][0]
    arrays = derived(fn, args, {inner: Mode(SEGMENTS, 2)})[0].program.arrays
    assert (arrays["y"].shape, arrays["saved_y"].shape) == ((4, 8), (4, 2, 8))


@pytest.mark.parametrize("mode", [Mode("hope"), Mode(SEGMENTS, 99), Mode(BINOMIAL, 8), Mode(BINOMIAL, 0)], ids=str)
def test_what_cannot_be_done_is_refused(mode):
    with pytest.raises(PlanNotExecutable, match="cannot be run as"):
        derived(*CASES[0], {only_loop(): mode})


def test_a_loop_that_does_not_exist_is_refused():
    with pytest.raises(PlanNotExecutable, match="there is no loop nobody@1"):
        derived(*CASES[0], {"nobody@1": Mode(SEGMENTS, 2)})


def only_loop() -> str:
    """The name of the loop of `burgers`."""
    return offered(derived(*CASES[0])[0])[0][0][0]
