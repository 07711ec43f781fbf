"""What is known while translating: values from outside, sets, texts, and bodies that stand for functions."""
