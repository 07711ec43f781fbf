"""The reference target: programs as plain SDFGs, one statement after the other, compiled by DaCe's own generators.

Nothing is scheduled, shared or vectorised. What it computes is what the statements say, one element at a time, so that
other targets can be compared with it; and its graphs stand for themselves: whoever has DaCe can read, change and run
them (`sdfgad.to_sdfg`).
"""
