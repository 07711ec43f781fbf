"""The C++ text of DaCe's generator, and what has to be another text there: no other module changes it.

Each change says what it looks for, why DaCe cannot be asked for the other text, and how often it must be found. A
release of DaCe that writes something else is an error here, and not a program that does something else.
"""
from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import dace
from dace.codegen import codegen

from sdfgad.errors import InvariantError


@dataclass(frozen=True)
class Change:
    """`looks_for` (a regular expression) becomes `becomes`, `times` times; None: as often as it is there."""

    looks_for: str
    becomes: str
    why: str
    times: int | None = 1

    def made(self, code: str) -> str:
        """The text after it; raises InvariantError where it is not found as often as it must be."""
        code, found = re.subn(self.looks_for, self.becomes, code, flags=re.MULTILINE)
        if self.times not in (None, found):
            raise InvariantError(f"generated code has {found} places in place of {self.times} where {self.why}")
        return code


NO_HASH = Change(r'#include "[^"]*hash\.h"\n', "", "a file is read that only DaCe's own build writes")
OWN_HEADER = Change(r"#include <dace/dace\.h>", '#include "sdfgad_frame.h"',
                    "all headers of DaCe are read, of which a program needs a few names")
APART = Change(
    r"(#pragma omp parallel for)(?!.*schedule\(static, 1\))", r"\1 proc_bind(spread)",
    "a loop begins whose shares wait for nothing in each other, unless they take turns: this mark tells it to the "
    "threads, and a graph has no place for one", times=None)


def members(state: str, text: str) -> Change:
    """More members in the type of the program's state."""
    return Change(rf"^struct {state} {{\n", rf"\g<0>{text}", "the state begins, which also holds what calls share")


# DaCe takes and gives each array that outlives a call by itself; a member of the state is named after its container.
_MEMBER = r"__\d+_(v_\w+)"
_DECLARED = re.compile(rf"^ *[^\n;]+\* (?:__restrict__ )?{_MEMBER};\n", re.MULTILINE)
_TAKEN = re.compile(rf"^ *__state->{_MEMBER} = dace::aligned_new_array<([^()]+)>\(.+, 64\);\n", re.MULTILINE)
_GIVEN = re.compile(rf"^.*dace::aligned_delete_array\(__state->{_MEMBER}, 64\);\n", re.MULTILINE)
_USED = re.compile(rf"__state->{_MEMBER}\b")
_UNCOUNTED = re.compile(r"aligned_new_array|\bmalloc\(|\bnew \w+(?: \w+\(\d+\))?\[")


def frame_text(sdfg: dace.SDFG) -> str:
    """The program's host code, all of it for a target without an accelerator, as DaCe writes it."""
    with dace.config.set_temporary("compiler", "cpu", "explicit_copy", value=False):
        # A failing validation would write the graph into the current folder; the tests validate instead.
        frame = next(c for c in codegen.generate_code(sdfg, validate=False) if c.title == "Frame")
    return NO_HASH.made(frame.clean_code)


def placed(code: str, offsets: Mapping[str, int]) -> str:
    """Arrays at fixed places of one block, which the state has as `sg_arena`. offsets: bytes, by container.

    `state->v = dace::aligned_new_array<double>(n, 64); ... state->v`   ->   `... state->sg_arena.at<double>(k)`

    Where an array starts is a number in the text: the compiler reaches all arrays from a few registers. A pointer to
    each of them in the state (DaCe's external memory) would take a register each, and a loop over many arrays would
    load most of them again at every vector. Raises InvariantError where an array is not declared, taken and given once
    each, or where any other memory is taken: nothing would count it.
    """
    kinds = {m[1]: m[2] for m in _TAKEN.finditer(code) if m[1] in offsets}
    for lines in (_DECLARED, _TAKEN, _GIVEN):
        found = sorted(name for name in (m[1] for m in lines.finditer(code)) if name in offsets)
        if found != sorted(kinds):
            raise InvariantError(f"generated code has arrays {found} where it has {sorted(kinds)} elsewhere")
        code = lines.sub(lambda m: "" if m[1] in kinds else m[0], code)
    code = _USED.sub(lambda m: f"__state->sg_arena.at<{kinds[m[1]]}>({offsets[m[1]]})" if m[1] in kinds else m[0], code)
    if left := _UNCOUNTED.search(code):
        raise InvariantError(f"generated code takes memory that is not counted: {left[0]}")
    return code
