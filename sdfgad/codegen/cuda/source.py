"""The text of a program for the CUDA compiler: DaCe's code, and the entry points of all programs."""
from __future__ import annotations

import re
from collections.abc import Mapping

from sdfgad.codegen.compiling.build import FIRST_FAILURE
from sdfgad.codegen.cpp import container, ctype
from sdfgad.codegen.cuda.graph import TAPES, GraphBuilder, graph_of
from sdfgad.codegen.cuda.library_text import LIBRARIES, SNAPSHOTS
from sdfgad.codegen.cuda.schedule import ASKED, NUMBER, DeviceProgram
from sdfgad.codegen.cuda.text import JOINS, WAIT_FOR_ALL
from sdfgad.codegen.cuda.work import BLOCK, questions
from sdfgad.codegen.dace_text import Change, device_text
from sdfgad.errors import InvariantError
from sdfgad.ir.walk import all_writes

_ENTRY = """
struct sg_Handle {{
    {name}_state_t *state;
    const char *said = "";
    std::string told;
    int64_t tape_peak = 0, tape_needed = 0, copied = 0;
}};
extern "C" void sg_attach(const void *) {{}}
extern "C" void *sg_open() {{ return new sg_Handle{{__dace_init_{name}()}}; }}
extern "C" void sg_close(void *handle) {{
    sg_Handle *own = static_cast<sg_Handle *>(handle);
    if (own->state) __dace_exit_{name}(own->state);
    delete own;
}}
static int sg_run(sg_Handle &own, void **args, const sg::Given &given, int device, int64_t limit) {{
    args[{room} + 2] = nullptr;
    int status = 0;
    (void)limit;
    try {{
        if (!own.state) throw sg::DeviceError{{cudaErrorNoDevice}};
        const sg::OnDevice there(device);
        own.state->gpu_context->begin(given.stream);
        {limited}
        sg::Room room(given.there ? {least} : {bytes}, given);
        {places}
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
        {finish}
        if (!given.there) {{
            {to_host}
            sg::must(cudaStreamSynchronize(given.stream));
        }}
        sg::must(cudaError_t(__dace_gpu_last_error(own.state)));
        own.copied = room.copied{spilled};
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
    }} catch (const sg::Crowded &error) {{
        status = 8;
        own.said = (own.told = error.what).c_str();
    }}
    return status;
}}
extern "C" int sg_call(void *handle, void **args, int, int64_t limit) {{
    return sg_run(*static_cast<sg_Handle *>(handle), args, {{nullptr, nullptr}}, -1, limit);
}}
extern "C" int sg_call_there(void *handle, void **args, const char *there, void *stream, int device, int64_t limit) {{
    return sg_run(*static_cast<sg_Handle *>(handle), args, {{there, cudaStream_t(stream)}}, device, limit);
}}
extern "C" int sg_taken(void **place, int64_t bytes, void *stream, int device) {{
    return sg::on_device(device, [=] {{ return cudaMallocAsync(place, bytes ? bytes : 1, cudaStream_t(stream)); }});
}}
extern "C" void sg_given_back(void *place, void *stream, int device) {{
    sg::on_device(device, [=] {{ return sg::given_back(place, cudaStream_t(stream)); }});
}}
extern "C" int sg_copied(void *to, const void *from, int64_t bytes, void *stream, int device) {{
    return sg::on_device(device, [=] {{
        return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, cudaStream_t(stream));
    }});
}}
extern "C" int sg_fetched(void *to, const void *from, int64_t bytes, void *stream, int device) {{
    return sg::on_device(device, [=] {{
        return sg::moved(to, from, bytes, cudaMemcpyDeviceToHost, cudaStream_t(stream));
    }});
}}
extern "C" int sg_sent(void *to, const void *from, int64_t bytes, void *stream, int device) {{
    return sg::on_device(device, [=] {{
        return sg::moved(to, from, bytes, cudaMemcpyHostToDevice, cudaStream_t(stream));
    }});
}}
extern "C" int sg_cleared(void *place, int64_t bytes, void *stream, int device) {{
    return sg::on_device(device, [=] {{ return cudaMemsetAsync(place, 0, bytes, cudaStream_t(stream)); }});
}}
extern "C" int sg_after(void *stream, void *other, int device) {{
    return sg::on_device(device, [=] {{ return sg::after(cudaStream_t(stream), cudaStream_t(other)); }});
}}
extern "C" void *sg_mark(void *stream, int device) {{
    void *found = nullptr;
    sg::on_device(device, [&] {{ return found = sg::mark(cudaStream_t(stream)), cudaSuccess; }});
    return found;
}}
extern "C" int sg_passed(void *mark, int wait) {{ return sg::passed(mark, wait); }}
extern "C" int sg_device_of(const void *place) {{ return sg::device_of(place); }}
extern "C" const char *sg_error(int status) {{ return cudaGetErrorString(cudaError_t(status)); }}
extern "C" int64_t sg_launches(void *handle) {{
    return static_cast<sg_Handle *>(handle)->state->gpu_context->launches;
}}
extern "C" int64_t sg_copied_bytes(void *handle) {{ return static_cast<sg_Handle *>(handle)->copied; }}
extern "C" int64_t sg_tape_peak(void *handle) {{ return static_cast<sg_Handle *>(handle)->tape_peak; }}
extern "C" int64_t sg_tape_needed(void *handle) {{ return static_cast<sg_Handle *>(handle)->tape_needed; }}
extern "C" int64_t sg_peak_bytes(void *handle) {{ return {own} + sg_tape_peak(handle){beside}; }}
extern "C" const char *sg_damaged(void *handle) {{ return static_cast<sg_Handle *>(handle)->said; }}
"""
_CALLS_LIBRARIES = """extern "C" int sg_calls_libraries() { return 1; }
"""
"""In programs that call some of NVIDIA's."""
_HEADER = '#include "sdfgad_gpu.h"'
_TOGETHER = '#include "sdfgad_gpu_together.h"'
_SORT = """
__global__ void __launch_bounds__({block}) sg_sort_step(int64_t *pairs, int64_t count, int64_t run, int64_t gap) {{
    const int64_t at = int64_t(blockIdx.x) * {block} + threadIdx.x;
    if (at < count / 2) sg::sort_step(pairs, count, run, gap, at);
}}
"""
_SUM = """
__global__ void __launch_bounds__({block}) sg_add_{number}({kind} *target, const int64_t *pairs, const {kind} *terms,
                                                           int64_t count, int64_t none) {{
    const int64_t at = int64_t(blockIdx.x) * {block} + threadIdx.x;
    if (at < count) sg::add_run<sg::{how}<{kind}>>(target, pairs, terms, count, none, at);
}}
static void sg_sum_{number}(dace::cuda::Context *context, void *target, void *pairs, void *terms) {{
    sg::sum_in_order<{block}>(context, (void *)sg_sort_step, (void *)sg_add_{number}, target, pairs, terms, {count},
                              {none});
}}
"""


def source(made: DeviceProgram, results: tuple[str, ...]) -> str:
    """Everything the compiler needs, in one text."""
    graph = graph_of(made)
    text = device_text(graph.sdfg)
    if graph.sums:
        sums = Change(f"^{re.escape(_HEADER)}$", rf"\g<0>\n{_sums(graph)}", "what sorts is started by the text below")
        text = sums.made(text)
    if WAIT_FOR_ALL in text:
        text = Change(f"^{re.escape(_HEADER)}$", rf"\g<0>\n{_TOGETHER}", "blocks wait for each other below").made(text)
    return text + _entry(made, graph, results)


def _sums(graph: GraphBuilder) -> str:
    """What sorts, and for each kind of sum what adds up and who starts both."""
    kinds = [_SUM.format(number=number, kind=ctype(dtype), how=JOINS[op], count=count, none=size, block=BLOCK)
             for (op, dtype, count, size), number in graph.sums.items()]
    return "".join([_SORT.format(block=BLOCK), *kinds])


def _entry(made: DeviceProgram, graph: GraphBuilder, results: tuple[str, ...]) -> str:
    passed = made.passed(results)
    offsets, own, total = _offsets(made, graph, passed)
    names = {container(n): n for n in graph.arrays}
    program = made.program
    written = all_writes(program.body)
    given = [n for n in passed if n in program.arguments or n in program.constants]
    wanted = [n for n in passed if n in results or n in program.arguments and n in written]
    tapes = f"own.state->{TAPES}"
    bytes = {n: graph.arrays[n].bytes for n in passed}
    at = {n: k for k, n in enumerate(passed)}
    into = [f"room.bring(at{at[n]}, args, {at[n]}, {bytes[n]});" for n in given if bytes[n]]
    out = [f"room.take(args, at{at[n]}, {at[n]}, {bytes[n]});" for n in wanted if bytes[n]]
    places = [f"char *const at{k} = room.place(args, {k}, {offsets[n]});" for n, k in at.items()]
    arguments = "".join(f", {_pointer(names[n], graph, offsets, at)}" for n in graph.sdfg.arglist())
    spills = SNAPSHOTS not in graph.members
    finish = f"own.state->{SNAPSHOTS}.finish();" if spills else ""
    spilled = f" + std::exchange(own.state->{SNAPSHOTS}.copied, 0)" if spills else ""
    called = LIBRARIES not in graph.members
    beside = f" + static_cast<sg_Handle *>(handle)->state->{LIBRARIES}.peak" if called else ""
    limited = f"own.state->{LIBRARIES}.limited = limit != INT64_MAX, own.state->{LIBRARIES}.peak = 0;" if called else ""
    text = _ENTRY.format(name=graph.sdfg.name, room=len(passed), bytes=total, own=own, beside=beside, limited=limited,
                         finish=finish, spilled=spilled,
                         arguments=arguments, first_failure=FIRST_FAILURE,
                         least=total - made.far(passed).bytes, places="\n        ".join(places),
                         begin=f"{tapes}.peak = 0, {tapes}.clear(limit, given.stream);" if made.tapes else "",
                         end=f"own.tape_peak = {tapes}.peak, own.tape_needed = {tapes}.needed, {tapes}.clear(0, "
                         "given.stream);" if made.tapes else "", to_device="\n        ".join(into),
                         to_host="\n            ".join(out))
    return text + _CALLS_LIBRARIES if called else text


def _pointer(name: str, graph: GraphBuilder, offsets: Mapping[str, int], at: Mapping[str, int]) -> str:
    """Where an array is: those of the caller may be where he has them."""
    kind = ctype(graph.arrays[name].dtype)
    return f"reinterpret_cast<{kind} *>(at{at[name]})" if name in at else f"room.at<{kind}>({offsets[name]})"


def _offsets(made: DeviceProgram, graph: GraphBuilder, passed: tuple[str, ...]) -> tuple[Mapping[str, int], int, int]:
    """Where each array starts in the block of a call, the bytes beyond those of what is passed, and all bytes."""
    arena, near, far = made.arena(passed), made.near(passed), made.far(passed)
    asked = [n for n in graph.arrays if n not in made.arrays]
    if len(asked) > questions(made.items):
        raise InvariantError("the host asks for more numbers than there is room for")
    places = {**arena.offsets, **{n: arena.bytes + at for n, at in near.offsets.items()}}
    places |= {n: arena.bytes + near.bytes + at for n, at in far.offsets.items()}
    places |= {n: places[ASKED] + NUMBER * k for k, n in enumerate(asked)}
    return places, made.taken(passed), arena.bytes + near.bytes + far.bytes
