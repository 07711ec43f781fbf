"""What a command is about: ``file.py:function``, ``module:function`` or ``npbench:kernel``, with arguments for it."""

from __future__ import annotations

import ast
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import sdfgad
from sdfgad.callers import is_users
from sdfgad.errors import SdfgadError, UsageError

NPBENCH = "npbench"


@dataclass(frozen=True)
class Subject:
    """A function, arguments for it, and what to differentiate where the target itself says so."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    wrt: tuple[str, ...] | None = None
    output: Any = None

    @property
    def program(self) -> Callable[..., Any]:
        """The plain NumPy function, also when the target is decorated with ``sdfgad.grad``."""
        return getattr(self.function, "fn", self.function)

    @property
    def ranks(self) -> Any | None:
        """The communicator of those that call it together, if there are several."""
        found = import_module("sdfgad.calls.communicators").communicator_of(self.function, self.arguments, {})
        return None if found is None or found.Get_size() == 1 else found


def load_subject(
    text: str, *, sizes: Mapping[str, Any], arguments: str = "", preset: str = "", data: bool = True,
) -> Subject:
    """The target that ``text`` names, its arguments made by ``arguments`` or by the example function beside it.

    Without ``data``, arrays of a benchmark kernel are stand-ins, however large the sizes.
    """
    where, _, name = text.rpartition(":")
    if not where or not name:
        raise _not_found(f"{text!r} is not a target", "write file.py:function, module:function or npbench:kernel")
    if where == NPBENCH:
        if arguments:
            raise UsageError("a kernel of the benchmark makes its own arguments", help="leave out --args")
        return _npbench_subject(name, sizes, preset, data)
    if preset:
        raise UsageError(f"{text} has no presets", help="set sizes with -s NAME=VALUE")
    module = load_module(where)
    function = import_module("sdfgad.frontend.graphs.function").as_function(_attribute(module, name))
    maker = load_function(arguments) if arguments else _example_function(module, name)
    return Subject(text, function, _call_maker(maker, sizes, function))


def load_module(where: str) -> ModuleType:
    """The module of a file name ending in ``.py`` or of a dotted name."""
    return _module_of_file(Path(where)) if where.endswith(".py") else _module_of_name(where)


def load_function(text: str) -> Callable[..., Any]:
    """The function of ``module:function`` or ``file.py:function``."""
    where, _, name = text.rpartition(":")
    if not where:
        raise _not_found(f"{text!r} does not name a function", "write module:function or file.py:function")
    return _attribute(load_module(where), name)


def read_sizes(texts: Sequence[str]) -> dict[str, Any]:
    """``["N=512", "eps=1e-3"]`` as a dictionary of numbers, booleans or texts."""
    return dict(_read_size(text) for text in texts)


def _read_size(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or not name.isidentifier():
        raise UsageError(f"{text!r} does not set a size", help="write -s N=512")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _module_of_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise _not_found(f"there is no file {file}", "give the path of a Python file")
    # As `python file.py` does: the file's neighbours can be imported.
    sys.path.insert(0, str(file.resolve().parent))
    spec = spec_from_file_location(file.stem, file.resolve())
    if spec is None or spec.loader is None:
        raise _not_found(f"{file} is not a Python file", "give the path of a Python file")
    module = module_from_spec(spec)
    sys.modules[file.stem] = module
    with _CodeOfUsers(f"loading {file}"):
        spec.loader.exec_module(module)
    return module


def _module_of_name(name: str) -> ModuleType:
    sys.path.insert(0, os.getcwd())
    with _CodeOfUsers(f"loading {name}"):
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if not f"{name}.".startswith(f"{error.name}."):
                raise
            raise _not_found(str(error), "give file.py:function, or run in the folder that holds the module") from error


class _CodeOfUsers:
    """Code of the user's runs here: what it raises is a refusal with its own lines, and none of those that called it.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None,
                 ) -> None:
        if isinstance(error, SystemExit):
            raise UsageError(f"{self._what} ends the process (SystemExit: {error})", code="SG208",
                             help='put what a script does under if __name__ == "__main__":') from error
        if not isinstance(error, Exception) or isinstance(error, SdfgadError):
            return
        while place is not None and not _is_of_users(place.tb_frame.f_code.co_filename):
            place = place.tb_next
        lines = "".join(traceback.format_exception(type(error), error, place, chain=False)).rstrip()
        raise UsageError(f"{self._what} raises {type(error).__name__}\n{lines}", code="SG208") from error


def _is_of_users(file: str) -> bool:
    return is_users(file) and not file.startswith("<frozen")


def _attribute(module: ModuleType, name: str) -> Callable[..., Any]:
    function = getattr(module, name, None)
    if callable(function):
        return function
    near = get_close_matches(name, [n for n in vars(module) if callable(getattr(module, n))], n=3)
    raise _not_found(f"{module.__name__} has no function {name!r}", f"did you mean {', '.join(near)}?" if near else "")


def _example_function(module: ModuleType, name: str) -> Callable[..., Any]:
    wanted = (f"example_{name}", "example_arguments")
    found = next((maker for n in wanted if callable(maker := getattr(module, n, None))), None)
    if found is None:
        raise UsageError(f"there are no arguments to call {name}() with",
                         help=f"write {wanted[0]}() beside it that returns them, or give --args module:function")
    return found


def _call_maker(maker: Callable[..., Any], sizes: Mapping[str, Any], function: Callable[..., Any]) -> tuple[Any, ...]:
    parameters = inspect.signature(maker).parameters
    unknown = [name for name in sizes if name not in parameters]
    if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        raise UsageError(f"{maker.__name__}() does not take {', '.join(unknown)}",
                         help=f"it takes {', '.join(parameters) or 'nothing'}")
    with _CodeOfUsers(f"{maker.__name__}()"):
        made = maker(**sizes)
    return _in_order(made, function)


def _in_order(made: Any, function: Callable[..., Any]) -> tuple[Any, ...]:
    """Arguments given as a tuple, by name, or as one value, in the order of ``function``'s parameters."""
    if not isinstance(made, Mapping):
        return tuple(made) if isinstance(made, tuple | list) else (made,)
    try:
        return inspect.signature(getattr(function, "fn", function)).bind(**made).args
    except TypeError as error:
        raise UsageError(f"the example arguments do not fit: {error}") from error


def _npbench_subject(name: str, sizes: Mapping[str, Any], preset: str, data: bool) -> Subject:
    catalogue = import_module("npbench_suite.kernel")
    if name not in (names := catalogue.names()):
        near = get_close_matches(name, names, n=3) or names
        raise _not_found(f"there is no kernel {name!r}", f"kernels: {', '.join(near)}")
    kernel = catalogue.load(name)
    if preset or sizes:
        known = _preset(name, preset or "S")
        _check_sizes(name, sizes, known)
        chosen = known | dict(sizes)
        made = kernel.initialize(**chosen) if data else _stand_ins(kernel, chosen)
    else:
        made = kernel.sample(import_module("numpy.random").default_rng(0), 0)
    return Subject(f"{NPBENCH}:{name}", kernel.program, _in_order(made, kernel.program),
                  tuple(kernel.wrt or kernel.scalars), kernel.output)


def _stand_ins(kernel: Any, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as ``sdfgad.spec``s."""
    found = import_module("npbench_suite.specs").shapes(kernel, sizes)
    return {name: sdfgad.spec(value.shape, value.dtype) if hasattr(value, "dtype") else value
            for name, value in found.items()}


def _check_sizes(kernel: str, sizes: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for name, value in sizes.items():
        if name not in known:
            raise UsageError(f"{kernel} has no size {name!r}", help=f"sizes: {', '.join(known)}")
        if not isinstance(value, int | float) or value <= 0:
            raise UsageError(f"size {name} = {value!r} is no positive number", help="write -s N=512")


def _preset(kernel: str, preset: str) -> dict[str, Any]:
    folder = Path(import_module("npbench_suite.kernel").__file__ or "").parent
    presets = json.loads((folder / "presets.json").read_text())[kernel]["presets"]
    if preset not in presets:
        raise UsageError(f"there is no preset {preset!r}", help=f"presets: {', '.join(presets)}")
    return dict(presets[preset])


def _not_found(message: str, help: str) -> UsageError:
    return UsageError(message, code="SG208", help=help)
