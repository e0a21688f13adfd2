"""What a chance is worth: match equity tables and the cube. Needs NumPy alone."""
