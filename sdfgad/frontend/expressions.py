"""Expressions: one function per kind of syntax node."""
from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from enum import EnumMeta, Flag
from types import MappingProxyType
from typing import Any

import numpy as np

from sdfgad.frontend.arrays.grown import columns
from sdfgad.frontend.arrays.indexing import subscript
from sdfgad.frontend.arrays.known import is_known, of_objects
from sdfgad.frontend.arrays.views import check_fresh, to_int
from sdfgad.frontend.branches.binding import bind
from sdfgad.frontend.branches.branches import choose
from sdfgad.frontend.branches.carried import bound_by_loop
from sdfgad.frontend.branches.raising import bound, definite
from sdfgad.frontend.containers import attributes, classes, numbered, records
from sdfgad.frontend.containers.chosen_items import item_by_text, item_chosen
from sdfgad.frontend.containers.comprehensions import comprehension, dict_comprehension, generator, set_comprehension
from sdfgad.frontend.containers.relations import related
from sdfgad.frontend.containers.stacks import row_at
from sdfgad.frontend.elements.elementwise import describe
from sdfgad.frontend.elements.of_numpy import handed, of_numpy
from sdfgad.frontend.functions import arithmetic, places
from sdfgad.frontend.functions.index_tricks import index_trick
from sdfgad.frontend.functions.meshes import Mesh, at_places, part_of_mesh
from sdfgad.frontend.merging.none_or import asked, told_way
from sdfgad.frontend.operands import in_turn, waiting
from sdfgad.frontend.state.chosen_texts import ChosenText
from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.keyed import Numbered
from sdfgad.frontend.state.values import (
    SELECTED,
    ArrayValue,
    Function,
    Grown,
    IntValue,
    Lazy,
    ListValue,
    MaskPlaces,
    Maybe,
    NoneOr,
    Record,
    SliceValue,
    Unbound,
    Value,
)
from sdfgad.frontend.static import sets
from sdfgad.frontend.static.ignored import ignore, is_ignored
from sdfgad.frontend.static.outside import found_outside, outside
from sdfgad.frontend.static.run_texts import joined
from sdfgad.frontend.static.settled import Mixed, changing, of_choice, settled, unsettled

_OPERATORS: Mapping[type, np.ufunc] = MappingProxyType({
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.true_divide,
    ast.FloorDiv: np.floor_divide, ast.Mod: np.remainder, ast.Pow: np.power, ast.MatMult: np.matmul,
    ast.BitAnd: np.bitwise_and, ast.BitOr: np.bitwise_or, ast.BitXor: np.bitwise_xor,
    ast.LShift: np.left_shift, ast.RShift: np.right_shift})
_UNARY: Mapping[type, np.ufunc] = MappingProxyType({
    ast.USub: np.negative, ast.UAdd: np.positive, ast.Invert: np.invert})


def evaluate(ctx: Context, node: ast.expr) -> Value:
    """The value of an expression."""
    rule = _RULES.get(type(node))
    with ctx.at(node):
        if rule is None:
            raise ctx.refuse(f"this expression ({type(node).__name__})", _HELP.get(type(node), ""), "SG102")
        value = rule(ctx, node)
        if isinstance(node, (ast.Name, ast.Subscript, ast.Attribute)):
            check_fresh(ctx, value, node)
        return value


def operator_of(op: ast.operator) -> np.ufunc:
    """NumPy's function of a binary operator."""
    return _OPERATORS[type(op)]


def _constant(ctx: Context, node: ast.Constant) -> Value:
    if isinstance(node.value, bytes):
        raise ctx.refuse("a bytes literal", code="SG109")
    return node.value


def _name(ctx: Context, node: ast.Name) -> Value:
    value = lookup(ctx, node.id)
    if isinstance(value, Maybe) and value.trips:
        return bound_by_loop(ctx, node.id, value)
    if isinstance(value, Maybe):
        refusal = changing(ctx.refuse(f"{node.id!r}, which {_why_unknown(value)}",
                                      "give it a value on every path, of one kind and shape", "SG107"))
        raise of_choice(refusal, value.value.ways if isinstance(value.value, Mixed) else ())
    value = bound(ctx, node.id, value) if isinstance(value, Unbound) else asked(value)
    return value.stored if isinstance(value, Lazy) and value.stored is not None else value


def _why_unknown(value: Maybe) -> str:
    """What a name is that cannot be read."""
    ways = {describe(w) for w in value.value.ways} if isinstance(value.value, Mixed) else set()
    told = " on some paths, and on others ".join(sorted(ways)) + (" made anew on each path" if len(ways) == 1 else "")
    return f"is {told}" if ways else "may be undefined here"


def lookup(ctx: Context, name: str) -> Value:
    """A name as Python resolves it: local, enclosing, closure, module, builtin."""
    frame = ctx.frame
    if name in frame.names and not _is_unbound(frame.names[name]):
        return frame.names[name]
    if name in frame.liveness.local:
        raise changing(ctx.refuse(f"{name!r}, which has no value yet", "assign it first", "SG107"))
    outer = frame.enclosing
    while outer is not None:
        if name in outer.names:
            return outer.names[name]
        outer = outer.enclosing
    for place in (frame.code.cells, frame.code.globals):
        if name in place:
            return found_outside(ctx, place, name, place[name])
    if hasattr(builtins, name):
        return getattr(builtins, name)
    late = "a function sees a comprehension's variable as it is in the end; a default keeps it: lambda z, i=i: z * i"
    near = get_close_matches(name, (*frame.names, *frame.code.cells, *frame.code.globals, *vars(builtins)), n=1)
    typo = f"did you mean {near[0]}?" if near else "a name has to be there when the function is called"
    help = late if isinstance(frame.code.node, ast.Lambda) else typo
    raise ctx.raises(NameError, f"{name!r}, which is not defined", help, "SG102")


def _is_unbound(value: Value) -> bool:
    return isinstance(value, Unbound) and value.there is False


def _tuple(ctx: Context, node: ast.Tuple) -> Value:
    return tuple(_elements(ctx, node.elts))


def _list(ctx: Context, node: ast.List) -> Value:
    return ListValue(_elements(ctx, node.elts), len(ctx.builder.regions))


def _set(ctx: Context, node: ast.Set) -> Value:
    return sets.made(ctx, _elements(ctx, node.elts))


def _elements(ctx: Context, nodes: Sequence[ast.expr]) -> list[Value]:
    def made(node: ast.expr) -> Value:
        if isinstance(node, ast.Starred):
            return tuple(arithmetic.items_of(ctx, evaluate(ctx, node.value)))
        return evaluate(ctx, node)

    values = in_turn(ctx, nodes, made)
    return [v for node, value in zip(nodes, values, strict=True)
            for v in (value if isinstance(node, ast.Starred) else (value,))]


def _binary(ctx: Context, node: ast.BinOp) -> Value:
    left, right = in_turn(ctx, (node.left, node.right), lambda n: definite(ctx, evaluate(ctx, n)))
    return classes.operated(ctx, _OPERATORS[type(node.op)], left, right)


def _unary(ctx: Context, node: ast.UnaryOp) -> Value:
    operand = evaluate(ctx, node.operand)
    if isinstance(node.op, ast.Not):
        return arithmetic.negation(ctx, operand)
    operand = definite(ctx, operand)
    name = {ast.USub: "__neg__", ast.UAdd: "__pos__", ast.Invert: "__invert__"}[type(node.op)]
    if classes.has_rule(operand, name):
        return classes.by_rule(ctx, operand, name)
    if isinstance(operand, Flag) and isinstance(node.op, ast.Invert):
        return ~operand
    return arithmetic.unary(ctx, _UNARY[type(node.op)], operand)


def _compare(ctx: Context, node: ast.Compare) -> Value:
    left = _asked_for(ctx, node) if isinstance(node.ops[0], (ast.Is, ast.IsNot)) else evaluate(ctx, node.left)
    result: Value = True
    for k, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
        if k > 0 and result is not True and any(isinstance(n, ast.Call) for n in ast.walk(right_node)):
            return _compare_further(ctx, result, left, node, k)
        with waiting(ctx, (left, result), right_node):
            right = _members(ctx, op, right_node)
        part = related(ctx, op, left, right)
        result = part if k == 0 else arithmetic.both(ctx, result, part)
        if result is False:
            return False
        left = right
    return result


def _compare_further(ctx: Context, result: Value, left: Value, node: ast.Compare, k: int) -> Value:
    """The comparisons of a chain from place k on, which call functions: they are made where those before them hold."""
    left = arithmetic.kept(ctx, left)
    test = arithmetic.truth_value(ctx, result)

    def rest() -> Value:
        before = ast.copy_location(ast.Constant(left), node)
        return _compare(ctx, ast.copy_location(ast.Compare(before, node.ops[k:], node.comparators[k:]), node))

    with waiting(ctx, left, *node.comparators[k:]):
        return choose(ctx, test, rest, lambda: False)


def _members(ctx: Context, op: ast.cmpop, node: ast.expr) -> Value:
    """The right side of a comparison: a set that is only asked whether it holds something may hold data."""
    if isinstance(node, ast.Set) and isinstance(op, (ast.In, ast.NotIn)):
        return tuple(_elements(ctx, node.elts))
    return evaluate(ctx, node)


def _asked_for(ctx: Context, node: ast.Compare) -> Value:
    """The left side of `a is b`."""
    if not isinstance(node.left, ast.Subscript):
        return evaluate(ctx, node.left)
    base = definite(ctx, evaluate(ctx, node.left.value))
    items = definite(ctx, evaluate(ctx, node.left.slice))
    return numbered.or_none(ctx, base, items) if isinstance(base, Numbered) and base.is_list else item_of(
        ctx, base, items)


def _bool_op(ctx: Context, node: ast.BoolOp) -> Value:
    conjunction = isinstance(node.op, ast.And)

    def rest(nodes: Sequence[ast.expr]) -> Value:
        first = evaluate(ctx, nodes[0])
        if len(nodes) == 1:
            return first
        decided = arithmetic.known_truth(ctx, first)
        if decided is not None:
            return rest(nodes[1:]) if decided == conjunction else first
        _sure(ctx, *nodes[1:])
        first = arithmetic.kept(ctx, first)
        test = arithmetic.truth_value(ctx, first)
        ways = (told_way(ctx, nodes[0], conjunction, lambda: rest(nodes[1:])), lambda: _short(first, conjunction))
        with waiting(ctx, first, *nodes[1:]):
            return choose(ctx, test, *(ways if conjunction else ways[::-1]))

    return rest(node.values)


def _short(first: Value, conjunction: bool) -> Value:
    """The value of a chain that stops early; of a Python truth value that is a constant."""
    return (not conjunction) if isinstance(first, ArrayValue) and first.dtype.kind == "b" and first.weak else first


def _conditional(ctx: Context, node: ast.IfExp) -> Value:
    test = evaluate(ctx, node.test)
    decided = arithmetic.known_truth(ctx, test)
    if decided is not None:
        return evaluate(ctx, node.body if decided else node.orelse)
    _sure(ctx, node.body, node.orelse)
    with ctx.at(node.test):
        condition = arithmetic.truth_value(ctx, test)
    return choose(ctx, condition, told_way(ctx, node.test, True, lambda: evaluate(ctx, node.body)),
                  told_way(ctx, node.test, False, lambda: evaluate(ctx, node.orelse)))


def _attribute(ctx: Context, node: ast.Attribute) -> Value:
    return attributes.attribute(ctx, definite(ctx, evaluate(ctx, node.value)), node.attr)


def _subscript(ctx: Context, node: ast.Subscript) -> Value:
    return item_of(ctx, *in_turn(ctx, (node.value, node.slice), lambda n: definite(ctx, evaluate(ctx, n))))


def item_of(ctx: Context, base: Value, items: Value, any_order: bool = False) -> Value:
    """`base[items]` for arrays, tuples, lists and constants; `any_order`: as in `subscript`."""
    if isinstance(base, ArrayValue):
        if (found := at_places(ctx, base, items)) is not None:
            return found
        return (part_of_mesh if isinstance(items, Mesh) else subscript)(ctx, base, items, any_order)
    if isinstance(base, SELECTED) and not (isinstance(base, MaskPlaces) and base.part is None):
        return places.item_at(ctx, base, items)
    if isinstance(base, EnumMeta) and isinstance(items, str) and items in base.__members__:
        return base[items]
    sequence = base.items if isinstance(base, ListValue) else base.parts if isinstance(base, MaskPlaces) else base
    if isinstance(base, Grown):
        return row_at(ctx, base, items)
    if isinstance(base, Numbered):
        return numbered.item_at(ctx, base, items)
    if classes.has_rule(base, "__getitem__"):
        return classes.by_rule(ctx, base, "__getitem__", items)
    if isinstance(items, ChosenText) and records.is_dict(base):
        owner = records.as_record(ctx, base)
        return item_by_text(ctx, owner.form, settled(ctx, owner), items)
    if isinstance(base, Record):
        return records.item(ctx, base, items)
    if isinstance(sequence, (tuple, list, str, range)):
        return _sequence_item(ctx, base, sequence, items)
    if isinstance(sequence, dict) and not isinstance(items, (ArrayValue, IntValue, ListValue, slice)):
        if items not in sequence:
            what = f"the key {items!r}, which is not in the dictionary"
            raise ctx.raises(KeyError, what, records.keys_told(sequence), "SG105")
        return outside(ctx, sequence[items], "constant")
    if of_objects(base) and is_known(items):
        try:
            return base[items]
        except IndexError as error:
            raise ctx.raises(IndexError, str(error), code="SG105") from error
    if hasattr(base, "__getitem__") and type(base).__module__.startswith("numpy.lib"):
        return index_trick(ctx, base, items)
    if isinstance(base, IntValue) and items == () or isinstance(base, type) and hasattr(base, "__class_getitem__"):
        return base  # a number of NumPy's, as an array without axes; a class of whatever types
    raise ctx.refuse(f"a subscript of {describe(base)}", code="SG105")


def _sequence_item(ctx: Context, base: Value, sequence: Any, items: Value) -> Value:
    if isinstance(items, slice):
        part = sequence[items]
        return ListValue(part, len(ctx.builder.regions)) if isinstance(base, ListValue) else part
    k = to_int(ctx, items)
    if isinstance(k, IntValue):
        return item_chosen(ctx, base if isinstance(base, ListValue) else tuple(sequence), k)
    if not -len(sequence) <= k < len(sequence):
        raise ctx.raises(IndexError, f"item {k} of {len(sequence)}", code="SG105")
    if isinstance(sequence[int(k)], Maybe):
        raise unsettled(ctx, f"item {k} of a list")
    return outside(ctx, sequence[int(k)], "constant")


def _slice(ctx: Context, node: ast.Slice) -> Value:
    ends = [None if e is None else evaluate(ctx, e) for e in (node.lower, node.upper, node.step)]
    if any(isinstance(e, NoneOr) for e in ends):
        raise ctx.refuse("a slice with an end that is None on some ways", "ask first whether it is None", "SG105")
    if any(isinstance(e, (IntValue, ArrayValue)) for e in ends):
        return SliceValue(*ends)
    return slice(*ends)


def make_function(ctx: Context, node: ast.FunctionDef | ast.Lambda) -> Function:
    """A function defined inside the program, its defaults evaluated now."""
    defaults = tuple(arithmetic.kept(ctx, evaluate(ctx, d)) for d in node.args.defaults)
    given = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    keywords = {a.arg: arithmetic.kept(ctx, evaluate(ctx, d)) for a, d in given if d is not None}
    return Function(ctx.frame.code.inner(node), ctx.frame, defaults, keywords)


def _call(ctx: Context, node: ast.Call) -> Value:
    callee = evaluate(ctx, node.func)
    if is_ignored(callee):
        return ignore(ctx, node, callee)
    if callee is zip and len(node.args) == 1 and isinstance(node.args[0], ast.Starred) and not node.keywords:
        rows = evaluate(ctx, node.args[0].value)
        return columns(ctx, rows) or ctx.invoke(ctx, zip, arithmetic.items_of(ctx, rows), {})
    with waiting(ctx, callee, *node.args, *node.keywords):
        given = _elements(ctx, [*node.args, *(k.value for k in node.keywords)])
    arguments, values = given[:len(given) - len(node.keywords)], given[len(given) - len(node.keywords):]
    keywords: dict[str, Value] = {}
    for keyword, value in zip(node.keywords, values, strict=True):
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif records.is_dict(value):
            keywords.update(settled(ctx, records.as_record(ctx, value)))
        else:
            raise ctx.refuse("** arguments that are not a dictionary", code="SG102")
    if not all(isinstance(k, str) for k in keywords):
        raise ctx.refuse("** arguments whose names are no text", code="SG102")
    made = ctx.invoke(ctx, callee, handed(callee, arguments), keywords)
    return of_numpy(ctx, callee, made)


def _dict(ctx: Context, node: ast.Dict) -> Value:
    nodes = [n for key, value in zip(node.keys, node.values, strict=True) for n in (key, value) if n is not None]
    rest, found = iter(in_turn(ctx, nodes, lambda n: evaluate(ctx, n))), []
    for key in node.keys:
        found += records.pairs(ctx, next(rest)) if key is None else [(next(rest), next(rest))]
    return records.make_dict(ctx, found)


def _assigned(ctx: Context, node: ast.NamedExpr) -> Value:
    """`(name := value)`."""
    bind(ctx, node.target.id, evaluate(ctx, node.value))
    return _name(ctx, node.target)


def _sure(ctx: Context, *nodes: ast.expr) -> None:
    """Refuse names bound in expressions that only some runs evaluate."""
    for node in (n for root in nodes for n in ast.walk(root) if isinstance(n, ast.NamedExpr)):
        with ctx.at(node):
            raise ctx.refuse(f"{node.target.id!r}, bound in an expression that is evaluated or not as values decide",
                             "assign on a line of its own", "SG107")


_RULES: Mapping[type, Callable[[Context, Any], Value]] = MappingProxyType({
    ast.Constant: _constant, ast.Name: _name, ast.Tuple: _tuple, ast.List: _list, ast.BinOp: _binary,
    ast.UnaryOp: _unary, ast.Compare: _compare, ast.BoolOp: _bool_op, ast.IfExp: _conditional,
    ast.Attribute: _attribute, ast.Subscript: _subscript, ast.Slice: _slice, ast.Lambda: make_function, ast.Call: _call,
    ast.Dict: _dict, ast.Set: _set, ast.DictComp: dict_comprehension,
    ast.SetComp: set_comprehension, ast.ListComp: comprehension, ast.GeneratorExp: generator, ast.JoinedStr: joined,
    ast.NamedExpr: _assigned})
_HELP: Mapping[type, str] = MappingProxyType({
    ast.Await: "compiled functions are synchronous", ast.Yield: "return an array", ast.YieldFrom: "return an array",
    ast.Starred: "list the arguments one by one"})
