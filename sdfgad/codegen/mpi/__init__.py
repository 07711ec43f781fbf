"""What generated code asks of an MPI library, what it logs, and who waits for whom."""
