"""Match equity tables, which need only NumPy, and models of the cube, also for kernels."""
