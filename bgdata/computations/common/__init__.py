"""What several computations share."""
