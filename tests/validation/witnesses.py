"""The ledger: programs by name, and passes that each of them is known to make change something with the least
thresholds. NPBench programs have the number of their sample behind them."""
from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NOWHERE = frozenset(("rotate_lines", "widen_decisions", "overlap_messages",
                     "end_at_first_nan"))
"""These need more than a program of a few elements, the last ones ranks and `debug_nans`; their own tests compare what
they are given and what they make."""
WITNESSES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "adi-0": ("distribute_sweeps",),
    "adi-1": ("collapse_equal_rows", "tabulate_rows", "clear_behind", "sum_to_copies"),
    "azimint_hist-0": ("normalise", "share_values", "fuse_pointwise", "propagate_broadcasts", "remove_dead_code",
                       "fold_zeroing"),
    "azimint_naive-0": ("inline_masks", "eliminate_dead_stores"),
    "bicg-1": ("write_out_products",),
    "cavity_flow-0": ("write_ahead", "record_copies", "hoist_invariants", "assign_to_zeros", "join_pointwise"),
    "cholesky-0": ("factorise_sums",),
    "cholesky-1": ("unroll_and_jam",),
    "covariance-0": ("guard_masked_products", "contract", "remove_unseen_copies", "take_rows_apart", "parallelise"),
    "covariance2-0": ("orient_temporaries",),
    "doitgen-0": ("line_up",),
    "durbin-0": ("propagate_kept_copies", "sum_pieces", "pack"),
    "gramschmidt-0": ("thin_tapes",),
    "k2mm-0": ("fold_scales",),
    "lenet-0": ("pack_strips", "collect_sums"),
    "lu-0": ("turn_sums", "join_updates"),
    "mandelbrot1-1": ("preaccumulate",),
    "nbody-0": ("sum_over_pairs", "divide_kept_powers", "propagate_shifted_copies", "part_versions",
                "share_factors"),
    "scattering_self_energies-1": ("bound_loops",),
    "seidel_2d-0": ("assign_to_rows", "share_additions", "replace_by_scalars"),
    "spmv-0": ("flatten_ragged_loops",),
    "mandelbrot2-0": ("nest_divided_loops", "sink_tails", "give_rows"),
    "stockham_fft-1": ("tabulate", "rename_versions"),
    "syrk-0": ("merge_products",),
    "trisolv-0": ("clear_rest",),
    "vadv-0": ("clear_first",),
    "two_steps": ("double_buffer",),
    "sums_of_products": ("sum_products",),
    "neighbours": ("write_out_places",),
    "sweeps": ("skew_and_jam",),
    "ring": ("pad_shifted_copies",),
    "spectrum": ("take_real_parts",),
    "ensemble": ("fold_points",),
    "waves": ("record_factors",),
    "sum_of_sums": ("sum_directly",),
})
