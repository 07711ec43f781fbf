"""The command: everything that can be said of a device at hand, in one go, within a time limit.

What was found is written down after each part. A command that is given again goes on where the one before has ended.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import sdfgad
from npbench_suite.device.agreement import examined, subjects
from npbench_suite.device.page import page
from npbench_suite.device.times import ENGINES, bandwidth, launch_seconds, time_of
from npbench_suite.device.workers import WORKER, Clock, Run, Stage, Task, answers, ended, in_process
from npbench_suite.kernel import load
from sdfgad.codegen.cuda.speeds import DeviceSpeeds, keep
from sdfgad.codegen.devices import find_device, find_nvcc
from sdfgad.errors import UsageError

NOT_RUN = "not run: no device"
SCHEMA = "sdfgad.gpu/2"
TOOL = "compute-sanitizer"
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FOR_TOOLS = ("jacobi_2d", "nbody", "softmax", "trap:scatter_add", "trap:while_until")
"""Programs with what a tool may find: stencils, sums of blocks, atomic sums, tapes that grow."""
COMPILED = ("sdfgad", "jax")
"""Libraries that keep what they compile."""
SECONDS = {"bandwidth": 60.0, "launch": 60.0, "agreement": 150.0, "ready": 150.0, "sdfgad": 60.0, "jax": 60.0,
           "cupy": 20.0, "tool": 60.0}
"""The most that a part of each kind takes. NumPy programs of many small steps take CuPy minutes."""


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
    found = measured(options, device, run or whatever)
    click.echo(page(found))
    return int(is_bad(found))


def measured(options: argparse.Namespace, device: dict[str, Any], run: Run) -> dict[str, Any]:
    """All of it, as it is written down."""
    known = {"schema": SCHEMA, "device": device, "preset": options.preset, "version": version()}
    done = {} if options.fresh else _done(Path(options.json), known)
    clock = Clock(time.monotonic() + 60 * options.minutes)
    chosen, found = stages(options), sections(known, done, ())
    every = [task for stage in chosen for task in stage.tasks if stage.kept]
    for stage in chosen:
        for task, said in answers(_without(stage, done), clock, run):
            if said is not None and stage.kept:
                done[task] = said
            found = sections(known, done, [t for t in every if t not in done])
            _write(options, found)
        if stage.tasks and stage.tasks[0][0] == "launch":
            remember(found)
    return found


def stages(options: argparse.Namespace) -> list[Stage]:
    """What is to be done, in this order: what comes first is worth most where time is short. Programs are compiled many
    at once, and timed one by one."""
    chosen = options.programs or subjects()
    timed = [n for n in chosen if not n.startswith("trap:") and load(n).gradient != "none"]
    times = {e: tuple(("time", e, n, options.preset, str(options.budget)) for n in timed) for e in ENGINES}
    stages = [Stage((("bandwidth", str(options.megabytes), str(options.budget)),), SECONDS["bandwidth"]),
              Stage((("launch", str(options.budget)),), SECONDS["launch"]),
              Stage(tuple(("agreement", n) for n in chosen), SECONDS["agreement"], options.jobs)]
    for engine, tasks in times.items():
        if engine in COMPILED:
            stages.append(Stage(tuple((*task[:-1], "0") for task in tasks), SECONDS["ready"], options.jobs, kept=False))
        stages.append(Stage(tasks, SECONDS[engine]))
    tools = tuple(("tool", tool, n) for tool in TOOLS for n in options.programs or FOR_TOOLS)
    return [*stages, Stage(tools if shutil.which(TOOL) else (("tool", TOOL, "all"),), SECONDS["tool"])]


def _without(stage: Stage, done: Mapping[Task, Any]) -> Stage:
    """A stage without the parts that are done. What makes programs ready for parts that are done is no use, either."""
    known = {task[:-1] for task in done} if not stage.kept else set()
    left = tuple(t for t in stage.tasks if t not in done and t[:-1] not in known)
    return Stage(left, stage.seconds, stage.jobs, stage.kept)


def sections(known: Mapping[str, Any], done: Mapping[Task, Any], left: Iterable[Task]) -> dict[str, Any]:
    """What was said so far, by what it is about. left: parts that were not run."""
    of = {kind: [said for task, said in done.items() if task[0] == kind]
          for kind in ("bandwidth", "launch", "agreement", "tool", "time")}
    numbers = {kind: next((s for s in of[kind] if isinstance(s, float)), None) for kind in ("bandwidth", "launch")}
    return {**known, "agreement": [one for said in of["agreement"] for one in said], "sanitizer": of["tool"],
            "bandwidth": numbers["bandwidth"], "launch_seconds": numbers["launch"], "times": of["time"],
            "left": [" ".join(task) for task in left], "done": [[list(task), said] for task, said in done.items()]}


def version() -> str:
    """Of the sources: what was found with others is not gone on with."""
    folders = (Path(sdfgad.__file__).parent, Path(__file__).parents[1])
    files = sorted(f for folder in folders for f in folder.rglob("*") if f.suffix in (".py", ".h", ".json"))
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()[:16]


def _done(file: Path, known: Mapping[str, Any]) -> dict[Task, Any]:
    """What a command before has found on the same device with the same sources."""
    try:
        before = json.loads(file.read_text())
        same = all(before[n] == value for n, value in known.items())
        return {tuple(task): said for task, said in before["done"]} if same else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _write(options: argparse.Namespace, found: dict[str, Any]) -> None:
    """Whole files at any time."""
    for file, text in ((Path(options.json), json.dumps(found, indent=1)), (Path(options.page), page(found))):
        file.parent.mkdir(parents=True, exist_ok=True)
        (new := file.with_name(f"{file.name}.new")).write_text(text)
        os.replace(new, file)


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


def whatever(task: Task, seconds: float) -> Any:
    """What becomes of a part."""
    return _by_tool(task[1], task[2], seconds) if task[0] == "tool" else in_process(task, seconds)


def _by_tool(tool: str, program: str, seconds: float) -> dict[str, str]:
    """What a tool of NVIDIA's says of a program."""
    command = shutil.which(TOOL)
    if command is None:
        return {"tool": tool, "program": program, "status": "not run: it is not installed"}
    found, _, _ = ended((command, "--tool", tool, "--error-exitcode", "9", *WORKER, "agreement", program), seconds)
    said = {0: "found nothing", 9: "found something", None: f"took more than {seconds:.0f} s"}
    return {"tool": tool, "program": program, "status": said.get(found, f"exit status {found}")}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpu_check", description=__doc__)
    parser.add_argument("programs", nargs="*", help="of NPBench, or trap:NAME; all of them without any")
    parser.add_argument("--preset", default="paper", help="sizes that are timed: S, M, L, paper")
    parser.add_argument("--budget", type=float, default=0.3, help="seconds for each time")
    parser.add_argument("--megabytes", type=int, default=1000, help="of the array that is copied")
    parser.add_argument("--minutes", type=float, default=9.0, help="for everything; the rest is left")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="programs that are compiled at once")
    parser.add_argument("--fresh", action="store_true", help="begin anew, whatever there is of a command before")
    parser.add_argument("--json", default="results/gpu.json")
    parser.add_argument("--page", default="results/gpu.md")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    return parser
