"""Lists, dicts and objects of the program: how they grow, what data choose of them, classes."""
