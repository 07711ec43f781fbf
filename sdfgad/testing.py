"""Check gradients against the NumPy function itself: Taylor remainders, one-sided slopes, both modes of the engine."""
from __future__ import annotations

import html
import inspect
import json
import math
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.calls.arguments import Bound, bind
from sdfgad.calls.asked import asked_wrt, resolve_wrt
from sdfgad.calls.communicators import communicator_of
from sdfgad.errors import GradientMismatchError, OutputError, UnsupportedError, UnusedArgumentWarning, UsageError
from sdfgad.frontend.graphs.function import as_function
from sdfgad.ir.program import Loop, Program, While
from sdfgad.ir.walk import statements
from sdfgad.plans.request import is_number
from sdfgad.trees import assembled, contents, leaves, sequence, step
from sdfgad.verbs.api import value_and_grad
from sdfgad.verbs.options import at_device
from sdfgad.verbs.pipeline import translation
from sdfgad.verbs.products import jvp, vjp
from sdfgad.verbs.together import Running, Totals
from sdfgad.verbs.tracebacks import shortened

OK, BUG, KINK, NAN, STOPPED, SEARCH = "ok", "bug", "kink?", "nan", "stops", "search?"
SCHEMA = "sdfgad.check/1"
MEANINGS: Mapping[str, str] = MappingProxyType({
    BUG: "the gradient disagrees with the function, and no kink explains it",
    KINK: "the function bends at this point or beside it, and the gradient fits the slopes on both sides; no bug",
    STOPPED: "iteration stopped by a tolerance: the function jumps where the number of iterations changes; between two "
             "jumps the gradient fits, which is that of the iterations that were run; no bug. The derivative of the "
             "solution itself is that of sdfgad.root, fixed_point or linear_solve",
    SEARCH: "the gradient disagrees with the function, in which a loop ends by its data: what comparisons alone narrow "
            "down, as bisection does, has no slope of its own. Give its equation to sdfgad.root. A bug where the loop "
            "does not search",
    NAN: "the gradient or the function is NaN or infinite",
})
NO_FORWARD_MODE = "SG135"
"""Code of the refusal of forward mode through a function with a reverse rule."""
METHODS = ("taylor", "differences")
STEPS = tuple(1e-2 * 0.5**k for k in range(11))
# A remainder that falls like h**2 has rate 2; one with a wrong slope tends to rate 1.
LOWEST_RATE = 1.6
SHORT, CLOSE = (1e-5, 3e-6, 1e-6, 3e-7, 1e-7), 1e-3
"""Steps between two jumps of an iteration, and the relative error that rounding leaves of a right gradient there."""


@dataclass(frozen=True)
class ArgumentCheck:
    """One argument along one random direction.

    verdict: "ok", "bug", "kink?" (the one-sided slopes differ and the gradient lies between), "stops" (a loop ends by
    its data, and the gradient fits between two of its jumps) or "nan". rate: order at
    which the Taylor remainder falls, None when it is at rounding level (linear in this argument). slope: what the
    gradient says; left, right: one-sided differences; error: distance to central differences, relative.
    """

    name: str
    verdict: str
    rate: float | None
    slope: float
    left: float
    right: float
    error: float


@dataclass(frozen=True)
class CheckReport:
    """The result of `check_grads`. value_error: against NumPy; mode_error: the dot test, the product of weights and
    pushed directions against that of pulled weights and directions; both relative. None where a rule of the user's
    leaves no forward mode.
    """

    target: str
    arguments: tuple[ArgumentCheck, ...]
    value_error: float
    mode_error: float | None
    tolerance: float

    @property
    def ok(self) -> bool:
        """Whether nothing speaks against the gradient; a kink does not, nor does a loop that a tolerance stops."""
        errors = (self.value_error, 0.0 if self.mode_error is None else self.mode_error)
        right = all(a.verdict in (OK, KINK, STOPPED) for a in self.arguments)
        return right and all(e <= self.tolerance for e in errors)

    def __str__(self) -> str:
        rows = [f"gradient of {self.target}: {'ok' if self.ok else 'WRONG'}",
                f" {'argument':<14} {'verdict':<7} {'rate':>5} {'gradient':>13} {'left':>13} {'right':>13}"]
        rows += [_row(a) for a in self.arguments]
        dot = "not made: a rule has no forward mode" if self.mode_error is None else f"{self.mode_error:.1e}"
        rows.append(f"value against NumPy {self.value_error:.1e}, dot test (forward against reverse mode) {dot}")
        return "\n".join([*rows, *(textwrap.fill(line, 79, subsequent_indent="  ") for line in self.verdict())])

    def verdict(self) -> Iterator[str]:
        """What the numbers say, one sentence each; nothing where all is plainly right."""
        for verdict, meaning in MEANINGS.items():
            if names := [a.name for a in self.arguments if a.verdict == verdict]:
                yield f"{', '.join(names)}: {meaning}"
        if not self.value_error <= self.tolerance:
            yield f"the compiled function returns another value than NumPy does: more than {self.tolerance:.1e} away"
        if self.mode_error is not None and not self.mode_error <= self.tolerance:
            yield f"forward and reverse mode disagree by more than {self.tolerance:.1e}"

    def to_json(self) -> str:
        """Schema ``sdfgad.check/1``; numbers that are not finite are null."""
        document = {"schema": SCHEMA, "ok": self.ok, "verdict": list(self.verdict()), **asdict(self)}
        return json.dumps(_finite(document), indent=1, allow_nan=False)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _row(a: ArgumentCheck) -> str:
    rate = "exact" if a.rate is None else f"{a.rate:.2f}"
    return f" {a.name[:14]:<14} {a.verdict:<7} {rate:>5} {a.slope:>13.6e} {a.left:>13.6e} {a.right:>13.6e}"


@at_device
@shortened
def check_grads(fn: Callable[..., Any], *args: Any, wrt: Any = None, argnums: Any = None, output: Any = None,
                reduce: str | None = None, method: str = "taylor", raise_on_fail: bool = True,
                device: str | None = None, replicated: str | Sequence[str] = (), **keywords: Any) -> CheckReport:
    """Compare the gradient of `fn` at `args` with `fn` itself, run by NumPy on copies.

    wrt, argnums, output, reduce, device: as for `grad`; an output that is not one real scalar is weighted at random.
    method: "taylor" judges by the rate at which the remainder of the first-order expansion falls, "differences" by
    central differences. keywords: arguments passed by name. Raises GradientMismatchError, which carries the report,
    unless raise_on_fail is False.

    Where several ranks call `fn` together, all of them make this call, and get the same report: of the sum over the
    ranks of what each returns, weighted at random. Each rank moves its arguments along a direction of its own.
    replicated: names of arguments that all ranks hold alike and move alike, as those that decide how often they send.
    """
    if method not in METHODS:
        raise UsageError(f"method={method!r}", code="SG205", help=f"methods: {', '.join(METHODS)}")
    fn = as_function(fn)
    plain, ranks = getattr(fn, "fn", fn), communicator_of(fn, args, keywords)
    ranks = None if ranks is None or ranks.Get_size() == 1 else ranks
    if ranks is not None and reduce is not None:
        raise UsageError(f"reduce={reduce!r} of a function that several ranks call together", code="SG205",
                         help="leave it out: what they return is weighted at random")
    alike = (replicated,) if isinstance(replicated, str) else tuple(replicated)
    check = _PointCheck(plain, args, keywords, asked_wrt(wrt, argnums), output, reduce, Totals(ranks), alike)
    report = check.report(method)
    if raise_on_fail and not report.ok:
        nan = any(a.verdict == NAN for a in report.arguments)
        raise GradientMismatchError(str(report), report=report, code="SG402" if nan else "SG401")
    return report


class _PointCheck:
    """One function at one point: its objective as NumPy computes it, and its gradient."""

    def __init__(self, fn: Callable[..., Any], args: Sequence[Any], keywords: Mapping[str, Any], wrt: Any, output: Any,
                 reduce: str | None, all_ranks: Totals, alike: tuple[str, ...]) -> None:
        self.fn, self.args, self.wrt, self.output, self.reduce = fn, args, wrt, output, reduce
        self.keywords, self.all_ranks, self.alike = keywords, all_ranks, alike
        self.several = all_ranks.ranks is not None
        self.bound, self.own = all_ranks.ready(self.asked)
        self.names = all_ranks.names(self.own)
        if lost := [a for a in alike if not any(_is_of(n, a) for n in self.names)]:
            raise UsageError(f"replicated= names {', '.join(lost)}, which is not moved", code="SG205",
                             help=f"what is moved is {', '.join(self.names)}")
        self.program: Program | None = None
        self.rng = all_ranks.drawn(20)
        outputs = self.outputs({})
        if not any(all_ranks.every(len(outputs))):
            raise OutputError("the function returns nothing to differentiate")
        self.scalar = not self.several and len(outputs) == 1 and not outputs[0].shape and outputs[0].dtype.kind == "f"
        plain = self.scalar or reduce is not None
        self.weights = [np.ones(o.shape, o.dtype) if plain else self.random(o) for o in outputs]
        # Single precision anywhere limits what can be seen.
        dtypes = [np.asarray(self.bound.leaves[n]).dtype for n in self.own] + [o.dtype for o in outputs]
        self.precision = max(all_ranks.every(max((float(np.finfo(d).eps) for d in dtypes), default=0.0)))

    def asked(self) -> tuple[Bound, tuple[str, ...]]:
        """The arguments, and the names of those of this rank that are moved."""
        bound = bind(self.fn, self.args, self.keywords)
        return bound, resolve_wrt(self.fn, bound, self.wrt, self.several)

    def random(self, like: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        rng = rng or self.rng
        drawn = rng.normal(size=like.shape)
        return drawn + 1j * rng.normal(size=like.shape) if like.dtype.kind == "c" else drawn

    def outputs(self, moved: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The floating and complex outputs with some arguments moved."""
        values = {n: _rebuilt(n, v, moved) for n, v in self.bound.values.items()}
        call = inspect.BoundArguments(inspect.signature(self.fn), values)
        with np.errstate(all="ignore"), Running(self.all_ranks.ranks):
            returned = self.fn(*call.args, **call.kwargs)
        return _differentiable(_chosen(returned, values, self.output))

    def objective(self, moved: Mapping[str, np.ndarray]) -> float:
        """The weighted sum of all outputs."""
        return self.weighted(self.outputs(moved))

    def weighted(self, outputs: Sequence[Any]) -> float:
        return self.all_ranks.sum(sum(_inner(w, o) for w, o in zip(self.weights, outputs, strict=True)))

    def slope(self, grads: Mapping[str, Any], directions: Mapping[str, np.ndarray]) -> float:
        """What the gradient says about directions."""
        return self.all_ranks.sum(sum(_inner(grads[n], d) for n, d in directions.items()))

    def scale(self, grads: Mapping[str, Any], directions: Mapping[str, np.ndarray]) -> float:
        return self.all_ranks.sum(sum(float(np.sum(np.abs(grads[n]) * np.abs(d))) for n, d in directions.items()))

    def along(self, moved: Mapping[str, np.ndarray], step: float) -> float:
        """The objective in double precision, one argument moved."""
        wide = {n: np.asarray(v) for n, v in self.bound.leaves.items()}
        wide = {n: v.astype(np.result_type(v.dtype, np.float64)) for n, v in wide.items() if v.dtype.kind in "fc"}
        return self.objective({**wide, **{n: wide[n] + step * d for n, d in moved.items()}})

    def gradient(self) -> tuple[float, dict[str, Any]]:
        """Value of the objective and its gradient, from the compiled program."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnusedArgumentWarning)
            if self.scalar or self.reduce is not None:
                options = {"output": self.output, "reduce": self.reduce}
                value, found = value_and_grad(self.fn, wrt=self.wrt, **options)(*self.args, **self.keywords)
                return _inner(1.0, value), self.by_name(found)
            wrt = (self.wrt,) if self.several and isinstance(self.wrt, (str, int)) else self.wrt
            out, pullback = vjp(self.fn, *self.args, wrt=wrt, output=self.output, **self.keywords)
            self.program = pullback.program
            return self.weighted(_differentiable(leaves(out))), self.by_name(pullback(tuple(self.weights)))

    def by_name(self, found: Any) -> dict[str, Any]:
        return dict(found.items()) if hasattr(found, "items") else {self.names[0]: found}

    def report(self, method: str) -> CheckReport:
        value, grads = self.gradient()
        here = self.objective({})
        directions = {n: self.direction(n) for n in self.own}
        checks = tuple(self.argument(n, {n: directions[n]} if n in directions else {}, grads, method)
                       for n in self.names)
        mode_error = self.forward_error(directions, grads)
        return CheckReport(getattr(self.fn, "__name__", "the function"), checks,
                           _relative(value - here, _size(here)), mode_error, 1e4 * self.precision)

    def direction(self, name: str) -> np.ndarray:
        """A random direction of length about one, in proportion to the argument."""
        x = np.asarray(self.bound.leaves[name])
        drawn = self.random(x, self.all_ranks.drawn(21, True) if any(
            _is_of(name, a) for a in self.alike) else self.rng)
        size = max(1.0, float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x))))
        return drawn * size / max(1.0, math.sqrt(max(1, x.size)))

    def argument(self, name: str, moved: Mapping[str, np.ndarray], grads: Mapping[str, Any],
                 method: str) -> ArgumentCheck:
        """One argument. moved: its direction, or nothing on a rank that does not have it."""
        here, *along = (self.along(moved, s) for s in (0, 2e-4, 1e-4, -1e-4, -2e-4))
        right = (4 * along[1] - along[0] - 3 * here) / 2e-4
        left = (3 * here - 4 * along[2] + along[3]) / 2e-4
        central = (8 * (along[1] - along[2]) - (along[0] - along[3])) / 12e-4
        slope = self.slope(grads, moved)
        scale = max(_size(central), self.scale(grads, moved))
        error = _relative(slope - central, scale)
        rate = self.rate(moved, slope, here, scale) if method == "taylor" else None
        if not np.isfinite(slope) or not np.isfinite(central):
            verdict = NAN
        elif self.agrees(method, rate, error):
            verdict = OK
        else:
            # Steps long enough to rise above rounding may cross a kink nearby that short ones do not reach.
            near = self.agrees("differences", None, error)
            kink = near or _between(slope, left, right, scale)
            wrong = SEARCH if self.ends_by_data() else BUG
            verdict = STOPPED if self.jumps(moved, slope, scale) else KINK if kink else wrong
        return ArgumentCheck(name, verdict, rate, slope, left, right, error)

    def jumps(self, moved: Mapping[str, np.ndarray], slope: float, scale: float) -> bool:
        """Whether a loop of the function ends by its data, and the gradient fits between two of its jumps.

        The value of such a function is off by about the tolerance, differently at each point. Steps that are short
        enough do not change the number of iterations; a wrong gradient is wrong there, too.
        """
        if not self.ends_by_data():
            return False
        errors = (_relative(slope - self.difference(moved, h), scale) for h in SHORT)
        return any(error <= CLOSE for error in errors)

    def difference(self, moved: Mapping[str, np.ndarray], step: float) -> float:
        """A central difference of the fourth order."""
        values = [self.along(moved, k * step) for k in (2, 1, -1, -2)]
        return (8 * (values[1] - values[2]) - (values[0] - values[3])) / (12 * step)

    def ends_by_data(self) -> bool:
        """Whether the function has a loop whose number of iterations depends on its arguments, on any rank."""
        program = self.program or translation(self.fn, self.bound).program
        return any(self.all_ranks.every(any(isinstance(s, While) or isinstance(s, Loop) and s.until is not None
                                            for s in statements(program.body))))

    def agrees(self, method: str, rate: float | None, error: float) -> bool:
        if method == "taylor":
            return rate is None or rate >= LOWEST_RATE
        return error <= max(1e-6, 1e3 * self.precision)

    def rate(self, moved: Mapping[str, np.ndarray], slope: float, here: float, scale: float) -> float | None:
        """The order at which |F(x + h d) - F(x) - h slope| falls, from the smallest steps above rounding."""
        remainders = []
        for h in STEPS:
            remainder = abs(self.along(moved, h) - here - h * slope)
            rounding = 100 * (np.finfo(float).eps * _size(here) + h * self.precision * scale)
            if np.isfinite(remainder) and remainder > rounding:
                remainders.append((math.log2(h), math.log2(remainder)))
        if len(remainders) < 2:
            return None
        tail = np.array(remainders[-4:])
        return float(np.polyfit(tail[:, 0], tail[:, 1], 1)[0])

    def forward_error(self, directions: Mapping[str, np.ndarray], grads: Mapping[str, Any]) -> float | None:
        """The dot test: forward against reverse mode along the directions of all arguments."""
        tangents = {n: d.astype(np.asarray(self.bound.leaves[n]).dtype) for n, d in directions.items()}
        try:
            out, pushed = jvp(self.fn, self.args, tangents, output=self.output, **self.keywords)
        except UnsupportedError as refused:
            if refused.code != NO_FORWARD_MODE:
                raise
            return None
        parts = list(zip(leaves(out), leaves(pushed), strict=True))
        moved = [np.asarray(t) for o, t in parts if np.asarray(o).dtype.kind in "fc"] or [
            np.asarray(t) for o, t in parts if is_number(o)]
        total = self.weighted(moved)
        return _relative(total - self.slope(grads, directions), max(self.scale(grads, directions), _size(total)))


def _is_of(leaf: str, argument: str) -> bool:
    """Whether a leaf is an argument or lies in it."""
    return leaf == argument or leaf.startswith((f"{argument}[", f"{argument}."))


def _between(slope: float, left: float, right: float, scale: float) -> bool:
    """Whether the one-sided slopes differ and the gradient lies between them."""
    low, high = min(left, right), max(left, right)
    margin = 1e-5 * scale
    return high - low > 10 * margin and low - margin <= slope <= high + margin


def _inner(a: Any, b: Any) -> float:
    return float(np.sum(np.real(np.conj(a) * b)))


def _size(x: float) -> float:
    return abs(x) if np.isfinite(x) else 0.0


def _relative(error: float, scale: float) -> float:
    return abs(error) / max(scale, 1e-300) if error else 0.0


def _finite(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _chosen(returned: Any, values: Mapping[str, Any], output: Any) -> list[Any]:
    """What `output` selects, as in `grad`."""
    if output is None:
        return leaves(returned)
    parts = sequence(returned) or (returned,)
    entries = output if isinstance(output, (tuple, list)) else (output,)
    return [values[e] if isinstance(e, str) else parts[e] for e in entries]


def _differentiable(parts: Sequence[Any]) -> list[np.ndarray]:
    """The floating and complex ones; where there is none, integers that are constants."""
    found = [p for p in map(np.asarray, parts) if p.dtype.kind in "fc"]
    return found or [np.asarray(p, np.float64) for p in parts if is_number(p)]


def _rebuilt(name: str, value: Any, moved: Mapping[str, np.ndarray]) -> Any:
    """An argument with moved leaves; arrays are copied, so that the function may write into them."""
    inside = contents(value)
    if inside is not None:
        return assembled(type(value), {k: _rebuilt(name + step(type(value), k), v, moved) for k, v in inside.items()})
    if name not in moved:
        return value.copy() if isinstance(value, np.ndarray) else value
    held = moved[name]
    if isinstance(value, np.ndarray):  # also where arithmetic has made a number of an array without dimensions
        return np.array(held)
    return held[()] if isinstance(value, np.generic) else held.item()
