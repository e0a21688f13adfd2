"""Games with people and other programs: one module for each protocol."""
