"""Graphs made by hand."""
from __future__ import annotations

import dace
from dace import Memlet

N = dace.symbol("N")


def state_of(sdfg: dace.SDFG, name: str) -> dace.SDFGState:
    """A new state. Without a line of its own DaCe searches Python's stack for each node, and all modules with it."""
    made = sdfg.add_state(name)
    made.set_default_lineinfo(dace.dtypes.DebugInfo(0))
    return made


def of_tasklet(code: str, language: dace.Language = dace.Language.Python, dtype: dace.typeclass = dace.float64,
               **more: dace.typeclass) -> dace.SDFG:
    """`y[i] = code(a, ...)` in a map, with `a = x[i]` and other connectors from arrays of their dtypes."""
    sdfg = dace.SDFG("of_tasklet")
    sdfg.add_array("x", [N], dtype)
    sdfg.add_array("y", [N], dtype)
    for name, kind in more.items():
        sdfg.add_array(f"{name}s", [N], kind)
    state = state_of(sdfg, "only")
    state.add_mapped_tasklet("work", {"i": "0:N"}, {"a": Memlet("x[i]"), **{n: Memlet(f"{n}s[i]") for n in more}},
                             code, {"b": Memlet("y[i]")}, external_edges=True, language=language)
    return sdfg


def jumping() -> dace.SDFG:
    """`for i in range(1, N): x[i] += x[i - 1] * 2`, as states and edges with conditions."""
    sdfg = dace.SDFG("jumping")
    sdfg.add_array("x", [N], dace.float64)
    before, guard, body, after = (state_of(sdfg, n) for n in ("before", "guard", "body", "after"))
    sdfg.add_edge(before, guard, dace.InterstateEdge(assignments={"i": "1"}))
    sdfg.add_edge(guard, body, dace.InterstateEdge("i < N"))
    sdfg.add_edge(guard, after, dace.InterstateEdge("i >= N"))
    sdfg.add_edge(body, guard, dace.InterstateEdge(assignments={"i": "i + 1"}))
    tasklet = body.add_tasklet("step", {"a": None, "c": None}, {"b": None}, "b = a + c * 2")
    body.add_edge(body.add_read("x"), None, tasklet, "a", Memlet("x[i]"))
    body.add_edge(body.add_read("x"), None, tasklet, "c", Memlet("x[i - 1]"))
    body.add_edge(tasklet, "b", body.add_write("x"), None, Memlet("x[i]"))
    return sdfg


def racing(target: str = "y[0]", source: str = "x[i]") -> dace.SDFG:
    """A map whose iterations write what the target says, without a rule for conflicts."""
    sdfg = dace.SDFG("racing")
    sdfg.add_array("x", [N], dace.float64)
    sdfg.add_array("y", [N], dace.float64)
    state = state_of(sdfg, "only")
    state.add_mapped_tasklet("work", {"i": "0:N"}, {"a": Memlet(source)}, "b = a * a", {"b": Memlet(target)},
                             external_edges=True)
    return sdfg


def unordered() -> dace.SDFG:
    """`y[0] = x[0]` and `x[0] = 2 x[1]` in one state, in no order."""
    sdfg = dace.SDFG("unordered")
    sdfg.add_array("x", [N], dace.float64)
    sdfg.add_array("y", [N], dace.float64)
    state = state_of(sdfg, "both")
    reading, writing = state.add_access("x"), state.add_access("x")
    state.add_edge(reading, None, state.add_write("y"), None, Memlet("x[0] -> [0]"))
    tasklet = state.add_tasklet("double", {"a"}, {"b"}, "b = 2 * a")
    state.add_edge(reading, None, tasklet, "a", Memlet("x[1]"))
    state.add_edge(tasklet, "b", writing, None, Memlet("x[0]"))
    return sdfg


def rearranged() -> dace.SDFG:
    """`y = x` as a matrix of two rows, through a view, turned into columns by a transient; then scaled by a symbol."""
    sdfg = dace.SDFG("rearranged")
    sdfg.add_array("x", [6], dace.float64)
    sdfg.add_array("y", [6], dace.float64)
    sdfg.add_view("rows", [2, 3], dace.float64)
    sdfg.add_transient("columns", [3, 2], dace.float64)
    sdfg.add_symbol("factor", dace.int64)
    state = state_of(sdfg, "turn")
    rows, columns = state.add_access("rows"), state.add_access("columns")
    state.add_edge(state.add_read("x"), None, rows, "views", Memlet("x[0:6]"))
    state.add_mapped_tasklet("turn", {"i": "0:2", "j": "0:3"}, {"a": Memlet("rows[i, j]")}, "b = a * a",
                             {"b": Memlet("columns[j, i]")}, external_edges=True, input_nodes={"rows": rows},
                             output_nodes={"columns": columns})
    state.add_edge(columns, None, state.add_write("y"), None, Memlet("columns[0:3, 0:2] -> [0:6]"))
    later = sdfg.add_state_after(state, "scale")
    later.add_mapped_tasklet("scale", {"i": "0:6:2"}, {"a": Memlet("y[i]")}, "b = a * factor", {"b": Memlet("y[i]")},
                             external_edges=True)
    return sdfg


def in_tiles(stop: str, wcr: str | None = None) -> dace.SDFG:
    """`y[i] = x[i] ** 2` for t = 0, 2, ... and `t <= i < stop`."""
    sdfg = dace.SDFG("in_tiles")
    sdfg.add_array("x", [N], dace.float64)
    sdfg.add_array("y", [N], dace.float64)
    state = state_of(sdfg, "only")
    outer, behind = state.add_map("tiles", {"t": "0:N:2"})
    inner, after = state.add_map("inside", {"i": f"t:{stop}"})
    tasklet = state.add_tasklet("square", {"a": None}, {"b": None}, "b = a * a")
    state.add_memlet_path(state.add_read("x"), outer, inner, tasklet, dst_conn="a", memlet=Memlet("x[i]"))
    state.add_memlet_path(tasklet, after, behind, state.add_write("y"), src_conn="b", memlet=Memlet("y[i]", wcr=wcr))
    return sdfg


def lasting(fresh: bool) -> dace.SDFG:
    """`y = kept * x` with an array that DaCe keeps from call to call, after `kept = x`, or `kept = kept + x`."""
    sdfg = dace.SDFG("lasting")
    for name in ("x", "y"):
        sdfg.add_array(name, [N], dace.float64)
    sdfg.add_transient("kept", [N], dace.float64, lifetime=dace.AllocationLifetime.Persistent)
    first, then = state_of(sdfg, "first"), state_of(sdfg, "then")
    sdfg.add_edge(first, then, dace.InterstateEdge())
    inputs = {"a": Memlet("x[i]")} | ({} if fresh else {"c": Memlet("kept[i]")})
    first.add_mapped_tasklet("fill", {"i": "0:N"}, inputs, "b = a" if fresh else "b = a + c", {"b": Memlet("kept[i]")},
                             external_edges=True)
    then.add_mapped_tasklet("use", {"i": "0:N"}, {"a": Memlet("x[i]"), "c": Memlet("kept[i]")}, "b = a * c",
                            {"b": Memlet("y[i]")}, external_edges=True)
    return sdfg


def adding_nothing() -> dace.SDFG:
    """`0.0 * y + x * x` where nothing has been written to y, which is returned."""
    sdfg = dace.SDFG("adding_nothing")
    for name in ("x", "__return"):
        sdfg.add_array(name, [N], dace.float64)
    state = state_of(sdfg, "only")
    state.add_mapped_tasklet("work", {"i": "0:N"}, {"a": Memlet("x[i]"), "c": Memlet("__return[i]")},
                             "b = 0.0 * c + a * a", {"b": Memlet("__return[i]")}, external_edges=True)
    return sdfg
