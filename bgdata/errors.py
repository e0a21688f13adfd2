"""Every exception of bgdata. Each is also the built-in exception that a caller would expect.

Messages are lower case, and say what was expected, then what was found, then what to do.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bgdata.version import DISTRIBUTION


def cite(value: object, most: int = 80) -> str:
    """Return a user's value as error messages show it: quoted, escaped, on one line, and cut after `most` letters."""
    text = " ".join(repr(value).split()) if not isinstance(value, str) else repr(value[: most + 1])
    return text if len(text) <= most else text[: most - 3] + "..."


# secret parts of an address: name and password before the host, signatures and keys after the path
_LOGIN = re.compile(r"(?<=://)(?:[^/\s'\":@]*:[^\s'\"]*@|[^/\s'\"@]*@)")
_QUERY = re.compile(r"(://[^\s'\"?#]*)[?#][^\s'\"]*")


def without_secrets(text: str) -> str:
    """Remove the user names, passwords and signatures of addresses from a text."""
    return _QUERY.sub(r"\1", _LOGIN.sub("", text))


class BgdataError(Exception):
    """Base of all errors that bgdata raises on purpose; the command line prints them as one line."""

    def __str__(self) -> str:  # otherwise KeyError would show the message in quotes
        return str(self.args[0]) if self.args else ""


class UsageError(BgdataError, ValueError):
    """A wrong argument: exit code 2 on the command line."""


class InvalidPositionError(UsageError):
    """A layout, index or identifier that is not a position."""


class InvalidRollError(UsageError):
    """Dice that are not a roll."""


class IllegalPlayError(UsageError):
    """A string that is not a play, or a play that the rules do not allow in this position."""


class InvalidScoreError(UsageError):
    """A match score, cube or Match ID that cannot occur."""


class UnknownKindError(UsageError, KeyError):
    """There is no kind of dataset with this name."""


class InvalidParameterError(UsageError):
    """A dataset parameter outside its range."""


class InvalidNameError(UsageError):
    """A string that cannot name a kind, variant, version or file, because it could be part of a path or of SQL."""


class UnknownInputSetError(UsageError, KeyError):
    """There is no set of network inputs with this name."""


class UnknownPlayerError(UsageError, KeyError):
    """There is no player with this name, or it is not installed on this machine."""


class ExternalProgramError(BgdataError, RuntimeError):
    """Another program, such as an engine, failed or did not answer as expected."""


class EngineRefusedError(ExternalProgramError):
    """An engine replied with an error line."""


class TooBusyError(BgdataError, RuntimeError):
    """A server has too much to do, or one client asks for too much."""


class TooMuchAskedError(TooBusyError):
    """A client asks a server for more than one client may have at once."""


class InvalidMessageError(UsageError):
    """A line of another program that is too long, not text, or not part of the protocol; the next line may be valid."""


class WorkerError(BgdataError, RuntimeError):
    """Worker processes or a cluster were lost or did not answer."""


class MissingExtraError(BgdataError, ImportError):
    """An optional package that a command needs is not installed."""


@contextmanager
def needing(extra: str, purpose: str, kind: type[BgdataError] = MissingExtraError) -> Iterator[None]:
    """Inside the `with` block, turn the error of importing a package that is not installed into one of class `kind`,
    which names the extra of bgdata to install. `purpose` ends the sentence `expected matplotlib ...`."""
    try:
        yield
    except BgdataError:  # which includes some ImportErrors
        raise
    except ImportError as error:
        if not isinstance(error, ModuleNotFoundError) and "memory" in str(error).lower():  # out of memory
            raise
        found = f"expected {(error.name or extra).partition('.')[0]} {purpose}, found none"
        # with the path of Python: the pip of another Python would install elsewhere
        raise kind(f'{found}; try: {sys.executable} -m pip install "{DISTRIBUTION}[{extra}]"') from error


class PluginError(BgdataError, ImportError):
    """A kind of dataset or a player of another package cannot be loaded."""


class MissingTableError(BgdataError, KeyError):
    """The warehouse contains no such dataset, variant or version."""


class NotFetchedError(BgdataError, LookupError):
    """A file of a warehouse at an address is needed where it may not be downloaded."""


class VersionInUseError(BgdataError, RuntimeError):
    """A version cannot be deleted or replaced: other versions need it, or another process uses it."""


class MissingWarehouseError(BgdataError, FileNotFoundError):
    """There is no warehouse in this folder."""


class MissingFileError(BgdataError, FileNotFoundError):
    """A file that the user named does not exist."""


class InvalidGameError(BgdataError, ValueError):
    """A recorded game breaks the rules."""


class InvalidElementError(BgdataError, ValueError):
    """An unexpected or malformed element of an XML file: the message has the reason and the line."""


class NotCoveredError(BgdataError, LookupError):
    """The position lies outside the table."""


class TooLargeError(BgdataError, MemoryError):
    """A build does not fit into memory or on the disk, or a file unpacks to more than the limit."""


class CorruptFileError(BgdataError, OSError):
    """A file is truncated, or does not have the expected format."""


class OlderTableError(BgdataError, OSError):
    """A table was written by an older bgdata with other columns. It is not damaged, but must be built again."""


class DigestMismatchError(BgdataError, OSError):
    """A file or table does not have the hash of its manifest or lock."""


class ManifestFormatError(BgdataError, OSError):
    """A manifest cannot be read: it is damaged, or was written by a newer bgdata."""


class CheckFailedError(BgdataError, AssertionError):
    """A table breaks one of its own checks."""


class CheckSkippedError(BgdataError, RuntimeError):
    """A check cannot be made here, for the reason in the message: it has neither passed nor failed."""


class UnknownLicenceError(BgdataError, ValueError):
    """A table may not be published, because its licence does not allow it or is unknown."""


class NoRowsError(BgdataError, ValueError):
    """The imported files gave no rows, so nothing is published."""


class StorageError(BgdataError, OSError):
    """A folder cannot be read or written: missing, read-only or full."""


class DownloadError(BgdataError, OSError):
    """A file cannot be downloaded: no connection, or the server refuses."""


class QueryError(BgdataError, ValueError):
    """DuckDB refused a query, or a query took more than its limits."""
