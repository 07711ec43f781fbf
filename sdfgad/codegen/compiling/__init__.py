"""From C++ to a library: the compiler, the cache, the libraries and threads that code is linked with."""
