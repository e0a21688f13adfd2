"""The register of claims: published numbers, what recomputes each, and whether it comes out."""
