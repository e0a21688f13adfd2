"""Other people's files, one module each."""
