"""The doctor: every check passes, warns or fails with a fix, and none of them raises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sdfgad.codegen.compiling import blas
from sdfgad.commands import doctor


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SDFGAD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def check(name: str) -> doctor.Check:
    return next(doctor._guarded(n, run) for n, run in doctor.CHECKS if n == name)


def test_this_machine_can_compile_gradients() -> None:
    report = doctor.examine()
    assert report.ok, report
    assert [item.name for item in report.checks] == [name for name, _ in doctor.CHECKS]
    assert all(item.fix for item in report.checks if item.status != "pass")


def test_the_report_as_json(own_cache: Path) -> None:
    data = json.loads(json.dumps(doctor.Report((check("python"),), doctor._origins()).to_json()))
    assert data["schema"] == "sdfgad.doctor/1" and data["ok"]
    assert data["checks"][0]["status"] == "pass"
    assert data["settings"]["cache_dir"] == {"value": str(own_cache), "source": "environment SDFGAD_CACHE_DIR"}


def test_the_default_cache_folder_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SDFGAD_CACHE_DIR")
    assert doctor._origins()["cache_dir"].value.endswith("sdfgad")


def test_mpi_without_a_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which library mpi4py loads, or that it finds none."""
    pytest.importorskip("mpi4py")
    for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    found = check("mpi")
    assert found.status == "pass" and " with " in found.detail and "not started by mpiexec" in found.detail, found
    monkeypatch.setattr(doctor, "_MPI_LIBRARY", "raise RuntimeError('cannot load MPI library')")
    found = check("mpi")
    assert found.status == "warn" and "cannot load MPI library" in found.detail and "mpich" in found.fix


def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    for name in ("compiler", "openmp"):
        found = check(name)
        assert found.status == "fail" and "SG501" in found.detail and "install g++" in found.fix


def test_a_compiler_that_does_not_work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "fake-c++"
    fake.write_text("#!/bin/sh\nif [ \"$1\" = --version ]; then echo fake 1.0; else echo boom >&2; exit 3; fi\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    assert check("compiler").detail.startswith("fake 1.0") and "install g++" in check("compiler").fix
    assert "exit status 3" in check("openmp").detail


def test_a_compiler_that_is_too_old(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = tmp_path / "old-c++"
    fake.write_text("#!/bin/sh\nif [ \"$1\" = --version ]; then echo old 7.5; else\n"
                    "echo \"error: unrecognized command line option '-std=c++20'\" >&2; exit 1; fi\n")
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    found = check("compiler")
    assert (found.status, found.detail[:7]) == ("fail", "old 7.5") and "does not know C++20" in found.fix


def test_no_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "wheel_blas", lambda: None)
    monkeypatch.setattr(blas, "system_blas", lambda: None)
    found = check("blas")
    assert (found.status, found.fix[:11]) == ("fail", "pip install")


def test_a_cache_that_cannot_be_written(own_cache: Path) -> None:
    own_cache.write_text("a file")
    assert check("cache").status == "fail" and "SDFGAD_CACHE_DIR" in check("cache").fix


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    assert check("solver").status == "fail" and "highspy" in check("solver").fix
    monkeypatch.setattr(doctor.metadata, "version", lambda name: "1.0.2")
    assert check("dace").status == "fail" and "==2.0.0b1" in check("dace").fix


def test_nothing_but_data_on_stdout() -> None:
    """Through a pipe, as scripts read it: the newest solver says its name when it is made."""
    done = subprocess.run([sys.executable, "-m", "sdfgad", "doctor", "--json"], capture_output=True, text=True,
                          timeout=300)
    found = json.loads(done.stdout)
    assert found["ok"] and {"name": "solver", "status": "pass"}.items() <= {
        k: v for item in found["checks"] if item["name"] == "solver" for k, v in item.items()}.items()
    assert all(item["status"] == "pass" for item in found["checks"]), "nothing to install that is of no use here"
