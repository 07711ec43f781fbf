"""What it costs to compile gradients: ``python -m npbench_suite.applications [NAMES]``.

Prints CPU seconds of all processes together, with nothing in the cache but the common headers. A name is an
application, `NAME:SIZE`, or a generated program as in `mixed:250`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

import click
import numpy as np

import sdfgad
from npbench_suite.applications import generated, load, names
from sdfgad.calls.arguments import bind
from sdfgad.verbs.pipeline import Request, derive

GENERATED = tuple(f"{style}:{count}" for style in generated.STYLES for count in (30, 60, 120, 250, 500, 1000))
LONGEST = 3600


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("programs", nargs=-1)
@click.option("--generated", "also", is_flag=True, help="Generated programs of 30 to 1000 statements as well.")
@click.option("--here", is_flag=True, hidden=True)
def main(programs: tuple[str, ...], also: bool, here: bool) -> None:
    """Compile gradients (of all applications, or of PROGRAMS), each in a process and a cache of its own."""
    if here:
        click.echo(_one(programs[0]))
        return
    click.echo(f"{'program':20} {'derive':>8} {'generate':>8} {'compile':>8} {'whole process':>14}")
    for program in programs or (*names(), *(GENERATED if also else ())):
        click.echo(_apart(program))


def _apart(program: str) -> str:
    """The line of a program, compiled by another process."""
    with tempfile.TemporaryDirectory(prefix="sdfgad-compile-") as folder:
        command = [sys.executable, "-m", "npbench_suite.applications", "--here"]
        environment = {**os.environ, "SDFGAD_CACHE_DIR": folder}
        subprocess.run([*command, "headers"], env=environment, check=True, capture_output=True)
        before = _seconds(RUSAGE_CHILDREN)
        try:
            done = subprocess.run([*command, program], env=environment, check=False, capture_output=True, text=True,
                                  timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return f"{program:20} stopped after {LONGEST} s"
        if done.returncode:
            return f"{program:20} failed: {done.stderr.splitlines()[-1]}"
        return f"{done.stdout.splitlines()[-1]} {_seconds(RUSAGE_CHILDREN) - before:14.1f}"


def _one(program: str) -> str:
    """CPU seconds of the stages, in this process and the compilers that it starts."""
    name, _, size = program.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        if name == "headers":
            sdfgad.grad(_square)(np.ones(3))
            return ""
        if name in generated.STYLES:
            function, arguments = generated.program(name, int(size), Path(folder)), generated.arguments()
            wrt = tuple(n for n in arguments if n.startswith("q"))
        else:
            application = load(name)
            function, arguments, wrt = application.program, application.at(size or "usual"), application.wrt
        began = _seconds(RUSAGE_SELF)
        made = derive(function, bind(function, (), arguments), Request(wrt, None, "sum"))
        derived = _seconds(RUSAGE_SELF)
        made.compiled()
    generate = _seconds(RUSAGE_SELF) - derived
    return f"{program:20} {derived - began:8.1f} {generate:8.1f} {_seconds(RUSAGE_CHILDREN):8.1f}"


def _square(x):
    return np.sum(x * x)


def _seconds(whose: int) -> float:
    used = getrusage(whose)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
