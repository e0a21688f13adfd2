"""What the commands print and do, one module for commands that belong together."""
