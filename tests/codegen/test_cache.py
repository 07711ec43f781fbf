"""The cache of compiled programs: complete entries only, one builder per key, nothing left behind."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import sdfgad
from sdfgad import ToolchainError, UsageError
from sdfgad.codegen.cache import entry, key_of, publish


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SDFGAD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(text: str):
    return lambda folder: (folder / "program.so").write_text(text)


def test_published_once_found_afterwards(own_cache: Path) -> None:
    key = key_of("program", 1)
    assert entry(key) is None
    folder = publish(key, write("first"))
    assert publish(key, write("second")) == folder == entry(key)
    assert (folder / "program.so").read_text() == "first"
    assert folder.is_relative_to(own_cache)


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_failed_build_leaves_nothing(own_cache: Path, failure: type[BaseException]) -> None:
    def build(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise failure

    with pytest.raises(failure):
        publish(key_of("bad"), build)
    assert entry(key_of("bad")) is None
    assert not list((own_cache / "building").iterdir())
    assert publish(key_of("bad"), write("good")).is_dir()


def test_what_a_killed_process_left_is_removed(own_cache: Path) -> None:
    key = key_of("killed")
    stale = own_cache / "building" / f"{key}.dead"
    stale.mkdir(parents=True)
    publish(key, write("x"))
    assert not stale.exists()


def test_threads_build_one_entry() -> None:
    built = []

    def build(folder: Path) -> None:
        built.append(folder)
        time.sleep(0.05)
        (folder / "program.so").write_text("x")

    threads = [threading.Thread(target=publish, args=(key_of("shared"), build)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1


PROCESS = """
import sys, time
from pathlib import Path
from sdfgad.codegen.cache import publish
def build(folder):
    with open(sys.argv[1], "a") as log: log.write("built\\n")
    time.sleep(0.2)
    (folder / "program.so").write_text("x")
assert (publish("0" * 64, build) / "program.so").read_text() == "x"
"""


def test_processes_on_a_cold_cache_build_one_entry(tmp_path: Path) -> None:
    log = tmp_path / "log"
    running = [subprocess.Popen([sys.executable, "-c", PROCESS, str(log)]) for _ in range(4)]
    assert [process.wait(timeout=60) for process in running] == [0] * 4
    assert log.read_text() == "built\n"


def test_a_build_may_publish_another_entry() -> None:
    publish(key_of("outer"), lambda folder: (folder / "link").symlink_to(publish(key_of("inner"), write("x"))))
    assert sdfgad.cache.info().entries == 2


def test_info_and_clear(own_cache: Path) -> None:
    assert sdfgad.cache.info().entries == 0
    publish(key_of("a"), write("12345"))
    publish(key_of("b"), write("123"))
    (own_cache / "building" / "left.over").mkdir()
    info = sdfgad.cache.info()
    assert (info.path, info.entries, info.bytes) == (own_cache, 2, 8)
    assert sdfgad.cache.clear().entries == 2
    assert sdfgad.cache.info().entries == 0
    assert not list((own_cache / "building").iterdir())
    assert publish(key_of("a"), write("again")).is_dir()


def test_clear_leaves_an_entry_that_is_being_built_alone() -> None:
    def build(folder: Path) -> None:
        (folder / "program.so").write_text("x")
        cleaner = threading.Thread(target=sdfgad.cache.clear)
        cleaner.start()
        cleaner.join()
        assert folder.is_dir()

    assert (publish(key_of("slow"), build) / "program.so").is_file()


def test_clear_of_a_cache_that_was_never_used() -> None:
    assert sdfgad.cache.clear().entries == 0


def test_a_folder_that_cannot_be_made_is_an_error_with_a_way_out(own_cache: Path) -> None:
    own_cache.write_text("a file")
    with pytest.raises(ToolchainError, match=r"SG507(.|\n)*SDFGAD_CACHE_DIR"):
        publish(key_of("x"), write("x"))


@pytest.mark.parametrize("left, right", [
    (("ab", "c"), ("a", "bc")),
    ((1,), (1.0,)),
    ((1,), (True,)),
    (("1",), (1,)),
    ((None,), ("None",)),
    (((1, 2), 3), (1, (2, 3))),
    (({"a": 1},), ({"a": 2},)),
    ((np.zeros(3),), (np.zeros(3, np.float32),)),
    ((np.zeros((2, 3)),), (np.zeros((3, 2)),)),
    ((np.float64(0.0),), (np.float64(-0.0),)),
])
def test_keys_differ(left: tuple[object, ...], right: tuple[object, ...]) -> None:
    assert key_of(*left) != key_of(*right)


def test_keys_do_not_depend_on_order_where_there_is_none() -> None:
    assert key_of({"a": 1, "b": 2}, {"x", "y"}) == key_of({"b": 2, "a": 1}, {"y", "x"})
    assert key_of(Path("a"), b"b", 1j, frozenset()) == key_of(Path("a"), b"b", 1j, frozenset())


def test_a_key_of_an_object_with_an_address_is_refused() -> None:
    with pytest.raises(UsageError, match="SG109.*object"):
        key_of(object())
