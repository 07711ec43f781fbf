"""What people see who wait."""
from __future__ import annotations

import io
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import sdfgad
from sdfgad.plans import progress


class Screen(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal
        self.written = threading.Event()

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        self.written.set()
        return super().write(text)


@pytest.fixture
def screen(request, monkeypatch):
    made = Screen(request.param)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=made))  # pytest puts its own back in sys
    monkeypatch.setattr(progress, "FIRST", 0.01)
    monkeypatch.delenv("SDFGAD_PROGRESS", raising=False)
    return made


def wait(screen):
    with progress.progress("compiling the gradient of loss"):
        screen.written.wait(20)


@pytest.mark.parametrize("screen", [True], indirect=True)
def test_a_terminal_has_a_line_that_goes_away(screen):
    with pytest.raises(KeyboardInterrupt):
        with progress.progress("compiling the gradient of loss"):
            screen.written.wait(20)
            raise KeyboardInterrupt
    assert "sdfgad: compiling the gradient of loss (0 s) ..." in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K") and "sdfgad progress" not in [t.name for t in threading.enumerate()]


@pytest.mark.parametrize("screen", [True], indirect=True)
def test_it_can_be_turned_off(screen, monkeypatch):
    for off in (lambda: sdfgad.config(progress=False), lambda: monkeypatch.setenv("SDFGAD_PROGRESS", "0")):
        made = off()
        if made is not None:
            made.__enter__()
        with progress.progress("compiling"):
            assert "sdfgad progress" not in [t.name for t in threading.enumerate()]
        if made is not None:
            made.__exit__(None, None, None)
    assert screen.getvalue() == ""


@pytest.mark.parametrize("screen", [False], indirect=True)
def test_files_and_notebooks_see_nothing_unless_asked(screen):
    sdfgad.grad(lambda x: np.sum(x * 7.0)).plan(np.ones(3))
    assert screen.getvalue() == ""
    with sdfgad.config(progress=True):
        wait(screen)
    assert screen.getvalue().count("\n") == 2 and "\r" not in screen.getvalue()


@pytest.mark.parametrize("screen", [False], indirect=True)
def test_plans_and_compilations_say_what_they_are(screen, monkeypatch):
    seen = []
    monkeypatch.setattr(progress, "_tell", lambda what, over: seen.append(what))
    def loss(x):
        return np.sum(x * 11.0)
    with sdfgad.config(progress=True):
        sdfgad.grad(loss)(np.ones(3))
    assert seen == ["planning the gradient of loss", "compiling the gradient of loss"]


@pytest.mark.parametrize("screen", [True], indirect=True)
def test_what_is_quick_says_nothing(screen, monkeypatch):
    monkeypatch.setattr(progress, "FIRST", 60.0)
    with progress.progress("compiling"):
        pass
    assert screen.getvalue() == ""
