"""Several gradients in a notebook: what each is like, as their numbers would fill the screen."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import numpy as np

from sdfgad.report.page import STYLE

_HEADINGS = ("gradient", "kind", "norm", "smallest", "largest", "NaN")


def fragment_of(gradients: Mapping[str, Any]) -> str:
    """A table with a row for each."""
    head = "".join(f"<th{_number(k)}>{text}</th>" for k, text in enumerate(_HEADINGS))
    body = "".join("<tr>" + "".join(f"<td{_number(k)}>{escape(c)}</td>" for k, c in enumerate(row)) + "</tr>"
                   for row in (_row(name, g) for name, g in gradients.items()))
    return f'<style>{STYLE}</style><div class="sdfgad"><div class="wide"><table><thead><tr>{head}</tr></thead>' \
           f"<tbody>{body}</tbody></table></div></div>"


def _number(column: int) -> str:
    return ' class="number"' if column > 1 else ""


def _row(name: str, gradient: Any) -> tuple[str, ...]:
    if not hasattr(gradient, "dtype") and not isinstance(gradient, (float, complex)):  # gradients in gradients, none
        return name, type(gradient).__name__, "", "", "", ""
    found = np.asarray(gradient)
    kind = f"{found.dtype.name} {list(found.shape)}" if found.shape else found.dtype.name
    return name, kind, *_figures(np.abs(found) if found.dtype.kind == "c" else found)


def _figures(values: np.ndarray) -> Iterator[str]:
    """Of what is finite or infinite; of complex numbers their absolute values."""
    known = values[~np.isnan(values)]
    yield f"{np.sqrt(np.sum(np.square(known, dtype=np.float64))):.4g}"
    yield from (f"{known.min():.4g}", f"{known.max():.4g}") if known.size else ("", "")
    yield str(values.size - known.size) if known.size < values.size else ""
