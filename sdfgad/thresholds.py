"""Every size from which on something is worth doing, and up to which it is done: one table, one place to change it.

None of them decides whether a result is right. They are measured on usual processors; what has to stay in a cache is a
part of the caches at hand (`of_caches`). For tests, `SDFGAD_THRESHOLDS=least` in the environment, or `changed(LEAST)`,
lets every transformation have small programs, and `SDFGAD_THRESHOLDS=usual` makes the same programs everywhere.
"""
from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from sdfgad.caches import Caches, caches

VARIABLE = "SDFGAD_THRESHOLDS"


def _from(default: Any, least: Any) -> Any:
    """A value from which on something is worth it, and another one for tests, from which it nearly always is."""
    return field(default=default, metadata={"least": least})


@dataclass(frozen=True)
class JoinLimits:
    """points: of a map, from which a pass over them counts. rows: only maps over one range count. arrays: with other
    elements at each point of a row, that a processor can follow at once. far: most statements between two maps. stride:
    the longest way from neighbour to neighbour that caches do not mind. core: share of maps that join part of them."""

    points: int = 512
    rows: bool = False
    arrays: int = 30
    far: int = 60
    stride: int = 4
    core: float = 0.75


@dataclass(frozen=True)
class RowLimits:
    """reuse: bytes saved from going through memory, at least. work: element accesses from which threads pay. nearby:
    bytes that stay in a core's cache. private: bytes that an iteration has of its own. stack: those on a stack, where
    threads of others have little. trips: rows that keep threads busy. stream: neighbouring bytes to work on where they
    leave the cache. far: bytes that no cache holds. narrow: neighbouring bytes of a loop. alone: points to share."""

    reuse: int = 1 << 20
    work: int = 1 << 18
    nearby: int = 3 << 16
    private: int = 1 << 19
    stack: int = 3 << 16
    trips: int = 64
    fewest: int = 8
    stream: int = 256
    far: int = 1 << 21
    narrow: int = 256
    alone: int = 1 << 15


@dataclass(frozen=True)
class LineLimits:
    """uses: scattered accesses per element that is copied, from which on copies pay. stack: bytes of all lines."""

    uses: float = 1.0
    stack: int = 1 << 16


@dataclass(frozen=True)
class ClearingLimits:
    """What is worth a first iteration of its own: points: cleared per iteration; statements: that stand twice then."""

    points: int = 512
    statements: int = 256


@dataclass(frozen=True)
class ShiftLimits:
    """size: elements of a copy worth the cuts. whole: the least part of them in its largest piece. more: added maps."""

    size: int = 1 << 10
    whole: float = 0.75
    more: int = 4


@dataclass(frozen=True)
class PadLimits:
    """size: elements of a shifted copy. room: for the halos as well, as a multiple of the array."""

    size: int = 16
    room: float = 1.5


@dataclass(frozen=True)
class TurnLimits:
    """What is worth a body of twice the length: points: of the copy; share: of all points of an iteration; statements:
    in the body; trips: of the loop."""

    points: int = 512
    share: float = 1 / 8
    statements: int = 64
    trips: int = 4


@dataclass(frozen=True)
class DeviceLimits:
    """Of kernels on a graphics processor; by its number of threads, not measured. points: so many keep it busy without
    sharing sums. terms: of a sum that one thread adds up whatever the others do. long_sum: terms from which on one sum
    is worth two kernels. pieces: blocks of the first of them. apart: kernels between two that are joined.
    library_product: multiplications of a matrix product from which on a library's routine is worth its start. alone:
    terms of sums in a fixed order that one thread adds up sooner than they are sorted. rounds: more steps of one block
    that take as long as a launch. parts: maps in a block whose threads have few registers. shared: threads that all
    blocks together have at once, at least: kernels of so many are one with others that wait for them. again: operations
    up to which all neighbours compute what they look at. beside: threads of a kernel with company, whose registers suit
    the one that needs most. components: of axes written out. system: multiplications in a thread, for each matrix."""

    points: int = 1 << 13
    terms: int = 32
    long_sum: int = 1 << 14
    pieces: int = 512
    apart: int = 8
    library_product: int = 1 << 18
    alone: int = 256
    rounds: int = 32
    parts: int = 16
    shared: int = 1 << 17
    again: int = 64
    beside: int = 1 << 20
    components: int = 9
    system: int = 1 << 10


@dataclass(frozen=True, eq=False)
class Thresholds:
    """By the pass, or the part of the compiler, that looks at them. Each object is its own key in dictionaries."""

    # Rows that stay in the cache.
    joining: JoinLimits = _from(JoinLimits(), least=JoinLimits(points=1, core=0.25))
    small_rows: JoinLimits = _from(JoinLimits(points=8, rows=True), least=JoinLimits(points=1, rows=True))
    """Points of rows, as of strips, that are joined last: what they would hide from others is settled by then."""
    rows: RowLimits = _from(RowLimits(), least=RowLimits(reuse=1, work=1, nearby=1 << 9, private=1 << 9, stack=1 << 8,
                                                        trips=2, fewest=2, stream=8, far=1, narrow=8, alone=4))
    lines: LineLimits = _from(LineLimits(), least=LineLimits(uses=0.0))
    clearing: ClearingLimits = _from(ClearingLimits(), least=ClearingLimits(points=0))
    shifting: ShiftLimits = _from(ShiftLimits(), least=ShiftLimits(size=1, whole=0.0))
    padding: PadLimits = _from(PadLimits(), least=PadLimits(size=1, room=4.0))
    turns: TurnLimits = _from(TurnLimits(), least=TurnLimits(points=0, share=0.0, trips=2))
    sum_piece: int = _from(512, least=1)
    """Elements of a box of a sum from which on a pass over it counts (`sum_pieces`)."""
    sum_pieces_apart: int = 64
    """Statements between a box and its last part, at most (`sum_pieces`)."""
    turned_statements: int = 12
    """In the body of a loop that `turn_sums` looks at: each is compared with the sum, twice."""
    step_scalar: int = 16
    """Nodes of a number of a step that is computed where it is read, at most (`take_rows_apart`)."""
    folded_row: int = _from(16, least=2)
    """Elements of a row of sums that stands for a box of them (`fold_points`): two vectors."""
    shared_addition: int = _from(8, least=1)
    """Points of a row from which on a pass over it counts (`share_additions`)."""
    shared_additions_apart: int = 8
    """Statements between two maps, at most (`share_additions`)."""
    summed_statements: int = 12
    """In the body of a loop that stays one, for its sums to go in place."""
    sums_per_cost: int = _from(4, least=1 << 10)
    """Sums that one saved root or division pays for: each is added to in two places (`halve_symmetric`)."""
    triangle_row: int = _from(24, least=1)
    """Points in the mean row of a triangle from which on half the points cost less than whole rows of one length."""
    pair_lines: int = 1 << 14
    """Bytes of all lines together (`pair_by_distance`): every row goes through all of them, and a derivative through as
    many again, which is what the smallest cache of usual processors holds."""
    paired_row: int = _from(40, least=1)
    """Points in the mean row of pairs from which rows of one length pay for copies: nbody: 1.34 at 50, 0.81 at 100."""
    joined_statements: int = 8
    """In the body of a loop that `join_updates` looks at: each is compared with what goes there."""
    blocks_ahead: int = _from(2, least=1)
    """Blocks that a group has done more than the next one, before that one begins another block."""
    blocked_iterations: int = _from(8, least=4)
    """Iterations from which on a loop is worth a loop over blocks of them."""
    blocked_statements: int = 8
    """In the body of a loop that `unroll_and_jam` looks at: each is compared with all others, once per part."""
    written_out: int = 32
    """Points of what is left of four iterations (`unroll_and_jam`); more stay a loop."""
    at_once: int = _from(16, least=1)
    """Points of the inner loop of what is done at once (`unroll_and_jam`): less does not pay for the rest."""
    exchanged_statements: int = 8
    """In an inner loop that `exchange_loops` looks at: each is compared with all others."""
    jammed_stores: int = 12
    """Of all recurrences that run side by side (`skew_and_jam`): those of more do not fit into the registers."""
    jammed_bytes: int = 1 << 15
    """Of what sweeps side by side get for themselves, so that it stays in the nearest cache and fits on a stack."""
    kept_terms: int = 50
    """Operations per point that must be saved for what a point gives to its neighbours to be kept (`keep_shared`): an
    array more is written and read, and keeps loops apart. At 30 saved adi took 1.4 of the time, at 44 and 177
    cavity_flow 1.0, at 55 total variation 0.5 and rsbench 0.95, at 70 to 190 channel_flow 0.86. No lower for tests: it
    would leave sums that are written out nothing."""
    fused_nodes: int = 1000
    fused_depth: int = 48
    """Nodes of an expression, written out, that `fuse_pointwise` makes, and those of them that stand in each other."""
    own_line: int = _from(8, least=1)
    """So many times fewer elements than the map has points make a line (`join_pointwise`)."""
    tabulated_uses: int = _from(4, least=1)
    """Times that a value is used from which on a load is better than computing it again (`tabulate_rows`)."""
    tabulated_row: int = 1 << 15
    """Bytes of a row of such values, which is to stay in the nearest cache; no limit on memory will notice."""
    lined_up: int = _from(1 << 8, least=1)
    """Points of a map that is looked at for lines (`line_up`)."""
    rows_per_line: int = _from(8, least=1)
    """So many rows that use a line pay for making it (`line_up`)."""
    distributed_work: int = _from(1 << 14, least=1)
    """Element accesses of a loop from which on `distribute_sweeps` looks at it."""
    distributed_pairs: int = 4000
    """Of accesses that are compared (`distribute_sweeps`)."""
    cut_program: int = 1 << 17
    """Characters of a program whose long functions are cut up (`outline`): a shorter one compiles as fast as it is."""
    long_block: int = 1 << 12
    """Characters of a block that is itself cut up; shorter ones stay whole, and neighbours go together up to this."""
    short_block: int = 1 << 9
    """Characters that are not worth a call (`outline`)."""
    repeated_block: int = 1 << 8
    """Characters that are not worth a call if they come again, with other names (`outline`)."""
    large_program: int = 400
    """Statements of a program of which no second one is finished unless it is promising (`Choice.cached`)."""
    small_program: int = 100
    """Statements of a program of which others are made to find one that takes a few bytes less (`Choice.floor`)."""
    boxes: int = 64
    """More boxes of elements are not followed: all that is stale then counts as looked at."""
    from_zeros: float = _from(0.75, least=0.0)
    """Share of the elements of a sum that start from zero, from which on these are done apart (`assign_to_zeros`)."""
    packed_share: float = _from(0.25, least=0.0)
    """Of a box that has to go for polynomials in addresses to pay (`pack`)."""
    packed_bytes: int = _from(4096, least=1)
    """Likewise."""
    broadcast_nodes: int = 8
    """Nodes of a value that is computed again wherever it is read (`propagate_broadcasts`)."""
    broadcast_number: int = 16
    """The same for a value that is one number everywhere: a loop over elements has it at hand."""
    word_bytes: int = _from(1 << 16, least=1)
    """Of a record of decisions that is worth words (`widen_decisions`)."""
    rows_per_word: int = _from(8, least=1)
    """That share a number (`widen_decisions`); fewer of 64 bits would take more memory than bytes."""
    word_groups: int = _from(8, least=1)
    """Of rows, where each of them has enough (`widen_decisions`): threads share them."""
    vector_variable: int = _from(4, least=1)
    """Values of a variable that leave something to vectorise (`orient_temporaries`)."""
    scattered_cost: int = 3
    """What a scattered access costs beyond another one (`orient_temporaries`)."""
    turned_cost: float = _from(0.75, least=1.0)
    """What is left of the cost of all accesses of the maps that touch an array, at most, where it is turned."""
    turned_bytes: int = _from(1 << 15, least=1)
    """Of an array worth turning: smaller ones stay in the nearest cache however they lie."""
    streamed_matrix: int = _from(1 << 20, least=1)
    """Bytes of a matrix (`WrittenOut.STREAMED`): smaller ones stay in the cache, where BLAS is faster than a loop."""
    summed_product: int = _from(1 << 15, least=1)
    """Multiplications of a product whose sums are taken apart (`sum_products`): a call with fewer costs less."""
    factors: int = 6
    """Of a sum that `factorise_sums` looks at."""
    factor_gain: float = _from(2.0, least=1.0)
    """Fewer multiplications by this factor are worth the temporaries (`factorise_sums`)."""
    factor_temporary: int = 1 << 16
    """Elements that a temporary of `factorise_sums` may always have; more up to the largest array of the program."""
    merged_columns: int = _from(8, least=1)
    """Columns of the factor in common (`merge_products`): with fewer the sum costs more than it saves."""
    thin_terms: int = 4
    """Of a product that is written out (`WrittenOut.THIN`)."""
    thin_elements: int = _from(1 << 12, least=0)
    """Of a product that is written out: smaller results stay in the cache between statements."""
    paired_products: int = 64
    """In one map (`share_factors`): looking for pairs of factors takes time."""
    boxed_record: int = _from(1 << 16, least=0)
    """Bytes from which a record of a loop that may end early lies on a tape, not in a box for all its iterations."""
    mask_readers: int = 4
    """So many statements may compute a value each on its own (`inline_masks`)."""
    mask_versions: int = 4
    """So many times the bytes of what single points write may be taken by their scalars (`number_scalars`)."""
    parallel_statements: int = 40
    """A longer loop body is left alone (`parallelise`): comparing its statements takes the square of their number."""
    table_bytes: int = 1 << 26
    """Of a table that is made once (`tabulate`); larger arrays are computed at every call."""
    places: int = 1 << 24
    """Of an index array that are looked at, at most (`write_out_places`)."""
    restored_bytes: int = 1 << 19
    """That stay in a near cache (`propagate_kept_copies`): what is looked at again of a larger copy comes from afar."""
    record_rims: int = _from(16, least=0)
    """A record takes at most one part in so many more (`widen_records`)."""
    restored_loops: int = 8  # So many are tried, and changed, at most: each trial looks at the whole program.
    handed_on_pieces: int = 8
    """Boxes of elements that no iteration replaces, to be handed on one by one (`write_ahead`)."""
    handed_on: float = _from(0.5, least=1.0)
    """Share of the state (`write_ahead`): where more is handed on, the copy stays."""
    exchanged: int = _from(4, least=0)
    """So many times more elements are exchanged than moved in spite of it (`double_buffer`)."""
    copied_pieces: int = 16  # Boxes that one copy is made of, at most (`double_buffer`).
    contracted_product: int = _from(1 << 15, least=1)
    """Multiplications: loops of fewer stay loops (`contract`)."""
    contracted_extent: int = _from(8, least=1)
    """Likewise of anything thinner than this."""
    delayed_share: float = _from(0.25, least=2.0)
    """Of a matrix: what the vectors of updates that are put off take, at most, so that limits of memory hardly notice
    (`delay_updates`)."""
    list_room: int = 256
    """Items that a list has room for at first, in loops of unknown length."""
    whole_terms: int = _from(16, least=1)
    """Points that have all terms of a sum: for fewer the borders are no nests of their own (`whole_terms_apart`)."""
    sweep_groups: int = _from(4, least=1)
    """Of sweeps side by side: with fewer, threads would mostly wait for each other (`skew_and_jam`)."""
    sweep_blocks: int = _from(2, least=1)
    """Likewise, blocks of rows."""
    thinned_tape: int = _from(1 << 24, least=0)
    """Bytes of a tape that has left every cache when it is read again (`thin_tapes`)."""
    swept_statements: int = 32
    """In a row of a sweep that is looked at: there are up to seven copies of it."""
    swept_trips: int = _from(8, least=2)
    """Iterations of a recurrence that is worth running beside others."""
    remade_operations: int = 12
    """Storing a value and loading it again, from memory, takes about the time of so many elementary operations."""
    remade_loads: int = 2
    """A store and a load are not worth more loads than this."""
    remade_copies: int = 3
    """Elements stored to make one element again."""
    carried: int = 3
    """Elements of one array from one iteration to the next (`replace_by_scalars`)."""
    cases: int = 16
    """Ways in which boxes may coincide that are looked at one by one."""
    inequalities: int = 400
    """Of a system in which variables are eliminated."""
    looks: int = 1000
    """Iterations in which a condition is looked at."""
    points_beside_messages: int = _from(64, least=1)
    """Points of a map that is worth a message under way beside it."""
    loop_cuts: int = 4
    """More pieces of a loop than this and one are not worth their code."""
    split_statements: int = 96
    """Statements on single elements in a nest that is cut into pieces, the pieces of inner loops counted."""
    gathered_pieces: int = 64
    """More boxes of cells with different terms than this are not worth their code."""
    tile_reuse: float = _from(4.0, least=0.0)
    """Uses per element touched from which on a tile pays; below it, memory sets the pace."""
    team_waits: int = _from(2, least=1 << 20)
    """So often threads of a team may wait for each other in the time that it takes to start and to end them all."""
    team_share: int = _from(1 << 14, least=1)
    """Operations from which on the threads of a team share what one of them could do."""
    lines_per_fork: int = _from(256, least=1 << 20)
    """Lines from another core in the time that pays for a parallel region."""
    second_body: int = _from(1 << 13, least=1)
    """Work of a map that is worth a second body without its guards, or with reciprocals."""
    block_work: int = _from(4096, least=1)
    """Operations of a map within a block of a band from which on its loops cost little beside."""
    library_product: int = _from(4096, least=1)
    """Matrix products of so few multiplications are loops, and no calls of BLAS."""
    parallel_work: int = _from(1 << 16, least=1)
    """Elementary operations from which on a map is worth the fork of a parallel region."""
    heed_work: int = _from(1 << 21, least=1)
    heed_between: int = _from(1 << 10, least=1)
    """Operations of loops that look for interrupts, as shorter ones are over soon, and those between two looks."""
    device: DeviceLimits = _from(DeviceLimits(), least=DeviceLimits(4, 1, 4, 2, library_product=1, alone=1, rounds=0))

    # Sparse matrices of derivatives.
    pattern_work: int = 300_000_000
    """Points, pairs of element and input, and so on that are looked at for a sparsity pattern: some seconds."""
    pattern_neighbours: int = 10_000_000
    """Columns with a row in common, for all columns together: what a colouring has room for."""

    # Graphs that leave this package.
    table: int = 1 << 16
    """Elements of a constant up to which it is written into the code of a graph (`to_sdfg`)."""


LEAST = Thresholds(**{one.name: one.metadata["least"] for one in fields(Thresholds) if "least" in one.metadata})
"""What lets every transformation have programs of a few elements."""


def of_caches(there: Caches) -> Thresholds:
    """Those of a machine. For the usual caches these are the values in the table."""
    near, own = there.near, there.own
    return Thresholds(rows=RowLimits(nearby=3 * own // 8, far=4 * own), pair_lines=near // 2, jammed_bytes=near,
                      tabulated_row=near, turned_bytes=near, restored_bytes=own, streamed_matrix=2 * own)


@lru_cache(maxsize=1)
def _at_first() -> Thresholds:
    asked = os.environ.get(VARIABLE)
    return LEAST if asked == "least" else Thresholds() if asked == "usual" else of_caches(caches())


_current: ContextVar[Thresholds | None] = ContextVar("thresholds", default=None)


def thresholds() -> Thresholds:
    """Those that hold now."""
    return _current.get() or _at_first()


@contextmanager
def changed(to: Thresholds | None = None, **some: Any) -> Iterator[Thresholds]:
    """Within, other thresholds hold in this thread: all of `to`, or some of those that hold now."""
    token = _current.set(replace(thresholds() if to is None else to, **some))
    try:
        yield thresholds()
    finally:
        _current.reset(token)
