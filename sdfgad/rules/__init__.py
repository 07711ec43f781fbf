"""The rule book: what the derivative of every scalar function and library node is. Data, read by `reverse`."""
