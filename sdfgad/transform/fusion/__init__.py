"""Values are computed where they are used, and once."""
