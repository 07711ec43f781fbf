"""The command ``sdfgad``. Data goes to stdout, progress and errors to stderr; dace is loaded by commands that need it.

Exit codes: 0 ok, 1 internal error, 2 usage, 3 memory limit infeasible, 4 unsupported, 5 gradient mismatch, 6 toolchain.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click
from rich.console import Console
from rich.logging import RichHandler
from rich.table import Table

import sdfgad
from sdfgad.commands import examples
from sdfgad.commands.subject import Subject, load_subject, read_sizes
from sdfgad.config import settings
from sdfgad.errors import (
    GradientMismatchError,
    MemoryLimitError,
    PlanNotExecutable,
    SdfgadError,
    ToolchainError,
    UnsupportedError,
    UsageError,
)
from sdfgad.explanations import explain
from sdfgad.files import write_whole
from sdfgad.garbage import collecting_rarely
from sdfgad.memory import format_bytes, parse_bytes

_EXIT_CODES: tuple[tuple[type[SdfgadError], int], ...] = (
    (UsageError, 2), (MemoryLimitError, 3), (PlanNotExecutable, 3), (UnsupportedError, 4), (GradientMismatchError, 5),
    (ToolchainError, 6),
)
_STATUS_STYLES = (("pass", "green"), ("warn", "yellow"), ("fail", "red"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the console script: errors become one message and an exit code, an internal error a traceback."""
    try:
        with collecting_rarely():
            code = group.main(args=arguments, prog_name="sdfgad", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.Abort:
        click.echo("interrupted", err=True)
        code = 130
    except SdfgadError as error:
        click.echo(f"sdfgad.{type(error).__name__} {error}", err=True)
        code = exit_code(error)
    sys.exit(code if isinstance(code, int) else 0)


def exit_code(error: SdfgadError) -> int:
    """The exit code of a command that ends with ``error``."""
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 1)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(sdfgad.__version__, prog_name="sdfgad")
@click.option("-v", "--verbose", is_flag=True, help="Log what happens, to stderr.")
@click.option("-q", "--quiet", is_flag=True, help="Log errors only.")
@click.option("--no-color", is_flag=True, help="Plain text; NO_COLOR=1 does the same.")
def group(verbose: bool, quiet: bool, no_color: bool) -> None:
    """Gradients of ordinary NumPy programs, compiled, inside a memory limit.

    \b
    Example:
      sdfgad check model.py:cost
      sdfgad plan model.py:cost --memory-limit 4GB
    """
    if no_color:
        os.environ["NO_COLOR"] = "1"
    level = "info" if verbose else "error" if quiet else settings().log
    logger = logging.getLogger("sdfgad")
    logger.addHandler(RichHandler(console=Console(stderr=True), show_path=False, show_time=False))
    logger.setLevel(level.upper())


def _target_options(command: Any) -> Any:
    """The options that say what to differentiate, shared by the commands that take a TARGET."""
    for option in reversed((
        click.argument("target"),
        click.option("-s", "--size", "sizes", multiple=True, metavar="NAME=VALUE", help="Size for the example "
                     "arguments, e.g. -s N=512."),
        click.option("--preset", default="", help="Sizes of an npbench kernel: S, M, L or paper."),
        click.option("--args", "arguments", default="", metavar="MODULE:FUNCTION", help="Function that returns the "
                     "arguments; default: example_<name>() or example_arguments() beside the target."),
        click.option("--wrt", default="", metavar="NAMES", help="Arguments to differentiate, separated by commas."),
        click.option("--output", default="", metavar="NAME", help="Argument updated in place, or position of a "
                     "returned value."),
    )):
        command = option(command)
    return command


@group.command()
@_target_options
@click.option("--method", default="", help="taylor (default): how fast the remainder falls; or differences.")
@click.option("--json", "json_file", default="", metavar="FILE|-", help="Write the report as JSON; - is stdout.")
def check(
    target: str, sizes: tuple[str, ...], preset: str, arguments: str, wrt: str, output: str, method: str,
    json_file: str,
) -> None:
    """Compare the gradient of TARGET with the function as NumPy runs it; exit code 5 if it is wrong.

    TARGET is file.py:function, module:function or npbench:kernel. Each argument is moved along a random direction:
    the remainder of the first-order expansion must fall with rate 2. Slopes from the left and from the right tell a
    kink from a bug, and forward mode must agree with reverse mode. Outputs are weighted at random.

    \b
    Example:
      sdfgad check model.py:cost -s n=16
      sdfgad check npbench:jacobi_2d --json report.json
    """
    loaded = load_subject(target, sizes=read_sizes(sizes), arguments=arguments, preset=preset)
    options = _differentiation(loaded, wrt, output) | ({"method": method} if method else {})
    # The plain sum of a kernel's outputs would hide errors that cancel in it.
    options.pop("reduce", None)
    try:
        report = sdfgad.check_grads(loaded.program, *loaded.arguments, **options)
    except GradientMismatchError as error:
        if json_file and (found := getattr(error.report, "to_json", None)):
            _write(json_file, found())
        raise
    if loaded.ranks is not None and loaded.ranks.Get_rank():
        return
    if json_file:
        _write(json_file, report.to_json())
    if json_file != "-":
        click.echo(str(report))


@group.command()
@_target_options
@click.option("--memory-limit", default="", help='For example 4GB, 4GiB or 80%.')
@click.option("--device", default="", metavar="cpu|gpu", help="Where the gradient would run; a plan needs no device.")
@click.option("--json", "json_file", default="", metavar="FILE|-", help="Write the plan as JSON; - is stdout.")
@click.option("--html", "html_file", default="", metavar="FILE", help="Write one self-contained page.")
@click.option("--pareto", "points", is_flag=False, flag_value="12", default="", metavar="[N]",
              help="Report the whole front, at most N points (12): --pareto=N.")
@click.option("--ranks", default=0, metavar="N", help="Of a rank in the middle of N, over which TARGET is distributed.")
@click.option("--distribute", "cuts", multiple=True, metavar="NAME=FORMS", help="How an array is cut: u=block, "
              "u=block,- or u=replicated; without it the axis that costs least is cut.")
@click.option("--grid", default="", metavar="NxM", help="How many ranks in each direction: 8x8.")
@click.option("--store", "store", multiple=True, metavar="ARRAY", help="Store the old values of this array.")
@click.option("--recompute", multiple=True, metavar="ARRAY", help="Compute the values of this array again.")
@click.option("--snapshot", multiple=True, metavar="LOOP", help="Start this loop again from snapshots.")
@click.option("--measure", is_flag=True, help="Run the gradient and report what it took.")
@click.option("--save", "save_file", default="", metavar="FILE", help="Write the plan for grad(plan=...).")
@click.option("--plan", "plan_file", default="", metavar="FILE", help="Follow a saved plan, and say if it fits TARGET.")
@click.option("--passes", is_flag=True, help="Show the program behind every stage, and which passes changed it.")
def plan(
    target: str, sizes: tuple[str, ...], preset: str, arguments: str, wrt: str, output: str, json_file: str,
    html_file: str, points: str, measure: bool, save_file: str, plan_file: str, passes: bool, ranks: int,
    cuts: tuple[str, ...], grid: str, **choices: Any,
) -> None:
    """Show what the gradient of TARGET stores and recomputes, and its predicted peak memory.

    Nothing is compiled, and no array of the program's is made, unless --measure asks for a run. Exit code 3: the memory
    limit cannot be kept, or the saved plan is for another program.

    \b
    Example:
      sdfgad plan model.py:cost --memory-limit 4GB --json plan.json
      sdfgad plan npbench:cavity_flow --preset paper --pareto
      sdfgad plan npbench:jacobi_2d --ranks 64 --distribute A=block --distribute B=block
    """
    parse_bytes(choices["memory_limit"] or None)
    if points and not (points.isdecimal() and int(points)):
        raise UsageError(f"--pareto={points}: not a number of points", help="write --pareto=12")
    loaded = load_subject(target, sizes=read_sizes(sizes), arguments=arguments, preset=preset, data=measure)
    options = _differentiation(loaded, wrt, output) | {name: value for name, value in choices.items() if value}
    options |= _distribution(ranks, cuts, grid)
    if _plans_of_ranks(loaded, options):
        return
    if plan_file:
        options["plan"] = import_module("sdfgad.plans.plan").Plan.load(plan_file)
    made = _plan_of(loaded, options, int(points or 0), measure)
    if html_file:
        _write(html_file, made.to_html())
    for file in filter(None, (save_file, json_file)):
        _write(file, made.to_json())
    if json_file != "-":
        click.echo(str(made))
    if passes:
        pins = ("store", "recompute", "snapshot")  # what they decide stands in the plan
        again = sdfgad.grad(loaded.program, plan=made, **{n: v for n, v in options.items() if n not in (*pins, "plan")})
        click.echo("\n" + import_module("sdfgad.report.stages").stages_text(lambda: again.plan(*loaded.arguments)))


def _distribution(ranks: int, cuts: tuple[str, ...], grid: str) -> dict[str, Any]:
    """The options of a distributed program."""
    if not ranks:
        if cuts or grid:
            raise UsageError("--distribute and --grid say how ranks share the work", help="say how many: --ranks 64")
        return {}
    pairs = [cut.partition("=") for cut in cuts]
    if any(not name or not forms for name, _, forms in pairs):
        raise UsageError(f"--distribute {' '.join(cuts)}", help="write --distribute u=block or --distribute u=block,-")
    found = {name: forms if "," not in forms else tuple(None if f == "-" else f for f in forms.split(","))
             for name, _, forms in pairs}
    sides = grid.split("x") if grid else []
    if not all(side.isdecimal() for side in sides):
        raise UsageError(f"--grid {grid}", help="write --grid 8x8")
    return {"distribute": found or "auto", "comm": ranks} | ({"grid": tuple(map(int, sides))} if sides else {})


def _plans_of_ranks(loaded: Subject, options: dict[str, Any]) -> bool:
    """Whether several ranks are asked together: then the first one shows what all of them plan."""
    together = loaded.ranks
    if together is None or "comm" in options:
        return False
    found = sdfgad.grad(loaded.program, **options).plan_of_ranks(*loaded.arguments)
    if together.Get_rank() == 0:
        click.echo(str(found))
    return True


def _plan_of(loaded: Subject, options: dict[str, Any], points: int, measure: bool) -> Any:
    """A decorated target plans with its own options unless the command line gives some."""
    own = not options and hasattr(loaded.function, "plan")
    function: Any = loaded.function if own else sdfgad.grad(loaded.program, **options)
    made = function.measure(*loaded.arguments) if measure else function.plan(*loaded.arguments)
    return made.with_front(function.pareto(*loaded.arguments, points=points)) if points else made


@group.command()
@_target_options
@click.option("--folder", default="", metavar="DIR", help="Where the files go; default: the name of the library.")
@click.option("--name", default="", help="Name of the library and its functions; default: that of the function.")
@click.option("--memory-limit", default="", help="For example 4GB, 4GiB or 80%.")
@click.option("--portable", is_flag=False, flag_value="v3", default="", metavar="[v2|v3]",
              help="For every x86-64 processor of that level (v3), not for this one alone: --portable=v2.")
@click.option("--threads", type=int, help="The most threads of a call; default: what the settings say.")
@click.option("--plan", "plan_file", default="", metavar="FILE", help="Follow a saved plan.")
def export(
    target: str, sizes: tuple[str, ...], preset: str, arguments: str, wrt: str, output: str, folder: str, name: str,
    portable: str, plan_file: str, **choices: Any,
) -> None:
    """Write value and gradient of TARGET as a library in C that needs no Python.

    lib<name>.so, a header for C and C++, a package for CMake, plan.json, and examples in C, C++ and Fortran. It is for
    the shapes, dtypes and integers of the example arguments, which may be sdfgad.spec. It needs no other library than
    those of C, and OpenBLAS, which is put beside it, where the program multiplies or factorises matrices.

    \b
    Example:
      sdfgad export model.py:cost -s n=512 --memory-limit 4GB
      sdfgad export model.py:cost --folder lib --name cost512 --portable --threads 16
    """
    parse_bytes(choices["memory_limit"] or None)
    loaded = load_subject(target, sizes=read_sizes(sizes), arguments=arguments, preset=preset, data=False)
    options = _differentiation(loaded, wrt, output) | {n: value for n, value in choices.items() if value is not None}
    if plan_file:
        options["plan"] = import_module("sdfgad.plans.plan").Plan.load(plan_file)
    options["memory_limit"] = choices["memory_limit"] or None
    name = name or target.rpartition(":")[2]
    made = sdfgad.export(loaded.function, *loaded.arguments, folder=folder or name, name=name,
                         portable=portable or False, **options)
    click.echo(f"{made}: {', '.join(sorted(f.name for f in made.iterdir()))}")


def _differentiation(loaded: Subject, wrt: str, output: str) -> dict[str, Any]:
    """``wrt`` and ``output``: what the user asks for, else what the target says, else left to the library."""
    names = tuple(name.strip() for name in wrt.split(",") if name.strip()) or loaded.wrt
    asked: Any = int(output) if output.isdigit() else output or loaded.output
    # A kernel of the benchmark stands for the sum of its outputs.
    reduce = {"reduce": "sum"} if loaded.wrt is not None else {}
    return ({"wrt": names} if names else {}) | ({"output": asked} if asked is not None else {}) | reduce


def _write(file: str, text: str) -> None:
    """To stdout for ``-``, else to ``file``."""
    if file == "-":
        click.echo(text)
    else:
        write_whole(file, text)


class _Bench(click.Command):
    """``sdfgad bench`` hands its arguments to the benchmark suite, which is loaded only then."""

    def invoke(self, context: click.Context) -> Any:
        command = import_module("npbench_suite.harness.cli").bench
        return command.main(args=context.args, prog_name="sdfgad bench", standalone_mode=False)


group.add_command(_Bench(
    "bench", short_help="Gradients of the NPBench programs, checked and timed.", add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False},
))


@group.command()
@click.option("--json", "as_json", is_flag=True, help="Print only JSON.")
def doctor(as_json: bool) -> None:
    """Check compiler, BLAS, solver, cache and memory, and show the settings with their origin."""
    report = import_module("sdfgad.commands.doctor").examine()
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2))
    else:
        _print_report(report)
    sys.exit(0 if report.ok else 6)


def _print_report(report: Any) -> None:
    console = Console(highlight=False)
    table = Table("status", "check", "result", box=None, pad_edge=False)
    styles = dict(_STATUS_STYLES)
    for item in report.checks:
        text = f"{item.detail}\nfix: {item.fix}" if item.fix else item.detail
        table.add_row(f"[{styles[item.status]}]{item.status}[/]", item.name, _plain(text))
    console.print(table)
    origins = Table("setting", "value", "from", box=None, pad_edge=False)
    for name, origin in report.settings.items():
        origins.add_row(name, _plain(str(origin.value)), _plain(origin.source))
    console.print()
    console.print(origins)


def _plain(text: str) -> str:
    """Square brackets in a message are no markup."""
    return text.replace("[", r"\[")


@group.group()
def cache() -> None:
    """The compiled programs on disk."""


@cache.command("info")
@click.option("--json", "as_json", is_flag=True, help="Print only JSON.")
def cache_info(as_json: bool) -> None:
    """Folder, number of programs and size."""
    info = sdfgad.cache.info()
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(info) | {"path": str(info.path)}))
    else:
        click.echo(f"{info.path}: {info.entries} entries, {format_bytes(info.bytes)}")


@cache.command("clear")
def cache_clear() -> None:
    """Remove all compiled programs."""
    removed = sdfgad.cache.clear()
    click.echo(f"removed {removed.entries} entries, {format_bytes(removed.bytes)}")


@cache.command("path")
def cache_path() -> None:
    """Print the folder."""
    click.echo(sdfgad.cache.path)


@group.command("examples")
@click.argument("name", default="")
@click.option("--copy", is_flag=True, help="Write the program to a file of its name in this folder.")
def show_examples(name: str, copy: bool) -> None:
    """Programs that somebody has as a problem: list them, or print the one called NAME.

    \b
    Example:
      sdfgad examples
      sdfgad examples neural_network --copy
    """
    if not name and not copy:
        width = max(map(len, examples.names()))
        for program in examples.names():
            click.echo(f"{program:<{width}} {examples.title(program)}")
        return
    text = examples.text(name)
    if not copy:
        click.echo(text, nl=False)
        return
    if os.path.exists(file := f"{name}.py"):
        raise UsageError(f"there is a file {file} already", help="copy it into another folder")
    write_whole(file, text)
    click.echo(f"{file}; run it with: python {file}", err=True)


@group.command("explain")
@click.argument("code")
def explain_code(code: str) -> None:
    """Say what an error CODE such as SG121 means, with an example and how it is written instead."""
    click.echo(explain(code))


if __name__ == "__main__":
    main()
