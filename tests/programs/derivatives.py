"""Random programs with more than one derivative: `python -m tests.programs.derivatives --count 200 --seed 0 KIND...`

second: the Hessian times a vector against differences of gradients, and its symmetry. vmap: values and gradients of a
batch against those of its elements. tangents, seeds: several at once against one after the other. own: functions with
rules of their own (of each form) against those that sdfgad differentiates. implicit: solutions of equations against
what they stand for, in both modes, every third in second derivatives. sparse: Jacobians with a pattern that was
found. Programs are compiled without optimisation; those that are wrong are named by number.
"""
from __future__ import annotations

import argparse
import re
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

import sdfgad
from sdfgad.codegen import program
from sdfgad.codegen.compiling import build
from sdfgad.errors import UnsupportedError
from tests.programs.equations import with_equation
from tests.programs.examine import Task
from tests.programs.running import arguments, copied, load, more_arguments, wrt_of
from tests.support.interpreted import interpreted

SEVERAL = 3
"""Elements of a batch, and directions at once."""
Arguments = dict[str, Any]


def data_of(task: Task, number: int) -> Arguments:
    """Arguments in double precision."""
    return more_arguments(number, task.size) if task.nested else arguments(number)


def close(found: Any, expected: Any, what: str, tolerance: float = 1e-9) -> None:
    """AssertionError where they differ by more than a part of the largest number; what has overflowed says nothing."""
    found, expected = np.asarray(found), np.asarray(expected)
    size = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    if np.isfinite(size):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * size, err_msg=what)


def second(task: Task, folder: Path) -> None:
    fn, given = load(task.text, folder, task.seed), data_of(task, task.seed % 4)
    wrt, rng = wrt_of(given), np.random.default_rng(task.seed)
    one, other = ({n: rng.normal(size=np.shape(given[n])) for n in wrt} for _ in range(2))
    gradient = sdfgad.grad(fn, wrt=wrt)

    def at(step: float) -> np.ndarray:
        moved = {n: v + step * one[n] if n in one else v for n, v in copied(given).items()}
        moved["c"] = float(moved["c"])
        return _line(gradient(*moved.values()), wrt)

    along = [_line(sdfgad.hvp(fn, list(copied(given).values()), d, wrt=wrt), wrt) for d in (one, other)]
    close(along[0] @ _line(other, wrt), along[1] @ _line(one, wrt), "symmetry", 1e-8)
    steps = [(at(h) - at(-h)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)]
    size = max(1.0, float(np.max(np.abs(along[0]))))
    if size > 1e6 or any(np.allclose(along[0], s, rtol=1e-4, atol=1e-4 * size) for s in steps):
        return
    if np.allclose(steps[0], steps[1:], rtol=1e-2, atol=1e-2 * size):  # else a kink is near
        raise AssertionError(f"the Hessian gives {along[0]}, differences {steps[1]}")


def _line(parts: Any, names: tuple[str, ...]) -> np.ndarray:
    return np.concatenate([np.ravel(parts[n]) for n in names])


def vmap(task: Task, folder: Path) -> None:
    fn = load(task.text, folder, task.seed)
    batch = [data_of(task, 7 * task.seed + k) for k in range(SEVERAL)]
    for element in batch:
        element.update(ind=batch[0]["ind"], c=batch[0]["c"])
    shared = ("ind", "c")
    axes = tuple(None if n in shared else 0 for n in batch[0])
    stacked = [batch[0][n] if n in shared else np.stack([b[n] for b in batch]) for n in batch[0]]
    wrt = tuple(n for n in wrt_of(batch[0]) if n != "c")
    with np.errstate(all="ignore"):
        expected = [fn(*copied(b).values()) for b in batch]
    close(sdfgad.vmap(fn, in_axes=axes)(*[np.copy(s) if np.ndim(s) else s for s in stacked]), expected, "values")
    gradient = sdfgad.grad(fn, wrt=wrt)
    each = [gradient(*copied(b).values()) for b in batch]
    found = sdfgad.vmap(gradient, in_axes=axes)(*stacked)
    for n in wrt:
        close(found[n], np.stack([e[n] for e in each]), f"gradient by {n}")


def tangents(task: Task, folder: Path) -> None:
    fn, given = load(task.text, folder, task.seed), data_of(task, task.seed % 4)
    rng = np.random.default_rng(task.seed)
    along = [rng.normal(size=(SEVERAL, *np.shape(v))) if n in wrt_of(given) and n != "c" else None
             for n, v in given.items()]
    _, found = sdfgad.jvp(fn, list(copied(given).values()), along, batched=True)
    for k in range(SEVERAL):
        one = sdfgad.jvp(fn, list(copied(given).values()), [None if a is None else a[k] for a in along])[1]
        close(found[k], one, f"tangent {k}")


def with_arrays(task: Task, folder: Path, given: Arguments) -> Callable[..., Any]:
    """A function around the program that returns arrays."""
    names = ", ".join(given)
    more = f"""
def vector({names}):
    w = x * 0.5 + y * y
    s = program({names})
    x[1:] = x[1:] * s
    return x * w + s, s * s

def single({names}):
    return vector({names})[0]
"""
    return load(task.text + "\n" + more, folder, task.seed + 100_000)


def seeds(task: Task, folder: Path) -> None:
    given = data_of(task, task.seed % 4)
    fn = with_arrays(task, folder, given).__globals__["vector"]
    wrt, rng = tuple(n for n in wrt_of(given) if n != "c"), np.random.default_rng(task.seed)
    out, pullback = sdfgad.vjp(fn, *copied(given).values(), wrt=wrt)
    several = [rng.normal(size=(SEVERAL, *np.shape(o))) for o in out]
    found = pullback(tuple(several), batched=True)
    for k in range(SEVERAL):
        one = pullback(tuple(s[k] for s in several))
        for n in wrt:
            close(found[n][k], one[n], f"cotangent {k} of {n}")


OWN = """
import sdfgad

@sdfgad.custom_vjp
def own_tanh(z):
    return np.tanh(z)

own_tanh.defvjp(lambda z: (np.tanh(z), np.tanh(z)), lambda t, g: (g * (1.0 - t * t),))

@sdfgad.custom_vjp
def own_arctan(z):
    return np.arctan(z)

own_arctan.defvjp(lambda z: (np.arctan(z), (z,)), lambda r, g: (g / (1.0 + r[0] * r[0]),))

@sdfgad.custom_jvp
def own_sin(z):
    return np.sin(z)

own_sin.defjvp(lambda primals, tangents: (np.sin(primals[0]), np.cos(primals[0]) * tangents[0]))
"""


def own(task: Task, folder: Path) -> None:
    replaced = re.sub(r"np\.(tanh|sin|arctan)\(", r"own_\1(", task.text)
    if replaced == task.text:
        raise UnsupportedError("there is nothing to put a rule in the place of")
    given = data_of(task, task.seed % 4)
    mine = load(replaced.replace("import numpy as np\n", "import numpy as np\n" + OWN, 1), folder, task.seed + 200_000)
    fn, wrt = load(task.text, folder, task.seed), wrt_of(given)
    expected, found = (sdfgad.grad(f, wrt=wrt)(*copied(given).values()) for f in (fn, mine))
    for n in wrt:
        close(found[n], expected[n], f"gradient by {n}", 1e-8)


def implicit(task: Task, folder: Path) -> None:
    given = data_of(task, task.seed % 4)
    texts = with_equation(task.text, ", ".join(given), task.seed)
    mine, plain = (load(text, folder, task.seed + k).__globals__["around"] for k, text in zip((300_000, 400_000), texts,
                                                                                            strict=True))
    wrt, rng = tuple(n for n in wrt_of(given) if n != "c"), np.random.default_rng(task.seed)
    along = [rng.normal(size=np.shape(v)) if n in wrt else None for n, v in given.items()]

    def derivatives(fn: Callable[..., Any]) -> Iterator[tuple[Any, str, float]]:
        gradient = sdfgad.grad(fn, wrt=wrt)(*copied(given).values())
        yield _line(gradient, wrt), "gradient", 1e-8
        yield sdfgad.jvp(fn, list(copied(given).values()), along)[1], "tangent", 1e-8
        if task.seed % 3 == 0:
            product = sdfgad.hvp(fn, list(copied(given).values()), along, wrt=wrt)
            yield _line(product, wrt), "product with the Hessian", 1e-7

    with interpreted():
        expected = [value for value, _, _ in derivatives(plain)]
    for known, (value, what, tolerance) in zip(expected, derivatives(mine), strict=True):
        close(value, known, what, tolerance)


def sparse(task: Task, folder: Path) -> None:
    given = data_of(task, task.seed % 4)
    fn = with_arrays(task, folder, given).__globals__["single"]
    found = sdfgad.jacobian(fn, wrt="x", sparsity="auto")(*copied(given).values())
    with interpreted():
        expected = sdfgad.jacobian(fn, wrt="x", mode="reverse")(*copied(given).values())
    close(found.toarray(), expected, "matrix")


KINDS: Mapping[str, Callable[[Task, Path], None]] = MappingProxyType(
    {f.__name__: f for f in (second, vmap, tangents, seeds, own, implicit, sparse)})


def verdict(kind: str, number: int, folder: Path) -> tuple[str, str]:
    """What became of a program, and why."""
    try:
        KINDS[kind](Task(number), folder)
    except UnsupportedError as error:
        return ("left out" if error.what and "nothing to put" in error.what else "refused"), error.what or str(error)
    except AssertionError as error:
        return "wrong", str(error)
    except Exception:  # noqa: BLE001 - whatever it is, it is a defect, and the others go on
        return "crash", traceback.format_exc()
    return "right", ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    build.FLAGS = program.FLAGS = tuple("-O0" if f == "-O3" else f for f in build.FLAGS)
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(asked.seed, asked.seed + asked.count):
            for kind in asked.kinds:
                found, why = verdict(kind, number, Path(folder))
                seen[f"{kind} {found}"] += 1
                if found != "right" and found != "left out":
                    print(number, kind, found, why[:2000], flush=True)
            if number % 20 == 19:
                print(number + 1 - asked.seed, dict(sorted(seen.items())), flush=True)
    print(dict(sorted(seen.items())))
    return int(any(k.endswith(("wrong", "crash")) for k in seen))


if __name__ == "__main__":
    raise SystemExit(main())
