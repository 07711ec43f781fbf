"""A parsed program comes to the form that the derivative sees."""
