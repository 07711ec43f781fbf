"""The stages of a program, and the passes of each in their order."""
from __future__ import annotations

from collections.abc import Iterable

from sdfgad.ir.program import Program, View, views_of
from sdfgad.ir.verify import DERIVED, PREPARED
from sdfgad.thresholds import thresholds
from sdfgad.transform.clearing.clear_behind import clear_behind
from sdfgad.transform.clearing.clear_first import clear_first
from sdfgad.transform.clearing.clear_rest import clear_rest
from sdfgad.transform.clearing.cleared_rows import assign_to_rows
from sdfgad.transform.clearing.known_zeros import assign_to_zeros
from sdfgad.transform.clearing.only_zeros import drop_zeros
from sdfgad.transform.clearing.overwritten import eliminate_dead_stores
from sdfgad.transform.clearing.zeroing import fold_zeroing
from sdfgad.transform.copies.double_buffer import double_buffer
from sdfgad.transform.copies.propagate_kept_copies import propagate_kept_copies
from sdfgad.transform.copies.propagate_restored_copies import propagate_restored_copies
from sdfgad.transform.copies.propagate_shifted_copies import propagate_shifted_copies
from sdfgad.transform.copies.write_ahead import write_ahead
from sdfgad.transform.dropping.dead import remove_dead_code
from sdfgad.transform.dropping.unread import remove_unread_stores, remove_unseen_copies
from sdfgad.transform.fusion.fuse import fuse_pointwise
from sdfgad.transform.fusion.hoist import hoist_invariants
from sdfgad.transform.fusion.join_pointwise import join_pointwise
from sdfgad.transform.fusion.part_versions import part_versions
from sdfgad.transform.fusion.rename_versions import rename_versions
from sdfgad.transform.fusion.shared_values import share_values
from sdfgad.transform.fusion.tabulate_rows import tabulate_rows
from sdfgad.transform.nans import end_at_first_nan
from sdfgad.transform.normal.bounds import bound_loops
from sdfgad.transform.normal.masks import inline_masks, number_scalars
from sdfgad.transform.normal.normalise import normalise
from sdfgad.transform.normal.parallelise import parallelise
from sdfgad.transform.normal.places import write_out_places
from sdfgad.transform.normal.tables import tabulate
from sdfgad.transform.passes import Pass, Stage
from sdfgad.transform.products.contract import contract
from sdfgad.transform.products.kept_powers import divide_kept_powers
from sdfgad.transform.products.made_matrices import multiply_as_made
from sdfgad.transform.products.masked_products import guard_masked_products
from sdfgad.transform.products.merge_products import merge_products
from sdfgad.transform.products.product_sums import sum_products
from sdfgad.transform.products.scales import fold_scales
from sdfgad.transform.products.shared_quotients import share_quotients
from sdfgad.transform.products.streams import stream_products
from sdfgad.transform.products.thin_products import write_out_products
from sdfgad.transform.recurrences.replace_by_scalars import replace_by_scalars
from sdfgad.transform.recurrences.skew_and_jam import skew_and_jam
from sdfgad.transform.recurrences.unroll_and_jam import unroll_and_jam
from sdfgad.transform.rows.bordered_rows import border_rows
from sdfgad.transform.rows.distribute import distribute_sweeps
from sdfgad.transform.rows.lines import line_up
from sdfgad.transform.rows.ragged import flatten_ragged_loops
from sdfgad.transform.rows.rotate_lines import rotate_lines
from sdfgad.transform.rows.row_sums import split_with_sums
from sdfgad.transform.rows.strip_lines import pack_strips
from sdfgad.transform.rows.whole_loops import loops_left_whole
from sdfgad.transform.storage.broadcasts import propagate_broadcasts
from sdfgad.transform.storage.collapse import collapse_equal_rows
from sdfgad.transform.storage.decision_words import widen_decisions
from sdfgad.transform.storage.orient import orient_temporaries
from sdfgad.transform.storage.pack import pack
from sdfgad.transform.storage.thin_tapes import thin_tapes
from sdfgad.transform.sums.collect import collect_sums
from sdfgad.transform.sums.direct_sums import sum_directly
from sdfgad.transform.sums.distances import pair_by_distance
from sdfgad.transform.sums.join_updates import join_updates
from sdfgad.transform.sums.joined_sums import join_sums
from sdfgad.transform.sums.rising_stores import rising_stores
from sdfgad.transform.sums.shared_additions import share_additions
from sdfgad.transform.sums.sum_nests import factorise_sums
from sdfgad.transform.sums.sum_pieces import sum_pieces
from sdfgad.transform.sums.sums_in_place import sum_in_place
from sdfgad.transform.sums.sums_to_copies import sum_to_copies
from sdfgad.transform.sums.symmetric import halve_symmetric
from sdfgad.transform.sums.triangles import narrow_triangles
from sdfgad.transform.sums.turn_sums import turn_sums


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


def join_small_rows(program: Program) -> Program:
    """`join_pointwise` for rows of few points."""
    return join_pointwise(program, thresholds().small_rows)


TABULATE = Pass(tabulate, "What depends on sizes alone is a constant table: neither computed at a call nor recorded.")
BOUND_LOOPS = Pass(
    bound_loops,
    "Iterations that a condition on loop variables skips are not run, and need no condition on the way back.")
FACTORISE_SUMS = Pass(
    factorise_sums, "Contractions of several factors take the order with the fewest multiplications.",
    {"bound_loops": "loops that lost their condition are sums"})
MULTIPLY_AS_MADE = Pass(multiply_as_made, "A matrix made for one product alone is never stored.")
FUSE_POINTWISE = Pass(
    fuse_pointwise, "A temporary with one use is computed there: nothing to store, nothing to record.",
    {"multiply_as_made": "a matrix that goes into its product must not go into a map first"})
INLINE_MASKS = Pass(
    inline_masks, "Masks and indices are computed where they are used, so that loops over them become maps.",
    {"fuse_pointwise": "what is left of a mask then is read in several places"})
WRITE_OUT_PLACES = Pass(
    write_out_places,
    "Neighbours under an index array are affine: their derivatives collect where they would scatter.",
    {"inline_masks": "an index is seen where it is used"})
PARALLELISE = Pass(parallelise, "Loops whose iterations are independent become maps, which reverse as one statement.")
NUMBER_SCALARS = Pass(
    number_scalars, "Scalars of an iteration get one element each, so that the loop becomes maps.",
    {"parallelise": "the scalars of loops that became maps are gone"})
SUM_IN_PLACE = Pass(sum_in_place, "A sum of a recurrence needs no temporary, and its terms no record.")
SHARE_VALUES = Pass(share_values, "Equal values are computed and recorded once.")
PROPAGATE_SHIFTED_COPIES = Pass(
    propagate_shifted_copies, "A rolled copy is read where it came from.",
    {"share_values": "of two equal rolls one is left"})
PART_VERSIONS = Pass(
    part_versions,
    "A value that is replaced at once gets a name of its own, so that pointwise fusion computes it.")
NARROW_TRIANGLES = Pass(narrow_triangles, "Half of a matrix of pairs is not made where sums look at a triangle only.")
HALVE_SYMMETRIC = Pass(halve_symmetric, "What is symmetric in a pair is computed once for both.")
PAIR_BY_DISTANCE = Pass(pair_by_distance, "Pairs go in rows of one length.")
NORMALISE = Pass(normalise, "The reverse sweep wants each statement once, conditions in flags, and bounds that stay.")
HOIST_INVARIANTS = Pass(
    hoist_invariants, "What every iteration computes alike leaves the loop, and needs no record.",
    {"normalise": "conditions in flags are statements that may leave a loop"})
COLLAPSE_EQUAL_ROWS = Pass(
    collapse_equal_rows, "Rows that hold the same are one row: less to compute and to record.",
    {"hoist_invariants": "what left a loop no longer varies along it"})
REMOVE_DEAD_CODE = Pass(
    remove_dead_code,
    "Results that nobody asked for are not computed.",
    {"eliminate_dead_stores": "what only a dead store read is dead",
     "propagate_broadcasts": "what was broadcast is dead"})
REMOVE_UNREAD_STORES = Pass(
    remove_unread_stores, "What is stored last and never looked at is not stored.",
    {"remove_dead_code": "reads by dead statements do not count"})
WRITE_OUT_PRODUCTS = Pass(
    write_out_products,
    "Products with few terms per element are sums in the statement that reads them.")
FOLD_ZEROING = Pass(
    fold_zeroing, "A cotangent that is added to next need not be cleared: the first sum assigns.",
    {"fuse_pointwise": "the sum that comes next is the whole one",
     "write_out_products": "a product that is written out is a sum like others"})
PROPAGATE_BROADCASTS = Pass(
    propagate_broadcasts,
    "Values that vary along few axes are used as the small arrays they come from.",
    {"fold_zeroing": "a cotangent that the first sum assigns is a broadcast value",
     "stream_products": "products by rows are recognised before their vectors are something else"})
ELIMINATE_DEAD_STORES = Pass(
    eliminate_dead_stores,
    "What is replaced before anybody looks is not stored.",
    {"propagate_broadcasts": "what was broadcast is no longer read where it was stored",
     "clear_first": "a clearing at the end of an iteration is dead once there is one at its start",
     "assign_to_zeros": "a clearing is dead where the first sum assigns"})
WRITE_AHEAD = Pass(
    write_ahead,
    "The next state is written where the tape keeps it: one copy of the state per iteration less.")
RENAME_VERSIONS = Pass(
    rename_versions,
    "Each content of an array that is replaced as a whole has a name: no copy has to keep the one before.",
    {"fuse_pointwise": "contents with one use need no name"})
FOLD_SCALES = Pass(
    fold_scales, "A factor of a whole product goes into the call that makes it.",
    {"remove_dead_code": "a product that nobody else reads takes the factor"})
CONTRACT = Pass(
    contract, "Sums of products are matrix products, which BLAS does in blocks.",
    {"fold_scales": "a factor of its own keeps a sum from being a product"})
MERGE_PRODUCTS = Pass(
    merge_products, "Products that share a factor are one product of a sum.",
    {"contract": "sums that became products are merged too"})
GUARD_MASKED_PRODUCTS = Pass(
    guard_masked_products,
    "Zeros of a mask meet data that may be infinite: a probe decides whether the product may be dense.",
    {"merge_products": "one probe for all that share a factor"})
STREAM_PRODUCTS = Pass(stream_products, "Two products of one large matrix with vectors read it once.")
SUM_DIRECTLY = Pass(
    sum_directly, "What only a sum reads is added up where it is made.",
    {"remove_dead_code": "a sum is the only reader once dead ones are gone"})
SUM_PRODUCTS = Pass(sum_products, "The sum of a product's elements needs no product.")
CLEAR_FIRST = Pass(
    clear_first,
    "A cotangent cleared at the end of an iteration is assigned at the start of the next.")
FLATTEN_RAGGED_LOOPS = Pass(flatten_ragged_loops, "Rows of data-dependent length are walked once.")
COLLECT_SUMS = Pass(
    collect_sums,
    "Sums into shifted elements collect: threads share them, and a register holds the sum.")
TABULATE_ROWS = Pass(tabulate_rows, "Divisions and functions of a counter alone are looked up in a row.")
DISTRIBUTE_SWEEPS = Pass(
    distribute_sweeps, "What looks across rows leaves a sweep, so that the rest runs row by row.",
    {"tabulate_rows": "a table is made ahead of the sweep, and no statement of it"})
CLEAR_BEHIND = Pass(
    clear_behind, "What a sweep clears bit by bit is cleared behind it, where it meets an accumulation.",
    {"distribute_sweeps": "what left the sweep no longer reads what it clears"})
ORIENT_TEMPORARIES = Pass(
    orient_temporaries, "Neighbours in a map lie side by side in memory.",
    {"clear_behind": "clearings count among the accesses that neighbours decide"})
SUM_TO_COPIES = Pass(sum_to_copies, "Sums that the next iteration copies are added where the copy lies.")
TAKE_ROWS_APART = Pass(
    take_rows_apart,
    "Statements that hand large arrays to each other run row by row, in the cache.")
JOIN_SUMS = Pass(
    join_sums, "Sums over the same data read it once.",
    {"take_rows_apart": "sums of rows are joined row by row"})
RISING_STORES = Pass(rising_stores, "Maps that store downwards are turned round, so that they join others.")
JOIN_POINTWISE = Pass(
    join_pointwise, "Maps over the same points run in one pass over memory.",
    {"sum_pieces": "a box joins as a whole", "rising_stores": "maps that store downwards join others once turned"})
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
PROPAGATE_RESTORED_COPIES = Pass(
    propagate_restored_copies, "What a loop restores for its own iteration is read where it was kept.")
TURN_SUMS = Pass(turn_sums, "Sums of a recurrence run along rows (right- or left-looking).")
JOIN_UPDATES = Pass(
    join_updates, "What is added beside a recurrence in the same way goes into its loop.",
    {"turn_sums": "updates go beside the loop that is there then"})
DIVIDE_KEPT_POWERS = Pass(divide_kept_powers, "A power beside a kept one is a quotient.")
SHARE_QUOTIENTS = Pass(share_quotients, "Multiples of a quotient share the division.")
ASSIGN_TO_ZEROS = Pass(assign_to_zeros, "Sums that start from zeros assign.")
SUM_PIECES = Pass(
    sum_pieces, "A box and its parts are one pass, not two.",
    {"eliminate_dead_stores": "pieces that are replaced are none"})
DOUBLE_BUFFER = Pass(
    double_buffer, "Two arrays take turns in place of a copy (double buffering).",
    {"join_pointwise": "the copy of the state may be part of another map"})
DROP_ZEROS = Pass(drop_zeros, "Temporaries of zeros are left out.")
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
BORDER_ROWS = Pass(
    border_rows, "Temporary rows have borders of zeros, so that neighbours need no pieces at the ends.",
    {"assign_to_rows": "rows that are assigned need no clearing of their borders"})
SHARE_ADDITIONS = Pass(
    share_additions, "The same sum added to several rows is computed once.",
    {"border_rows": "rows with borders are added whole"})
END_AT_FIRST_NAN = Pass(end_at_first_nan, "Where NaN comes from can be told only where it comes up.")
JOIN_SMALL_ROWS = Pass(
    join_small_rows,
    "Rows of few points are joined last: what they would hide from other passes is settled by then.")

TURNS = (ASSIGN_TO_ZEROS, ELIMINATE_DEAD_STORES, SUM_PIECES, JOIN_POINTWISE, DOUBLE_BUFFER)
"""Sums that begin with assignments, in few statements, and arrays that take turns in loops. Behind them sums that an
assignment begins no longer change places with others."""
PREPARE = Stage("prepare", (
    TABULATE, BOUND_LOOPS, FACTORISE_SUMS, MULTIPLY_AS_MADE, FUSE_POINTWISE, INLINE_MASKS, WRITE_OUT_PLACES,
    PARALLELISE, NUMBER_SCALARS, WRITE_OUT_PLACES, SUM_IN_PLACE, FUSE_POINTWISE, SHARE_VALUES, PROPAGATE_SHIFTED_COPIES,
    PART_VERSIONS, NARROW_TRIANGLES, HALVE_SYMMETRIC, PAIR_BY_DISTANCE, NORMALISE, HOIST_INVARIANTS,
    COLLAPSE_EQUAL_ROWS), PREPARED)
"""The program as the derivative sees it: temporaries fused away, loops that are maps as maps, then normal form."""
TRIM = Stage("trim", (
    REMOVE_DEAD_CODE, REMOVE_UNREAD_STORES, WRITE_OUT_PRODUCTS, FOLD_ZEROING, PROPAGATE_BROADCASTS,
    ELIMINATE_DEAD_STORES, REMOVE_DEAD_CODE, WRITE_AHEAD), DERIVED)
"""The gradient program without what nobody asked for: dead code, clearings, matrices that are broadcast vectors."""
CLEAN = Stage("clean", (
    TABULATE, WRITE_OUT_PRODUCTS, FUSE_POINTWISE, RENAME_VERSIONS, REMOVE_DEAD_CODE, FOLD_SCALES, CONTRACT,
    MERGE_PRODUCTS, GUARD_MASKED_PRODUCTS, STREAM_PRODUCTS, PROPAGATE_BROADCASTS, REMOVE_DEAD_CODE, SUM_DIRECTLY,
    SUM_PRODUCTS, FUSE_POINTWISE, FOLD_ZEROING, REMOVE_DEAD_CODE, CLEAR_FIRST, ELIMINATE_DEAD_STORES, FOLD_ZEROING,
    REMOVE_DEAD_CODE, COLLECT_SUMS), DERIVED)
"""What any machine wants of a program, derivative or not."""
SCHEDULE = Stage("schedule", (
    FLATTEN_RAGGED_LOOPS, TABULATE_ROWS, DISTRIBUTE_SWEEPS, CLEAR_BEHIND, ORIENT_TEMPORARIES, SUM_TO_COPIES,
    TAKE_ROWS_APART, JOIN_SUMS, RISING_STORES, JOIN_POINTWISE, PROPAGATE_KEPT_COPIES, REMOVE_UNSEEN_COPIES, PACK_STRIPS,
    ROTATE_LINES, PROPAGATE_RESTORED_COPIES, TURN_SUMS, JOIN_UPDATES, DIVIDE_KEPT_POWERS, SHARE_QUOTIENTS, *TURNS,
    DROP_ZEROS, CLEAR_REST, LINE_UP, PACK, UNROLL_AND_JAM, REPLACE_BY_SCALARS, SKEW_AND_JAM, THIN_TAPES,
    WIDEN_DECISIONS, ASSIGN_TO_ROWS, BORDER_ROWS, SHARE_ADDITIONS, JOIN_SMALL_ROWS))
"""Work in the order that caches, vectors and a few threads want."""
PLAIN_STAGE = Stage("plain", (REMOVE_DEAD_CODE,), DERIVED)
"""Nothing but what is asked for, as it was written."""
CHECKED_STAGE = Stage("checked", (REMOVE_DEAD_CODE, END_AT_FIRST_NAN), DERIVED)
"""The same, looked at statement by statement (`debug_nans`)."""


def prepare_program(program: Program, outputs: Iterable[View] = ()) -> Program:
    """What is to be differentiated; the arrays that `outputs` show, and what it returns, are live behind it."""
    seen = {v.array for v in (*outputs, *views_of(program.returns))}
    return PREPARE(program.but(live_out=frozenset((*seen, *program.watched))))
