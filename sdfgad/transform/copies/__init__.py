"""What is copied is read where it came from and written where it goes."""
