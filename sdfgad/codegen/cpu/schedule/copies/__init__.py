"""What is copied is read where it lies, or two arrays take turns."""
