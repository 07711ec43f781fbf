"""``python -m npbench_suite.harness``."""

from npbench_suite.harness.cli import bench

bench(prog_name="python -m npbench_suite.harness")
