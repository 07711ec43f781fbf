"""Programs in C, C++ and Fortran that call a library: they fill the inputs, and print the value and the gradients.

All of them fill the inputs with the same numbers: element k of input n with those that `fill` has for k + 7 n.
"""
from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from sdfgad.codegen.export.fortran import fortran_example
from sdfgad.codegen.export.interface import Interface, Parameter
from sdfgad.codegen.export.signature import type_name

_C = """\
/* Calls {name}_value_and_grad on made-up numbers and prints what comes back: all of it with an argument, else a part.
 * cc {name}_example.c -I.. -L.. -l{name} -Wl,-rpath,'$ORIGIN/..' -o {name}_c */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"

static double fill(long k) {{ return 0.25 + (double)(37 * k % 101) / 128.0; }}

int main(int argc, char **argv) {{
    const long most = argc > 1 ? LONG_MAX : 5;
    long k;
    int code;
{declared}
    {name}_handle *handle = {name}_create();
    (void)argv;
    if (handle == NULL{missing}) {{
        fprintf(stderr, "no memory\\n");
        return 1;
    }}
{filled}
    code = {name}_value_and_grad({call});
    if (code != {upper}_OK) {{
        fprintf(stderr, "%s\\n", {name}_error_text(code));
        return 1;
    }}
    printf("value = %.17g\\n", (double)value);
{printed}
    {name}_destroy(handle);
{freed}    return 0;
}}
"""
_CPP = """\
// Calls {name}_value_and_grad on made-up numbers and prints what comes back: all of it with an argument, else a part.
// c++ {name}_example.cpp -I.. -L.. -l{name} -Wl,-rpath,'$ORIGIN/..' -o {name}_cpp
#include <climits>
#include <cstdio>
#include <memory>
#include <vector>
#include "{name}.h"

static double fill(long k) {{ return 0.25 + double(37 * k % 101) / 128.0; }}

int main(int argc, char **) {{
    const long most = argc > 1 ? LONG_MAX : 5;
    long k;
    const std::unique_ptr<{name}_handle, decltype(&{name}_destroy)> handle({name}_create(), {name}_destroy);
    if (!handle) {{
        std::fprintf(stderr, "no memory\\n");
        return 1;
    }}
{declared}
{filled}
    const int code = {name}_value_and_grad({call});
    if (code != {upper}_OK) {{
        std::fprintf(stderr, "%s\\n", {name}_error_text(code));
        return 1;
    }}
    std::printf("value = %.17g\\n", double(value));
{printed}
    return 0;
}}
"""


def examples(interface: Interface) -> dict[str, str]:
    """The files by their place in the folder of the library."""
    stem = f"examples/{interface.name}_example"
    return {f"{stem}.c": _c(interface), f"{stem}.cpp": _cpp(interface), f"{stem}.f90": fortran_example(interface)}


def _c(interface: Interface) -> str:
    arrays = [p for p in _all(interface) if not _single(p, interface)]
    return _C.format(
        name=interface.name, upper=interface.name.upper(),
        declared="\n".join(chain(_declared(interface), ["    " + _value(interface)])),
        missing="".join(f" || {p.name} == NULL" for p in arrays), call=_call(interface, "handle"),
        filled="\n".join(_filled(interface)), printed="\n".join(_printed(interface, "printf")),
        freed="".join(f"    free({p.name});\n" for p in arrays))


def _cpp(interface: Interface) -> str:
    return _CPP.format(
        name=interface.name, upper=interface.name.upper(),
        declared="\n".join(chain(_vectors(interface), ["    " + _value(interface)])),
        call=_call(interface, "handle.get()", ".data()"), filled="\n".join(_filled(interface)),
        printed="\n".join(_printed(interface, "std::printf", ".data()")))


def _all(interface: Interface) -> tuple[Parameter, ...]:
    return interface.inputs + interface.gradients


def _single(p: Parameter, interface: Interface) -> bool:
    """Whether it is a variable of its own: an input by value."""
    return p.by_value and p in interface.inputs


def _value(interface: Interface) -> str:
    return f"{type_name(interface, interface.value.dtype)} value = 0;"


def _declared(interface: Interface) -> Iterator[str]:
    for p in _all(interface):
        kind = type_name(interface, p.dtype)
        if _single(p, interface):
            yield f"    {kind} {p.name} = 0;"
        else:
            yield f"    {kind} *{p.name} = ({kind} *)calloc({max(1, p.size)}, sizeof({kind}));"


def _vectors(interface: Interface) -> Iterator[str]:
    for p in _all(interface):
        kind = type_name(interface, p.dtype)
        yield f"    {kind} {p.name} = 0;" if _single(p, interface) else f"    std::vector<{kind}> {p.name}({p.size});"


def _filled(interface: Interface) -> Iterator[str]:
    for number, p in enumerate(interface.inputs):
        kind, start = type_name(interface, p.dtype), 7 * number
        if p.by_value:
            yield f"    {p.name} = ({kind}){_number(p, f'{start}L')};"
        elif p.dtype.kind == "c":
            part = "float" if p.dtype.itemsize == 8 else "double"
            yield (f"    for (k = 0; k < {p.size}; k++) {{  /* the real part, and the imaginary one behind it */\n"
                   f"        (({part} *)&{p.name}[k])[0] = ({part})fill(k + {start});\n"
                   f"        (({part} *)&{p.name}[k])[1] = ({part})fill(k + {start + 1});\n    }}")
        else:
            yield f"    for (k = 0; k < {p.size}; k++) {p.name}[k] = ({kind}){_number(p, f'(k + {start})')};"


def _number(p: Parameter, k: str) -> str:
    if p.dtype.kind == "f":
        return f"fill({k})"
    return f"({k} % 2)" if p.dtype.kind == "b" else "0" if p.steers else f"(1 + {k} % 3)"


def _call(interface: Interface, handle: str, data: str = "") -> str:
    passed = (p.name if _single(p, interface) else p.name + data for p in interface.inputs)
    return ", ".join((handle, *passed, "&value", *(p.name + data for p in interface.gradients)))


def _printed(interface: Interface, function: str, data: str = "") -> Iterator[str]:
    for p in interface.gradients:
        head = f"    for (k = 0; k < {p.size} && k < most; k++)\n        {function}(\"{p.name}[%ld] = "
        if p.dtype.kind == "c":
            part = "float" if p.dtype.itemsize == 8 else "double"
            cells = (f"(double)((const {part} *){p.name}{data})[2 * k{more}]" for more in ("", " + 1"))
            yield f'{head}%.17g %.17g\\n", k, {", ".join(cells)});'
        else:
            yield f'{head}%.17g\\n", k, (double){p.name}[k]);'
