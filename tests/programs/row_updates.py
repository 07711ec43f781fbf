"""Random stencils with updates of rows, columns and elements beside them, as source text."""
from __future__ import annotations

from random import Random

AROUND = "(q[2:, 1:-1] + q[:-2, 1:-1] + q[1:-1, 2:] + q[1:-1, :-2] - 4 * q[1:-1, 1:-1])"
HANDED_ON = f"r[1:-1, 1:-1] = q[1:-1, 1:-1] - 0.3 * p[1:-1, 1:-1] + 0.1 * c[1:-1, 1:-1] * {AROUND}"
IN_PLACE = (f"q[1:-1, 1:-1] += 0.1 * c[1:-1, 1:-1] * {AROUND}", "q[1:, :] += 0.1 * c[1:, :] * q[:-1, :]",
            f"q[1:-1, 1:-1] = 0.9 * q[1:-1, 1:-1] + 0.05 * np.tanh({AROUND})",
            "q[:, 1:] = 0.9 * q[:, 1:] + 0.1 * c[:, 1:] * q[:, :-1]")
PLACES = ("{a}, :", ":, {a}", "{a}:{b}, :", ":, {a}:{b}", "{a}, {b}", "t, :", "t, :t", ":t, {a}", "{a}, 1:-1",
          "-{b}, :", "t:t + 2, {a}:")


def written(number: int) -> str:
    """The text of a function `program(c, w, d)`: two matrices of at least 50 rows and columns, and one number per step
    of at most 40."""
    random = Random(number)
    handed_on = random.random() < 0.4
    names = ("q", "r", "p") if handed_on else ("q",)
    lines = ["q = d * 0.5", *(f"{n} = np.zeros(c.shape)" for n in names[1:]), "for t in range(w.shape[0]):"]
    body = [HANDED_ON if handed_on else random.choice(IN_PLACE) for _ in range(random.randrange(1, 3))]
    body += [_update(random, names) for _ in range(random.randrange(1, 4))]
    random.shuffle(body)
    lines += ["    " + line for line in (*body, *(["p, q, r = q, r, p"] if handed_on else []))]
    return "\n".join(["import numpy as np", "", "", "def program(c, w, d):", *(f"    {line}" for line in lines),
                      "    return np.sum((q - d) ** 2)", ""])


def _update(random: Random, names: tuple[str, ...]) -> str:
    a = random.randrange(40)
    b, name, op = a + random.randrange(1, 6), random.choice(names), random.choice(("+=", "+=", "-=", "*=", "="))
    place = random.choice(PLACES).format(a=a, b=b)
    value = f"{random.choice(('w[t]', '0.3', f'w[t] * c[{a}, {b}]', '(0.2 + w[t])'))} * {random.choice('ccd')}[{place}]"
    if random.random() < 0.3:
        value += f" * np.sin({name}[{place}])"
    kept = {"=": f"0.5 * {name}[{place}] + 0.1 * {value}", "*=": f"(1 + 0.01 * {value})"}
    return f"{name}[{place}] {op} {kept.get(op, value)}"
