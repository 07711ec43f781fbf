"""What a refusal shows: the lines of the user first, and nothing of the inside of the library."""
from __future__ import annotations

import logging
import textwrap
import traceback

import numpy as np
import pytest

import sdfgad
from sdfgad.errors import SourceLine, UnsupportedError, unsupported_in_calls

X = np.ones(3)


def inner(x):
    return np.sum(open(x))


def middle(x):
    return inner(x) * 2


def loss(x):
    y = x * 2
    return middle(y)


def through_a_library(x):
    return np.sum(len(textwrap.dedent(x)))


def refusal(fn, call=lambda fn: sdfgad.grad(fn)(X)):
    with pytest.raises(UnsupportedError) as caught:
        call(fn)
    return caught


def test_calls_are_shown_from_the_function_itself_to_the_line():
    error = refusal(loss).value
    text = str(error).splitlines()
    assert [line.split()[0] for line in text[1:4]] == ["from", "from", "-->"]
    assert text[1].endswith("in loss():  return middle(y)") and text[2].endswith("in middle():  return inner(x) * 2")
    assert error.line == inner.__code__.co_firstlineno + 1 and "help:" in text[6]


def test_a_line_inside_a_library_comes_after_the_line_of_the_user():
    error = refusal(through_a_library).value
    assert error.file == __file__ and error.line == through_a_library.__code__.co_firstlineno + 1
    assert error.within and error.within[-1].file == textwrap.__file__
    text = str(error)
    assert text.index("--> ") < text.index("  to   ") and "call it before" in text


@pytest.mark.parametrize("call", [
    lambda fn: sdfgad.grad(fn)(X), lambda fn: sdfgad.value_and_grad(fn)(X), lambda fn: sdfgad.plan(fn, X),
    lambda fn: sdfgad.grad(fn).value_and_grad(X), lambda fn: sdfgad.vjp(fn, X), lambda fn: sdfgad.jvp(fn, (X,), (X,)),
    lambda fn: sdfgad.forward(fn)(X)])
def test_tracebacks_end_at_the_door(call):
    caught = refusal(loss, call)
    inside = [f for f in traceback.extract_tb(caught.value.__traceback__) if "/sdfgad/" in f.filename
              and "/tests/" not in f.filename]
    assert len(inside) <= 3 and caught.value.__cause__ is None, inside
    assert all(entry.frame.f_locals.get("__tracebackhide__") for entry in caught.traceback
               if str(entry.path).endswith(("sdfgad/verbs/tracebacks.py", "sdfgad/verbs/compiled.py")))


@pytest.mark.parametrize("call", [
    lambda: sdfgad.grad(loss, memory_limit="4 gigs"), lambda: sdfgad.check_grads(np.sum, np.arange(3))])
def test_tracebacks_of_wrong_requests_end_at_the_verb(call):
    with pytest.raises(sdfgad.UsageError) as caught:
        call()
    inside = [f for f in traceback.extract_tb(caught.value.__traceback__) if "/sdfgad/" in f.filename
              and "/tests/" not in f.filename]
    assert len(inside) <= 2, inside


def test_what_is_installed_is_a_library_for_what_is_not():
    """The line shown is one that its reader can rewrite."""
    own, other = (SourceLine(file, 1, 0, 1, "f") for file in (__file__, "/x/site-packages/other/deep.py"))
    error = unsupported_in_calls((own, other), "a call of open", "", "SG121")
    assert error.file == __file__ and error.within == (other,)
    assert unsupported_in_calls((other, other), "a call of open", "", "SG121").calls == (other,)


def test_whole_tracebacks_when_debugging(monkeypatch):
    monkeypatch.setattr(logging.getLogger("sdfgad"), "level", logging.DEBUG)
    logging.getLogger("sdfgad")._cache.clear()
    found = traceback.extract_tb(refusal(loss).value.__traceback__)
    logging.getLogger("sdfgad")._cache.clear()
    assert any(f.filename.endswith("frontend/expressions.py") for f in found)
