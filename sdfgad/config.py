"""Settings and where they come from.

Precedence: argument > ``with sdfgad.config(...)`` > environment ``SDFGAD_*`` > ``[tool.sdfgad]`` of the nearest
pyproject.toml > defaults.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from warnings import warn

from sdfgad.callers import warn as warn_user
from sdfgad.cores import usable_cores
from sdfgad.errors import UsageError, working_folder
from sdfgad.memory import parse_bytes

LOG_LEVELS = ("debug", "info", "warning", "error")
CHECK_MODES = ("off", "warn", "error")
DEVICES = ("cpu", "gpu")
TARGETS = ("cpu", "reference", "cuda", "cuda ordered", "cpu checked")


@dataclass(frozen=True)
class Settings:
    """The merged settings; every field may also be given as ``SDFGAD_<FIELD>`` in the environment."""

    cache_dir: str | None = None
    """Folder of compiled programs; None: the user's cache folder."""
    memory_limit: int | str | None = None
    """As :func:`sdfgad.grad` takes it; still to be read by ``parse_bytes`` because a share depends on the moment."""
    device: str = "cpu"
    """Where programs run: "cpu", or "gpu" for an NVIDIA graphics processor. A target other than "cpu" has its own."""
    deterministic: bool = False
    """The same digits in every run. On a graphics processor sums of which data decide who adds to what are sorted for
    it, which takes memory and time that `plan` tells; on the processor there are as many threads as asked for."""
    target: Any = "cpu"
    """What programs are made for: the processor, or plain graphs, one statement after the other, compiled by DaCe's own
    generators."""
    num_threads: int | None = None
    """The most threads of a call. None: as many as there are cores that this process may use."""
    thread_guard: bool = True
    """Fewer threads than that while other work takes the cores. False: always exactly as many."""
    solver_time_limit: float = 30.0
    """Seconds that one integer program may take."""
    mpi_timeout: float = 1800.0
    """Seconds that a rank waits for a message or for the others in a collective before it ends all ranks."""
    log: str = "warning"
    check: str = "off"
    """What happens when the measured peak is above the predicted one."""
    progress: bool | None = None
    """Whether a line on stderr tells about what takes longer than a second; None: where stderr is a terminal."""
    debug_nans: bool = False
    """End a call where NaN first comes from numbers that are none, with a `NanError` that names the line, and where an
    index that data decide leaves its array, with an `IndexError`. Programs are
    compiled again for it, run on the processor, statement by statement, and are slow; those for the reference target
    are not looked at. The environment is asked once."""
    verify: bool = False
    """Look after every pass whether the program keeps all rules (`InvariantError`); slow, for reports of bugs."""


@dataclass(frozen=True)
class Origin:
    """A value and the place that decided it."""

    value: Any
    source: str


def _text(value: Any) -> str:
    text = os.fspath(value)
    _require(isinstance(text, str) and text != "")
    return text


def _limit(value: Any) -> int | str:
    parse_bytes(value)
    return value if isinstance(value, str) else int(value)


def _count(value: Any) -> int:
    _require(not isinstance(value, bool | float) and int(value) >= 1)
    return int(value)


def _seconds(value: Any) -> float:
    _require(not isinstance(value, bool) and float(value) > 0)
    return float(value)


def _log_level(value: Any) -> str:
    _require(value in LOG_LEVELS)
    return str(value)


def _check_mode(value: Any) -> str:
    _require(value in CHECK_MODES)
    return str(value)


def _target(value: Any) -> Any:
    _require(value in TARGETS if isinstance(value, str) else isinstance(getattr(value, "name", None), str))
    return value


def _device(value: Any) -> str:
    _require(value in DEVICES)
    return str(value)


def _flag(value: Any) -> bool:
    text = str(value).strip().lower()
    _require(text in _TRUE + _FALSE)
    return text in _TRUE


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
_READERS: Mapping[str, tuple[Callable[[Any], Any], str]] = MappingProxyType({
    "cache_dir": (_text, "the path of a folder"),
    "memory_limit": (_limit, "a number of bytes"),
    "device": (_device, f"one of {', '.join(DEVICES)}"),
    "deterministic": (_flag, "true or false"),
    "target": (_target, f"one of {', '.join(TARGETS)}, or a target of one's own"),
    "num_threads": (_count, "an integer of at least 1"),
    "thread_guard": (_flag, "true or false"),
    "solver_time_limit": (_seconds, "a number of seconds above 0"),
    "mpi_timeout": (_seconds, "a number of seconds above 0"),
    "log": (_log_level, f"one of {', '.join(LOG_LEVELS)}"),
    "check": (_check_mode, f"one of {', '.join(CHECK_MODES)}"),
    "progress": (_flag, "true or false"),
    "debug_nans": (_flag, "true or false"),
    "verify": (_flag, "true or false"),
})
_context: ContextVar[Mapping[str, Any]] = ContextVar("sdfgad_config", default=MappingProxyType({}))


def config(**values: Any) -> AbstractContextManager[Settings]:
    """Settings for a block: ``with sdfgad.config(memory_limit="4GB", num_threads=2): ...``; None leaves one alone.

    Without ``with`` nothing is set, and a warning says so. For a whole process there are the environment variables.
    """
    return _SettingsBlock(_read_all(_given(values), "sdfgad.config()"), tuple(_given(values)))


class _SettingsBlock(ContextDecorator, AbstractContextManager[Settings]):
    """What `config` gives: settings for a ``with`` block, or for each call of a function that it decorates."""

    def __init__(self, values: Mapping[str, Any], names: tuple[str, ...]) -> None:
        self._values, self._names, self._is_used = values, names, False
        self._blocks: list[AbstractContextManager[None]] = []

    def __enter__(self) -> Settings:
        self._is_used = True
        block = _put(self._values)
        block.__enter__()
        self._blocks.append(block)
        return settings()

    def __exit__(self, *error: Any) -> None:
        self._blocks.pop().__exit__(*error)

    def __call__(self, function: Any) -> Any:
        self._is_used = True
        return super().__call__(function)

    def _recreate_cm(self) -> _SettingsBlock:
        """One for each call of a function that is decorated: calls may come from several threads."""
        return _SettingsBlock(self._values, self._names)

    def __del__(self) -> None:
        # Written as a statement, it is deleted at once: the line above this one on the stack is the user's.
        if self._names and not self._is_used:
            warn(f"sdfgad.config({', '.join(f'{name}=...' for name in self._names)}) sets nothing by itself: write "
                 f"`with sdfgad.config(...):`, or set {', '.join(f'SDFGAD_{name.upper()}' for name in self._names)} in "
                 "the environment for all of a process", stacklevel=2)


@contextmanager
def _put(values: Mapping[str, Any]) -> Iterator[None]:
    token = _context.set(MappingProxyType({**_context.get(), **values}))
    try:
        yield
    finally:
        _context.reset(token)


def within(**values: Any) -> AbstractContextManager[None]:
    """Like `config`, for one call: cheap, as nobody asks for all settings."""
    return _put(_read_all(_given(values), "the call"))


def for_same_target(device: str | None = None) -> Callable[[], AbstractContextManager[None]]:
    """Makes blocks with the target that is in force now, for what is asked later, where another one may be. device: if
    it is said there and not in the settings."""
    # What there is to choose by is settled, too: the target of the processor would ask for it again.
    return partial(within, target=chosen_target(device), device="cpu", debug_nans=False)


def settings(**arguments: Any) -> Settings:
    """The merged settings; ``arguments`` that are not None win over everything else."""
    return Settings(**{name: origin.value for name, origin in origins(**arguments).items()})


def _outside(name: str) -> Callable[[str | None], Any]:
    """What environment and project files say of a setting; asked again when its variable, which is given, changes."""
    return lru_cache(maxsize=8)(lambda _: getattr(settings(), name))


_outer_threads, _outer_guard, _outer_verify = map(_outside, ("num_threads", "thread_guard", "verify"))
_outer_target, _outer_device = map(_outside, ("target", "device"))
_outer_nans, _outer_order, _outer_wait = map(_outside, ("debug_nans", "deterministic", "mpi_timeout"))


def thread_count() -> int | None:
    """The number of threads in force; cheap enough for every call, unlike `settings`."""
    value = _context.get().get("num_threads")
    return _outer_threads(os.environ.get("SDFGAD_NUM_THREADS")) if value is None else int(value)


def asked_threads(count: int | None) -> int:
    """What a compiled program is told: the most threads of a call, 0 for one a core; negative where it has to be
    exactly so many."""
    guard = _context.get().get("thread_guard")
    if guard is None:
        guard = _outer_guard(os.environ.get("SDFGAD_THREAD_GUARD"))
    guard = guard and not _is_deterministic()
    return count or 0 if guard else -(count or usable_cores())


def chosen_target(device: str | None = None, deterministic: bool | None = None) -> Any:
    """What programs are made for, a name or a `codegen.target.Target`; as cheap as `thread_count`. device,
    deterministic: if they are said there and not in the settings."""
    value = _context.get().get("target")
    if value is None:
        value = _outer_target(os.environ.get("SDFGAD_TARGET"))
    on_cpu = isinstance(value, str) and value == "cpu"
    if on_cpu and _finds_nans():
        return "cpu checked"
    if not on_cpu or (device or _chosen_device()) != "gpu":
        return value
    return "cuda ordered" if (_is_deterministic() if deterministic is None else deterministic) else "cuda"


def looks_closely() -> bool:
    """Whether programs are made to find out where their numbers come from (`debug_nans`)."""
    return bool(chosen_target() == "cpu checked")


def limit_of_block(asked: Any) -> Any:
    """The memory limit that a call or the block around it asks for, as it was written; as cheap as `thread_count`, and
    so what environment and files say is left to `settings`."""
    return _context.get().get("memory_limit") if asked is None else asked


def _chosen_device() -> str:
    value = _context.get().get("device")
    return _outer_device(os.environ.get("SDFGAD_DEVICE")) if value is None else str(value)


def _finds_nans() -> bool:
    value = _context.get().get("debug_nans")
    # Asked once: one more look at the environment would be felt in every call.
    return _outer_nans(None) if value is None else bool(value)


def _is_deterministic() -> bool:
    value = _context.get().get("deterministic")
    return _outer_order(os.environ.get("SDFGAD_DETERMINISTIC")) if value is None else bool(value)


def longest_wait() -> float:
    """Seconds that a rank waits for others; as cheap as `thread_count`."""
    value = _context.get().get("mpi_timeout")
    return float(_outer_wait(os.environ.get("SDFGAD_MPI_TIMEOUT")) if value is None else value)


def verifying() -> bool:
    """Whether all rules are looked at after every pass; as cheap as `thread_count`."""
    value = _context.get().get("verify")
    return _outer_verify(os.environ.get("SDFGAD_VERIFY")) if value is None else bool(value)


def origins(**arguments: Any) -> Mapping[str, Origin]:
    """Each setting with the place that decided it, for ``sdfgad doctor``."""
    merged = {name: Origin(value, "default") for name, value in asdict(Settings()).items()}
    for source, values in _layers(arguments):
        merged |= {name: Origin(value, source) for name, value in values.items()}
    return MappingProxyType(merged)


def _layers(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The layers from weak to strong; later ones win."""
    yield from _openmp_layer()
    folder = working_folder()
    if folder and (file := nearest_pyproject(folder)):
        yield str(file), _file_layer(file, file.stat().st_mtime_ns)
    _warn_of_others(tuple(n for n in os.environ if n.startswith("SDFGAD_")))
    for name in (field.name for field in fields(Settings)):
        if value := os.environ.get(variable := f"SDFGAD_{name.upper()}"):
            yield f"environment {variable}", _read_all({name: value}, variable)
    yield "sdfgad.config()", _context.get()
    yield "argument", _read_all(_given(arguments), "the call")


@lru_cache(maxsize=8)
def _warn_of_others(variables: tuple[str, ...]) -> None:
    """A variable with a wrong name would set nothing, and nobody would know."""
    known = [f"SDFGAD_{field.name.upper()}" for field in fields(Settings)]
    for name in variables:
        if name not in known and not name.startswith(("SDFGAD_TEST_", "SDFGAD_THRESHOLDS")):
            near = get_close_matches(name, known, n=1) or known
            warn_user(f"{name} in the environment sets nothing: there are {', '.join(near)}", UserWarning)


def _openmp_layer() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """``OMP_NUM_THREADS`` may list one number per nesting level; the first is the team that gradients use."""
    outermost = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if outermost.isdigit() and int(outermost) > 0:
        yield "environment OMP_NUM_THREADS", {"num_threads": int(outermost)}


def nearest_pyproject(folder: str) -> Path | None:
    """The pyproject.toml of ``folder`` or of the closest folder above it."""
    start = Path(folder)
    return next((file for f in (start, *start.parents) if (file := f / "pyproject.toml").is_file()), None)


@lru_cache(maxsize=8)
def _file_layer(file: Path, changed: int) -> Mapping[str, Any]:
    """``[tool.sdfgad]`` of ``file``; ``changed`` is its time stamp, so that an edit is seen."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("sdfgad", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not valid TOML: {error}", code="SG207") from error
    values = {name.replace("-", "_"): value for name, value in table.items()}
    return MappingProxyType(_read_all(values, f"[tool.sdfgad] of {file}"))


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _read_all(values: Mapping[str, Any], source: str) -> dict[str, Any]:
    return {name: _read(name, value, source) for name, value in values.items()}


def _read(name: str, value: Any, source: str) -> Any:
    if name not in _READERS:
        raise UsageError(f"{source}: there is no setting {name!r}", code="SG207",
                         help=f"settings: {', '.join(_READERS)}")
    reader, expected = _READERS[name]
    try:
        return reader(value)
    except UsageError as error:
        raise UsageError(f"{source}: {name}: {error.message}", code=error.code, help=error.help) from error
    except (ValueError, TypeError) as error:
        raise UsageError(f"{source}: {name} is {value!r}", code="SG207", help=f"give {expected}") from error
