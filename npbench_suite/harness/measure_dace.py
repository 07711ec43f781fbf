"""DaCe's own reverse mode on the same program, where it takes it; any error here counts as a refusal."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dace
import numpy as np
from dace.autodiff import add_backward_pass

from npbench_suite.harness.case import copies, is_single, kernel_of, preset_arguments
from npbench_suite.harness.job import Job, Run
from npbench_suite.harness.objective import SINGLE, save_gradients
from npbench_suite.harness.stopwatch import first_call, repeated

SCALAR = "bench_objective"


def measure(job: Job) -> Iterator[Run]:
    """Build time and gradient time of ``add_backward_pass`` on the sum of the kernel's outputs."""
    kernel = kernel_of(job)
    arguments = preset_arguments(job, kernel)
    passed = {name: value for name, value in arguments.items() if not is_size(value)} | {SCALAR: np.zeros(1)}
    seconds, call = first_call(lambda: built(kernel, arguments))
    once = fresh(passed, kernel.wrt)
    call(once)
    run = Run.of(job)
    if job.gradients:
        objective = SINGLE if is_single(arguments) else "sum"
        save_gradients(job.gradients, {objective: {name: once[f"gradient_{name}"] for name in kernel.wrt}})
        run = replace(run, gradients=job.gradients)
    yield run
    times = repeated(call, job.repeat, job.budget, lambda: (fresh(passed, kernel.wrt),))
    yield run.with_times("gradient", seconds, times)


def is_size(value: Any) -> bool:
    """Integers become constants of the program: they decide shapes and trip counts."""
    return isinstance(value, numbers.Integral | str | None)


def built(kernel: Any, arguments: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Any]:
    """The compiled gradient as a function of its arrays by name."""
    # Annotated like this, sizes are constants of the graph.
    kernel.program.__annotations__.update({name: dace.compiletime for name in arguments if is_size(arguments[name])})
    graph = dace.program(kernel.program).to_sdfg(*arguments.values(), simplify=True)
    outputs = kernel.output if isinstance(kernel.output, tuple) else (kernel.output,)
    add_total(graph, [container(output) for output in outputs])
    add_backward_pass(graph, outputs=[SCALAR], inputs=list(kernel.wrt))
    compiled, known = graph.compile(), set(graph.arglist())
    return lambda values: compiled(**{name: value for name, value in values.items() if name in known})


def container(output: Any) -> str:
    """What DaCe calls an output."""
    if output is None:
        return "__return"
    return output if isinstance(output, str) else f"__return_{output}"


def add_total(graph: Any, outputs: Sequence[str]) -> None:
    """Append SCALAR[0] = sum of all elements of all outputs: a gradient starts from one number."""
    graph.add_array(SCALAR, [1], dace.float64)
    ends = [block for block in graph.nodes() if graph.out_degree(block) == 0]
    parts = []
    for number, output in enumerate(outputs):
        part = SCALAR if len(outputs) == 1 else graph.add_transient(f"bench_part{number}", [1], dace.float64)[0]
        ends = [_sum_state(graph, ends, output, part)]
        parts.append(part)
    if len(parts) > 1:
        _add_state(graph, ends, parts)


def _sum_state(graph: Any, before: Sequence[Any], array: str, total: str) -> Any:
    state = _follow(graph, before, f"sum_{array}")
    reduction = state.add_reduce("lambda a, b: a + b", None, 0)
    state.add_nedge(state.add_read(array), reduction, dace.Memlet.from_array(array, graph.arrays[array]))
    state.add_nedge(reduction, state.add_write(total), dace.Memlet(f"{total}[0]"))
    return state


def _add_state(graph: Any, before: Sequence[Any], parts: Sequence[str]) -> None:
    state = _follow(graph, before, "add_totals")
    names = [f"part{number}" for number in range(len(parts))]
    tasklet = state.add_tasklet("add_totals", names, ["total"], f"total = {' + '.join(names)}")
    for name, part in zip(names, parts, strict=True):
        state.add_edge(state.add_read(part), None, tasklet, name, dace.Memlet(f"{part}[0]"))
    state.add_edge(tasklet, "total", state.add_write(SCALAR), None, dace.Memlet(f"{SCALAR}[0]"))


def _follow(graph: Any, before: Sequence[Any], label: str) -> Any:
    state = graph.add_state(label)
    for block in before:
        graph.add_edge(block, state, dace.InterstateEdge())
    return state


def fresh(passed: Mapping[str, Any], wrt: tuple[str, ...]) -> dict[str, Any]:
    """Arguments of one call: copies, zero gradients to accumulate into, and the seed."""
    gradients = {f"gradient_{name}": np.zeros_like(passed[name]) for name in wrt}
    return copies(passed) | gradients | {f"gradient_{SCALAR}": np.ones(1)}
