"""What was found on a device as a page of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from statistics import geometric_mean
from typing import Any


def page(found: Mapping[str, Any]) -> str:
    """Markdown: the device, results, tools, times."""
    return "\n".join([*_device(found), "", *_agreement(found["agreement"]), "", *_tools(found["sanitizer"]), "",
                      *_times(found["times"], found["preset"], found["bandwidth"]), ""])


def _device(found: Mapping[str, Any]) -> Iterator[str]:
    device, speed = found["device"], found["bandwidth"]
    yield f"# {device['name']}, capability {device['capability'] / 10}"
    yield ""
    yield "Copy bandwidth: " + ("not measured" if speed is None else f"{speed / 1e9:.0f} GB/s (read and written).")
    launch = found["launch_seconds"]
    yield "From one small kernel to the next: " + ("not measured" if launch is None else f"{1e6 * launch:.1f} us.")
    if found["left"]:
        yield f"The time was over with {len(found['left'])} parts not run; the same command goes on with them."


def _agreement(results: list[Mapping[str, Any]]) -> Iterator[str]:
    counts = Counter(one["status"] for one in results)
    yield "## Results against the processor"
    yield ""
    yield ", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "none was asked for"
    yield from (f"* {one['program']} ({one['mode']}): {one['status']} {_error(one)}" for one in results
                if one["status"] != "agrees")


def _error(one: Mapping[str, Any]) -> str:
    return str(one["said"]) if one["error"] is None else f"by {one['error']:.1e}"


def _tools(results: list[Mapping[str, str]]) -> Iterator[str]:
    yield "## compute-sanitizer"
    yield ""
    yield from (f"* {one['tool']}, {one['program']}: {one['status']}" for one in results)


def _times(results: list[Mapping[str, Any]], preset: str, bandwidth: float | None) -> Iterator[str]:
    yield f"## Times at preset {preset}, in milliseconds, arrays on the device"
    yield ""
    yield from _ahead(results)
    yield "| program | library | gradient | program itself | gradient / program | of copy bandwidth | first call | " \
          "kernels | on the device | |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
    for one in results:
        held = "" if one["device_bytes"] is None else f"{one['device_bytes'] / 1e6:.1f} MB"
        gradient, primal = one["gradient"], one["primal"]
        cells = (one["program"], one["engine"], _milliseconds(gradient), _milliseconds(primal),
                 f"{gradient / primal:.2f}" if gradient and primal else "", _share(one, bandwidth),
                 _milliseconds(one["first"]), "" if one["launches"] is None else str(one["launches"]), held,
                 one["said"])
        yield f"| {' | '.join(cells)} |"


def _ahead(results: list[Mapping[str, Any]]) -> Iterator[str]:
    """Against JAX, where both have a time."""
    seconds = {(one["engine"], one["program"]): one["gradient"] for one in results if one["gradient"]}
    times = {n: other / seconds["sdfgad", n] for (engine, n), other in seconds.items()
             if engine == "jax" and ("sdfgad", n) in seconds}
    if times:
        worst = min(times, key=lambda n: times[n])
        yield f"JAX takes {geometric_mean(times.values()):.2f} times as long in the geometric mean of {len(times)} " \
              f"programs; ahead in {sum(t > 1 for t in times.values())}, least in {worst}: {times[worst]:.2f}."
        yield ""


def _share(one: Mapping[str, Any], bandwidth: float | None) -> str:
    """Of the bandwidth of a copy, by the bytes that a plan says are moved."""
    moved, gradient = one["moved_bytes"], one["gradient"]
    return f"{moved / gradient / bandwidth:.0%}" if moved and gradient and bandwidth else ""


def _milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.3g}"
