"""Parts of arrays: views, places, masks, and what decides between a view and a copy."""
