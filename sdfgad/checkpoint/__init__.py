"""Store or recompute: the problem, and the plan that answers it. Pure values, no program graph."""
