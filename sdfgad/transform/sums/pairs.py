"""Sums over pairs: nothing is made for a pair that is not needed, or known from the other way round."""
from __future__ import annotations

from sdfgad.ir.program import Program
from sdfgad.transform.sums.distances import pair_by_distance
from sdfgad.transform.sums.symmetric import halve_symmetric
from sdfgad.transform.sums.triangles import narrow_triangles


def sum_over_pairs(program: Program) -> Program:
    """map i = 0:n, j = 0:n: t[i, j] = f(i, j) ; map i = 0:n, j = 0:n: s[i] += g(t[i, j], i, j), f(j, i) = -f(i, j)
    ->   map i = 0:n, j = i + 1:n: t[i, j] = f(i, j) ; sums of g(t[i, j], i, j) into s[i] and of g(-t[i, j], j, i) into
         s[j], in rows of one length

    Where sums look at a triangle alone, the rest is not made (`triangles.py`); what is symmetric in a pair is made once
    for both (`symmetric.py`); and pairs go in rows of one length where these are long (`distances.py`).
    """
    return pair_by_distance(halve_symmetric(narrow_triangles(program)))
