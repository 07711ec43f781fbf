"""Arrays of other libraries in the memory of a graphics processor."""
