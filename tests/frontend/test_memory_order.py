"""What NumPy has in one memory: parts of complex numbers, and arrays in another order than C."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import OutputError, UnsupportedError
from sdfgad.frontend import parse
from sdfgad.frontend.state.strides import regroups
from tests.frontend.checking import check
from tests.programs.running import load
from tests.support.point_loops import run

Z = np.random.default_rng(0).uniform(-1.0, 1.0, (4, 6)) + 1j * np.random.default_rng(1).uniform(-1.0, 1.0, (4, 6))
X = Z.real.copy()
REFUSED, RIGHT = False, True


def part_of_updated(z):
    v = z.real
    z *= 0.5
    return np.sum(v)


def part_copied_before(z):
    v = z.real.copy()
    z *= 0.5
    return np.sum(v)


def array_of_updated_part(z):
    v = np.imag(z)
    v *= 0.5
    return np.sum(np.abs(z))


def only_the_updated_part(z):
    v = np.fft.ifft(z).imag
    v[1:] *= 0.5
    return np.sum(v * v)


def part_of_part(z):
    v = z.T.real[1:]
    w = v[::2]
    z[0] = 0.5
    return np.sum(w)


def part_in_list(z):
    parts = [z.real, z.imag]
    z *= 2.0
    return np.sum(np.stack(parts))


def part_item_of_list(z):
    parts = [z.real, z.imag]
    z *= 2.0
    return np.sum(parts[1])


def updated_in_list(z):
    parts = [z.real]
    parts[0] *= 2.0
    return np.sum(z.real)


def array_bound_anew(z):
    v = z.real
    z = z * 2.0
    return np.sum(v) + np.sum(z.real)


def part_in_loop(z):
    total = 0.0
    v = z.real
    for k in range(3):
        total += np.sum(v)
        z[k] = 0.5
    return total


def part_made_in_loop(z):
    total = 0.0
    for k in range(3):
        v = z.real
        total += np.sum(v * v)
        z[k] *= 0.5
    return total


def part_chosen(z):
    v = z.real if np.sum(z.imag) > 0.0 else z.imag
    z *= 2.0
    return np.sum(v)


def part_remembered(z):
    history = []
    for _ in range(100):
        history.append(z.real)
        z *= 0.9
    return np.sum(np.array(history))


def part_copied_and_remembered(z):
    history = []
    for _ in range(100):
        history.append(z.real.copy())
        z *= 0.9
    return np.sum(np.array(history))


def parts_exchanged(z):
    z = z.imag + 1j * z.real
    return np.sum(np.abs(z * z))


@pytest.mark.parametrize(("fn", "taken"), [
    (part_of_updated, REFUSED), (part_copied_before, RIGHT), (array_of_updated_part, REFUSED),
    (only_the_updated_part, RIGHT), (part_of_part, REFUSED), (part_in_list, REFUSED), (part_item_of_list, REFUSED),
    (updated_in_list, REFUSED), (array_bound_anew, RIGHT), (part_in_loop, REFUSED), (part_made_in_loop, RIGHT),
    (part_chosen, REFUSED), (part_remembered, REFUSED), (part_copied_and_remembered, RIGHT), (parts_exchanged, RIGHT)])
def test_parts_of_complex_arrays(fn: Callable, taken: bool):
    taken_or_refused(fn, taken, Z)


def taken_or_refused(fn: Callable, taken: bool, *arguments: np.ndarray) -> None:
    if taken:
        check(fn, *arguments)
        return
    with pytest.raises(UnsupportedError, match="updated|update of"):
        parse(fn, arguments)


def test_real_part_of_real_numbers_is_the_array():
    def program(x):
        v, w = x.real, x.conj()
        x *= 0.5
        v += 1.0
        return np.sum(w * v)

    check(program, X)


def test_an_argument_updated_through_its_part_is_no_output():
    def program(z):
        v = z.real
        v *= 2.0

    with pytest.raises(OutputError, match="through a view"):
        sdfgad.grad(program, wrt="z", output="z", reduce="sum")(Z)


def flat_then_updated(x):
    v = x.ravel()
    v *= 0.5
    return np.sum(x)


def column_then_updated(x):
    v = x[:, 1].ravel()
    v *= 0.5
    return np.sum(x)


def column_in_another_shape(x):
    v = x[:, 2].reshape(2, -1)
    v *= 0.5
    return np.sum(x)


def updated_result(x):
    y = x * 2.0
    v = y.reshape(-1)
    v += 1.0
    return np.sum(y * y)


def updated_flat_alone(x):
    v = x.reshape(-1)
    v += 1.0
    return np.sum(v * v * np.arange(v.size))


def made_contiguous(x):
    y = np.ascontiguousarray(x)
    y *= 2.0
    return np.sum(x * y)


def made_like(x):
    y = np.zeros_like(x)
    v = y.ravel()
    v += 1.0
    return np.sum(y)


ORDERS = {"C": lambda a: a.copy(), "F": np.asfortranarray, "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
          "turned": lambda a: a.copy()[::-1, ::-1]}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("fn", "anyhow"), [
    (flat_then_updated, REFUSED), (column_then_updated, REFUSED), (column_in_another_shape, RIGHT),
    (updated_result, REFUSED), (updated_flat_alone, RIGHT), (made_contiguous, REFUSED), (made_like, REFUSED)])
def test_orders_in_memory(fn: Callable, anyhow: bool, order: str):
    argument = ORDERS[order](X)
    if order == "C" or anyhow:
        check_in_order(fn, argument, order)
    else:
        taken_or_refused(fn, False, argument)


def check_in_order(fn: Callable, argument: np.ndarray, order: str) -> None:
    np.testing.assert_allclose(value_of(fn, argument), fn(ORDERS[order](X)))


def value_of(fn: Callable, argument: np.ndarray) -> float:
    parsed = parse(fn, (argument,))
    return run(parsed.program, {n: np.array(v, order="C") for n, v in parsed.collect((argument,)).items()})


def test_orders_are_told_apart_by_calls():
    def turned(x):
        v = x.ravel()
        v *= 0.5
        return np.sum(v)

    gradient = sdfgad.grad(turned)
    np.testing.assert_allclose(gradient(X), np.full(X.shape, 0.5))
    np.testing.assert_allclose(gradient(np.asfortranarray(X)), np.full(X.shape, 0.5))
    with pytest.raises(UnsupportedError):
        sdfgad.grad(flat_then_updated)(np.asfortranarray(X))


def orders_asked_for(x):
    y = x.T.ravel(order="K") * np.arange(24.0)
    z = x.T.reshape(-1, order="A") * np.arange(24.0)
    w = x.ravel(order="F") * np.arange(24.0)
    return np.sum(y) + np.sum(z * z) + np.sum(w)


def test_orders_asked_for():
    check(orders_asked_for, X)
    with pytest.raises(UnsupportedError, match="order"):
        parse(orders_asked_for, (np.asfortranarray(X),))


def test_views_of_einsum_and_windows():
    def program(x):
        diagonal = np.einsum("ii->i", x)
        turned = np.einsum("ij->ji", x)
        windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3))
        x *= 0.5
        diagonal += 1.0
        return np.sum(diagonal) + np.sum(turned * turned) + np.sum(windows * windows)

    check(program, X[:, :4].copy())


@pytest.mark.parametrize("seed", range(40))
def test_what_numpy_shows_in_another_shape(seed):
    rng = np.random.default_rng(seed)
    base = np.empty(rng.permutation([1, 2, 2, 3, 4, 6])[:4])
    part = base.transpose(rng.permutation(4))[:: rng.choice([1, 2, -1])][:, :: rng.choice([1, -1, 2])]
    steps = [s // 8 for s in part.strides]
    for target in ((part.size,), (-1, 2), (2, -1), (3, -1, 2), (1, -1), (-1, 6, 1), (4, -1), part.shape):
        if part.size % abs(int(np.prod(target))):
            continue
        made = part.reshape(target)
        assert regroups(part.shape, steps, made.shape) == np.shares_memory(made, part)


def scaled_in_another_shape(x):
    part = x.reshape(-1)[3:15].reshape(3, 4)
    part *= 2.0
    return np.sum(x * x)


def there_and_back(x):
    back = x.reshape(-1).reshape(6, 4)
    back[1:] *= x[0, :4]
    return np.sum(x * x)


def read_in_another_shape(x):
    part = x.ravel()[1:22:3].reshape(7, 1)
    x *= 0.5
    return np.sum(part * x[0])


def pieces_of_three_dimensions(x):
    boxes = x.reshape(-1)[:12].reshape(2, 3, 2)
    lines = boxes[:, 1].reshape(-1)
    columns = boxes[:, :, 1].reshape(2, 3, 1).reshape(6)
    lines *= 3.0
    columns += 1.0
    return np.sum(x * x * np.sin(lines[0]))


def pieces_in_a_loop(x):
    flat = x.reshape(-1)
    for i in range(4):
        part = flat[i:i + 4].reshape(2, 2)
        part *= x[0, 0]
    return np.sum(x * x)


@pytest.mark.parametrize("program", [scaled_in_another_shape, there_and_back, read_in_another_shape,
                                     pieces_of_three_dimensions, pieces_in_a_loop], ids=lambda f: f.__name__)
def test_parts_of_another_shape_in_another_shape(program):
    check(program, X)


def far_from_its_memory(x):
    boxes = x.reshape(-1)[:24].reshape(2, 3, 4)
    part = boxes.reshape(-1).reshape(6, 4)[1:3].reshape(2, 2, 2)
    part *= 2.0
    return np.sum(boxes)


def test_what_may_be_a_view_is_not_taken_for_a_copy():
    with pytest.raises(UnsupportedError, match="shares memory"):
        parse(far_from_its_memory, (X[:, :5].repeat(2, axis=0)[:5].copy(),))


TURNED = """
x.T * 1.0; np.outer(a, b).T; np.outer(a, b).T * 1.0; (a[:, None] * b).T * 2.0; np.outer(a, b).T[::2] + 1.0
(x.T * np.outer(b, a)).T; (a[None, :] * b[:, None]).T + 0.0; np.where(np.outer(a, b).T > 0.1, 1.0, 2.0) * a[0]
np.rot90(np.outer(a, b)) * 1.0; np.flip(np.outer(a, b).T) * 1.0; np.swapaxes(np.outer(a, b), 0, 1) * 1.0
np.sum(q.T, axis=0); np.sum(np.transpose(q, (1, 0, 2)), axis=2); np.max(q.T, axis=1); np.cumsum(x.T, axis=0)
np.roll(x.T, 1, axis=0); np.roll(np.outer(a, b).T, 1, axis=0); np.concatenate([x.T, x.T]); np.pad(x.T, 1)
np.einsum('ij,j->ji', x, b); np.einsum('ijk->kj', q); np.einsum('ij,jk->ik', x, x.T @ x, optimize=True)
np.gradient(x.T, axis=0); np.diff(np.outer(a, b).T, axis=0); np.outer(a, b).T.astype(complex); G * 1.0; G
np.zeros_like(x.T) + a; np.meshgrid(a, b)[0].T * np.meshgrid(a, b)[1].T; np.vectorize(lambda v: v * 2.0)(x.T)
special.expit(np.outer(a, b).T); special.gammaln(np.outer(a, b).T); special.logsumexp(q.T, axis=0)
linalg.solve_triangular(np.tri(3) + np.diag(a), x, lower=True)
"""
STRAIGHT = """
np.outer(a, b) * 2.0; (x.T @ x).T.copy(); np.flip(x) * 1.0; x[:, ::-1] + 1.0; np.sum(q, axis=1); a[:, None] * b
np.einsum('i,j->ji', a, b); np.cumsum(x, axis=0)
np.matmul(x.T, x); np.take(x.T, [0, 2], axis=0); np.ascontiguousarray(np.outer(a, b).T) * 2.0; x[[0, 2]]
np.outer(a, b)[:, 1:] * 1.0; np.kron(np.outer(a, b), x); np.concatenate([x, x]); x - np.mean(x, axis=0)
"""
G = np.asfortranarray(np.random.default_rng(2).random((3, 4)))


def expressions(text: str) -> list[str]:
    return [one.strip() for line in text.strip().splitlines() for one in line.split(";")]


@pytest.mark.parametrize("text, taken", [(TURNED, REFUSED), (STRAIGHT, RIGHT)], ids=["turned", "straight"])
def test_orders_of_results(text: str, taken: bool, tmp_path: Path) -> None:
    """What is shown in another shape is a view or a copy of it, which the order in memory decides."""
    rng = np.random.default_rng(0)
    given = rng.random((3, 4)), rng.random(3), rng.random(4), rng.random((2, 3, 2))
    for k, one in enumerate(expressions(text)):
        program = load(SHOWN.format(one), tmp_path, k)
        program.__globals__["G"] = G
        if taken:
            check(program, *given)
            continue
        with pytest.raises(UnsupportedError, match="updated|update of|shares memory"):
            parse(program, given)


SHOWN = """import numpy as np
from scipy import linalg, special


def program(x, a, b, q):
    y = {}
    v = y.reshape(-1)
    v[1:3] *= 0.5
    return np.sum(np.abs(y) * np.abs(y))
"""
