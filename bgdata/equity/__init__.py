"""What a chance is worth: match equity tables (with NumPy alone) and models of the cube, for kernels too."""
