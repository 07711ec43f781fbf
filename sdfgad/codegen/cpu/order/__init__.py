"""What runs where and in which order: pieces of a program, which maps go together, which threads they run on."""
