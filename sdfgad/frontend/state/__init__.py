"""What one translation holds: values and names, what is known of integers, and the builder of statements."""
