"""A serial program cut over ranks: who computes what, what is sent, and what is added up."""
