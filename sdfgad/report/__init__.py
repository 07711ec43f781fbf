"""What the user sees of a plan: text, a page, charts."""
