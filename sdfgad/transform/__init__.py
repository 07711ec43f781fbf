"""Passes: program in, program out. Each states before and after; none is keyed on a particular program."""
