"""The version of bgdata, and its name on package indexes, which is not the import name `bgdata`."""

DISTRIBUTION = "bgdata-backgammon"  # there the name bgdata belongs to another project
__version__ = "1.0.0"  # `make version` writes it
