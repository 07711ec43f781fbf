"""Every error sdfgad raises on purpose: one class per cause family, one code per cause.

A message says where, what and what to do. Code in the other layers raises these classes, mostly through the builder
functions at the end of this module, and never a bare ``Exception``.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from sdfgad.callers import is_users

CODES: Mapping[str, str] = MappingProxyType({
    "SG101": "this construct is not supported",
    "SG102": "this Python code cannot be compiled",
    "SG103": "the shape of this array is not known before the call or does not fit",
    "SG104": "this dtype is not supported here",
    "SG105": "this way of indexing is not supported",
    "SG106": "the source code of this function cannot be used",
    "SG107": "this control flow is not supported",
    "SG108": "this argument cannot be passed to a compiled function",
    "SG109": "this value is not an array, a number, a boolean, a string or None",
    "SG110": "this graph of DaCe cannot be read",
    "SG111": "this graph of DaCe does not say what comes first",
    "SG121": "this call goes into Python and has no derivative rule",
    "SG123": "this statement cannot be differentiated",
    "SG124": "this program cannot be cut over ranks as asked for",
    "SG130": "a function or operation has no derivative rule",
    "SG131": "a library operation on a block whose size changes at run time",
    "SG132": "the derivative of this factorisation is not supported",
    "SG133": "the derivative of a product accumulated in place is not supported",
    "SG134": "a minimum or maximum over a size known only at run time",
    "SG135": "a derivative rule of your own that does not fit its function",
    "SG136": "an implicit function whose parts do not fit together",
    "SG190": "this statement is not in a form that can be reversed",
    "SG191": "the matrix of derivatives is hardly sparse",
    "SG201": "the output to differentiate is not a scalar or not clear",
    "SG202": "the dtype of this argument carries no gradient",
    "SG203": "an argument that is updated shares memory with another array",
    "SG204": "no argument of this name",
    "SG205": "the arguments do not fit the function or the seed",
    "SG206": "this number of bytes cannot be read",
    "SG207": "this setting is unknown or has a wrong value",
    "SG208": "this target cannot be found",
    "SG209": "an index leaves its array",
    "SG210": "there is no graphics processor that programs can run on",
    "SG211": "the ranks of a program that communicates do not agree",
    "SG212": "an array lies where the program cannot take it",
    "SG301": "the memory limit is below what the gradient needs at the least",
    "SG302": "the tape of a loop with an unknown trip count outgrew the memory limit",
    "SG303": "the measured peak is above the predicted one",
    "SG304": "the disk for snapshots is full",
    "SG305": "a snapshot from disk is not what was written",
    "SG306": "a list outgrew the room that a program has for it",
    "SG311": "the plan cannot be executed",
    "SG401": "the gradient disagrees with the reference",
    "SG402": "a NaN appeared",
    "SG501": "no working C++ compiler",
    "SG502": "no BLAS library",
    "SG505": "the generated code did not compile",
    "SG506": "the integer programming solver does not work",
    "SG507": "the cache folder cannot be used",
    "SG508": "the graphics processor reported an error",
    "SG509": "the MPI library of this process cannot be used",
    "SG901": "an internal invariant does not hold",
})
"""Code -> its one-line meaning; ``sdfgad explain CODE`` prints it."""


@dataclass(frozen=True)
class SourceLine:
    """A place in the user's program. ``line`` counts from 1, columns from 0 as in :mod:`ast`; 0, 0 means the line."""

    file: str
    line: int
    column: int = 0
    end_column: int = 0
    function: str = ""

    def text(self) -> str:
        """The line itself, without its end; empty when the source is gone."""
        return linecache.getline(self.file, self.line).rstrip("\n")

    def __str__(self) -> str:
        place = f"{_short_path(self.file)}:{self.line}:{self._span()[0] + 1}"
        return f"{place}   in {self.function}()" if self.function else place

    def excerpt(self, label: str = "") -> str:
        """Arrow line, source line and carets with ``label`` behind them."""
        text = self.text()
        if not text.strip():
            return f"  --> {self}" + (f"\n      {label}" if label else "")
        start, end = self._span()
        # Tabs keep their width in the caret line, so that both lines stay aligned in any terminal.
        margin = "".join("\t" if c == "\t" else " " for c in text[:start])
        carets = "^" * max(1, end - start)
        return f"  --> {self}\n {self.line:4d} |{text}\n      |{margin}{carets} {label}".rstrip()

    def _span(self) -> tuple[int, int]:
        """Start and end of the marked characters within the line."""
        text = self.text()
        start, end = _characters(text, self.column), _characters(text, self.end_column)
        if self.column == 0 and self.end_column == 0:
            start = len(text) - len(text.lstrip())
        code_end = len(text.rstrip())
        return start, end if start < end <= code_end else max(code_end, start + 1)


def located(error: Exception, place: SourceLine) -> Exception:
    """An exception of the user's own program, with its place: no traceback leads there, as the program is compiled."""
    error.add_note(place.excerpt())
    error.sdfgad_place = place  # type: ignore[attr-defined]
    return error


class SdfgadError(Exception):
    """Base of all errors of sdfgad; ``code`` names the cause and ``help`` says what to do."""

    default_code: ClassVar[str] = "SG901"

    def __init__(self, message: str = "", *, code: str = "", help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.help = help

    def __str__(self) -> str:
        return "\n".join((f"[{self.code}] {self.message or CODES.get(self.code, '')}", *self._help_lines()))

    def _help_lines(self) -> Iterable[str]:
        return (f"  help: {self.help}",) if self.help else ()


class UnsupportedError(SdfgadError, NotImplementedError):
    """The program holds something that cannot be compiled or differentiated: SG1xx.

    ``calls``: the calls that led to the line, from the function itself on. ``within``: the calls that lead from that
    line to the place inside a library where it is.
    """

    default_code = "SG101"

    def __init__(
        self, what: str = "", *, source: SourceLine | None = None, code: str = "", help: str = "",
        calls: tuple[SourceLine, ...] = (), within: tuple[SourceLine, ...] = (),
    ) -> None:
        super().__init__(what, code=code, help=help)
        self.what = what
        self.source = source
        self.file = source.file if source else ""
        self.line = source.line if source else 0
        self.column = source.column if source else 0
        self.calls = calls
        self.within = within

    def __str__(self) -> str:
        return f"{self._own_text()}\n  see:  sdfgad explain {self.code}"

    def _own_text(self) -> str:
        headline = f"[{self.code}] {CODES.get(self.code, 'not supported')}"
        if self.source is None:
            return "\n".join((f"{headline}: {self.what}" if self.what else headline, *self._help_lines()))
        what = f"{self.what}, in {self.within[-1].function}()" if self.within else self.what
        return "\n".join((headline, *(f"  from {_told(place)}" for place in self.calls), self.source.excerpt(what),
                          *(f"  to   {_told(place)}" for place in self.within), *self._help_lines()))


class UsageError(SdfgadError, ValueError, TypeError):
    """The call is wrong: SG2xx."""

    default_code = "SG205"


class OutputError(UsageError):
    """Nothing scalar to differentiate, or several candidates: SG201."""

    default_code = "SG201"


class DtypeError(UsageError):
    """An integer or boolean argument was named in ``wrt``: SG202."""

    default_code = "SG202"


class AliasError(UsageError):
    """An argument that is updated overlaps in memory with another one or an array from outside: SG203."""

    default_code = "SG203"


class OutOfBoundsError(UsageError, IndexError):
    """An index leaves its array, as NumPy would find out: SG209. Shows the line."""

    default_code = "SG209"

    def __init__(self, message: str = "", *, source: SourceLine | None = None, help: str = "") -> None:
        super().__init__(message, help=help)
        self.source = source

    def __str__(self) -> str:
        if self.source is None:
            return super().__str__()
        headline = f"[{self.code}] {CODES[self.code]}"
        return "\n".join((headline, self.source.excerpt(self.message), *self._help_lines()))


class NanError(SdfgadError, FloatingPointError):
    """Under `debug_nans`, NaN has come up where no number was one: SG402. ``file``, ``line``: the statement."""

    default_code = "SG402"

    def __init__(self, message: str = "", *, source: SourceLine | None = None, help: str = "") -> None:
        super().__init__(message, help=help)
        self.source = source
        self.file = source.file if source else ""
        self.line = source.line if source else 0

    def __str__(self) -> str:
        if self.source is None:
            return super().__str__()
        return "\n".join((f"[{self.code}] {CODES[self.code]}", self.source.excerpt(self.message), *self._help_lines()))


class LengthsDiffer(ValueError):
    """Arrays whose lengths only the run tells do not go together."""


class StepIsZero(ValueError):
    """The step of a range, which only the run tells."""


class MemoryLimitError(SdfgadError, MemoryError):
    """No plan fits the limit: SG3xx. ``floor`` names the arrays that are alive together at the minimum."""

    default_code = "SG301"

    def __init__(
        self, message: str = "", *, minimum_bytes: int = 0, floor: Sequence[str] = (), limit_bytes: int | None = None,
        code: str = "", help: str = "",
    ) -> None:
        super().__init__(message, code=code, help=help)
        self.minimum_bytes = minimum_bytes
        self.floor = tuple(floor)
        self.limit_bytes = limit_bytes

    def _help_lines(self) -> Iterable[str]:
        floor = (f"  floor: {self.minimum_bytes} bytes: {', '.join(self.floor)}",) if self.floor else ()
        return (*floor, *super()._help_lines())


class PlanNotExecutable(SdfgadError):
    """The reverse pass cannot emit what the plan asks for: SG311."""

    default_code = "SG311"


class SnapshotError(SdfgadError, OSError):
    """What came back from disk is not what was written; nothing is returned: SG305. ``array`` names what it held."""

    default_code = "SG305"

    def __init__(self, message: str = "", *, array: str = "", code: str = "", help: str = "") -> None:
        super().__init__(message, code=code, help=help)
        self.array = array


class GradientMismatchError(SdfgadError, AssertionError):
    """A gradient check failed: SG4xx. ``report`` holds the check's report where there is one."""

    default_code = "SG401"

    def __init__(self, message: str = "", *, report: object = None, code: str = "", help: str = "") -> None:
        super().__init__(message, code=code, help=help)
        self.report = report


class ToolchainError(SdfgadError):
    """Compiler, BLAS, solver or cache folder: SG5xx. Shows the failing command and its last lines."""

    default_code = "SG501"

    def __init__(
        self, message: str = "", *, command: Sequence[str] = (), output: str = "", log: str = "",
        code: str = "", help: str = "",
    ) -> None:
        super().__init__(message, code=code, help=help)
        self.command = tuple(command)
        self.output = output
        self.log = log

    def _help_lines(self) -> Iterable[str]:
        if self.command:
            yield f"  command: {' '.join(self.command)}"
        for line in self.output.strip().splitlines()[-12:]:
            yield f"    {line}"
        if self.log:
            yield f"  log: {self.log}"
        yield from super()._help_lines()


class InvariantError(SdfgadError):
    """A pass left a graph that its stage does not allow; a bug of sdfgad, never of the user: SG901."""


class UnusedArgumentWarning(UserWarning):
    """An argument named in ``wrt`` does not reach the output: its gradient is zero."""


class CacheWarning(UserWarning):
    """The cache folder cannot be written: what is compiled is kept for this process only: SG507."""


class PeakWarning(UserWarning):
    """A call held more bytes than its plan predicted: SG303."""


def unsupported(source: SourceLine | None, what: str, help: str = "", code: str = "SG101") -> UnsupportedError:
    """The refusal of one construct at ``source``: ``raise unsupported(line, "a call of eval", "inline it")``."""
    return UnsupportedError(what, source=source, code=code, help=help)


def unsupported_in_calls(places: Sequence[SourceLine], what: str, help: str, code: str) -> UnsupportedError:
    """The refusal of what stands at the last of these places, each called from the one before.

    What is shown is the last line that the user can rewrite: what is installed counts as a library for a function that
    is not.
    """
    whole = len(places) - 1
    last = next((k for k in range(whole, -1, -1) if is_users(places[k].file)
                 and (_INSTALLED in places[0].file or _INSTALLED not in places[k].file)), whole)
    within = tuple(places[last + 1:])
    return UnsupportedError(what, source=places[last], code=code, calls=tuple(places[:last]), within=within,
                            help=_OF_A_LIBRARY if within else help)


def damaged(array: str) -> SnapshotError:
    """What a snapshot of `array` held is lost."""
    return SnapshotError(f"the snapshot of {array} from disk is damaged, nothing was returned", array=array,
                         help="check the disk, or give `spill` a folder on another one")


def device_failed(what: str) -> ToolchainError:
    """A graphics processor has not done what it was given."""
    return ToolchainError(f"the graphics processor says: {what}; nothing was returned", code="SG508",
                          help="run `sdfgad doctor`; if the device is well, please report this with the program")


def crowded(what: str) -> MemoryLimitError:
    """A routine of a library wants more room on a graphics processor than its plan has."""
    return MemoryLimitError(f"{what}; nothing was returned", code="SG303",
                            help="please report the numbers; without memory_limit it takes more than was predicted")


def library_missing(what: str) -> UsageError:
    """A program for a graphics processor calls a library that is not there."""
    return UsageError(f"a library of CUDA that the program calls is missing: {what}", code="SG210",
                      help="install the CUDA toolkit's libraries, name its folder in CUDA_HOME, or run on the "
                           'processor: device="cpu"')


_INSTALLED = "-packages/"
_OF_A_LIBRARY = "the library is not written for this: call it before and pass what it gives, or write it with NumPy"


def _told(place: SourceLine) -> str:
    """One line for a place that leads to another one."""
    return f"{place}:  {place.text().strip()}"


def working_folder() -> str | None:
    """None where it has been removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


def _short_path(file: str) -> str:
    """Relative to the working folder when the file lies below it."""
    here = f"{working_folder()}{os.sep}"
    return file[len(here):] if file.startswith(here) else file


def _characters(text: str, byte_offset: int) -> int:
    """Python's syntax tree counts UTF-8 bytes; carets are placed by characters."""
    return len(text.encode()[:byte_offset].decode(errors="ignore"))


# Tracebacks show the public name `sdfgad.UnsupportedError`, which is also where pickle finds the class again.
for _public in (SdfgadError, UnsupportedError, UsageError, OutputError, DtypeError, AliasError, OutOfBoundsError,
                MemoryLimitError, PlanNotExecutable, SnapshotError, GradientMismatchError, ToolchainError,
                InvariantError, UnusedArgumentWarning, CacheWarning, PeakWarning):
    _public.__module__ = "sdfgad"
