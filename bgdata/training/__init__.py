"""Networks that learn: from labels, and from their own games."""
