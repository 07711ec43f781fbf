"""Numbers and elements: dtype rules, comparisons, integers of the run, and where a run stops."""
