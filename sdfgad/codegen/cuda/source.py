"""The text of a program for the CUDA compiler: DaCe's code, and the entry points of all programs."""
from __future__ import annotations

from collections.abc import Mapping

from sdfgad.codegen.build import FIRST_FAILURE
from sdfgad.codegen.cpp import container, ctype
from sdfgad.codegen.cuda.graph import TAPES, GraphBuilder, graph_of
from sdfgad.codegen.cuda.library_text import LIBRARIES
from sdfgad.codegen.cuda.schedule import ASKED, NUMBER, DeviceProgram
from sdfgad.codegen.cuda.work import questions
from sdfgad.codegen.dace_text import device_text
from sdfgad.errors import InvariantError
from sdfgad.ir.walk import all_writes

_ENTRY = """
struct sg_Handle {{
    {name}_state_t *state;
    const char *said = "";
    std::string told;
    int64_t tape_peak = 0, tape_needed = 0;
}};
extern "C" void sg_attach(const void *) {{}}
extern "C" void *sg_open() {{ return new sg_Handle{{__dace_init_{name}()}}; }}
extern "C" void sg_close(void *handle) {{
    sg_Handle *own = static_cast<sg_Handle *>(handle);
    if (own->state) __dace_exit_{name}(own->state);
    delete own;
}}
extern "C" int sg_call(void *handle, void **args, int, int64_t limit) {{
    sg_Handle &own = *static_cast<sg_Handle *>(handle);
    args[{room} + 2] = nullptr;
    int status = 0;
    (void)limit;
    try {{
        if (!own.state) throw sg::DeviceError{{cudaErrorNoDevice}};
        sg::Room room({bytes});
        {to_device}
        {begin}
        try {{
            __program_{name}(own.state{arguments});
        }} catch (const sg::Failed &failed) {{
            status = {first_failure} + failed.which;
        }} catch (const sg::Overflow &) {{
            status = 1;
        }} catch (const sg::Singular &) {{
            status = 2;
        }} catch (const sg::Unconverged &) {{
            status = 5;
        }}
        {end}
        sg::must(cudaDeviceSynchronize());
        sg::must(cudaError_t(__dace_gpu_last_error(own.state)));
        {to_host}
    }} catch (const std::bad_alloc &) {{
        status = 3;
    }} catch (const sg::DeviceError &error) {{
        status = 6;
        own.said = cudaGetErrorString(error.what);
        (void)cudaGetLastError();
    }} catch (const sg::Refused &error) {{
        status = 6;
        own.said = (own.told = error.what).c_str();
    }} catch (const sg::Missing &error) {{
        status = 7;
        own.said = (own.told = error.what).c_str();
    }}
    return status;
}}
extern "C" int64_t sg_tape_peak(void *handle) {{ return static_cast<sg_Handle *>(handle)->tape_peak; }}
extern "C" int64_t sg_tape_needed(void *handle) {{ return static_cast<sg_Handle *>(handle)->tape_needed; }}
extern "C" int64_t sg_peak_bytes(void *handle) {{ return {own} + sg_tape_peak(handle){beside}; }}
extern "C" const char *sg_damaged(void *handle) {{ return static_cast<sg_Handle *>(handle)->said; }}
"""


def source(made: DeviceProgram, results: tuple[str, ...]) -> str:
    """Everything the compiler needs, in one text."""
    graph = graph_of(made)
    return device_text(graph.sdfg) + _entry(made, graph, results)


def _entry(made: DeviceProgram, graph: GraphBuilder, results: tuple[str, ...]) -> str:
    passed = made.passed(results)
    places, own, total = _places(made, graph, passed)
    names = {container(n): n for n in graph.arrays}
    program = made.program
    written = all_writes(program.body)
    given = [n for n in passed if n in program.arguments or n in program.constants]
    wanted = [n for n in passed if n in results or n in program.arguments and n in written]
    tapes = f"own.state->{TAPES}"
    bytes = {n: graph.arrays[n].bytes for n in passed}
    into = [f"sg::must(cudaMemcpy(room.at<char>({places[n]}), args[{passed.index(n)}], {bytes[n]}, "
            "cudaMemcpyHostToDevice));" for n in given if bytes[n]]
    out = [f"sg::must(cudaMemcpy(args[{passed.index(n)}], room.at<char>({places[n]}), {bytes[n]}, "
           "cudaMemcpyDeviceToHost));" for n in wanted if bytes[n]]
    arguments = "".join(f", room.at<{ctype(graph.arrays[names[n]].dtype)}>({places[names[n]]})"
                        for n in graph.sdfg.arglist())
    beside = "" if LIBRARIES in graph.members else \
        f" + static_cast<sg_Handle *>(handle)->state->{LIBRARIES}.peak"
    return _ENTRY.format(name=graph.sdfg.name, room=len(passed), bytes=total, own=own, beside=beside,
                         arguments=arguments, first_failure=FIRST_FAILURE,
                         begin=f"{tapes}.peak = 0, {tapes}.clear(limit);" if made.tapes else "",
                         end=f"own.tape_peak = {tapes}.peak, own.tape_needed = {tapes}.needed, {tapes}.clear(0);"
                         if made.tapes else "", to_device="\n        ".join(into), to_host="\n        ".join(out))


def _places(made: DeviceProgram, graph: GraphBuilder, passed: tuple[str, ...]) -> tuple[Mapping[str, int], int, int]:
    """Where each array starts in the block of a call, the bytes beyond those of what is passed, and all bytes."""
    arena, beside = made.arena(passed), made.beside(passed)
    asked = [n for n in graph.arrays if n not in made.arrays]
    if len(asked) > questions(made.items):
        raise InvariantError("the host asks for more numbers than there is room for")
    places = {**arena.offsets, **{n: arena.bytes + at for n, at in beside.offsets.items()}}
    places |= {n: places[ASKED] + NUMBER * k for k, n in enumerate(asked)}
    return places, made.taken(passed), arena.bytes + beside.bytes
