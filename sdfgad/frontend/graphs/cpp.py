"""Simple C++ of tasklets as Python: declarations, assignments, `if`, and expressions of numbers."""
from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(r"""\s*(?:
    (?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[fFlLuU]*)|(?P<name>[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)|
    (?P<sign><=|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|\+\+|--|[-+*/%<>=!?:;,(){}\[\]]))""", re.VERBOSE)
_TYPES: Mapping[str, str] = MappingProxyType({
    "double": "float64", "float": "float32", "int": "int32", "long": "int64", "bool": "bool", "int64_t": "int64",
    "int32_t": "int32", "dace::float64": "float64", "dace::float32": "float32", "dace::int64": "int64",
    "dace::int32": "int32"})
_LEVELS: tuple[tuple[tuple[str, Callable[[], ast.AST]], ...], ...] = (
    (("||", ast.Or),), (("&&", ast.And),), (("==", ast.Eq), ("!=", ast.NotEq)),
    (("<", ast.Lt), ("<=", ast.LtE), (">", ast.Gt), (">=", ast.GtE)), (("+", ast.Add), ("-", ast.Sub)),
    (("*", ast.Mult), ("/", ast.Div), ("%", ast.Mod)))
"""Operators of two operands, those that bind least first."""
_UPDATES: Mapping[str, type[ast.operator]] = MappingProxyType({
    "+=": ast.Add, "-=": ast.Sub, "*=": ast.Mult, "/=": ast.Div})


class _Strange(Exception):
    """Something that is not read."""


def statements_of(text: str) -> list[ast.stmt] | None:
    """The statements of a tasklet; None where there is anything that is not read."""
    try:
        reader = _Reader(_tokens(text))
        found: list[ast.stmt] = []
        while reader.next:
            found += reader.statement()
    except _Strange:
        return None
    module = ast.fix_missing_locations(ast.Module(found, []))
    return module.body


def _tokens(text: str) -> list[str]:
    found, at, text = [], 0, _COMMENT.sub(" ", text).strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _Strange(text[at:])
        found.append(match.group(match.lastgroup or 0))
        at = match.end()
    return found


class _Reader:
    """Recursive descent; next: the token that comes, empty at the end."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = [*tokens, ""], 0

    @property
    def next(self) -> str:
        return self.tokens[self.at]

    def take(self, *wanted: str) -> str:
        """The next token, which is one of these if any are given."""
        found = self.next
        if wanted and found not in wanted or not found:
            raise _Strange(found)
        self.at += 1
        return found

    def maybe(self, sign: str) -> bool:
        if self.next == sign:
            self.at += 1
            return True
        return False

    def statement(self) -> list[ast.stmt]:
        if self.maybe(";"):
            return []
        if self.maybe("{"):
            body: list[ast.stmt] = []
            while not self.maybe("}"):
                body += self.statement()
            return body
        if self.maybe("if"):
            return [self.branch()]
        self.maybe("const")
        kind = self.take() if self.next in _TYPES or self.next == "auto" else None
        found = [self.assignment(kind)]
        while kind is not None and self.maybe(","):
            found.append(self.assignment(kind))
        self.take(";")
        return found

    def branch(self) -> ast.stmt:
        self.take("(")
        test = self.choice()
        self.take(")")
        then = self.statement()
        return ast.If(test, then or [ast.Pass()], self.statement() if self.maybe("else") else [])

    def assignment(self, kind: str | None) -> ast.stmt:
        target = ast.Name(self.take(), ast.Store()) if kind is not None else self.primary()
        if not isinstance(target, (ast.Name, ast.Subscript)):
            raise _Strange(self.next)
        sign = self.take("=", *_UPDATES)
        value = self.choice()
        if sign != "=":
            return ast.AugAssign(target, _UPDATES[sign](), value)
        return ast.Assign([target], value if kind in (None, "auto") else _called(_TYPES[str(kind)], value))

    def choice(self) -> ast.expr:
        test = self.level(0)
        if not self.maybe("?"):
            return test
        then = self.choice()
        self.take(":")
        return ast.IfExp(test, then, self.choice())

    def level(self, depth: int) -> ast.expr:
        if depth == len(_LEVELS):
            return self.unary()
        left = self.level(depth + 1)
        signs = dict(_LEVELS[depth])
        while self.next in signs:
            left = _joined(left, signs[self.take()](), self.level(depth + 1))
        return left

    def unary(self) -> ast.expr:
        for sign, op in (("-", ast.USub), ("+", ast.UAdd), ("!", ast.Not)):
            if self.maybe(sign):
                return ast.UnaryOp(op(), self.unary())
        if self.next == "(" and self.tokens[self.at + 1] in _TYPES and self.tokens[self.at + 2] == ")":
            self.at += 3
            return _called(_TYPES[self.tokens[self.at - 2]], self.unary())
        return self.primary()

    def primary(self) -> ast.expr:
        found = self.atom()
        while self.next in ("[", "("):
            if self.maybe("["):
                found = ast.Subscript(found, self.choice(), ast.Load())
                self.take("]")
            else:
                found = self.called(found)
        return found

    def called(self, function: ast.expr) -> ast.expr:
        if not isinstance(function, ast.Name):
            raise _Strange(self.next)
        self.take("(")
        args: list[ast.expr] = []
        while not self.maybe(")"):
            args.append(self.choice())
            if self.next != ")":
                self.take(",")
        name = function.id
        return ast.Call(ast.Name(_TYPES.get(name, name.rpartition("::")[2]), ast.Load()), args, [])

    def atom(self) -> ast.expr:
        if self.maybe("("):
            found = self.choice()
            self.take(")")
            return found
        token = self.take()
        if token == "static_cast":
            self.take("<")
            kind = self.take(*_TYPES)
            self.take(">")
            self.take("(")
            found = self.choice()
            self.take(")")
            return _called(_TYPES[kind], found)
        if token in ("true", "false"):
            return ast.Constant(token == "true")
        if token[0].isdigit() or token[0] == ".":
            return _number(token)
        if not token[0].isidentifier():
            raise _Strange(token)
        return ast.Name(token, ast.Load())


def _joined(left: ast.expr, op: ast.AST, right: ast.expr) -> ast.expr:
    if isinstance(op, ast.boolop):
        return ast.BoolOp(op, [left, right])
    if isinstance(op, ast.cmpop):
        return ast.Compare(left, [op], [right])
    assert isinstance(op, ast.operator)
    return ast.BinOp(left, op, right)


def _number(token: str) -> ast.expr:
    """`2`, `2.0`, `2.0f`."""
    plain = token.rstrip("fFlLuU")
    if set("uU") & set(token):
        raise _Strange(token)
    whole = plain.isdigit()
    if whole and token[0] == "0" and len(plain) > 1:
        raise _Strange(token)
    made = ast.Constant(int(plain) if whole else float(plain))
    return _called("float32", made) if token[-1] in "fF" else made


def _called(name: str, value: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), [value], [])
