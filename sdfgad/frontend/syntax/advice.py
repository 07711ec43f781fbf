"""What to do instead of calls that are refused."""
from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

GROWS = "store into an array made before, and count: out[n] = value; n += 1"
"""For lists that grow by numbers of items that data decide."""

_READ = "read the data before the call and pass them as arguments"
_WRITE = "write the file after the call; with has_aux=True a function returns (objective, what the file is to hold)"
_DRAW = "draw after the call; with has_aux=True a function returns (objective, what is to be drawn)"
_DRAWING = ("matplotlib.", "plotly.", "seaborn.", "mpl_toolkits.")
_EXPLICIT = "use scipy.integrate.solve_ivp with the method RK45 or DOP853, whose function takes t first"
_SYSTEM = "write the equations at all points as one system for scipy.optimize.fsolve, or sdfgad.root"
_BEFORE = "call it before, and pass what it gives as an argument"
_ROOTS = "give sdfgad.root the equations, and a solver of them: its derivative is that of the solution"
_LEAST = "write the steps as a loop in the function, or give sdfgad.root the conditions of the minimum"
_INTEGRAL = "use scipy.integrate.fixed_quad, or np.polynomial.legendre.leggauss and a sum"
_PLACES = "find the places before the call, and pass them as arguments of integers"
_MATRICES = "make the matrix before the call, or use an array of NumPy"
_INTERPOLANT = "use CubicSpline, make_interp_spline, interp1d or np.interp"
_POLYNOMIAL = "make it outside, or use chebval, legval, hermval, hermeval or lagval with its coefficients"
_QUEUE = "keep what waits in an array, and take it by np.argmin; np.sort gives the smallest ones"
_DERIVED = "classes derived from np.ndarray are not understood: hold the array in an attribute of a class"
_BY_NAME: Mapping[str, str] = MappingProxyType({
    "open": _READ, "input": _READ, "load": _READ, "loadtxt": _READ, "genfromtxt": _READ,
    **dict.fromkeys(("save", "savetxt", "savez", "savez_compressed", "savemat"), _WRITE),
    "matrix": "use np.array, whose products are @", "asmatrix": "use np.array, whose products are @",
    "array": "use np.array",
    **dict.fromkeys(("Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre"), _POLYNOMIAL),
    "roots": _BEFORE,
    **dict.fromkeys(("heappush", "heappop", "heapify", "heappushpop", "heapreplace", "nsmallest", "nlargest"), _QUEUE),
    "nditer": "loop over x.flat, or over np.ndindex(x.shape)",
    "ode": _EXPLICIT, "complex_ode": _EXPLICIT, "solve_bvp": _SYSTEM,
    **dict.fromkeys(("newton_krylov", "anderson", "broyden1", "broyden2", "linearmixing", "diagbroyden"),
                    _ROOTS),
    **dict.fromkeys(("differential_evolution", "linprog", "nnls"), _LEAST),
    **dict.fromkeys(("quad_vec", "tplquad", "nquad"), _INTEGRAL),
    **dict.fromkeys(("cKDTree", "KDTree", "ConvexHull", "Delaunay", "Voronoi", "find_peaks", "argrelmax", "argrelmin",
                     "argrelextrema", "label", "distance_transform_edt", "binary_dilation", "binary_erosion"), _PLACES),
    **dict.fromkeys(("csr_matrix", "csc_matrix", "coo_matrix", "lil_matrix", "csr_array", "csc_array", "coo_array",
                     "diags", "diags_array", "eye_array", "spdiags"), _MATRICES),
    **dict.fromkeys(("griddata", "UnivariateSpline", "InterpolatedUnivariateSpline", "RectBivariateSpline", "splrep",
                     "BSpline", "lagrange", "RBFInterpolator", "LinearNDInterpolator"), _INTERPOLANT),
    **dict.fromkeys(("ppf", "isf"), "compute it before the call, of shares and shapes that are known then"),
    "filter": "use a loop with if, or a mask: x[x > 0]",
    "defaultdict": "use a dict that holds every key from the start",
    "eig_banded": "build the matrix and use np.linalg.eigh",
})


ON_DERIVATIVES = (
    "inside of a function write sdfgad.grad or value_and_grad; take other derivatives outside, and pass their numbers. "
    "What depends on a gradient is differentiated by sdfgad.vjp(sdfgad.grad(f), x), too, which gives the gradient and "
    "a pullback through it; sdfgad.jvp and jacobian take sdfgad.grad(f), sdfgad.hvp the function and a direction")
"""What to do in place of a derivative inside of a function."""
_ON_RULES = "make it outside of the function, give it its rule there, and call it here"


def on_verb(function: Any) -> str:
    """Advice for one of sdfgad's functions inside of another function."""
    return _ON_RULES if function.__name__ in ("custom_vjp", "custom_jvp") else ON_DERIVATIVES


def is_verb(function: Any) -> bool:
    """Whether a Python function is one of sdfgad's that make or compute derivatives."""
    package, _, place = str(function.__module__).partition(".")
    return package == "sdfgad" and place.rpartition(".")[0] in ("", "adapters", "verbs")


def draws(callee: Any) -> bool:
    """Whether a function or method is of a library for figures."""
    return f"{getattr(callee, '__module__', '')}.".startswith(_DRAWING)


def on_call(callee: Any, otherwise: str) -> str:
    """Advice for a call that is refused; `otherwise` where there is none of its own."""
    places = (type(getattr(callee, "__self__", None)).__module__, str(getattr(callee, "__module__", "")))
    if any(p.startswith(("numpy.random", "random")) for p in places):
        return "draw the numbers before the call and pass them as an argument"
    if draws(callee):
        return _DRAW
    if any(p.startswith("numpy.ma.") for p in places):
        return "use np.where, or select with a mask: x[mask]"
    if isinstance(callee, type) and issubclass(callee, np.ndarray):
        return _DERIVED
    return _BY_NAME.get(getattr(callee, "__name__", ""), otherwise)
