"""`for` and `while`: forms to run a loop in, exits as flags, and loops that are cut where it pays."""
