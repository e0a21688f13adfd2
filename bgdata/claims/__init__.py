"""The register of claims: published numbers, the query that recomputes each, and whether it is reproduced."""
