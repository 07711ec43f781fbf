"""Where the text of a function may be found: its file or cell, the command line, what was typed at the prompt.

Only a text that compiles to what the function runs is taken, so it does no harm to look in many places.
"""
from __future__ import annotations

import ast
import hashlib
import inspect
import linecache
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

LONGEST_BLOCK = 400
"""Lines of a function typed at the prompt."""


@dataclass(frozen=True)
class Text:
    """Lines of Python. file: the name under which messages show them."""

    file: str
    content: str


def texts_of(code: CodeType, given: str) -> Iterator[Text]:
    """Texts that may hold the function with this code, the likeliest first. given: what the user says it is."""
    if given:
        yield _shown(Text(f"<source of {code.co_name}", textwrap.dedent(given)))
    own = file_text(code)
    if own is not None:
        yield own
    elif code.co_filename.startswith("<"):
        for content in (*_command_line(), *_cells(), *_typed(code.co_name)):
            yield _shown(Text(code.co_filename.rstrip(">"), content))


def file_text(code: CodeType) -> Text | None:
    """The file, or what stands for it: notebooks and newer prompts keep what was typed where tracebacks find it."""
    linecache.checkcache(code.co_filename)
    # Of a file that is there `inspect` finds no more, but asks every module in memory whether it is its own.
    lines = linecache.getlines(code.co_filename) if os.path.exists(code.co_filename) else _found(code)
    return Text(code.co_filename, "".join(lines)) if code.co_firstlineno <= len(lines) else None


def _found(code: CodeType) -> list[str]:
    try:
        return inspect.findsource(code)[0]
    except (OSError, TypeError, IndexError):
        return []


@lru_cache(maxsize=64)
def functions_in(content: str) -> dict[str, Sequence[ast.FunctionDef | ast.Lambda]]:
    """Every function of a text by its name; none when the text is no Python."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return {}
    found: dict[str, list[ast.FunctionDef | ast.Lambda]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Lambda):
            found.setdefault("<lambda>", []).append(node)
    return {name: tuple(nodes) for name, nodes in found.items()}


def _shown(text: Text) -> Text:
    """The same under a name of its own, where messages find the lines."""
    name = f"{text.file} {hashlib.sha256(text.content.encode()).hexdigest()[:8]}>"
    linecache.cache[name] = (len(text.content), None, text.content.splitlines(keepends=True), name)
    return Text(name, text.content)


def _command_line() -> Iterator[str]:
    """`python -c TEXT`, which may be one word with other options."""
    for word in sys.orig_argv[1:]:
        if "\n" in word or "lambda" in word or "def " in word:
            yield textwrap.dedent(word)
            if word.startswith("-"):
                yield textwrap.dedent(word.partition("c")[2])


def _cells() -> Iterator[str]:
    """What the magic commands of a notebook that take a whole cell were given, the last first."""
    cells: Any = vars(sys.modules["__main__"]).get("In")
    for cell in reversed(cells if isinstance(cells, list) else []):
        if str(cell).startswith("get_ipython().run_cell_magic("):
            call = ast.parse(str(cell), mode="eval").body
            yield ast.literal_eval(call.args[-1]) if isinstance(call, ast.Call) else ""


def _typed(name: str) -> Iterator[str]:
    """Blocks from the history of the prompt that may define a function, the last first."""
    readline: Any = sys.modules.get("readline")
    if readline is None:
        return
    lines = [readline.get_history_item(k + 1) or "" for k in range(readline.get_current_history_length())]
    sign = "lambda" if name == "<lambda>" else f"def {name}"
    for k in range(len(lines) - 1, -1, -1):
        if sign in lines[k]:
            yield _block(lines[k:k + LONGEST_BLOCK])


def _block(lines: Sequence[str]) -> str:
    """A statement: the first line, and the following ones as long as they are indented or something is missing."""
    taken = lines[0]
    for line in lines[1:]:
        if not line[:1].isspace() and functions_in(taken):
            break
        taken = f"{taken}\n{line}"
    return taken
