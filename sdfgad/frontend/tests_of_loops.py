"""Loops whose condition binds names."""
from __future__ import annotations

import ast


def with_plain_tests(stmt: ast.stmt) -> ast.stmt:
    """while (x := e) > 0: s   ->   while True: if not (x := e) > 0: break ; s"""
    found: ast.stmt = _PlainTests().visit(stmt)
    return found


class _PlainTests(ast.NodeTransformer):

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        if not node.orelse and any(isinstance(n, ast.NamedExpr) for n in ast.walk(node.test)):
            left = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
            node.body.insert(0, ast.fix_missing_locations(ast.copy_location(left, node.test)))
            node.test = ast.copy_location(ast.Constant(True), node.test)
        return node
