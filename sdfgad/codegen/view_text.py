"""C++ text of views as arguments of library routines, on the host and on a graphics processor."""
from __future__ import annotations

from sdfgad.codegen.cpp import Frame, index_text, pointer
from sdfgad.codegen.view_strides import view_strides
from sdfgad.errors import InvariantError
from sdfgad.ir.index import Ix
from sdfgad.ir.program import View


def start_of(frame: Frame, view: View) -> str:
    """A pointer to a view's first element."""
    return f"{pointer(view.array)} + ({index_text(frame, view_strides(frame, view)[1])})"


def operand_of(frame: Frame, view: View) -> str:
    """A pointer to a view's first element, and its strides."""
    steps, _ = view_strides(frame, view)
    if None in steps:
        raise InvariantError(f"a view of {view.array} without fixed strides reached code generation")
    return ", ".join([start_of(frame, view), *map(str, steps)])


def lead_of(frame: Frame, view: View) -> str:
    """A pointer to a view whose last axis has unit stride, and the distance of its rows."""
    steps, _ = view_strides(frame, view)
    return f"{start_of(frame, view)}, {steps[0] if len(steps) == 2 else 1}"


def sizes_of(frame: Frame, *extents: Ix) -> str:
    """Extents, in the type that routines take."""
    return ", ".join(f"int64_t({index_text(frame, n)})" for n in extents)
