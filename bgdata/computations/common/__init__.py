"""Code that several computations share."""
