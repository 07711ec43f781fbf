"""Divisions and powers that need not be done again."""
