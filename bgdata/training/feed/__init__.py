"""The feed: batches of labelled positions, in an order that follows from a recipe alone."""
