"""What each error code means: its cause, a program that raises it, and how the program is written instead.

``sdfgad explain CODE`` prints it. Examples are run by the tests, after ``import numpy as np, sdfgad``.
"""
from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sdfgad.errors import CODES, UsageError

FAMILIES: Mapping[str, str] = MappingProxyType({
    "1": "UnsupportedError: sdfgad refuses the program rather than risk a wrong gradient; rewrite the line shown.",
    "2": "UsageError: the call itself has to change; the message lists the choices.",
    "3": "MemoryLimitError or PlanNotExecutable: raise the limit, shrink the problem, or plan again. "
         "SnapshotError: check the disk, or give `spill` a folder on another one.",
    "4": "GradientMismatchError: compare the one-sided slopes in the report; a kink also shows up this way.",
    "5": "ToolchainError: something around sdfgad is missing; `sdfgad doctor` shows what and how to mend it.",
    "9": "InvariantError: a bug in sdfgad; please report it with the message.",
})


@dataclass(frozen=True)
class Page:
    """One code. example: a program that raises it, or, where that takes more than a program, how it comes about."""

    cause: str
    example: str
    rewrite: str
    runs: bool = True
    """Whether example and rewrite are programs."""


def explain(code: str) -> str:
    """The page of ``code``, which may be written SG121, sg121 or 121."""
    name = code.strip().upper().removeprefix("SG")
    name = f"SG{name}"
    if name not in CODES:
        raise UsageError(f"there is no error code {code!r}", code="SG208", help=f"codes: {', '.join(CODES)}")
    page = PAGES[name]
    parts = [f"{name}: {CODES[name]}", textwrap.fill(FAMILIES[name[2]], 100), "", textwrap.fill(page.cause, 100), ""]
    parts += ["Example:", textwrap.indent(page.example.strip(), "    "), ""]
    parts += ["Instead:", textwrap.indent(page.rewrite.strip(), "    ")]
    return "\n".join(parts)


def _page(cause: str, example: str, rewrite: str, runs: bool = True) -> Page:
    return Page(cause, textwrap.dedent(example), textwrap.dedent(rewrite), runs)


PAGES: Mapping[str, Page] = MappingProxyType({
    "SG101": _page(
        "The line uses a part of Python or an argument of a NumPy function that is not translated.", """
        def loss(x):
            return np.sum(np.add(x, 1.0, order="F"))
        sdfgad.grad(loss)(np.ones(3))""", """
        def loss(x):
            return np.sum(np.add(x, 1.0))
        sdfgad.grad(loss)(np.ones(3))"""),
    "SG102": _page(
        "A construct that has no compiled form, as generators; calls that fail, and names that are not there.", """
        def loss(x):
            return np.sum(x) * [1, 2].index(3)
        sdfgad.grad(loss)(np.ones(3))""", """
        def loss(x):
            return np.sum(x) * [1, 2].index(2)
        sdfgad.grad(loss)(np.ones(3))"""),
    "SG103": _page(
        "Programs are translated for known shapes. Here a shape depends on data, or shapes do not agree.", """
        def loss(x):
            return np.sum(x[:2] * x[:3])
        sdfgad.grad(loss)(np.ones(3))""", """
        def loss(x):
            return np.sum(x[:2] * x[1:3])
        sdfgad.grad(loss)(np.ones(3))"""),
    "SG104": _page(
        "Arrays are booleans, integers, floats of 32 or 64 bits, or complex numbers.", """
        def loss(x):
            return np.sum(x.astype(np.float16))
        sdfgad.grad(loss)(np.ones(3))""", """
        def loss(x):
            return np.sum(x.astype(np.float32))
        sdfgad.grad(loss)(np.ones(3))"""),
    "SG105": _page(
        "The index has a form whose derivative cannot be compiled, or names nothing.", """
        def loss(p):
            return np.sum(p["weights"])
        sdfgad.grad(loss)({"w": np.ones(3)})""", """
        def loss(p):
            return np.sum(p["w"])
        sdfgad.grad(loss)({"w": np.ones(3)})"""),
    "SG106": _page(
        "The gradient is made from the function's source. Python keeps none of what exec and eval run, and a file that "
        "was edited after it was imported is not what the function runs.", """
        space = {"np": np}
        exec("def loss(x): return np.sum(x * x)", space)
        sdfgad.grad(space["loss"])(np.ones(3))""", """
        space, text = {"np": np}, "def loss(x): return np.sum(x * x)"
        exec(text, space)
        sdfgad.grad(space["loss"], source=text)(np.ones(3))"""),
    "SG107": _page(
        "Which way the program goes has to be known, or be a branch or loop on single numbers.", """
        def loss(x):
            return np.sum(x) if x > 0 else 0.0
        sdfgad.grad(loss)(np.ones(3))""", """
        def loss(x):
            return np.sum(x) if np.all(x > 0) else 0.0
        sdfgad.grad(loss)(np.ones(3))"""),
    "SG108": _page(
        "An argument is neither data nor a container or object made of them.", """
        def loss(x, names):
            return np.sum(x)
        sdfgad.grad(loss)(np.ones(3), {1.5, 2.5})""", """
        def loss(x, names):
            return np.sum(x)
        sdfgad.grad(loss)(np.ones(3), (1.5, 2.5))"""),
    "SG109": _page(
        "Something else than arrays, numbers, booleans, strings or None where only those can be.", """
        def loss(x):
            return lambda k: k * x
        sdfgad.grad(loss)(np.ones(3))""", """
        def loss(x):
            return np.sum(2.0 * x)
        sdfgad.grad(loss)(np.ones(3))"""),
    "SG110": _page(
        "A node, container or tasklet of a graph that has no form here, or none whose derivative is known.", """
        if a > 0: b = a, in a tasklet: what b is otherwise, nobody says""", """
        b = a if a > 0 else 0.0; what is refused names its node, its state and its line""", runs=False),
    "SG111": _page(
        "Two accesses of one container in a state, without a path from one to the other, or iterations of a map that "
        "share elements: any order may be taken.", """
        b >> y[0], in a tasklet of a map over i""", """
        b >> y(1, lambda p, q: p + q)[0], two states in place of one, or a loop in place of a map""", runs=False),
    "SG121": _page(
        "A call of something that is neither NumPy nor Python with source, so that nobody knows its derivative.", """
        def loss(x, file):
            return np.sum(x * np.load(file))
        sdfgad.grad(loss)(np.ones(3), "weights.npy")""", """
        def loss(x, weights):                      # read before the call
            return np.sum(x * weights)
        sdfgad.grad(loss)(np.ones(3), np.ones(3))"""),
    "SG123": _page(
        "There are first and second derivatives: of functions, and of gradients.", """
        def loss(x):
            return np.sum(x ** 3)
        sdfgad.hvp(sdfgad.grad(loss), (np.ones(3),), (np.ones(3),))""", """
        def loss(x):
            return np.sum(x ** 3)
        sdfgad.hvp(loss, (np.ones(3),), (np.ones(3),))"""),
    "SG124": _page(
        "Each rank computes what it owns. What goes along a cut axis one element after the other, or at places that an "
        "index array names, is no block of anybody: cut another axis, or leave the array whole.", """
        def loss(u):
            for i in range(1, u.shape[0]):
                u[i] += 0.5 * u[i - 1]
            return np.sum(u)
        sdfgad.grad(loss, distribute={"u": ("block", None)}, comm=4).plan(np.ones((8, 8)))""", """
        def loss(u):
            for i in range(1, u.shape[0]):
                u[i] += 0.5 * u[i - 1]
            return np.sum(u)
        sdfgad.grad(loss, distribute={"u": (None, "block")}, comm=4).plan(np.ones((8, 8)))"""),
    "SG130": _page(
        "A function that can be run has no derivative rule. docs/writing_rules.md shows how to write one.", """
        a rule that was removed or never registered""", """
        from sdfgad.rules import registry
        registry.override("tanh", lambda y, x: 1 - y * y)""", runs=False),
    "SG131": _page(
        "A product, solve or factorisation of a block whose size changes while the program runs.", """
        a library operation on A[k:, k:] inside a loop over k that has no derivative for changing blocks""", """
        write the operation as loops over rows, or use blocks of one size""", runs=False),
    "SG132": _page(
        "The derivative of this factorisation is not known here.", """
        def loss(A):
            return np.sum(np.abs(np.linalg.svd(A)[0]))
        sdfgad.grad(loss)(np.eye(3) + 1j)""", """
        def loss(A):
            return np.sum(np.linalg.svd(A, compute_uv=False))
        sdfgad.grad(loss)(np.eye(3) + 1j)"""),
    "SG133": _page(
        "A product that is added to an array which one of its factors is.", """
        C += C @ B, where the product goes straight to its target""", """
        D = C @ B
        C = C + D""", runs=False),
    "SG134": _page(
        "A minimum or maximum over part of an array whose size is known only while the program runs.", """
        np.max(A[: counts[k]], axis=0), with counts an array that the program computes""", """
        np.max(np.where(np.arange(n) < counts[k], A, -np.inf), axis=0)""", runs=False),
    "SG135": _page(
        "A derivative rule of your own that does not fit the function it belongs to.", """
        scaled = sdfgad.custom_vjp(scaled)
        scaled.defvjp(lambda x: (2.0 * x, None), lambda r, g: 2.0 * g)""", """
        scaled = sdfgad.custom_vjp(scaled)
        scaled.defvjp(lambda x: (2.0 * x, None), lambda r, g: (2.0 * g,))""", runs=False),
    "SG136": _page(
        "An equation with another shape than its unknown, or a solver that changes what it is given, in "
        "sdfgad.linear_solve, root or fixed_point.", """
        def solve(matvec, b):
            b *= 0.5
            return b

        def loss(b):
            return np.sum(sdfgad.linear_solve(lambda x: 2.0 * x, b, solve, symmetric=True))

        sdfgad.grad(loss)(np.ones(3))""", """
        def solve(matvec, b):
            return b * 0.5

        def loss(b):
            return np.sum(sdfgad.linear_solve(lambda x: 2.0 * x, b, solve, symmetric=True))

        sdfgad.grad(loss)(np.ones(3))"""),
    "SG190": _page(
        "A statement whose effect cannot be undone and run backwards, mostly one that reads what it writes.", """
        x[:n] = x[::-1][:n] * x[:n], over a range known only while the program runs""", """
        y = x.copy()
        x[:n] = y[::-1][:n] * y[:n]""", runs=False),
    "SG191": _page(
        "A sparsity pattern that takes too long to find, has too many places, or columns that share rows with too many "
        "others. A pattern of your own says that numbers are zero which the indices alone do not tell.", """
        sdfgad.jacobian(f, sparsity="auto")(x), where f is a stencil applied a thousand times to a long array""", """
        sdfgad.jacobian(f)(x) for a dense matrix, sdfgad.jvp or vjp for products with it, or
        sdfgad.jacobian(f, sparsity=pattern)(x)""", runs=False),
    "SG201": _page(
        "A gradient belongs to one real number. Several values, or an array, need to be told what is wanted of them.",
        """
        def model(x):
            return x * x
        sdfgad.grad(model)(np.ones(3))""", """
        def model(x):
            return x * x
        sdfgad.grad(model, reduce="sum")(np.ones(3))
        sdfgad.vjp(model, np.ones(3))[1](np.array([1.0, 0.0, 0.0]))"""),
    "SG202": _page(
        "Only floating and complex arguments have gradients.", """
        def loss(x, k):
            return np.sum(x * k)
        sdfgad.grad(loss, wrt="k")(np.ones(3), np.arange(3))""", """
        def loss(x, k):
            return np.sum(x * k)
        sdfgad.grad(loss, wrt="k")(np.ones(3), np.arange(3).astype(float))"""),
    "SG203": _page(
        "Two arguments share memory, and the program writes one of them: what it does to the other is ambiguous.", """
        def loss(x, y):
            x[:] = x * 2.0
            return np.sum(x * y)
        a = np.ones(3)
        sdfgad.grad(loss)(a, a)""", """
        def loss(x, y):
            x[:] = x * 2.0
            return np.sum(x * y)
        a = np.ones(3)
        sdfgad.grad(loss)(a, a.copy())"""),
    "SG204": _page(
        "wrt= names something that is no argument.", """
        def loss(x):
            return np.sum(x)
        sdfgad.grad(loss, wrt="y")(np.ones(3))""", """
        def loss(x):
            return np.sum(x)
        sdfgad.grad(loss, wrt="x")(np.ones(3))"""),
    "SG205": _page(
        "The arguments of a call do not fit the function, or an option has a value that it cannot have.", """
        def loss(x):
            return np.sum(x)
        sdfgad.grad(loss)(np.ones(3), np.ones(3))""", """
        def loss(x):
            return np.sum(x)
        sdfgad.grad(loss)(np.ones(3))"""),
    "SG206": _page(
        "A number of bytes is an integer, a text with a unit, or a share of the memory that is free.", """
        sdfgad.grad(lambda x: np.sum(x), memory_limit="4 gigs")""", """
        sdfgad.grad(lambda x: np.sum(x), memory_limit="4GB")"""),
    "SG207": _page(
        "There is no such setting, or not with this value. `sdfgad doctor` shows all of them.", """
        with sdfgad.config(num_threads=0):
            pass""", """
        with sdfgad.config(num_threads=2):
            pass"""),
    "SG208": _page(
        "The target of a command is file.py:function, module:function or npbench:kernel.", """
        from sdfgad.commands.subject import load_subject
        load_subject("missing.py:loss")              # sdfgad check missing.py:loss""", """
        sdfgad check model.py:loss""", runs=False),
    "SG209": _page(
        "An index leaves its array, as NumPy would find out: in a loop that runs too far, in an index array among the "
        "arguments, or as data have it.", """
        def loss(x, places):
            return np.sum(x[places])
        sdfgad.grad(loss)(np.ones(3), np.array([0, 3]))""", """
        def loss(x, places):
            return np.sum(x[places])
        sdfgad.grad(loss)(np.ones(3), np.array([0, 2]))"""),
    "SG210": _page(
        "Programs are to run on a graphics processor, and this machine has none, no driver, or no nvcc. Plans can be "
        "made all the same: sdfgad.plan runs nothing.", """
        SDFGAD_DEVICE=gpu python model.py""", """
        SDFGAD_DEVICE=cpu python model.py""", runs=False),
    "SG211": _page(
        "Ranks that call a gradient together differ in something that has to be the same on all of them, or one of "
        "them has stopped with an error of its own, which it shows itself.", """
        comm.Split under a condition that only some ranks meet""", """
        make the communicators before the call, on every rank""", runs=False),
    "SG212": _page(
        "An argument lies on a graphics processor and the program runs on the processor, or the arguments lie in "
        "several places, have gaps, or cannot be handed on as they are. Nothing is ever copied in silence.", """
        sdfgad.grad(loss)(cupy.ones(3))                       # the program is one of the processor""", """
        sdfgad.grad(loss, device="gpu")(cupy.ones(3))""", runs=False),
    "SG301": _page(
        "Arguments, results and what is alive at one moment take more than the limit, whatever is recomputed. The "
        "message names the arrays.", """
        def loss(x):
            return np.sum(np.sin(x) ** 2)
        sdfgad.grad(loss, memory_limit="1kB")(np.ones(1000))""", """
        def loss(x):
            return np.sum(np.sin(x) ** 2)
        sdfgad.grad(loss, memory_limit="100kB")(np.ones(1000))"""),
    "SG302": _page(
        "How often a while loop runs is known only when it does, and so is what it keeps.", """
        a while loop that runs longer than memory_limit leaves room for""", """
        raise memory_limit; gradient.measure(...) without a limit says what is enough to store everything""",
        runs=False),
    "SG303": _page(
        "A call took more memory than its plan said. This is a defect of sdfgad.", """
        SDFGAD_CHECK=error, and a call above its prediction""", """
        report it; SDFGAD_CHECK=off returns the gradient all the same""", runs=False),
    "SG304": _page(
        "Snapshots go to the folder `spill`, and there is no room on its disk.", """
        grad(loss, spill="/small/disk")""", """
        grad(loss, spill="/large/disk"), or no spill""", runs=False),
    "SG305": _page(
        "A snapshot came back from disk other than it was written. Nothing is returned.", """
        grad(loss, spill=...) on a disk that loses data""", """
        check the disk, or spill to another one""", runs=False),
    "SG306": _page(
        "How long a list becomes in a while loop is known only when it runs. A call that needs more room begins again; "
        "a pullback, a call that overwrites arguments, one of several ranks or of an exported library cannot.",
        """
        grad(loss, donate=["x"]), where loss appends to a list in a while loop""", """
        call it again, which has room now, or bound the loop: for k in range(most): ... break""", runs=False),
    "SG311": _page(
        "A plan belongs to one program and to shapes.", """
        def loss(x):
            return np.sum(np.sin(x) ** 2)
        made = sdfgad.plan(loss, np.ones(3))
        sdfgad.grad(loss, plan=made)(np.ones(4))""", """
        def loss(x):
            return np.sum(np.sin(x) ** 2)
        made = sdfgad.plan(loss, np.ones(4))
        sdfgad.grad(loss, plan=made)(np.ones(4))"""),
    "SG401": _page(
        "The compiled gradient differs from finite differences. Kinks and loops that stop at a tolerance do that, too; "
        "the report tells them apart.", """
        a derivative rule that is wrong, found by sdfgad.check_grads(loss, x)""", """
        mend the rule""", runs=False),
    "SG402": _page(
        "The gradient, or the function itself, is NaN or infinite at this point. Under "
        "sdfgad.config(debug_nans=True) a call ends where NaN first comes up.", """
        def loss(x):
            return np.sum(np.log(x))
        sdfgad.check_grads(loss, np.zeros(3))""", """
        def loss(x):
            return np.sum(np.log(x))
        sdfgad.check_grads(loss, np.ones(3))"""),
    "SG501": _page(
        "Programs are compiled with g++ or clang++, or what the environment variable CXX names.", """
        CXX=missing python model.py""", """
        apt install g++""", runs=False),
    "SG502": _page(
        "Matrix products are done by OpenBLAS, from the wheel scipy-openblas32 or from the system.", """
        a program with A @ B where neither is installed""", """
        pip install scipy-openblas32""", runs=False),
    "SG505": _page(
        "The C++ compiler refused what was generated, or the result cannot be loaded.", """
        a compiler too old for -std=c++20""", """
        sdfgad doctor; sdfgad cache clear; else report it with the program""", runs=False),
    "SG506": _page(
        "Plans under a memory limit are found by HiGHS, which cannot be imported or does not solve its test.", """
        pip uninstall highspy""", """
        pip install highspy pulp""", runs=False),
    "SG507": _page(
        "Programs are kept in a folder that cannot be written. They are compiled into a temporary one instead.", """
        SDFGAD_CACHE_DIR=/read/only python model.py""", """
        SDFGAD_CACHE_DIR=/somewhere/else python model.py""", runs=False),
    "SG508": _page(
        "A call of the CUDA runtime failed while a program ran: what it says is in the message.", """
        a device that another process has reset""", """
        sdfgad doctor; else report it with the program""", runs=False),
    "SG509": _page(
        "Programs that communicate call the MPI library that mpi4py has loaded; it is not found, or unknown.", """
        mpi4py with a library that is not called libmpi.so""", """
        pip install mpi4py mpich""", runs=False),
    "SG901": _page(
        "A pass of the compiler has made a program that must not be. Nothing is wrong with yours.", """
        (none known)""", """
        report it with the program and the message""", runs=False),
})
"""The pages, by code."""
