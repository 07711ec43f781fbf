"""Loops whose iterations depend on each other."""
