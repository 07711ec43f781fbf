"""What a reverse sweep needs, and what gives it back."""
