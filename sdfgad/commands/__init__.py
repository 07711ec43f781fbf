"""What the command line leads to, and how it finds a function."""
