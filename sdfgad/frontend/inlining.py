"""Python functions, whose body runs in place."""
from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import FunctionType

from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.loops.exits import own_result, result_of
from sdfgad.frontend.merging.generators import Yielding, is_generator, suspended
from sdfgad.frontend.state.context import EXITS, Context
from sdfgad.frontend.state.frames import CallFrame
from sdfgad.frontend.state.values import Lazy, Record, Value
from sdfgad.frontend.static.outside import defaults_of
from sdfgad.frontend.syntax.liveness import Liveness, analyse, load_names
from sdfgad.frontend.syntax.source import SourceText, code_of

MAX_DEPTH = 50
_DEPTH = "recursion needs a depth known in advance, long lists are better arrays"


@lru_cache(maxsize=4096)
def _analysis(code: SourceText) -> Liveness:
    return analyse(code.body, parameter_names(code.node.args))


@lru_cache(maxsize=4096)
def own_code(function: Callable[..., Value], text: str) -> SourceText:
    """The source of a function. text: what the user says it is."""
    return code_of(function, text)


def parameter_names(arguments: ast.arguments) -> list[str]:
    """All parameters of a function, in order."""
    found = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return found + [a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None]


def run_in_place(ctx: Context, code: SourceText, enclosing: CallFrame | None, arguments: list[Value],
                 keywords: dict[str, Value], defaults: Sequence[Value], keyword_defaults: Mapping[str, Value],
                 quiet: bool) -> Value:
    """Run the body of a function where it is called. quiet: its lines are not the user's."""
    if len(ctx.frames) >= MAX_DEPTH:
        raise ctx.refuse(f"calls nested more than {MAX_DEPTH} deep", _DEPTH, "SG107")
    names = _parameters(ctx, code, arguments, keywords, defaults, keyword_defaults)
    if is_generator(code):
        return suspended(ctx, Yielding(code, {n: kept(ctx, v, n) for n, v in names.items()}, enclosing))
    frame = CallFrame(code, _analysis(code), dict.fromkeys(EXITS, False), enclosing,
                  quiet or (bool(ctx.frames) and ctx.frame.quiet), len(ctx.builder.regions))
    uses = _single_uses(code)
    for name, value in names.items():
        frame.names[name] = value if name in uses and isinstance(value, Lazy) else kept(ctx, value, name)
    return _run(ctx, frame)


def _run(ctx: Context, frame: CallFrame) -> Value:
    source, here = ctx.builder.source, ctx.here
    frame.called_from = here if ctx.frames else None
    ctx.frames.append(frame)
    try:
        ctx.execute(ctx, frame.code.body)
        result = own_result(ctx, result_of(ctx))
    except RecursionError:
        raise ctx.refuse("calls in branches, loops written out or sums nested too deep", _DEPTH, "SG107") from None
    finally:
        ctx.frames.pop()
    ctx.builder.source, ctx.here = source, here
    return result


def run_wrapper(ctx: Context, function: FunctionType, code: SourceText, arguments: list[Value],
                keywords: dict[str, Value]) -> Value:
    """Run a wrapper around the function that is being translated."""
    defaults, more = defaults_of(ctx, function)
    return run_top(ctx, code, _parameters(ctx, code, arguments, keywords, defaults, more))


def run_top(ctx: Context, code: SourceText, names: dict[str, Value]) -> Value:
    """Run the function that is being translated."""
    return _run(ctx, top_frame(code, names))


def top_frame(code: SourceText, names: dict[str, Value]) -> CallFrame:
    """The frame of the function that is being translated."""
    return CallFrame(code, _analysis(code), {**dict.fromkeys(EXITS, False), **names})


@lru_cache(maxsize=4096)
def _single_uses(code: SourceText) -> frozenset[str]:
    """Parameters read exactly once, outside loops and inner functions: their value need not be stored first."""
    reads = [n for s in code.body for n in load_names(s)]
    repeated = {name for s in code.body for node in ast.walk(s)
                if isinstance(node, (ast.For, ast.While, ast.FunctionDef, ast.Lambda, ast.ListComp, ast.GeneratorExp))
                for name in load_names(node)}
    stored = {n.target.id for s in code.body for n in ast.walk(s)
              if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    places = {n.value.id for s in code.body for n in ast.walk(s)
              if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name)}
    return frozenset(n for n in reads if reads.count(n) == 1) - repeated - stored - places


def _parameters(ctx: Context, code: SourceText, arguments: list[Value], keywords: dict[str, Value],
                defaults: Sequence[Value], keyword_defaults: Mapping[str, Value]) -> dict[str, Value]:
    signature = code.node.args
    positional = [a.arg for a in (*signature.posonlyargs, *signature.args)]
    names: dict[str, Value] = dict(zip(positional[len(positional) - len(defaults):], defaults, strict=True))
    names.update(keyword_defaults)
    names.update(zip(positional, arguments, strict=False))
    surplus = arguments[len(positional):]
    if surplus and signature.vararg is None:
        raise ctx.refuse(f"{len(arguments)} arguments for {len(positional)} parameters of {code.name}", code="SG102")
    if signature.vararg is not None:
        names[signature.vararg.arg] = tuple(surplus)
    allowed = {*positional, *(a.arg for a in signature.kwonlyargs)}
    given = set(positional[:len(arguments)])
    extra = {k: v for k, v in keywords.items() if k not in allowed}
    twice = given & keywords.keys()
    if twice or (extra and signature.kwarg is None):
        raise ctx.refuse(f"the arguments {', '.join(sorted(twice or extra))} of {code.name}", code="SG102")
    names.update({k: v for k, v in keywords.items() if k in allowed})
    if signature.kwarg is not None:
        names[signature.kwarg.arg] = Record(dict, extra, len(ctx.builder.regions))
    if missing := [n for n in allowed if n not in names]:
        raise ctx.refuse(f"a call of {code.name} without {', '.join(sorted(missing))}", code="SG102")
    return names
