"""A wrong rule in the registry is found by both commands, whatever the oracle."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from sdfgad.codegen.compiling.build import common_entries
from sdfgad.codegen.compiling.cache import lend

SUITES = Path(__file__).parent / "suites"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Of the processes here alone, but for the headers that all programs share."""
    folder = tmp_path_factory.mktemp("cache")
    lend(common_entries(), folder)
    return folder


@pytest.fixture
def command(tmp_path, cache):
    """The command as a user starts it; the wrong rule never comes near this process or the user's cache."""
    def call(*arguments):
        path = os.pathsep.join([str(SUITES), str(ROOT)])
        environment = os.environ | {"PYTHONPATH": path, "SDFGAD_CACHE_DIR": str(cache)}
        return subprocess.run([sys.executable, "-m", "sdfgad.cli", *arguments], cwd=tmp_path, env=environment,
                              capture_output=True, text=True, timeout=300)

    return call


def bench(command, *arguments):
    return command("bench", "--suite", "wrong_rule", "--threads", "1", "--repeat", "1", *arguments)


@pytest.mark.parametrize("against", ["none", pytest.param("jax", marks=pytest.mark.skipif(
    find_spec("jax") is None, reason="jax is not installed"))])
def test_bench_ends_with_5(command, tmp_path, against):
    """Beside it, a program that does not use the rule is accepted."""
    others = () if against == "none" and find_spec("jax") else ("jacobi_1d",)
    done = bench(command, "go_fast", *others, "--against", against, "--json", str(tmp_path / "r.json"))
    assert done.returncode == 5, done.stderr + done.stdout
    assert "go_fast: mismatch SG401" in done.stdout
    row, *accepted = json.loads((tmp_path / "r.json").read_text())["rows"]
    assert row["status"] == "mismatch" and 1e-5 < row["check"]["error"] < 1e-2
    assert row["ratios"]["speedup"] is None and [r["status"] for r in accepted] == ["ok"] * len(others)


@pytest.mark.parametrize("target", [f"{SUITES / 'wrong_rule.py'}:damped", "wrong_rule:damped"])
def test_check_ends_with_5(command, target):
    done = command("check", target)
    assert done.returncode == 5, done.stderr + done.stdout
    assert "bug" in done.stderr + done.stdout
