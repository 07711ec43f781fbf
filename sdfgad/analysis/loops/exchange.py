"""What becomes of a value when two variables of a map change places: of x[j] - x[i] the sign, of its square nothing."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sdfgad.ir.expr import Call, Const, Expr, Index, Load, rewrite, walk
from sdfgad.ir.index import Ix, ix

Kind: TypeAlias = Literal["same", "even", "odd"]
"""The same bits; the same number, though a zero may have the other sign; the number with the other sign, zeros aside.

x[j] - x[i] is +0 both ways where the two are equal, so what tells one zero from the other needs the same bits.
"""
_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))
_BLIND = _COMPARISONS | {"add", "sub", "mul", "neg", "abs", "select", "not", "and", "or"}
"""Functions whose value does not depend on the signs of zeros, the sign of a zero aside."""


@dataclass
class Exchange:
    """Two variables that change places. `known`: matrices that are read at [first, second] only, and what they are."""

    first: str
    second: str
    known: Mapping[str, Kind] = field(default_factory=dict)
    _kinds: dict[Expr, Kind | None] = field(default_factory=dict)

    def index(self, i: Ix) -> Ix:
        """The index with the variables exchanged."""
        return i.subs({self.first: ix(self.second), self.second: ix(self.first)})

    def value(self, expr: Expr) -> Expr:
        """The expression with the variables exchanged, in terms of the elements of known matrices that it reads."""
        return rewrite(expr, self._exchanged)

    def _exchanged(self, node: Expr) -> Expr | None:
        if isinstance(node, Load):
            kind = self.known.get(node.array)
            if kind is not None:
                return Call("neg", (node,), node.dtype) if kind == "odd" else node
            return Load(node.array, tuple(map(self.index, node.index)), node.dtype)
        return Index(self.index(node.ix), node.dtype) if isinstance(node, Index) else None

    def kind(self, expr: Expr) -> Kind | None:
        """What becomes of the expression's value; None where nothing is known."""
        if expr not in self._kinds:
            self._kinds[expr] = self._kind(expr)
        return self._kinds[expr]

    def _kind(self, expr: Expr) -> Kind | None:
        if isinstance(expr, Load) and expr.array in self.known:
            return self.known[expr.array]
        if not isinstance(expr, Call):
            return "same" if self.value(expr) == expr else None
        if expr.fn in ("add", "sub", "mul") and self.value(expr.args[0]) == expr.args[1] \
                and self.value(expr.args[1]) == expr.args[0]:
            return ("odd" if expr.dtype.kind in "fi" else None) if expr.fn == "sub" else "same"
        return self._combined(expr)

    def _combined(self, expr: Call) -> Kind | None:
        """The rule of a function for arguments each of which comes from itself."""
        kinds = [self.kind(a) for a in expr.args]
        if None in kinds or expr.dtype.kind == "u":
            return None
        if all(k == "same" for k in kinds) or (expr.fn in _COMPARISONS and "odd" not in kinds):
            return "same"
        if expr.fn == "abs" or (expr.fn == "pow" and _even(expr.args[1])) or \
                (expr.fn == "mul" and expr.args[0] == expr.args[1]):
            return "same"
        if expr.fn == "neg" or (expr.fn == "div" and kinds[1] == "same"):
            return kinds[0]
        if expr.fn == "mul":
            return "odd" if (kinds[0] == "odd") != (kinds[1] == "odd") else "even"
        parts = expr.args if expr.fn in ("add", "sub") else expr.args[1:] if expr.fn == "select" and \
            kinds[0] == "same" else ()
        found = {"odd" if self.kind(p) == "odd" else "even" for p in parts if not _is_zero(p)}
        return None if len(found) != 1 else "odd" if "odd" in found else "even"

    def steady(self, expr: Expr) -> bool:
        """Whether the value, the sign of a zero aside, does not depend on the signs of zeros in known matrices."""
        loose = any(isinstance(n, Load) and self.known.get(n.array, "same") != "same" for n in walk(expr))
        if not loose or isinstance(expr, Load) or self.kind(expr) == "same":
            return True
        if not isinstance(expr, Call):
            return False
        if expr.fn == "div":
            return self.steady(expr.args[0]) and self.kind(expr.args[1]) == "same"
        power = expr.fn == "pow" and isinstance(expr.args[1], Const) and expr.args[1].value in (1, 2, 3)
        return (power or expr.fn in _BLIND) and all(map(self.steady, expr.args))


def _even(exponent: Expr) -> bool:
    return isinstance(exponent, Const) and not isinstance(exponent.value, complex) and exponent.value % 2 == 0


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == 0
