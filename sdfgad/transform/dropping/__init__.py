"""What nobody looks at goes."""
