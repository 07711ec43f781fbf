"""The C++ source of a lowered program: DaCe's generated code and a uniform entry point around it."""
from __future__ import annotations

from sdfgad.codegen.compiling.build import FIRST_FAILURE, REAL, UNHEARD
from sdfgad.codegen.cpp import TAPES, container
from sdfgad.codegen.cpu.lower import Lowered
from sdfgad.codegen.cpu.text.interrupts import HEED
from sdfgad.codegen.cpu.text.outline import outline
from sdfgad.codegen.dace_text import APART, OWN_HEADER, all_counted, frame_text, members
from sdfgad.codegen.strayed import places_looked_at

_ENTRY = """
extern "C" int sg_ask(int threads);
extern "C" const volatile int *sg_watch();
extern "C" void sg_unwatch(const volatile int *watched);
extern "C" void *sg_open() {{ return __dace_init_{name}(); }}
extern "C" void sg_close(void *handle) {{ __dace_exit_{name}(static_cast<{state} *>(handle)); }}
extern "C" int sg_call(void *handle, void **args, int threads, int64_t limit) {{
    {state} *state = static_cast<{state} *>(handle);
    {watch}
    const int before = sg_ask(threads);
    state->sg_memory.begin();
    char *room = static_cast<char *>(args[{room}]);
    state->sg_arena.place(room);
    state->sg_tapes.begin(limit, room + {bytes}, reinterpret_cast<intptr_t>(args[{room} + 1]) - {bytes});
    sg::Charge arena(state->sg_memory, {bytes}), stacks(state->sg_memory, {stack});
    uint64_t tapes[1] = {{uint64_t(reinterpret_cast<uintptr_t>(&state->sg_tapes))}};
    (void)tapes;
    {pool}{begin}
    int status = 0;
    try {{
        {rooms}
        __program_{name}(state{arguments});
    }} catch (const sg::Overflow &) {{
        status = 1;
    }} catch (const sg::Singular &) {{
        status = 2;
    }} catch (const std::bad_alloc &) {{
        status = 3;
    }} catch (const sg::Unconverged &) {{
        status = 5;
    }} catch (const sg::Damaged &damaged) {{
        status = 4;
        state->sg_damaged = damaged.what;
    }} catch (const sg::Failed &failed) {{
        status = {first_failure} + failed.which;
    }}{interrupted}{strayed}
    sg_ask(before);
    state->sg_tapes.end();
    args[{room} + 2] = reinterpret_cast<void *>({bytes} + state->sg_tapes.wanted());
    return status;
}}
extern "C" void sg_connect(void *handle, const void *table) {{ static_cast<{state} *>(handle)->sg_mpi = table; }}
extern "C" int64_t sg_tape_peak(void *handle) {{ return static_cast<{state} *>(handle)->sg_tapes.peak(); }}
extern "C" int64_t sg_tape_needed(void *handle) {{ return static_cast<{state} *>(handle)->sg_tapes.needed(); }}
extern "C" int64_t sg_peak_bytes(void *handle) {{ return static_cast<{state} *>(handle)->sg_memory.peak(); }}
extern "C" const char *sg_damaged(void *handle) {{ return static_cast<{state} *>(handle)->sg_damaged; }}
"""
_ROOMS = """sg::Workspace<char> rooms(state->sg_memory, omp_get_max_threads() * int64_t({each}));
        state->sg_rooms.place(rooms.data(), {each});"""
_WATCH = f"""state->sg_stop = sg_watch();
    if (state->sg_stop == nullptr) return {UNHEARD};"""
_INTERRUPTED = """ catch (const sg::Interrupted &) {
        status = 9;
    }
    sg_unwatch(state->sg_stop);"""
_MEMBERS = """    sg::Memory sg_memory;
    sg::{tapes};
    const char *sg_damaged = nullptr;
    const void *sg_mpi = nullptr;
    const volatile int *sg_stop = nullptr;
    sg::Arena sg_arena;
    sg::Rooms sg_rooms;
"""


def source(lowered: Lowered) -> str:
    """Everything the compiler needs, in one text."""
    # What stacks of entries come with is half of the compiler's work for a small program.
    tapes = f"Tapes sg_tapes{{sg_memory, {len(lowered.tapes)}}}" if lowered.tapes else "NoTapes sg_tapes"
    state = members(_state(lowered), _MEMBERS.format(tapes=tapes))
    code = state.made(APART.made(OWN_HEADER.made(all_counted(frame_text(lowered.sdfg)))))
    code = outline(code, f"void __program_{lowered.sdfg.name}_internal(")
    real = not (lowered.uses_blas or "dace::complex" in code)
    return (REAL if real else "") + '#include <omp.h>\n#include "sdfgad.h"\n' + code + _entry(lowered, code)


def _state(lowered: Lowered) -> str:
    """The type of what a handle points at."""
    return f"{lowered.sdfg.name}_state_t"


def _entry(lowered: Lowered, code: str) -> str:
    heeds = HEED in code  # the program ends where the call is interrupted
    begin, strayed, found = places_looked_at(code)
    position = {container(name): k for k, name in enumerate(lowered.arguments)}
    passed = []
    for name, desc in lowered.sdfg.arglist(free_symbols=()).items():  # numbers are passed in arrays
        kind = desc.dtype.ctype
        passed.append("tapes" if name == container(TAPES) else f"static_cast<{kind} *>(args[{position[name]}])")
    arguments = "".join(f", {text}" for text in passed)
    pool = "sg::BlasThreads pool(1);" if lowered.uses_blas else ""
    stack, arena = f"omp_get_max_threads() * int64_t({lowered.held.stack})", lowered.held.arena.bytes
    return _ENTRY.format(pool=pool, name=lowered.sdfg.name, state=_state(lowered), arguments=arguments, stack=stack,
                         rooms=_ROOMS.format(each=lowered.held.room) if lowered.held.room else "",
                         room=len(lowered.arguments), bytes=f"int64_t({arena})",
                         first_failure=FIRST_FAILURE, watch=_WATCH if heeds else "",
                         interrupted=_INTERRUPTED if heeds else "", begin=begin, strayed=strayed) + found
