"""What the entry of a program does about indices that the run looks at: a call says that one has left its array."""
from __future__ import annotations

from sdfgad.codegen.compiling.build import STRAYED
from sdfgad.codegen.cpp import PLACE

_BEGIN = "\n    sg::begin_looking();"
_END = f"\n    if (sg::end_looking()) status = {STRAYED};"
_FOUND = """extern "C" void sg_strayed(int64_t *found) {
    found[0] = sg::told.index;
    found[1] = sg::told.extent;
}
"""


def places_looked_at(code: str) -> tuple[str, str, str]:
    """What begins a call and what ends it, and the function that tells the index and the number of elements; nothing
    for a program without such indices."""
    return (_BEGIN, _END, _FOUND) if PLACE in code else ("", "", "")
