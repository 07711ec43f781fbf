"""As much of JSON Schema as the shipped schemas use; a keyword it does not know is an error."""
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sdfgad

PLAN = Path(sdfgad.__file__).parent / "report" / "plan-1.schema.json"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
REMARKS = {"$schema", "$id", "$defs", "title", "description"}


def complaints(value: Any, file: Path = PLAN) -> list[str]:
    """What a document breaks of a schema."""
    schema = json.loads(file.read_text())
    return list(_check(value, schema, schema, "$"))


def _check(value: Any, schema: dict[str, Any], root: dict[str, Any], where: str) -> Iterator[str]:
    for keyword, wanted in schema.items():
        if keyword not in REMARKS:
            yield from _KEYWORDS[keyword](value, wanted, schema, root, where)


def _number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shorter(value, other):
    """Of a list and a list or a number of entries; whatever is no list has no length."""
    length = len(other) if isinstance(other, list) else other
    return isinstance(value, list) and isinstance(length, int) and len(value) < length


def _type(value, wanted, schema, root, where):
    number = _number(value)
    fits = {"number": number, "integer": number and isinstance(value, int)}.get(wanted)
    if not (isinstance(value, TYPES[wanted]) if fits is None else fits):
        yield f"{where} is {value!r}, no {wanted}"


def _properties(value, wanted, schema, root, where):
    for name in wanted.keys() & (value if isinstance(value, dict) else {}):
        yield from _check(value[name], wanted[name], root, f"{where}.{name}")


def _required(value, wanted, schema, root, where):
    if isinstance(value, dict):
        yield from (f"{where} has no {name}" for name in wanted if name not in value)


def _additional(value, wanted, schema, root, where):
    for name in (value if isinstance(value, dict) else {}).keys() - schema.get("properties", {}).keys():
        if wanted is False:
            yield f"{where} has an unknown {name}"
        else:
            yield from _check(value[name], wanted, root, f"{where}.{name}")


def _items(value, wanted, schema, root, where):
    for k, one in enumerate(value if isinstance(value, list) else ()):
        yield from _check(one, wanted, root, f"{where}[{k}]")


def _prefix(value, wanted, schema, root, where):
    for k, (one, kind) in enumerate(zip(value if isinstance(value, list) else (), wanted)):
        yield from _check(one, kind, root, f"{where}[{k}]")


def _any_of(value, wanted, schema, root, where):
    found = [list(_check(value, one, root, where)) for one in wanted]
    if all(found):
        yield from found[-1]


def _ref(value, wanted, schema, root, where):
    yield from _check(value, root["$defs"][wanted.removeprefix("#/$defs/")], root, where)


_KEYWORDS = {
    "type": _type, "properties": _properties, "required": _required, "additionalProperties": _additional,
    "items": _items, "prefixItems": _prefix, "anyOf": _any_of, "$ref": _ref,
    "const": lambda v, wanted, s, r, where: [] if v == wanted else [f"{where} is {v!r}, not {wanted!r}"],
    "enum": lambda v, wanted, s, r, where: [] if v in wanted else [f"{where} is {v!r}, none of {wanted}"],
    "minimum": lambda v, wanted, s, r, where: [f"{where} is {v}, below {wanted}"] if _number(v) and v < wanted else [],
    "minItems": lambda v, wanted, s, r, where: [f"{where} is too short"] if _shorter(v, wanted) else [],
    "maxItems": lambda v, wanted, s, r, where: [f"{where} is too long"] if _shorter([0] * wanted, v) else [],
}
