"""The programs of docs/export.md do what the page says."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.codegen.export.building import run

PAGE = (Path(__file__).parent.parent.parent / "docs" / "export.md").read_text()


def block(language: str) -> str:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0]


def test_the_programs_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.py").write_text(block("python"))
    monkeypatch.chdir(tmp_path)
    exec(compile(block("python"), str(tmp_path / "model.py"), "exec"), {})
    for file, language, compiler in (("main.c", "c", "gcc"), ("main.cpp", "cpp", "g++")):
        Path(file).write_text(block(language))
        run(compiler, "-Wall", "-Werror", file, "-Icost", "-Lcost", "-lcost", "-Wl,-rpath,$ORIGIN/cost", "-o", "main")
        assert run(str(tmp_path / "main"), environment={}) == block("text")
    Path("CMakeLists.txt").write_text(block("cmake"))
    run("cmake", "-S", ".", "-B", "build")
    run("cmake", "--build", "build")
    assert run(str(tmp_path / "build" / "application"), environment={}) == block("text")
    for name in re.findall(r"`(cost_\w+)\(", PAGE):
        assert f"{name}(" in (tmp_path / "cost" / "cost.h").read_text()
