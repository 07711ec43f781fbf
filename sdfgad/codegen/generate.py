"""The C++ source of a lowered program: DaCe's generated code and a uniform entry point around it."""
from __future__ import annotations

import re

import dace
from dace.codegen import codegen

from sdfgad.codegen.cpp import container
from sdfgad.codegen.lower import TAPES, Lowered

_ENTRY = """
struct sg_handle {{ {state}_t *state; sg::Tapes tapes; }};
extern "C" void *sg_open() {{
    {state}_t *state = __dace_init_{name}();
    return state ? new sg_handle{{state, {{}}}} : nullptr;
}}
extern "C" void sg_close(void *handle) {{
    sg_handle *h = static_cast<sg_handle *>(handle);
    __dace_exit_{name}(h->state);
    delete h;
}}
extern "C" int sg_call(void *handle, void **args, int threads, int64_t limit) {{
    sg_handle *h = static_cast<sg_handle *>(handle);
    int before = omp_get_max_threads();
    if (threads > 0) omp_set_num_threads(threads);
    h->tapes.reset();
    h->tapes.limit = limit;
    uint64_t tapes[1] = {{uint64_t(reinterpret_cast<uintptr_t>(&h->tapes))}};
    (void)tapes;
    {pool}
    int status = 0;
    try {{
        __program_{name}(h->state{arguments});
    }} catch (const sg::Overflow &) {{
        status = 1;
    }} catch (const sg::Singular &) {{
        status = 2;
    }}
    if (threads > 0) omp_set_num_threads(before);
    return status;
}}
extern "C" int64_t sg_tape_peak(void *handle) {{ return static_cast<sg_handle *>(handle)->tapes.peak; }}
"""


def source(lowered: Lowered) -> str:
    """Everything the compiler needs, in one text."""
    sdfg = lowered.sdfg
    with dace.config.set_temporary("compiler", "cpu", "explicit_copy", value=False):
        # A failing validation would write the graph into the current folder; the tests validate instead.
        frame = next(c for c in codegen.generate_code(sdfg, validate=False) if c.title == "Frame")
    code = re.sub(r'#include "[^"]*hash\.h"\n', "", frame.clean_code)
    return "#include <omp.h>\n" + code + _entry(lowered)


def _entry(lowered: Lowered) -> str:
    position = {container(name): k for k, name in enumerate(lowered.arguments)}
    passed = []
    for name, desc in lowered.sdfg.arglist().items():
        kind = desc.dtype.ctype
        passed.append("tapes" if name == container(TAPES) else f"static_cast<{kind} *>(args[{position[name]}])")
    arguments = "".join(f", {text}" for text in passed)
    pool = "sg::BlasThreads pool(1);" if lowered.uses_blas else ""
    return _ENTRY.format(pool=pool, name=lowered.sdfg.name, state=f"{lowered.sdfg.name}_state", arguments=arguments)
