"""Where an element of an array has gone that was cut into rows."""
from __future__ import annotations

from sdfgad.ir.index import FloorDiv, Ix, Mod, floordiv, of_atom


def put_together(a: Ix) -> Ix:
    """`x` in place of `n * (x // n) + x % n`, which is where an element of x has gone in rows of n."""
    for m, c in a.terms:
        if len(m) == 1 and isinstance(m[0], Mod):
            x, n = m[0].parts
            whole, rows = _divided(x, n), c * (n.const or 0)
            if rows and any(whole.terms == ((k, 1),) and v == rows for k, v in a.terms):
                return put_together(a - c * of_atom(m[0]) - rows * whole + c * x)
    return a


def _divided(x: Ix, n: Ix) -> Ix:
    """`x // n`, and `y // (m * n)` where x is `y // m`."""
    inner = next((a for a in x.atoms if isinstance(a, FloorDiv) and x == of_atom(a)), None)
    return floordiv(x, n) if inner is None else floordiv(inner.parts[0], inner.parts[1] * n)
