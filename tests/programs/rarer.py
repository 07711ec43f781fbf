"""Statements that programs have less often, for random programs: stores under masks, places that data give, views of
views, loops with several ends, small integers, closures that count, `out=`, and lists that loops fill."""
from __future__ import annotations

from tests.programs.text import Text
from tests.programs.writer import (
    apply,
    assign_element,
    assign_scalar,
    assign_vector,
    bounded,
    condition,
    index,
    literal,
    scalar,
    statements,
    vector,
)


def masked(t: Text) -> None:
    """Updates of what a mask of data selects, and sums of it."""
    v, w, a, s, m = (*_names(t), t.fresh("mask"))
    t.line(f"{m} = " + t.any_of((f"{v} > {literal(t)}", f"np.abs({w}) < 0.5", f"({v} > 0.1) & ({w} < 0.4)",
                                 f"~({v} > {w})", f"(ind > 1) | ({v} < 0.0)", f"({v} > 0) != ({w} > 0)")))
    t.line(t.any_of((
        f"{v}[{m}] = 0.5 * {w}[{m}]", f"{v}[{m}] *= 0.5", f"{v}[{m}] += 0.2 * {w}[{m}] * {v}[{m}]",
        f"{v}[~{m}] = {bounded(t, f'{w}[~{m}]')}", f"np.copyto({v}, {bounded(t, vector(t, 1))}, where={m})",
        f"np.putmask({v}, {m}, 0.3 * {w})", f"np.multiply({v}, {w}, out={v}, where={m})",
        f"np.add({v}, 0.3 * {w}, out={w}, where={m})", f"{s} += 0.1 * np.sum({v} * {w}, where={m})",
        f"{a}[{m}] *= 0.5", f"{a}[:, {m}] = 0.1 * {s}", f"{a}[{a} > {literal(t)}] *= 0.3",
        f"{s} = {bounded(t, f'({v}[{m}] * {w}[{m}]).sum()')}", f"{v}[np.flatnonzero({m})] -= 0.3 * {s}",
        f"{v}[:] = np.where({m}, {bounded(t, w)}, {v}[::-1])", f"{a}[{m}, {index(t)}] += 0.2 * {v}[{m}]",
        f"{v}[{m}] = {bounded(t, scalar(t))}", f"{v}[:] = np.select([{m}, {w} > 0], [0.5 * {w}, {v}], 0.1)")))


def computed_places(t: Text) -> None:
    """Places that data give, which may come several times, and what they are good for."""
    v, w, a, s, q = (*_names(t), t.fresh("q"))
    n, one = t.size, t.any_of(t.vectors)
    t.line(f"{q} = " + t.any_of((
        f"np.argsort({one})", f"(np.abs({one}) * 3).astype(int) % {n}", f"np.floor({one} * 4).astype(np.int64) % {n}",
        f"np.digitize({one}, np.array([-0.4, 0.0, 0.5]))", f"ind[np.argsort({one})]", f"(ind * 2 + 1) % {n}",
        f"np.where({one} > 0.1, ind, 1)", f"np.cumsum(ind) % {n}", f"np.argmax({a}, axis=1)", "ind[::-1].copy()")))
    if t.chance(30):
        t.line(t.any_of((f"{q}[1:] = {q}[:-1].copy()", f"{q} = ({q} + 1) % {n}", f"{q}[{index(t)}] = 0",
                         f"{q} = {q}[ind]")))
    t.line(t.any_of((
        f"{v}[{q}] = {bounded(t, w)}", f"{v}[{q}] += 0.3 * {w}", f"np.add.at({v}, {q}, 0.3 * {w})",
        f"np.add.at({a}, ({q}, ind), 0.2 * {w})", f"{a}[{q}, ind] += 0.1 * {w}", f"{v}[:] = 0.5 * np.take({w}, {q})",
        f"{a}[{q}] = 0.5 * {a}", f"{s} += 0.1 * {a}[{q}, {q}].sum()", f"np.subtract.at({v}, {q}, 0.2 * {w})",
        f"{v}[{q}[1:3]] *= 0.5", f"np.maximum.at({v}, {q}, 0.5 * {w})", f"{v}[{q}[{index(t)}]] = {bounded(t, s)}",
        f"np.multiply.at({v}, {q}, 0.5 + 0.1 * {w})", f"{s} = {bounded(t, f'{v}[{q}] @ {w}[{q}]')}",
        f"{v}[:] = np.take_along_axis({a}, {q}[:, None], axis=1)[:, 0]", f"{a}[:, {q}] *= 0.5",
        f"{v}[:] += 0.1 * np.bincount({q}, weights={w}, minlength={n})[:{n}]")))


def view_of_view(t: Text) -> None:
    """A part of a part of an array, written by one name and read by another."""
    v, _, a, s = _names(t)
    first, second, n = t.fresh("w"), t.fresh("w"), t.size
    base, parts = t.any_of((
        (f"{a}[1:]", ("[:, ::2]", ".T[1:3]", "[0]", "[::-1][1:]", "[1:, 0]", "[:, 1][1:]")),
        (f"{a}.T", ("[1]", "[::2, 1:]", "[:, :2].T", "[2, ::-1]")),
        (f"{a}[:, 1:]", ("[::-1]", ".T[0]", f"[{index(t)}]", "[1:3, 1]")),
        (f"{v}[::-1]", ("[1:]", "[::2]", "[:3][::-1]")), (f"{v}[1:]", ("[1:]", "[::-1]", "[:-1][::2]")),
        (f"{a}.copy().reshape(-1)", ("[1::2]", f"[{n}:]", f".reshape({n}, {n})[:, 0]", f".reshape({n}, {n}).T[1:]"))))
    t.line(f"{first} = {base}")
    t.line(f"{second} = {first}{t.any_of(parts)}")
    for _ in range(t.number(1, 2)):
        t.line(t.any_of((f"{second}[...] = {bounded(t, scalar(t))}", f"{second}[...] *= 0.5 + 0.1 * {s}",
                         f"{second} += 0.1 * {s}", f"{second}[:1] = 0.3 * {second}[-1:]", f"{first}[...] *= 0.5",
                         f"{first}[1:] += 0.2 * {first}[:-1]", f"{second}[...] = np.tanh({second})")))
    t.line(f"{s} = {bounded(t, f'{first}.sum() * {second}.sum()')}")


def several_ends(t: Text) -> None:
    """A loop that breaks in two places, goes on in one, and may have an `else`."""
    if t.chance(50):
        counter = t.fresh("n")
        t.line(f"{counter} = 0")
        with t.block("while True:"):
            t.line(f"{counter} += 1")
            _end(t, f"{counter} > {t.any_of('243')}")
            statements(t, 2)
            _end(t, condition(t))
            assign_element(t)
        return
    name, last = t.loop_name(), t.size - 1
    with t.block(f"for {name} in range({last + 1}):"):
        t.loops.append((name, 0, last))
        _end(t, condition(t))
        statements(t, 2)
        if t.chance(50):
            with t.block(f"if {condition(t)}:"):
                t.line("continue")
        assign_element(t)
        _end(t, f"{scalar(t, 1)} > 0.8")
    if t.chance(50):
        with t.block("else:"):
            assign_scalar(t)


def _end(t: Text, when: str) -> None:
    with t.block(f"if {when}:"):
        if t.chance(50):
            t.any_of((assign_scalar, assign_element, assign_vector))(t)
        t.line("break")


def small_integers(t: Text) -> None:
    """Flags and numbers of a byte, which wrap around."""
    v, w, _, s = _names(t)
    z = t.fresh("z")
    t.line(f"{z} = " + t.any_of((f"({v} > 0.1).astype(np.int8)", "(ind * 100).astype(np.uint8)", f"{v} > {w}",
                                 f"np.sign({v}).astype(np.int16)", "ind.astype(np.int8) * np.int8(50)")))
    t.line(t.any_of((f"{z} = {z} + {z}", f"{z}[1:] = {z}[:-1].copy()", f"{z} = {z} * {z}", f"{z} = {z}[ind]",
                     f"{z} = {z} ^ {z}[::-1]", f"{z} = np.where({z} > 0, {z}, {z}[::-1])")))
    t.line(t.any_of((f"{v}[:] = {bounded(t, f'{z} * {w}')}", f"{s} += 0.01 * {z}.sum() * {v}[{index(t)}]",
                     f"{v}[:] = np.where({z}, {bounded(t, w)}, {v})", f"{v} += 0.01 * {z}")))


def counting(t: Text) -> None:
    """A function that changes a name from outside, called in a loop, or functions in a list."""
    v, w, _, s = _names(t)
    f, i = t.fresh("f"), t.loop_name()
    if t.chance(40):
        t.line(f"{f} = [lambda u: {apply(t, 'u')} * {s}, lambda u, q={literal(t)}: np.tanh(u * q)]")
        t.line(t.any_of((f"{v}[:] = {f}[1]({f}[0]({w}))", f"{s} = np.tanh(sum(g({s}) for g in {f}))")))
        return
    t.line(f"total_{f} = 0.1 * {s}")
    with t.block(f"def {f}(u):"):
        t.line(f"nonlocal total_{f}")
        t.line(f"total_{f} = np.tanh(total_{f} + 0.3 * u)")
        t.line(f"return {apply(t, 'u')} * total_{f}")
    with t.block(f"for {i} in range({t.any_of('324')}):"):
        t.line(f"{v}[{i}] = {bounded(t, f'{f}({w}[{i}])')}")
    t.line(f"{s} += {bounded(t, f'total_{f}')}")


def into(t: Text) -> None:
    """Results that go into arrays that are there, of which they may be made."""
    v, w, a, _ = _names(t)
    t.line(t.any_of((f"np.sin({v}, out={w})", f"np.clip({v}, -0.5, 0.6, {v})", f"np.cumsum(0.3 * {v}, out={w})",
                     f"np.matmul(0.3 * {a}, {v}, out={w})", f"np.multiply({v}[1:], {w}[:-1], out={v}[1:])",
                     f"np.add({v}[:-1], 0.2 * {v}[1:], out={v}[1:])", f"np.sum({a}, axis=0, out={v})",
                     f"np.maximum({v}, 0.2 * {v}[::-1], out={v})", f"np.tanh({a}.sum(axis=1), out={v})",
                     f"np.multiply({a}, 0.3 * {a}.T, out={a})")))


def gathered(t: Text) -> None:
    """A list that a loop fills, as an array."""
    v, w, a, s = _names(t)
    rows, i = t.fresh("rows"), t.loop_name()
    t.line(f"{rows} = []")
    with t.block(f"for {i} in range({t.size}):"):
        t.loops.append((i, 0, t.size - 1))
        if t.chance(40):
            with t.block(f"if {condition(t)}:"):
                assign_element(t)
        t.line(f"{rows}.append({t.any_of((f'{v} * {w}[{i}]', f'{a}[{i}] * {s}', f'np.tanh({v}[{i}]) * {w}'))})")
    t.line(t.any_of((f"{v}[:] = np.mean({rows}, axis=0)", f"{a}[:] = 0.5 * np.array({rows})",
                     f"{s} = np.tanh({rows}[-1][0] + {rows}[1].sum())", f"{v}[:] = 0.3 * np.stack({rows}, axis=1)[2]",
                     f"{v} += 0.1 * sum({rows})")))


def _names(t: Text) -> tuple[str, str, str, str]:
    return t.any_of(t.vectors), t.any_of(t.vectors), t.any_of(t.matrices), t.any_of(t.scalars)


KINDS = (masked, computed_places, view_of_view, several_ends, small_integers, counting, into, gathered, assign_vector,
         assign_element)
