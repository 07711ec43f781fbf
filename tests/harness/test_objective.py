import numpy as np
import pytest

from npbench_suite.harness.differences import directional_error, richardson, terms_of
from npbench_suite.harness.objective import magnitude, relative_errors, save_gradients, total, weighted_sum, weights


def errors(tmp_path, ours, theirs):
    for name, gradients in (("a", ours), ("b", theirs)):
        save_gradients(str(tmp_path / f"{name}.npz"), gradients)
    return relative_errors(str(tmp_path / "a.npz"), str(tmp_path / "b.npz"))


def test_weights_are_the_same_every_time_and_differ_between_outputs():
    outputs = [np.zeros((2, 3)), np.zeros((2, 3), complex), 0.0]
    first, second = weights(outputs), weights(outputs)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert [w.dtype for w in first] == [float, complex, float]
    assert not np.array_equal(first[0], first[1].real)
    assert first[2].shape == ()


def test_objectives_take_the_real_part():
    outputs = [np.array([1 + 2j, -3j]), np.array([-4.0])]
    assert total(outputs) == -3
    assert magnitude(outputs) == 5
    assert weighted_sum(outputs, [np.array([1j, 1.0]), np.array([2.0])]) == pytest.approx(2 - 8)


def test_error_is_relative_to_the_largest_entry(tmp_path):
    found = errors(tmp_path, {"sum": {"A": [1.0, 100.1]}}, {"sum": {"A": [1.0, 100.0]}})
    assert found == {"sum/A": pytest.approx(1e-3)}


def test_noise_around_zero_is_measured_with_the_weighted_gradient(tmp_path):
    theirs = {"sum": {"A": [1e-17, -2e-17]}, "weighted": {"A": [0.5, 0.25]}}
    assert max(errors(tmp_path, {"sum": {"A": [0, 3e-17]}, "weighted": {"A": [0.5, 0.25]}}, theirs).values()) < 1e-15
    assert errors(tmp_path, {"sum": {"A": [0, 1e-3]}, "weighted": {"A": [0.5, 0.25]}}, theirs)["sum/A"] > 1e-3


@pytest.mark.parametrize("ours", [{"sum": {}}, {"sum": {"A": [[1.0]]}}])
def test_a_missing_or_misshapen_gradient_is_infinitely_wrong(tmp_path, ours):
    assert errors(tmp_path, ours, {"sum": {"A": [1.0]}})["sum/A"] == np.inf


def test_zero_against_zero_is_right(tmp_path):
    assert errors(tmp_path, {"sum": {"A": [0.0]}}, {"sum": {"A": [0.0]}}) == {"sum/A": 0.0}


def test_richardson_is_of_fourth_order():
    errors = [abs(richardson(np.exp, h) - 1) for h in (0.2, 0.1)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.05)


def test_directional_error_of_a_complex_gradient():
    z, d = np.array([1 + 2j]), {"z": np.array([0.3 - 0.4j])}
    slope = richardson(lambda h: float(((z + h * d["z"]) ** 2).real.sum()), 1e-3)
    assert directional_error(slope, terms_of({"z": np.conj(2 * z)}, d)) < 1e-12
    assert directional_error(slope, terms_of({"z": 2 * z}, d)) > 0.1


def test_a_slope_of_rounding_noise_counts_as_zero():
    assert directional_error(3e-13, np.array([1e-17]), largest=0.1) < 1e-11
    assert directional_error(3e-13, np.array([1e-3]), largest=0.1) > 0.9


def test_single_precision_is_compared_with_the_plain_sum(tmp_path):
    theirs = {"sum": {"A": [1.0, 2.0]}, "weighted": {"A": [0.5, 1.0]}}
    found = errors(tmp_path, theirs | {"single": {"A": np.float32([1.0, 2.0002])}}, theirs)
    assert found["single/A"] == pytest.approx(1e-4, rel=1e-2)
    assert found["sum/A"] == found["weighted/A"] == 0
