"""The passes that every program goes through, in their order."""
from __future__ import annotations

from sdfgad.ir.program import Program, View
from sdfgad.reverse.storage import views_of
from sdfgad.transform.clearing.clear_behind import clear_behind
from sdfgad.transform.clearing.clear_first import clear_first
from sdfgad.transform.clearing.clear_rest import clear_rest
from sdfgad.transform.clearing.cleared_rows import assign_to_rows
from sdfgad.transform.clearing.known_zeros import assign_to_zeros
from sdfgad.transform.clearing.only_zeros import drop_zeros
from sdfgad.transform.clearing.overwritten import remove_overwritten
from sdfgad.transform.clearing.zeroing import fold_zeroing
from sdfgad.transform.copies.alternate import alternate
from sdfgad.transform.copies.read_kept import read_kept
from sdfgad.transform.copies.read_restored import read_restored
from sdfgad.transform.copies.read_shifted import read_shifted
from sdfgad.transform.copies.write_ahead import write_ahead
from sdfgad.transform.dropping.dead import remove_dead_code
from sdfgad.transform.dropping.unread import remove_unread_stores, remove_unseen_copies
from sdfgad.transform.fusion.cut_to_partners import cut_to_partners
from sdfgad.transform.fusion.fuse import fuse_pointwise
from sdfgad.transform.fusion.hoist import hoist_invariants
from sdfgad.transform.fusion.join_pointwise import Limits, join_pointwise
from sdfgad.transform.fusion.name_versions import name_versions
from sdfgad.transform.fusion.part_versions import part_versions
from sdfgad.transform.fusion.shared_values import share_values
from sdfgad.transform.fusion.tabulate_rows import tabulate_rows
from sdfgad.transform.normal.bounds import bound_loops
from sdfgad.transform.normal.masks import inline_masks, number_scalars
from sdfgad.transform.normal.normalise import normalise
from sdfgad.transform.normal.parallelise import parallelise
from sdfgad.transform.normal.places import write_out_places
from sdfgad.transform.normal.tables import tabulate
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
from sdfgad.transform.recurrences.block_loops import block_loops
from sdfgad.transform.recurrences.carry_values import carry_values
from sdfgad.transform.recurrences.jam_sweeps import jam_sweeps
from sdfgad.transform.rows.bordered_rows import border_rows
from sdfgad.transform.rows.carry_lines import carry_lines
from sdfgad.transform.rows.cut_wraps import cut_wraps
from sdfgad.transform.rows.distribute import distribute_sweeps
from sdfgad.transform.rows.lines import line_up
from sdfgad.transform.rows.ragged import merge_ragged
from sdfgad.transform.rows.row_sums import split_with_sums
from sdfgad.transform.rows.strip_lines import line_strips
from sdfgad.transform.rows.strip_records import line_up_records
from sdfgad.transform.rows.whole_loops import loops_left_whole
from sdfgad.transform.storage.broadcasts import propagate_broadcasts
from sdfgad.transform.storage.collapse import collapse_equal_rows
from sdfgad.transform.storage.decision_words import widen_decisions
from sdfgad.transform.storage.narrow_choices import narrow_choices
from sdfgad.transform.storage.orient import orient_temporaries
from sdfgad.transform.storage.pack import pack
from sdfgad.transform.storage.thin_tapes import thin_tapes
from sdfgad.transform.sums.collect import collect_sums
from sdfgad.transform.sums.direct_sums import sum_directly
from sdfgad.transform.sums.distances import pair_by_distance
from sdfgad.transform.sums.join_lines import join_lines
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

SMALL_MAP = 64
"""Points of rows that are joined last: what they would hide from other passes is settled by then."""


def prepare_program(program: Program, outputs: tuple[View, ...]) -> Program:
    """The program as the derivative sees it: temporaries fused away, loops that are maps as maps, then normal form."""
    seen = {v.array for v in (*outputs, *views_of(program.returns))} | set(program.watched)
    program = multiply_as_made(factorise_sums(bound_loops(tabulate(program, seen)), seen), seen)
    program = inline_masks(fuse_pointwise(program, seen), seen)
    program = number_scalars(parallelise(write_out_places(program, seen), seen), seen)
    program = sum_in_place(write_out_places(program, seen), seen)
    program = read_shifted(share_values(fuse_pointwise(program, seen), seen), seen)
    program = pair_by_distance(halve_symmetric(narrow_triangles(part_versions(program, seen), seen), seen), seen)
    return collapse_equal_rows(hoist_invariants(normalise(program), seen), seen)


def tidy(program: Program, keep: tuple[str, ...]) -> Program:
    """The gradient program without what nobody asked for: dead code, clearings, matrices that are broadcast vectors."""
    program = fold_zeroing(write_out_products(remove_unread_stores(remove_dead_code(program, keep), keep)), keep)
    program = remove_dead_code(remove_overwritten(propagate_broadcasts(program)), keep)
    return optimise(write_ahead(program, keep), keep)


def optimise(program: Program, keep: tuple[str, ...]) -> Program:
    """What every program gets last, derivative or not. `keep`: arrays somebody reads afterwards."""
    program = name_versions(fuse_pointwise(write_out_products(tabulate(program, keep)), keep), keep)
    program = contract(fold_scales(remove_dead_code(program, keep), keep))
    program = stream_products(guard_masked_products(merge_products(program)))
    program = sum_directly(remove_dead_code(propagate_broadcasts(program), keep), keep)
    program = fuse_pointwise(sum_products(program, keep), keep)
    program = clear_first(remove_dead_code(fold_zeroing(program, keep), keep))
    program = collect_sums(merge_ragged(remove_dead_code(fold_zeroing(remove_overwritten(program), keep), keep)))
    program = clear_behind(distribute_sweeps(tabulate_rows(program)), keep)
    program = sum_to_copies(orient_temporaries(program, keep), keep)
    rows = split_with_sums(program, keep)
    whole = loops_left_whole(program, rows, lambda p: _take_turns(join_pointwise(p, keep), keep))
    program = join_sums(split_with_sums(program, keep, whole=whole) if whole else rows)
    program = join_lines(cut_wraps(join_pointwise(rising_stores(program), keep)), keep)
    program = line_strips(remove_unseen_copies(read_kept(program), keep))
    program = join_updates(turn_sums(read_restored(carry_lines(program), keep)))
    program = share_quotients(divide_kept_powers(program))
    program = line_up(clear_rest(drop_zeros(_take_turns(program, keep), keep)))
    program = thin_tapes(jam_sweeps(carry_values(block_loops(pack(program, keep))), keep), keep)
    program = line_up_records(narrow_choices(widen_decisions(program, keep)), keep)
    program = cut_to_partners(share_additions(border_rows(assign_to_rows(program), keep)))
    return join_pointwise(program, keep, Limits(points=SMALL_MAP, rows=True))


def _take_turns(program: Program, keep: tuple[str, ...]) -> Program:
    """Sums that begin with assignments, in few statements, and arrays that take turns in loops. From here on sums that
    an assignment begins no longer change places with others."""
    program = remove_overwritten(assign_to_zeros(program))
    pieces = sum_pieces(program)
    return alternate(program if pieces is program else join_pointwise(pieces, keep), keep)
