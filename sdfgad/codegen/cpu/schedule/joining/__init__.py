"""Maps over the same points in one pass over memory, with rows of what they need again."""
