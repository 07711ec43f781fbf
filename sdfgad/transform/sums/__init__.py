"""Where, and in what order, terms are added."""
