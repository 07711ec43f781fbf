"""Methods of strings, sorted names, and items that are deleted."""
import numpy as np
import pytest

from sdfgad.errors import UnsupportedError
from sdfgad.frontend import parse
from tests.frontend.checking import check

X = np.array([0.4, -1.2, 0.7])


def modes(x, mode="Fast_3"):
    name, _, order = mode.lower().partition("_")
    s = 0.0
    if name.startswith(("fa", "q")) and mode.endswith("3") and not order.isalpha():
        s += np.sum(x) * int(order)
    for part in "a,b,,c".split(","):
        s += x[0] if part.strip() else x[1]
    return s + len("-".join(["ab", "c"])) + "abc".index("c") + ("{}" + "x").format(2).count("2")


def items(x):
    kinds = {"b": x, "a": 2 * x, "c": x * x}
    del kinds["b"]
    left = [x[0], x[1], x[2]]
    del left[0], left[-1]
    total = 0.0
    for k, name in enumerate(sorted(kinds)):
        total += np.sum(kinds[name]) * (k + 1)
    return [total, len(kinds), left[0], len(left), np.array([len(n) for n in sorted(["bb", "a"])])]


def test_same_as_python():
    check(modes, X)
    check(items, X)


@pytest.mark.parametrize("program, what", [
    (lambda x: np.sum(x) * len(f"{x[0]}"), "text made from values"),
    (lambda x: np.sum(x) * "abc".index("z"), "a text operation that fails")], ids=["value", "fails"])
def test_refused(program, what):
    with pytest.raises(UnsupportedError, match=what):
        parse(program, (X,))


def test_items_that_stay():
    def part_of_an_array(x):
        del x[0]
        return np.sum(x)

    with pytest.raises(UnsupportedError, match="a deletion of an item of an array"):
        parse(part_of_an_array, (X,))
