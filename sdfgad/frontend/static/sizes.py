"""What to do where an integer has to be known before the call, and is not."""
from __future__ import annotations

from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.references import references
from sdfgad.frontend.state.values import ArrayValue, Value
from sdfgad.ir.index import Ix


def as_integer(ctx: Context, value: Value, otherwise: str = "") -> str:
    """Advice to pass the float arguments that a size, place or step is made of as integers; `otherwise` without any."""
    builder = ctx.builder
    seen: set[str] = set()
    waiting = [e.array for e in value.elems] if isinstance(value, Ix) else list(references(value))
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += builder.made_from.get(name, ())
    floats = [builder.arrays[n] for n in builder.arguments if n in seen]
    names = [a.label for a in floats if not a.shape and a.dtype.kind == "f"]
    if not names:
        return otherwise
    one = len(names) == 1
    return (f"pass {' and '.join(map(repr, names))} as {'an integer' if one else 'integers'}, {names[0]}=10 and not "
            f"{names[0]}=10.0: integers are known before the call")


def check_sized(ctx: Context, result: ArrayValue) -> None:
    """Calls make room for results before they run, and nobody reads an index behind the run."""
    for n in result.shape:
        if n.elems:
            raise ctx.refuse(f"a return value of a size only known at run time: {n}", as_integer(
                ctx, n, "return an array of a fixed size, or what is computed from its part"), "SG103")
