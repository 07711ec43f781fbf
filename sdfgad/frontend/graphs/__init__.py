"""Graphs of DaCe to programs: states and regions in order, specialised to one call, by the rules of the C++ that DaCe
would make of them.

`reading.read` is the door. What is not taken is refused with the node, its state and the user's line.
"""
