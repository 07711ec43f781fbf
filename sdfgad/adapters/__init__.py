"""Functions for other libraries, which are imported when one is asked for: `as_scipy`, `as_torch`, `as_jax`."""
