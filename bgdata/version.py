"""The version of bgdata, and the name under which package indexes know it; the import name is `bgdata`."""

DISTRIBUTION = "bgdata-backgammon"  # another project has the name bgdata there
__version__ = "1.0.0"  # `make version` writes it
