"""The command: everything that can be said of a device at hand, in one go; each program in a process of its own.

A program that steps outside of its memory spoils its process, and no other one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from npbench_suite.device.agreement import Agreement, examined, subjects
from npbench_suite.device.page import page
from npbench_suite.device.times import ENGINES, DeviceTime, bandwidth, launch_seconds, time_of
from npbench_suite.kernel import load
from sdfgad.codegen.cuda.speeds import DeviceSpeeds, keep
from sdfgad.codegen.devices import find_device, find_nvcc
from sdfgad.errors import UsageError

NOT_RUN = "not run: no device"
SCHEMA = "sdfgad.gpu/1"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FOR_TOOLS = ("jacobi_2d", "nbody", "softmax", "trap:scatter_add", "trap:while_until")
"""Programs with what a tool may find: stencils, sums of blocks, atomic sums, tapes that grow."""
WORKER = (sys.executable, "-m", "npbench_suite.device", "--worker")
Run = Callable[[Sequence[str]], Any]
"""What a worker says to its arguments."""


def main(arguments: Sequence[str], run: Run | None = None) -> int:
    """0 when nothing was run, or everything agrees. run: in place of processes, for tests."""
    options = _parser().parse_args(arguments)
    if options.worker:
        click.echo(json.dumps(work(options.worker)))
        return 0
    try:
        device = {**vars(find_device()), "nvcc": find_nvcc()}
    except UsageError as error:
        click.echo(f"{NOT_RUN} ({error.message})")
        return 0
    found = measured(options, device, run or _in_process)
    remember(found)
    for file, text in ((options.json, json.dumps(found, indent=1)), (options.page, page(found))):
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(text)
    click.echo(page(found))
    return int(is_bad(found))


def measured(options: argparse.Namespace, device: dict[str, Any], run: Run) -> dict[str, Any]:
    """All of it, as it is written down."""
    chosen = options.programs or subjects()
    timed = [n for n in chosen if not n.startswith("trap:") and load(n).gradient != "none"]
    return {
        "schema": SCHEMA, "device": device, "preset": options.preset,
        "agreement": [one for n in chosen for one in run(("agreement", n))],
        "sanitizer": list(_sanitized(options.programs)),
        "bandwidth": run(("bandwidth", str(options.megabytes), str(options.budget))),
        "launch_seconds": run(("launch", str(options.budget))),
        "times": [run(("time", engine, n, options.preset, str(options.budget))) for n in timed for engine in ENGINES]}


def remember(found: dict[str, Any]) -> None:
    """What the planner reckons with from now on, where it was measured."""
    if found["bandwidth"] is not None and found["launch_seconds"] is not None:
        keep(DeviceSpeeds(bytes_per_second=found["bandwidth"], launch_seconds=found["launch_seconds"], measured=True,
                          device=found["device"]["name"]))


def is_bad(found: dict[str, Any]) -> bool:
    """Whether anything differs, has failed, or a tool has found something."""
    return any(one["status"] in ("differs", "failed") for one in found["agreement"]) or any(
        one["status"] == "found something" for one in found["sanitizer"])


def work(task: Sequence[str], **where: Any) -> Any:
    """What a worker does, as JSON takes it."""
    kind, *rest = task
    if kind == "agreement":
        return [asdict(one) for one in examined(rest[0], **where)]
    if kind == "bandwidth":
        return bandwidth(int(rest[0]), float(rest[1]), **where)
    if kind == "launch":
        return launch_seconds(float(rest[0]), **where)
    engine, program, preset, budget = rest
    return asdict(time_of(engine, program, preset, float(budget), **where))


def _in_process(task: Sequence[str]) -> Any:
    """The last line of a worker; what it has died of, where it has."""
    done = subprocess.run([*WORKER, *task], capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if not done.returncode and lines:
        return json.loads(lines[-1])
    said = f"exit status {done.returncode}: {(done.stderr.strip().splitlines() or [''])[-1]}"
    if task[0] == "agreement":
        return [asdict(Agreement(task[1], "both", "failed", said=said))]
    return None if task[0] in ("bandwidth", "launch") else asdict(DeviceTime(task[2], task[1], said=said))


def _sanitized(chosen: Sequence[str]) -> Iterator[dict[str, str]]:
    """What NVIDIA's tool says of some programs."""
    command = shutil.which("compute-sanitizer")
    if command is None:
        yield {"tool": "compute-sanitizer", "program": "all", "status": "not run: it is not installed"}
        return
    for tool in TOOLS:
        for program in chosen or FOR_TOOLS:
            done = subprocess.run([command, "--tool", tool, "--error-exitcode", "9", *WORKER, "agreement", program],
                                  capture_output=True, text=True, check=False)
            status = {0: "found nothing", 9: "found something"}.get(done.returncode, f"exit status {done.returncode}")
            yield {"tool": tool, "program": program, "status": status}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpu_check", description=__doc__)
    parser.add_argument("programs", nargs="*", help="of NPBench, or trap:NAME; all of them without any")
    parser.add_argument("--preset", default="paper", help="sizes that are timed: S, M, L, paper")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each time")
    parser.add_argument("--megabytes", type=int, default=1000, help="of the array that is copied")
    parser.add_argument("--json", default="results/gpu.json")
    parser.add_argument("--page", default="results/gpu.md")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    return parser
