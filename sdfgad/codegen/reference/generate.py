"""The C++ source of a graph: DaCe's generated code, as it is, and the entry point of all programs."""
from __future__ import annotations

import warnings

import dace

from sdfgad.codegen.compiling.build import FIRST_FAILURE
from sdfgad.codegen.dace_text import frame_text
from sdfgad.codegen.reference.lower import Graph
from sdfgad.codegen.reference.storage import stacks
from sdfgad.codegen.strayed import places_looked_at

_ENTRY = """
struct sg_Handle {{
    {name}_state_t *state;
    int64_t tape_peak = 0, tape_needed = 0;
    const char *damaged = "";
}};
extern "C" void *sg_open() {{ return new sg_Handle{{__dace_init_{name}()}}; }}
extern "C" void sg_close(void *handle) {{
    __dace_exit_{name}(static_cast<sg_Handle *>(handle)->state);
    delete static_cast<sg_Handle *>(handle);
}}
extern "C" int sg_call(void *handle, void **args, int, int64_t limit) {{
    sg_Handle &own = *static_cast<sg_Handle *>(handle);
    {name}_state_t *state = own.state;
    args[{room} + 2] = reinterpret_cast<void *>({bytes});
    {before}{begin}
    int status = 0;
    try {{
        __program_{name}(state{arguments});
    }} catch (const sg::Singular &) {{
        status = 2;
    }} catch (const std::bad_alloc &) {{
        status = 3;
    }} catch (const sg::Unconverged &) {{
        status = 5;
    }} catch (const sg::Damaged &damaged) {{
        status = 4;
        own.damaged = damaged.what;
    }} catch (const sg::Failed &failed) {{
        status = {first_failure} + failed.which;
    }}{overflow}{strayed}
    {after}
    return status;
}}
extern "C" int64_t sg_tape_peak(void *handle) {{ return static_cast<sg_Handle *>(handle)->tape_peak; }}
extern "C" int64_t sg_tape_needed(void *handle) {{ return static_cast<sg_Handle *>(handle)->tape_needed; }}
extern "C" int64_t sg_peak_bytes(void *handle) {{ return {bytes} + sg_tape_peak(handle); }}
extern "C" const char *sg_damaged(void *handle) {{ return static_cast<sg_Handle *>(handle)->damaged; }}
"""
_OVERFLOW = """ catch (const sg::Overflow &) {
        status = 1;
    }"""


def source(graph: Graph) -> str:
    """Everything the compiler needs, in one text."""
    with (warnings.catch_warnings(),
          dace.config.set_temporary("library", "blas", "default_implementation", value="pure")):
        warnings.filterwarnings("ignore", "Using sets for connectors")  # which DaCe does itself, for products
        code = frame_text(graph.sdfg)
    return code + _entry(graph, code)


def _entry(graph: Graph, code: str) -> str:
    begin, strayed, found = places_looked_at(code)
    place = {graph.names[n]: k for k, n in enumerate(graph.arguments)}
    arguments = "".join(f", static_cast<{desc.dtype.ctype} *>(args[{place[name]}])"
                        for name, desc in graph.sdfg.arglist().items())
    tapes = stacks(len(graph.tapes), "state")
    before = [f"{tapes}.limit = limit;"] if graph.tapes else ["(void)limit;"]
    if graph.bytes:
        before.append(f"__dace_set_external_memory_CPU_Heap(state, static_cast<char *>(args[{len(graph.arguments)}]));")
    after = [f"own.tape_peak = {tapes}.peak;", f"own.tape_needed = {tapes}.needed;"] if graph.tapes else []
    return _ENTRY.format(name=graph.sdfg.name, room=len(graph.arguments), bytes=f"int64_t({graph.bytes})",
                         arguments=arguments, before="\n    ".join(before), after="\n    ".join(after),
                         overflow=_OVERFLOW if graph.tapes else "", first_failure=FIRST_FAILURE,
                         begin=begin, strayed=strayed) + found
