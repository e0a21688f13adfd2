"""Games with people and other programs: one module per protocol."""
