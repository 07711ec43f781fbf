"""The C++ text of pieces, teams and library operations."""
