"""A package that adds a kind of dataset and a player to bgdata: what `docs/how_to/extend.md` shows."""
