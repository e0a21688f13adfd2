"""Networks: their inputs, inference, the ones that ship with the package, and how they play."""
