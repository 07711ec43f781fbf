"""Items of dicts and attributes of objects set in loops and branches: there they are names like any other."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sdfgad.frontend.context import Context
from sdfgad.frontend.values import Maybe, Record, contained


class Fields:
    """The fields of every dict and object that may change at this point.

    A field is in its dict or object while statements run, and under a name of its own while loops and branches look
    after names; it is never in both places, as that would be a second reference to its array.
    """

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        depth = len(ctx.builder.regions)
        found = {id(v): v for _, _, value in ctx.values() for v in contained(value)
                 if isinstance(v, Record) and v.depth == depth}
        self.records = list(found.values())
        self.places: dict[str, tuple[Record, Any]] = {}

    @property
    def names(self) -> frozenset[str]:
        """The names that fields have had."""
        return frozenset(self.places)

    @contextmanager
    def inside(self) -> Iterator[Fields]:
        """A loop or branch: statements in its region may set fields, and a trial that fails has set none."""
        before = [(r, dict(r.items)) for r in self.records]
        for record in self.records:
            record.depth += 1
        done = False
        try:
            yield self
            done = True
        finally:
            for record, items in before:
                record.depth -= 1
                if not done:
                    record.items.clear()
                    record.items.update(items)

    def name(self) -> None:
        """Fields become names."""
        for k, record in enumerate(self.records):
            for key, value in record.items.items():
                name = f"{key}.{record.form.__name__}.{k}"
                self.places[name] = (record, key)
                self.ctx.frame.names[name] = value
            record.items.clear()

    def clear(self) -> None:
        """Everything is in names, which are as they were before."""
        for record in self.records:
            record.items.clear()

    def put_back(self) -> None:
        """Names become fields; one that only some ways have set is none."""
        names = self.ctx.frame.names
        for name in [n for n in names if n in self.places]:
            record, key = self.places[name]
            value = names.pop(name)
            record.items.pop(key, None)
            if not isinstance(value, Maybe):
                record.items[key] = value
