"""Loops whose variable is divided into the places of several dimensions: delinearisation (Maslov 1992)."""
from __future__ import annotations

from dataclasses import replace

from sdfgad.ir.index import FloorDiv, Ix, Mod, ix
from sdfgad.ir.program import Block, Loop, Map, Program, Range, Stmt, Store
from sdfgad.ir.walk import all_variables, map_stmt_indices, rebuild
from sdfgad.names import fresh


def nest_divided_loops(program: Program) -> Program:
    """for k = 0:12: y[k // 4, k % 4] = x[k]   ->   for i = 0:3: for j = 0:4: y[i, j] = x[4*i + j]

    For loops over maps that store at such places, where all rows are whole: the iterations come in the same order.
    Whether two of them store at one place is seen in the nest only.
    """
    taken = all_variables(program.body)
    body = rebuild(program.body, lambda s: _nest(s, taken) if isinstance(s, Loop) else (s,))
    return program.but(body=body)


def _nest(loop: Loop, taken: set[str]) -> Block:
    r, count = loop.range, loop.range.stop.const
    plain = r.start.const == 0 and r.step == 1 and not (r.early or loop.until or loop.parallel or loop.behind)
    maps = [s for s in loop.body if isinstance(s, Map)]
    if not plain or count is None or len(maps) < len(loop.body):
        return (loop,)
    width = next((n for n in sorted(_divisors(maps, r.var)) if 1 < n < count and count % n == 0), None)
    if width is None:
        return (loop,)
    outer = fresh(r.var, taken)
    inner = fresh(r.var, taken | {outer})
    taken |= {outer, inner}
    number, env = ix(outer) * width + ix(inner), {outer: (0, count // width - 1), inner: (0, width - 1)}

    def change(stmt: Stmt) -> Stmt:
        return map_stmt_indices(stmt, lambda i: i.subs({r.var: number}).simplify(env))

    row = replace(loop, range=Range(inner, ix(0), ix(width)), body=tuple(map(change, maps)))
    return (replace(loop, range=Range(outer, ix(0), ix(count // width)), body=(row,), private=()),)


def _divisors(maps: list[Map], var: str) -> set[int]:
    """What the variable is divided by where something is stored, both the quotient and the remainder being used."""
    found: dict[type, set[int]] = {FloorDiv: set(), Mod: set()}
    stack: list[Ix] = [i for m in maps for p in m.body if isinstance(p, Store) for i in p.index]
    while stack:
        for atom in stack.pop().atoms:
            if isinstance(atom, (FloorDiv, Mod)) and atom.parts[0] == ix(var) and atom.parts[1].const is not None:
                found[type(atom)].add(atom.parts[1].const)
            if not isinstance(atom, str):
                stack.extend(atom.parts)
    return found[FloorDiv] & found[Mod]


__all__ = ("nest_divided_loops",)
