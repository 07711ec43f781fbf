"""One NPBench program per file; each file ends with its `KERNEL`."""
