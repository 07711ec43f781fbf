"""The house, enforced: imports only go down, dace stays in three packages, files and functions stay small."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# A module may import from its own layer and from those below.
LAYERS = {
    "errors": 0, "names": 0, "callers": 0, "explanations": 0, "logs": 0, "cores": 0, "config": 0, "memory": 0,
    "files": 0, "trees": 0, "ranks": 0, "arrays": 0, "caches": 0, "thresholds": 0, "garbage": 0, "locks": 0,
    "foreign": 0, "rooms": 0, "shown": 0, "later": 0,
    "ir": 1,
    "frontend": 2, "rules": 2,
    "analysis": 3,
    "transform": 4,
    "checkpoint": 5, "report": 5,
    "reverse": 6,
    "codegen": 7,
    "calls": 8, "plans": 8,
    "verbs": 9, "testing": 9, "adapters": 9,
    "cli": 10, "commands": 10, "__main__": 10,
}
TOP = 10
MAY_IMPORT_DACE = {"ir", "frontend", "codegen"}
LONGEST_FILE, LONGEST_FUNCTION, LONGEST_KERNEL, MEDIAN_FUNCTION = 400, 50, 60, 8
LARGEST_FOLDER = 25
MUTABLE_CALLS = {"list", "dict", "set", "bytearray", "defaultdict", "OrderedDict", "Counter", "deque",
                 "WeakKeyDictionary", "WeakValueDictionary"}
TOO_GENERAL = {"Exception", "BaseException"}
VAGUE_WORDS = {"new", "utils", "util", "manager", "helper", "helpers"}
LOOKED_AT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.ExceptHandler,
             ast.Raise)
# Names of mathematics that end in 2.
NUMPY_NAMES = {"atan2", "arctan2", "log2", "exp2", "norm2", "logaddexp2", "rfft2", "irfft2"}


@dataclass(frozen=True)
class Module:
    """One source file of the package or the suite."""

    path: str

    @cached_property
    def text(self) -> str:
        return (ROOT / self.path).read_text()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """The parts of the text that the rules are about: going through all of it takes seconds."""
        return tuple(n for n in ast.walk(self.tree) if isinstance(n, LOOKED_AT))

    @property
    def unit(self) -> str:
        """The layer's name: ``reverse`` of sdfgad/reverse/tape.py; empty for the package's own front page."""
        unit = Path(self.path).parts[1].removesuffix(".py")
        return "" if unit == "__init__" else unit

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        return (n for n in self.nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def _modules(folder: str) -> list[Module]:
    """Programs of the gallery are data: users write like that."""
    files = (file for file in sorted((ROOT / folder).rglob("*.py")) if file.parent.name != "gallery")
    return [Module(str(file.relative_to(ROOT))) for file in files]


PACKAGE = _modules("sdfgad")
SUITE = _modules("npbench_suite")
TESTS = _modules("tests")


def imported(module: Module) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every import, relative ones resolved."""
    parents = Path(module.path).with_suffix("").parts[:-1]
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
            origin = ".".join(part for part in (base, node.module) if part)
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)


def layer_of(name: str) -> int:
    """Layer of a dotted name below sdfgad; a name of the front page that is not a verb counts as the lowest."""
    parts = name.split(".")
    if len(parts) == 1:
        return LAYERS["verbs"]
    if parts[1] in LAYERS:
        return LAYERS[parts[1]]
    return 0 if parts[1] == "__version__" or parts[1][0].isupper() else LAYERS["verbs"]


def lines_of(modules: list[Module], rule: Callable[[Module], Iterator[str]]) -> list[str]:
    """Where modules break a rule, as `path:line: what`."""
    return [f"{module.path}:{found}" for module in modules for found in rule(module)]


def test_imports_go_down() -> None:
    def broken(module: Module) -> Iterator[str]:
        for line, name in imported(module) if module.unit else ():
            outside = name.split(".")[0] in ("npbench_suite", "tests")
            if outside or name.split(".")[0] == "sdfgad" and layer_of(name) > LAYERS[module.unit]:
                yield f"{line}: imports {name}"

    assert not {m.unit for m in PACKAGE} - {"", *LAYERS}, "add them to the table"
    assert not lines_of(PACKAGE, broken)


@pytest.mark.parametrize("unit, other", [("calls", "plans"), ("plans", "calls")])
def test_calls_and_plans_know_nothing_of_each_other(unit: str, other: str) -> None:
    modules = [m for m in PACKAGE if m.unit == unit]
    assert modules
    assert not lines_of(modules, lambda m: (str(at) for at, n in imported(m) if n.startswith(f"sdfgad.{other}")))


def test_dace_is_imported_in_three_packages_only() -> None:
    elsewhere = [m for m in PACKAGE if m.unit not in MAY_IMPORT_DACE]
    assert not lines_of(elsewhere, lambda m: (str(line) for line, n in imported(m) if n.split(".")[0] == "dace"))


# Folders of `codegen/`; a folder imports from those with smaller numbers, and no target from another one.
ROOMS = {"": 0, "cpu/schedule": 1, "cpu/nests": 1, "cpu/order": 2, "cpu/text": 3, "cpu": 4, "reference": 4, "cuda": 4}
TARGETS = "sdfgad/codegen/targets.py"
TABLES = (TARGETS, "sdfgad/transform/stages.py")
ABOUT_VECTORS = {"vector_bytes", "vector_registers"}


def room_of(name: str) -> str:
    """The folder of `codegen/` that a dotted name lies in."""
    parts = name.split(".")[2:]
    return next((room for k in range(len(parts), 0, -1) if (room := "/".join(parts[:k])) in ROOMS), "")


def test_targets_are_rooms_of_their_own() -> None:
    """What targets share knows none of them, and each is built from the nests of its loops upwards."""
    def broken(module: Module) -> Iterator[str]:
        mine = room_of(module.path.removesuffix(".py").replace("/", "."))
        for line, name in imported(module):
            room = room_of(name)
            if name.startswith("sdfgad.codegen.") and room != mine and (
                    ROOMS[room] >= ROOMS[mine] or room and room.split("/")[0] != mine.split("/")[0]):
                yield f"{line}: imports {name}"

    assert not lines_of([m for m in PACKAGE if m.unit == "codegen" and m.path != TARGETS], broken)


def test_what_one_target_alone_uses_lies_behind_its_door() -> None:
    """Passes and what they are made of: `transform/` has what comes before a target, and what several share."""
    modules = {_dotted(m): m for m in PACKAGE if m.path != TARGETS}
    below = {name: {n for _, found in imported(m) for n in (found, found.rpartition(".")[0]) if n in modules}
             for name, m in modules.items()}
    doors = {name: room_of(name).split("/")[0] for name in modules if name.startswith("sdfgad.codegen.")}
    users = {door: _reached({n for n in modules if doors.get(n, "") == door and modules[n].unit != "transform"}, below)
             for door in ("", "cpu", "reference", "cuda")}
    moved = {n for n in modules if modules[n].unit == "transform" and n.count(".") > 2}
    assert not {n for n in moved - users.pop("") if sum(n in found for found in users.values()) < 2}


def _dotted(module: Module) -> str:
    return module.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _reached(names: set[str], below: dict[str, set[str]]) -> set[str]:
    """Those modules and all that they import, however long the way."""
    reached, ahead = set(names), list(names)
    while ahead:
        found = below[ahead.pop()] - reached
        reached |= found
        ahead += found
    return reached


def test_nothing_above_looks_behind_the_seam() -> None:
    """A graph of the reference target is what `to_sdfg` gives: that is asked for by name."""
    def broken(module: Module) -> Iterator[str]:
        for line, name in imported(module):
            if name.startswith("sdfgad.codegen.") and room_of(name) and "reference.export" not in name:
                yield f"{line}: imports {name}"
            if name.split(".")[-1] in ABOUT_VECTORS:
                yield f"{line}: imports {name}"

    assert not lines_of([m for m in PACKAGE if m.unit != "codegen"], broken)


def test_no_circle_between_folders() -> None:
    """The own folder of the package and the tables know all others."""
    below: dict[str, set[str]] = {}
    for module in PACKAGE:
        folder = Path(module.path).parent
        if folder.name != "sdfgad" and module.path not in TABLES:
            below.setdefault(str(folder), set()).update(
                there for _, name in imported(module) if name.startswith("sdfgad.") and
                (there := _folder_of(name)) not in ("sdfgad", str(folder)))
    # A circle raises CycleError, which names it.
    assert set(TopologicalSorter(below).static_order()) >= set(below)


def _folder_of(name: str) -> str:
    """The folder of the module that a dotted name lies in."""
    path = Path(name.replace(".", "/"))
    return str(next(p for p in (path, *path.parents) if (ROOT / p).is_dir()))


def test_sizes_of_caches_have_one_home() -> None:
    homes = [m.path for m in PACKAGE if re.search(r"^LINE\b.*=", m.text, re.MULTILINE)]
    assert homes == ["sdfgad/caches.py", "sdfgad/checkpoint/roofline.py"], "the second one counts elements"


def test_speeds_have_one_home() -> None:
    """The machine's in its description, those of a part of it behind the door of the target that uses it."""
    words = "SECONDS?|SPEED|LATENCY|BANDWIDTH|NEAR_BYTES|CACHE_BYTES|STREAM_BYTES"
    speeds = re.compile(rf"^\w*(?:{words})\b.*= *[\d(]", re.MULTILINE)
    homes = {m.path for m in PACKAGE if speeds.search(m.text) and not room_of(_dotted(m))}
    assert homes == {"sdfgad/caches.py", "sdfgad/checkpoint/roofline.py"}


def test_folders_are_small() -> None:
    files = Counter(str(Path(m.path).parent) for m in PACKAGE)
    assert not {folder: n for folder, n in files.items() if n > LARGEST_FOLDER}


def test_one_module_asks_dace_for_code_and_changes_it() -> None:
    assert [m.path for m in PACKAGE if "dace.codegen" in m.text] == ["sdfgad/codegen/dace_text.py"]


def test_no_import_inside_a_function() -> None:
    """The first import of dace aside, which is slow and therefore lazy."""
    def broken(module: Module) -> Iterator[str]:
        inside = [range(f.lineno, (f.end_lineno or f.lineno) + 1) for f in module.functions()]
        return (str(node.lineno) for node in module.nodes if isinstance(node, ast.Import | ast.ImportFrom)
                and any(node.lineno in lines for lines in inside) and not _imports_dace(node))

    assert not lines_of(PACKAGE + SUITE, broken)


def test_what_is_loaded_later_is_seen_to_be_imported() -> None:
    """`x = later("module", "x")` beside `from module import x` for the types: the rules above look at imports."""
    def broken(module: Module) -> Iterator[str]:
        names = {name for _, name in imported(module)}
        for call in re.findall(r"^ {4}(\w+) = later\(\"(\S+)\", \"(\w+)\"\)", module.text, re.MULTILINE):
            if call[0] != call[2] or f"{call[1]}.{call[2]}" not in names:
                yield " ".join(call)

    assert not lines_of(PACKAGE, broken)
    assert sum(m.text.count(" = later(") for m in PACKAGE) > 20


def _imports_dace(node: ast.Import | ast.ImportFrom) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return all(name.split(".")[0] == "dace" for name in names)


def test_files_are_short() -> None:
    lengths = {m.path: len(m.text.splitlines()) for m in PACKAGE + SUITE + TESTS}
    assert not {path: n for path, n in lengths.items() if n > LONGEST_FILE}


def test_functions_are_short() -> None:
    """Programs of the suites are as long as in their sources."""
    for modules, longest in ((PACKAGE, LONGEST_FUNCTION), (SUITE, LONGEST_KERNEL)):
        assert not lines_of(modules, lambda m, longest=longest: (f"{f.lineno}: {f.name} has {_length(f)} lines"
                                                                 for f in m.functions() if _length(f) > longest))


def test_most_functions_are_very_short() -> None:
    lengths = sorted(_length(f) for module in PACKAGE for f in module.functions())
    assert lengths[len(lengths) // 2] <= MEDIAN_FUNCTION


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def test_no_mutable_module_state() -> None:
    """Use a tuple, a frozenset or a MappingProxyType."""
    def broken(module: Module) -> Iterator[str]:
        for node in module.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_mutable(node.value):
                names = [ast.unparse(t) for t in (node.targets if isinstance(node, ast.Assign) else [node.target])]
                yield from (f"{node.lineno}: {name}" for name in names if name != "__all__")

    assert not lines_of([m for m in PACKAGE if m.path != "sdfgad/rules/registry.py"], broken)


def _is_mutable(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
        return name in MUTABLE_CALLS
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


def test_no_broad_except_and_no_bare_exception() -> None:
    def broken(module: Module) -> Iterator[str]:
        for n in module.nodes:
            if isinstance(n, ast.ExceptHandler) and (n.type is None or _names(n.type) & TOO_GENERAL):
                yield str(n.lineno)
            if isinstance(n, ast.Raise) and n.exc is not None and _names(n.exc) & TOO_GENERAL:
                yield str(n.lineno)

    assert not lines_of(PACKAGE + SUITE, broken)


def _names(node: ast.expr) -> set[str]:
    """The class names an ``except`` or ``raise`` mentions first."""
    if isinstance(node, ast.Tuple):
        return set().union(*(_names(item) for item in node.elts))
    target = node.func if isinstance(node, ast.Call) else node
    return {target.id} if isinstance(target, ast.Name) else set()


def test_no_vague_names() -> None:
    def broken(module: Module) -> Iterator[str]:
        names = {n.name: n.lineno for n in module.nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        return (f"{line}: {name}" for name, line in {Path(module.path).stem: 1, **names}.items() if _is_vague(name))

    assert not lines_of(PACKAGE, broken)


def _is_vague(name: str) -> bool:
    if name.startswith("__"):  # Python's own
        return False
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    return bool(words & VAGUE_WORDS) or (name.endswith("2") and name.strip("_").lower() not in NUMPY_NAMES)


def test_no_two_classes_of_one_name() -> None:
    names = Counter(n.name for m in PACKAGE for n in m.nodes if isinstance(n, ast.ClassDef))
    assert not {name for name, times in names.items() if times > 1}


@pytest.mark.parametrize("name, vague", [
    ("grad2", True), ("new_plan", True), ("PlanManager", True), ("news", False), ("log2", False), ("utils", True),
    ("renewed", False), ("__new__", False), ("_new", True),
])
def test_what_counts_as_vague(name: str, vague: bool) -> None:
    assert _is_vague(name) is vague
