"""The compiler that is found, commands that fail, and what of the machine belongs to a cache key."""

from __future__ import annotations

import os
import sys
from errno import ENOSPC
from pathlib import Path

import pytest

import sdfgad
from sdfgad import ToolchainError, __version__
from sdfgad.codegen.compiling import build
from sdfgad.codegen.compiling.blas import find_blas
from sdfgad.codegen.compiling.toolchain import (
    Compiler,
    accepts,
    cpu_model,
    environment,
    find_compiler,
    remember_compiler,
    run,
    vector_bytes,
)


def test_the_compiler_named_by_cxx_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "fake-c++"
    fake.write_text("#!/bin/sh\necho fake 1.0\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", f"{fake} -pipe")
    assert (find_compiler().path, find_compiler().version) == (str(fake), "fake 1.0")


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ToolchainError, match="SG501.*no-such-compiler"):
        find_compiler()


def test_what_a_compiler_has_made_is_good_without_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    with sdfgad.config(cache_dir=str(tmp_path / "cache")):
        environment.cache_clear()
        before = environment()
        (tmp_path / "cache").mkdir()
        monkeypatch.setenv("PATH", str(tmp_path))
        environment.cache_clear()
        with pytest.raises(ToolchainError, match="SG501"):
            environment()
        monkeypatch.undo()
        monkeypatch.delenv("CXX", raising=False)
        remember_compiler()
        monkeypatch.setenv("PATH", str(tmp_path))
        assert environment() == before
        monkeypatch.setenv("CXX", "no-such-compiler")
        environment.cache_clear()
        with pytest.raises(ToolchainError, match="SG501.*no-such-compiler"):
            environment()
    environment.cache_clear()


def test_a_failing_command_shows_what_it_printed() -> None:
    program = "import sys; print('out'); print('it broke', file=sys.stderr); sys.exit(3)"
    with pytest.raises(ToolchainError, match=r"SG505(.|\n)*exit status 3(.|\n)*it broke"):
        run((sys.executable, "-c", program), code="SG505")
    for told, advice in (("g++: error: unrecognized command line option '-std=c++20'", "does not know C"),
                         ("error: invalid value 'c++20' in '-std=c++20'", "does not know C"),
                         (os.strerror(ENOSPC), "no room is left"), ("error: expected -std=c++20", "of this test")):
        with pytest.raises(ToolchainError, match=advice):
            run((sys.executable, "-c", f"import sys; sys.exit({told!r})"), code="SG505", help="of this test")
    with pytest.raises(ToolchainError, match="cannot be run"):
        run(("/no/such/program",), code="SG501")


def test_the_environment_of_a_cache_key_runs_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "fake-c++"
    fake.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    environment.cache_clear()
    parts = environment()
    environment.cache_clear()
    assert parts == environment()
    assert {__version__, "2.0.0b1", cpu_model()} <= set(parts)
    fake.write_text("#!/bin/sh\n# another version\n")
    environment.cache_clear()
    assert parts != environment()
    environment.cache_clear()
    assert not (tmp_path / "ran").exists()


def test_flags_are_known_to_a_compiler_or_not() -> None:
    assert accepts(find_compiler(), ("-O2",))
    assert not accepts(find_compiler(), ("-fno-such-flag-at-all",))


def test_a_compiler_that_does_not_know_them_gets_no_flags_for_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "vector_bytes", lambda: 32)
    monkeypatch.setattr(build, "find_compiler", lambda: Compiler("/bin/false", "false 1.0"))
    assert build.flags() == build.FLAGS


def test_short_rows_are_copied_in_whole_vectors(tmp_path: Path) -> None:
    if vector_bytes() != 32 or build.flags() == build.FLAGS:
        pytest.skip("no vectors of 32 bytes, or a compiler that is not told how wide moves are")
    source, text = tmp_path / "copy.cpp", tmp_path / "copy.s"
    source.write_text("void use(double *, double *);"
                      "void copy() { double x[8], y[8];"
                      " use(x, y); for (int k = 0; k < 8; k++) y[k] = x[k]; use(x, y); }")
    run((find_compiler().path, *build.flags(), "-S", str(source), "-o", str(text)), code="SG505")
    assert "ymm" in text.read_text()
    assert "xmm" not in text.read_text()


@pytest.mark.skipif(" 12." not in find_compiler().version, reason="of g++ 12")
def test_headers_leave_little_to_compile(tmp_path: Path) -> None:
    """Templates that functions of headers call are made anew for every program: 560, with tapes and strings."""
    (source := tmp_path / "empty.cpp").touch()
    headers = [file for folder in build.common_entries() if (file := folder / "all.h").exists()]
    assert len(headers) == 3
    for header, blas in zip(headers, ((), (), find_blas().compile_flags())):
        how = (*build.flags(), *build.include_flags(), *blas, f"-fdump-tree-original={tmp_path / 'made'}")
        run((find_compiler().path, *how, "-include", str(header), "-c", str(source), "-o", str(tmp_path / "empty.o")),
            code="SG505")
        assert 5 < (tmp_path / "made").read_text().count(";; Function ") < 40
