"""The stages of a program, and the passes of each in their order."""
from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from sdfgad.ir.program import Program, View, views_of
from sdfgad.ir.verify import DERIVED, PREPARED
from sdfgad.transform.clearing.clear_first import clear_first
from sdfgad.transform.clearing.overwritten import eliminate_dead_stores
from sdfgad.transform.clearing.zeroing import fold_zeroing
from sdfgad.transform.copies.pad_shifted_copies import pad_shifted_copies
from sdfgad.transform.copies.propagate_shifted_copies import propagate_shifted_copies
from sdfgad.transform.copies.write_ahead import write_ahead
from sdfgad.transform.dropping.dead import remove_dead_code
from sdfgad.transform.fusion.fuse import fuse_pointwise
from sdfgad.transform.fusion.hoist import hoist_invariants
from sdfgad.transform.fusion.part_versions import part_versions
from sdfgad.transform.fusion.rename_versions import rename_versions
from sdfgad.transform.fusion.shared_values import share_values
from sdfgad.transform.nans import end_at_first_nan
from sdfgad.transform.normal.bounds import bound_loops
from sdfgad.transform.normal.branch_tails import sink_tails
from sdfgad.transform.normal.divided_loops import nest_divided_loops
from sdfgad.transform.normal.flat_arrays import give_rows
from sdfgad.transform.normal.masks import inline_masks
from sdfgad.transform.normal.normalise import normalise
from sdfgad.transform.normal.parallelise import parallelise
from sdfgad.transform.normal.places import write_out_places
from sdfgad.transform.normal.tables import tabulate
from sdfgad.transform.passes import Pass, Stage
from sdfgad.transform.products.contract import contract
from sdfgad.transform.products.masked_products import guard_masked_products
from sdfgad.transform.products.merge_products import merge_products
from sdfgad.transform.products.product_sums import sum_products
from sdfgad.transform.products.scales import fold_scales
from sdfgad.transform.products.write_out_products import WrittenOut, write_out_products
from sdfgad.transform.storage.broadcasts import propagate_broadcasts
from sdfgad.transform.storage.collapse import collapse_equal_rows
from sdfgad.transform.storage.real_parts import take_real_parts
from sdfgad.transform.sums.collect import collect_sums
from sdfgad.transform.sums.direct_sums import sum_directly
from sdfgad.transform.sums.pairs import sum_over_pairs
from sdfgad.transform.sums.sum_nests import factorise_sums

TABULATE = Pass(
    tabulate, "What depends on sizes alone is a constant table: neither computed at a call nor recorded.",
    {"remove_dead_code": "what nobody reads becomes no table"})
BOUND_LOOPS = Pass(
    bound_loops,
    "Iterations that a condition on loop variables skips are not run, and need no condition on the way back.")
SINK_TAILS = Pass(
    sink_tails, "What follows a branch that may end a loop is computed with the side that goes on.",
    {"remove_dead_code": "what nobody reads behind a branch goes nowhere"})
GIVE_ROWS = Pass(give_rows, "What is flat here and has rows there is computed in rows with its neighbours.",
    {"parallelise": "loops that were left to a map touch arrays as a map"})
FACTORISE_SUMS = Pass(
    factorise_sums, "Contractions of several factors take the order with the fewest multiplications.",
    {"bound_loops": "loops that lost their condition are sums"})
FUSE_POINTWISE = Pass(
    fuse_pointwise, "A temporary with one use is computed there: nothing to store, nothing to record.",
    {"write_out_products": "a matrix that goes into its product must not go into a map first"})
INLINE_MASKS = Pass(
    inline_masks, "Masks and indices are computed where they are used, so that loops over them become maps.",
    {"fuse_pointwise": "what is left of a mask then is read in several places"})
WRITE_OUT_PLACES = Pass(
    write_out_places,
    "Neighbours under an index array are affine: their derivatives collect where they would scatter.",
    {"inline_masks": "an index is seen where it is used"})
NEST_DIVIDED_LOOPS = Pass(
    nest_divided_loops, "Iterations that store at `y[k // m, k % m]` are seen to be independent.",
    {"write_out_places": "the places were in a table"})
PARALLELISE = Pass(
    parallelise,
    "Independent iterations become a map, which reverses as one statement; a sum of a recurrence needs no temporary.",
    {"nest_divided_loops": "rows and columns of a place are told apart in a nest"})
SHARE_VALUES = Pass(
    share_values, "Equal values are computed and recorded once.",
    {"fuse_pointwise": "what one map computes twice is seen when the maps are one"})
PAD_SHIFTED_COPIES = Pass(
    pad_shifted_copies, "What is rolled has halos: neighbours are read where they are, and recorded once.",
    {"share_values": "of two equal rolls one is left"})
PROPAGATE_SHIFTED_COPIES = Pass(
    propagate_shifted_copies, "A rolled copy is read where it came from.",
    {"share_values": "of two equal rolls one is left",
     "pad_shifted_copies": "seams cut many statements where halos leave them whole"})
PART_VERSIONS = Pass(
    part_versions,
    "A value that is replaced at once gets a name of its own, so that pointwise fusion computes it.")
TAKE_REAL_PARTS = Pass(
    take_real_parts, "Half a transform is enough where real parts are all that is asked for.",
    {"fuse_pointwise": "real parts are taken where they are used"})
SUM_OVER_PAIRS = Pass(
    sum_over_pairs,
    "What is symmetric in a pair is computed once for both, and nothing where sums look at a triangle only.")
NORMALISE = Pass(normalise, "The reverse sweep wants each statement once, conditions in flags, and bounds that stay.")
HOIST_INVARIANTS = Pass(
    hoist_invariants, "What every iteration computes alike leaves the loop, and needs no record.",
    {"normalise": "conditions in flags are statements that may leave a loop"})
COLLAPSE_EQUAL_ROWS = Pass(
    collapse_equal_rows, "Rows that hold the same are one row: less to compute and to record.",
    {"hoist_invariants": "what left a loop no longer varies along it"})
REMOVE_DEAD_CODE = Pass(
    remove_dead_code,
    "Results that nobody asked for are not computed; what is stored last and never looked at is not stored.",
    {"eliminate_dead_stores": "what only a dead store read is dead",
     "propagate_broadcasts": "what was broadcast is dead"})
WRITE_OUT_THIN = Pass(
    partial(write_out_products, which=WrittenOut.THIN),
    "Products with few terms per element are sums in the statement that reads them.")
WRITE_OUT_STREAMED = Pass(
    partial(write_out_products, which=WrittenOut.STREAMED),
    "Two products of one large matrix with vectors read it once.")
WRITE_OUT_MADE = Pass(
    partial(write_out_products, which=WrittenOut.MADE_FOR_IT), "A matrix made for one product alone is never stored.")
FOLD_ZEROING = Pass(
    fold_zeroing, "A cotangent that is added to next need not be cleared: the first sum assigns.",
    {"fuse_pointwise": "the sum that comes next is the whole one",
     "write_out_products": "a product that is written out is a sum like others"})
PROPAGATE_BROADCASTS = Pass(
    propagate_broadcasts,
    "Values that vary along few axes are used as the small arrays they come from.",
    {"fold_zeroing": "a cotangent that the first sum assigns is a broadcast value",
     "write_out_products": "products by rows are recognised before their vectors are something else"})
ELIMINATE_DEAD_STORES = Pass(
    eliminate_dead_stores,
    "What is replaced before anybody looks is not stored.",
    {"propagate_broadcasts": "what was broadcast is no longer read where it was stored",
     "clear_first": "a clearing at the end of an iteration is dead once there is one at its start"})
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
SUM_DIRECTLY = Pass(
    sum_directly, "What only a sum reads is added up where it is made.",
    {"remove_dead_code": "a sum is the only reader once dead ones are gone"})
SUM_PRODUCTS = Pass(sum_products, "The sum of a product's elements needs no product.")
CLEAR_FIRST = Pass(
    clear_first,
    "A cotangent cleared at the end of an iteration is assigned at the start of the next.",
    {"remove_dead_code": "a clearing that nobody looks behind is not moved"})
COLLECT_SUMS = Pass(
    collect_sums,
    "Sums into shifted elements collect: threads share them, and a register holds the sum.")
END_AT_FIRST_NAN = Pass(end_at_first_nan, "Where NaN comes from can be told only where it comes up.")

PREPARE = Stage("prepare", (
    REMOVE_DEAD_CODE, TABULATE, SINK_TAILS, BOUND_LOOPS, FACTORISE_SUMS, WRITE_OUT_MADE, FUSE_POINTWISE, INLINE_MASKS,
    WRITE_OUT_PLACES, NEST_DIVIDED_LOOPS, PARALLELISE, WRITE_OUT_PLACES, GIVE_ROWS, FUSE_POINTWISE, SHARE_VALUES,
    PAD_SHIFTED_COPIES, PROPAGATE_SHIFTED_COPIES, PART_VERSIONS, TAKE_REAL_PARTS, SUM_OVER_PAIRS, NORMALISE,
    HOIST_INVARIANTS, COLLAPSE_EQUAL_ROWS), PREPARED)
"""The program as the derivative sees it: temporaries fused away, loops that are maps as maps, then normal form."""
TRIM = Stage("trim", (
    REMOVE_DEAD_CODE, WRITE_OUT_THIN, FOLD_ZEROING, PROPAGATE_BROADCASTS,
    ELIMINATE_DEAD_STORES, REMOVE_DEAD_CODE, WRITE_AHEAD), DERIVED)
"""The gradient program without what nobody asked for: dead code, clearings, matrices that are broadcast vectors."""
CLEAN = Stage("clean", (
    TABULATE, SINK_TAILS, WRITE_OUT_THIN, FUSE_POINTWISE, SHARE_VALUES, RENAME_VERSIONS, REMOVE_DEAD_CODE, FOLD_SCALES,
    CONTRACT, MERGE_PRODUCTS, GUARD_MASKED_PRODUCTS, WRITE_OUT_STREAMED, PROPAGATE_BROADCASTS, REMOVE_DEAD_CODE,
    SUM_DIRECTLY, SUM_PRODUCTS, FUSE_POINTWISE, FOLD_ZEROING, REMOVE_DEAD_CODE, CLEAR_FIRST, ELIMINATE_DEAD_STORES,
    FOLD_ZEROING, REMOVE_DEAD_CODE, COLLECT_SUMS), DERIVED)
"""What any machine wants of a program, derivative or not."""
PLAIN_STAGE = Stage("plain", (REMOVE_DEAD_CODE,), DERIVED)
"""Nothing but what is asked for, as it was written."""
CHECKED_STAGE = Stage("checked", (REMOVE_DEAD_CODE, END_AT_FIRST_NAN), DERIVED)
"""The same, looked at statement by statement (`debug_nans`)."""


def prepare_program(program: Program, outputs: Iterable[View] = ()) -> Program:
    """What is to be differentiated; the arrays that `outputs` show, and what it returns, are live behind it."""
    seen = {v.array for v in (*outputs, *views_of(program.returns))}
    return PREPARE(program.but(live_out=frozenset((*seen, *program.watched))))
