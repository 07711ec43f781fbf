"""Frozen facts about a program: what is active, who overwrites what, what the reverse sweep needs. Edits nothing."""
