"""The stages of a program, and the passes of each in their order."""
from __future__ import annotations

from collections.abc import Iterable

from sdfgad.ir.program import Program, View, views_of
from sdfgad.ir.verify import DERIVED, PREPARED
from sdfgad.transform.clearing.clear_first import clear_first
from sdfgad.transform.clearing.overwritten import eliminate_dead_stores
from sdfgad.transform.clearing.zeroing import fold_zeroing
from sdfgad.transform.copies.pad_shifted_copies import pad_shifted_copies
from sdfgad.transform.copies.propagate_shifted_copies import propagate_shifted_copies
from sdfgad.transform.copies.write_ahead import write_ahead
from sdfgad.transform.dropping.dead import remove_dead_code
from sdfgad.transform.dropping.unread import remove_unread_stores
from sdfgad.transform.fusion.fuse import fuse_pointwise
from sdfgad.transform.fusion.hoist import hoist_invariants
from sdfgad.transform.fusion.part_versions import part_versions
from sdfgad.transform.fusion.rename_versions import rename_versions
from sdfgad.transform.fusion.shared_values import share_values
from sdfgad.transform.nans import end_at_first_nan
from sdfgad.transform.normal.bounds import bound_loops
from sdfgad.transform.normal.masks import inline_masks, number_scalars
from sdfgad.transform.normal.normalise import normalise
from sdfgad.transform.normal.parallelise import parallelise
from sdfgad.transform.normal.places import write_out_places
from sdfgad.transform.normal.tables import tabulate
from sdfgad.transform.passes import Pass, Stage
from sdfgad.transform.products.contract import contract
from sdfgad.transform.products.made_matrices import multiply_as_made
from sdfgad.transform.products.masked_products import guard_masked_products
from sdfgad.transform.products.merge_products import merge_products
from sdfgad.transform.products.product_sums import sum_products
from sdfgad.transform.products.scales import fold_scales
from sdfgad.transform.products.streams import stream_products
from sdfgad.transform.products.thin_products import write_out_products
from sdfgad.transform.storage.broadcasts import propagate_broadcasts
from sdfgad.transform.storage.collapse import collapse_equal_rows
from sdfgad.transform.storage.real_parts import take_real_parts
from sdfgad.transform.sums.collect import collect_sums
from sdfgad.transform.sums.direct_sums import sum_directly
from sdfgad.transform.sums.distances import pair_by_distance
from sdfgad.transform.sums.sum_nests import factorise_sums
from sdfgad.transform.sums.sums_in_place import sum_in_place
from sdfgad.transform.sums.symmetric import halve_symmetric
from sdfgad.transform.sums.triangles import narrow_triangles

TABULATE = Pass(
    tabulate, "What depends on sizes alone is a constant table: neither computed at a call nor recorded.",
    {"remove_dead_code": "what nobody reads becomes no table"})
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
STREAM_PRODUCTS = Pass(stream_products, "Two products of one large matrix with vectors read it once.")
SUM_DIRECTLY = Pass(
    sum_directly, "What only a sum reads is added up where it is made.",
    {"remove_dead_code": "a sum is the only reader once dead ones are gone"})
SUM_PRODUCTS = Pass(sum_products, "The sum of a product's elements needs no product.")
CLEAR_FIRST = Pass(
    clear_first,
    "A cotangent cleared at the end of an iteration is assigned at the start of the next.")
COLLECT_SUMS = Pass(
    collect_sums,
    "Sums into shifted elements collect: threads share them, and a register holds the sum.")
END_AT_FIRST_NAN = Pass(end_at_first_nan, "Where NaN comes from can be told only where it comes up.")

PREPARE = Stage("prepare", (
    REMOVE_DEAD_CODE, TABULATE, BOUND_LOOPS, FACTORISE_SUMS, MULTIPLY_AS_MADE, FUSE_POINTWISE, INLINE_MASKS,
    WRITE_OUT_PLACES, PARALLELISE, NUMBER_SCALARS, WRITE_OUT_PLACES, SUM_IN_PLACE, FUSE_POINTWISE, SHARE_VALUES,
    PAD_SHIFTED_COPIES, PROPAGATE_SHIFTED_COPIES, PART_VERSIONS, TAKE_REAL_PARTS, NARROW_TRIANGLES,
    HALVE_SYMMETRIC, PAIR_BY_DISTANCE, NORMALISE, HOIST_INVARIANTS, COLLAPSE_EQUAL_ROWS), PREPARED)
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
PLAIN_STAGE = Stage("plain", (REMOVE_DEAD_CODE,), DERIVED)
"""Nothing but what is asked for, as it was written."""
CHECKED_STAGE = Stage("checked", (REMOVE_DEAD_CODE, END_AT_FIRST_NAN), DERIVED)
"""The same, looked at statement by statement (`debug_nans`)."""


def prepare_program(program: Program, outputs: Iterable[View] = ()) -> Program:
    """What is to be differentiated; the arrays that `outputs` show, and what it returns, are live behind it."""
    seen = {v.array for v in (*outputs, *views_of(program.returns))}
    return PREPARE(program.but(live_out=frozenset((*seen, *program.watched))))
