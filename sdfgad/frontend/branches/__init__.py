"""Conditionals, exceptions on data, and what is carried from one iteration to the next."""
