"""Text in which values of the run stand as they do in the source: no program formats numbers, so it is for messages."""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.errors import UnsupportedError
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import IntValue, Opaque, RunText, Value, contained, is_number

_CONVERSIONS: Mapping[str, Callable[[Any], str]] = MappingProxyType({"s": str, "r": repr, "a": ascii})


class _Shown:
    """A value of the run for `str.format` and `%`: it stands as dots, whatever the form."""

    def __format__(self, form: str) -> str:
        return "{...}"

    def __str__(self) -> str:
        return "{...}"

    __repr__ = __str__


def joined(ctx: Context, node: ast.JoinedStr) -> Value:
    """The text of an f-string."""
    pieces = [_piece(ctx, p) for p in node.values]
    text = "".join(p.text if isinstance(p, RunText) else p for p in pieces)
    return RunText(text) if any(isinstance(p, RunText) for p in pieces) else text


def _piece(ctx: Context, node: ast.expr) -> str | RunText:
    if not isinstance(node, ast.FormattedValue):
        return str(node.value)  # type: ignore[attr-defined]
    value = known(ctx, node.value)
    form = "" if node.format_spec is None else joined(ctx, node.format_spec)  # type: ignore[arg-type]
    if isinstance(value, RunText) and not form:
        return value
    if value is None and not _is_none(node.value) or isinstance(form, RunText) or isinstance(value, RunText):
        return RunText("{" + ast.unparse(node.value) + "}")
    return format(_CONVERSIONS[chr(node.conversion)](value) if node.conversion > 0 else value, form)


def known(ctx: Context, node: ast.expr) -> Value:
    """The value of an expression that is known now, or text for messages; None for others. Nothing is emitted."""
    back = ctx.mark()
    try:
        value = ctx.evaluate(ctx, node)
    except UnsupportedError:
        value = None
    back()
    if isinstance(value, IntValue):
        return value.ix.const
    return value if _is_known(value) or isinstance(value, RunText) else None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_known(value: Value) -> bool:
    plain = value if isinstance(value, tuple) else (value,)
    return all(isinstance(v, str) or is_number(v) for v in plain)


def text_of(kind: Callable[[Any], str]) -> Callable[..., Value]:
    """`str(object)` or `repr(object)`."""

    def rule(ctx: Context, object: Value = "") -> Value:
        if isinstance(object, (RunText, str)) and kind is str:
            return object
        if isinstance(object, IntValue) and object.ix.const is not None:
            object = object.ix.const
        if not any(isinstance(p, (Opaque, np.ndarray)) or type(p).__module__ == RunText.__module__
                   for p in contained(object)):
            return kind(object)
        source = "" if ctx.here is None else ctx.here.text()[ctx.here.column:ctx.here.end_column]
        begins = f"{kind.__name__}("
        inside = source.removeprefix(begins).removesuffix(")")
        return RunText("{" + (inside if source == f"{begins}{inside})" else "...") + "}")

    return rule


def combined(ufunc: np.ufunc, left: Value, right: Value) -> RunText | None:
    """`left + right` and `left % right` of texts that come to be for messages; None of everything else."""
    texts = [v for v in (left, right) if isinstance(v, (str, RunText))]
    if ufunc is np.add and len(texts) == 2 and RunText in map(type, texts):
        return RunText("".join(v.text if isinstance(v, RunText) else v for v in texts))
    if ufunc is not np.remainder or not isinstance(left, str) or _is_known(right):
        return None
    return _formatted(left, lambda: left % _shown(right))


def formatted(template: str, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> RunText:
    """`template.format(...)` with values of the run."""
    return _formatted(template, lambda: template.format(
        *map(_shown, arguments), **{k: _shown(v) for k, v in keywords.items()}))


def _formatted(template: str, fill: Callable[[], str]) -> RunText:
    """The template itself where it asks for something of its values, as `%d` does."""
    try:
        return RunText(fill())
    except (TypeError, ValueError, AttributeError, LookupError):
        return RunText(template)


def _shown(value: Value) -> Any:
    if isinstance(value, RunText):
        return value.text
    if isinstance(value, tuple):
        return tuple(_shown(v) for v in value)
    if isinstance(value, IntValue) and value.ix.const is not None:
        return value.ix.const
    return value if value is None or _is_known(value) else _Shown()
