"""The C++ between the C interface of a library and its program: where each array of the program lies in a call."""
from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, isnan

from sdfgad.codegen.export.bounds import check_calls, check_functions
from sdfgad.codegen.export.interface import ABI_VERSION, KINDS, Addend, Interface, Parameter
from sdfgad.codegen.export.signature import error_texts, signature

NO_LIMIT = 2**63 - 1
_TEXT = """\
#include "{name}.h"
#include "export/handle.h"
{blas}
{constants}
{check_functions}
static const sg::Sizes sizes = {{{room}, {held}, {constant_bytes}, {outside}, {limit}, {threads}}};
struct {name}_handle : sg::Handle {{ using Handle::Handle; }};
__attribute__((constructor)) static void attach() {{ sg_attach(sg_threads()); }}

extern "C" {{

int {name}_abi_version(void) {{ return {abi}; }}

size_t {name}_workspace_bytes(void) {{ return {workspace}; }}

{name}_handle *{name}_create(void) {{
    try {{
        return new {name}_handle(sizes);
    }} catch (...) {{
        return nullptr;
    }}
}}

void {name}_destroy({name}_handle *handle) {{ delete handle; }}

int {name}_set_threads({name}_handle *handle, int threads) {{
    return handle == nullptr ? int(sg::kNull) : handle->set_threads(threads);
}}

int64_t {name}_peak_bytes(const {name}_handle *handle) {{ return handle == nullptr ? 0 : handle->peak(); }}

const char *{name}_error_text(int code) {{
    switch (code) {{
{texts}
    }}
    return "no error has this code";
}}

{signature} {{
    if (handle == nullptr) return sg::kNull;
    if (const int status = handle->begin({{{inputs}}}, {{{outputs}}})) return status;
{checks}    void *places[] = {{{places}}};
    const int status = handle->run(places, {count});
    if (status != sg::kDone) return handle->end(status);
{results}    return handle->end(sg::kDone);
}}

}}
"""
_CONSTANT = """\
extern "C" const char {symbol}[];
asm(".pushsection .rodata\\n.balign 64\\n{symbol}:\\n.incbin \\"{file}\\"\\n.balign 64\\n.popsection\\n");
"""


# Calls at the same time would take turns in setting how many threads the BLAS library has: it has one unless a call
# asks for more of them.
_BLAS = """\
#include "{header}"
__attribute__((constructor)) static void one_thread_of_blas() {{ openblas_set_num_threads(1); }}
"""


def wrapper(interface: Interface, files: dict[str, str], blas: str = "") -> str:
    """The text. files: of the elements of each constant. blas: the header of the BLAS library, where there is one."""
    return _TEXT.format(
        blas=_BLAS.format(header=blas) if blas else "",
        name=interface.name, abi=ABI_VERSION, signature=signature(interface), room=interface.room_bytes,
        held=interface.held_bytes, constant_bytes=interface.constant_bytes, outside=interface.outside_bytes,
        limit=NO_LIMIT if interface.tape_limit is None else interface.tape_limit,
        threads=-interface.threads if interface.exact else interface.threads, workspace=interface.workspace_bytes,
        constants="".join(_CONSTANT.format(symbol=_symbol(interface, n), file=f) for n, f in files.items()),
        texts="\n".join(f"        case {code}: return {_literal(text)};" for code, text in error_texts(interface)),
        inputs=", ".join(_given(p) for p in interface.inputs if not p.by_value),
        outputs=", ".join((f"{{value, {interface.value.dtype.itemsize}, {interface.value.dtype.itemsize}}}",
                           *(_given(p) for p in interface.gradients))),
        check_functions=check_functions(interface), checks=check_calls(interface),
        places=", ".join((*(_place(interface, s.name) for s in interface.slots), "nullptr", "nullptr", "nullptr")),
        count=len(interface.slots), results="".join(f"    {line}\n" for line in _results(interface)))


def _symbol(interface: Interface, constant: str) -> str:
    return f"sg_constant_{list(interface.constants).index(constant)}"


def _literal(text: str) -> str:
    """A string of C with this text."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\?' else
                    "".join(f"\\{byte:03o}" for byte in c.encode()) for c in text)
    return f'"{plain}"'


def _given(p: Parameter) -> str:
    return f"{{{p.name}, {p.bytes}, {p.width}}}"


def _place(interface: Interface, name: str) -> str:
    """Where the program finds one of its arrays."""
    if name in interface.constants:
        return f"const_cast<char *>({_symbol(interface, name)})"
    if name in interface.filled:
        return interface.filled[name].name
    source = next((p for p in interface.inputs if p.array == name), None)
    start = f"&{source.name}" if source is not None and source.by_value else source.name if source is not None else ""
    if name not in interface.held:
        return f"const_cast<void *>(static_cast<const void *>({start}))"
    at = interface.held[name]
    return f"handle->copied({at}, {start}, {interface.slot(name).bytes})" if start else f"handle->held({at})"


def _results(interface: Interface) -> Iterator[str]:
    """What is left to do after the program."""
    yield f"*value = {_value(interface)};"
    for p in interface.gradients:
        if p.array is None:
            yield f"std::memset({p.name}, 0, {p.bytes});"
        elif interface.filled.get(p.array) is not p:
            yield f"std::memcpy({p.name}, places[{[s.name for s in interface.slots].index(p.array)}], {p.bytes});"


def _value(interface: Interface) -> str:
    value = interface.value
    if not value.terms:
        return _number(value.number)
    terms = [_term(interface, t) for t in value.terms]
    # As Python's sum(), which begins with 0.
    return " + ".join(("0.0", *(f"double({t})" for t in terms))) if value.total else terms[0]


def _number(number: float) -> str:
    if isnan(number):
        return '__builtin_nan("")'
    return repr(number) if isfinite(number) else f"{'-' if number < 0 else ''}__builtin_inf()"


def _term(interface: Interface, term: Addend) -> str:
    at = [s.name for s in interface.slots].index(term.array)
    number = f"static_cast<const {KINDS[term.dtype.name].c} *>(places[{at}])[{term.offset}]"
    return number if term.kind == term.dtype else f"{KINDS[term.kind.name].c}({number})"
