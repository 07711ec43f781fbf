"""Loop nests as numerical programs have them, at sizes where transformations pay, for random programs.

B holds a few matrices. Whatever is added to what was there is small, so that values stay moderate however often.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.programs.text import HEAD, Text
from tests.programs.writer import (
    assign_matrix,
    assign_scalar,
    assign_slice,
    assign_vector,
    branch,
    scatter,
    text_of,
)

DEPTH = 4
"""Matrices in B."""
START = ("B = B.copy()", "u = 0.5 * x", "D = np.zeros_like(A)")
HELPERS = '''def flux(q, rate):
    return blend(q, q[::-1], rate) * 0.5


def advance(q, f, rate):
    q[1:-1] += rate * (flux(q, rate)[2:] - f[:-2])
    smear(q)
    return q


def solve(low, rhs):
    out = np.zeros_like(rhs)
    for i in range(rhs.shape[0]):
        out[i] = (rhs[i] - 0.1 * (low[i, :i] @ out[:i])) / (2.0 + low[i, i] ** 2)
    return out


def normalised(M):
    e = np.exp(M - M.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def product_sum(P, Q):
    s = 0.0
    for i in range(P.shape[0]):
        s += np.sum(P[i] @ Q[i])
    return s


'''


@contextmanager
def loop(t: Text, head: str, *bounds: int) -> Iterator[str]:
    """A loop with a name of any kind: `head` says over what."""
    name = t.loop_name()
    with t.block(f"for {name} in {head}:"):
        t.loops.append((name, *bounds))
        yield name


def lines(t: Text, *texts: str) -> None:
    for text in texts:
        t.line(text)


def matrix_name(t: Text) -> str:
    return t.any_of((*t.matrices, "A", "D"))


def products(t: Text) -> None:
    """Sums of products, per matrix and per row."""
    v, m, w = t.any_of(t.vectors), matrix_name(t), matrix_name(t)
    s = t.any_of(t.scalars)
    with loop(t, "range(B.shape[0])", 0, DEPTH - 1) as i:
        t.line(t.any_of((f"{s} += 1e-3 * np.sum(B[{i}] @ {m})", f"{s} += 1e-3 * np.sum(B[{i}] @ B[{i}].T)",
                         f"{s} += np.tanh(1e-2 * np.sum((B[{i}] @ {v}) * {v}))",
                         f"D[:] = 0.1 * B[{i}] @ {m} + 0.5 * {w}",
                         f"{v}[:] = 0.2 * (B[{i}] @ {v}) + 0.3 * {v}", f"D += 0.01 * np.outer({v}, B[{i}, 0])",
                         f"{s} += 1e-2 * np.sum(B[{i}] * {m}, axis=0) @ {v}", f"{s} += 1e-3 * np.trace(B[{i}] @ {m})",
                         f"{s} += 1e-3 * product_sum(B, B[:, ::-1])")))


def stencil(t: Text) -> None:
    """Sweeps in time over a matrix, with updates of rows and sources in between, and arrays that take turns."""
    m, steps = matrix_name(t), t.number(2, 5)
    lines(t, f"P = 0.5 * {m}", "Q = np.zeros_like(P)")
    row = t.number(1, t.size - 2)
    with loop(t, f"range({steps})", 0, steps - 1) as i:
        lines(t, t.any_of((
            "Q[1:-1, 1:-1] = 0.2 * (P[2:, 1:-1] + P[:-2, 1:-1] + P[1:-1, 2:] + P[1:-1, :-2]) + 0.1 * A[1:-1, 1:-1]",
            "Q[1:-1, 1:-1] = 1.5 * P[1:-1, 1:-1] - Q[1:-1, 1:-1] + A[1:-1, 1:-1] ** 2 * (P[2:, 1:-1] - P[1:-1, 1:-1])",
            "Q[1:] = 0.4 * (P[1:] + P[:-1]) * A[1:]",
            "Q[:] = 0.25 * (np.roll(P, 1, axis=0) + np.roll(P, -1, axis=0) + np.roll(P, 1, axis=1) + A)",
            "Q[:] = np.where(A > 0.1, 0.5 * P, np.roll(P, (1, -2), (0, 1)) * A)")))
        if t.chance(60):
            t.line(t.any_of((f"Q[{row}, :] += x[{i}] * A[{row}, :]", f"Q[{row}] *= 0.5 + A[0]", "Q[:, 0] = Q[:, 1]",
                             "Q[0] = 0.0", f"Q[-1, :] = y * x[{i}]", f"Q[{row}, {row}] += c", "Q[:, -1] += 0.3 * x")))
        lines(t, *t.any_of((("P, Q = Q, P",), ("P[:] = Q",), ("P[:] = Q", "Q[:] = 0.0"), ("P = Q.copy()",),
                            ("P[1:-1, 1:-1] = Q[1:-1, 1:-1]",))))
    t.line(f"{t.any_of(t.vectors)}[:] = np.tanh(P{t.any_of(('.sum(axis=0)', '[1]', '.mean(axis=1)', '[:, -2]'))})")


def in_place(t: Text) -> None:
    """Element by element: recurrences in one and two dimensions, forwards and backwards."""
    v, m, last = t.any_of(t.vectors), matrix_name(t), t.size - 1
    head = t.any_of((f"range(1, {last})", f"range({last - 1}, 0, -1)"))
    with loop(t, head, 1, last - 1) as i:
        if t.chance(50):
            t.line(t.any_of((f"{v}[{i}] = 0.3 * ({v}[{i} - 1] + {v}[{i} + 1]) + 0.2 * x[{i}]",
                             f"{m}[{i}] = 0.4 * {m}[{i} - 1] + 0.3 * A[{i} + 1] * {v}",
                             f"{m}[:, {i}] = 0.4 * {m}[:, {i} - 1] + 0.3 * A[:, {i}]",
                             f"D[:, {i}] = (A[:, {i}] - 0.2 * D[:, {i} + 1]) / (1.5 + D[:, {i} + 1] ** 2)",
                             f"u[{i}] += 0.3 * u[{i} - 1] * {v}[{i}]")))
            return
        with loop(t, f"range(1, {last})", 1, last - 1) as j:
            t.line(t.any_of((
                f"D[{i}, {j}] = 0.2 * (D[{i} - 1, {j}] + D[{i}, {j} - 1] + D[{i} + 1, {j}] + A[{i}, {j}])",
                f"D[{i}, {j}] = 0.5 * D[{i}, {j} - 1] + 0.3 * A[{j}, {i}]",
                f"D[{i}, {j}] += 0.1 * A[{i}, {j} - 1] * {v}[{j}]", f"{v}[{i}] += 0.01 * A[{i}, {j}] * x[{j}]")))


def triangle(t: Text) -> None:
    """Bounds that depend on outer loops."""
    v, n = t.any_of(t.vectors), t.size
    with loop(t, f"range({n})", 0, n - 1) as i:
        if t.chance(30):
            t.line(t.any_of((f"u[{i}] = np.tanh(x[{i}] - 0.1 * (A[{i}, :{i}] @ u[:{i}]))",
                             f"D[{i}, {i}:] = 0.3 * A[{i}, {i}:] + 0.2 * D[:{i} + 1, {i}].sum()",
                             f"D[{i}, :{i}] = A[:{i}, {i}]", f"D[{i}:, {i}] += 0.1 * (A[{i}:, :{i}] @ {v}[:{i}])")))
            return
        head = t.any_of((f"range({i})", f"range({i}, {n})", f"range({i} + 1, {n})", f"range({i} - 1, -1, -1)"))
        with loop(t, head, 0, n - 1) as j:
            t.line(t.any_of((f"D[{i}, {j}] = 0.3 * A[{i}, {j}] * {v}[{j}]", f"u[{j}] += 0.01 * A[{i}, {j}]",
                             f"D[{i}, {j}] -= 0.1 * (A[{i}, :{j}] @ A[:{j}, {j}]) / {n}",
                             f"D[{j}, {i}] = 0.5 * A[{i}, {j}]", f"D[{i}] += 0.01 * A[{j}] * x[{i}]",
                             f"c += 0.001 * np.tanh(x[{i}] - y[{j}])")))


def gather(t: Text) -> None:
    v, m = t.any_of(t.vectors), matrix_name(t)
    lines(t, *t.any_of(((f"{v}[:] = 0.5 * x[ind] + A[0, ind]",), (f"D[:] = 0.5 * {m}[ind]",), (f"D[ind] = 0.4 * {m}",),
                        (f"D[:] = 0.4 * A[:, ind] + 0.1 * {m}",), (f"np.add.at(u, ind, 0.2 * {v})",),
                        (f"np.add.at(D, ind, 0.2 * {m})",), ("D += 0.3 * np.take(A, ind, axis=1)",),
                        ("u[ind] = x", "u *= 0.5"), ("B[1, ind] = 0.5 * A",), ("D[:, ind] += 0.2 * A",))))


def axes(t: Text) -> None:
    """Reductions and rolls along axes, broadcasts, three dimensions."""
    v, m, s = t.any_of(t.vectors), matrix_name(t), t.any_of(t.scalars)
    t.line(t.any_of((
        f"{v}[:] = np.tanh({m}.sum(axis=0) * 0.2)", f"{v}[:] = 0.5 * {m}.max(axis=1)", f"D[:] = 0.5 * normalised({m})",
        f"D[:] = 0.3 * ({m} - {m}.mean(axis=0)) / (1.0 + {m}.std(axis=0))", f"D[:] = np.tanh(x[:, None] - {v})",
        f"D[:] = 0.5 * np.roll({m}, {t.number(1, t.size - 1)}, axis={t.any_of('01')})", f"{v}[:] = np.roll({v}, -2)",
        "D[:] = 0.3 * B.sum(axis=0)", f"B[1:] = 0.5 * B[:-1] * {m}", "B[:, 1:-1] = 0.3 * (B[:, 2:] + B[:, :-2])",
        "B[:, :, 1:] *= 0.5 + 0.3 * B[:, :, :-1]", f"{s} += 0.1 * np.mean(B * B)", "B[:] = 0.5 * np.roll(B, 1, axis=2)",
        f"{s} += 0.01 * np.sum(1.0 / (0.5 + (x[:, None] - {v}[None, :]) ** 2))", f"D[:] = 0.3 * {m}.T + 0.4 * {m}",
        f"{v} += 0.01 * B.sum(axis=(0, 2))", f"D[:] = np.clip({m}, -0.4, 0.6) * {v}", "D[D > 0.2] = 0.1",
        f"{s} += 1e-3 * np.sum({m} ** 3)", f"D[:] = np.maximum({m}, 0.0) + np.minimum({m}, 0.1) * 0.2")))


def helpers(t: Text) -> None:
    v, w = t.any_of(t.vectors), t.any_of(t.vectors)
    t.line(t.any_of((f"{v}[:] = 0.5 * solve(A, {w})", f"u = advance(u, 0.3 * {v}, 0.1)",
                     "c = np.tanh(c + 1e-3 * product_sum(B, B))", f"advance({v}, flux({w}, 0.4), 0.2)",
                     f"D[:] = normalised(0.1 * A * {v})")))


def levels(t: Text) -> None:
    """A solve along one axis of three dimensions, level by level."""
    last = t.size - 1
    lines(t, "E = 0.3 * B")
    with loop(t, f"range(1, {last + 1})", 1, last) as k:
        t.line(t.any_of((f"E[:, :, {k}] = (B[:, :, {k}] - 0.2 * E[:, :, {k} - 1]) / (1.5 + 0.1 * B[:, :, {k} - 1])",
                         f"E[:, {k}] += 0.3 * E[:, {k} - 1] * A[{k}]", f"E[:, {k}, :-1] = 0.4 * E[:, {k} - 1, 1:]")))
    if t.chance(60):
        with loop(t, f"range({last - 1}, -1, -1)", 0, last - 1) as k:
            t.line(f"E[:, :, {k}] -= 0.3 * E[:, :, {k} + 1] * B[:, :, {k}]")
    t.line(t.any_of(("D += 0.2 * E[1]", "B[:] = 0.5 * E", "u += 0.1 * np.tanh(E.sum(axis=(0, 1)))")))


def repeated(t: Text) -> None:
    """A loop that a tolerance ends, or a number of rounds."""
    counter = t.fresh("rounds")
    t.line(f"{counter} = 0")
    with t.block(f"while np.max(np.abs(u)) > 0.05 and {counter} < {t.number(2, 6)}:"):
        lines(t, t.any_of(("u[1:-1] = 0.4 * (u[2:] + u[:-2])", "u *= 0.5 + 0.1 * x", "u = 0.3 * (A @ u) / x.size")),
              f"{counter} += 1")
        if t.chance(50):
            axes(t)


def rounds(t: Text) -> None:
    """Several of these in a loop in time."""
    n = t.number(2, 4)
    with loop(t, f"range({n})", 0, n - 1):
        for _ in range(t.number(1, 3)):
            t.any_of((stencil, in_place, axes, axes, gather, products, helpers, _vectors, _vectors))(t)


def _vectors(t: Text) -> None:
    t.any_of((assign_vector, assign_slice, assign_scalar))(t)


def few(t: Text) -> None:
    """A loop over a few elements."""
    n = min(t.number(2, 6), t.size)
    with loop(t, f"range({n})", 0, n - 1):
        t.any_of((assign_vector, assign_slice, assign_scalar, gather, axes))(t)


NESTS = (products, stencil, in_place, triangle, gather, axes, axes, helpers, levels, repeated, assign_vector,
         assign_matrix, assign_slice, scatter)


def nest_program(seed: int, size: int) -> str:
    """The text of a program of loop nests over vectors of `size` elements, at least 5; `seed` decides it."""
    return text_of(seed, NESTS, START, (rounds, rounds, branch, few), size=size, deepest=2, head=HEAD + HELPERS,
                   parameters=("x", "y", "A", "B", "c", "ind"), vectors=["x", "y", "u"], matrices=["A", "D"],
                   ends=("0.1 * np.sum(B * B)",))
