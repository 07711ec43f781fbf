"""The processor this runs on: programs as OpenMP loops for its caches, vectors and threads."""
