"""Settings: precedence, origins, and refusal of what is not a setting."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

import sdfgad
from sdfgad import UsageError
from sdfgad.config import Settings, origins, settings


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith("SDFGAD_") or name == "OMP_NUM_THREADS":
            monkeypatch.delenv(name)
    # A file of its own, so that nothing above the folder is found.
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_defaults() -> None:
    assert settings() == Settings()
    assert {origin.source for origin in origins().values()} == {"default"}


def test_precedence(clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7,2")
    assert origins()["num_threads"].value == 7
    (clean / "pyproject.toml").write_text("[tool.sdfgad]\nnum-threads = 1\n")
    assert origins()["num_threads"].source == str(clean / "pyproject.toml")
    monkeypatch.setenv("SDFGAD_NUM_THREADS", "2")
    assert (settings().num_threads, origins()["num_threads"].source) == (2, "environment SDFGAD_NUM_THREADS")
    with sdfgad.config(num_threads=3):
        assert (settings().num_threads, origins()["num_threads"].source) == (3, "sdfgad.config()")
        assert origins(num_threads=4)["num_threads"].source == "argument"
        assert settings(num_threads=4).num_threads == 4
        assert settings(num_threads=None).num_threads == 3
    assert settings().num_threads == 2


def test_contexts_nest_and_end_with_errors() -> None:
    with pytest.raises(KeyError), sdfgad.config(memory_limit="1GB", debug_nans=True) as outer:
        assert outer.memory_limit == "1GB"
        with sdfgad.config(memory_limit=5, check=None) as inner:
            assert (inner.memory_limit, inner.debug_nans, inner.check) == (5, True, "off")
        assert settings().memory_limit == "1GB"
        raise KeyError
    assert settings() == Settings()


def test_without_with_nothing_is_set() -> None:
    with pytest.warns(UserWarning, match=r"sets nothing by itself.*SDFGAD_NUM_THREADS") as caught:
        sdfgad.config(num_threads=3)
    assert caught[0].filename == __file__ and settings() == Settings()


def test_decorates_functions() -> None:
    @sdfgad.config(num_threads=3)
    def asked(again: bool) -> int | None:
        return asked(False) if again else settings().num_threads

    assert (asked(True), settings().num_threads) == (3, None)


def test_other_threads_do_not_see_the_block() -> None:
    seen = []
    with sdfgad.config(device="gpu"):
        thread = threading.Thread(target=lambda: seen.append(settings().device))
        thread.start()
        thread.join()
    assert seen == ["cpu"]


def test_the_nearest_file_counts_and_edits_are_seen(clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = clean / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    (clean / "pyproject.toml").write_text('[tool.sdfgad]\nlog = "debug"\n')
    assert settings().log == "debug"
    (clean / "a" / "pyproject.toml").write_text('[tool.sdfgad]\nlog = "error"\n')
    assert settings().log == "error"
    (clean / "a" / "pyproject.toml").write_text('[tool.other]\nlog = "error"\n#\n')
    assert settings().log == "warning"


@pytest.mark.parametrize("value, read", [("1", True), ("off", False), ("TRUE", True)])
def test_flags(value: str, read: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDFGAD_DEBUG_NANS", value)
    assert settings().debug_nans is read


@pytest.mark.parametrize("name, value, hint", [
    ("NUM_THREADS", "many", "an integer of at least 1"),
    ("NUM_THREADS", "0", "an integer of at least 1"),
    ("MEMORY_LIMIT", "4G", '"4GB" or "4GiB"'),
    ("LOG", "loud", "one of debug, info"),
    ("CHECK", "maybe", "one of off, warn, error"),
    ("SOLVER_TIME_LIMIT", "-1", "above 0"),
    ("DEBUG_NANS", "perhaps", "true or false"),
])
def test_wrong_values_name_the_variable(
    name: str, value: str, hint: str, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(f"SDFGAD_{name}", value)
    with pytest.raises(UsageError, match=rf"SDFGAD_{name}(.|\n)*{hint}"):
        settings()


def test_an_unknown_setting_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match=r"SG207.*'memory_limits'(.|\n)*memory_limit"):
        sdfgad.config(memory_limits="4GB")


def test_broken_toml_names_the_file(clean: Path) -> None:
    (clean / "pyproject.toml").write_text("[tool.sdfgad\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml is not valid TOML"):
        settings()


def test_wrong_values_in_the_file_name_it(clean: Path) -> None:
    (clean / "pyproject.toml").write_text("[tool.sdfgad]\nnum_threads = 1.5\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml: num_threads is 1\.5"):
        settings()


def test_a_limit_that_is_set_later_holds_for_what_was_compiled_before():
    def f(x):
        y = x * 1.0
        for _ in range(8):
            y = np.sin(y) * x
        return np.sum(y)

    x, g = np.ones(100), sdfgad.grad(f)
    first = g(x)
    for _ in range(2):
        np.testing.assert_array_equal(g(x), first)
    with sdfgad.config(memory_limit=100), pytest.raises(sdfgad.MemoryLimitError):
        g(x)
    np.testing.assert_array_equal(g(x), first)
    with sdfgad.config(memory_limit=6000):
        assert g.measure(x).measured.peak_bytes <= 6000
        np.testing.assert_allclose(g(x), first, rtol=1e-14)


def test_a_variable_with_a_wrong_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDFGAD_MEMRY_LIMIT", "4GB")
    with pytest.warns(UserWarning, match="SDFGAD_MEMRY_LIMIT .* sets nothing: there are SDFGAD_MEMORY_LIMIT"):
        settings()


def test_the_working_folder_may_be_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert settings().log == "warning"
