"""Networks: what they see of a board, how they compute, which ship with the package, and how they play."""
