"""The passes that every program goes through, in their order."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from sdfgad.analysis.verify import verify
from sdfgad.config import chosen_target, verifying
from sdfgad.ir.program import Program, View
from sdfgad.ir.verify import DERIVED, OPTIMISED, PREPARED
from sdfgad.reverse.storage import views_of
from sdfgad.thresholds import thresholds
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
from sdfgad.transform.fusion.join_pointwise import join_pointwise
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

Pass: TypeAlias = Callable[..., Program]


@dataclass(frozen=True)
class Application:
    """One pass, applied once: `keep` names the arrays that somebody reads afterwards. stage: of `ir.verify.STAGES`."""

    name: str
    before: Program
    after: Program
    keep: frozenset[str]
    stage: str = OPTIMISED

    @property
    def changed(self) -> bool:
        return self.after is not self.before and self.after != self.before


Watcher: TypeAlias = Callable[[Application], None]
_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("watchers", default=())


@contextmanager
def watching(watch: Watcher) -> Iterator[None]:
    """Within, `watch` sees every pass that is applied, in the order of application."""
    token = _watchers.set((*_watchers.get(), watch))
    try:
        yield
    finally:
        _watchers.reset(token)


def prepare_program(program: Program, outputs: tuple[View, ...]) -> Program:
    """The program as the derivative sees it: temporaries fused away, loops that are maps as maps, then normal form."""
    seen = {v.array for v in (*outputs, *views_of(program.returns))} | set(program.watched)
    return _through(
        program, seen,
        tabulate, bound_loops, factorise_sums, multiply_as_made,
        fuse_pointwise, inline_masks, write_out_places, parallelise, number_scalars,
        write_out_places, sum_in_place, fuse_pointwise, share_values, read_shifted,
        part_versions, narrow_triangles, halve_symmetric, pair_by_distance,
        normalise, hoist_invariants, collapse_equal_rows, stage=PREPARED)


def tidy(program: Program, keep: tuple[str, ...]) -> Program:
    """The gradient program without what nobody asked for: dead code, clearings, matrices that are broadcast vectors."""
    program = _through(
        program, keep,
        remove_dead_code, remove_unread_stores, write_out_products, fold_zeroing,
        propagate_broadcasts, remove_overwritten, remove_dead_code, write_ahead, stage=DERIVED)
    return optimise(program, keep)


def optimise(program: Program, keep: tuple[str, ...]) -> Program:
    """What every program gets last, derivative or not. `keep`: arrays somebody reads afterwards."""
    if chosen_target() == "reference":
        return _through(program, keep, remove_dead_code, stage=DERIVED)
    program = _through(
        program, keep,
        tabulate, write_out_products, fuse_pointwise, name_versions,
        remove_dead_code, fold_scales, contract, merge_products, guard_masked_products, stream_products,
        propagate_broadcasts, remove_dead_code, sum_directly, sum_products, fuse_pointwise,
        fold_zeroing, remove_dead_code, clear_first,
        remove_overwritten, fold_zeroing, remove_dead_code, merge_ragged, collect_sums,
        tabulate_rows, distribute_sweeps, clear_behind, orient_temporaries, sum_to_copies)
    program = _through(
        _in_rows(program, keep), keep,
        join_sums, rising_stores, join_pointwise, cut_wraps, join_lines,
        read_kept, remove_unseen_copies, line_strips, carry_lines, read_restored, turn_sums, join_updates,
        divide_kept_powers, share_quotients)
    return _through(
        _take_turns(program, keep), keep,
        drop_zeros, clear_rest, line_up, pack, block_loops, carry_values, jam_sweeps, thin_tapes,
        widen_decisions, narrow_choices, line_up_records,
        assign_to_rows, border_rows, share_additions, cut_to_partners, _join_small_rows)


def _in_rows(program: Program, keep: tuple[str, ...]) -> Program:
    """Statements taken apart into rows that stay in the cache, but for loops that had better stay whole."""
    rows = _through(program, keep, split_with_sums)
    whole = loops_left_whole(program, rows, lambda p: _take_turns(_through(p, keep, join_pointwise), keep))
    return _through(program, keep, split_with_sums, whole=whole) if whole else rows


def _take_turns(program: Program, keep: tuple[str, ...]) -> Program:
    """Sums that begin with assignments, in few statements, and arrays that take turns in loops. From here on sums that
    an assignment begins no longer change places with others."""
    program = _through(program, keep, assign_to_zeros, remove_overwritten)
    pieces = _through(program, keep, sum_pieces)
    return _through(program if pieces is program else _through(pieces, keep, join_pointwise), keep, alternate)


def _join_small_rows(program: Program, keep: tuple[str, ...]) -> Program:
    return join_pointwise(program, keep, thresholds().small_rows)


def applied(one: Pass, program: Program, keep: tuple[str, ...], *given: Any) -> Program:
    """The program after a pass that has to be `given` more, which watchers see like the others."""
    made = one(program, *given)
    for watch in _watchers.get():
        watch(Application(one.__name__, program, made, frozenset(keep)))
    return made


def _through(program: Program, keep: Any, *passes: Pass, stage: str = OPTIMISED, **options: Any) -> Program:
    """The program after these passes, one after the other. What is cheap to look at is looked at when all are done."""
    thorough = verifying()
    for one in passes:
        before, program = program, one(program, *((keep,) if _asks_what_is_kept(one) else ()), **options)
        for watch in _watchers.get():
            watch(Application(one.__name__, before, program, frozenset(keep), stage))
        if thorough and program is not before:
            verify(program, one.__name__, stage)
    if not thorough:
        verify(program, f"one of {passes[0].__name__} to {passes[-1].__name__}", stage, thorough=False)
    return program


@lru_cache(maxsize=256)
def _asks_what_is_kept(one: Pass) -> bool:
    """Whether a pass needs to know what somebody reads afterwards: it then has a second argument without a default."""
    return [p.default is p.empty for p in inspect.signature(one).parameters.values()][1:2] == [True]
