"""`make bench`: every row of the README's speed table, measured here and now, peers beside ours where installed."""
