"""`complex(re, im)`, and `complex(z)`."""
from __future__ import annotations

import numpy as np

from sdfgad.frontend.elements.elementwise import COMPLEX, FLOAT, apply, as_array, lift
from sdfgad.frontend.state.builder import cast
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import Value, is_number
from sdfgad.ir.expr import call


def complex_number(ctx: Context, real: Value = 0, imag: Value = None) -> Value:
    """`complex(re, im)`; `complex(z)` keeps the sign of a zero, as `z + 0j` would not."""
    if is_number(real) and (imag is None or is_number(imag)):
        return complex(real) if imag is None else complex(real, imag)
    parts = [as_array(ctx, v) for v in (real, 0 if imag is None else imag)]
    if imag is None and parts[0].dtype == COMPLEX:
        return lift(ctx, parts[:1], COMPLEX, lambda z: z, True)
    if parts[0].dtype.kind == "c" or parts[1].dtype.kind == "c":
        return apply(ctx, np.add, real, apply(ctx, np.multiply, parts[1], 1j))
    return lift(ctx, parts, COMPLEX, lambda a, b: call("complex", cast(a, FLOAT), cast(b, FLOAT), dtype=COMPLEX), True)
