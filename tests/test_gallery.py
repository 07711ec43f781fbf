"""The programs of the gallery run, and their gradients are right: each of them checks its own."""
from __future__ import annotations

import runpy

import pytest

from sdfgad.commands import examples


@pytest.mark.slow
@pytest.mark.parametrize("name", examples.names())
def test_a_program_of_the_gallery(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="needs matplotlib: pip install '.[docs]'")
    pyplot.switch_backend("agg")
    runpy.run_path(str(examples.FOLDER / f"{name}.py"), run_name="__main__")
    pyplot.close("all")
    assert ": ok\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", examples.names())
def test_programs_are_short_and_say_what_they_are(name: str) -> None:
    text = examples.text(name)
    assert 40 <= len(text.splitlines()) <= 150
    assert "sdfgad.check_grads(" in text and "plt.show()" in text
    first, rule = text.splitlines()[1:3]
    assert first == examples.title(name) and rule == "=" * len(first)
