"""``python -m npbench_suite.device``."""

import sys

from npbench_suite.device.cli import main

sys.exit(main(sys.argv[1:]))
