"""File formats of other programs, one module per format."""
