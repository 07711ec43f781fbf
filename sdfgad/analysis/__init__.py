"""Frozen facts about a program: what is active, who overwrites what, what the reverse sweep needs. Edits nothing.

`elements/`: which elements are touched; `loops/`: what iterations hand on; `reversal/`: what a reverse sweep needs.
Here: values and when they live, costs, the verifier.
"""
