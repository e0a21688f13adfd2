"""Pages of tables, their rows, and SQL."""
