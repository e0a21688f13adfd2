"""Answers as rows of data: what commands print and the pages of the explorer show."""
