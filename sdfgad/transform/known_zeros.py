"""Sums that start from zeros: what a run of statements has cleared, part by part, is assigned instead of added to."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sdfgad.ir.expr import Expr, Load
from sdfgad.ir.index import Ix, ix
from sdfgad.ir.program import Array, Block, Let, Loop, Map, Program, Range, Stmt, Store, While
from sdfgad.ir.walk import all_writes, children, with_children, writes
from sdfgad.transform.clearings import Box, common, is_zero, stored_box
from sdfgad.transform.stale import Boxes, without

