"""Whether a program is one: all rules, and what is said when one is broken."""
from __future__ import annotations

from collections.abc import Iterator

from sdfgad.analysis.verify_accesses import access_faults
from sdfgad.errors import InvariantError
from sdfgad.ir.program import Program, Stmt
from sdfgad.ir.text import lines
from sdfgad.ir.verify import OPTIMISED, Fault, faults

CONTEXT, MOST_LINES = 3, 12
"""Lines of the program that are shown before and behind the statement that breaks a rule, and of that statement."""


def verify(program: Program, after: str, stage: str = OPTIMISED, thorough: bool = True) -> None:
    """InvariantError for the first rule that `program` breaks. after: who has made it. stage: of `ir.verify.STAGES`.

    Without `thorough` only what each statement shows by itself is looked at.
    """
    found = next(every_fault(program, stage, thorough), None)
    if found is not None:
        raise InvariantError(_report(program, found, after),
                             help="this is a bug in sdfgad: please report it with this message and the function")


def every_fault(program: Program, stage: str = OPTIMISED, thorough: bool = True) -> Iterator[Fault]:
    """All rules that a program breaks; which elements it touches is only asked of one that is well formed."""
    found = faults(program, stage)
    yield from found
    if thorough and not found:
        yield from access_faults(program)


def _report(program: Program, fault: Fault, after: str) -> str:
    """What is broken, the lines around it, and the user's line."""
    source = getattr(fault.stmt, "source", None) or program.source
    where = "" if source is None else f"\n{source.excerpt('made from this')}"
    return f"after {after}: {fault.rule}: {fault.what}{_excerpt(program, fault.stmt)}{where}"


def _excerpt(program: Program, stmt: Stmt | None) -> str:
    """The lines of the printed program around the first statement that reads like this one."""
    if stmt is None:
        return ""
    text = list(lines(program.body))
    own = [line.strip() for line in lines((stmt,))][:MOST_LINES]
    place = next(k for k in range(len(text) + 1) if [line.strip() for line in text[k:k + len(own)]] == own)
    shown = range(max(0, place - CONTEXT), min(len(text), place + len(own) + CONTEXT))
    return "".join(f"\n  {'>' if place <= k < place + len(own) else ' '} {text[k]}" for k in shown)
