"""The header of a library: C99 that is C++ as well."""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from sdfgad.codegen.compiling.build import FIRST_FAILURE
from sdfgad.codegen.export.interface import ABI_VERSION, KINDS, Interface, Parameter
from sdfgad.codegen.export.signature import ERRORS, signature
from sdfgad.memory import format_bytes

_TEXT = """\
/* {name}: value and gradient of {function}
 * Written by sdfgad {version} from {place}.
 *
 * The library holds one program for the shapes, dtypes and constants below; for other ones, export again.
 * Arrays lie in memory in C order: the last index is that of neighbours. Arguments are only read.
{fixed} *
 * memory: a handle takes {workspace}, and the plan needs {predicted} with the arrays of the caller{limit}.{tapes}
 * processor: {processor}.  threads: {threads}.
 */
#ifndef {guard}
#define {guard}

#include <stddef.h>
#include <stdint.h>
{complex}
#define {upper}_ABI_VERSION {abi}
{sizes}
#ifdef __cplusplus
extern "C" {{
#endif

/* What a call works in. A handle serves one call at a time: make one for each thread. */
typedef struct {name}_handle {name}_handle;

/* What functions return. {name}_error_text has a sentence for each. */
enum {name}_error {{
{errors}
}};

/* The version of this interface that the library was built with: {upper}_ABI_VERSION. */
int {name}_abi_version(void);

/* Bytes that {name}_create takes.{grows} */
size_t {name}_workspace_bytes(void);

/* A handle; null where there is no memory for it. */
{name}_handle *{name}_create(void);

/* Gives back what a handle has taken; null is fine. */
void {name}_destroy({name}_handle *handle);

/* The most threads that share the work of a call, from 1 to {threads}, which is what a handle begins with. */
int {name}_set_threads({name}_handle *handle, int threads);

/* Bytes of all arrays at the peak of the last call: those of the caller, of the handle and of the program. */
int64_t {name}_peak_bytes(const {name}_handle *handle);

/* What a code means: a text that lives as long as the library. */
const char *{name}_error_text(int code);

/* The value and its gradients. Outputs may share memory with nothing else. After an error their content is undefined.
 *
{parameters}
 */
{signature};

#ifdef __cplusplus
}}
#endif

#endif
"""
_COMPLEX = """
#ifdef __cplusplus
#include <complex>
{cpp}
#else
{c}
#endif
"""


def header(interface: Interface) -> str:
    """The text of `<name>.h`."""
    grows = " Loops of unknown length take more in a call, and keep it." if interface.grows else ""
    return _TEXT.format(
        name=interface.name, upper=interface.name.upper(), guard=f"{interface.name.upper()}_H", abi=ABI_VERSION,
        function=_plain(interface.function), place=_plain(interface.place), version=interface.version,
        fixed="".join(f" *   {_plain(name)} = {_plain(text)}\n" for name, text in interface.fixed),
        workspace=format_bytes(interface.workspace_bytes), predicted=format_bytes(interface.predicted),
        limit="" if interface.limit is None else f"; the limit is {format_bytes(interface.limit)}",
        tapes=_tapes(interface), processor=interface.processor, threads=interface.threads,
        complex=_complex(interface), sizes="".join(_sizes(interface)), errors=_errors(interface), grows=grows,
        parameters="\n".join(_told(interface)), signature=signature(interface))


def _plain(text: str) -> str:
    """Text that ends no comment and no line, and joins no lines."""
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/").rstrip("\\")


def _tapes(interface: Interface) -> str:
    if not interface.grows:
        return ""
    most = "" if interface.tape_limit is None else f" of at most {format_bytes(interface.tape_limit)}"
    return f"\n * Loops of unknown length keep values on tapes{most} beside that."


def _complex(interface: Interface) -> str:
    used = dict.fromkeys(p.dtype.name for p in interface.inputs if p.dtype.kind == "c")
    if not used:
        return ""
    lines = [[f"typedef {getattr(KINDS[n], form)} {interface.name}_{n};" for n in used] for form in ("in_cpp", "c")]
    return _COMPLEX.format(cpp="\n".join(lines[0]), c="\n".join(lines[1]))


def _sizes(interface: Interface) -> Iterator[str]:
    """The number of elements of each array."""
    for p in interface.inputs:
        if p.shape:
            yield f"#define {interface.name.upper()}_SIZE_{p.name.upper()} {p.size}\n"


def _errors(interface: Interface) -> str:
    upper = interface.name.upper()
    lines = [f"    {upper}_{name} = {code},  /* {text} */" for code, name, text in ERRORS]
    lines += [f"    {upper}_RAISED_{k} = {FIRST_FAILURE + k},  /* the function raises {_plain(text)} */"
              for k, text in enumerate(interface.failures)]
    last, comment = lines[-1].split(",  /*", 1)
    return "\n".join((*lines[:-1], f"{last}  /*{comment}"))


def _told(interface: Interface) -> Iterator[str]:
    """A line for each parameter: what it is, its dtype and its shape."""
    yield " * handle: from create; in no other call at the same time."
    for p in interface.inputs:
        how = ", a pointer to one number" if not p.shape and not p.by_value else ""
        unread = ", which the gradient does not depend on" if p.array is None else ""
        range_ = "; decides indices, which are looked at" if p.steers else "; 0 or 1" if p.dtype.kind == "b" else ""
        yield f" * {p.name}: input, {_form(p)}: {_plain(p.path)}{how}{unread}{range_}."
    yield f" * value: output, {interface.value.dtype.name}, one number: what was differentiated."
    for p in interface.gradients:
        zero = "; always zero" if p.array is None else ""
        turned = "; dL/dRe + i dL/dIm" if p.dtype.kind == "c" else ""
        yield f" * {p.name}: output, {_form(p)}: the gradient by {_plain(p.path)}{turned}{zero}."


def _form(p: Parameter) -> str:
    """ "float64 (3, 4)" """
    return f"{p.dtype.name} {shape_text(p.shape)}" if p.shape else f"{p.dtype.name}, one number"


def shape_text(shape: Iterable[int]) -> str:
    """ "(3, 4)"; "(5)" for one dimension."""
    return f"({', '.join(map(str, shape))})"
