"""Where ways meet: one value for what has several, depending on the path taken or the iteration."""
