"""Passes: program in, program out. Each states before and after; none is keyed on a particular program.

In folders by what they are for: `normal` brings a parsed program to the form that is differentiated; `fusion`,
`dropping` and `clearing` make it compute and write less; `sums`, `products` and `recurrences` change how something is
computed; `copies` and `storage` where it lies; `rows` in which order. `stages.py` lines them up.
"""
