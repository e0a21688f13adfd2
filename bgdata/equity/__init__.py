"""Match equity tables (which need NumPy alone) and models of the cube, also for kernels."""
