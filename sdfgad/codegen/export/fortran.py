"""The example in Fortran, with the interface that Fortran programs need."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sdfgad.codegen.export.interface import KINDS, Interface, Parameter

_TEXT = """\
! Calls {name}_value_and_grad on made-up numbers and prints what comes back: all of it with an argument, else a part.
! Arrays lie in C order: x(5, 4) in Fortran is x[4][5] in C, an array of shape (4, 5) in Python.
! gfortran {name}_example.f90 -L.. -l{name} -Wl,-rpath,'$ORIGIN/..' -o {name}_fortran
module {name}_interface
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function {name}_create() bind(c, name="{name}_create") result(handle)
      import :: c_ptr
      type(c_ptr) :: handle
    end function
    subroutine {name}_destroy(handle) bind(c, name="{name}_destroy")
      import :: c_ptr
      type(c_ptr), value :: handle
    end subroutine
    function {name}_value_and_grad( &
{listed}) bind(c, name="{name}_value_and_grad") &
        result(code)
      import :: c_ptr, c_int{kinds}
      type(c_ptr), value :: handle
{parameters}
      integer(c_int) :: code
    end function
  end interface
contains
  pure function fill(k) result(number)
    integer(c_int64_t), intent(in) :: k
    real(c_double) :: number
    number = 0.25_c_double + real(mod(37 * k, 101_c_int64_t), c_double) / 128.0_c_double
  end function
end module

program {name}_example
  use {name}_interface
  implicit none
  type(c_ptr) :: handle
  integer(c_int) :: code
  integer(c_int64_t) :: k, most
{declared}
  most = merge(huge(most), 5_c_int64_t, command_argument_count() > 0)
  handle = {name}_create()
  if (.not. c_associated(handle)) error stop "no memory"
{filled}
  code = {name}_value_and_grad( &
{passed})
  if (code /= 0) error stop "the call failed: the header says what its code means"
  print '("value = ", es24.16e3)', value
{printed}
  call {name}_destroy(handle)
end program
"""


def fortran_example(interface: Interface) -> str:
    """The text of the file."""
    names = ("handle", *(p.name for p in interface.inputs), "value", *(p.name for p in interface.gradients))
    listed = [f"        {n}" for n in names]
    kinds = dict.fromkeys(p.kind.fortran.split("(")[1].rstrip(")") for p in (*interface.inputs, *interface.gradients))
    value = KINDS[interface.value.dtype.name].fortran
    kinds[value.split("(")[1].rstrip(")")] = None
    return _TEXT.format(
        name=interface.name, listed=", &\n".join(listed), passed=", &\n".join(listed), kinds="".join(
            f", {k}" for k in kinds), parameters="\n".join(_parameters(interface, value)),
        declared="\n".join((*_declared(interface), f"  {value} :: value")), filled="\n".join(_filled(interface)),
        printed="\n".join(_printed(interface)))


def _parameters(interface: Interface, value: str) -> Iterator[str]:
    for p in interface.inputs:
        how = ", value" if p.by_value else ", intent(in)"
        yield f"      {p.kind.fortran}{how} :: {p.name}{'(*)' if p.shape else ''}"
    yield f"      {value}, intent(out) :: value"
    for p in interface.gradients:
        yield f"      {p.kind.fortran}, intent(out) :: {p.name}{'(*)' if p.shape else ''}"


def _declared(interface: Interface) -> Iterator[str]:
    for p in (*interface.inputs, *interface.gradients):
        yield f"  {p.kind.fortran}{', allocatable' if p.shape else ''} :: {p.name}{'(:)' if p.shape else ''}"


def _filled(interface: Interface) -> Iterator[str]:
    for number, p in enumerate(interface.inputs):
        if p.shape:
            yield (f"  allocate ({p.name}({_long(p.size)}))\n  do k = 1, {_long(p.size)}\n"
                   f"    {p.name}(k) = {_number(p, 7 * number, 'k - 1')}\n  end do")
        else:
            yield f"  {p.name} = {_number(p, 7 * number)}"
    for p in interface.gradients:
        if p.shape:
            yield f"  allocate ({p.name}({_long(p.size)}))"


def _long(number: int) -> str:
    """A literal of 64 bits."""
    return f"{number}_c_int64_t"


def _number(p: Parameter, start: int, counter: str = "") -> str:
    """Element `start` of the numbers that the examples make up, or, with a counter, so many after it."""
    k, following = (f"{counter} + {_long(start + j)}" if counter else _long(start + j) for j in (0, 1))
    kind = p.kind.fortran.split("(")[1].rstrip(")")
    if p.dtype.kind == "c":
        return f"cmplx(fill({k}), fill({following}), {_real(p.dtype)})"
    if p.dtype.kind == "f":
        return f"real(fill({k}), {kind})"
    text = f"mod({k}, 2_c_int64_t)" if p.dtype.kind == "b" else "0" if p.steers else f"1 + mod({k}, 3_c_int64_t)"
    return f"int({text}, {kind})"


def _real(dtype: np.dtype) -> str:
    """The kind of the parts of a complex number."""
    return "c_float" if dtype.itemsize == 8 else "c_double"


def _printed(interface: Interface) -> Iterator[str]:
    for p in interface.gradients:
        parts = "es24.16e3, 1x, es24.16e3" if p.dtype.kind == "c" else "es24.16e3"
        show = f"    print '(\"{p.name}[\", i0, \"] = \", {parts})', &\n      "
        if p.shape:
            yield f"  do k = 1, min(most, {_long(p.size)})\n{show}k - 1, {p.name}(k)\n  end do"
        else:
            yield f"{show[2:]}0, {p.name}"
