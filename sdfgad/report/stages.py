"""What a program looks like behind every stage, and which passes made it so."""
from __future__ import annotations

from collections.abc import Callable

from sdfgad.ir.program import Program
from sdfgad.ir.text import program_text
from sdfgad.transform.passes import Application, observing, watching


def stages_text(derive: Callable[[], object]) -> str:
    """The texts of a program behind the stages that `derive` takes it through, each with the names of the passes that
    changed it. A stage that changes nothing is named only; where several programs go through it, the first one counts.
    """
    texts: dict[str, str] = {}
    changed: dict[str, None] = {}

    def watch(one: Application) -> None:
        changed.update({one.name: None} if one.changed else {})

    def look(stage: str, program: Program) -> None:
        text = f"{stage}: {', '.join(changed)}\n\n{program_text(program)}" if changed else f"{stage}: as before"
        texts.setdefault(stage, text if texts or changed else f"{stage}: as it was read\n\n{program_text(program)}")
        changed.clear()

    with watching(watch), observing(look):
        derive()
    return "\n\n".join(texts.values())
