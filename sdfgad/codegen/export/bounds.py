"""C++ that looks before a call whether indices that come with the arguments stay inside, as Python does.

What is looked at, and why an element that decides an index and lies outside itself counts as an access of its own, says
`frontend/state/accesses.py`.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from types import MappingProxyType

from sdfgad.codegen.export.interface import IndexCheck, Interface
from sdfgad.ir.index import Atom, Elem, FloorDiv, Ix, Max, Min, Mod, Subscript

_FUNCTIONS: Mapping[type, str] = MappingProxyType({
    Mod: "modulo", Subscript: "modulo", FloorDiv: "floor_divide", Min: "smaller", Max: "larger"})


def check_functions(interface: Interface) -> str:
    """A function for each check: true if all indices stay inside."""
    return "\n".join(_function(k, check) for k, check in enumerate(interface.checks))


def check_calls(interface: Interface) -> str:
    """The statements that call them, after the beginning of a call."""
    return "".join(f"    if (!check_{k}({', '.join(name for name, *_ in c.arrays)})) return handle->end(sg::kIndex);\n"
                   for k, c in enumerate(interface.checks))


def _function(number: int, check: IndexCheck) -> str:
    parameters = ", ".join(f"const {kind} *{_array(check, container)}" for _, container, kind, _ in check.arrays)
    lines = [f"static bool check_{number}({parameters}) {{", *_quickly(check), *_walk(check), "    return true;", "}"]
    return "\n".join(lines) + "\n"


def _array(check: IndexCheck, container: str) -> str:
    return f"a{[c for _, c, *_ in check.arrays].index(container)}"


def _quickly(check: IndexCheck) -> Iterator[str]:
    """One pass over the array that decides the index, whatever the loops."""
    element = check.access.element
    if element is not None:
        array, factor, offset = element
        shape = next(shape for _, container, _, shape in check.arrays if container == array)
        yield (f"    if (sg::inside({_array(check, array)}, {prod(shape)}, {factor}, {offset}, {check.access.extent})) "
               "return true;")


def _walk(check: IndexCheck) -> Iterator[str]:
    """The loops around the access; where the first and the last iteration decide, no other."""
    access = check.access
    for k, r in enumerate(access.domain):
        step = "ends" if _ends_decide(check, k) else "every"
        start, stop = (_text(check, end, f"fine{k}") for end in (r.start, r.stop))
        yield (f"    {{ bool fine{k} = true; const int64_t from{k} = {start}, to{k} = {stop}, "
               f"count{k} = fine{k} ? sg::trips(from{k}, to{k}, {r.step}) : 0;")
        yield (f"    for (int64_t n{k} = 0; n{k} < count{k}; n{k} += sg::{step}(count{k})) {{ "
               f"const int64_t v_{r.var} = from{k} + n{k} * {r.step};")
    yield (f"    bool fine = true; const int64_t place = {_text(check, access.index, 'fine')};\n"
           f"    if (fine && (place < -{access.extent} || place >= {access.extent})) return false;")
    yield "    " + "}}" * len(access.domain)


def _ends_decide(check: IndexCheck, k: int) -> bool:
    var, inner = check.access.domain[k].var, check.access.domain[k + 1:]
    return check.access.index.coefficient(var) is not None and not any(
        var in i.symbols for r in inner for i in (r.start, r.stop))


def _text(check: IndexCheck, i: Ix, fine: str) -> str:
    """An index; `fine` becomes false where an element of an array that it asks for is outside."""
    return " + ".join("*".join((f"int64_t({c})", *(_atom(check, a, fine) for a in m))) for m, c in i.terms) or "0"


def _atom(check: IndexCheck, atom: Atom, fine: str) -> str:
    if isinstance(atom, str):
        return f"v_{atom}"
    parts = [f"int64_t({_text(check, p, fine)})" for p in atom.parts]
    if not isinstance(atom, Elem):
        text = parts[0]
        for part in parts[1:]:
            text = f"sg::{_FUNCTIONS[type(atom)]}({text}, {part})"
        return text
    shape = next(shape for _, container, _, shape in check.arrays if container == atom.array)
    return (f"sg::element({_array(check, atom.array)}, {{{', '.join(map(str, shape))}}}, {{{', '.join(parts)}}}, "
            f"{fine})")
