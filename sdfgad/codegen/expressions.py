"""C++ text of scalar expressions. Shared nodes become const locals; a select picks between values, without a branch."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import numpy as np

from sdfgad.codegen.cpp import Frame, Writer, access, access_anywhere, ctype, index_text, literal, local
from sdfgad.errors import InvariantError
from sdfgad.ir.algebra import as_real
from sdfgad.ir.bits import bits_test
from sdfgad.ir.expr import Call, Const, Expr, Index, Load, Local, certain, operands, walk
from sdfgad.ir.special import SPECIAL
from sdfgad.ir.walk import expr_reads

_INFIX = MappingProxyType({
    "add": "+", "sub": "-", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "bitand": "&", "bitor": "|", "bitxor": "^"})
WRAPPING = MappingProxyType({"add": "plus", "sub": "minus", "mul": "times", "neg": "negative"})
"""Of integers, which come out at the other end of their range."""
_CONNECTIVES = MappingProxyType({"and": "&", "or": "|", "add": "|", "mul": "&", "maximum": "|", "minimum": "&"})
"""Functions of two truth values."""
_FUNCTIONS: Mapping[str, str] = MappingProxyType({
    **{f: f"sg::{f}" for f in ("floordiv", "mod", "maximum", "minimum", "fmax", "fmin", "abs", "sign", "isnan",
                               "isinf", "isfinite", "real", "imag", "conj", "shl", "shr", "exp2", "expm1", "log2",
                               "log1p", "sin", "cos", "decimal")},
    **{f: f"std::{f}" for f in ("sqrt", "cbrt", "exp", "log", "log10", "tan", "sinh", "cosh", "tanh",
                                "erf", "hypot", "copysign", "floor", "ceil", "trunc", "rint")},
    **{f: f"sg::{f}" for f in SPECIAL},
    "arcsin": "std::asin", "arccos": "std::acos", "arctan": "std::atan", "arcsinh": "std::asinh",
    "arccosh": "std::acosh", "arctanh": "std::atanh", "arctan2": "std::atan2"})
_OF_COMPLEX = frozenset(("exp", "log", "sqrt"))
"""Functions of complex numbers that loops of vectors have."""
_ROUNDINGS = frozenset(("floor", "ceil", "trunc", "rint"))
LARGEST_EXPANDED_POWER = 32
LARGEST_HALF_POWER = 9
"""Twice the exponent of a power with a square root in it."""


def combine(op: str, target: str, value: str, kind: str) -> str:
    """The statement `target op= value` for a dtype kind."""
    if kind in "iu" and op in "+*":
        return f"{target} = sg::{'plus' if op == '+' else 'times'}({target}, {value});"
    if kind == "b":  # of a connective, which C++ makes an int, too
        return f"{target} = {target} {'||' if op in ('+', 'max') else '&&'} ({value});"
    if op == "+":
        return f"{target} += {value};"
    if op == "*":
        return f"{target} = sg::mul({target}, {value});" if kind == "c" else f"{target} *= {value};"
    return f"{target} = sg::{'maximum' if op == 'max' else 'minimum'}({target}, {value});"


def topological(roots: Iterable[Expr], parts: Callable[[Expr], tuple[Expr, ...]]) -> list[Expr]:
    """Distinct nodes reachable through `parts`, operands first."""
    out: dict[Expr, None] = {}
    begun: set[Expr] = set()
    stack = list(roots)[::-1]
    while stack:
        node = stack[-1]
        if node in begun:
            out[stack.pop()] = None
        else:
            begun.add(node)
            stack += [part for part in reversed(parts(node)) if part not in begun]
    return list(out)


def count_uses(roots: Iterable[Expr]) -> Counter[Expr]:
    """How many operands or roots each node is."""
    roots = list(roots)
    uses = Counter(roots)
    for node in topological(roots, operands):
        uses.update(operands(node))
    return uses


class Values:
    """Texts of expression nodes at the current point of the code; what is bound to a local is named, not repeated.

    vectors: whether it is in a loop that vectors may run.
    """

    def __init__(self, writer: Writer, frame: Frame, uses: Counter[Expr], vectors: bool = False) -> None:
        self.writer = writer
        self.frame = frame
        self.uses = uses
        narrow = all(n.dtype.itemsize <= 4 for n in uses if n.dtype.kind in "fc")
        self.lane = (np.dtype(np.int32 if narrow else np.int64)) if vectors else None
        self.scopes: list[dict[Expr, str]] = [{}]

    def name(self, node: Expr) -> str | None:
        """The local that holds the node, if one does."""
        return next((s[node] for s in reversed(self.scopes) if node in s), None)

    def bind(self, node: Expr, name: str = "") -> str:
        """Give the node's value a const local in the current C++ scope."""
        value = self.text(node)
        name = name or self.writer.fresh()
        self.writer.line(f"const {ctype(node.dtype)} {name} = {value};")
        self.scopes[-1][node] = name
        return name

    def bind_shared(self, roots: Iterable[Expr]) -> None:
        """Bind every load and call below `roots` that is certainly evaluated and used more than once."""
        roots = list(roots)
        sure = frozenset(topological(roots, certain))
        for node in topological(roots, lambda n: () if self.name(n) else operands(n)):
            if isinstance(node, Call) and node.fn == "select" and not self.name(node):
                self._load_ahead(node.args[1:], sure)
        for node in topological(roots, lambda n: () if self.name(n) else self._certain(n)):
            if isinstance(node, (Load, Call)) and self.uses[node] > 1 and not self.name(node) and not _trivial(node):
                self.bind(node)

    def _certain(self, node: Expr) -> tuple[Expr, ...]:
        """The operands that are evaluated whenever the node is."""
        return operands(node) if isinstance(node, Call) and self._eager(node) else certain(node)

    def _eager(self, node: Call) -> bool:
        """Whether both branches of a select may be evaluated: every load is made, and nothing traps."""
        return not any(
            (isinstance(n, Load) and not self.name(n) and n.array not in self.frame.registers) or _traps(n)
            for branch in node.args[1:] for n in topological([branch], lambda n: () if self.name(n) else operands(n)))

    def forget(self, array: str) -> None:
        """The array has changed: values read from it earlier are not its values now."""
        for scope in self.scopes:
            for node in [n for n in scope if not isinstance(n, Local) and array in expr_reads(n)]:
                del scope[node]

    def text(self, node: Expr) -> str:
        """An expression for the node; may write lines before it."""
        found = self.name(node)
        if found is not None:
            return found
        if isinstance(node, Const):
            return literal(node.value, node.dtype)
        if isinstance(node, Index):
            value = f"int64_t({index_text(self.frame, node.ix)})"
            return value if node.dtype.name == "int64" else f"sg::cast<{ctype(node.dtype)}>({value})"
        if isinstance(node, Load):
            return access(self.frame, node.array, node.index)
        if isinstance(node, Local):
            return local(node.name)
        if node.fn == "select":
            return self._select(node)
        if node.dtype.kind == "b" and (node.fn in _CONNECTIVES or node.fn == "not"):
            return call_text(node, [self._truth(a) for a in node.args])
        test = bits_test(node) if self.lane else None
        return self._bits(*test) if test else call_text(node, [self.text(a) for a in _divided(node)])

    def _truth(self, node: Expr) -> str:
        """What a connective or a choice looks at."""
        stored = isinstance(node, Load) and node.dtype.kind == "b"
        return self._bits(node, 1, 1) if stored and self.lane else self.text(node)

    def _bits(self, code: Expr, mask: int, number: int) -> str:
        """A comparison of integers as wide as the lanes.

        gcc 12 does not vectorise a loop where a single bit, or a stored truth, meets another truth.
        """
        lane = ctype(self.lane or code.dtype)
        return f"sg::has_bits<{lane}, {mask}, {number}>({self.text(code)})"

    def _select(self, node: Call) -> str:
        self._load_ahead(node.args[1:])
        cond = self._truth(node.args[0])
        if self._eager(node):
            return f"sg::pick<{ctype(node.dtype)}>({cond}, {self.text(node.args[1])}, {self.text(node.args[2])})"
        name = self.writer.fresh()
        self.writer.line(f"{ctype(node.dtype)} {name};")
        self.writer.open(f"if ({cond})")
        self._set(name, node.args[1])
        self.writer.otherwise()
        self._set(name, node.args[2])
        self.writer.close()
        self.scopes[-1][node] = name
        return name

    def _set(self, name: str, branch: Expr) -> None:
        """Inside of a branch, give a name what the branch chooses."""
        self.writer.line("SG_BRANCH;")
        self.scopes.append({})
        self.bind_shared([branch])
        self.writer.line(f"{name} = {self.text(branch)};")
        self.scopes.pop()

    def _load_ahead(self, branches: Iterable[Expr], sure: frozenset[Expr] = frozenset()) -> None:
        """Bind what the branches load before the choice, at an index forced inside the array; what is `sure` to be
        loaded whatever is chosen is inside.

        gcc 12 vectorises loads under a condition wrongly (docs/decisions/0004); a load is cheap and never traps here.
        """
        for node in topological(branches, lambda n: () if self.name(n) else operands(n)):
            if isinstance(node, Load) and not self.name(node) and node.array not in self.frame.registers:
                load = access if node in sure else access_anywhere
                text = load(self.frame, node.array, node.index)
                if text is not None:
                    name = self.writer.fresh()
                    self.writer.line(f"const {ctype(node.dtype)} {name} = {text};")
                    self.scopes[-1][node] = name


def _divided(node: Call) -> tuple[Expr, ...]:
    """The operands of a function; what a complex number is divided by in real numbers, if it was made of them: that
    takes far less work and comes to the same, signs of zeros included. A product would gain nothing."""
    if node.dtype.kind != "c" or node.fn != "div":
        return node.args
    divisor = as_real(node.args[1])
    return node.args if divisor is None else (node.args[0], divisor)


def _traps(node: Expr) -> bool:
    """Whether evaluating the node where it is not wanted may stop the program: integer division by zero."""
    return isinstance(node, Call) and node.fn in ("floordiv", "mod", "div", "pow") and node.dtype.kind in "iu"


def _trivial(node: Expr) -> bool:
    """Not worth a local of its own."""
    return isinstance(node, Call) and node.fn in ("cast", "stop_gradient", "neg") and not isinstance(node.args[0], Call)


def call_text(node: Call, args: list[str]) -> str:
    """One scalar function applied to C++ operands."""
    kind, operand = node.dtype.kind, node.args[0].dtype
    fn = node.fn
    if fn == "cast":
        return args[0] if operand == node.dtype else f"sg::cast<{ctype(node.dtype)}>({args[0]})"
    if fn == "stop_gradient":
        return args[0]
    if fn == "complex":
        return f"{ctype(node.dtype)}({args[0]}, {args[1]})"
    if kind == "b" and fn in _CONNECTIVES:
        # gcc makes a branch of `&&`, and leaves the loop around it unvectorised where several choices depend on it.
        short = any(_traps(n) for n in walk(node.args[1]))
        return f"({args[0]} {_CONNECTIVES[fn] * (2 if short else 1)} {args[1]})"
    if fn == "pow":
        return _power(node, args)
    if fn in ("not", "invert") and operand.kind == "b":
        return f"(!{args[0]})"
    if fn in _ROUNDINGS and operand.kind in "iub":
        return args[0]
    if kind in "iu" and fn in WRAPPING:
        text = f"sg::{WRAPPING[fn]}({', '.join(args)})"
    elif fn in ("mul", "div"):
        sign = "*" if fn == "mul" else "/"
        text = f"sg::{fn}({args[0]}, {args[1]})" if kind == "c" else f"({args[0]} {sign} {args[1]})"
    elif fn in ("neg", "not", "invert"):
        text = f"({'-' if fn == 'neg' else '!' if fn == 'not' else '~'}{args[0]})"
    elif fn in _INFIX:
        text = f"({args[0]} {_INFIX[fn]} {args[1]})"
    elif fn in _FUNCTIONS:
        name = _FUNCTIONS[fn]
        if operand.kind == "c":
            name = name.replace("std::", "sg::" if fn in _OF_COMPLEX else "sg::of_complex::")
        text = f"{name}({', '.join(args)})"
    else:
        raise InvariantError(f"no C++ text for the scalar function {fn!r}")
    # C++ computes small integers as int; NumPy keeps their width.
    return f"{ctype(node.dtype)}({text})" if kind in "iu" and node.dtype.itemsize < 4 else text


def _power(node: Call, args: list[str]) -> str:
    exponent = node.args[1]
    if isinstance(exponent, Const) and not isinstance(exponent.value, complex):
        if exponent.value == 0.5 and node.dtype.kind == "f":
            return f"std::sqrt({args[0]})"
        whole = float(exponent.value).is_integer() and abs(exponent.value) <= LARGEST_EXPANDED_POWER
        if whole and (exponent.value >= 0 or node.dtype.kind in "fc"):
            return f"sg::power<{int(exponent.value)}>({args[0]})"
        twice = 2 * exponent.value
        if node.dtype.kind == "f" and float(twice).is_integer() and abs(twice) <= LARGEST_HALF_POWER:
            return f"sg::half_power<{int(twice)}>({args[0]})"
    second = args[1] if exponent.dtype == node.dtype else f"sg::cast<{ctype(node.dtype)}>({args[1]})"
    return f"sg::pow<{ctype(node.dtype)}>({args[0]}, {second})"
