"""Gradients in a notebook."""
from __future__ import annotations

import re
import warnings

import numpy as np

from sdfgad.calls.results import Gradients


def rows(gradients):
    body = gradients._repr_html_().split("<tbody>")[1]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", body)]


def test_a_row_for_each_gradient():
    found = Gradients({"p['A<b>']": np.array([[3.0, -4.0, np.nan]]), "z": np.array([3 + 4j]), "s": np.float32(2.0),
                       "none": np.zeros(0), "row": Gradients({"x": np.ones(2)})})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rows(found) == [
            ["p[&#x27;A&lt;b&gt;&#x27;]", "float64 [1, 3]", "5", "-4", "3", "1"],
            ["z", "complex128 [1]", "5", "5", "5", ""], ["s", "float32", "2", "2", "2", ""],
            ["none", "float64 [0]", "0", "", "", ""], ["row", "Gradients", "", "", "", ""]]
