"""The process of one task: ``python -m npbench_suite.perf.worker '<task as JSON>'``.

The last line printed is the result.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module

from npbench_suite.perf.task import MEASURES, Task


def main(text: str) -> None:
    """Measure and print what was found."""
    task = Task.from_json(text)
    sys.stdout.write(json.dumps(import_module(MEASURES[task.part]).measure(task)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
