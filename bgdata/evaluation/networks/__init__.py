"""Networks: inputs, inference, the networks of the package, and players."""
