"""What programs pass last that this processor runs: its stage, and the passes of it in their order."""
from __future__ import annotations

from dataclasses import replace
from functools import partial

from sdfgad.codegen.cpu.schedule.clearing.clear_behind import clear_behind
from sdfgad.codegen.cpu.schedule.clearing.clear_rest import clear_rest
from sdfgad.codegen.cpu.schedule.clearing.cleared_rows import assign_to_rows
from sdfgad.codegen.cpu.schedule.clearing.known_zeros import assign_to_zeros
from sdfgad.codegen.cpu.schedule.copies.double_buffer import double_buffer
from sdfgad.codegen.cpu.schedule.copies.kept_powers import divide_kept_powers
from sdfgad.codegen.cpu.schedule.copies.propagate_kept_copies import propagate_kept_copies
from sdfgad.codegen.cpu.schedule.copies.unseen_copies import remove_unseen_copies
from sdfgad.codegen.cpu.schedule.joining.join_pointwise import join_pointwise
from sdfgad.codegen.cpu.schedule.joining.tabulate_rows import tabulate_rows
from sdfgad.codegen.cpu.schedule.layout.decision_words import widen_decisions
from sdfgad.codegen.cpu.schedule.layout.orient import orient_temporaries
from sdfgad.codegen.cpu.schedule.layout.pack import pack
from sdfgad.codegen.cpu.schedule.layout.thin_tapes import thin_tapes
from sdfgad.codegen.cpu.schedule.messages.overlap import overlap_messages
from sdfgad.codegen.cpu.schedule.recurrences.replace_by_scalars import replace_by_scalars
from sdfgad.codegen.cpu.schedule.recurrences.skew_and_jam import skew_and_jam
from sdfgad.codegen.cpu.schedule.recurrences.unroll_and_jam import unroll_and_jam
from sdfgad.codegen.cpu.schedule.rows.distribute import distribute_sweeps
from sdfgad.codegen.cpu.schedule.rows.lines import line_up
from sdfgad.codegen.cpu.schedule.rows.ragged import flatten_ragged_loops
from sdfgad.codegen.cpu.schedule.rows.rotate_lines import rotate_lines
from sdfgad.codegen.cpu.schedule.rows.row_sums import split_with_sums
from sdfgad.codegen.cpu.schedule.rows.strip_lines import pack_strips
from sdfgad.codegen.cpu.schedule.rows.whole_loops import loops_left_whole
from sdfgad.codegen.cpu.schedule.sums.fold_points import fold_points
from sdfgad.codegen.cpu.schedule.sums.join_updates import join_updates
from sdfgad.codegen.cpu.schedule.sums.shared_additions import share_additions
from sdfgad.codegen.cpu.schedule.sums.sum_pieces import sum_pieces
from sdfgad.codegen.cpu.schedule.sums.sums_to_copies import sum_to_copies
from sdfgad.codegen.cpu.schedule.sums.turn_sums import turn_sums
from sdfgad.ir.program import Program
from sdfgad.transform.passes import Pass, Stage
from sdfgad.transform.stages import ELIMINATE_DEAD_STORES as DEAD_STORES


def take_rows_apart(program: Program) -> Program:
    """Statements taken apart into rows that stay in the cache, but for loops that had better stay whole."""
    rows = split_with_sums(program)
    whole = loops_left_whole(program, rows, lambda p: _take_turns(join_pointwise(p)))
    return split_with_sums(program, whole=whole) if whole else rows


def _take_turns(program: Program) -> Program:
    """What becomes of loops that stay whole."""
    for one in TURNS:
        program = one.run(program)
    return program


ELIMINATE_DEAD_STORES = replace(DEAD_STORES, after={
    **DEAD_STORES.after, "assign_to_zeros": "a clearing is dead where the first sum assigns"})
FLATTEN_RAGGED_LOOPS = Pass(flatten_ragged_loops, "Rows of data-dependent length are walked once.")
TABULATE_ROWS = Pass(tabulate_rows, "Divisions and functions of a counter alone are looked up in a row.")
DISTRIBUTE_SWEEPS = Pass(
    distribute_sweeps, "What looks across rows leaves a sweep, so that the rest runs row by row.",
    {"tabulate_rows": "a table is made ahead of the sweep, and no statement of it"})
CLEAR_BEHIND = Pass(
    clear_behind, "What a sweep clears bit by bit is cleared behind it, where it meets an accumulation.",
    {"distribute_sweeps": "what left the sweep no longer reads what it clears"})
SUM_TO_COPIES = Pass(
    sum_to_copies, "Sums that the next iteration copies are added where the copy lies.",
    {"clear_behind": "what a sweep clears as well is cleared behind it"})
ORIENT_TEMPORARIES = Pass(
    orient_temporaries, "Neighbours in a map lie side by side in memory.",
    {"clear_behind": "clearings count among the accesses that neighbours decide",
     "take_rows_apart": "what a row keeps in the cache need not lie otherwise"})
TAKE_ROWS_APART = Pass(
    take_rows_apart,
    "Statements that hand large arrays to each other run row by row, in the cache.",
    {"clear_behind": "what is cleared behind a sweep goes with its rows"})
JOIN_POINTWISE = Pass(
    join_pointwise, "Maps over the same points run in one pass over memory.",
    {"sum_pieces": "a box joins as a whole",
     "orient_temporaries": "maps are joined over the axes that temporaries lie in"})
PROPAGATE_KEPT_COPIES = Pass(
    propagate_kept_copies, "What was kept is read where it was kept.",
    {"join_pointwise": "a copy in the same map is no statement any more"})
REMOVE_UNSEEN_COPIES = Pass(
    remove_unseen_copies, "Copies of which nobody reads an element any more go.",
    {"propagate_kept_copies": "a copy that was read where it was kept is not seen"})
PACK_STRIPS = Pass(pack_strips, "What a narrow strip touches again and again lies side by side while it works.")
ROTATE_LINES = Pass(
    rotate_lines, "Rows that the next iteration has as well are handed on: from memory once, to memory once.",
    {"pack_strips": "what is packed is handed on in lines of its own"})
TURN_SUMS = Pass(turn_sums, "Sums of a recurrence run along rows (right- or left-looking).")
JOIN_UPDATES = Pass(
    join_updates, "What is added beside a recurrence in the same way goes into its loop.",
    {"turn_sums": "updates go beside the loop that is there then"})
DIVIDE_KEPT_POWERS = Pass(divide_kept_powers, "A power beside a kept one is a quotient.")
ASSIGN_TO_ZEROS = Pass(assign_to_zeros, "Sums that start from zeros assign.")
SUM_PIECES = Pass(
    sum_pieces, "A box and its parts are one pass, not two.",
    {"eliminate_dead_stores": "pieces that are replaced are none"})
DOUBLE_BUFFER = Pass(
    double_buffer, "Two arrays take turns in place of a copy (double buffering).",
    {"join_pointwise": "the copy of the state may be part of another map"})
CLEAR_REST = Pass(clear_rest, "What each iteration adds to first is not cleared before the loop.")
LINE_UP = Pass(
    line_up,
    "What a row reads again at elements that lie apart is gathered into a line that vectors load.")
PACK = Pass(pack, "Triangular records take the memory of a triangle.")
UNROLL_AND_JAM = Pass(
    unroll_and_jam,
    "Four iterations of a factorisation at a time load and store a row once (unroll and jam).")
REPLACE_BY_SCALARS = Pass(replace_by_scalars, "A recurrence hands its value on in a register (scalar replacement).")
SKEW_AND_JAM = Pass(
    skew_and_jam, "Four in-place sweeps wait side by side, skewed in time (unroll and jam).",
    {"replace_by_scalars": "sweeps hand their values on in registers of their own"})
THIN_TAPES = Pass(thin_tapes, "Every other record of a large tape is computed from the one before.")
WIDEN_DECISIONS = Pass(widen_decisions, "Recorded comparisons of several rows share wide numbers, which vectorise.")
ASSIGN_TO_ROWS = Pass(assign_to_rows, "Rows that an iteration clears and adds to are assigned.")
SHARE_ADDITIONS = Pass(share_additions, "The same sum added to several rows is computed once.")
JOIN_CORES = Pass(
    partial(join_pointwise, cores=True),
    "Maps over nearly the same points run together but for their rims: stencils back collect with others.",
    {"double_buffer": "arrays take turns where a copy is whole",
     "sum_pieces": "a box whose parts are sums is in these parts"})
JOIN_SMALL_ROWS = Pass(
    partial(join_pointwise, small=True),
    "Rows of few points are joined last: what they would hide from other passes is settled by then.")
FOLD_POINTS = Pass(
    fold_points, "Sums of points that go into one sum are as many as fill vectors, in the nearest cache.",
    {"join_pointwise": "a map that adds to few elements again and again is not joined with others"})
OVERLAP_MESSAGES = Pass(
    overlap_messages, "Messages are under way while something else is computed.",
    {"join_pointwise": "statements that are joined are together on one side of a wait"})
TURNS = (ASSIGN_TO_ZEROS, ELIMINATE_DEAD_STORES, SUM_PIECES, JOIN_POINTWISE, DOUBLE_BUFFER)
"""Sums that begin with assignments, in few statements, and arrays that take turns in loops. Behind them sums that an
assignment begins no longer change places with others."""
SCHEDULE = Stage("schedule", (
    FLATTEN_RAGGED_LOOPS, TABULATE_ROWS, DISTRIBUTE_SWEEPS, CLEAR_BEHIND, SUM_TO_COPIES, TAKE_ROWS_APART,
    ORIENT_TEMPORARIES, JOIN_POINTWISE, PROPAGATE_KEPT_COPIES, REMOVE_UNSEEN_COPIES, PACK_STRIPS,
    ROTATE_LINES, TURN_SUMS, JOIN_UPDATES, DIVIDE_KEPT_POWERS, *TURNS, CLEAR_REST, LINE_UP, PACK,
    UNROLL_AND_JAM, REPLACE_BY_SCALARS, SKEW_AND_JAM, THIN_TAPES, WIDEN_DECISIONS, ASSIGN_TO_ROWS, SHARE_ADDITIONS,
    JOIN_CORES, JOIN_SMALL_ROWS, FOLD_POINTS, OVERLAP_MESSAGES))
"""Work in the order that caches, vectors and a few threads want."""
