"""The verbs of the front page, and `pipeline`, which leads from a call to a result."""
