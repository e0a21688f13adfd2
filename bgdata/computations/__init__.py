"""How the dataset kinds are computed. Each module has the `COMPUTATION` of a kind; it is imported when it is needed."""
