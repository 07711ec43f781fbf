"""Large programs as many functions: compilers take more than twice as long for a function that is twice as long.

Works on the text of a function, one statement or brace per line. Blocks move into functions of their own, unchanged; a
name that is declared around a block becomes a parameter, or is declared once more where that is the same at any place.
Blocks that come again with other names are one function.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sdfgad.codegen.cpu.text.repeats import PLACE, Repeats, placed
from sdfgad.thresholds import thresholds

_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_HOW = r"(?:alignas\(\w+\) )?(?:static |constexpr |const )*"
_DECLARED = re.compile(rf"^\s*{_HOW}[\w:]+(?:<[\w:, ]*>)?[\s*&]+(?:__restrict__ |const )?(\w+)\s*(?:=[^=]|\{{\}}|;|\[)")
_PLAIN = re.compile(rf"^{_HOW}(?:u?int\d+_t|int|size_t|bool|float|double|long long|dace::complex\d+)\b|\*")
_COUNTER = re.compile(r"\bfor \((?:const )?(?:int64_t|int|long long|auto|size_t) (\w+) =")
_PARAMETER = re.compile(r"(\w+)\s*(?:,|\)$)")
_STATE = re.compile(r"\((\w+) ?\* ?__state")
_ANYWHERE = re.compile(r"= &?__state->sg_arena\.at<[\w:]+>\(\d+\)(?:\[0\])?;$")
_TOGETHER = re.compile(r"\bcollapse\((\d+)\)")
_LEAVES = re.compile(r"\b(?:return|goto|break|continue)\b|#pragma omp (?:parallel|critical|single|master|sections)")
_THREADS = re.compile(r"#pragma omp (?!parallel for|for|simd)|\breduction\(")
_NOT_NAMES = frozenset(("return", "else", "delete", "goto", "using", "typedef"))


@dataclass(frozen=True)
class _Nest:
    """Lines up to an opening brace, what is inside, and the line with the closing one. more: what follows it belongs to
    it, as after `} else {`."""

    head: tuple[str, ...]
    inside: tuple[_Item, ...]
    end: str

    @property
    def together(self) -> int:
        """How many loops, one in the other, share their iterations among threads: nothing may come between them."""
        return max((int(n) for line in self.head for n in _TOGETHER.findall(line)), default=1)

    @property
    def loops(self) -> bool:
        return self.head[-1].lstrip().startswith(("for ", "while "))


_Item = str | _Nest


class _Unclear(Exception):
    """Text that is not one statement or brace per line."""


def outline(code: str, opening: str) -> str:
    """The code, with the long function that begins with the line `opening` (its parameters included) as several.

    for t { {A} {B} ... }   ->   void piece_1(state, t) { {A} {B} } ; for t { piece_1(state, t); ... }
    """
    start = code.find(opening)
    lines = code[start:].splitlines()
    state = _STATE.search(lines[0])
    if start < 0 or state is None or len(code) < thresholds().cut_program:
        return code
    try:
        end = _end(lines)
        items = _items(iter(lines[2:end]))
    except _Unclear:
        return code
    scope = dict.fromkeys(_PARAMETER.findall(lines[0]), "")
    names = scope.keys() | {name for line in lines[2:end] for name in _declared_by(line)}
    repeats = Repeats(("\n".join(text) for text in _blocks(items)), names)
    cutter = _Cutter(opening.split("(")[0].split()[-1], state[1], repeats)
    body = list(cutter.cut(items, scope))
    rest = lines[end:]
    return "\n".join([code[:start].rstrip("\n"), *cutter.functions, *lines[:2], *body, *rest, ""])


def _end(lines: list[str]) -> int:
    """The line that closes a function whose second line opens it."""
    if lines[1].strip() != "{":
        raise _Unclear
    depth = 0
    for k, line in enumerate(lines[1:], start=1):
        depth += line.count("{") - line.count("}")
        if depth == 0:
            return k
    raise _Unclear


def _items(lines: Iterator[str], closing: list[str] | None = None) -> tuple[_Item, ...]:
    """Statements and nests up to the brace that closes them, whose line goes to `closing`."""
    found: list[_Item] = []
    head: list[str] = []
    for line in lines:
        text = line.strip()
        change = line.count("{") - line.count("}")
        if text.startswith("else"):  # it would be a nest of its own, away from its `if`
            raise _Unclear
        if text.startswith("}") and change <= 0:
            if closing is None or (change == 0 and not text.endswith("{")) or change < -1:
                raise _Unclear
            closing.append(line)
            return tuple(found + list(head))
        if change == 0 and text.startswith("#pragma"):
            head.append(line)
        elif change == 0:
            found += [*head, line] if text else head
            head = []
        elif change == 1:
            found.append(_nest((*head, line), lines))
            head = []
        else:
            raise _Unclear
    if closing is not None:
        raise _Unclear
    return tuple(found + list(head))


def _nest(head: tuple[str, ...], lines: Iterator[str]) -> _Nest:
    end: list[str] = []
    inside = _items(lines, end)
    if end[0].rstrip().endswith("{"):  # `} else {`: both parts are one
        rest: list[str] = []
        other = _items(lines, rest)
        if rest[0].rstrip().endswith("{"):
            raise _Unclear
        return _Nest(head, (*inside, end[0], *_flat(other)), rest[0])
    return _Nest(head, inside, end[0])


def _flat(items: Iterable[_Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, str):
            yield item
        else:
            yield from item.head
            yield from _flat(item.inside)
            yield item.end


def _blocks(items: Iterable[_Item]) -> Iterator[list[str]]:
    """The lines of all nests that are not too long, and are in no such nest."""
    for item in items:
        if isinstance(item, _Nest):
            text = list(_flat((item,)))
            yield from [text] if _size(text) <= thresholds().long_block else _blocks(item.inside)


def _size(text: list[str]) -> int:
    return sum(map(len, text))


class _Cutter:
    """functions: what has been moved out. stem: what their names begin with. state: the type of what `__state` points
    at, which has templates. repeats: what is there more than once."""

    def __init__(self, stem: str, state: str, repeats: Repeats) -> None:
        self.stem = stem
        self.state = state
        self.repeats = repeats
        self.functions: list[str] = []
        self._shared: dict[tuple[str, ...], str] = {}

    def cut(self, items: Iterable[_Item], scope: Mapping[str, str]) -> Iterator[str]:
        """The lines of a block, with what is long in it moved out. scope: the names around, with the lines that declare
        them; a counter or a parameter has none."""
        scope = dict(scope)
        group: list[str] = []
        for item in items:
            text = [item] if isinstance(item, str) else list(_flat((item,)))
            size = _size(text)
            movable = isinstance(item, _Nest) and size <= thresholds().long_block and _stays_inside(item, text)
            again = isinstance(item, _Nest) and self._comes_again(item, text)
            if group and (not movable or again or _size(group) + size > thresholds().long_block):
                yield from self._moved(group, scope)
                group = []
            if again:
                yield self._called(text, scope)
            elif movable:
                group += text
            elif isinstance(item, str):
                _declare(item, scope)
                yield item
            elif size <= thresholds().long_block:
                yield from text
            else:
                yield from self._opened(item, scope, item.together)
        yield from self._moved(group, scope)

    def _opened(self, item: _Nest, scope: Mapping[str, str], together: int) -> Iterator[str]:
        """The lines of a nest with what is long in it moved out; of loops that go together, what is in the last one."""
        yield from item.head
        inner = {**scope, **dict.fromkeys(_COUNTER.findall(item.head[-1]), "")}
        for part in item.inside if together > 1 else ():
            yield from [part] if isinstance(part, str) else self._opened(part, inner, together - 1)
        yield from self.cut(item.inside, inner) if together == 1 else ()
        yield item.end

    def _comes_again(self, item: _Nest, text: list[str]) -> bool:
        return (thresholds().repeated_block <= _size(text) <= thresholds().long_block
                and not any(_THREADS.search(line) for line in text) and _stays_inside(item, text, threads=True)
                and self.repeats.often("\n".join(text)))

    def _moved(self, text: list[str], scope: Mapping[str, str]) -> Iterator[str]:
        """A call of a new function that does what the text does; the text itself where that is short."""
        if len("\n".join(text)) < thresholds().short_block:
            yield from text
            return
        passed, body = self._apart(text, scope)
        yield f"{self._function(list(passed), [*passed.values()], body)}({', '.join(passed)});"

    def _called(self, text: list[str], scope: Mapping[str, str]) -> str:
        """A call of the function that does what the text does with the same names for others."""
        passed, whole = self._apart(text, scope)
        body, places = placed(whole)
        key = (*passed.values(), self.repeats.form(body))
        if key not in self._shared:
            extra = [f"{PLACE}_{k}" for k in range(len(places))]
            self._shared[key] = self._function([*passed, *extra], [*passed.values(), *len(extra) * ["int64_t "]], body)
        return f"{self._shared[key]}({', '.join([*passed, *places])});"

    def _apart(self, text: list[str], scope: Mapping[str, str]) -> tuple[dict[str, str], str]:
        """What a function that does what the text does is given, with types, and its body."""
        whole = "\n".join(text)
        used = dict.fromkeys(n for n in _NAME.findall(whole) if n in scope)
        again = [n for n in used if _ANYWHERE.search(scope[n])]
        passed = [n for n in used if n not in again]
        if again and "__state" not in passed:
            passed.insert(0, "__state")
        # A block of its own: a name may be declared anew in it.
        return ({n: self._kind(n, scope[n], whole) for n in passed},
                "\n".join([*(scope[n] for n in again), "{", whole, "}"]))

    def _function(self, names: list[str], types: list[str], body: str) -> str:
        """The name of a new function."""
        name = f"{self.stem}_piece_{len(self.functions) + 1}"
        parameters = ", ".join(type + parameter for type, parameter in zip(types, names, strict=True))
        self.functions.append("\n".join([f"SG_PIECE static void {name}({parameters})", "{", body, "}"]))
        return name

    def _kind(self, name: str, declaration: str, text: str) -> str:
        """The type of a parameter. Whose templates are called has to be known."""
        if name == "__state":
            return f"{self.state} *"
        if declaration.startswith("sg::Tapes"):
            return "sg::Tapes *"
        return "auto " if _is_value(declaration) and not _changes(name, text) else "auto &"


def _stays_inside(item: _Nest, text: list[str], threads: bool = False) -> bool:
    """Whether control enters a nest at its beginning and leaves it at its end. threads: also where it starts some."""
    if not threads and any(line.lstrip().startswith("#pragma omp") and "simd" not in line for line in item.head[:-1]):
        return False
    found = {m for line in text for m in _LEAVES.findall(line)} - ({"#pragma omp parallel"} if threads else set())
    return not found or (item.loops and found <= {"break", "continue"})


def _declare(line: str, scope: dict[str, str]) -> None:
    match = _DECLARED.match(line)
    if match and line.split()[0] not in _NOT_NAMES:
        scope[match[1]] = line.strip()


def _declared_by(line: str) -> list[str]:
    """The names that a line declares."""
    match = _DECLARED.match(line)
    return [*([match[1]] if match and line.split()[0] not in _NOT_NAMES else []), *_COUNTER.findall(line)]


def _is_value(declaration: str) -> bool:
    """Whether a copy of what is declared there is as good as itself, as long as neither changes."""
    return not declaration or _PLAIN.search(declaration.split("=")[0]) is not None


def _changes(name: str, text: str) -> bool:
    """Whether the text may give a name another value: assigns to it, passes it on as it is, or takes its address."""
    sets = (rf"&{name}\b", rf"\b{name} (?:[-+*/%|&^]|<<|>>)?=(?!=)", rf"\b{name}(?:\+\+|--)", rf"(?:\+\+|--){name}\b",
            rf"reduction\([^)]*\b{name}\b", rf"[(,] ?{name}[,)](?=.*;$)")
    return any(re.search(pattern, text, re.MULTILINE) for pattern in sets)
