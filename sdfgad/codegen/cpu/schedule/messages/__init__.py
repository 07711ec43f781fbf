"""What is done while messages are under way."""
