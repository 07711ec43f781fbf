"""In what order terms are added, and which sums go together."""
