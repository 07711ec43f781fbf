"""Loops over complex numbers, and arrays of them on the stack."""
from __future__ import annotations

import re

from sdfgad.codegen.cpp import Frame, Writer
from sdfgad.codegen.cpu.text.statements import emit_block
from sdfgad.ir.program import Block, Loop
from tests.codegen.build_programs import C16, F8, agree, load, mapped, mul, num, program, span, store

N = 12


def text(body: Block, arrays: dict) -> str:
    writer = Writer()
    emit_block(writer, Frame(program(body, arrays).arrays), body)
    return writer.text


def test_loops_over_complex_numbers_stay_apart_from_each_other() -> None:
    step = mapped([span("i", N)], store("z", ("i",), mul(load("z", "i", dtype=C16), load("z", "i", dtype=C16))))
    assert "SG_IN_TURN" in text((Loop(span("k", 3), (step,)),), {"z": ((N,), C16)})
    plain = mapped([span("i", N)], store("x", ("i",), mul(load("x", "i"), load("x", "i"))))
    assert "SG_IN_TURN" not in text((Loop(span("k", 3), (plain,)),), {"x": ((N,), F8)})


def test_private_arrays_of_complex_numbers_are_not_cleared() -> None:
    own = (mapped([span("i", N)], store("t", ("i",), mul(load("z", "k", "i", dtype=C16), num(2j, C16)))),
           mapped([span("i", N)], store("z", ("k", "i"), load("t", "i", dtype=C16))))
    body = (Loop(span("k", 4), own, parallel=True, private=("t",)),)
    made = program(body, {"z": ((4, N), C16)}, {"t": ((N,), C16)})
    writer = Writer()
    emit_block(writer, Frame(made.arrays), body)
    assert re.search(r"double p_t_parts\[24\];", writer.text) and "complex128 p_t[" not in writer.text
    agree(made)
