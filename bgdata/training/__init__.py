"""Training of networks, from labels and from their own games."""
