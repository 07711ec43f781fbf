"""What happens to a graph before it is read: loops and branches for jumps, maps for library nodes without a reader."""
from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from sdfgad.errors import unsupported
from sdfgad.frontend.graphs.operations import OPERATIONS

_PLAIN = ("pure", "MappedTasklet", "Tasklet")
"""Expansions that are maps and tasklets, by DaCe's names, the best one first."""
_ROUNDS = 4
_log = logging.getLogger(__name__)


def structured(sdfg: Any) -> Any:
    """The graph with loops and branches in place of edges with conditions, as far as DaCe finds them, and with what
    library nodes stand for in place of those that have no reader here."""
    if any(not e.data.is_unconditional() for s in sdfg.all_sdfgs_recursive() for r in s.all_control_flow_regions()
           for e in r.edges()):
        from dace.transformation.passes.simplification.control_flow_raising import ControlFlowRaising

        for part in sdfg.all_sdfgs_recursive():
            part.using_explicit_control_flow = True
        try:
            ControlFlowRaising().apply_pass(sdfg, {})
        except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError, IndexError) as reason:
            raise unsupported(None, f"jumps of the graph {sdfg.name}, of which DaCe makes no loops and branches",
                              "use loop regions and conditional blocks", "SG110") from reason
    for _ in range(_ROUNDS):
        done = [_expanded(node, state) for node, state in list(_unknown(sdfg))]
        if not any(done):
            break
    sdfg.reset_cfg_list()
    return sdfg


def _unknown(sdfg: Any) -> Iterator[tuple[Any, Any]]:
    from dace.sdfg.nodes import LibraryNode

    for node, state in sdfg.all_nodes_recursive():
        if isinstance(node, LibraryNode) and type(node).__name__ not in OPERATIONS:
            yield node, state


def _expanded(node: Any, state: Any) -> bool:
    """Whether a node has become a graph; if not it is refused where it is read."""
    form = next((n for n in _PLAIN if n in getattr(node, "implementations", {})), None)
    if form is None:
        return False
    try:
        node.expand(state, form)
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError, IndexError) as reason:
        _log.info("DaCe does not expand the library node %s: %s: %s", node.name, type(reason).__name__, reason)
        return False
    return True
