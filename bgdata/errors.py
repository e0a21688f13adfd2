"""Every exception of bgdata. Each is also the built-in that a lazy caller would catch.

Messages are lower case, say what was expected, then what was found, then what to do.
"""

from __future__ import annotations


def shown(value: object, most: int = 80) -> str:
    """A value from outside as a message shows it: in quotes, escaped, on one line, and cut where it is long."""
    text = " ".join(repr(value).split()) if not isinstance(value, str) else repr(value[: most + 1])
    return text if len(text) <= most else text[: most - 3] + "..."


class BgdataError(Exception):
    """Anything that bgdata raises on purpose; the command line prints it as one line."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0]) if self.args else ""


class UsageError(BgdataError, ValueError):
    """A wrong argument: exit code 2 on the command line."""


class InvalidPositionError(UsageError):
    """A layout, index or identifier that no position has."""


class InvalidRollError(UsageError):
    """Dice that cannot be rolled."""


class IllegalPlayError(UsageError):
    """Text that is no play, or a play that the rules do not allow here."""


class InvalidScoreError(UsageError):
    """A match score, cube or Match ID that no match has."""


class UnknownKindError(UsageError, KeyError):
    """No dataset kind has this name."""


class InvalidParameterError(UsageError):
    """A dataset parameter outside its range."""


class InvalidNameError(UsageError):
    """A name that no kind, variant, version or file has: it could be part of a path or of SQL."""


class UnknownInputSetError(UsageError, KeyError):
    """No encoder of network inputs has this name."""


class UnknownPlayerError(UsageError, KeyError):
    """No player has this name, or not on this machine."""


class ExternalProgramError(BgdataError, RuntimeError):
    """Another program did not answer as it should."""


class WorkerError(BgdataError, RuntimeError):
    """Processes or a cluster that should have computed something were lost, or never answered."""


class MissingExtraError(BgdataError, ImportError):
    """An optional package that a command needs is not installed."""


class MissingTableError(BgdataError, KeyError):
    """The warehouse holds no such dataset, variant or version."""


class VersionInUseError(BgdataError, RuntimeError):
    """A version that is to be deleted while others are made from it, or may be."""


class MissingWarehouseError(BgdataError, FileNotFoundError):
    """No warehouse in this folder."""


class MissingFileError(BgdataError, FileNotFoundError):
    """A file that was named does not exist."""


class InvalidGameError(BgdataError, ValueError):
    """A recorded game that breaks the rules of the game."""


class InvalidElementError(BgdataError, ValueError):
    """Something in an XML file that should not be there, or not so: the reason and its line; readers catch it."""


class NotCoveredError(BgdataError, LookupError):
    """The position lies outside the table."""


class TooLargeError(BgdataError, MemoryError):
    """A build cannot fit into memory or on the disk, or a file unpacks to more than is allowed."""


class CorruptFileError(BgdataError, OSError):
    """A file is truncated, or not of the format that it should have."""


class OlderTableError(BgdataError, OSError):
    """A table that an older bgdata wrote, with other columns than this one declares: it is whole, and built anew."""


class DigestMismatchError(BgdataError, OSError):
    """A file or table does not have the hash that its manifest or lock states."""


class ManifestFormatError(BgdataError, OSError):
    """A manifest that this version cannot read: damaged, or written by a newer one."""


class CheckFailedError(BgdataError, AssertionError):
    """A table breaks one of its own checks."""


class CheckSkippedError(BgdataError, NotImplementedError):
    """A check that cannot be made here, and why: neither passed nor failed."""


class NoRowsError(BgdataError, ValueError):
    """Files to import gave no row: nothing is published."""


class StorageError(BgdataError, OSError):
    """A folder cannot be read or written: missing, read-only or full."""


class DownloadError(BgdataError, OSError):
    """A file cannot be downloaded: no connection, or the server refuses."""


class QueryError(BgdataError, ValueError):
    """DuckDB refused the SQL."""
