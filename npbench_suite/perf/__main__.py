"""``python -m npbench_suite.perf``."""

from npbench_suite.perf.cli import main

main(prog_name="python -m npbench_suite.perf")
