"""The items of an iterator, where they are known while translating."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from sdfgad.frontend.state.context import Context
from sdfgad.frontend.state.values import ListValue, Value

CHANGED = "an iterator that looks at what changes before it is used up"
LIST_OF_IT = "make a list of it before: list(...)"


class Picked(tuple):
    """Items, and where the iterator finds them one by one: in `lists`, or in arrays, which had these `versions`."""

    lists: tuple[ListValue, ...] = ()
    versions: Mapping[str, int] = MappingProxyType({})

    def of(self, items: Iterable[Value]) -> Picked:
        """Other items, found in the same places."""
        made = Picked(items)
        made.lists, made.versions = self.lists, self.versions
        return made


def check_versions(ctx: Context, versions: Mapping[str, int]) -> None:
    """Refuse what has looked at arrays that have been updated since."""
    if any(ctx.builder.versions.get(a, 0) != v for a, v in versions.items()):
        raise ctx.refuse(CHANGED, LIST_OF_IT, "SG102")


def asked(ctx: Context, value: Value) -> Value:
    """What an iterator under a name gives when it is asked for its items."""
    if isinstance(value, Picked):
        check_versions(ctx, value.versions)
    return value
