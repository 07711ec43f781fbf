"""The text of a function: where it is found, its syntax tree, and what the tree alone tells."""
