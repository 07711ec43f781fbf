"""The order in which overwritten values come back matters; left out or changed, the gradients say so."""
from __future__ import annotations

import numpy as np
import pytest

from sdfgad.reverse.sweeps import _Sweeps
from sdfgad.reverse.tape import TapeRecord
from tests.reverse.test_inverse import two_fields_exchanged, units, x12
from tests.reverse.test_loop_modes import derived, gradients


def lost(self, undoing) -> None:
    """Nothing is put back."""


def in_program_order(self, undoing) -> None:
    """Copies go back first to last."""
    for action in undoing.actions:
        self.records.setdefault(id(action.after), []).append(TapeRecord((), action.restore[::-1]))


@pytest.mark.parametrize("instead", [lost, in_program_order])
def test_a_wrong_sweep_is_noticed(instead, monkeypatch):
    monkeypatch.setattr(_Sweeps, "_take_back_all", instead)
    args = (x12(),)
    plain, wrt = derived(two_fields_exchanged, args)
    wrong = derived(two_fields_exchanged, args, {}, units(two_fields_exchanged, args))[0]
    found, expected = (gradients(made, wrt, args, True)[0] for made in (wrong, plain))
    assert not np.array_equal(found, expected)
