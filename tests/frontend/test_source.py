"""Where the source of a function comes from, and how it is told that a text is not what the function runs."""
from __future__ import annotations

import functools
import linecache
import os
import pty
import select
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from sdfgad.frontend.syntax import matching, texts
from sdfgad.frontend.syntax.source import code_of

X = np.ones(3)
IMPORTED_ALONE = "import numpy as np\n"
PROGRAM = """
def helper(x):
    return x * x

def loss(x):
    total = 0.0
    for k in range(3):
        total += np.sum(helper(x))
        if k in (1, 2):
            continue
    return total
"""


def defined(text, name="loss", file="<string>"):
    space = {"np": np, "__name__": "somewhere"}
    exec(compile(text, file, "exec", dont_inherit=True), space)
    return space[name]


def written(folder, text, name="loss"):
    file = folder / "program.py"
    file.write_text(text)
    return file, defined(text, name, str(file))


def refused(fn, what, text=""):
    with pytest.raises(UnsupportedError, match=what) as caught:
        code_of(fn, text)
    assert caught.value.code == "SG106"


def test_a_function_that_was_compiled_statement_by_statement(tmp_path):
    """As notebooks do: the import is not in the same unit, and methods are looked up by other instructions."""
    file, _ = written(tmp_path, IMPORTED_ALONE + PROGRAM)
    space = {"np": np}
    exec(compile(PROGRAM.strip(), str(file), "exec"), space)
    code = space["loss"].__code__.replace(co_firstlineno=6)
    assert code_of(types.FunctionType(code, space)).node.name == "loss"
    whole = defined(IMPORTED_ALONE + PROGRAM, file=str(file))
    assert [i.opname for i in matching.dis.get_instructions(whole)] != \
        [i.opname for i in matching.dis.get_instructions(code)]  # else this test tests nothing
    assert code_of(whole).node.name == "loss"


@pytest.mark.parametrize("before, after", [
    ("x * x", "x * x * x"), ("range(3)", "range(4)"), ("(1, 2)", "(1, 3)"), ("0.0", "0"), ("continue", "break"),
    ("np.sum", "np.mean"), ("def loss", "def other")])
def test_an_edited_file_is_noticed(tmp_path, before, after):
    file, loss = written(tmp_path, PROGRAM)
    helper = loss.__globals__["helper"]
    assert code_of(loss).node.name == "loss"
    file.write_text(PROGRAM.replace(before, after))
    os.utime(file, (1, 1))
    refused(helper if "x * x" in before else loss, "edited after it was imported")


def test_an_edited_inner_function_is_noticed(tmp_path):
    text = "def loss(x):\n    square = lambda v: v * 2\n    return square(x)\n"
    file, loss = written(tmp_path, text)
    assert code_of(loss)
    file.write_text(text.replace("2", "3"))
    os.utime(file, (1, 1))
    refused(loss, "edited")


def test_a_file_that_is_no_longer_python_is_noticed(tmp_path):
    file, loss = written(tmp_path, PROGRAM)
    file.write_text("(" + PROGRAM)
    os.utime(file, (1, 1))
    refused(loss, "edited")


def test_lines_that_moved_do_no_harm(tmp_path):
    file, loss = written(tmp_path, PROGRAM)
    file.write_text("# a comment\n\n" + PROGRAM)
    os.utime(file, (1, 1))
    found = code_of(loss)
    assert found.at(found.node).line == PROGRAM.count("\n", 0, PROGRAM.index("def loss")) + 3


def private_names():
    class Model:
        def __init__(self):
            self.__w = X

        def loss(self, x):
            def inner():
                return self.__w * x
            return np.sum(inner())

    return Model().loss


@pytest.mark.parametrize("fn", [
    private_names(), [lambda x: np.sum(x), lambda x: np.sum(x * 2)][1], (lambda a: lambda x: np.sum(x * a))(X),
    functools.wraps(np.sum)(lambda x: np.sum(x * 3)), (lambda x, *, k=X: np.sum(x * k))])
def test_functions_in_all_kinds_of_places(fn):
    assert code_of(fn)


def test_functions_of_the_standard_library_are_their_texts():
    """Ten thousand lines that nobody here has written."""
    for module in (functools, textwrap, types, subprocess, linecache):
        for fn in vars(module).values():
            if isinstance(fn, types.FunctionType) and not hasattr(fn, "__wrapped__"):
                assert code_of(fn).node.name == fn.__code__.co_name


def test_what_exec_ran_needs_its_text():
    loss = defined(PROGRAM)
    refused(loss, "source=text")
    refused(loss, "does not define", "def loss(x): return x")
    assert "<source of loss" in code_of(loss, PROGRAM).file
    with pytest.raises(UnsupportedError, match="cannot be read"):
        sdfgad.grad(loss)(X)


def test_the_text_serves_every_verb_and_the_helpers():
    loss = defined(PROGRAM)
    for run in (lambda **more: sdfgad.grad(loss, **more)(X), lambda **more: sdfgad.value_and_grad(loss, **more)(X)[1],
                lambda **more: sdfgad.vjp(loss, X, **more)[1](1.0)):
        np.testing.assert_allclose(run(source=PROGRAM), 6 * X)
    assert sdfgad.jvp(loss, (X,), (X,), source=PROGRAM)[1] == 18
    assert sdfgad.forward(loss, source=PROGRAM)(X) == 9
    assert sdfgad.plan(loss, X, source=PROGRAM).target.endswith("loss")
    assert sdfgad.pareto(loss, X, source=PROGRAM)


def test_refusals_show_lines_of_a_given_text():
    text = "def loss(x):\n    return np.sum(open(x))\n"
    with pytest.raises(UnsupportedError) as caught:
        parse(defined(text), (X,), text=text)
    assert "return np.sum(open(x))" in str(caught.value) and caught.value.line == 2


def test_the_command_line(monkeypatch):
    loss = defined(PROGRAM)
    monkeypatch.setattr(sys, "orig_argv", ["python", "-c", PROGRAM])
    assert code_of(loss).node.name == "loss"
    monkeypatch.setattr(sys, "orig_argv", ["python", "-Ic" + PROGRAM, "more"])
    assert code_of(loss).node.name == "loss"


def test_cells_under_a_magic_command(monkeypatch):
    main = types.ModuleType("__main__")
    main.In = ["", f"get_ipython().run_cell_magic('time', '', {PROGRAM!r})", "x = 3"]
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert code_of(defined(PROGRAM, file="<timed exec>")).node.name == "loss"


def test_blocks_of_the_history():
    lines = ["a = 1", *PROGRAM.strip().splitlines(), "b = 2"]
    block = texts._block([line for line in lines if line][3:])
    assert block.startswith("def loss") and block.endswith("return total")


def _until_prompt(terminal: int) -> bytes:
    """What a terminal shows until it asks for the next line, or until its program is gone."""
    shown = b""
    while not shown.endswith((b">>> ", b"... ")) and select.select([terminal], [], [], 60)[0]:
        try:
            more = os.read(terminal, 65536)
        except OSError:  # Linux' way to say that the other end is closed
            return shown
        if not more:
            return shown
        shown += more
    return shown


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a terminal")
def test_functions_typed_at_the_prompt(tmp_path):
    """The plain prompt, in a terminal."""
    script = ["from sdfgad.frontend.syntax.source import code_of", "def loss(x):", "    return x * 2", "",
              "print('found', code_of(loss).node.name)", "f = lambda x: x * 3",
              "print('found', code_of(f).node.lineno)"]
    child, terminal = pty.fork()
    if child == 0:
        environment = {**os.environ, "TERM": "dumb", "HOME": str(tmp_path), "PYTHON_BASIC_REPL": "1",
                       "PYTHONPATH": str(Path(sdfgad.__file__).parent.parent)}
        os.execve(sys.executable, [sys.executable, "-q"], environment)
    shown = _until_prompt(terminal)
    for line in [*script, "exit()"]:
        os.write(terminal, line.encode() + b"\n")
        shown += b"|" + _until_prompt(terminal)
    os.waitpid(child, 0)
    os.close(terminal)
    assert b"found loss" in shown and b"found 1" in shown, shown.decode()
