"""A strategy that writes random small NumPy programs as source text.

Values stay moderate (every new value passes through a bounded function or a small factor), indices stay inside. The
first alternatives of every choice are the simple ones, so that failing programs shrink to simple programs.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.programs.text import Text, slices

FUNCTIONS = ("np.tanh({})", "np.sin({})", "(0.5 * {})", "np.cos({})", "np.exp(-np.abs({}))", "np.sqrt({} * {} + 0.3)",
             "np.arctan({})", "1.0 / (1.5 + {} * {})", "np.log(1.2 + {} ** 2)")
BOUNDED = ("np.tanh({})", "np.sin({})", "np.arctan({})")
COMPARE = ("<", ">", "<=", ">=")


def literal(t: Text) -> str:
    return t.any_of(("0.5", "1.5", "0.3", "-0.7", "2", "1.1"))


def index(t: Text) -> str:
    """An index between 0 and size - 1."""
    options = []
    for name, low, high in reversed(t.loops):
        options.append(name)
        if low >= 1:
            options.append(f"{name} - 1")
        if high <= t.size - 2:
            options.append(f"{name} + 1")
        options += [f"{t.size - 1} - {name}", f"({name} + 2) % {t.size}", f"ind[{name}]"]
    options += [f"{p} % {t.size}" for p in t.integers]
    return t.any_of([*options, "0", "2", f"{t.size - 1}", "-1"])


def scalar(t: Text, depth: int = 2) -> str:
    """An expression for one number."""
    kind = t.number(0, 11) if depth else t.number(0, 4)
    if kind <= 1:
        return f"{t.any_of(t.vectors)}[{index(t)}]"
    if kind == 2:
        return t.any_of(t.scalars)
    if kind == 3:
        return f"{t.any_of(t.matrices)}[{index(t)}, {index(t)}]"
    if kind == 4:
        return literal(t)
    inner = scalar(t, depth - 1)
    if kind <= 7:
        return f"({inner} {t.any_of('+*-')} {scalar(t, depth - 1)})"
    if kind <= 9:
        return apply(t, inner)
    if kind == 10:
        if t.loops and t.chance(40):
            return rim(t, inner)
        return f"({inner} if {condition(t)} else {scalar(t, depth - 1)})"
    other = scalar(t, depth - 1)
    return t.any_of((f"max({inner}, {other})", f"pick({inner}, {other})", f"abs({inner})"))


def rim(t: Text, other: str) -> str:
    """A neighbour that only the condition keeps inside of its array."""
    name, vector = t.any_of([n for n, _, _ in t.loops]), t.any_of(t.vectors)
    place, inside = t.any_of(((f"{name} + 2", f"{name} < {t.size - 2}"), (f"{name} - 1", f"{name} > 0"),
                              (f"{name} - 2", f"{name} >= 2"), (f"{name} + 1", f"not {name} >= {t.size - 1}")))
    return f"({vector}[{place}] if {inside} else {other})"


def apply(t: Text, inner: str) -> str:
    form = t.any_of(FUNCTIONS)
    return form.format(*[inner] * form.count("{}"))


def condition(t: Text) -> str:
    """Something true or false that depends on data."""
    simple = f"{scalar(t, 0)} {t.any_of(COMPARE)} {scalar(t, 1)}"
    if t.chance(15):
        return f"{simple} {t.any_of(('and', 'or'))} {scalar(t, 0)} > 0.2"
    if t.loops and t.chance(20):
        return t.loops[-1][0] + t.any_of((" % 2 == 0", " % 2 == 1", " > 0", " == 2", f" < {t.size - 1}"))
    return simple


def vector(t: Text, depth: int = 2) -> str:
    """An expression for as many numbers as a vector has."""
    return elementwise(t, depth, lambda: t.any_of(t.vectors), whole=True)


def elementwise(t: Text, depth: int, leaf: Callable[[], str], whole: bool = False) -> str:
    kind = t.number(0, 12 if whole else 8) if depth else 0
    if kind <= 1:
        return leaf()
    inner = elementwise(t, depth - 1, leaf, whole)
    if kind <= 4:
        other = elementwise(t, depth - 1, leaf, whole) if t.chance(70) else scalar(t, 1)
        return f"({inner} {t.any_of('+*-')} {other})"
    if kind <= 6:
        return apply(t, inner)
    if kind == 7:
        return f"np.where({inner} > {literal(t)}, {elementwise(t, depth - 1, leaf, whole)}, 0.5 * {inner})"
    if kind == 8:
        return t.any_of((f"np.maximum({inner}, {literal(t)})", f"np.abs({inner})", f"np.clip({inner}, -0.8, 0.9)",
                         f"np.minimum({inner}, {leaf()})"))
    m = t.any_of(t.matrices)
    return t.any_of((
        f"{inner}[ind]", f"np.roll({inner}, 1)", f"0.3 * ({m} @ {inner})", f"blend({inner}, {leaf()})",
        f"{m}.sum(axis={t.any_of('01')})", f"np.cumsum({inner})", f"{inner}[::-1]", f"{m}[{index(t)}]",
        f"{m}[:, {index(t)}]", f"{m}.max(axis=1)", f"np.concatenate(({inner}[2:], {inner}[:2]))", f"np.sort({inner})"))


def matrix(t: Text) -> str:
    """An expression for a matrix."""
    m, v = t.any_of(t.matrices), t.any_of(t.vectors)
    return t.any_of((f"{m} * {t.any_of(t.matrices)}", f"{m}.T", f"np.outer({v}, {t.any_of(t.vectors)})", f"{m} + {v}",
                     f"0.3 * {m} @ {t.any_of(t.matrices)}", f"{v}[:, None] * {m}",
                     f"np.where({m} > 0.3, {m}, {m} * {m})"))


def bounded(t: Text, value: str) -> str:
    return t.any_of(BOUNDED).format(value)


def reduction(t: Text) -> str:
    v = vector(t, 1)
    return t.any_of((f"{v}.sum()" if v.isidentifier() else f"np.sum({v})", f"np.mean({v})", f"np.max({v})",
                     f"np.min({v})", f"np.dot({t.any_of(t.vectors)}, {v})", f"np.prod({v})",
                     f"np.sum({t.any_of(t.matrices)})",
                     f"np.var({v})", f"{t.any_of(t.matrices)}.max()", f"np.sum({v}[{v} > 0.1])"))


def assign_vector(t: Text) -> None:
    value = bounded(t, vector(t))
    old = t.chance(60) or t.nesting
    name = t.any_of(t.vectors) if old else t.fresh("v")
    if old and t.chance(80 if t.nesting else 40):
        t.line(t.any_of((f"{name}[:] = {value}", f"{name} *= {value}", f"{name} += 0.3 * {value}")))
        return
    t.line(f"{name} = {value}")
    if name not in t.vectors:
        t.vectors.append(name)


def assign_scalar(t: Text) -> None:
    value = bounded(t, reduction(t) if t.chance(35) else scalar(t))
    if t.chance(70) or t.nesting:
        name = t.any_of(t.scalars)
        t.line(f"{name} {t.any_of(('=', '+=', '*=', '-='))} {value}")
        return
    name = t.fresh("s")
    t.line(f"{name} = {value}")
    t.scalars.append(name)


def assign_element(t: Text) -> None:
    place = f"{t.any_of(t.vectors)}[{index(t)}]" if t.chance(75) else f"{t.any_of(t.matrices)}[{index(t)}, {index(t)}]"
    if t.chance(30):
        t.line(f"{place} {t.any_of(('+=', '*=', '-='))} 0.4 * {bounded(t, scalar(t))}")
    else:
        t.line(f"{place} = {bounded(t, scalar(t))}")


def part(t: Text, start: int, stop: int | None, step: int) -> str:
    text = f"{start or ''}:{'' if stop is None or stop == t.size and t.chance(50) else stop}"
    return text if step == 1 else f"{text}:{step}"


def growing_slice(t: Text) -> None:
    """A slice whose size depends on a loop."""
    i = t.any_of(t.loops)[0]
    cut = t.any_of((f"{i}:", f":{i}", f"{i}::-1", f":{t.size} - {i}", f"{i}:{t.size - 1}", f"{i} // 2:{i} + 1"))
    v, w, m = t.any_of(t.vectors), t.any_of(t.vectors), t.any_of(t.matrices)
    part = t.any_of((f"{w}[{cut}]", f"{m}[{index(t)}, {cut}]", f"{m}[{cut}, {index(t)}]", f"np.sin({w}[{cut}])"))
    t.line(t.any_of((f"{v}[{cut}] = {bounded(t, f'{part} * {v}[{cut}]')}", f"{v}[{cut}] *= {bounded(t, part)}",
                     f"{t.any_of(t.scalars)} = {bounded(t, f'{v}[{cut}] @ {part}')}",
                     f"{t.any_of(t.scalars)} += {bounded(t, f'np.sum({part})')}",
                     f"{m}[{index(t)}, {cut}] = {bounded(t, part)}")))


def assign_slice(t: Text) -> None:
    if t.loops and t.chance(40):
        growing_slice(t)
        return
    n = t.size
    start, stop, step = t.any_of(slices(n))
    length = len(range(*slice(start, stop, step).indices(n)))
    alike = [s for s in slices(n) if len(range(*slice(*s).indices(n))) == length]
    name = t.any_of(t.vectors) if t.chance(80) else f"{t.any_of(t.matrices)}[{index(t)}]"
    value = bounded(t, elementwise(t, 2, lambda: f"{t.any_of(t.vectors)}[{part(t, *t.any_of(alike))}]"))
    t.line(f"{name}[{part(t, start, stop, step)}] {t.any_of(('=', '+=', '*='))} {value}")


def assign_matrix(t: Text) -> None:
    value = bounded(t, matrix(t))
    if t.chance(60) or t.nesting:
        t.line(f"{t.any_of(t.matrices)}{t.any_of(('[:]', '[:, :]') if t.nesting else ('', '[:]'))} = {value}")
        return
    name = t.fresh("m")
    t.line(f"{name} = {value}")
    t.matrices.append(name)


def scatter(t: Text) -> None:
    name, value = t.any_of(t.vectors), bounded(t, vector(t, 1))
    t.line(t.any_of((f"{name}[ind] = {value}", f"np.add.at({name}, ind, 0.3 * {value})",
                     f"{name}[ind] += 0.3 * {value}",
                     f"{name}[{t.any_of(t.vectors)} > 0.2] = {literal(t)}")))


def whole_number(t: Text) -> None:
    """An integer that is an index later on: counted, or found in data."""
    if t.integers and t.chance(60):
        t.line(f"{t.any_of(t.integers)} {t.any_of(('+=', '*=', '='))} {t.any_of(('1', '2', f'ind[{index(t)}]'))}")
        return
    name = t.fresh("p")
    t.line(f"{name} = {t.any_of(('0', '1', f'np.argmax({vector(t, 1)})', f'int(abs({scalar(t, 1)}) * 2)'))}")
    t.integers.append(name)
    assign_element(t)


def view(t: Text) -> None:
    name = t.fresh("w")
    n = t.size
    base, size = t.any_of(((f"{t.any_of(t.vectors)}[1:4]", 3), (f"{t.any_of(t.matrices)}[1]", n),
                           (f"{t.any_of(t.matrices)}[:, 2]", n), (f"{t.any_of(t.vectors)}[::-1]", n)))
    t.line(f"{name} = {base}")
    t.line(f"{name}{t.any_of(('[:]', '[0]', '[1:3]'))} = {bounded(t, scalar(t))}" if size == 3 or t.chance(40)
           else f"{name}[:] = {bounded(t, vector(t, 1))}")
    assign_scalar(t)


def complex_numbers(t: Text) -> None:
    """A complex detour: made of real vectors, changed, and back to a real value."""
    z = t.fresh("z")
    t.line(f"{z} = {t.any_of((f'np.exp(1j * {vector(t, 1)})', f'{vector(t, 1)} + 1j * {vector(t, 1)}'))}")
    for _ in range(t.number(0, 2)):
        w = t.any_of((f"0.5 * {z} * {z}", f"np.conj({z}) * {vector(t, 1)}", f"{z} / (2.0 + {z} * np.conj({z}))",
                      f"np.exp(0.3 * {z})", f"{z}[ind]", f"np.where({vector(t, 1)} > 0.1, {z}, -{z}.conj())"))
        t.line(t.any_of((f"{z} = {w}", f"{z}[:] = {w}", f"{z}[1:] = 0.4 * ({w})[:-1]")))
    real = t.any_of((f"{z}.real", f"np.abs({z})", f"np.imag({z})", f"({z} * {z}.conj()).real"))
    t.line(f"{t.any_of(t.vectors)}[:] = {bounded(t, real)}")


def nested_function(t: Text) -> None:
    """A function defined on the spot, which sees a name from outside."""
    f, outer = t.fresh("f"), t.any_of(t.scalars)
    t.line(f"def {f}(u, q=0.3):")
    t.line(f"    return np.tanh(u * {outer}) + q * u")
    t.line(f"{t.any_of(t.scalars)} = {bounded(t, f'{f}({scalar(t, 1)}, {literal(t)})')}")


def exchange(t: Text) -> None:
    v, w, i, j = t.any_of(t.vectors), t.any_of(t.vectors), index(t), index(t)
    options = [f"{v}[{i}], {v}[{j}] = {v}[{j}], {v}[{i}]", f"{v} = {v}.copy()"]
    if not t.nesting:
        options += [f"{v}, {w} = {w}, {v}", f"{v}[:], {w} = 1.0 * {w}, {v} * {v}"]
    t.line(t.any_of(options))


def call(t: Text) -> None:
    v = t.any_of(t.vectors)
    if t.chance(80 if t.nesting else 50):
        t.line(f"smear({v})")
        return
    rest, mean = t.any_of(t.vectors), t.any_of(t.scalars)
    t.line(f"{rest}, {mean} = split({v})")


def branch(t: Text) -> None:
    with t.block(f"if {condition(t)}:"):
        statements(t, 2)
    if t.chance(50):
        with t.block("else:"):
            statements(t, 2)


def counted(t: Text) -> None:
    name, last = t.loop_name(), t.size - 1
    options = [("range(3)", 0, 2), (f"range(1, {last})", 1, last - 1), (f"range({last}, -1, -1)", 0, last),
               (f"range(0, {last + 1}, 2)", 0, last), (f"range({last}, 0, -3)", 1, last),
               (f"range(1, {last + 1}, 3)", 1, last)]
    for outer, low, high in t.loops:
        options += [(f"range({outer})", 0, max(0, high - 1)), (f"range({outer}, {last + 1})", low, last),
                    (f"range({last}, {outer}, -1)", low, last)]
    text, low, high = t.any_of(options)
    with t.block(f"for {name} in {text}:"):
        t.loops.append((name, low, high))
        statements(t, 3)
        if t.chance(15):
            with t.block(f"if {scalar(t, 1)} > 0.9:"):
                t.line(t.any_of(("break", "continue")))
            assign_element(t)


def conditional(t: Text) -> None:
    counter = t.fresh("n")
    t.line(f"{counter} = 0")
    with t.block(f"while {scalar(t, 1)} < 0.95 and {counter} < {t.any_of('231')}:"):
        t.line(f"{counter} += 1")
        statements(t, 2)


def over_values(t: Text) -> None:
    name = t.fresh("e")
    with t.block(f"for {name} in {t.any_of(t.vectors)}:"):
        t.scalars.append(name)
        assign_scalar(t)


SIMPLE = (assign_vector, assign_scalar, assign_element, assign_slice, assign_slice, assign_matrix, scatter, view,
          exchange, call, whole_number, complex_numbers, nested_function)
NESTED = (counted, counted, branch, conditional, over_values)


def statements(t: Text, most: int) -> None:
    """Up to `most` statements, at least one."""
    for _ in range(t.number(1, most)):
        nested = t.nesting < t.deepest and t.chance(55 if t.nesting == 0 else 35)
        t.any_of(t.nested if nested else t.simple)(t)


def write(t: Text, start: Sequence[str] = ()) -> str:
    """The text of a module with a function `program` of all arguments that returns a number. start: its first lines."""
    for text in start:
        t.line(text)
    if t.chance(60):
        t.line("x = x.copy()")
    statements(t, 6)
    if t.chance(10):
        with t.block(f"if {scalar(t, 1)} > 0.8:"):
            t.line(f"return {scalar(t, 1)}")
    terms = [*(f"({v} * {v}).sum()" for v in t.vectors), *(f"0.3 * {m}.sum()" for m in t.matrices), *t.scalars, *t.ends]
    t.line(f"return {' + '.join(terms)}")
    return f"{t.head}def program({', '.join(t.parameters)}):\n" + "\n".join(t.lines) + "\n"


@st.composite
def sources(draw: Any, simple: Sequence[Callable[[Text], None]] = SIMPLE, start: Sequence[str] = ()) -> str:
    """Texts of modules (`write`) that hypothesis draws, and makes smaller."""
    return write(Text(lambda low, high: draw(st.integers(low, high)), simple, NESTED, taken=taken_by(start)), start)


def taken_by(start: Sequence[str]) -> tuple[str, ...]:
    """Names of lines `name = value`."""
    return tuple(line.partition(" = ")[0] for line in start)


def text_of(seed: int, simple: Sequence[Callable[[Text], None]] = SIMPLE, start: Sequence[str] = (),
            nested: Sequence[Callable[[Text], None]] = NESTED, **options: Any) -> str:
    """The text of a module (`write`) that a number decides, whatever versions of libraries there are."""
    return write(Text(Random(seed).randint, simple, nested, taken=taken_by(start), **options), start)
