"""How arrays lie in memory, and how much of it they take."""
