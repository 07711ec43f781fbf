"""Passes that choose the order, the rows and the places that caches, vectors and a few threads want."""
