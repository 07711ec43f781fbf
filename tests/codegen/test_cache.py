"""The cache of compiled programs: complete entries only, one builder per key, nothing left behind."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

import sdfgad
from sdfgad import CacheWarning, ToolchainError, UsageError
from sdfgad.codegen.compiling import cache as stored
from sdfgad.codegen.compiling.cache import ENTRIES, entry, key_of, lend, publish
from sdfgad.codegen.compiling.toolchain import run
from sdfgad.codegen.compiling.whole import seal


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
from contextlib import suppress
from pathlib import Path
from sdfgad.codegen.compiling.cache import publish
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
    on_disk = sum(file.stat().st_size for file in own_cache.glob("entries/*/*"))
    assert (info.path, info.entries, info.bytes) == (own_cache, 2, on_disk) and on_disk > 8
    assert sdfgad.cache.clear() == info
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


def test_a_folder_that_cannot_be_made_is_replaced_with_one_warning(
        own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "spare", stored.Spare())
    own_cache.write_text("a file")
    with pytest.warns(CacheWarning, match=r"SG507.*SDFGAD_CACHE_DIR") as shown:
        folder = publish(key_of("x"), write("x"))
        assert publish(key_of("x"), write("y")) == folder == entry(key_of("x"))
        publish(key_of("z"), write("z"))
    assert len(shown) == 1 and shown[0].filename == __file__
    with pytest.raises(ToolchainError, match="SG507"):
        stored.check_folder()


def test_programs_run_without_a_cache_folder(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "spare", stored.Spare())
    own_cache.write_text("a file")
    with pytest.warns(CacheWarning):
        assert sdfgad.forward(lambda x: x * 4.0)(np.ones(2))[1] == 4


@pytest.mark.parametrize("whole", [True, False])
def test_a_broken_entry_that_may_only_be_read(own_cache: Path, monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    """As in a cache of somebody else's: what is compiled anew lies elsewhere."""
    def five_times(x):
        return x * 5.0

    assert sdfgad.forward(five_times)(np.ones(2))[0] == 5
    copied = shutil.copytree(own_cache, own_cache.with_name("copy"))
    monkeypatch.setenv("SDFGAD_CACHE_DIR", str(copied))
    monkeypatch.setattr(stored, "spare", stored.Spare())
    for library in copied.glob("entries/*/program.so"):
        library.write_text("garbage")
        if whole:
            seal(library.parent)

    def closed(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(stored, "_remove", closed)
    monkeypatch.setattr(stored, "make_removable", closed)
    if whole:
        monkeypatch.setattr(os, "access", lambda place, mode: copied not in Path(place).parents)
    with pytest.warns(CacheWarning, match="SG507"):
        assert sdfgad.forward(five_times)(np.ones(2))[0] == 5
    assert all(library.read_text() == "garbage" for library in copied.glob("entries/*/program.so"))


def test_a_process_goes_on_where_the_cache_is_emptied(own_cache: Path) -> None:
    """As by `sdfgad cache clear` of somebody else: what all programs share is made again, too."""
    double = sdfgad.forward(lambda x: x * 2.0)
    assert double(np.ones(2))[1] == 2
    shutil.rmtree(own_cache)
    assert sdfgad.forward(lambda x: x * 5.0)(np.ones(2))[1] == 5
    assert double(np.ones(2))[1] == 2


def damages(folder: Path) -> dict[str, object]:
    library, meta = folder / "program.so", folder / "program.json"
    return {
        "shortened": lambda: os.truncate(library, library.stat().st_size // 2),
        "altered": lambda: library.write_bytes(b"x" * library.stat().st_size),
        "no text": lambda: meta.write_text("garbage"),
        "missing": library.unlink,
        "no list": (folder / "files.json").unlink,
        "not readable": lambda: (library.unlink(), library.mkdir()),
        "closed": lambda: folder.chmod(0o000),
    }


def test_a_damaged_entry_is_made_again(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def triple(x):
        return x * 3.0

    assert sdfgad.forward(triple)(np.ones(2))[0] == 3
    # A copy: this process has loaded the library itself, which may not change any more.
    copied = shutil.copytree(own_cache, own_cache.with_name("copy"))
    monkeypatch.setenv("SDFGAD_CACHE_DIR", str(copied))
    library, = copied.glob("entries/*/program.json")
    folder = library.parent
    whole = (folder / "files.json").read_text()
    for how, damage in damages(folder).items():
        damage()
        assert os.geteuid() == 0 and how == "closed" or entry(folder.name) is None, how
        publish(folder.name, lambda made: [(made / n).write_text(n) for n in ("program.so", "program.json")])
        assert entry(folder.name) is not None, how
    # What is there is whole, and no library: compiled again as well.
    assert (folder / "files.json").read_text() != whole
    assert sdfgad.forward(triple)(np.ones(2))[0] == 3
    assert (folder / "program.so").stat().st_size > 1000 and entry(folder.name) is not None


def test_an_interrupt_ends_the_compiler(tmp_path: Path) -> None:
    """With all that it has started, and leaves nothing in the cache."""
    compiler = tmp_path / "slow"
    compiler.write_text(f"#!/bin/sh\nif [ \"$1\" = --version ]; then echo slow 1; exit; fi\n"
                        f"sleep 100 & echo $! > {tmp_path}/pid; wait\n")
    compiler.chmod(0o755)
    program = f"""
import numpy as np, os, signal, threading, time, sys
import sdfgad
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs in the background ignore it
def stop():
    while not os.path.exists({str(tmp_path / "pid")!r}) or not open({str(tmp_path / "pid")!r}).read().strip():
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=stop).start()
try:
    sdfgad.forward(lambda x: x * 5.0)(np.ones(2))
except KeyboardInterrupt:
    print("interrupted")
"""
    file = tmp_path / "program.py"
    file.write_text(program)
    environment = {**os.environ, "CXX": str(compiler), "SDFGAD_CACHE_DIR": str(tmp_path / "own"),
                   "PYTHONPATH": str(Path(sdfgad.__file__).parent.parent)}
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout == "interrupted\n", done.stderr
    assert not list((tmp_path / "own").glob("building/*")) and not list((tmp_path / "own").glob("entries/*/program.*"))
    with suppress(psutil.NoSuchProcess):
        child = psutil.Process(int((tmp_path / "pid").read_text()))
        gone = psutil.wait_procs([child], timeout=20)[0]
        assert gone or child.status() == psutil.STATUS_ZOMBIE, "ended, whether or not anybody has looked"


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


def test_entries_are_lent_to_another_folder(tmp_path):
    """What all programs share, compiled once; and nothing else of the cache."""
    with sdfgad.config(cache_dir=tmp_path / "own"):
        shared = publish("shared", lambda folder: (folder / "a.txt").write_text("text"))
        publish("other", lambda folder: (folder / "b.txt").write_text("text"))
        (tmp_path / "own" / "machine.json").write_text("{}")
        lend([shared], tmp_path / "lent")
    with sdfgad.config(cache_dir=tmp_path / "lent"):
        assert publish("shared", lambda folder: pytest.fail("made again")).parent.parent == tmp_path / "lent"
        assert entry("other") is None
    assert (tmp_path / "lent" / "machine.json").read_text() == "{}"
    assert os.path.samefile(tmp_path / "lent" / ENTRIES / "shared" / "a.txt", shared / "a.txt")


def test_a_full_disk_is_told(own_cache: Path) -> None:
    """Before: an OSError without the folder, and from the compiler nothing about what to do."""
    def build(folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(ToolchainError, match=r"SG507.*cannot be written.*No space(.|\n)*sdfgad cache clear"):
        publish(key_of("full"), build)
    assert entry(key_of("full")) is None
    program = "import os, sys; print('cannot write PCH file:', os.strerror(28), file=sys.stderr); sys.exit(1)"
    with pytest.raises(ToolchainError, match=r"SG505(.|\n)*No space(.|\n)*sdfgad cache clear"):
        run((sys.executable, "-c", program), code="SG505")
