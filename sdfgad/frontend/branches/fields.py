"""Items of dicts and lists and attributes of objects set in loops and branches: there they are names like any other.

So are the leaves of containers that a loop or branch binds to a name anew, `s = State(s.u + 1, s.h)`: what the name
stands for is another object each time, but of the same form.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from sdfgad.errors import SourceLine
from sdfgad.frontend.arrays.masking import same_mask
from sdfgad.frontend.functions.arithmetic import kept
from sdfgad.frontend.merging.none_or import NOWHERE, Blank, filled
from sdfgad.frontend.merging.structures import (
    Form,
    difference,
    form_of,
    is_tree,
    items_in,
    leaves_of,
    mutable_parts,
    rebuilt,
    selections,
    taken_in,
)
from sdfgad.frontend.state.context import Context, restore_contents
from sdfgad.frontend.state.values import Grown, ListValue, Masked, Maybe, Record, Unbound, Value, contained
from sdfgad.frontend.static.settled import growing
from sdfgad.frontend.syntax.advice import GROWS

SHARED = -2
"""The depth of a container that several names stand for, of which one has been bound anew on some way."""


class Rebound(Exception):
    """A loop or branch binds `name` to another container, or to None or a value: its leaves have to be names.

    beside: blanks of names that change together with this one.
    """

    def __init__(self, name: str, blank: Blank | None = None,
                 beside: Mapping[str, Blank] = MappingProxyType({})) -> None:
        super().__init__(name)
        self.name, self.blank, self.beside = name, blank, beside


class Unlike(Exception):
    """`name` stands for containers of different forms, as `what` says."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(name, what)
        self.name, self.what = name, what


class Unalike(Exception):
    """What a mask was thought to select, number `which` of those in a container, has come to have another mask."""

    def __init__(self, which: str) -> None:
        super().__init__(which)
        self.which = which


class ListChanged(Exception):
    """A loop or branch changes, at `place`, items of a list that is older than it: the items have to be names."""

    def __init__(self, changed: ListValue, place: SourceLine | None) -> None:
        super().__init__()
        self.changed, self.place = changed, place


@dataclass(frozen=True)
class Tree:
    """A container under a name: its form, the names of its leaves, and how these are written in the source."""

    form: Form | None
    leaves: tuple[str, ...]
    written: tuple[str, ...]


class Fields:
    """The fields of every dict and object that may change at this point, and the leaves of the containers that `bound`
    stand for, fields among them. changed: where a list was seen to change, whose items are fields then, too; its length
    is kept.

    A field is in its dict or object while statements run, and under a name of its own while loops and branches look
    after names; it is never in both places, as that would be a second reference to its array. blanks: what stands for
    values of names that may be None. masks: for a loop, which of the equal masks before it are to be one name, those of
    one number; 0 where nothing is said.
    """

    def __init__(self, ctx: Context, bound: Set[str] = frozenset(),
                 changed: ListChanged | None = None, blanks: Mapping[str, Blank] = MappingProxyType({}),
                 masks: Mapping[str, int] | None = None) -> None:
        names = ctx.frame.names
        self.ctx, self.asked, self.blanks, self.masks = ctx, frozenset(bound), blanks, masks
        self.leading: dict[str, tuple[int, Masked]] = {}  # names of masks, and what has them now
        self.bound = frozenset(n for n in bound if n in blanks and n.isidentifier()
                               or n in names and (n in blanks or is_tree(taken_in(ctx, names[n]))))
        self.depth, self.changed = len(ctx.builder.regions), changed
        found = {id(v): v for frame, name, value in ctx.values(False)
                 if frame is not ctx.frame or name not in bound or isinstance(value, Grown)
                 for v in contained(value)
                 if isinstance(v, (Record, ListValue) if changed else Record) and v.depth == self.depth}
        self.records = list(found.values())
        self.lengths = {k: len(r.items) for k, r in enumerate(self.records) if isinstance(r, ListValue)}
        self.places: dict[str, tuple[Record | ListValue, Any]] = {}
        self.trees: dict[str, Tree] = {}
        self.loose: set[str] = set()  # containers that others know as well: nobody may change them
        self.frozen: list[tuple[ListValue | Record, int]] = []  # the same under their other names, and their depths
        self.made: dict[str, Value] = {}
        self.apart: set[str] = set()  # containers whose leaves are names now
        self.within: dict[int, Any] = {}  # what parts of such containers held at first

    @property
    def names(self) -> frozenset[str]:
        """The names that fields and leaves have had."""
        return frozenset(self.places).union(*(t.leaves for t in self.trees.values()))

    def written(self, name: str) -> str:
        """A name as the source would write it."""
        for tree in self.trees.values():
            if name in tree.leaves:
                return tree.written[tree.leaves.index(name)]
        return name.split(".")[0] if name in self.places else name

    @contextmanager
    def inside(self) -> Iterator[Fields]:
        """A loop or branch: statements in its region may set fields, and a trial that fails has set none."""
        before = [(r, r.items.copy()) for r in self.records]
        for record in self.records:
            record.depth += 1
        self.ctx.changing.append(self)
        done = False
        try:
            yield self
            done = True
        finally:
            self.ctx.changing.pop()
            if not done:
                restore_contents(before)
                for part, depth in reversed(self.frozen):
                    part.depth = depth
            for record, _ in before:
                record.depth -= record.depth != SHARED
            for part in (p for value in self.made.values() for p in mutable_parts(value) if p.depth > self.depth):
                part.depth = self.depth

    def name(self) -> None:
        """Fields and leaves become names."""
        self.leading.clear()
        for name in [n for n, b in self.blanks.items() if b.made is Unbound and n not in self.trees]:
            self.ctx.frame.names.setdefault(name, NOWHERE)
        for name in sorted(self.bound & self.ctx.frame.names.keys()):
            self._spread(name)
        trees: set[int] = set()
        for k, record in enumerate(self.records):
            if id(record) in trees:
                self.within.setdefault(k, record.items.copy())
                continue
            if isinstance(record, ListValue) and len(record.items) != self.lengths.get(k, len(record.items)):
                self.ctx.here = self.changed.place if self.changed is not None else self.ctx.here
                raise growing(self.ctx.refuse(
                    "a list changed inside a loop or branch, which makes it longer or shorter", GROWS, "SG102"), record)
            label = "list" if isinstance(record, ListValue) else record.form.__name__
            for key, value in items_in(record).items():  # type: ignore[union-attr]
                name = f"{key}.{label}.{k}"
                self.places[name] = (record, key)
                self.ctx.frame.names[name] = value
                trees |= {id(part) for part in mutable_parts(value)} if name in self.asked else set()
            self._empty(k)
        for name in sorted(self.asked & self.places.keys() & self.ctx.frame.names.keys()):
            if name in self.trees or name in self.blanks or is_tree(taken_in(self.ctx, self.ctx.frame.names[name])):
                self._spread(name)

    def _spread(self, name: str) -> None:
        names = self.ctx.frame.names
        value = self._whole(name, names[name])
        if name not in self.trees:
            self.trees[name] = self._with_one_mask(_tree(name, value), value)
        tree = self.trees[name]
        if isinstance(value, Maybe):
            raise Unlike(name, f"{name} is not bound on every way")
        if (what := difference(tree.form, form_of(value), name)):
            raise Unlike(name, what)
        self._check_masks(tree, value)
        del names[name]
        self.apart.add(name)
        parts = mutable_parts(value)
        known = {id(p) for _, _, other in self.ctx.values(False) for p in contained(other)} if parts else set()
        for part in (p for p in parts if id(p) in known):
            self.loose.add(name)
            if part.depth != SHARED:  # what one name changes, the other one would not see
                self.frozen.append((part, part.depth))
                part.depth = SHARED
        names.update(zip(tree.leaves, (v for _, v in leaves_of(value)), strict=True))

    def _with_one_mask(self, tree: Tree, value: Value) -> Tree:
        """The same, where masks that are equal have one name."""
        leaves = list(tree.leaves)
        masks = self.masks
        for k, chosen in selections(value) if masks is not None else ():
            number = masks.get(tree.written[k], 0) if masks else 0
            leaves[k] = next((name for name, (other, first) in self.leading.items()
                              if number == other and same_mask(first, chosen)), leaves[k])
            self.leading.setdefault(leaves[k], (number, chosen))
        return replace(tree, leaves=tuple(leaves))

    def _check_masks(self, tree: Tree, value: Value) -> None:
        """Whether those that have one name are equal still."""
        for k, chosen in selections(value):
            _, first = self.leading.setdefault(tree.leaves[k], (0, chosen))
            if not same_mask(first, chosen):
                raise Unalike(tree.written[k])

    def _whole(self, name: str, value: Value) -> Value:
        """The container that a name stands for."""
        if name not in self.blanks or isinstance(value, Maybe):
            return taken_in(self.ctx, value)
        return kept(self.ctx, filled(self.blanks[name], value), name.split(".")[0])

    def added(self, before: Mapping[str, Value]) -> list[str]:
        """Fields that have been set, and were not there before."""
        return [n for n in self.places if n not in before and n in self.ctx.frame.names]

    def reordered(self, *ways: Mapping[str, Value]) -> bool:
        """Whether a dict has its items in another order on one of the ways."""
        dicts = [r for r in self.records if isinstance(r, Record) and issubclass(r.form, dict)]
        orders = [[[n for n in way if n in self.places and self.places[n][0] is r] for r in dicts] for way in ways]
        common = [set.intersection(*(set(o[k]) for o in orders)) for k in range(len(dicts))]
        first, *others = [[[n for n in o[k] if n in common[k]] for k in range(len(dicts))] for o in orders]
        return any(other != first for other in others)

    def emptied(self, value: Value) -> bool:
        """Whether parts of a value have their items under names at the moment."""
        own = {id(r) for r in self.records}
        return any(id(part) in own for part in mutable_parts(value))

    def clear(self) -> None:
        """Everything is in names, which are as they were before."""
        restore_contents([(self.records[k], items) for k, items in self.within.items()])
        for k in range(len(self.records)):
            if k not in self.within:
                self._empty(k)

    def _empty(self, k: int) -> None:
        record = self.records[k]
        if isinstance(record, ListValue):
            record.items[:] = [None] * self.lengths[k]
        else:
            record.items.clear()

    def put_back(self) -> None:
        """Names become fields, those that only some ways have set as well: `settled` tells."""
        names = self.ctx.frame.names
        held = {leaf: names.pop(leaf) for tree in self.trees.values() for leaf in tree.leaves if leaf in names}
        for name, tree in self.trees.items():
            self._gather(name, tree, {leaf: held[leaf] for leaf in tree.leaves if leaf in held})
        for name in [n for n in names if n in self.places]:
            record, key = self.places[name]
            record.items[key] = names.pop(name)

    def _gather(self, name: str, tree: Tree, found: dict[str, Value]) -> None:
        names = self.ctx.frame.names
        empty = name in self.apart and not tree.leaves
        self.apart.discard(name)
        if not found and not empty:
            return
        if name in names and not isinstance(names[name], Maybe):  # back already, some of its leaves are others now
            leaves = [v for _, v in leaves_of(self._whole(name, names[name]))]
            found = dict(zip(tree.leaves, leaves, strict=True)) | found
        if found.keys() < set(tree.leaves) or any(isinstance(v, Maybe) for v in found.values()):
            names[name] = Maybe(None)
            return
        depth = -1 if name in self.loose else self.depth + 1
        names[name] = self.made[name] = rebuilt(tree.form, iter([found[leaf] for leaf in tree.leaves]), depth)


def _tree(name: str, value: Value) -> Tree:
    paths = [path for path, _ in leaves_of(value)]
    labels = [f"{name}_{''.join(c if c.isalnum() else '_' for c in p).strip('_')}.%{name}{p}" for p in paths]
    return Tree(form_of(value), tuple(labels), tuple(name + p for p in paths))


def check_list(ctx: Context, changed: ListValue, help: str = GROWS) -> None:
    """Whether the items of a list may change here: in a loop or branch that is younger, they have to be names."""
    if changed.depth == len(ctx.builder.regions):
        return
    if any(changed.depth == fields.depth for fields in ctx.changing):
        raise ListChanged(changed, ctx.here)
    where = "inside a loop or branch" if changed.depth >= 0 else "that may be one of several, or has several names"
    raise ctx.refuse(f"a list changed {where}", help, "SG102")


def check_found(ctx: Context, fields: Fields) -> None:
    """A list that changes although its items have become names is out of reach."""
    if fields.changed:
        raise ctx.refuse("a list changed inside a loop or branch", "give it a name outside", "SG102")


def binding(stmt: ast.For | ast.While, name: str) -> ast.stmt:
    """The statement of a loop's body that binds a name last."""
    simple = [s for s in ast.walk(stmt) if isinstance(s, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(s))]
    return max(simple, key=lambda s: s.lineno, default=stmt)
