"""Translations that are kept for later calls, as long as what they were made from is still the same."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from sdfgad.config import chosen_target
from sdfgad.rules import registry
from sdfgad.thresholds import thresholds
from sdfgad.verbs.pipeline import Derivative, Primal
from sdfgad.verbs.pushforwards import Pushforward

Made = TypeVar("Made", Derivative, Primal, Pushforward)


@functools.lru_cache(maxsize=64)
def _known(fn: Callable[..., Any]) -> dict[Any, Any]:
    return {}


def once(fn: Callable[..., Any], key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """What `make` gives, made once per function, key, rule book, thresholds and target, and again when its surroundings
    have changed."""
    return valid(_known(fn).setdefault((*key, registry.version(), thresholds(), chosen_target()), []), make)


MAX_SURROUNDINGS = 8
"""Translations kept for the same arguments in other surroundings."""


def valid(found: list[Made], make: Callable[[], Made]) -> Made:
    """The one of `found` whose function would still be translated the same; else a new one, which joins them."""
    for made in found:
        if made.parsed.surroundings.unchanged():
            return made
    found.insert(0, make())
    del found[MAX_SURROUNDINGS:]
    return found[0]
