"""Which elements of results may depend on which elements of others: sparsity patterns."""
