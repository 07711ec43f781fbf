"""Which names are still needed: backward analysis of a function's syntax tree.

`at_loop[loop]` are names that may be read before they are assigned, from the head of the loop on, `at_body[loop]` from
the start of its body on; `after[stmt]` those needed once a statement is done, `around[if]` where break and continue
lead.
"""
from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ClassDef)
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NAMED = (ast.FunctionDef, ast.ClassDef, ast.MatchAs, ast.MatchStar)


@dataclass(eq=False)
class Liveness:
    """Results for one function body."""

    after: dict[ast.stmt, frozenset[str]] = field(default_factory=dict)
    at_loop: dict[ast.stmt, frozenset[str]] = field(default_factory=dict)
    at_body: dict[ast.stmt, frozenset[str]] = field(default_factory=dict)
    around: dict[ast.stmt, frozenset[str]] = field(default_factory=dict)
    at_handler: dict[ast.ExceptHandler, frozenset[str]] = field(default_factory=dict)
    local: frozenset[str] = frozenset()
    captured: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()  # names of the module that `global` statements let it assign

    def needed(self, stmt: ast.stmt) -> frozenset[str]:
        """Names that may be read once a statement is done or has been left."""
        return self.after[stmt] | self.captured | self.around.get(stmt, frozenset())


@dataclass(frozen=True)
class _Exits:
    """Names needed where `break`, `continue` and `return` lead to."""

    after_break: frozenset[str] = frozenset()
    at_continue: frozenset[str] = frozenset()


def analyse(body: Sequence[ast.stmt], parameters: Iterable[str]) -> Liveness:
    """Liveness of every statement of a function body."""
    result = Liveness()
    inner = [n for s in body for n in own_walk(s) if isinstance(n, _SCOPES)]
    result.captured = frozenset(name for n in inner for name in _read(n))
    result.shared = _of_module(body)
    result.local = (frozenset(parameters) | frozenset(n for s in body for n in assigned([s]))) - result.shared
    _block(body, frozenset(), _Exits(), result)
    return result


def _of_module(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names of `global` statements that are bound by plain assignments and imports alone."""
    nodes = [n for s in body for n in own_walk(s)]
    declared = {name for n in nodes if isinstance(n, ast.Global) for name in n.names}
    if not declared:
        return frozenset()
    plain = {id(t) for n in nodes if isinstance(n, ast.Assign) for t in n.targets}
    plain |= {id(n.target) for n in nodes if isinstance(n, (ast.AnnAssign, ast.AugAssign))}
    otherwise = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
                 and id(n) not in plain}
    otherwise |= {n.name for n in nodes if isinstance(n, (*_NAMED, ast.ExceptHandler)) and n.name}
    return frozenset(declared - otherwise)


def assigned(body: Sequence[ast.stmt]) -> list[str]:
    """Names a block may bind, in order, functions defined inside left alone."""
    found: dict[str, None] = {}
    for stmt in body:
        for node in own_walk(stmt):
            if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                found[node.id] = None
            elif isinstance(node, _NAMED) and node.name is not None:
                found[node.name] = None
            elif isinstance(node, ast.MatchMapping) and node.rest is not None:
                found[node.rest] = None
            elif isinstance(node, ast.alias):
                found[(node.asname or node.name).split(".")[0]] = None
    return list(found)


def as_branch(stmt: ast.stmt, known: Liveness) -> ast.stmt:
    """t = a if c else b   ->   if c: t = a   else: t = b"""
    if not (isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.IfExp)):
        return stmt
    body, orelse = (ast.copy_location(ast.Assign(stmt.targets, v), stmt) for v in (stmt.value.body, stmt.value.orelse))
    made = ast.copy_location(ast.If(stmt.value.test, [body], [orelse]), stmt)
    known.after.update(dict.fromkeys((made, body, orelse), known.after[stmt]))
    return made


def has_exit(body: Sequence[ast.stmt], kinds: tuple[type, ...] = (ast.Break, ast.Continue, ast.Return)) -> bool:
    """Whether a block may leave early by a statement of these kinds that belongs to it."""
    return any(_leaves(s, kinds) for s in body)


def always_exits(body: Sequence[ast.stmt]) -> bool:
    """Whether every way through a block ends in break, continue or return."""
    for stmt in body:
        if isinstance(stmt, (ast.Break, ast.Continue, ast.Return, ast.Raise)):
            return True
        if isinstance(stmt, ast.If) and always_exits(stmt.body) and always_exits(stmt.orelse):
            return True
    return False


def _leaves(stmt: ast.stmt, kinds: tuple[type, ...]) -> bool:
    if isinstance(stmt, kinds):
        return True
    if isinstance(stmt, (ast.For, ast.While)):
        return has_exit(stmt.body, tuple(k for k in kinds if k is ast.Return)) or has_exit(stmt.orelse, kinds)
    if isinstance(stmt, ast.Match):
        return any(has_exit(c.body, kinds) for c in stmt.cases)
    if isinstance(stmt, ast.Try):
        return any(has_exit(b, kinds) for b in (stmt.body, stmt.orelse, *(h.body for h in stmt.handlers)))
    if isinstance(stmt, (ast.If, ast.With)):
        return has_exit(stmt.body, kinds) or has_exit(getattr(stmt, "orelse", []), kinds)
    return False


def extended(known: Liveness, body: Sequence[ast.stmt], live: frozenset[str]) -> Liveness:
    """The same with the statements of a block that is written into a function, behind which `live` are needed."""
    inner = [n for s in body for n in own_walk(s) if isinstance(n, _SCOPES)]
    found = Liveness(dict(known.after), dict(known.at_loop), dict(known.at_body), dict(known.around),
                     dict(known.at_handler), known.local,
                     known.captured | frozenset(name for n in inner for name in _read(n)), known.shared)
    _block(body, live, _Exits(), found)
    return found


def own_walk(node: ast.AST) -> Iterable[ast.AST]:
    """A node and what is below it, not entering functions."""
    left = [node]
    while left:
        found = left.pop()
        yield found
        if not isinstance(found, _SCOPES):
            left += reversed([*ast.iter_child_nodes(found)])


def load_names(tree: ast.AST) -> list[str]:
    """Every name read below a syntax node, with repetitions."""
    return [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]


def _read(node: ast.AST) -> frozenset[str]:
    """Names that a node reads of those around it."""
    return _read_in([node])


def _read_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """What functions and comprehensions bind inside them is their own."""
    found: set[str] = set()
    left = [*nodes]
    while left:
        node = left.pop()
        if isinstance(node, _FUNCTIONS):
            first = [*node.args.defaults, *filter(None, node.args.kw_defaults), *getattr(node, "decorator_list", ())]
            found |= _read_in(ast.iter_child_nodes(node)) - _own(node) | _read_in(first)
        elif isinstance(node, _COMPREHENSIONS):
            own = assigned([ast.Expr(g.target) for g in node.generators])
            found |= _read_in(ast.iter_child_nodes(node)) - frozenset(own) | _read(node.generators[0].iter)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        else:
            left += ast.iter_child_nodes(node)
    return frozenset(found)


def _own(function: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """Parameters, and what a function binds that it has not declared to be of another one."""
    body = function.body if isinstance(function, ast.FunctionDef) else [ast.Expr(function.body)]
    foreign = frozenset(name for s in body for n in own_walk(s) if isinstance(n, (ast.Nonlocal, ast.Global))
                        for name in n.names)
    return frozenset((*(n.arg for n in ast.walk(function.args) if isinstance(n, ast.arg)), *assigned(body))) - foreign


def _block(body: Sequence[ast.stmt], live: frozenset[str], exits: _Exits, result: Liveness) -> frozenset[str]:
    for stmt in reversed(body):
        result.after[stmt] = live
        live = _stmt(stmt, live, exits, result)
    return live


def _stmt(stmt: ast.stmt, live: frozenset[str], exits: _Exits, result: Liveness) -> frozenset[str]:
    if isinstance(stmt, ast.Break):
        return exits.after_break
    if isinstance(stmt, ast.Continue):
        return exits.at_continue
    if isinstance(stmt, (ast.Return, ast.Raise)):
        return _read(stmt)
    if isinstance(stmt, ast.If):
        result.around[stmt] = exits.after_break | exits.at_continue
        return _read(stmt.test) | _block(stmt.body, live, exits, result) | _block(stmt.orelse, live, exits, result)
    if isinstance(stmt, ast.Match):
        result.around[stmt] = exits.after_break | exits.at_continue
        ways = [_block(c.body, live, exits, result) | _read(c.pattern) | (_read(c.guard) if c.guard else frozenset())
                for c in stmt.cases]
        return live.union(_read(stmt.subject), *ways)
    if isinstance(stmt, ast.With):
        return frozenset().union(*(_read(i.context_expr) for i in stmt.items)) | _block(stmt.body, live, exits, result)
    if isinstance(stmt, ast.Try):
        result.around[stmt] = exits.after_break | exits.at_continue
        return _try(stmt, live, exits, result)
    if isinstance(stmt, (ast.For, ast.While)):
        return _loop(stmt, live, exits, result)
    return (live - _killed(stmt)) | _read(stmt) | _augmented(stmt)


def _try(stmt: ast.Try, live: frozenset[str], exits: _Exits, result: Liveness) -> frozenset[str]:
    for handler in stmt.handlers:
        result.at_handler[handler] = _block(handler.body, live, exits, result)
    caught = frozenset().union(*(result.at_handler[h] for h in stmt.handlers))
    begun = _block(stmt.body, _block(stmt.orelse, live, exits, result) | caught, exits, result)
    for inner in stmt.body:
        result.after[inner] |= caught
    return begun | caught


def _loop(stmt: ast.For | ast.While, live: frozenset[str], exits: _Exits, result: Liveness) -> frozenset[str]:
    ended = _block(stmt.orelse, live, exits, result)
    again = _read(stmt.test) if isinstance(stmt, ast.While) else frozenset()
    targets = frozenset(assigned([ast.Expr(stmt.target)])) if isinstance(stmt, ast.For) else frozenset()
    head = again | ended
    while True:
        inside = _block(stmt.body, head, _Exits(live, head), result)
        grown = head | (inside - targets)
        if grown == head:
            break
        head = grown
    result.at_loop[stmt] = head
    result.at_body[stmt] = inside
    return head | (_read(stmt.iter) if isinstance(stmt, ast.For) else frozenset())


def _killed(stmt: ast.stmt) -> frozenset[str]:
    """Names a simple statement certainly binds anew."""
    if isinstance(stmt, (ast.FunctionDef, ast.ClassDef)):
        return frozenset({stmt.name})
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target] if isinstance(stmt, ast.AnnAssign) else []
    found: set[str] = set()
    for target in targets:
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        found |= {p.id for p in parts if isinstance(p, ast.Name)}
    return frozenset(found)


def _augmented(stmt: ast.stmt) -> frozenset[str]:
    if isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Name):
        return frozenset({stmt.target.id})
    return frozenset()
